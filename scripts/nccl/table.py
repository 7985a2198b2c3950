"""The table of nccl-tests: columns are found by the words of its header, never by position.

Releases print 11, 12, 13, 15 or 21 fields a row: some collectives had no ``redop`` or ``root``
before 2.13, the last column was a float ``error`` then, and timestamps and per-iteration columns
are options.
"""

import math
import re
from dataclasses import dataclass, field

from scripts.nccl.lines import Line

__all__ = ["MAX_ROWS", "Columns", "Row", "Side", "Table", "header", "looks_like_row", "read_row"]

MAX_ROWS = 1024
"""Rows kept of one table; a sweep by factor has at most 40."""

_MISSING = "N/A"
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_ROW = re.compile(r"\s*\d{1,18}\s+\d{1,18}\s+[a-z]\w*\s")
_SIDE = ("time", "algbw", "busbw")


@dataclass(frozen=True, slots=True)
class Side:
    """One placement of a row: microseconds, GB/s, and how many values were wrong.

    ``wrong`` is None where the values were not compared, and 0 where an old release printed the
    largest difference instead: its footer alone knows whether that was too much.
    """

    time_us: float
    algbw: float
    busbw: float
    wrong: float | None


@dataclass(frozen=True, slots=True)
class Row:
    """What was measured for one message size (bytes): out of place, then in place."""

    line: int
    size: int
    out_of_place: Side
    in_place: Side

    @property
    def sides(self) -> tuple[Side, Side]:
        """Both placements."""
        return self.out_of_place, self.in_place

    @property
    def busbw(self) -> float:
        """The lower bus bandwidth of the two placements, GB/s."""
        return min(self.out_of_place.busbw, self.in_place.busbw)


@dataclass(frozen=True, slots=True)
class Columns:
    """The words of a header row, and the side of the table on which each stands."""

    words: tuple[str, ...]
    second: int
    """Index of the first column of the in-place half."""

    cputime: bool
    timestamp: bool


@dataclass(slots=True)
class Table:
    """A header and the rows below it."""

    line: int
    columns: Columns
    rows: list[Row] = field(default_factory=list[Row])


def header(text: str) -> Columns | None:
    """Return the columns that a comment line names, or None if it is no header."""
    words = text.lstrip("#").split()
    if words[:3] != ["size", "count", "type"]:
        return None
    timestamp = words[-1] == "timestamp"
    words = words[: len(words) - timestamp]
    times = [index for index, word in enumerate(words) if word in {"time", "cputime"}]
    halves = [words[start : start + len(_SIDE) + 1] for start in times]
    if len(halves) != len(("out of place", "in place")) or halves[0] != halves[1]:
        return None
    clock, *bandwidths, check = halves[0] if len(halves[0]) > len(_SIDE) else [""] * 4
    if bandwidths != ["algbw", "busbw"] or check not in {"#wrong", "error"}:
        return None
    return Columns(tuple(words), times[1], clock == "cputime", timestamp)


def looks_like_row(text: str) -> bool:
    """Tell whether a line starts like a row: size, count, type."""
    return _ROW.match(text) is not None


def read_row(line: Line, columns: Columns) -> Row | str:
    """Return the row, or what is wrong with it."""
    words = line.text.split()
    if len(words) > len(columns.words) and _DATE.fullmatch(words[-2]):
        words = words[:-2]
    elif columns.timestamp:
        return "its timestamp is missing"
    if len(words) != len(columns.words):
        return f"{len(words)} fields where the header names {len(columns.words)}"
    first = columns.words.index("cputime" if columns.cputime else "time")
    try:
        size, _count = int(words[0]), int(words[1])
        out = _side(words[first : columns.second], columns.words[first : columns.second])
        inside = _side(words[columns.second :], columns.words[columns.second :])
    except ValueError as error:
        return str(error)
    return Row(line.number, size, out, inside)


def _side(words: list[str], names: tuple[str, ...]) -> Side:
    time, algbw, busbw = (_number(word) for word in words[: len(_SIDE)])
    word, name = words[len(_SIDE)], names[len(_SIDE)]
    if word == _MISSING:
        return Side(time, algbw, busbw, None)
    wrong = _number(word)
    return Side(time, algbw, busbw, wrong if name == "#wrong" else 0.0)


def _number(word: str) -> float:
    value = float(word)
    if not math.isfinite(value) or value < 0:
        raise ValueError(f"{word!r} is not a measurement")
    return value
