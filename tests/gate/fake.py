"""A cluster in memory that answers with the recordings of the embedded target."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from components.catalog import instance_type
from scripts.errors import UnknownError
from scripts.gate.devices import wanted
from scripts.gate.jobs import CONTAINER, GateJob
from scripts.gate.objects import Manifest
from scripts.gate.ports import JobResult, Mark, NodeState
from scripts.gate.run import Clock, Gate, Request
from scripts.gate.verdict import WaveVerdict
from scripts.local.answers import SimulatedNode, all_reduce_log, node_check_log

T = TypeVar("T")

P5 = "p5.48xlarge"
IMAGE = f"public.ecr.aws/hpc-cloud/nccl-tests@sha256:{'0' * 64}"


@dataclass
class FakeTime:
    """Seconds that pass only when somebody sleeps."""

    seconds: float = 0

    def sleep(self, seconds: float) -> None:
        self.seconds += seconds

    def clock(self) -> Clock:
        start = datetime(2026, 12, 1, tzinfo=UTC)
        return Clock(
            now=lambda: start + timedelta(seconds=self.seconds),
            monotonic=lambda: self.seconds,
            sleep=self.sleep,
        )


@dataclass
class FakeCluster:
    """Nodes by name, their faults, and what the gate did to them."""

    states: dict[str, NodeState] = field(default_factory=dict)
    faults: dict[str, set[str]] = field(default_factory=dict)
    busy_nodes: set[str] = field(default_factory=set)
    marks: dict[str, tuple[Mark, str]] = field(default_factory=dict)
    stored: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    objects: list[str] = field(default_factory=list)
    rounds: list[list[tuple[str, ...]]] = field(default_factory=list)
    cleaned: int = 0
    garble: Callable[[GateJob, str], str] = lambda _job, text: text
    stops_at_round: int | None = None

    def add(self, count: int, *, kind: str = P5, wave: str = "1", **known: bool) -> list[str]:
        """Add nodes; names go on counting."""
        names = [f"node-{len(self.states) + index:02d}" for index in range(count)]
        for name in names:
            state = NodeState(
                name=name,
                instance_type=kind,
                provider_id=f"aws:///use1-az4/i-{name}",
                wave=wave,
                ready=True,
                passed=False,
                devices=wanted(instance_type(kind)),
            )
            self.states[name] = replace(state, **known)
        return names

    def nodes(self, pool: str) -> list[NodeState]:
        assert pool == "train"
        return sorted(self.states.values(), key=lambda node: node.name)

    def busy(self, names: Collection[str]) -> set[str]:
        return self.busy_nodes & set(names)

    def create(self, manifests: Sequence[Manifest]) -> None:
        self.objects += [manifest["kind"] for manifest in manifests]

    def run(
        self,
        jobs: Sequence[GateJob],
        seconds: float,
        read: Callable[[GateJob, Iterable[str]], T],
    ) -> dict[str, JobResult[T]]:
        self.rounds.append([job.nodes for job in jobs])
        if self.stops_at_round == len(self.rounds):
            raise UnknownError("list Pods: the Kubernetes API does not answer: connection refused")
        met = [name for job in jobs for name in job.nodes]
        assert len(met) == len(set(met)), "a node cannot run two Jobs at once"
        return {job.name: self._answer(job, seconds, read) for job in jobs}

    def _answer(
        self, job: GateJob, seconds: float, read: Callable[[GateJob, Iterable[str]], T]
    ) -> JobResult[T]:
        nodes = [self._simulated(name) for name in job.nodes]
        if any("dead" in node.faults for node in nodes):
            return JobResult(None, f"it did not end in time: Running after {seconds:g} s")
        [container] = job.manifest["spec"]["template"]["spec"]["containers"]
        assert container["name"] == CONTAINER
        check = job.manifest["metadata"]["labels"]["trainyard.dev/check"]
        if check == "node":
            text = node_check_log(nodes[0])
        else:
            env = {each["name"]: each["value"] for each in container["env"]}
            text = all_reduce_log(nodes, env)
        return JobResult(read(job, self.garble(job, text).splitlines()))

    def _simulated(self, name: str) -> SimulatedNode:
        kind = self.states[name].instance_type
        return SimulatedNode(name, kind, frozenset(self.faults.get(name, ())))

    def mark(self, name: str, mark: Mark, reason: str) -> None:
        self.marks[name] = (mark, reason)
        self.states[name] = replace(self.states[name], passed=mark is Mark.OPEN)

    def store(self, name: str, verdict: Mapping[str, Any]) -> None:
        self.stored[name] = verdict

    def clean(self, selector: Mapping[str, str]) -> None:
        assert selector["trainyard.dev/gate-of"] == "train-1"
        self.cleaned += 1

    def marked(self, mark: Mark) -> list[str]:
        """Names of the nodes with this mark."""
        return sorted(name for name, (given, _) in self.marks.items() if given is mark)


def run_gate(
    cluster: FakeCluster,
    nodes: int,
    *,
    kind: str = P5,
    lines: list[str] | None = None,
    floor: float | None = None,
    again: bool = False,
) -> WaveVerdict:
    """Run the gate over wave 1 of pool train."""
    request = Request(
        run="20261201-080000-ab12",
        pool="train",
        wave="1",
        nodes=nodes,
        instance=instance_type(kind),
        image=IMAGE,
        namespace="trainyard-gate",
        timeout=3600,
        floor_gbps=floor,
        again=again,
    )
    said = [] if lines is None else lines
    return Gate(request, cluster, said.append, FakeTime().clock()).run()
