"""Gathers nodes into rows that a reader can tell apart, however many nodes there are. Pure.

Rows follow the network: neighbours in the list are neighbours there. A node that matters has a row
of its own; the others share rows with their neighbours, and no row reaches over the border of a
block as long as there are rows enough for that.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["MOST_ROWS", "Bin", "bins"]

MOST_ROWS = 48
"""Rows of 15 pixels that fit a screen without scrolling."""

MOST_ALONE = 23
"""Nodes with a row of their own; where more are bad, it is no longer about single nodes."""

Place = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Bin:
    """One row: neighbouring nodes, their block, and whether it is one that matters."""

    nodes: tuple[str, ...]
    place: str
    alone: bool


def bins(
    nodes: Collection[str], places: Mapping[str, Place], alone: Collection[str] = ()
) -> tuple[Bin, ...]:
    """Return the rows of ``nodes``, ordered by place and name; those in ``alone`` by themselves."""
    ordered = sorted(nodes, key=lambda name: (places.get(name, ()), name))
    single = set(alone) & set(ordered) if len(alone) <= MOST_ALONE else set[str]()
    deepest = max((len(places.get(name, ())) for name in ordered), default=0)
    for level in range(deepest, -1, -1):
        block = {name: places.get(name, ())[:level] for name in ordered}
        for most in _sizes(len(ordered)):
            rows = list(_cut(ordered, most, single, block))
            # Without borders the longest rows always fit: single ones at most cut them in two.
            if len(rows) <= MOST_ROWS or (level == 0 and most >= len(ordered)):
                return tuple(
                    Bin(row, "".join(block[row[0]][-1:]), row[0] in single) for row in rows
                )
    return ()


def _sizes(count: int) -> Iterator[int]:
    """Yield sizes of rows to try, from the smallest that can fit, growing by a tenth."""
    size = max(1, -(-count // MOST_ROWS))
    while size < count:
        yield size
        size = max(size + 1, size * 11 // 10)
    yield max(1, count)


def _cut(
    ordered: Sequence[str], most: int, single: Collection[str], block: Mapping[str, Place]
) -> Iterator[tuple[str, ...]]:
    row: list[str] = []
    for name in ordered:
        ends = len(row) == most or name in single or (row and row[-1] in single)
        if row and (ends or block[row[-1]] != block[name]):
            yield tuple(row)
            row = []
        row.append(name)
    if row:
        yield tuple(row)
