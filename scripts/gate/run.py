"""The flow of the gate: wait for the wave, check each node, prove the fabric, mark the nodes."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from pydantic import TypeAdapter

from scripts.blacklist.store import BlacklistStore
from scripts.errors import UnknownError, UsageError
from scripts.gate.checks import NodeChecks, joined
from scripts.gate.desk import Desk
from scripts.gate.fabric import Fabric, Floors
from scripts.gate.history import History, known_of
from scripts.gate.idle import idle
from scripts.gate.isolate import allowance
from scripts.gate.jobs import GATE_OF_LABEL, accelerator
from scripts.gate.journal import Journal
from scripts.gate.keep import Keep, Logs
from scripts.gate.memory import Memory
from scripts.gate.outcome import AS_BEFORE, BEFORE, decide
from scripts.gate.ports import SHUT_AGAIN, Cluster, Mark, NodeState, Progress
from scripts.gate.prove import SWEEP_NODES, Plan, Proof, prove
from scripts.gate.reasons import ALONE, LONELY
from scripts.gate.request import Clock, Request
from scripts.gate.tally import Tally
from scripts.gate.verdict import NodeVerdict, WaveVerdict, for_cluster
from scripts.gate.versions import odd
from scripts.node.judge import NodeJudgement
from scripts.text import names, words
from scripts.verdicts import Verdict

__all__ = ["Clock", "Gate", "Request"]

POLL_SECONDS: Final = 2

STATES: Final[TypeAdapter[list[NodeState]]] = TypeAdapter(list[NodeState])


class _NeverReadyError(UnknownError):
    """The wave did not get Ready; the verdict says so."""


class _NothingToTestError(Exception):
    """A test of the schedule finds no idle node; that is no fault."""


class Gate:
    """One run over one wave."""

    def __init__(  # noqa: PLR0913 - what a run works with; all but the first three can be left out
        self,
        request: Request,
        cluster: Cluster,
        progress: Progress,
        clock: Clock | None = None,
        *,
        blacklist: BlacklistStore | None = None,
        history: History | None = None,
        logs: Logs | None = None,
        report: str = "",
        journal: Journal | None = None,
        guard: Callable[[], None] = lambda: None,
        tally: Callable[[Tally], None] = lambda _tally: None,
    ) -> None:
        self._request = request
        self._cluster = cluster
        self._progress = progress
        self._clock = clock or Clock()
        self._journal = journal or Journal()
        self._desk = Desk(
            request=request,
            cluster=cluster,
            progress=progress,
            clock=self._clock,
            journal=self._journal,
            guard=guard,
            tally=tally,
        )
        self._memory = Memory(blacklist, progress)
        self._history = history or History(
            store=None,
            run=request.run,
            instance=request.instance,
            image=request.image,
            progress=progress,
        )
        self._logs = logs or Logs(Path(), Keep.NONE, progress)
        self._report = report
        self._floors = Floors(request)
        self._checks = NodeChecks(self._desk, self._memory, self._logs)
        self._fabric = Fabric(self._desk, self._floors, self._history, self._logs)
        self.members: list[NodeState] = []
        self.checks: dict[str, NodeJudgement] = {}
        self.problem = ""
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
        self.verdict.floors = self._floors.known()
        whole = False
        try:
            self._flow()
        except _NeverReadyError:
            self._progress(self.verdict.message)
        except _NothingToTestError as idle_wave:
            return self._untested(str(idle_wave))
        except UnknownError as error:
            self._give_up(error)
        except UsageError:
            self._leave_as_found()
            raise
        else:
            whole = True
        finally:
            self.verdict.ended = self._clock.now()
        try:
            # What another gate has written and runs by now is not touched.
            self._desk.guard()
            self._cluster.clean(self._desk.maker.labels)
            if not whole:
                self._leave_as_found()
            self._cluster.store(self._request.name, for_cluster(self.verdict))
            if whole:
                self._journal.close()
        except UnknownError as error:
            self._give_up(error)
        return self.verdict

    def _untested(self, message: str) -> WaveVerdict:
        """Leave everything as it is, also what the last gate said of the wave."""
        self.verdict.verdict, self.verdict.message = Verdict.PASS, message
        self._progress(message)
        self._journal.close()
        return self.verdict

    def _give_up(self, error: UnknownError) -> None:
        message = f"the gate could not go on: {error}"
        if message != self.verdict.message:
            self._progress(f"stopped: {error}")
        self.verdict.verdict, self.verdict.message = Verdict.UNKNOWN, message
        self.verdict.next_step = "run it again: it goes on where it stopped"

    def _leave_as_found(self) -> None:
        """Open what a test of the schedule had shut and came to no end with, and forget the test.

        Nobody may look at it for days, and idle nodes be lost to jobs. Who failed stays out.
        """
        if not self._request.regression:
            return
        for name in sorted(self._open_before()):
            check = self.checks.get(name)
            if check is None or check.verdict is not Verdict.FAIL:
                self._desk.guard()
                reason = f"{BEFORE}, and its new test came to no end (run {self._request.run})"
                self._cluster.mark(name, Mark.OPEN, reason)
        self.verdict.next_step = f"{AS_BEFORE}; mend what stopped it: the next test begins anew"
        self._journal.close()

    def _open_before(self) -> set[str]:
        """Return the nodes that are open again unless a test of the schedule finds them bad."""
        return {node.name for node in self.members if node.was_open and self._request.regression}

    def _flow(self) -> None:
        if not self._journal.resumed:
            self._cluster.clean({GATE_OF_LABEL: self._request.place})
        self.members = members = self._journal.once("members", STATES, self._members)
        self._memory.recall()
        fresh = [node for node in members if not node.passed]
        if len(fresh) < len(members):
            passed = len(members) - len(fresh)
            self._progress(f"{words(passed, 'node')} passed before and stay as they are")
        self.checks = checks = self._checks.before_fabric(fresh)
        good = [node.name for node in fresh if checks[node.name].verdict is Verdict.PASS]
        failed = sum(checks[node.name].verdict is Verdict.FAIL for node in fresh)
        allowed = allowance(self._request.nodes) - failed
        mixed = odd({node.name: checks[node.name] for node in fresh})
        if mixed.problem:
            proof = Proof(verdict=mixed.verdict, problem=mixed.problem, next_step=mixed.next_step)
        else:
            good = [name for name in good if name not in mixed.held]
            proof = self._prove(good, allowed) if good and allowed >= 0 else Proof()
        proof.held |= mixed.held
        self._storage(checks, proof)
        self._against_baselines(checks, proof)
        self.problem = proof.problem
        self._end(proof)

    def _storage(self, checks: dict[str, NodeJudgement], proof: Proof) -> None:
        """Check the shared file system from all proven nodes at once."""
        nodes = sorted(name for name in proof.proven if name in checks)
        if proof.problem:
            return
        bad = sum(each.verdict is Verdict.FAIL for each in checks.values()) + len(proof.bad)
        found, problem = self._checks.storage(nodes, allowance(self._request.nodes) - bad)
        for name, each in found.items():
            checks[name] = joined(checks[name], each, "storage")
        if problem is None:
            return
        users = self._desk.once("users", self._users)
        if users:
            self.verdict.warnings.append(
                f"storage: {problem.message}; jobs on {words(len(users), 'other node')} use the "
                "file system too, so no wave is held for it"
            )
            return
        proof.shut(problem.verdict, problem.message, problem.next_step)

    def _users(self) -> set[str]:
        """Return the open nodes on which jobs run: they share the file system with the wave."""
        return self._cluster.busy({node.name for node in self._desk.nodes() if node.passed})

    def _against_baselines(self, checks: Mapping[str, NodeJudgement], proof: Proof) -> None:
        """Hold what a wave passed by against what it reached before."""
        if proof.problem or not proof.proven:
            return
        ruling = self._history.compare(
            self._clock.now(),
            known_of(self.members, checks),
            self._fabric.measure,
            self.verdict.measured,
        )
        if ruling.problem:
            proof.shut(ruling.verdict, ruling.problem, ruling.next_step)

    def _end(self, proof: Proof) -> None:
        """Decide, write the decision on the nodes, and remember what it was made of."""
        members, checks, verdict = self.members, self.checks, self.verdict
        decision = decide(members, checks, proof, self._request.nodes, self._open_before())
        verdict.verdict = decision.verdict
        verdict.message, verdict.next_step = decision.message, decision.next_step
        verdict.nodes = decision.nodes
        verdict.node_tests = self._checks.tests
        for name, (mark, reason) in decision.marks.items():
            self._desk.guard()
            if mark is not Mark.OPEN:
                self._progress(f"{name} stays out ({mark}): {reason}")
            self._cluster.mark(name, mark, f"{reason} (run {self._request.run})")
        now = self._clock.now()
        self._memory.keep(verdict, checks, now, digests=self._logs.evidence, report=self._report)
        told = self._history.close(now, known_of(members, checks), verdict)
        verdict.baselines = list(told.baselines)
        verdict.warnings += told.warnings

    def _members(self) -> list[NodeState]:
        """Return the nodes of the wave; those that are to be tested have not passed, or no more."""
        request = self._request
        if request.regression:
            return self._idle_members()
        members = self._wait()
        if not request.again:
            return members
        passed = {node.name for node in members if node.passed}
        busy = self._cluster.busy(passed) if passed else set[str]()
        if busy:
            self._progress(f"in use and left as they are: {names(sorted(busy))}")
        return self._shut(members, passed - busy)

    def _idle_members(self) -> list[NodeState]:
        """Take what nobody uses, and wait for nobody.

        Raises
        ------
        _NothingToTestError
            If that is too little to test.
        """
        members = self._desk.wave()
        busy = self._cluster.busy({node.name for node in members})
        partners = self._idle_open([node.name for node in members])
        found = idle(members, busy, len(partners), self._request.nodes)
        if found.message:
            raise _NothingToTestError(found.message)
        ready = [node for node in members if node.ready]
        self._require_type(ready)
        return self._shut(ready, found.shut)

    def _wait(self) -> list[NodeState]:
        """Wait until the wave is Ready."""
        request, desk, shown = self._request, self._desk, -1
        most = request.timeout if request.ready_within is None else request.ready_within
        end = self._clock.monotonic() + min(most, desk.left())
        while True:
            members = desk.wave()
            ready = [node for node in members if node.ready]
            if len(ready) != shown:
                shown = len(ready)
                self._progress(f"{shown} of {words(request.nodes, 'node')} Ready")
            if len(ready) >= request.nodes:
                self._require_type(ready)
                return ready
            if self._clock.monotonic() >= end:
                self._never_ready(members, ready, most)
                raise _NeverReadyError
            self._clock.sleep(POLL_SECONDS)

    def _shut(self, members: Sequence[NodeState], free: Collection[str]) -> list[NodeState]:
        """Shut open nodes on which nothing runs, so that no job comes between their tests.

        A node on which one came all the same, before it was shut, is opened again.
        """
        run = self._request.run
        for name in sorted(free):
            self._cluster.mark(name, Mark.HOLD, f"{SHUT_AGAIN} (run {run})")
        late = self._cluster.busy(free) if free else set[str]()
        for name in sorted(late):
            self._progress(f"somebody has come to {name}, so it stays open")
            self._cluster.mark(name, Mark.OPEN, f"{BEFORE} (run {run})")
        shut = set(free) - late
        return [
            replace(node, passed=False, was_open=True) if node.name in shut else node
            for node in members
        ]

    def _never_ready(
        self, members: Sequence[NodeState], ready: Sequence[NodeState], waited: float
    ) -> None:
        missing = [node for node in members if not node.ready]
        absent = self._request.nodes - len(members)
        parts = [
            *([f"not Ready: {names([node.name for node in missing])}"] if missing else []),
            *([f"{words(absent, 'node')} never joined"] if absent > 0 else []),
        ]
        self.verdict.verdict = Verdict.UNKNOWN
        self.verdict.message = (
            f"{len(ready)} of {words(self._request.nodes, 'node')} were Ready after "
            f"{waited:g} s, so none was tested; {'; '.join(parts)}"
        )
        self.verdict.next_step = (
            "look at the node group's health and at these instances, then run the gate again"
        )
        self.verdict.nodes = [
            NodeVerdict(
                name=node.name,
                provider_id=node.provider_id,
                verdict=Verdict.PASS if node.passed and node.ready else Verdict.UNKNOWN,
                reason=_untested_reason(node),
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

    def _prove(self, good: Sequence[str], allowed: int) -> Proof:
        request = self._request
        if len(good) == request.nodes == accelerator(request.instance).count == 1:
            return Proof(proven={good[0]: f"its check passed; {ALONE} and has one GPU"})
        partners = self._borrowed(good)
        try:
            if len(good) == 1 < request.nodes and not partners:
                return Proof(held={good[0]: LONELY})
            places = self._journal.once("places", STATES, self._desk.nodes)
            plan = Plan(
                allowed=allowed,
                places={node.name: node.place for node in places},
                collectives=request.collectives,
                alone=self._floors.alone_pays,
                lone=request.nodes == 1,
                gone=self._gone,
            )
            return prove(
                good,
                partners,
                plan=plan,
                measure=self._fabric.measure,
                progress=self._progress,
                record=self.verdict.measured,
            )
        finally:
            self._give_back(partners)

    def _borrowed(self, good: Sequence[str]) -> list[str]:
        """Return nodes that are lent to this run; a resumed run has what it had before."""
        partners = sorted(self._desk.once("partners", lambda: self._partners(good)))
        if self._journal.resumed:
            # Who was stopped has given them back, or their loans end before this run does.
            run, left = self._request.run, self._desk.left()
            lent = self._cluster.borrow(partners, len(partners), run, left)
            if away := sorted(set(partners) - lent):
                self._progress(f"not lent to this run any more: {names(away)}")
        return partners

    def _give_back(self, partners: Sequence[str]) -> None:
        """End the loans; those of which that cannot be said end by themselves."""
        try:
            self._desk.guard()
            self._cluster.give_back(partners, self._request.run)
        except UnknownError as error:
            self._progress(f"loans are left to end by themselves: {error}")

    def _gone(self, some: Collection[str]) -> set[str]:
        """Return those of the nodes that are not Ready any more."""

        def ask() -> set[str]:
            return set(some) - {node.name for node in self._desk.nodes() if node.ready}

        return self._desk.once("gone", ask)

    def _partners(self, besides: Sequence[str]) -> set[str]:
        """Borrow open nodes of the pool, also of other waves, on which no GPU is taken.

        As many as a wave can need: a witness for each that may be bad, or company for a sweep.
        """
        most = SWEEP_NODES + allowance(self._request.nodes)
        return self._cluster.borrow(
            self._idle_open(besides), most, self._request.run, self._desk.left()
        )

    def _idle_open(self, besides: Collection[str]) -> list[str]:
        found = [
            node.name
            for node in self._desk.nodes()
            if node.passed
            and node.ready
            and node.name not in besides
            and node.instance_type == self._request.instance.name
        ]
        busy = self._cluster.busy(found) if found else set[str]()
        return [name for name in found if name not in busy]


def _untested_reason(node: NodeState) -> str:
    if not node.ready:
        return "not Ready"
    return BEFORE if node.passed else "Ready, not tested"
