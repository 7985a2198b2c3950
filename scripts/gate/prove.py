"""Proves the fabric of a set of nodes: all-reduce over all; if it fails, isolation; then again."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count

from scripts.gate.isolate import Outcome, Trial, next_round, outcome
from scripts.gate.ports import Progress
from scripts.nccl.judge import Judgement
from scripts.nccl.text import names, words
from scripts.verdicts import Verdict, overall

__all__ = ["ALONE", "HARD_RULES", "Measure", "Measurement", "Proof", "prove"]

Measure = Callable[[str, Sequence[Sequence[str]]], list[Judgement]]
"""Runs one all-reduce over each of some disjoint groups of nodes, side by side.

Takes a label for the round and the groups; gives one judgement a group, in the same order.
"""

MAX_ISOLATIONS = 2
"""A second one finds what the first bad node hid; a third would only repeat itself."""

HARD_RULES = frozenset({"wrong-values", "transport"})
"""A wrong result and a wrong transport are never a passing weakness: one sight of them fails."""

PASSED_IN_A_PAIR = "all-reduce with a proven node passed"
ALONE = "its fabric was not exercised: it is alone"


@dataclass(frozen=True, slots=True)
class Measurement:
    """One all-reduce: in which round, over whom, and what came of it."""

    round: str
    nodes: tuple[str, ...]
    judgement: Judgement


@dataclass(slots=True)
class Proof:
    """What is known of each node; ``problem`` where the set failed as a whole (``verdict``)."""

    proven: dict[str, str] = field(default_factory=dict[str, str])
    bad: dict[str, str] = field(default_factory=dict[str, str])
    held: dict[str, str] = field(default_factory=dict[str, str])
    verdict: Verdict = Verdict.PASS
    problem: str = ""
    measured: list[Measurement] = field(default_factory=list[Measurement])


@dataclass(slots=True)
class _Prover:
    partners: Sequence[str]
    allowed: int
    measure: Measure
    progress: Progress
    proof: Proof = field(default_factory=Proof)

    def together(self, label: str, nodes: Sequence[str]) -> Judgement:
        """Run one all-reduce over all of ``nodes``."""
        self.progress(f"all-reduce over {words(len(nodes), 'node')}")
        [judgement] = self.measure(label, [nodes])
        self.proof.measured.append(Measurement(label, tuple(nodes), judgement))
        self.progress(f"all-reduce: {judgement.verdict}: {judgement.summary}")
        return judgement

    def isolate(self, label: str, nodes: Sequence[str]) -> tuple[Outcome, list[Trial]]:
        """Measure pairs until nothing more can be learnt."""
        trials: list[Trial] = []
        allowed = self.allowed - len(self.proof.bad)
        for number in count(1):
            pairs = next_round(nodes, self.partners, trials, allowed)
            if not pairs:
                break
            here = f"{label}p{number}"
            self.progress(f"isolation, round {number}: {words(len(pairs), 'pair')} at once")
            for pair, judgement in zip(pairs, self.measure(here, pairs), strict=True):
                self.proof.measured.append(Measurement(here, pair, judgement))
                trials.append(Trial(pair, judgement.verdict))
                if judgement.verdict is not Verdict.PASS:
                    self.progress(f"  {' and '.join(pair)}: {judgement.summary}")
        return outcome(nodes, self.partners, trials, allowed), trials

    def blame(self, found: Outcome, trials: Sequence[Trial]) -> None:
        """Name the bad nodes and those of which nothing is known, each with its reason."""
        for name in sorted(found.bad):
            witnesses = {trial.other(name) for trial in trials if name in trial.pair}
            reason = next(
                each.judgement.summary
                for each in reversed(self.proof.measured)
                if name in each.nodes and each.judgement.verdict is Verdict.FAIL
            )
            proven = names(witnesses & found.proven)
            self.proof.bad[name] = f"all-reduce fails with {proven}, which are proven: {reason}"
            self.progress(f"{name} is bad: {self.proof.bad[name]}")
        for name in sorted(found.undetermined):
            self.proof.held[name] = "no two proven nodes could tell whether it is bad"

    def fail(self, verdict: Verdict, problem: str, nodes: Sequence[str]) -> Proof:
        """Fail the set as a whole: nobody is proven, nobody is blamed."""
        self.proof.verdict, self.proof.problem = verdict, problem
        self.proof.proven, self.proof.bad = {}, {}
        self.proof.held = dict.fromkeys(nodes, problem)
        return self.proof

    def prove(self, nodes: Sequence[str]) -> Proof:
        """Prove two nodes or more."""
        rest = list(nodes)
        for attempt in count():
            whole = self.together(f"r{attempt}", rest)
            if whole.verdict is Verdict.PASS:
                reason = f"all-reduce over {words(len(rest), 'node')}: {whole.summary}"
                self.proof.proven |= dict.fromkeys(rest, reason)
                break
            if attempt == MAX_ISOLATIONS:
                return self.fail(whole.verdict, _only_together(whole, len(rest)), nodes)
            found, trials = self.isolate(f"r{attempt}", rest)
            if problem := self._common_cause(whole, found, len(rest)):
                worst = overall([whole.verdict, *(trial.verdict for trial in trials)])
                return self.fail(worst, problem, nodes)
            self.blame(found, trials)
            rest = [name for name in rest if name in found.proven]
            if len(rest) <= 1:
                self.proof.proven |= dict.fromkeys(rest, PASSED_IN_A_PAIR)
                break
        return self.proof

    def _common_cause(self, whole: Judgement, found: Outcome, count_of_nodes: int) -> str:
        """Say why no node may be blamed, if that is so."""
        if found.systemic:
            return _systemic(self.allowed, whole)
        if not found.bad and not found.proven - set(self.partners):
            return _nobody(whole, count_of_nodes)
        hard = any(reason.rule in HARD_RULES for reason in whole.reasons)
        if hard and not found.bad and not found.undetermined:
            return _only_together(whole, count_of_nodes)
        return ""

    def prove_one(self, name: str) -> Proof:
        """Prove a single node with proven partners."""
        found, trials = self.isolate("r0", [name])
        if name in found.proven:
            self.proof.proven[name] = PASSED_IN_A_PAIR
        elif found.systemic:
            last = self.proof.measured[-1].judgement
            return self.fail(Verdict.FAIL, _systemic(self.allowed, last), [name])
        else:
            self.blame(found, trials)
        return self.proof


def prove(
    nodes: Sequence[str],
    partners: Sequence[str],
    *,
    allowed: int,
    measure: Measure,
    progress: Progress,
) -> Proof:
    """Prove ``nodes``, with idle proven ``partners`` from elsewhere; ``allowed`` may be bad.

    A single node without partners is measured alone: what NVLink carries is judged, and the proof
    says that the fabric was not exercised.
    """
    prover = _Prover(partners, allowed, measure, progress)
    if len(nodes) > 1:
        return prover.prove(nodes)
    if partners and nodes:
        return prover.prove_one(nodes[0])
    for name in nodes:
        alone = prover.together("r0", [name])
        if alone.verdict is not Verdict.PASS:
            return prover.fail(alone.verdict, f"all-reduce on {name} alone: {alone.summary}", nodes)
        prover.proof.proven[name] = f"all-reduce on one node: {alone.summary}; {ALONE}"
    return prover.proof


def _systemic(allowed: int, whole: Judgement) -> str:
    return (
        f"more nodes failed than may stay out ({allowed} could still), which points to one common "
        f"cause and not to bad nodes, so nobody is blamed: {whole.summary}"
    )


def _nobody(whole: Judgement, nodes: int) -> str:
    return (
        f"all-reduce over {words(nodes, 'node')} did not pass and no pair of them did, so nobody "
        f"can be blamed: {whole.summary}"
    )


def _only_together(whole: Judgement, nodes: int) -> str:
    return (
        f"all-reduce over {words(nodes, 'node')} did not pass although its pairs did, so nobody "
        f"can be blamed: {whole.summary}"
    )
