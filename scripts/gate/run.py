"""The flow of the gate: wait for the wave, check each node, prove the fabric, mark the nodes."""

import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from components.catalog import InstanceType
from components.catalog.floors import floor
from scripts.blacklist.store import BlacklistStore
from scripts.errors import UnknownError, UsageError
from scripts.gate.devices import lacking
from scripts.gate.isolate import allowance
from scripts.gate.jobs import GateJob, JobMaker, accelerator
from scripts.gate.memory import Memory
from scripts.gate.outcome import decide
from scripts.gate.ports import Cluster, Mark, NodeState, Progress
from scripts.gate.prove import Plan, Proof, prove
from scripts.gate.reasons import ALONE, LONELY
from scripts.gate.results import by_node, node_judgement, run_judgement
from scripts.gate.stages import Round
from scripts.gate.sweep import FULL_SWEEP, PLAIN, without_floor
from scripts.gate.verdict import NodeVerdict, WaveVerdict, for_cluster
from scripts.nccl.expectation import Expectation, expect
from scripts.nccl.judge import Judgement
from scripts.nccl.judge import judge as judge_log
from scripts.nccl.log import parse as parse_log
from scripts.nccl.text import names, words
from scripts.node.capture import parse as parse_capture
from scripts.node.judge import NodeJudgement
from scripts.node.judge import judge as judge_node
from scripts.verdicts import Verdict

__all__ = ["Clock", "Gate", "Request"]

NODE_CHECK_SECONDS: Final = 900
"""The check takes a minute; the rest is for pulling an image of some 10 GB."""

SMALL_RUN_SECONDS: Final = 600
"""A run takes two to three minutes, and the image is there since the check; this ends a hang."""

LARGE_RUN_SECONDS: Final = 1200
"""Thousands of ranks take minutes to find each other."""

SMALL_RUN_NODES: Final = 16

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

    ``floor_gbps`` is the floor for all_reduce. ``again`` also proves nodes that passed before, as
    long as nothing runs on them. ``collectives`` are what the wave must pass as a whole.
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
    collectives: tuple[str, ...] = FULL_SWEEP


class Gate:
    """One run over one wave. ``run`` always comes back with a verdict."""

    def __init__(
        self,
        request: Request,
        cluster: Cluster,
        progress: Progress,
        clock: Clock | None = None,
        *,
        blacklist: BlacklistStore | None = None,
    ) -> None:
        self._memory = Memory(blacklist, progress)
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
        most = self._request.nodes
        for nodes in sorted({min(most, count) for count in (2, 3, most)}):
            expected = self._expect(nodes)
            if expected.floor is None and expected.ranks > 1:
                raise UsageError(
                    f"no bandwidth floor is known for {self._request.instance.name} on "
                    f"{words(nodes, 'node')}, and a wave whose bandwidth is not judged never "
                    "opens; give one with --floor GBPS, from a run that you trust"
                )
            if expected.floor is not None:
                self.verdict.floors[words(nodes, "node")] = expected.floor
        for collective in self._request.collectives:
            known = self._expect(most, collective=collective).floor
            if collective != PLAIN and known is not None:
                self.verdict.floors[f"{collective} on {words(most, 'node')}"] = known
        alone = self._expect(1).floor
        if self._alone_pays and alone is not None:
            self.verdict.floors[words(1, "node")] = alone

    @property
    def _alone_pays(self) -> bool:
        """Whether a node by itself is faster than between nodes, by the catalog's floors.

        Then the fabric hides a weak NVLink from pairs and sweeps; elsewhere a pair shows it too.
        """
        name = self._request.instance.name
        alone, pair = floor(name, 1), floor(name, 2)
        return alone is not None and pair is not None and alone.busbw > pair.busbw

    def _expect(
        self, nodes: int, hosts: Sequence[str] | None = None, collective: str = PLAIN
    ) -> Expectation:
        request = self._request
        given = request.floor_gbps if collective == PLAIN else None
        return expect(request.instance, nodes, collective=collective, floor_gbps=given, hosts=hosts)

    def _flow(self) -> None:
        self._cluster.clean({"trainyard.dev/gate-of": self._maker.labels["trainyard.dev/gate-of"]})
        members = self._wait()
        if members is None:
            return
        self._memory.recall()
        if self._request.again:
            members = self._shut_idle(members)
        fresh = [node for node in members if not node.passed]
        if len(fresh) < len(members):
            passed = len(members) - len(fresh)
            self._progress(f"{words(passed, 'node')} passed before and stay as they are")
        checks = self._check(fresh)
        good = [node.name for node in fresh if checks[node.name].verdict is Verdict.PASS]
        failed = sum(checks[node.name].verdict is Verdict.FAIL for node in fresh)
        allowed = allowance(self._request.nodes) - failed
        proof = self._prove(good, allowed) if good and allowed >= 0 else Proof()
        decision = decide(members, checks, proof, self._request.nodes)
        self.verdict.verdict = decision.verdict
        self.verdict.message, self.verdict.next_step = decision.message, decision.next_step
        self.verdict.nodes = decision.nodes
        for name, (mark, reason) in decision.marks.items():
            if mark is not Mark.OPEN:
                self._progress(f"{name} stays out: {reason}")
            self._cluster.mark(name, mark, f"{reason} (run {self._request.run})")
        self._memory.keep(self.verdict, checks, self._clock.now())

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

    def _check(self, fresh: Sequence[NodeState]) -> dict[str, NodeJudgement]:
        """Check every node by itself; what is unknown gets a second try."""
        judgements = self._memory.of_instances(fresh, self._clock.now())
        judgements |= self._without_devices({node.name for node in fresh} - judgements.keys())
        nodes = {node.name for node in fresh} - judgements.keys()
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
            self.verdict.node_tests += len(jobs)
            results = self._cluster.run(jobs, seconds, self._read_capture)
            for job in jobs:
                check = node_judgement(results[job.name])
                judgements[job.nodes[0]] = self._memory.of_gpus(check, self._clock.now())
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
            return Proof(held={good[0]: LONELY})
        plan = Plan(
            allowed=allowed,
            places={node.name: node.place for node in self._cluster.nodes(request.pool)},
            collectives=request.collectives,
            alone=self._alone_pays,
            lone=request.nodes == 1,
            gone=self._gone,
        )
        return prove(
            good,
            partners,
            plan=plan,
            measure=self._measure,
            progress=self._progress,
            record=self.verdict.measured,
        )

    def _gone(self, names: Collection[str]) -> set[str]:
        """Return those of the nodes that are not Ready any more."""
        ready = {node.name for node in self._cluster.nodes(self._request.pool) if node.ready}
        return set(names) - ready

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

    def _measure(self, asked: Round) -> list[Judgement]:
        large = any(len(group) > SMALL_RUN_NODES for group in asked.groups)
        seconds = self._seconds(LARGE_RUN_SECONDS if large else SMALL_RUN_SECONDS)
        jobs = [
            self._maker.all_reduce(f"{asked.label}-{index}", group, seconds, asked.collective)
            for index, group in enumerate(asked.groups)
        ]

        def read(job: GateJob, lines: Iterable[str]) -> Judgement:
            expected = self._expect(len(job.nodes), job.hosts, asked.collective)
            return by_node(without_floor(judge_log(parse_log(lines), expected), expected), job)

        results = self._cluster.run(jobs, seconds, read)
        return [run_judgement(results[job.name]) for job in jobs]

    def _left(self) -> float:
        return self._deadline - self._clock.monotonic()

    def _seconds(self, most: float) -> float:
        left = self._left()
        if left <= 0:
            raise UnknownError(
                f"its {self._request.timeout:g} s are over; give it more with --timeout"
            )
        return max(1.0, min(most, left))
