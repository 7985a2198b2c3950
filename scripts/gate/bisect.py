"""Finds the smallest sets of nodes that fail together, where every pair passes. Pure.

A fault may show only at scale: a slow switch, a rank that cannot follow a large group, a node that
is slow with one block. Then a set fails of which no pair does, and pairs can blame no node.

1. By depth: the set is cut in halves at the widest border between blocks, these again, and so on;
   all parts of one depth are measured at once. Who contains a failing set fails, so the deepest
   failing parts are found by a binary search over the depth: log log n rounds.
2. Inside such a part, whose halves both pass: each half is filled up with nodes that are cleared
   to the size that failed. A half that fails now is cut further in the same way, down to one node,
   or to a block of which every eighth fails: the block as a whole is slow with others.
3. Where neither half fails with others, they fail with each other only: parts of one with parts of
   the other, down to the smallest two sides that do; these meet their opposite's neighbours.
4. Where nothing is left to fill up with: what the set passes without.

Steps 2 to 4 take rounds in proportion to log n. What is found is measured once more with other
companions before it counts: a weakness that passes leads nowhere. Then neighbours take its place:
only a node whose neighbours pass there is blamed, else it is the block, or nobody.
"""

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeVar

from scripts.gate.company import Answer, Ask, Company, Measure
from scripts.gate.sweep import hard
from scripts.gate.topology import Group, Place, halves, in_order
from scripts.nccl.judge import Judgement
from scripts.verdicts import Verdict

__all__ = ["Fault", "How", "Searcher", "most_rounds"]

T = TypeVar("T")

PAIR: Final = 2
SMALLEST_CUT: Final = 4
"""A set of fewer nodes has a half of one, which cannot be measured by itself."""

DEPTH_OF_A_UNIT: Final = 3
"""When all eight parts of a set fail with others they share one cause: eight faults, each of which
happens to lie in another part, are not to be expected."""

MOST_FAILING: Final = 0.5
"""When more than this share of many parts fails, it is the whole that fails."""


class How(StrEnum):
    """In which company a set of nodes fails."""

    TOGETHER = "together"
    WITH_OTHERS = "with others"
    EACH_OTHER = "with each other"
    WITHOUT = "without it all is well"


@dataclass(frozen=True, slots=True)
class Fault:
    """A smallest set that fails. ``judgement`` is unknown where it was not seen to fail twice.

    ``sides``: the two that fail with each other. ``company``: nodes of the groups that failed.
    ``own``: neighbours pass in its place, so that the fault is no other's.
    """

    nodes: Group
    how: How
    judgement: Judgement
    sides: tuple[Group, Group] | None = None
    company: int = 0
    own: bool = False


Steps = Generator[Sequence[Ask], list[Answer], T]
"""Yields groups, gets one answer for each, and returns what follows from them."""

Task = Steps[None]


def most_rounds(nodes: int) -> int:
    """Return after how many rounds a search over so many nodes ends, whatever it knows then."""
    return 4 * nodes.bit_length()


class Searcher:
    """One search over a set that failed; ``spare`` are proven nodes outside it that are idle."""

    def __init__(
        self, nodes: Group, spare: Sequence[str], places: Mapping[str, Place], measure: Measure
    ) -> None:
        self._nodes = in_order(nodes, places)
        self._places = places
        self._company = Company(nodes, spare, places, measure, most_rounds(len(nodes)))
        self._found: list[Fault] = []
        self.ended = False
        """Whether the search came to its end before its rounds were over."""

        self.sides: tuple[Group, ...] = ()
        """The halves of the whole set, if both pass by themselves."""

    def search(self, judgement: Judgement) -> list[Fault]:
        """Return what was found; ``judgement`` is that on the whole set, measured twice already."""
        task = self._deepest(self._nodes, judgement, 0, self._height(self._nodes) + 1)
        asks = _advance(task, None)
        while asks:
            answers = self._company.answer(asks)
            if len(answers) < len(asks):
                task.close()
                return self._found
            asks = _advance(task, answers)
        self.ended = True
        return self._found

    def _deepest(self, failing: Group, judgement: Judgement, shallow: int, deep: int) -> Task:
        """Go on in the deepest parts: at ``shallow``, ``failing`` fails, at ``deep`` nothing."""
        while deep - shallow > 1 and len(failing) >= SMALLEST_CUT:
            middle = (shallow + deep) // 2
            parts = [part for part in self._parts(failing, middle - shallow) if len(part) >= PAIR]
            bad = yield from self._failing([Ask(part, len(part)) for part in parts])
            if len(parts) >= 2**DEPTH_OF_A_UNIT and len(bad) > len(parts) * MOST_FAILING:
                self._found.append(Fault(failing, How.TOGETHER, judgement))
                return
            if bad:
                self._clear([name for part in parts for name in part], bad)
                deeper = [
                    self._deepest(each.ask.core, each.judgement, middle, deep) for each in bad
                ]
                yield from _side_by_side(deeper)
                return
            deep = middle
        sides = halves(failing, self._places)
        if failing == self._nodes:
            self.sides = sides
        told = False
        if self._company.room(len(failing) - min(map(len, sides))):
            told = yield from self._with_others(Ask(failing, len(failing)))
        if not told:
            yield from self._each_other(*sides, judgement)

    def _with_others(self, unit: Ask) -> Steps[bool]:
        """Find what of a unit fails with others; False if no half of it does."""
        parts: list[Group] = [unit.core]
        bad: list[Answer] = []
        for _ in range(DEPTH_OF_A_UNIT):
            if all(len(part) == 1 for part in parts):
                break
            pieces = [piece for part in parts for piece in self._pieces(part)]
            failed = yield from self._failing(
                [Ask(piece, unit.size, unit.near) for piece in pieces]
            )
            if not failed:
                break
            if len(failed) < len(pieces):
                self._clear(unit.core, failed)
                yield from _side_by_side([self._known(each) for each in failed])
                return True
            bad, parts = failed, pieces
        if not bad:
            return False
        if all(len(part) == 1 for part in parts):
            yield from _side_by_side([self._confirm(each) for each in bad])
        else:
            yield from self._confirm(Answer(unit, unit.core, bad[0].judgement))
        return True

    def _known(self, answer: Answer) -> Task:
        """Go on in a set that fails with others."""
        told = len(answer.ask.core) > 1 and (yield from self._with_others(answer.ask))
        if not told:
            yield from self._confirm(answer)

    def _confirm(self, answer: Answer) -> Task:
        """Measure once more with other companions, and keep what fails again.

        What then passes may have failed by its companions: these are looked at as the other side.
        """
        core = answer.ask.core
        [again] = yield [answer.ask]
        if not again.passed or hard(answer.judgement):
            block, own = yield from self._failing_alike(again)
            told = _twice(answer.judgement, again.judgement)
            size = answer.ask.size
            self._keep(Fault(block, How.WITH_OTHERS, told, company=size, own=own))
        elif answer.company and not answer.ask.near:
            yield from self._each_other(core, answer.company, answer.judgement)

    def _failing_alike(self, answer: Answer) -> Steps[tuple[Group, bool]]:
        """Return who fails with the same companions, and whether it is the core's own fault.

        Its neighbours take its place, first one of the same switch, then of wider and wider blocks.
        When nobody passes, the companions are not what they seem.
        """
        core = block = answer.ask.core
        for neighbour, wider, closest in self._company.neighbours(answer.group, core):
            group = in_order((neighbour, *answer.company), self._places)
            bad = yield from self._failing([Ask(group, len(group))])
            if not bad:
                own = block == core and (closest or (yield from self._fails_apart(answer)))
                return block, own
            block = wider
        return core, False

    def _fails_apart(self, answer: Answer) -> Steps[bool]:
        """Tell a node from its switch where all that hang there were its companions.

        They pass without it, so that their way to others is good; if it fails without them as well,
        they are not too many together.
        """
        core, size = answer.ask.core, answer.ask.size
        beside = self._company.beside(core)
        if beside.isdisjoint(answer.company):
            return False
        [apart] = yield [Ask(core, size, avoid=tuple(beside))]
        return not apart.passed

    def _each_other(self, left: Group, right: Group, judgement: Judgement) -> Task:
        """Find the smallest two sides that fail only with each other."""
        for crossing in _crossings(self._pieces(left), self._pieces(right)):
            sides = {
                in_order((*one, *other), self._places): (one, other) for one, other in crossing
            }
            bad = yield from self._failing([Ask(group, len(group)) for group in sides])
            if bad:
                self._clear((*left, *right), bad)
                yield from _side_by_side(
                    [self._each_other(*sides[each.ask.core], each.judgement) for each in bad]
                )
                return
        yield from self._smallest_sides(left, right, judgement)

    def _smallest_sides(self, left: Group, right: Group, judgement: Judgement) -> Task:
        """Let each side meet the neighbours of the other: it may fail with all of these.

        When both do, others from far away tell whose fault it is.
        """
        both = in_order((*left, *right), self._places)
        size = len(both)
        sides = (left, right)
        if not self._company.room(size - min(map(len, sides))):
            if size == len(self._nodes):
                yield from self._without(judgement, sides)
            else:
                yield from self._keep_both(judgement, sides)
            return
        bad = yield from self._failing([Ask(left, size, right), Ask(right, size, left)])
        if len(bad) == len(sides) and (far := self._company.far_from(both)):
            bad = yield from self._failing([Ask(side, size, (far,)) for side in sides])
        if bad:
            self._clear(both, bad)
            yield from _side_by_side([self._known(each) for each in bad])
        else:
            yield from self._keep_both(judgement, sides)

    def _keep_both(self, judgement: Judgement, sides: tuple[Group, Group]) -> Task:
        """Keep two sides that fail with each other, if they do so again."""
        both = in_order((*sides[0], *sides[1]), self._places)
        [again] = yield [Ask(both, len(both))]
        if not again.passed or hard(judgement):
            told = _twice(judgement, again.judgement)
            self._keep(Fault(both, How.EACH_OTHER, told, sides))

    def _keep(self, fault: Fault) -> None:
        self._found.append(fault)
        self._company.suspect(fault.nodes)

    def _without(self, judgement: Judgement, sides: tuple[Group, Group]) -> Task:
        """Find what the whole set passes without, as nothing is left to fill up with."""
        whole = self._nodes
        unit, parts = whole, [piece for side in sides for piece in self._pieces(side)]
        while len(whole) > PAIR:
            passing = yield from self._passing(parts)
            if len(passing) != 1:
                break
            [unit] = passing
            if len(unit) == 1:
                break
            parts = self._pieces(unit)
        if unit != whole and (yield from self._passing([unit])):
            fault = Fault(unit, How.WITHOUT, judgement, company=len(whole), own=len(unit) == 1)
            self._found.append(fault)
            return
        [again] = yield [Ask(whole, len(whole))]
        if not again.passed or hard(judgement):
            told = _twice(judgement, again.judgement)
            self._found.append(Fault(whole, How.EACH_OTHER, told, sides))

    def _passing(self, parts: Sequence[Group]) -> Steps[list[Group]]:
        """Return the parts without which the whole set passes."""
        rests = [tuple(name for name in self._nodes if name not in part) for part in parts]
        answers = yield [Ask(rest, len(rest)) for rest in rests]
        return [part for part, each in zip(parts, answers, strict=True) if each.passed]

    def _failing(self, asks: Sequence[Ask]) -> Steps[list[Answer]]:
        answers = yield asks
        return [each for each in answers if not each.passed]

    def _clear(self, outer: Sequence[str], bad: Sequence[Answer]) -> None:
        """Call cleared what lies in ``outer`` and outside of all that fails in it."""
        self._company.clear(set(outer).difference(*(each.ask.core for each in bad)))

    def _parts(self, nodes: Group, depth: int) -> list[Group]:
        if depth == 0 or len(nodes) < SMALLEST_CUT:
            return [nodes]
        return [
            part for half in halves(nodes, self._places) for part in self._parts(half, depth - 1)
        ]

    def _height(self, nodes: Group) -> int:
        if len(nodes) < SMALLEST_CUT:
            return 0
        return 1 + max(self._height(half) for half in halves(nodes, self._places))

    def _pieces(self, part: Group) -> tuple[Group, ...]:
        return halves(part, self._places) if len(part) > 1 else (part,)


def _twice(first: Judgement, second: Judgement) -> Judgement:
    """Return the judgement on what was measured twice: a failure only if it failed both times."""
    if Verdict.FAIL is first.verdict is second.verdict:
        return second
    return replace(first, verdict=Verdict.UNKNOWN)


def _crossings(lefts: Sequence[Group], rights: Sequence[Group]) -> list[list[tuple[Group, Group]]]:
    """Return who meets whom in which round: each part of one side each of the other."""
    if len(lefts) == len(rights) == 1:
        return []
    if 1 in {len(lefts), len(rights)}:
        return [[(left, right)] for left in lefts for right in rights]
    return [list(zip(lefts, turned, strict=True)) for turned in (rights, rights[::-1])]


def _side_by_side(tasks: Sequence[Task]) -> Task:
    """Advance all tasks at once, so that they share rounds."""
    live: list[tuple[Task, Sequence[Ask]]]
    live = [(task, asks) for task in tasks if (asks := _advance(task, None))]
    while live:
        answers = iter((yield [ask for _, asks in live for ask in asks]))
        live = [
            (task, more)
            for task, asks in live
            if (more := _advance(task, [next(answers) for _ in asks]))
        ]


def _advance(task: Task, answers: list[Answer] | None) -> Sequence[Ask]:
    """Return what a task asks next; nothing when it has ended."""
    try:
        return next(task) if answers is None else task.send(answers)
    except StopIteration:
        return ()
