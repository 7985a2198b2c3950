"""From the logs of a gate to runs and their settings, as they are kept."""

from collections.abc import Sequence
from dataclasses import replace

from components.catalog import instance_type
from components.catalog.floors import GIB
from scripts.baseline.recorder import NOTED, Known, Recorder
from scripts.baseline.sample import Reading
from scripts.local.answers import SimulatedNode, all_reduce_log
from scripts.nccl.expectation import expect
from scripts.nccl.judge import Judgement, judge
from scripts.nccl.log import parse
from scripts.verdicts import Finding, Verdict
from tests.baseline.make import days
from tests.gate.fake import IMAGE, P5

NODES = [f"n{index}" for index in range(4)]
KNOWN = Known(
    provider_ids={name: f"aws:///use1-az4/i-{name}" for name in NODES},
    facts={name: {"kernel": "6.12", "driver": "580", "efa_driver": "3.0"} for name in NODES},
    places=dict.fromkeys(NODES, ("nn-1", "nn-2")),
)


def recorder() -> Recorder:
    return Recorder("r1", instance_type(P5), IMAGE)


def measure(recorder: Recorder, label: str, nodes: Sequence[str], *, lines: int = 10**6) -> None:
    """Run an all-reduce of the simulation and let the recorder see so much of its log."""
    simulated = [SimulatedNode(name, P5, frozenset()) for name in nodes]
    job = f"gate-{recorder.run}-{label}"
    env = {"GATE_JOB": job, "GATE_MIN_BYTES": f"{GIB}", "GATE_MAX_BYTES": f"{16 * GIB}"}
    reading = Reading(all_reduce_log(simulated, env).splitlines()[:lines])
    log, expected = parse(reading), expect(instance_type(P5), len(nodes))
    recorder.note(label, nodes, reading, log, judgement=judge(log, expected), expected=expected)


def test_a_run_is_recorded_with_all_that_makes_it_comparable() -> None:
    made = recorder()
    measure(made, "w1-0", NODES)
    [record] = made.records(days(0), KNOWN)
    assert (record.collective, record.nodes) == ("all_reduce", tuple(NODES))
    assert (record.run.run, record.run.label, record.run.verdict) == ("r1", "w1-0", Verdict.PASS)
    assert record.setting.gaps == ()
    assert str(record.setting) == (
        "all_reduce float sum -1 on 4 nodes x 8 of p5.48xlarge in use1-az4 (one layer 2)"
    )


def test_what_came_of_a_run_in_the_end_counts() -> None:
    made = recorder()
    measure(made, "w1-0", NODES)
    hung = Judgement(Verdict.UNKNOWN, (Finding("job", Verdict.UNKNOWN, "it did not end"),))
    made.settle("w1-0", hung)
    made.settle("p1-0", hung)
    [record] = made.records(days(0), KNOWN)
    assert (record.run.verdict, record.run.reasons) == (Verdict.UNKNOWN, ("it did not end",))


def test_a_run_without_a_number_is_known_and_not_kept() -> None:
    made = recorder()
    assert made.latest("all_reduce", days(0), KNOWN) is None
    measure(made, "w1-0", NODES)
    measure(made, "w2-0", NODES, lines=3)
    latest = made.latest("all_reduce", days(0), KNOWN)
    assert latest is not None
    assert (latest.run.label, latest.run.points) == ("w2-0", ())
    assert [each.run.label for each in made.records(days(0), KNOWN)] == ["w1-0"]


def test_a_wave_with_two_kernels_is_kept_and_equal_to_nothing() -> None:
    made = recorder()
    measure(made, "w1-0", NODES)
    facts = {**KNOWN.facts, "n2": {**KNOWN.facts["n2"], "kernel": "6.1"}}
    [record] = made.records(days(0), replace(KNOWN, facts=facts))
    assert record.setting.gaps == ("kernel differs between nodes: 6.1, 6.12",)


def test_a_borrowed_node_of_which_nothing_is_known_leaves_a_gap() -> None:
    made = recorder()
    measure(made, "w1-0", [*NODES[:3], "borrowed"])
    [record] = made.records(days(0), KNOWN)
    assert record.setting.gaps == (
        "efa is not known",
        "driver is not known",
        "kernel is not known",
    )


def test_runs_keep_their_order_and_a_stopped_gate_hands_on_what_it_noted() -> None:
    stopped, resumed = recorder(), recorder()
    for label in ("w2-0", "w1-0"):
        measure(stopped, label, NODES)
    resumed.restore(NOTED.validate_json(NOTED.dump_json(stopped.noted("w2-"))))
    measure(resumed, "w1-0", NODES)
    assert resumed.records(days(0), KNOWN) == stopped.records(days(0), KNOWN)
    first, second = resumed.records(days(0), KNOWN)
    assert (first.run.label, second.run.label) == ("w2-0", "w1-0")
    assert first.run.at < second.run.at
