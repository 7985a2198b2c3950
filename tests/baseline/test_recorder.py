"""From the logs of a gate to kept runs and a first comparison, as the gate does it."""

from collections.abc import Sequence

from components.catalog import instance_type
from components.catalog.floors import GIB
from scripts.baseline.recorder import Recorder, remember
from scripts.baseline.sample import Reading
from scripts.baseline.store import BaselineStore
from scripts.local.answers import SimulatedNode, all_reduce_log
from scripts.nccl.expectation import expect
from scripts.nccl.judge import judge
from scripts.nccl.log import parse
from scripts.verdicts import Verdict
from tests.baseline.make import days
from tests.gate.fake import IMAGE, P5
from tests.records.fake import MemoryShelf

NODES = [f"n{index}" for index in range(4)]
FACTS = {name: {"kernel": "6.12", "driver": "580", "efa_driver": "3.0"} for name in NODES}
IDS = {name: f"aws:///use1-az4/i-{name}" for name in NODES}


def measure(recorder: Recorder, label: str, nodes: Sequence[str], *faults: str) -> None:
    """Run an all-reduce of the simulation and let the recorder see its log."""
    simulated = [SimulatedNode(name, P5, frozenset(faults)) for name in nodes]
    job = f"gate-{recorder.run}-{label}"
    env = {"GATE_JOB": job, "GATE_MIN_BYTES": f"{GIB}", "GATE_MAX_BYTES": f"{16 * GIB}"}
    reading = Reading(all_reduce_log(simulated, env).splitlines())
    log, expected = parse(reading), expect(instance_type(P5), len(nodes))
    recorder.note(label, nodes, reading, log, judgement=judge(log, expected), expected=expected)


def recorder(run: str) -> Recorder:
    return Recorder(run, instance_type(P5), IMAGE)


def test_the_wave_is_kept_and_its_pairs_are_not() -> None:
    made = recorder("r1")
    measure(made, "p1", NODES[:2])
    measure(made, "p2", NODES[2:])
    measure(made, "s1", NODES)
    [record] = made.records(days(0), provider_ids=IDS, facts=FACTS)
    assert (record.nodes, record.run.verdict) == (tuple(NODES), Verdict.PASS)
    assert record.setting.gaps == ()
    assert (record.setting.nodes, record.setting.place.zone) == (4, "use1-az4")


def test_the_log_in_which_a_node_failed_is_its_evidence() -> None:
    made = recorder("r1")
    measure(made, "p1", NODES[:2], "link")
    measure(made, "p2", NODES[2:])
    assert set(made.digests) == set(NODES[:2])
    assert all(digest.startswith("sha256:") for digest in made.digests.values())


def test_three_gates_make_a_baseline_and_a_slow_fourth_is_to_be_run_again() -> None:
    store = BaselineStore(MemoryShelf())
    for index in range(3):
        made = recorder(f"r{index}")
        measure(made, "s1", NODES)
        records = made.records(days(index), provider_ids=IDS, facts=FACTS)
        [(record, first)] = remember(store, records)
        assert first.verdict is Verdict.UNKNOWN
        assert first.findings[0].rule == "baseline"
    store.promote(record.setting.id, by="me", why="good", now=days(3))
    good = recorder("r4")
    measure(good, "s1", NODES)
    [(_, found)] = remember(store, good.records(days(4), provider_ids=IDS, facts=FACTS))
    assert found.verdict is Verdict.PASS
    slow = recorder("r5")
    measure(slow, "s1", NODES, "link")
    [(_, found)] = remember(store, slow.records(days(5), provider_ids=IDS, facts=FACTS))
    assert (found.verdict, found.rerun, found.seek_node) == (Verdict.FAIL, True, False)
    assert [each.rule for each in found.findings] == ["judged", "regression"]
    assert len(store.ledger(record.setting.id).runs) == 5


def test_a_wave_with_two_kernels_is_kept_and_compared_with_nothing() -> None:
    made = recorder("r1")
    measure(made, "s1", NODES)
    mixed = {**FACTS, "n2": {**FACTS["n2"], "kernel": "6.1"}}
    [(record, found)] = remember(
        BaselineStore(MemoryShelf()), made.records(days(0), provider_ids=IDS, facts=mixed)
    )
    assert record.setting.gaps == ("kernel differs between nodes: 6.1, 6.12",)
    assert found.verdict is Verdict.UNKNOWN
