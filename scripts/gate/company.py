"""Gives suspects company: fills groups up with cleared nodes, packs groups into rounds. Pure."""

import heapq
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from scripts.gate.topology import Group, Place, in_order, shared
from scripts.nccl.judge import Judgement
from scripts.verdicts import Verdict

__all__ = ["Answer", "Ask", "Company", "Measure"]

Measure = Callable[[Sequence[Group]], list[Judgement]]
"""Measures disjoint groups side by side."""


@dataclass(frozen=True, slots=True)
class Ask:
    """A group to measure: ``core``, filled up to ``size`` with cleared nodes close to ``near``.

    Without ``near`` they are close to the core: then nothing of the network but the least is used.
    None of ``avoid`` is among them.
    """

    core: Group
    size: int
    near: Group = ()
    avoid: Group = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """What came of it: who was in the group, and how it was judged."""

    ask: Ask
    group: Group
    judgement: Judgement

    @property
    def passed(self) -> bool:
        """Whether nothing spoke against the group."""
        return self.judgement.verdict is Verdict.PASS

    @property
    def company(self) -> Group:
        """Who was there besides the core."""
        return tuple(name for name in self.group if name not in self.ask.core)


class Company:
    """Cleared nodes, and the rounds that are left to meet them."""

    def __init__(
        self,
        nodes: Sequence[str],
        spare: Sequence[str],
        places: Mapping[str, Place],
        measure: Measure,
        rounds: int,
    ) -> None:
        everyone = in_order({*nodes, *spare}, places)
        self._nodes = tuple(nodes)
        self._index = {name: index for index, name in enumerate(everyone)}
        self._places = places
        self._measure = measure
        self._cleared = set(spare).difference(nodes)
        self._met: dict[Group, set[str]] = defaultdict(set)
        self.rounds_left = rounds

    def clear(self, names: Iterable[str]) -> None:
        """Take nodes as good company."""
        self._cleared.update(names)

    def suspect(self, names: Iterable[str]) -> None:
        """Take nodes for good company no more."""
        self._cleared.difference_update(names)

    def neighbours(self, group: Group, core: Group) -> Iterator[tuple[str, Group, bool]]:
        """Yield the nearest cleared node of each wider block around a core, and that block.

        Also yields whether it hangs on the very switch of the core. Nodes of the group are the
        core's companions, and none of them is taken.
        """
        place, index = self._centre(core)
        depths = {
            name: shared(self._places.get(name, ()), place)
            for name in self._cleared.difference(group)
        }
        for depth in sorted(set(depths.values()), reverse=True):
            block = [
                name for name in self._nodes if shared(self._places.get(name, ()), place) >= depth
            ]
            nearest = min(
                (name for name, here in depths.items() if here == depth),
                key=lambda name: abs(self._index[name] - index),
            )
            yield nearest, in_order(block, self._places), depth == len(place)

    def beside(self, core: Group) -> set[str]:
        """Return the other nodes on the very switch of a core."""
        place, _ = self._centre(core)
        depths = {name: shared(self._places.get(name, ()), place) for name in self._nodes}
        return {name for name, depth in depths.items() if depth == len(place)}.difference(core)

    def far_from(self, core: Group) -> str | None:
        """Return a cleared node that has least in common with any of the core."""

        def common(name: str) -> tuple[int, int]:
            place = self._places.get(name, ())
            closest = max(shared(self._places.get(each, ()), place) for each in core)
            return closest, self._index[name]

        return min(self._cleared.difference(core), key=common, default=None)

    def room(self, count: int) -> bool:
        """Tell whether so many nodes are cleared."""
        return len(self._cleared) >= count

    def answer(self, asks: Sequence[Ask]) -> list[Answer]:
        """Measure all in as few rounds as disjoint groups allow; what is unknown is tried twice.

        When no round is left, the answers that are missing are left out.
        """
        answers: dict[int, Answer] = {}
        waiting = list(range(len(asks)))
        while waiting and self.rounds_left:
            self.rounds_left -= 1
            groups = self._pack({index: asks[index] for index in waiting})
            judgements = self._measure(list(groups.values()))
            for (index, group), judgement in zip(groups.items(), judgements, strict=True):
                again = judgement.verdict is Verdict.UNKNOWN and index not in answers
                answers[index] = Answer(asks[index], group, judgement)
                if not again:
                    waiting.remove(index)
        return [answers[index] for index in sorted(answers)]

    def _pack(self, asks: Mapping[int, Ask]) -> dict[int, Group]:
        """Return the groups of one round. Cores come first, so that no filler takes their nodes."""
        busy: set[str] = set()
        chosen: list[int] = []
        for index, ask in asks.items():
            if busy.isdisjoint(ask.core):
                busy.update(ask.core)
                chosen.append(index)
        groups: dict[int, Group] = {}
        for index in chosen:
            ask = asks[index]
            filler = self._fill(ask, busy)
            # Too few are free: another round gives it all of them.
            if len(filler) + len(ask.core) < ask.size and groups:
                continue
            busy.update(filler)
            self._met[ask.core].update(filler)
            groups[index] = in_order((*ask.core, *filler), self._places)
        return groups

    def _fill(self, ask: Ask, busy: Collection[str]) -> list[str]:
        """Choose the nearest cleared nodes, first those that the core has not met."""
        missing = ask.size - len(ask.core)
        if missing <= 0:
            return []
        place, index = self._centre(ask.near or ask.core)
        met = self._met[ask.core]

        def distance(name: str) -> tuple[bool, int, int]:
            close = shared(self._places.get(name, ()), place)
            return name in met, -close, abs(self._index[name] - index)

        free = self._cleared.difference(busy, ask.avoid)
        return heapq.nsmallest(missing, free, key=lambda name: (distance(name), name))

    def _centre(self, nodes: Group) -> tuple[Place, int]:
        """Return what lies above all of some nodes, and the position of the one in their middle."""
        first, last = (self._places.get(name, ()) for name in (nodes[0], nodes[-1]))
        return first[: shared(first, last)], self._index[nodes[len(nodes) // 2]]
