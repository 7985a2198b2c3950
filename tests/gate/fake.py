"""A cluster in memory that answers with the recordings of the embedded target."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar, cast

from components.catalog import instance_type
from scripts.blacklist.store import BlacklistStore
from scripts.errors import UnknownError
from scripts.gate.devices import wanted
from scripts.gate.jobs import CONTAINER, GateJob
from scripts.gate.objects import Manifest
from scripts.gate.ports import Condition, JobResult, Mark, NodeState, ignore
from scripts.gate.run import Clock, Gate, Request
from scripts.gate.sweep import FULL_SWEEP
from scripts.gate.verdict import WaveVerdict
from scripts.local.answers import SimulatedNode, answer
from scripts.local.target import symptoms
from scripts.node.judge import NodeJudgement

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


Shows = Callable[[GateJob, str], str | None]
"""Says which kind of fault a Job over some nodes shows, of this collective; None for no fault.

Kinds are those of the embedded target, and what stands in ``DAMAGE``.
"""

DAMAGE: Mapping[str, tuple[str, str]] = {
    "gdr": ("NET/Libfabric/0/GDRDMA", "NET/Libfabric/0"),
}
"""What else may be wrong: kind of fault -> what it changes in a good log."""

LARGE = 16
"""A group of more nodes takes long to be answered and read."""

NOT_IN_COLLECTIVES = frozenset({"storage", "mount"})
"""Faults that nodes may still have when large groups of them meet, and that do not show there."""


def on(name: str, kind: str, least: int = 1) -> Shows:
    """Show a fault of one node in every group of so many nodes with it."""
    return lambda job, _: kind if name in job.nodes and len(job.nodes) >= least else None


def among(names: Collection[str], least: int) -> Shows:
    """Let a link be slow wherever so many of these nodes meet."""
    return lambda job, _: "link" if len({*names} & {*job.nodes}) >= least else None


def meeting(name: str, others: Collection[str]) -> Shows:
    """Let a link be slow wherever this node meets one of the others."""
    met = frozenset(others)
    return lambda job, _: "link" if name in job.nodes and met & {*job.nodes} else None


def once(name: str) -> Shows:
    """Let a link be slow the first time that this node meets others."""
    seen: list[str] = []

    def shows(job: GateJob, _collective: str) -> str | None:
        if name not in job.nodes or len(job.nodes) == 1 or seen:
            return None
        seen.append(job.name)
        return "link"

    return shows


@dataclass
class FakeCluster:
    """Nodes by name, their faults, and what the gate did to them.

    ``faults`` are of nodes, ``shows`` of Jobs by the nodes that meet there. ``quick`` reads the log
    of a good Job once for all that are like it, which large waves need; clusters of the same type
    may share what was ``read``.
    """

    states: dict[str, NodeState] = field(default_factory=dict)
    faults: dict[str, set[str]] = field(default_factory=dict)
    shows: list[Shows] = field(default_factory=list)
    busy_nodes: set[str] = field(default_factory=set)
    lent: dict[str, str] = field(default_factory=dict)
    marks: dict[str, tuple[Mark, str]] = field(default_factory=dict)
    stored: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    objects: list[str] = field(default_factory=list)
    rounds: list[list[tuple[str, ...]]] = field(default_factory=list)
    jobs: list[GateJob] = field(default_factory=list)
    cleaned: int = 0
    garble: Callable[[GateJob, str], str] = lambda _job, text: text
    stops_at_round: int | None = None
    lost_at_round: dict[int, str] = field(default_factory=dict)
    quick: bool = False
    read: dict[tuple[object, ...], Any] = field(default_factory=dict)

    def add(
        self, count: int, *, kind: str = P5, wave: str = "1", leaf: int = 0, **known: bool
    ) -> list[str]:
        """Add nodes, ``leaf`` of them below each switch; names go on counting."""
        names = [f"node-{len(self.states) + index:02d}" for index in range(count)]
        for index, name in enumerate(names):
            state = NodeState(
                name=name,
                instance_type=kind,
                provider_id=f"aws:///use1-az4/i-{name}",
                wave=wave,
                ready=True,
                passed=False,
                devices=wanted(instance_type(kind)),
                place=("nn-top", f"nn-{index // leaf}") if leaf else (),
            )
            self.states[name] = replace(state, **known)
        return names

    def below(self, network_node: str) -> list[str]:
        """Names of the nodes below a switch."""
        return [name for name, state in self.states.items() if network_node in state.place]

    def nodes(self, pool: str) -> list[NodeState]:
        assert pool == "train"
        return sorted(map(self._shown, self.states.values()), key=lambda node: node.name)

    def _shown(self, state: NodeState) -> NodeState:
        """Return a node as it is with those of its faults that show on itself."""
        kinds = symptoms.shown(self.faults.get(state.name, ()))
        if not kinds:
            return state
        capacity = {name: str(count) for name, count in state.devices.items()}
        status = symptoms.change(kinds, capacity, "")[1]
        devices = {name: int(count) for name, count in status["allocatable"].items()}
        conditions = {
            each["type"]: Condition(each["status"], each["reason"], each["message"])
            for each in status["conditions"]
        }
        return replace(state, devices={**state.devices, **devices}, conditions=conditions)

    def busy(self, names: Collection[str]) -> set[str]:
        return self.busy_nodes & set(names)

    def create(self, manifests: Sequence[Manifest]) -> None:
        self.objects += [manifest["kind"] for manifest in manifests]

    def run(
        self,
        jobs: Sequence[GateJob],
        seconds: float,
        read: Callable[[GateJob, Iterable[str]], T],
        seen: Callable[[GateJob, JobResult[T]], None] = ignore,
    ) -> dict[str, JobResult[T]]:
        self.rounds.append([job.nodes for job in jobs])
        self.jobs += jobs
        if self.stops_at_round == len(self.rounds):
            raise UnknownError("list Pods: the Kubernetes API does not answer: connection refused")
        if lost := self.lost_at_round.get(len(self.rounds)):
            self.states[lost] = replace(self.states[lost], ready=False)
        met = [name for job in jobs for name in job.nodes]
        assert len(met) == len(set(met)), "a node cannot run two Jobs at once"
        results = {job.name: self._answer(job, seconds, read) for job in jobs}
        for job in jobs:
            seen(job, results[job.name])
        return results

    def _answer(
        self, job: GateJob, seconds: float, read: Callable[[GateJob, Iterable[str]], T]
    ) -> JobResult[T]:
        spec = job.manifest["spec"]
        speaker = spec["mpiReplicaSpecs"]["Launcher"] if job.kind == "MPIJob" else spec
        [container] = speaker["template"]["spec"]["containers"]
        assert container["name"] == CONTAINER
        check = job.manifest["metadata"]["labels"]["trainyard.dev/check"]
        env = {each["name"]: each["value"] for each in container["env"]}
        collective = env.get("GATE_BINARY", "").rpartition("/")[2].removesuffix("_perf")
        shown = {kind for shows in self.shows if collective and (kind := shows(job, collective))}
        nodes = [self._simulated(name, shown) for name in job.nodes]
        kinds = shown.union(*(node.faults for node in nodes))
        if len(nodes) > LARGE:
            kinds -= NOT_IN_COLLECTIVES
        if "dead" in kinds or any(not self.states[name].ready for name in job.nodes):
            return JobResult(None, f"it did not end in time: Running after {seconds:g} s")
        like = (check, collective, len(nodes), nodes[0].instance_type)
        if self.quick and not kinds and like in self.read:
            return JobResult(_of(nodes[0], self.read[like]))
        text = answer(check, nodes, env)
        assert text is not None
        for kind in kinds & DAMAGE.keys():
            text = text.replace(*DAMAGE[kind])
        result = JobResult(read(job, self.garble(job, text).splitlines()))
        if not kinds:
            self.read[like] = result.value
        return result

    def _simulated(self, name: str, shown: Collection[str]) -> SimulatedNode:
        kinds = frozenset(self.faults.get(name, ())) | frozenset(shown)
        state = self.states[name]
        return SimulatedNode(name, state.instance_type, kinds, state.provider_id)

    def borrow(self, names: Sequence[str], most: int, run: str, seconds: float) -> set[str]:
        assert seconds > 0
        free = [name for name in names if self.lent.get(name, run) == run][:most]
        self.lent |= dict.fromkeys(free, run)
        return set(free)

    def give_back(self, names: Collection[str], run: str) -> None:
        for name in names:
            assert self.lent.pop(name) == run

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


def _of(node: SimulatedNode, value: T) -> T:
    """Give the judgement on a node like others the identities of its own GPUs and machine."""
    if not isinstance(value, NodeJudgement) or not value.gpus:
        return value
    gpus = tuple(
        {**gpu, "uuid": f"GPU-{node.machine}-{index}", "serial": f"{node.machine}-{index}"}
        for index, gpu in enumerate(value.gpus)
    )
    facts = {**value.facts, "instance_id": node.machine.rpartition("/")[2]}
    return cast("T", replace(value, gpus=gpus, facts=facts))


def sizes(cluster: FakeCluster) -> list[tuple[int, int]]:
    """How many groups each round had, and of how many nodes."""
    return [(len(groups), len(groups[0])) for groups in cluster.rounds]


def run_gate(  # noqa: PLR0913 - each is an option of the command
    cluster: FakeCluster,
    nodes: int,
    *,
    kind: str = P5,
    lines: list[str] | None = None,
    floor: float | None = None,
    again: bool = False,
    blacklist: BlacklistStore | None = None,
    collectives: tuple[str, ...] = FULL_SWEEP,
    dcgm: int = 0,
    storage_mbps: float | None = None,
) -> WaveVerdict:
    """Run the gate over wave 1 of pool train; storage is checked where something is sold."""
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
        collectives=collectives,
        dcgm=dcgm,
        storage_claim="" if storage_mbps is None else "data",
        storage_mbps=storage_mbps,
    )
    said = [] if lines is None else lines
    return Gate(request, cluster, said.append, FakeTime().clock(), blacklist=blacklist).run()
