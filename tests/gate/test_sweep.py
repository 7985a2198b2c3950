from dataclasses import replace

import pytest

from components.catalog import instance_type
from scripts.gate.sweep import COLLECTIVES, hard, reached, told, without_floor
from scripts.local.answers import SimulatedNode, all_reduce_log
from scripts.nccl.expectation import Expectation, expect
from scripts.nccl.judge import Judgement, judge
from scripts.nccl.log import parse
from scripts.verdicts import Verdict

P5 = "p5.48xlarge"


def log(collective: str) -> str:
    nodes = [SimulatedNode(f"n{index}", P5, frozenset()) for index in range(4)]
    sizes = {"GATE_MIN_BYTES": str(2**30), "GATE_MAX_BYTES": str(2**34)}
    return all_reduce_log(nodes, {"GATE_JOB": "g", "GATE_BINARY": f"/b/{collective}_perf", **sizes})


def judged(text: str, expected: Expectation) -> Judgement:
    return without_floor(judge(parse(text.splitlines()), expected), expected)


def no_floor(collective: str) -> Expectation:
    return replace(expect(instance_type(P5), 4, collective=collective), floor=None)


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_every_collective_of_a_sweep_is_answered_and_judged(collective: str) -> None:
    expected = expect(instance_type(P5), 4, collective=collective)
    assert judged(log(collective), expected).verdict is Verdict.PASS
    others = [each for each in COLLECTIVES if each != collective]
    for other in others:
        wrong = expect(instance_type(P5), 4, collective=other)
        assert judged(log(collective), wrong).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("collective", [each for each in COLLECTIVES if each != "all_reduce"])
def test_without_a_floor_a_good_run_passes_and_says_what_was_not_judged(collective: str) -> None:
    judgement = judged(log(collective), no_floor(collective))
    assert judgement.verdict is Verdict.PASS
    assert told(judgement) == "correct, 352.7 GB/s at least, bandwidth not judged"
    assert [found.message for found in judgement.findings] == [
        f"no floor is known for {collective} on 4 nodes of p5.48xlarge: bandwidth was not judged"
    ]


def test_an_all_reduce_without_a_floor_stays_unknown() -> None:
    assert judged(log("all_reduce"), no_floor("all_reduce")).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("old", "new", "verdict", "never_passes"),
    [
        ("       0  ", "       3  ", Verdict.FAIL, True),
        ("NET/Libfabric/0/GDRDMA", "NET/Libfabric/0", Verdict.FAIL, True),
        ("# Out of bounds values : 0 OK\n", "", Verdict.UNKNOWN, False),
        ("validation: 1", "validation: 0", Verdict.UNKNOWN, False),
    ],
)
def test_without_a_floor_all_else_still_counts(
    old: str, new: str, verdict: Verdict, *, never_passes: bool
) -> None:
    text = log("all_gather")
    assert old in text
    judgement = judged(text.replace(old, new), no_floor("all_gather"))
    assert judgement.verdict is verdict
    assert hard(judgement) is never_passes


def test_what_a_sweep_reached_is_said_for_each_collective() -> None:
    passed = {
        collective: (judged(log(collective), expected), 4)
        for collective, expected in (
            ("all_reduce", expect(instance_type(P5), 4)),
            ("alltoall", no_floor("alltoall")),
        )
    }
    assert reached(passed) == (
        "all_reduce over 4 nodes: at least 352.7 GB/s at every judged size; alltoall over 4 nodes: "
        "correct, 352.7 GB/s at least, bandwidth not judged"
    )
