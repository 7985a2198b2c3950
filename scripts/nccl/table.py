"""The table of nccl-tests: columns are found by the words of its header, never by position.

Releases print 11, 12, 13, 15 or 21 fields a row: some collectives had no ``redop`` or ``root``
before 2.13, the last column was a float ``error`` then, and timestamps and per-iteration columns
are options. The first releases of 2.0 called their columns otherwise and gave milliseconds.
"""

import math
import re
from dataclasses import dataclass, field

from scripts.nccl.lines import Line

__all__ = ["MAX_ROWS", "Columns", "Row", "Side", "Table", "header", "looks_like_row", "read_row"]

MAX_ROWS = 1024
"""Rows kept of one table; a sweep by factor has at most 40, of each data type and operation."""

_MISSING = "N/A"
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_ROW = re.compile(r"\s*\d{1,18}\s+\d{1,18}\s+[a-z]\w*\s", re.ASCII)
_NUMBER = re.compile(r"\d+(?:\.\d*)?(?:e[+-]?\d+)?", re.ASCII)
_SIDE = ("time", "algbw", "busbw")
_FIRST = ("size", "count", "type")

_FIRST_RELEASES = {
    "bytes": "size",
    "N": "count",
    "op": "redop",
    "res": "error",
    "delta": "error",
}

US_PER_MS = 1000


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
    """What was measured for one message size (bytes): out of place, then in place.

    ``kind`` is the data type, with the operation and the root where they are printed.
    """

    line: int
    size: int
    kind: str
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
    first: int
    """Index of the first column of the out-of-place half."""

    second: int
    """Index of the first column of the in-place half."""

    cputime: bool
    timestamp: bool
    milliseconds: bool = False


@dataclass(slots=True)
class Table:
    """A header and the rows below it."""

    line: int
    columns: Columns
    rows: list[Row] = field(default_factory=list[Row])


def header(text: str) -> Columns | None:
    """Return the columns that a comment line names, or None if it is no header."""
    printed = text.lstrip("#").split()
    old = printed[:2] == ["bytes", "N"]
    words = [_FIRST_RELEASES.get(word, word) for word in printed] if old else printed
    if tuple(words[:3]) != _FIRST:
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
    return Columns(tuple(words), times[0], times[1], clock == "cputime", timestamp, old)


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
    first, second = columns.first, columns.second
    unit = US_PER_MS if columns.milliseconds else 1
    try:
        size, _count = int(words[0]), int(words[1])
        out = _side(words[first:second], columns.words[first:second], unit)
        inside = _side(words[second:], columns.words[second:], unit)
    except ValueError as error:
        return str(error)
    return Row(line.number, size, " ".join(words[2:first]), out, inside)


def _side(words: list[str], names: tuple[str, ...], unit: int) -> Side:
    time, algbw, busbw = (_number(word) for word in words[: len(_SIDE)])
    word, name = words[len(_SIDE)], names[len(_SIDE)]
    if word == _MISSING:
        return Side(time * unit, algbw, busbw, None)
    wrong = _number(word)
    return Side(time * unit, algbw, busbw, wrong if name == "#wrong" else 0.0)


def _number(word: str) -> float:
    # float() alone would take nan, a minus, and digits grouped by underscores.
    if not _NUMBER.fullmatch(word) or not math.isfinite(value := float(word)):
        raise ValueError(f"{word!r} is not a measurement")
    return value
