"""Tests of nodes that are open already: by hand, and on a schedule."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from typing_extensions import override

from components.catalog import instance_type
from scripts.errors import UsageError
from scripts.gate.jobs import GateJob
from scripts.gate.ports import Mark
from scripts.gate.request import Request
from scripts.gate.run import Gate
from scripts.gate.verdict import WaveVerdict
from scripts.verdicts import Verdict
from tests.gate.fake import IMAGE, FakeCluster, FakeTime, run_gate


@dataclass
class Busy(FakeCluster):
    """A cluster to which a job comes between two looks at it."""

    comes_to: set[str] = field(default_factory=set)
    looks: int = 0

    @override
    def busy(self, names: Collection[str]) -> set[str]:
        self.looks += 1
        if self.looks > 1:
            self.busy_nodes |= self.comes_to
        return super().busy(names)


def regression(cluster: FakeCluster, nodes: int, lines: list[str] | None = None) -> WaveVerdict:
    request = Request(
        run="20261201-080000-ab12",
        pool="train",
        wave="1",
        nodes=nodes,
        instance=instance_type("p5.48xlarge"),
        image=IMAGE,
        namespace="trainyard-gate",
        timeout=3600,
        again=True,
        regression=True,
        queue="gate",
    )
    said = [] if lines is None else lines
    return Gate(request, cluster, said.append, FakeTime().clock()).run()


def test_a_test_of_the_schedule_takes_idle_nodes_and_waits_for_nobody() -> None:
    cluster = FakeCluster(quick=True)
    names = cluster.add(6, passed=True)
    cluster.busy_nodes = {"node-01"}
    cluster.states["node-05"] = replace(cluster.states["node-05"], ready=False)
    verdict = regression(cluster, 6)
    assert verdict.line == (
        "pass: pool train wave 1: 5 of 5 nodes open, 1 of them since an earlier run"
    )
    assert cluster.marked(Mark.OPEN) == [name for name in names if name[-1] in "0234"]


def test_its_jobs_have_the_lowest_priority() -> None:
    cluster = FakeCluster(quick=True)
    cluster.add(2, passed=True)
    regression(cluster, 2)
    known = {
        job.manifest["metadata"]["labels"]["kueue.x-k8s.io/priority-class"] for job in cluster.jobs
    }
    assert known == {"gate-regression"}


@pytest.mark.parametrize("passed", [True, False])
def test_a_wave_in_use_is_no_fault_and_nothing_is_written(*, passed: bool) -> None:
    cluster = FakeCluster()
    names = cluster.add(3, passed=True)
    cluster.busy_nodes = set(names)
    if not passed:
        for name in names:
            cluster.states[name] = replace(cluster.states[name], ready=False)
    lines: list[str] = []
    verdict = regression(cluster, 3, lines)
    text = (
        "nothing to test: jobs run on 3 of 3 nodes"
        if passed
        else ("nothing to test: jobs run on 0 of 3 nodes, and 3 are not Ready")
    )
    assert verdict.line == f"pass: pool train wave 1: {text}"
    assert lines == [text]
    assert (cluster.marks, cluster.stored, cluster.jobs) == ({}, {}, [])


def test_a_job_that_comes_before_its_node_is_shut_keeps_it() -> None:
    cluster = Busy(quick=True, comes_to={"node-02"})
    cluster.add(4, passed=True)
    lines: list[str] = []
    verdict = run_gate(cluster, 4, again=True, lines=lines)
    assert "somebody has come to node-02, so it stays open" in lines
    assert verdict.line == (
        "pass: pool train wave 1: 4 of 4 nodes open, 1 of them since an earlier run"
    )
    assert verdict.verdict is Verdict.PASS
    assert cluster.marks["node-02"] == (
        Mark.OPEN,
        "passed in an earlier run (run 20261201-080000-ab12)",
    )
    assert {name for groups in cluster.rounds for group in groups for name in group} == {
        "node-00",
        "node-01",
        "node-03",
    }


def test_a_test_of_the_schedule_that_came_to_no_end_leaves_open_what_was_open() -> None:
    cluster = FakeCluster(quick=True)
    names = cluster.add(6, passed=True)
    cluster.states["node-05"] = replace(cluster.states["node-05"], passed=False)
    cluster.faults = {"node-01": {"gpu"}}
    cluster.stops_at_round = 3
    verdict = regression(cluster, 6)
    assert verdict.line == (
        "unknown: pool train wave 1: the gate could not go on: list Pods: the Kubernetes API does "
        "not answer: connection refused; next: what was open is open again; mend what stopped it: "
        "the next test begins anew"
    )
    assert cluster.marked(Mark.OPEN) == [name for name in names if name[-1] in "0234"]
    assert cluster.marks["node-00"][1] == (
        "passed in an earlier run, and its new test came to no end (run 20261201-080000-ab12)"
    )
    assert cluster.marked(Mark.HOLD) == ["node-01"], "it failed, and is shut as it was"
    assert cluster.stored["gate-train-1"]["verdict"] == "unknown"


def test_a_node_that_a_killed_test_had_shut_is_open_again_where_the_next_comes_to_no_end() -> None:
    cluster = FakeCluster(quick=True)
    names = cluster.add(6)
    for name in names[:4]:
        cluster.states[name] = replace(cluster.states[name], was_open=True)
    cluster.stops_at_round = 3
    regression(cluster, 6)
    assert cluster.marked(Mark.OPEN) == names[:4]


def test_a_test_of_the_schedule_that_cannot_be_made_leaves_open_what_was_open() -> None:
    class Bare(FakeCluster):
        """Has no MPI operator."""

        @override
        def run(self, jobs: Sequence[GateJob], *rest: Any, **more: Any) -> dict[str, Any]:
            if jobs[0].kind == "MPIJob":
                raise UsageError("the cluster has no MPIJobs")
            return super().run(jobs, *rest, **more)

    cluster = Bare(quick=True)
    names = cluster.add(4, passed=True)
    with pytest.raises(UsageError, match="the cluster has no MPIJobs"):
        regression(cluster, 4)
    assert cluster.marked(Mark.OPEN) == names


def test_a_test_of_the_schedule_that_can_judge_nobody_leaves_open_what_was_open() -> None:
    cluster = FakeCluster(quick=True)
    names = cluster.add(6, passed=True)
    cluster.faults = {name: {"dead"} for name in names[:4]}
    verdict = regression(cluster, 6)
    assert verdict.verdict is Verdict.UNKNOWN
    assert verdict.next_step.startswith("what was open is open again; ")
    assert cluster.marked(Mark.OPEN) == names
    assert {each.name for each in verdict.nodes if each.verdict is Verdict.UNKNOWN} == set(names)


def test_what_a_person_had_tested_again_stays_shut_where_it_cannot_be_judged() -> None:
    cluster = FakeCluster(quick=True)
    names = cluster.add(6, passed=True)
    cluster.faults = {name: {"dead"} for name in names[:4]}
    assert run_gate(cluster, 6, again=True).next_step.startswith("nothing was opened; ")
    assert cluster.marked(Mark.HOLD) == names
