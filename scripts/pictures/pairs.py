"""Which pairs of nodes were measured, and what they reached: a matrix in the order of the network.

With many nodes a cell stands for all pairs between two rows of neighbours and shows the lowest of
them, so that one bad pair among a thousand nodes is seen. A bad node keeps a row of its own.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from scripts.pictures.bins import Bin, bins
from scripts.pictures.svg import Picture
from scripts.text import names, words

__all__ = ["Pair", "pairs"]

CELL = 15
RIGHT, LEGEND = 150, 110
LEAST_WIDTH = 760
LETTER = 6
"""Width of a letter of a label, with some room."""

STEPS = ((0.8, "h0"), (0.95, "h1"), (1.0, "h2"), (1.1, "h3"))
"""Shares of the reference below which a cell has a colour; what is above the last has ``h4``."""

BAD = "bad: "
BEST = "h4"
NO_NUMBER = "hx"
LEGEND_KEYS = (
    ("h0", "below 80 % of it"),
    ("h1", "80 to 95 %"),
    ("h2", "95 to 100 %"),
    ("h3", "100 to 110 %"),
    ("h4", "110 % and more"),
    ("hx", "no number"),
    ("none", "not measured"),
)


@dataclass(frozen=True, slots=True)
class Pair:
    """One measurement of two nodes, GB/s; None where it ended without a number."""

    left: str
    right: str
    gbps: float | None


@dataclass(frozen=True, slots=True)
class _Cell:
    """All that was measured between two rows; ``lowest`` None where something had no number."""

    count: int
    lowest: Pair

    def style(self, reference: float) -> str:
        """Return the colour."""
        if self.lowest.gbps is None:
            return NO_NUMBER
        share = self.lowest.gbps / reference
        return next((style for below, style in STEPS if share < below), BEST)

    def hint(self, reference: float) -> str:
        """Return what is shown when somebody points at the cell."""
        pair = f"{self.lowest.left} with {self.lowest.right}"
        if self.lowest.gbps is None:
            reached = "no number"
        else:
            reached = f"{self.lowest.gbps:g} GB/s ({self.lowest.gbps / reference:.0%})"
        many = f"{self.count} measurements, the lowest: " if self.count > 1 else ""
        return f"{many}{pair}: {reached}"


def pairs(
    subject: str,
    nodes: Sequence[str],
    measured: Sequence[Pair],
    *,
    reference: float,
    bad: Collection[str] = (),
    places: Mapping[str, tuple[str, ...]] | None = None,
) -> str:
    """Draw the matrix.

    Parameters
    ----------
    subject
        What was measured on what.
    nodes
        All nodes of the wave, also those that met nobody.
    measured
        The pairs; those with a node that is not of the wave show that node too.
    reference
        GB/s that a good pair reaches at least: the floor or the baseline.
    bad
        Nodes that were proved bad.
    places
        Of each node, the network nodes above it from the widest on; without them the order is that
        of the names.
    """
    everyone = {*nodes, *(name for pair in measured for name in (pair.left, pair.right))}
    rows = bins(everyone, places or {}, bad)
    if not rows:
        raise ValueError("there is nothing to draw: no node is there")
    grid = _Grid.of(rows, everyone, bad)
    picture = Picture(
        "pairs",
        (max(grid.left + grid.side + RIGHT, LEAST_WIDTH), grid.top + grid.side + LEGEND),
        "Pairs of nodes",
        subject,
        _in_words(everyone, measured, reference, bad),
    )
    picture.rectangle("none", grid.left, grid.top, grid.side, grid.side)
    grid.name(picture)
    for (row, column), cell in _cells(rows, measured).items():
        x, y = grid.left + CELL * column, grid.top + CELL * row
        style, hint = cell.style(reference), cell.hint(reference)
        picture.rectangle(style, x + 0.5, y + 0.5, CELL - 1, CELL - 1, hint)
        _sign(picture, style, x, y)
    grid.mark(picture)
    _legend(picture, reference, grid.top + grid.side + 30)
    return str(picture)


@dataclass(frozen=True, slots=True)
class _Grid:
    """The rows with their labels, and where the matrix begins."""

    rows: Sequence[Bin]
    labels: Sequence[str]
    bad: Collection[str]
    left: float
    top: float

    @classmethod
    def of(cls, rows: Sequence[Bin], nodes: Collection[str], bad: Collection[str]) -> "_Grid":
        """Make room for the longest labels."""
        short = {name: name.partition(".")[0] for name in nodes}
        if len(set(short.values())) < len(short):
            short = {name: name for name in nodes}
        labels = [_label([short[name] for name in row.nodes]) for row in rows]
        marks = [len(label) for row, label in zip(rows, labels, strict=True) if row.alone]
        left = 30 + LETTER * (max(map(len, labels)) + len(BAD))
        top = 80 + LETTER * (max(marks) + len(BAD) if marks else 0)
        return cls(rows, labels, bad, left, top)

    @property
    def side(self) -> float:
        """Length of a side of the matrix."""
        return CELL * len(self.rows)

    def name(self, picture: Picture) -> None:
        """Name each row on its left, and each block on the right, with a line at its border."""
        right, before = self.left + self.side, ""
        for index, (row, label) in enumerate(zip(self.rows, self.labels, strict=True)):
            y = self.top + CELL * index
            marked = any(name in self.bad for name in row.nodes)
            style, sign = ("bad-ink strong small", BAD) if marked else ("ink small", "")
            picture.text(style, self.left - 8, y + CELL - 4, f"{sign}{label}", anchor="end")
            if marked and row.alone:
                x = self.left + CELL * index + CELL / 2 + 3
                picture.text("bad-ink small", x, self.top - 8, f"{sign}{label}", turn=-60)
            if row.place != before:
                x = self.left + CELL * index
                picture.line("grid", [(self.left, y), (right + 10, y)])
                picture.line("grid", [(x, self.top), (x, self.top + self.side)])
                picture.text("soft small", right + 12, y + CELL - 4, row.place)
            before = row.place

    def mark(self, picture: Picture) -> None:
        """Frame the row and the column of each bad node."""
        for index, row in enumerate(self.rows):
            if row.alone and row.nodes[0] in self.bad:
                for corners in _frames(CELL * index, self.side):
                    picture.line("bad", [(self.left + x, self.top + y) for x, y in corners])


def _label(nodes: Sequence[str]) -> str:
    return nodes[0] if len(nodes) == 1 else f"{nodes[0]} … {nodes[-1]} ({len(nodes)})"


def _cells(rows: Sequence[Bin], measured: Sequence[Pair]) -> dict[tuple[int, int], _Cell]:
    """Return the cells with something in them, on both sides of the diagonal."""
    row_of = {name: index for index, row in enumerate(rows) for name in row.nodes}
    found: dict[tuple[int, int], list[Pair]] = {}
    for pair in measured:
        place = row_of[pair.left], row_of[pair.right]
        found.setdefault(place, []).append(pair)
        if place[0] != place[1]:
            found.setdefault((place[1], place[0]), []).append(pair)
    return {
        place: _Cell(len(each), min(each, key=lambda pair: -1 if pair.gbps is None else pair.gbps))
        for place, each in found.items()
    }


def _frames(at: float, side: float) -> Iterator[list[tuple[float, float]]]:
    end = at + CELL
    yield [(0, at), (side, at), (side, end), (0, end), (0, at)]
    yield [(at, 0), (end, 0), (end, side), (at, side), (at, 0)]


def _sign(picture: Picture, style: str, x: float, y: float) -> None:
    """Say by a sign what the two gravest colours say."""
    if style == STEPS[0][1]:
        picture.dot("mark", x + CELL / 2, y + CELL / 2, 2.5)
    elif style == NO_NUMBER:
        picture.text("ink small", x + CELL / 2, y + CELL - 4, "?", anchor="middle")


def _legend(picture: Picture, reference: float, y: float) -> None:
    picture.text(
        "ink", 20, y, f"Share of {reference:g} GB/s; a cell shows the lowest of its pairs."
    )
    x, y = 20.0, y + 12
    for style, text in LEGEND_KEYS:
        picture.rectangle(style, x, y, CELL - 1, CELL - 1)
        _sign(picture, style, x, y)
        picture.text("ink small", x + CELL + 5, y + 11, text)
        x += CELL + 11 + LETTER * len(text)
    picture.text("bad-ink", 20, y + 34, "With a frame: proved bad.")


def _in_words(
    nodes: Collection[str], measured: Sequence[Pair], reference: float, bad: Collection[str]
) -> str:
    """Tell what the picture shows to who cannot see it."""
    reached = [pair.gbps for pair in measured if pair.gbps is not None]
    below = sum(value < reference for value in reached)
    parts = [
        f"{words(len(measured), 'measurement')} of pairs among {words(len(nodes), 'node')}",
        f"{below} below {reference:g} GB/s",
        f"{len(measured) - len(reached)} without a number",
        *([f"from {min(reached):g} to {max(reached):g} GB/s"] if reached else []),
        f"bad: {names(bad)}" if bad else "nobody was proved bad",
    ]
    return "; ".join(parts) + "."
