"""Finds the bad nodes of a set whose all-reduce failed, by disjoint pairs. Pure: it picks pairs.

1. All nodes meet in disjoint pairs at once. Both nodes of a pair that passes are proven.
2. Every other node, also the one left over by an odd count, meets a proven node, and after a
   failure a second one. Only who fails with two proven nodes is bad: one failed pair blames nobody.
3. More bad nodes than are allowed is a fault of the environment, and nobody is blamed.

Where no pair passed at first, suspects meet in other pairs until one passes: a trio needs that.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from scripts.verdicts import Verdict

__all__ = ["MAX_TRIES", "Outcome", "Pair", "Trial", "allowance", "next_round", "outcome"]

SYSTEMIC_SHARE = 0.2
"""A wave in which more than this share fails has one cause, not many bad nodes."""

WITNESSES = 2
"""Proven nodes that a node must fail with to be called bad."""

MAX_TRIES = 4
"""Pairs that one node takes part in as a suspect; unknown results may need more than two."""

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Trial:
    """A pair that was measured."""

    pair: Pair
    verdict: Verdict

    def other(self, name: str) -> str:
        """Return whom ``name`` met."""
        left, right = self.pair
        return right if name == left else left


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the trials say. With ``systemic`` nobody is bad, whatever the pairs did."""

    proven: frozenset[str]
    bad: frozenset[str]
    undetermined: frozenset[str]
    systemic: bool


def allowance(nodes: int) -> int:
    """Return how many of a wave may stay out while the rest opens: a fifth, and one at least."""
    return max(1, int(nodes * SYSTEMIC_SHARE))


def next_round(
    nodes: Sequence[str], partners: Sequence[str], trials: Sequence[Trial], allowed: int
) -> tuple[Pair, ...]:
    """Return the disjoint pairs to measure at once; empty when no more can be learnt.

    ``partners`` are proven nodes from elsewhere that are idle. The order of names decides who meets
    whom, so that the same trials lead to the same next round.
    """
    if not trials:
        return _disjoint(nodes) or _meet(list(nodes), list(partners), trials)
    if outcome(nodes, partners, trials, allowed).systemic:
        return ()
    proven = _proven(partners, trials)
    suspects = [name for name in nodes if name not in proven and _open(name, proven, trials)]
    known = [name for name in [*nodes, *partners] if name in proven]
    if known:
        return _meet(suspects, known, trials)
    if all(trial.verdict is Verdict.UNKNOWN for trial in trials):
        return ()
    return _mix(suspects, trials)


def outcome(
    nodes: Sequence[str], partners: Sequence[str], trials: Sequence[Trial], allowed: int
) -> Outcome:
    """Return what is known after ``trials``; ``allowed`` nodes may be bad."""
    proven = _proven(partners, trials)
    bad = {name for name in nodes if len(_witnesses(name, proven, trials)) >= WITNESSES}
    failing = [trial.pair for trial in trials if trial.verdict is Verdict.FAIL]
    if len(bad - proven) > allowed or _disjoint_failures(failing, proven) > allowed:
        return Outcome(frozenset(proven), frozenset(), frozenset(nodes) - proven, systemic=True)
    bad -= proven
    return Outcome(
        proven=frozenset(proven),
        bad=frozenset(bad),
        undetermined=frozenset(nodes) - proven - bad,
        systemic=False,
    )


def _disjoint(nodes: Sequence[str]) -> tuple[Pair, ...]:
    return tuple(zip(nodes[::2], nodes[1::2], strict=False))


def _meet(suspects: list[str], known: list[str], trials: Sequence[Trial]) -> tuple[Pair, ...]:
    """Give each suspect a proven node that it has not met, each of them once a round."""
    met = _met(trials)
    free = list(known)
    pairs: list[Pair] = []
    for name in suspects:
        fresh = next((other for other in free if frozenset((name, other)) not in met), None)
        if fresh is not None:
            free.remove(fresh)
            pairs.append((name, fresh))
    return tuple(pairs)


def _mix(suspects: list[str], trials: Sequence[Trial]) -> tuple[Pair, ...]:
    """Pair suspects with suspects that they have not met."""
    met = _met(trials)
    free = list(suspects)
    pairs: list[Pair] = []
    while free:
        name = free.pop(0)
        fresh = next((other for other in free if frozenset((name, other)) not in met), None)
        if fresh is not None:
            free.remove(fresh)
            pairs.append((name, fresh))
    return tuple(pairs)


def _open(name: str, proven: set[str], trials: Sequence[Trial]) -> bool:
    """Tell whether more can be learnt about a suspect."""
    tries = sum(name in trial.pair for trial in trials)
    return tries < MAX_TRIES and len(_witnesses(name, proven, trials)) < WITNESSES


def _proven(partners: Sequence[str], trials: Sequence[Trial]) -> set[str]:
    passed = (trial.pair for trial in trials if trial.verdict is Verdict.PASS)
    return {name for pair in passed for name in pair} | set(partners)


def _witnesses(name: str, proven: set[str], trials: Sequence[Trial]) -> set[str]:
    """Return the proven nodes with which ``name`` failed."""
    failed = (trial for trial in trials if trial.verdict is Verdict.FAIL and name in trial.pair)
    return {trial.other(name) for trial in failed} & proven


def _disjoint_failures(failing: Sequence[Pair], proven: set[str]) -> int:
    """Count failed pairs that share no node: each holds a bad node of its own."""
    taken: set[str] = set()
    count = 0
    for pair in failing:
        if taken.isdisjoint(pair) and proven.isdisjoint(pair):
            taken.update(pair)
            count += 1
    return count


def _met(trials: Sequence[Trial]) -> set[frozenset[str]]:
    return {frozenset(trial.pair) for trial in trials}
