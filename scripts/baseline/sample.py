"""What a log tells besides its verdict: the numbers to keep, the versions, the flags, its digest.

A :class:`Reading` stands between a log and its parser, so that a log is read once.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, Literal

from pydantic import BaseModel, ConfigDict, FiniteFloat, PositiveFloat, PositiveInt

from scripts.nccl.log import Log

if TYPE_CHECKING:
    from scripts.nccl.table import Side

__all__ = ["Placement", "Point", "Reading", "Sample"]

Placement = Literal["out", "in"]
"""Whether the result went to another buffer than the input, as nccl-tests measures both."""

LONGEST: Final = 4096
"""Characters looked at of one line."""

MOST: Final = 32
"""Versions of one kind and settings of NCCL that are remembered."""

FOUR_DIGITS: Final = 10_000
"""NCCL counts releases from 2.9 on as 23004; before, as 2804."""

_VERSIONS: Final = {
    "ofi": re.compile(r"NET/OFI Initializing aws-ofi-nccl (?P<version>\S+)"),
    "libfabric": re.compile(r"NET/OFI Using Libfabric version (?P<version>\S+)", re.IGNORECASE),
    "nccl": re.compile(r"NCCL version (?P<version>\d[\d.]*)"),
}
_HINTS: Final = {
    "ofi": "Initializing aws-ofi-nccl",
    "libfabric": "ibfabric version",
    "nccl": "NCCL version",
}
"""What a line must hold to be looked at: a search for a word is far cheaper than a pattern."""

_BANNER = re.compile(
    r"# nThread (?P<threads>\d+) nGpus (?P<gpus>\d+) .*warmup iters: (?P<warmup>\d+) "
    r"iters: (?P<iterations>\d+) agg iters: (?P<aggregated>\d+) validation: (?P<compared>\d+) "
    r"graph: (?P<graph>\d+)(?: unalign: (?P<unaligned>\d+))?"
)
_SET = re.compile(r"(?P<name>NCCL_\w+) set by environment to (?P<value>\S+?)\.?\s*$")


class Point(BaseModel):
    """What was measured at one message size (bytes), for one placement of the buffers."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    size: PositiveInt
    placement: Placement
    time_us: PositiveFloat
    busbw: FiniteFloat

    @property
    def key(self) -> tuple[int, Placement]:
        """What makes two points comparable."""
        return self.size, self.placement


@dataclass(frozen=True, slots=True)
class Sample:
    """What to keep of a log: ``dtype`` with operation and root, ``log`` the digest of its text."""

    collective: str
    dtype: str
    flags: tuple[str, ...]
    nccl: frozenset[str]
    nccl_tests: frozenset[str]
    ofi: frozenset[str]
    libfabric: frozenset[str]
    points: tuple[Point, ...]
    log: str


@dataclass(slots=True)
class Reading:
    """Hands the lines of a log on, and remembers what a record needs of them."""

    lines: Iterable[str]
    _found: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    _flags: dict[str, str] = field(default_factory=dict[str, str])
    _digest: str = ""

    def __iter__(self) -> Iterator[str]:
        self._found = {name: set() for name in _VERSIONS}
        self._flags = {}
        digest = hashlib.sha256()
        for line in self.lines:
            text = line.rstrip("\r\n")
            digest.update(text.encode(errors="replace") + b"\n")
            self._look(text[:LONGEST])
            yield line
        self._digest = f"sha256:{digest.hexdigest()}"

    def sample(self, log: Log) -> Sample:
        """Return the sample, once ``log`` was read through this reading to its end."""
        library = _nccl(log.nccl or "")
        kinds = {row.kind for table in log.tables for row in table.rows}
        whole = len(kinds) == len(log.tables) == 1 and not log.misread
        return Sample(
            collective=next(iter(log.collectives)) if len(log.collectives) == 1 else "",
            dtype=next(iter(kinds)) if whole else "",
            flags=tuple(f"{name}={value}" for name, value in sorted(self._flags.items())),
            nccl=frozenset({library} if library else self._found["nccl"]),
            nccl_tests=frozenset({log.version} if log.version else ()),
            ofi=frozenset(self._found["ofi"]),
            libfabric=frozenset(self._found["libfabric"]),
            points=tuple(_points(log)) if whole else (),
            log=self._digest,
        )

    def _look(self, text: str) -> None:
        for name, hint in _HINTS.items():
            if hint in text and (found := _VERSIONS[name].search(text)):
                _keep(self._found[name], found["version"])
        if "set by environment" in text and (found := _SET.search(text)):
            if len(self._flags) < MOST:
                self._flags[found["name"]] = found["value"]
        elif "# nThread" in text and (found := _BANNER.search(text)):
            self._flags |= {name: value for name, value in found.groupdict().items() if value}


def _points(log: Log) -> Iterator[Point]:
    for row in log.tables[0].rows:
        sides: tuple[tuple[Placement, Side], ...] = (
            ("out", row.out_of_place),
            ("in", row.in_place),
        )
        for placement, side in sides:
            if row.size > 0 and side.time_us > 0:
                yield Point(
                    size=row.size, placement=placement, time_us=side.time_us, busbw=side.busbw
                )


def _nccl(number: str) -> str:
    """Read NCCL's version number as people write it: 23004 is 2.30.4."""
    if not number.isdecimal() or int(number) < FOUR_DIGITS:
        return number
    value = int(number)
    return f"{value // 10_000}.{value // 100 % 100}.{value % 100}"


def _keep(found: set[str], version: str) -> None:
    if len(found) < MOST:
        found.add(version)
