"""A gate that remembers hardware from run to run."""

from dataclasses import replace

import pytest

from scripts.blacklist.store import BlacklistStore
from scripts.errors import UnknownError
from scripts.gate.ports import Mark
from scripts.records.shelf import Document
from scripts.verdicts import Verdict
from tests.gate.fake import FakeCluster, run_gate
from tests.records.fake import MemoryShelf


class Broken(MemoryShelf):
    """A shelf that takes nothing more."""

    def add(self, name: str, text: str) -> bool:  # noqa: ARG002 - the protocol's
        raise UnknownError(f"create ConfigMap {name}: the Kubernetes API does not answer")


class Unread(MemoryShelf):
    """A shelf that cannot be read."""

    def documents(self) -> list[Document]:
        raise UnknownError("list ConfigMaps: the Kubernetes API does not answer")


def bad_link(name: str) -> tuple[FakeCluster, BlacklistStore, list[str]]:
    """Run a gate that finds one bad link among eight nodes."""
    cluster, store, lines = FakeCluster(), BlacklistStore(MemoryShelf()), list[str]()
    cluster.add(8)
    cluster.faults[name] = {"link"}
    run_gate(cluster, 8, blacklist=store, lines=lines)
    cluster.faults.clear()
    cluster.rounds.clear()
    return cluster, store, lines


def test_hardware_that_was_proved_bad_is_entered_with_what_proved_it() -> None:
    _, store, lines = bad_link("node-05")
    [entry] = store.read().entries
    assert (entry.node, entry.instance_id, entry.cause) == ("node-05", "i-node-05", "link")
    assert len(entry.gpus) == 8
    assert entry.evidence.run == "20261201-080000-ab12"
    assert "entered in the blacklist: node-05" in lines


def test_a_listed_node_stays_out_untested_until_somebody_clears_it() -> None:
    cluster, store, _ = bad_link("node-05")
    verdict = run_gate(cluster, 8, blacklist=store)
    assert verdict.verdict is Verdict.PASS
    assert cluster.marks["node-05"][0] is Mark.REFUSE
    assert "blacklist: " in cluster.marks["node-05"][1]
    assert "yard blacklist clear" in cluster.marks["node-05"][1]
    assert all("node-05" not in group for groups in cluster.rounds for group in groups)
    assert len(store.read().entries) == 1, "what is listed is not entered again"


def test_the_same_gpus_behind_another_name_and_instance_are_known_again() -> None:
    cluster, store, _ = bad_link("node-05")
    old = cluster.states["node-05"]
    [entry] = store.read().entries
    moved = entry.model_copy(update={"instance_id": "i-somewhere-else", "node": "node-77"})
    store = BlacklistStore(MemoryShelf())
    store.add(moved)
    cluster.states["node-05"] = replace(old, passed=False)
    run_gate(cluster, 8, blacklist=store)
    assert cluster.marks["node-05"][0] is Mark.REFUSE
    assert cluster.rounds[0] == [("node-05",)], "its GPUs are known by its check alone"


def test_another_machine_under_the_same_name_is_not_held_responsible() -> None:
    cluster, store, _ = bad_link("node-05")
    state = cluster.states["node-05"]
    cluster.states["node-05"] = replace(state, provider_id="aws:///use1-az4/i-new")
    verdict = run_gate(cluster, 8, blacklist=store)
    assert verdict.verdict is Verdict.PASS
    assert cluster.marks["node-05"][0] is Mark.OPEN


def test_a_wave_that_fails_as_a_whole_enters_nobody() -> None:
    cluster, store = FakeCluster(), BlacklistStore(MemoryShelf())
    cluster.faults = {name: {"socket"} for name in cluster.add(8)}
    assert run_gate(cluster, 8, blacklist=store).verdict is Verdict.FAIL
    assert store.read().entries == ()


def test_a_node_that_is_slow_alone_is_entered_for_its_gpus_and_not_its_links() -> None:
    cluster, store = FakeCluster(), BlacklistStore(MemoryShelf())
    cluster.add(8)
    cluster.faults["node-02"] = {"gpu"}
    run_gate(cluster, 8, blacklist=store)
    [entry] = store.read().entries
    assert (entry.cause, entry.evidence.check) == ("isolate", "gpus")


def test_a_blacklist_that_cannot_be_written_changes_no_verdict_and_is_told() -> None:
    cluster, lines = FakeCluster(), list[str]()
    cluster.add(8)
    cluster.faults["node-05"] = {"link"}
    verdict = run_gate(cluster, 8, blacklist=BlacklistStore(Broken()), lines=lines)
    assert verdict.verdict is Verdict.PASS
    assert any(line.startswith("the blacklist could not be written: ") for line in lines)


def test_a_blacklist_that_cannot_be_read_opens_nothing() -> None:
    cluster = FakeCluster()
    cluster.add(4)
    verdict = run_gate(cluster, 4, blacklist=BlacklistStore(Unread()))
    assert verdict.verdict is Verdict.UNKNOWN
    assert not cluster.marks


@pytest.mark.parametrize("fault", ["gpu", "link"])
def test_without_a_blacklist_a_repaired_node_is_tested_again(fault: str) -> None:
    cluster = FakeCluster()
    cluster.add(5)
    cluster.faults["node-04"] = {fault}
    run_gate(cluster, 5)
    cluster.faults.clear()
    assert run_gate(cluster, 5).message.startswith("5 of 5 nodes open")
