"""Proves the fabric of a set of nodes, cheapest first: alone, in pairs, all together.

Pairs come before the sweep. A good wave pays one round of pairs for it; a wave with one bad node is
spared a sweep that must fail, and that waits for its whole time limit when the node hangs. With
1,024 nodes that is a seventh more node-minutes for a wave without a fault, a seventh less with one
to sixteen bad nodes, a third less when one hangs (``bench/isolation.py``); and among a thousand new
nodes somebody nearly always is bad.

A node alone is measured where that shows what nothing else does: where a node is faster by itself
than between nodes, half its NVLinks may fail and no pair and no sweep is slower for it.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from scripts.gate.bisect import Searcher
from scripts.gate.isolate import Outcome, Trial, Wave
from scripts.gate.ports import Progress
from scripts.gate.reasons import (
    ALONE,
    GONE,
    LONELY,
    bad_alone,
    bad_in_pairs,
    bad_in_search,
    held_by_pairs,
    held_by_search,
    nobody,
    only_together,
    systemic,
)
from scripts.gate.stages import Measure, Measurement, Recorder, Stage, alone, pairs
from scripts.gate.sweep import FULL_SWEEP, PLAIN, hard, reached, told
from scripts.gate.topology import Place, in_order
from scripts.nccl.judge import Judgement
from scripts.text import names, words
from scripts.verdicts import Verdict, overall

__all__ = ["SWEEP_NODES", "Plan", "Proof", "prove"]

SWEEP_NODES: Final = 4
"""Nodes of a sweep at least, where there are so many: on two, half of all traffic stays inside."""

MOST: Final = 0.5
"""What a search finds is taken out and the rest swept again, unless it found more than this."""

MAX_SEARCHES: Final = 3
"""Searches after failed sweeps; what the first hides, the next ones find."""


def _nobody_gone(_names: Collection[str]) -> set[str]:
    return set()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How a set is proved.

    ``allowed`` nodes may be bad. ``alone``: measure each node by itself first. ``lone``: the wave
    is one node, which may open without a partner. ``gone`` tells which nodes are not Ready any
    more.
    """

    allowed: int
    places: Mapping[str, Place] = field(default_factory=dict[str, Place])
    collectives: Sequence[str] = FULL_SWEEP
    alone: bool = True
    lone: bool = False
    gone: Callable[[Collection[str]], set[str]] = _nobody_gone


@dataclass(slots=True)
class Proof:
    """What is known of each node; ``problem`` where the set failed as a whole.

    ``verdict`` is fail where a fault was seen that cannot be laid on one node. ``next_step`` is
    what to do about the problem, where more is known than that the nodes have it in common.
    """

    proven: dict[str, str] = field(default_factory=dict[str, str])
    bad: dict[str, str] = field(default_factory=dict[str, str])
    held: dict[str, str] = field(default_factory=dict[str, str])
    verdict: Verdict = Verdict.PASS
    problem: str = ""
    next_step: str = ""
    measured: list[Measurement] = field(default_factory=list[Measurement])

    def shut(self, verdict: Verdict, problem: str, next_step: str) -> None:
        """Let the set fail as a whole, whatever is known of its nodes."""
        self.verdict, self.problem, self.next_step = verdict, problem, next_step


class _FailedError(Exception):
    """The set fails as a whole: nobody is proven, nobody is blamed."""

    def __init__(self, verdict: Verdict, problem: str) -> None:
        super().__init__(problem)
        self.verdict = verdict
        self.problem = problem


class _Prover:
    def __init__(
        self, nodes: Sequence[str], partners: Sequence[str], plan: Plan, recorder: Recorder
    ) -> None:
        self._all = in_order(nodes, plan.places)
        self._partners = list(partners)
        self._plan = plan
        self._recorder = recorder
        self._progress = recorder.progress
        self.proof = Proof(measured=recorder.measured)

    def prove(self) -> None:
        """Run the stages; each leaves out who did not pass the one before."""
        rest = self._alone(self._all)
        if len(rest) == 1 and not self._partners:
            if self._plan.lone:
                summary = self._recorder.measured[-1].judgement.summary
                self.proof.proven[rest[0]] = f"{PLAIN} on one node: {summary}; {ALONE}"
            else:
                self.proof.held[rest[0]] = LONELY
            return
        if rest:
            self._sweep(self._pairs(rest))

    def _alone(self, nodes: Sequence[str]) -> Sequence[str]:
        lone = len(nodes) == 1 and self._plan.lone and not self._partners
        if not self._plan.alone and not lone:
            return nodes
        allowed = self._plan.allowed
        last = alone(self._recorder, nodes)
        failed = {name: each for name, each in last.items() if each.verdict is Verdict.FAIL}
        if lone and last[nodes[0]].verdict is not Verdict.PASS:
            raise _FailedError(last[nodes[0]].verdict, nobody(last[nodes[0]], 1))
        if len(failed) > allowed:
            raise _FailedError(Verdict.FAIL, systemic(allowed, next(iter(failed.values()))))
        for name, judgement in failed.items():
            self._blame(name, bad_alone(judgement))
        for name, judgement in last.items():
            if judgement.verdict is Verdict.UNKNOWN:
                self.proof.held[name] = f"{PLAIN} on it alone: {judgement.summary}"
        return [name for name in nodes if last[name].verdict is Verdict.PASS]

    def _pairs(self, nodes: Sequence[str]) -> Sequence[str]:
        allowed = self._plan.allowed - len(self.proof.bad)
        wave = Wave(nodes, self._partners, allowed, self._plan.places)
        found, trials, lost = pairs(self._recorder, wave, self._plan.gone)
        self._common_cause(nodes, found, trials, allowed)
        failed = self._recorder.newest(Stage.PAIRS, Verdict.FAIL)
        for name in sorted(found.bad):
            witnesses = {trial.other(name) for trial in trials if name in trial.pair}
            self._blame(name, bad_in_pairs(witnesses & found.proven, failed[name]))
        unknown = self._recorder.newest(Stage.PAIRS, Verdict.UNKNOWN)
        self.proof.held |= held_by_pairs(found, unknown, failed)
        self._lost(lost)
        if found.dark or found.hard:
            self.proof.verdict = Verdict.FAIL
        return [name for name in nodes if name in found.proven and name not in self.proof.held]

    def _common_cause(
        self, nodes: Sequence[str], found: Outcome, trials: Sequence[Trial], allowed: int
    ) -> None:
        """Fail the set where no node may be blamed."""
        worst = overall(trial.verdict for trial in trials)
        judgement = next(
            (
                each.judgement
                for each in self._recorder.measured
                if each.stage is Stage.PAIRS and each.judgement.verdict is worst
            ),
            None,
        )
        if judgement is None:
            return
        if found.systemic:
            raise _FailedError(Verdict.FAIL, systemic(allowed, judgement))
        if len(nodes) > 1 and not found.proven & set(nodes) and not (found.bad or found.dark):
            raise _FailedError(worst, nobody(judgement, len(nodes)))

    def _sweep(self, nodes: Sequence[str]) -> None:
        """Sweep all that is left; search what fails, leave it out, and go on with the rest."""
        rest: list[str] = list(nodes)
        passed: dict[str, tuple[Judgement, int]] = {}
        searches = 0
        while rest and (left := [each for each in self._plan.collectives if each not in passed]):
            collective, group = left[0], self._filled(rest)
            if len(group) == 1:
                self.proof.held[rest[0]] = LONELY
                return
            judgement = self._together(collective, group)
            if judgement.verdict is Verdict.UNKNOWN and (lost := self._plan.gone(group)):
                self._lost(lost)
                rest = [name for name in rest if name not in lost]
                continue
            if judgement.verdict is not Verdict.PASS and not hard(judgement):
                judgement = self._together(collective, group)
            if judgement.verdict is Verdict.PASS:
                passed[collective] = judgement, len(group)
                continue
            searches += 1
            if searches > MAX_SEARCHES:
                problem = only_together(collective, judgement, group, self._plan.places)
                raise _FailedError(judgement.verdict, problem)
            out = self._search(collective, group, judgement)
            rest = [name for name in rest if name not in out]
        self.proof.proven |= dict.fromkeys(rest, reached(passed))

    def _together(self, collective: str, group: Sequence[str]) -> Judgement:
        self._progress(f"{collective} over {words(len(group), 'node')}")
        [judgement] = self._recorder.run(Stage.SWEEP, [group], collective)
        self._progress(f"{collective}: {judgement.verdict}: {told(judgement)}")
        return judgement

    def _filled(self, rest: Sequence[str]) -> Sequence[str]:
        """Add proven nodes from elsewhere to a group that is too small for a sweep."""
        missing = max(0, SWEEP_NODES - len(rest))
        return in_order([*rest, *self._partners[:missing]], self._plan.places)

    def _search(self, collective: str, group: Sequence[str], judgement: Judgement) -> set[str]:
        """Find what fails in a group, blame or hold it, and return it."""

        def measure(groups: Sequence[Sequence[str]]) -> list[Judgement]:
            self._progress(f"search: {collective} over {words(len(groups), 'group')} at once")
            return self._recorder.run(Stage.SEARCH, groups, collective)

        spare = [name for name in self._partners if name not in group]
        searcher = Searcher(tuple(group), spare, self._plan.places, measure)
        faults = searcher.search(judgement)
        out = {name for fault in faults for name in fault.nodes}
        if len(out) > len(group) * MOST or not (faults or searcher.ended):
            places, sides = self._plan.places, searcher.sides
            problem = only_together(collective, judgement, group, places, sides)
            raise _FailedError(judgement.verdict, problem)
        if not faults:
            self._progress("search: nothing fails again, so the sweep is run once more")
        held = held_by_search(collective, group, faults, self._plan.places)
        for fault in faults:
            name = fault.nodes[0]
            if len(fault.nodes) == 1 and name not in held:
                self._blame(name, bad_in_search(collective, fault))
        for why in sorted(set(held.values())):
            self._progress(f"held: {why}")
        self.proof.held |= held
        if any(fault.judgement.verdict is Verdict.FAIL for fault in faults) and held:
            self.proof.verdict = Verdict.FAIL
        if len(self.proof.bad) > self._plan.allowed:
            raise _FailedError(Verdict.FAIL, systemic(self._plan.allowed, faults[0].judgement))
        self._partners = [name for name in self._partners if name not in out]
        return out

    def _blame(self, name: str, reason: str) -> None:
        if name in self._all:
            self.proof.bad[name] = reason
            self._progress(f"{name} is bad: {reason}")
        else:
            self._progress(f"{name} is open and of another run, but {reason}; prove it again")

    def _lost(self, lost: Collection[str]) -> None:
        if lost:
            self._progress(f"not Ready any more: {names(lost)}")
        self.proof.held |= {name: GONE for name in lost if name in self._all}
        self._partners = [name for name in self._partners if name not in lost]


def prove(
    nodes: Sequence[str],
    partners: Sequence[str],
    *,
    plan: Plan,
    measure: Measure,
    progress: Progress,
    record: list[Measurement] | None = None,
) -> Proof:
    """Prove nodes; ``partners`` are proven nodes from elsewhere that are idle.

    What is measured goes to ``record`` at once, so that it is there also when the rest is not.
    """
    recorder = Recorder(measure, progress, [] if record is None else record)
    prover = _Prover(nodes, partners, plan, recorder)
    proof = prover.proof
    try:
        prover.prove()
    except _FailedError as failed:
        proof.verdict, proof.problem = failed.verdict, failed.problem
        proof.proven, proof.bad = {}, {}
        proof.held = dict.fromkeys(nodes, failed.problem)
    return proof
