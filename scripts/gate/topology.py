"""Where nodes stand in the network: what lies below which switch. Pure.

A place is the chain of network nodes above an instance, from the widest to the one that it hangs
on, as EC2 tells them. Where EC2 tells none, a place is empty, and order of name is all there is.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from scripts.text import names, words

__all__ = ["LEAST", "Block", "Group", "Place", "blocks_within", "describe", "halves", "in_order"]

Place = tuple[str, ...]
Group = tuple[str, ...]

LEAST: Final = 3
"""Nodes of which a block is taken for one thing: two bad neighbours may still be chance."""


@dataclass(frozen=True, slots=True)
class Block:
    """All tested nodes below one network node."""

    network_node: str
    nodes: Group

    def __str__(self) -> str:
        return f"all {words(len(self.nodes), 'node')} below network node {self.network_node}"


def in_order(nodes: Collection[str], places: Mapping[str, Place]) -> Group:
    """Return the nodes so that neighbours in the list are neighbours in the network."""
    return tuple(sorted(nodes, key=lambda name: (places.get(name, ()), name)))


def halves(nodes: Group, places: Mapping[str, Place]) -> tuple[Group, Group]:
    """Cut ordered nodes in two as evenly as the widest border between blocks allows."""
    middle = len(nodes) // 2
    # In order, what the first and the last share, all share.
    depth = shared(places.get(nodes[0], ()), places.get(nodes[-1], ()))
    above = [places.get(name, ())[: depth + 1] for name in nodes]
    borders = [index for index in range(1, len(nodes)) if above[index] != above[index - 1]]
    cut = min(borders, key=lambda border: abs(border - middle), default=middle)
    return nodes[:cut], nodes[cut:]


def shared(one: Place, other: Place) -> int:
    """Return how many network nodes two places have in common, from the widest on."""
    depth = 0
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        depth += 1
    return depth


def blocks_within(
    some: Collection[str], everyone: Collection[str], places: Mapping[str, Place]
) -> tuple[Block, ...]:
    """Return the widest blocks of ``everyone`` that lie within ``some`` whole.

    What lies above every node is no block: there is nothing left to compare it with.
    """
    members: dict[Place, list[str]] = defaultdict(list)
    for name in everyone:
        for place in _above(places.get(name, ())):
            members[place].append(name)
    chosen, found, taken = set(some), list[Block](), set[str]()
    for place, inside in sorted(members.items(), key=lambda item: (len(item[0]), item[0])):
        whole = LEAST <= len(inside) < len(everyone) and chosen.issuperset(inside)
        if whole and taken.isdisjoint(inside):
            taken.update(inside)
            found.append(Block(place[-1], in_order(inside, places)))
    return tuple(found)


def describe(some: Collection[str], everyone: Collection[str], places: Mapping[str, Place]) -> str:
    """Name nodes by their block where they fill one, by name where they do not."""
    blocks = blocks_within(some, everyone, places)
    if len(blocks) == 1 and len(blocks[0].nodes) == len(some):
        return str(blocks[0])
    return names(some)


def _above(place: Place) -> Iterator[Place]:
    for depth in range(1, len(place) + 1):
        yield place[:depth]
