"""Finds the bad nodes of a set by disjoint pairs, in rounds that do not grow with it. Pure.

1. All nodes meet in disjoint pairs at once. Both nodes of a pair that passes are proven.
2. Every other node, also the one left over by an odd count, meets a proven node, and after a
   failure a second one. Only who fails with two proven nodes is bad: one failed pair blames nobody.
3. More bad nodes than are allowed is a fault of the environment, and nobody is blamed.

Why that is enough. Bad nodes are a fifth at most, so after round 1 three fifths or more are proven:
every suspect finds a witness of its own in each round, however many there are. So all is told after
three rounds, and the fourth is for results that were unknown. Why it is safe. No proven node is
bad, and a good one fails with it only by a weakness that passes: to be blamed it would have to meet
one in two rounds running. What it failed before with a node that was proven only later does not
count, unless the result was wrong, or no other witness is left.

What is common to a block is not the nodes' fault. Witnesses stand as close as possible, so that a
slow switch between blocks fails no good node; and a block of which nobody passes is held as one.
A wrong result or a wrong transport never passes by itself: who had part in one that no bad node
explains is held, also when it passes later.

Where no pair passed at first, suspects meet in other pairs until one passes: a trio needs that.
"""

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from scripts.gate.topology import Block, Place, blocks_within
from scripts.verdicts import Verdict

__all__ = ["MAX_ROUNDS", "Outcome", "Pair", "Trial", "Wave", "allowance", "next_round", "outcome"]

SYSTEMIC_SHARE = 0.2
"""A wave in which more than this share fails has one cause, not many bad nodes."""

WITNESSES = 2
"""Proven nodes that a node must fail with to be called bad."""

MAX_ROUNDS: Final = 4
"""Rounds of pairs at most; who is not told by then is held."""

MOST_DARK: Final = 0.5
"""Blocks that fail whole are named; with more than this share in them, the cause is common."""

PAIR: Final = 2

Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Trial:
    """A pair that was measured; ``hard`` if what failed is never a passing weakness."""

    pair: Pair
    verdict: Verdict
    hard: bool = False

    def other(self, name: str) -> str:
        """Return whom ``name`` met."""
        left, right = self.pair
        return right if name == left else left


@dataclass(frozen=True, slots=True)
class Wave:
    """Who is to be told apart, in order of place, and by whom.

    ``partners`` are proven nodes from elsewhere that are idle; ``allowed`` nodes may be bad.
    """

    nodes: Sequence[str]
    partners: Sequence[str]
    allowed: int
    places: Mapping[str, Place]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the trials say. With ``systemic`` nobody is bad, whatever the pairs did.

    ``dark`` are blocks of which nobody passed. ``hard`` are nodes that had part in a wrong result
    or transport which no bad node explains.
    """

    proven: frozenset[str]
    bad: frozenset[str]
    undetermined: frozenset[str]
    systemic: bool
    dark: tuple[Block, ...] = ()
    hard: frozenset[str] = frozenset()


def allowance(nodes: int) -> int:
    """Return how many of a wave may stay out while the rest opens: a fifth, and one at least."""
    return max(1, int(nodes * SYSTEMIC_SHARE))


def next_round(wave: Wave, trials: Sequence[Trial], lost: Collection[str] = ()) -> tuple[Pair, ...]:
    """Return the disjoint pairs to measure at once; empty when no more can be learnt.

    The order of nodes decides who meets whom, so that the same trials lead to the same next round.
    Nodes that got ``lost`` meet nobody any more.
    """
    if not trials:
        nodes = wave.nodes
        pairs = tuple(zip(nodes[::2], nodes[1::2], strict=False))
        return pairs or _meet(nodes, wave.partners, trials, wave.places)
    if outcome(wave, trials).systemic:
        return ()
    proven = _proven(wave, trials)
    failed = _witnesses(trials, _before(wave, trials), Verdict.FAIL)
    unknown = _witnesses(trials, lambda _, name: name in proven, Verdict.UNKNOWN)
    suspects = [
        name
        for name in wave.nodes
        if name not in proven
        and name not in lost
        and len(failed[name]) < WITNESSES
        and len(unknown[name]) < WITNESSES
    ]
    known = [name for name in [*wave.nodes, *wave.partners] if name in proven and name not in lost]
    if not known:
        return _strangers(suspects, trials)
    pairs = _meet(suspects, known, trials, wave.places)
    # Where witnesses are few, the others may clear each other meanwhile.
    busy = {name for pair in pairs for name in pair}
    return (*pairs, *_mix([name for name in suspects if name not in busy], trials))


def outcome(wave: Wave, trials: Sequence[Trial]) -> Outcome:
    """Return what is known after ``trials``."""
    nodes, proven = set(wave.nodes), _proven(wave, trials)
    bad = _bad(wave, trials, proven)
    failures = Counter(
        name for trial in trials if trial.verdict is Verdict.FAIL for name in trial.pair
    )
    hard = {name for trial in trials if trial.hard for name in trial.pair}
    soft = {name for name in nodes - proven - hard if failures[name] >= WITNESSES}
    dark = blocks_within(soft, [*wave.nodes, *wave.partners], wave.places)
    below = {name for block in dark for name in block.nodes}
    # After one round a weakness that passes still looks like a bad node.
    first = len({name for trial in trials for name in trial.pair}) == len(trials) * PAIR
    pairs = [
        trial.pair
        for trial in trials
        if trial.verdict is Verdict.FAIL
        and (trial.hard or not first)
        and below.isdisjoint(trial.pair)
    ]
    alone = _disjoint_failures(pairs, proven)
    common = len(below) > len(nodes) * MOST_DARK
    if common or len(bad - below) > wave.allowed or alone > wave.allowed:
        return Outcome(frozenset(proven), frozenset(), frozenset(nodes - proven), systemic=True)
    whole = tuple(block for block in dark if bad.issuperset(block.nodes))
    bad -= {name for block in whole for name in block.nodes}
    wrong = _unexplained(trials, bad) & nodes
    proven -= wrong
    told = proven | bad | wrong | {name for block in whole for name in block.nodes}
    return Outcome(
        proven=frozenset(proven),
        bad=frozenset(bad),
        undetermined=frozenset(nodes - told),
        systemic=False,
        dark=whole,
        hard=frozenset(wrong),
    )


def _meet(
    suspects: Sequence[str],
    known: Sequence[str],
    trials: Sequence[Trial],
    places: Mapping[str, Place],
) -> tuple[Pair, ...]:
    """Give each suspect the nearest proven node that it has not met, each of them once a round."""
    met, free = _met(trials), set(known)
    near: dict[Place, deque[str]] = defaultdict(deque)
    for name in known:
        place = places.get(name, ())
        for depth in range(len(place) + 1):
            near[place[:depth]].append(name)
    pairs: list[Pair] = []
    for name in suspects:
        place = places.get(name, ())
        for depth in range(len(place), -1, -1):
            queue = near[place[:depth]]
            while queue and queue[0] not in free:
                queue.popleft()
            fresh = next((each for each in queue if each in free and each not in met[name]), None)
            if fresh is not None:
                free.remove(fresh)
                pairs.append((name, fresh))
                break
    return tuple(pairs)


def _strangers(suspects: Sequence[str], trials: Sequence[Trial]) -> tuple[Pair, ...]:
    """Pair suspects where nobody is proven: two meet again, more meet others; once if all hang."""
    tries = [sum(name in trial.pair for trial in trials) for name in suspects]
    if len(suspects) == PAIR:
        again = max(tries) == 1 and not trials[0].hard
        return ((suspects[0], suspects[1]),) if again else ()
    if all(trial.verdict is Verdict.UNKNOWN for trial in trials) and min(tries, default=0) > 1:
        return ()
    return _mix(suspects, trials)


def _mix(suspects: Sequence[str], trials: Sequence[Trial]) -> tuple[Pair, ...]:
    """Pair suspects with suspects that they have not met."""
    met = _met(trials)
    free = list(suspects)
    pairs: list[Pair] = []
    while free:
        name = free.pop(0)
        fresh = next((other for other in free if other not in met[name]), None)
        if fresh is not None:
            free.remove(fresh)
            pairs.append((name, fresh))
    return tuple(pairs)


def _proven(wave: Wave, trials: Sequence[Trial]) -> set[str]:
    passed = (trial.pair for trial in trials if trial.verdict is Verdict.PASS)
    return {name for pair in passed for name in pair} | set(wave.partners)


def _bad(wave: Wave, trials: Sequence[Trial], proven: Collection[str]) -> set[str]:
    """Return who failed with two nodes that were proven by then, or with the only ones."""
    before = _witnesses(trials, _before(wave, trials), Verdict.FAIL)
    ever = _witnesses(trials, lambda _, name: name in proven, Verdict.FAIL)
    met = _met(trials)
    return {
        name
        for name in wave.nodes
        if name not in proven
        and len(ever[name]) >= WITNESSES
        and (len(before[name]) >= WITNESSES or met[name].issuperset(proven))
    }


def _before(wave: Wave, trials: Sequence[Trial]) -> Callable[[int, str], bool]:
    """Tell of a trial, by its number, whether a node in it was proven before."""
    first: dict[str, int] = dict.fromkeys(wave.partners, -1)
    for number, trial in enumerate(trials):
        if trial.verdict is Verdict.PASS:
            for name in trial.pair:
                first.setdefault(name, number)
    later = len(trials)

    def proven(number: int, name: str) -> bool:
        known = later if trials[number].hard else number
        return first.get(name, later) < known

    return proven


def _witnesses(
    trials: Sequence[Trial], proven: Callable[[int, str], bool], verdict: Verdict
) -> dict[str, set[str]]:
    """Return, for each node, the proven nodes with which it got ``verdict``."""
    found: dict[str, set[str]] = defaultdict(set)
    for number, trial in enumerate(trials):
        if trial.verdict is verdict:
            for name in trial.pair:
                if proven(number, other := trial.other(name)):
                    found[name].add(other)
    return found


def _disjoint_failures(failing: Sequence[Pair], proven: set[str]) -> int:
    """Count failed pairs that share no node: each holds a bad node of its own."""
    taken: set[str] = set()
    count = 0
    for pair in failing:
        if taken.isdisjoint(pair) and proven.isdisjoint(pair):
            taken.update(pair)
            count += 1
    return count


def _unexplained(trials: Sequence[Trial], bad: Collection[str]) -> set[str]:
    hard = (trial.pair for trial in trials if trial.hard and trial.verdict is Verdict.FAIL)
    return {name for pair in hard if not set(pair) & set(bad) for name in pair}


def _met(trials: Sequence[Trial]) -> dict[str, set[str]]:
    met: dict[str, set[str]] = defaultdict(set)
    for trial in trials:
        for name in trial.pair:
            met[name].add(trial.other(name))
    return met
