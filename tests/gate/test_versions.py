"""Nodes of a wave with other versions: a few stay out, many shut it, and nobody is blamed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.gate.isolate import allowance
from scripts.gate.versions import VersionOutcome, odd
from scripts.node.judge import NodeJudgement
from scripts.node.profiles import Severity
from scripts.verdicts import Verdict
from tests.node.captures import capture, judged

DRIVER = "run nodes of one image release only: replace those that have another driver"


def check(facts: dict[str, str], gpu: str = "", verdict: Verdict = Verdict.PASS) -> NodeJudgement:
    gpus = ({"uuid": gpu},) if gpu else ()
    return NodeJudgement(verdict, Severity.PASS, (), facts=facts, gpus=gpus)


def wave(*drivers: str) -> dict[str, NodeJudgement]:
    return {
        f"n{index}": check({"driver": driver, "instance_id": f"i-{index}"})
        for index, driver in enumerate(drivers)
    }


def test_nodes_of_one_image_are_the_same() -> None:
    names = [f"node-{index}" for index in range(4)]
    assert odd({name: judged(capture(name=name)) for name in names}) == VersionOutcome()
    assert odd({}) == VersionOutcome()


@pytest.mark.parametrize(
    ("checks", "held"),
    [
        (
            wave("580", "580", "580", "570"),
            {"n3": "wave-driver: driver is 570, and 580 on 3 nodes"},
        ),
        (
            wave("580", "580", "570"),
            {"n2": "wave-driver: driver is 570, and 580 on 2 nodes"},
        ),
        (
            wave(*["580"] * 8, "570", "560"),
            {
                "n8": "wave-driver: driver is 570, and 580 on 8 nodes",
                "n9": "wave-driver: driver is 560, and 580 on 8 nodes",
            },
        ),
        (
            {**wave("580", "580", "580"), "n3": check({"instance_id": "i-3"})},
            {"n3": "wave-driver: it does not tell its driver"},
        ),
        (
            {
                "n0": check({"driver": "580", "kernel": "6.12"}),
                "n1": check({"driver": "580", "kernel": "6.12"}),
                "n2": check({"driver": "570", "kernel": "6.1"}),
            },
            {
                "n2": (
                    "wave-driver: driver is 570, and 580 on 2 nodes; wave-kernel: kernel is 6.1, "
                    "and 6.12 on 2 nodes"
                )
            },
        ),
    ],
)
def test_up_to_a_fifth_is_held_and_says_what_is_usual(
    checks: dict[str, NodeJudgement], held: dict[str, str]
) -> None:
    assert odd(checks) == VersionOutcome(held)


@pytest.mark.parametrize(
    ("checks", "verdict", "problem", "step"),
    [
        (
            wave("580", "570"),
            Verdict.FAIL,
            (
                "the wave is mixed (its nodes differ), so nobody is blamed: wave-driver: driver "
                "differs, and no value is usual: 1 node 580, 1 node 570"
            ),
            DRIVER,
        ),
        (
            wave("580", "580", "580", "570", "570"),
            Verdict.FAIL,
            (
                "the wave is mixed (2 of 5 nodes differ), so nobody is blamed: wave-driver: driver "
                "is 580 on 3 nodes, but n3, n4 570"
            ),
            DRIVER,
        ),
        (
            {
                **{f"n{index}": check({"libfabric": "2.1"}) for index in range(3)},
                **{f"n{index}": check({}) for index in (3, 4)},
            },
            Verdict.UNKNOWN,
            (
                "the wave is mixed (2 of 5 nodes differ), so nobody is blamed: wave-libfabric: n3, "
                "n4 do not tell libfabric, and others do"
            ),
            "capture these nodes again",
        ),
        (
            {"n0": check({}, "GPU-1"), "n1": check({}, "GPU-1"), "n2": check({}, "GPU-2")},
            Verdict.UNKNOWN,
            (
                "the wave is mixed (2 of 3 nodes differ), so nobody is blamed: wave-gpus: n0, n1 "
                "name the same GPUs: one capture is a copy of another"
            ),
            "capture each node by itself",
        ),
        (
            {
                "n0": check({"a": "1", "b": "1", "c": "1"}),
                "n1": check({"a": "2", "b": "2", "c": "2"}),
            },
            Verdict.FAIL,
            (
                "the wave is mixed (its nodes differ), so nobody is blamed: wave-a: a differs, and "
                "no value is usual: 1 node 1, 1 node 2; wave-b: b differs, and no value is usual: "
                "1 node 1, 1 node 2; and 1 more difference"
            ),
            "mend what sets it (image, launch template, bootstrap) and make these nodes anew",
        ),
    ],
)
def test_more_than_that_shuts_the_wave_and_holds_nobody(
    checks: dict[str, NodeJudgement], verdict: Verdict, problem: str, step: str
) -> None:
    assert odd(checks) == VersionOutcome({}, problem, verdict, step)


def test_two_nodes_of_a_large_wave_that_name_the_same_gpus_are_held() -> None:
    checks = {f"n{index}": check({}, f"GPU-{max(index, 1)}") for index in range(10)}
    assert odd(checks).held == {
        "n0": "wave-gpus: n1 names the same GPUs",
        "n1": "wave-gpus: n0 names the same GPUs",
    }


def test_a_node_that_failed_its_check_is_no_part_of_the_comparison() -> None:
    checks = {**wave("580", "580"), "n2": check({"driver": "570"}, verdict=Verdict.FAIL)}
    assert odd(checks) == VersionOutcome()


@given(st.lists(st.sampled_from(["580", "570", "560"]), max_size=12))
def test_either_few_are_held_or_the_wave_is_shut(drivers: list[str]) -> None:
    found = odd(wave(*drivers))
    assert len(found.held) <= allowance(len(drivers))
    assert not (found.held and found.problem)
    assert bool(found.problem) is (found.verdict is not Verdict.PASS)
    kept = {driver for index, driver in enumerate(drivers) if f"n{index}" not in found.held}
    assert found.problem or len(kept) <= 1
