"""The flow of the gate: wait for the wave, check each node, prove the fabric, mark the nodes."""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from components.catalog import InstanceType
from scripts.errors import UnknownError, UsageError
from scripts.gate.devices import lacking
from scripts.gate.isolate import allowance
from scripts.gate.jobs import GateJob, JobMaker, accelerator
from scripts.gate.keys import key_pair
from scripts.gate.outcome import decide
from scripts.gate.ports import Cluster, JobResult, Mark, NodeState, Progress
from scripts.gate.prove import ALONE, Proof, prove
from scripts.gate.verdict import NodeVerdict, WaveVerdict, for_cluster
from scripts.nccl.expectation import Expectation, expect
from scripts.nccl.judge import Judgement
from scripts.nccl.judge import judge as judge_log
from scripts.nccl.log import parse as parse_log
from scripts.nccl.text import names, words
from scripts.node.capture import parse as parse_capture
from scripts.node.judge import NodeJudgement
from scripts.node.judge import judge as judge_node
from scripts.verdicts import Finding, Verdict, overall

__all__ = ["Clock", "Gate", "Request"]

NODE_CHECK_SECONDS: Final = 900
"""The check takes a minute; the rest is for pulling an image of some 10 GB."""

ALL_REDUCE_SECONDS: Final = 1800
"""A sweep takes two to three minutes; a hang is what this ends."""

DEVICE_SECONDS: Final = 180
"""Time for the device plugins of a node that has just become Ready."""

DEVICE_POLL_SECONDS: Final = 15

POLL_SECONDS: Final = 2


@dataclass(frozen=True, slots=True)
class Clock:
    """Time, so that tests need not wait for it."""

    now: Callable[[], datetime] = lambda: datetime.now(tz=UTC)
    monotonic: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What is to be proved. ``timeout`` (seconds) bounds the whole run.

    ``again`` also proves nodes that passed before, as long as nothing runs on them.
    """

    run: str
    pool: str
    wave: str
    nodes: int
    instance: InstanceType
    image: str
    namespace: str
    timeout: float
    floor_gbps: float | None = None
    again: bool = False


class Gate:
    """One run over one wave. ``run`` always comes back with a verdict."""

    def __init__(
        self, request: Request, cluster: Cluster, progress: Progress, clock: Clock | None = None
    ) -> None:
        self._request = request
        self._cluster = cluster
        self._progress = progress
        self._clock = clock or Clock()
        self._deadline = self._clock.monotonic() + request.timeout
        self._maker = JobMaker(
            run=request.run,
            pool=request.pool,
            wave=request.wave,
            namespace=request.namespace,
            image=request.image,
            instance=request.instance,
        )
        self.verdict = WaveVerdict(
            run=request.run,
            pool=request.pool,
            wave=request.wave,
            instance_type=request.instance.name,
            image=request.image,
            asked=request.nodes,
            started=self._clock.now(),
        )

    def run(self) -> WaveVerdict:
        """Judge the wave and mark its nodes; what stopped the gate itself is unknown.

        Raises
        ------
        UsageError
            If the request cannot be judged at all: no floor for the type, or another type of node.
        """
        self._require_floors()
        try:
            self._flow()
        except UnknownError as error:
            self._give_up(error)
        finally:
            self.verdict.ended = self._clock.now()
        try:
            self._cluster.store(self._name, for_cluster(self.verdict))
            self._cluster.clean(self._maker.labels)
        except UnknownError as error:
            self._give_up(error)
        return self.verdict

    def _give_up(self, error: UnknownError) -> None:
        self._progress(f"stopped: {error}")
        self.verdict.verdict = Verdict.UNKNOWN
        self.verdict.message = f"the gate could not go on: {error}"
        self.verdict.next_step = "run it again: it tests what is not open"

    @property
    def _name(self) -> str:
        return f"gate-{self._request.pool}-{self._request.wave}"

    def _require_floors(self) -> None:
        shapes = {self._request.nodes, min(self._request.nodes, 2)}
        for nodes in sorted(shapes):
            expected = self._expect(nodes)
            if expected.floor is None and expected.ranks > 1:
                raise UsageError(
                    f"no bandwidth floor is known for {self._request.instance.name} on "
                    f"{words(nodes, 'node')}, and a wave whose bandwidth is not judged never "
                    "opens; give one with --floor GBPS, from a run that you trust"
                )
            if expected.floor is not None:
                self.verdict.floors[words(nodes, "node")] = expected.floor

    def _expect(self, nodes: int, hosts: Sequence[str] | None = None) -> Expectation:
        request = self._request
        return expect(request.instance, nodes, floor_gbps=request.floor_gbps, hosts=hosts)

    def _flow(self) -> None:
        self._cluster.clean({"trainyard.dev/gate-of": self._maker.labels["trainyard.dev/gate-of"]})
        members = self._wait()
        if members is None:
            return
        if self._request.again:
            members = self._shut_idle(members)
        fresh = [node for node in members if not node.passed]
        if len(fresh) < len(members):
            passed = len(members) - len(fresh)
            self._progress(f"{words(passed, 'node')} passed before and stay as they are")
        checks = self._check({node.name for node in fresh})
        good = [node.name for node in fresh if checks[node.name].verdict is Verdict.PASS]
        failed = sum(checks[node.name].verdict is Verdict.FAIL for node in fresh)
        allowed = allowance(self._request.nodes) - failed
        proof = self._prove(good, allowed) if good and allowed >= 0 else Proof()
        self.verdict.measured = proof.measured
        decision = decide(members, checks, proof, self._request.nodes)
        self.verdict.verdict = decision.verdict
        self.verdict.message, self.verdict.next_step = decision.message, decision.next_step
        self.verdict.nodes = decision.nodes
        for name, (mark, reason) in decision.marks.items():
            if mark is not Mark.OPEN:
                self._progress(f"{name} stays out: {reason}")
            self._cluster.mark(name, mark, f"{reason} (run {self._request.run})")

    def _wait(self) -> list[NodeState] | None:
        """Wait until the wave is Ready; None, with the verdict set, when it does not get so."""
        request, shown = self._request, -1
        while True:
            members = [
                node for node in self._cluster.nodes(request.pool) if node.wave == request.wave
            ]
            ready = [node for node in members if node.ready]
            if len(ready) != shown:
                shown = len(ready)
                self._progress(f"{shown} of {words(request.nodes, 'node')} Ready")
            if len(ready) >= request.nodes:
                self._require_type(ready)
                return ready
            if self._left() <= 0:
                self._never_ready(members, ready)
                return None
            self._clock.sleep(POLL_SECONDS)

    def _shut_idle(self, members: Sequence[NodeState]) -> list[NodeState]:
        """Shut the open nodes on which nothing runs, so that no job comes between their tests."""
        passed = {node.name for node in members if node.passed}
        busy = self._cluster.busy(passed) if passed else set[str]()
        if busy:
            self._progress(f"{words(len(busy), 'node')} with jobs stay as they are: {names(busy)}")
        for name in sorted(passed - busy):
            self._cluster.mark(name, Mark.HOLD, f"is proved again (run {self._request.run})")
        return [
            replace(node, passed=False) if node.name in passed - busy else node for node in members
        ]

    def _never_ready(self, members: Sequence[NodeState], ready: Sequence[NodeState]) -> None:
        missing = [node for node in members if not node.ready]
        absent = self._request.nodes - len(members)
        parts = [
            *([f"not Ready: {names([node.name for node in missing])}"] if missing else []),
            *([f"{words(absent, 'node')} never joined"] if absent > 0 else []),
        ]
        self.verdict.verdict = Verdict.UNKNOWN
        self.verdict.message = (
            f"{len(ready)} of {words(self._request.nodes, 'node')} were Ready after "
            f"{self._request.timeout:g} s, so none was tested; {'; '.join(parts)}"
        )
        self.verdict.next_step = (
            "look at the node group's health and at these instances, then run the gate again"
        )
        self.verdict.nodes = [
            NodeVerdict(
                name=node.name,
                provider_id=node.provider_id,
                verdict=Verdict.UNKNOWN,
                reason="Ready, not tested" if node.ready else "not Ready",
            )
            for node in members
        ]

    def _require_type(self, nodes: Sequence[NodeState]) -> None:
        expected = self._request.instance.name
        others = [node.name for node in nodes if node.instance_type != expected]
        if others:
            raise UsageError(
                f"{names(others)} of pool {self._request.pool} wave {self._request.wave} are not "
                f"{expected}; give the type of the wave with --type"
            )

    def _check(self, nodes: set[str]) -> dict[str, NodeJudgement]:
        """Check every node by itself; what is unknown gets a second try."""
        judgements = self._without_devices(nodes)
        nodes = nodes - judgements.keys()
        for attempt in ("n", "m"):
            left = sorted(
                name
                for name in nodes
                if name not in judgements or judgements[name].verdict is Verdict.UNKNOWN
            )
            if not left or (judgements and self._left() <= 0):
                break
            self._progress(f"checking {words(len(left), 'node')}")
            seconds = self._seconds(NODE_CHECK_SECONDS)
            jobs = [
                self._maker.node_check(f"{attempt}{index}", name, seconds)
                for index, name in enumerate(left)
            ]
            results = self._cluster.run(jobs, seconds, self._read_capture)
            for job in jobs:
                judgements[job.nodes[0]] = _node_judgement(results[job.name])
        return judgements

    def _without_devices(self, nodes: set[str]) -> dict[str, NodeJudgement]:
        """Give device plugins of new nodes time; judge the nodes on which they never show up."""
        end = min(self._left(), DEVICE_SECONDS) + self._clock.monotonic()
        while True:
            states = self._cluster.nodes(self._request.pool)
            found = {
                node.name: judgement
                for node in states
                if node.name in nodes and (judgement := lacking(node, self._request.instance))
            }
            if not found or self._clock.monotonic() >= end:
                return found
            self._progress(f"waiting for the devices of {names(found)}")
            self._clock.sleep(DEVICE_POLL_SECONDS)

    def _read_capture(self, _job: GateJob, lines: Iterable[str]) -> NodeJudgement:
        return judge_node(parse_capture(lines), self._request.instance)

    def _prove(self, good: Sequence[str], allowed: int) -> Proof:
        request = self._request
        if len(good) == request.nodes == accelerator(request.instance).count == 1:
            return Proof(proven={good[0]: f"its check passed; {ALONE} and has one GPU"})
        partners = self._idle_proven(good)
        if len(good) == 1 < request.nodes and not partners:
            reason = "no proven node is idle, so nothing could meet it to prove its fabric"
            return Proof(held={good[0]: reason})
        self._cluster.create(self._maker.shared(*key_pair()))
        return prove(
            good, partners, allowed=allowed, measure=self._measure, progress=self._progress
        )

    def _idle_proven(self, besides: Sequence[str]) -> list[str]:
        """Return open nodes of the pool, also of other waves, on which no GPU is taken."""
        found = [
            node.name
            for node in self._cluster.nodes(self._request.pool)
            if node.passed
            and node.ready
            and node.name not in besides
            and node.instance_type == self._request.instance.name
        ]
        busy = self._cluster.busy(found) if found else set[str]()
        return [name for name in found if name not in busy]

    def _measure(self, label: str, groups: Sequence[Sequence[str]]) -> list[Judgement]:
        seconds = self._seconds(ALL_REDUCE_SECONDS)
        jobs = [
            self._maker.all_reduce(f"{label}-{index}", group, seconds)
            for index, group in enumerate(groups)
        ]
        results = self._cluster.run(jobs, seconds, self._read_log)
        return [_judgement(results[job.name]) for job in jobs]

    def _read_log(self, job: GateJob, lines: Iterable[str]) -> Judgement:
        return judge_log(parse_log(lines), self._expect(len(job.nodes), job.hosts))

    def _left(self) -> float:
        return self._deadline - self._clock.monotonic()

    def _seconds(self, most: float) -> float:
        left = self._left()
        if left <= 0:
            raise UnknownError(
                f"its {self._request.timeout:g} s are over; give it more with --timeout"
            )
        return max(1.0, min(most, left))


def _node_judgement(result: JobResult[NodeJudgement]) -> NodeJudgement:
    if result.value is not None and not result.problem:
        return result.value
    if result.value is not None and result.value.verdict is Verdict.FAIL:
        return result.value
    return NodeJudgement.unknown(result.problem)


def _judgement(result: JobResult[Judgement]) -> Judgement:
    if not result.problem and result.value is not None:
        return result.value
    stopped = Finding("job", Verdict.UNKNOWN, result.problem)
    findings = (stopped, *(result.value.findings if result.value else ()))
    lowest = result.value.lowest_busbw if result.value else None
    return Judgement(overall(found.verdict for found in findings), findings, lowest)
