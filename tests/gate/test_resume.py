"""A gate that was killed goes on to the verdict that it would have reached."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typing_extensions import override

from components.catalog import instance_type
from scripts.baseline.store import BaselineStore
from scripts.errors import UnknownError
from scripts.gate.history import History
from scripts.gate.journal import Journal
from scripts.gate.ports import Mark
from scripts.gate.request import Request
from scripts.gate.run import STATES, Gate
from scripts.gate.verdict import WaveVerdict
from scripts.verdicts import Verdict
from tests.gate.fake import IMAGE, FakeCluster, FakeTime
from tests.records.fake import MemoryShelf

NODES = 8


@dataclass
class Machine:
    """A cluster, and gates over it that may be killed and begun again."""

    cluster: FakeCluster
    shelf: MemoryShelf
    lines: list[str]

    def gate(
        self,
        *,
        resumes: bool,
        again: bool = False,
        store: BaselineStore | None = None,
        guard: Callable[[], None] = lambda: None,
    ) -> WaveVerdict:
        request = Request(
            run="20261201-080000-ab12",
            pool="train",
            wave="1",
            nodes=NODES,
            instance=instance_type("p5.48xlarge"),
            image=IMAGE,
            namespace="trainyard-gate",
            timeout=3600,
            dcgm=2,
            storage_claim="shared",
            storage_mbps=100_000,
            again=again,
        )
        journal = Journal(self.shelf, request.run, self.lines.append, resumes=resumes)
        clock, said = FakeTime().clock(), self.lines.append
        history = History(
            store=store, run=request.run, instance=request.instance, image=IMAGE, progress=said
        )
        gate = Gate(
            request, self.cluster, said, clock, journal=journal, history=history, guard=guard
        )
        return gate.run()


def machine(faults: dict[int, str]) -> Machine:
    cluster = FakeCluster(quick=True)
    names = cluster.add(NODES, leaf=4)
    cluster.faults = {names[index]: {kind} for index, kind in faults.items()}
    return Machine(cluster, MemoryShelf(), [])


def told(verdict: WaveVerdict) -> dict[str, Any]:
    """Return the verdict without what the time of day changes."""
    plain = verdict.as_json()
    return {name: plain[name] for name in plain if name not in {"started", "ended"}}


FAULTS = [
    {},
    {3: "link"},
    {3: "gpu"},
    {5: "wrong"},
    {0: "dcgm"},
    {2: "storage"},
    {7: "dead"},
]


@pytest.mark.parametrize("faults", FAULTS, ids=lambda faults: "-".join(faults.values()) or "good")
def test_a_gate_that_is_killed_in_any_round_ends_as_if_it_had_not(faults: dict[int, str]) -> None:
    whole = machine(faults)
    expected = told(whole.gate(resumes=False))
    assert expected["verdict"] == "pass"
    for killed_at in range(1, len(whole.cluster.rounds) + 1):
        stopped = machine(faults)
        stopped.cluster.stops_at_round = killed_at
        first = stopped.gate(resumes=False)
        assert first.verdict is Verdict.UNKNOWN
        assert not stopped.cluster.marks, "who was stopped opens and shuts nothing"
        assert told(stopped.gate(resumes=True)) == expected
        assert stopped.cluster.marks == whole.cluster.marks
        measured = [*whole.cluster.rounds[:killed_at], *whole.cluster.rounds[killed_at - 1 :]]
        assert stopped.cluster.rounds == measured, "nothing is measured twice but what was cut off"
        assert stopped.shelf.documents() == [], "who ended keeps no journal"


@settings(max_examples=15, deadline=None)
@given(
    faults=st.dictionaries(
        st.integers(0, NODES - 1),
        st.sampled_from(["link", "gpu", "wrong", "nvlink", "dcgm", "socket"]),
        max_size=1,
    ),
    kills=st.lists(st.integers(1, 12), max_size=4),
)
def test_however_often_a_gate_is_killed_it_comes_to_the_same_verdict(
    faults: dict[int, str], kills: list[int]
) -> None:
    expected = told(machine(faults).gate(resumes=False))
    stopped = machine(faults)
    resumes = False
    for kill in sorted(kills):
        stopped.cluster.stops_at_round = kill
        if stopped.gate(resumes=resumes).verdict is not Verdict.UNKNOWN:
            return
        resumes = True
    stopped.cluster.stops_at_round = None
    assert told(stopped.gate(resumes=resumes)) == expected


def test_a_node_that_dies_while_nobody_watches_is_out_as_if_somebody_had() -> None:
    watched = machine({})
    watched.cluster.lost_at_round = {4: "node-03"}
    expected = told(watched.gate(resumes=False))

    stopped = machine({})
    stopped.cluster.stops_at_round = 4
    stopped.gate(resumes=False)
    stopped.cluster.lost_at_round = {5: "node-03"}
    assert told(stopped.gate(resumes=True)) == expected
    assert stopped.cluster.marked(Mark.HOLD) == ["node-03"]
    assert stopped.cluster.marks["node-03"][1].startswith("it is not Ready any more")


def test_a_gate_killed_before_its_wave_was_ready_waits_for_it_again() -> None:
    stopped = machine({})
    stopped.cluster.states.clear()
    assert stopped.gate(resumes=False).message.startswith("0 of 8 nodes were Ready after 3600 s")
    stopped.cluster.add(NODES)
    assert stopped.gate(resumes=True).line == "pass: pool train wave 1: 8 of 8 nodes open"


def test_a_repeated_test_that_was_killed_still_knows_what_it_had_shut() -> None:
    stopped = machine({})
    stopped.cluster.states.clear()
    names = stopped.cluster.add(NODES, passed=True)
    stopped.cluster.stops_at_round = 2
    stopped.gate(resumes=False, again=True)
    assert stopped.cluster.marked(Mark.HOLD) == names
    verdict = stopped.gate(resumes=True, again=True)
    assert verdict.line == "pass: pool train wave 1: 8 of 8 nodes open"
    assert stopped.cluster.marked(Mark.OPEN) == names


def test_a_resumed_gate_keeps_the_sweeps_of_the_stopped_one_as_well() -> None:
    def kept(stops: int | None) -> list[tuple[str, str]]:
        stopped, store = machine({}), BaselineStore(MemoryShelf(), None)
        stopped.cluster.quick = False
        if stops:
            stopped.cluster.stops_at_round = stops
            assert stopped.gate(resumes=False, store=store).verdict is Verdict.UNKNOWN
        assert stopped.gate(resumes=bool(stops), store=store).verdict is Verdict.PASS
        runs = [
            (ledger.setting.collective, run.id) for ledger in store.ledgers() for run in ledger.runs
        ]
        return sorted(runs)

    whole = kept(None)
    assert len(whole) == 4, "one a collective"
    assert kept(7) == whole


def test_a_round_that_was_kept_over_other_nodes_judges_nobody() -> None:
    stopped = machine({})
    stopped.cluster.stops_at_round = 5
    stopped.gate(resumes=False)
    run = "20261201-080000-ab12"
    stopped.shelf.remove(f"{run}.places.0")
    turned = [
        replace(node, place=(f"nn-{9 - int(node.name[-1])}",))
        for node in stopped.cluster.nodes("train")
    ]
    Journal(stopped.shelf, run).once("places", STATES, lambda: turned)
    verdict = stopped.gate(resumes=True)
    assert verdict.verdict is Verdict.UNKNOWN
    assert verdict.message == (
        "the gate could not go on: round a1 was kept over other nodes than it has now, so it is "
        "of another gate; begin anew with yard gate run --fresh"
    )
    assert stopped.cluster.marks == {}


def test_a_gate_that_lost_its_wave_leaves_to_the_next_one_what_is_its() -> None:
    stopped = machine({})
    stopped.cluster.states.clear()
    [_, *partners] = [*stopped.cluster.add(1), *stopped.cluster.add(4, wave="0", passed=True)]
    asked = iter([None, None, None, None])

    def guard() -> None:
        if next(asked, "lost"):
            raise UnknownError("the wave is held by run r2")

    stopped.cluster.add(NODES - 1)
    verdict = stopped.gate(resumes=False, guard=guard)
    assert verdict.message == "the gate could not go on: the wave is held by run r2"
    assert stopped.cluster.marks == {}
    assert stopped.cluster.stored == {}
    assert stopped.cluster.cleaned == 1, "only before it began"
    assert sorted(stopped.cluster.lent) == partners, "the next one may work with them by now"
    assert stopped.lines.count("stopped: the wave is held by run r2") == 1


def test_a_resumed_gate_borrows_again_what_the_stopped_one_gave_back() -> None:
    stopped = machine({})
    stopped.cluster.states.clear()
    stopped.cluster.add(NODES)
    stopped.cluster.add(4, wave="0", passed=True)
    stopped.cluster.stops_at_round = 4
    stopped.gate(resumes=False)
    assert stopped.cluster.lent == {}
    lent = list[int]()
    stopped.gate(resumes=True, guard=lambda: lent.append(len(stopped.cluster.lent)))
    assert max(lent) == 4
    assert stopped.cluster.lent == {}


def test_a_gate_whose_verdict_could_not_be_kept_is_gone_on_with() -> None:
    class Full(FakeCluster):
        @override
        def store(self, name: str, verdict: Mapping[str, Any]) -> None:
            raise UnknownError("create ConfigMap gate-train-1: the Kubernetes API does not answer")

    stopped = machine({})
    names = sorted(stopped.cluster.states)
    full = Full(states=stopped.cluster.states, quick=True)
    verdict = Machine(full, stopped.shelf, []).gate(resumes=False)
    assert verdict.verdict is Verdict.UNKNOWN
    rounds = len(full.rounds)
    assert stopped.gate(resumes=True).line == "pass: pool train wave 1: 8 of 8 nodes open"
    assert (rounds, stopped.cluster.rounds) == (9, []), "all was measured before"
    assert stopped.cluster.marked(Mark.OPEN) == names
