"""Reads the text that nccl-tests prints into facts with line numbers; judges nothing.

Formats: ``src/util.cu`` and ``src/common.cu`` of NVIDIA/nccl-tests, releases 2.9 to 2.19.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from scripts.nccl.lines import Line, clean, nccl_line
from scripts.nccl.table import MAX_ROWS, Table, header, looks_like_row, read_row
from scripts.nccl.transport import MAX_HOSTS, Transport

__all__ = ["MAX_RANKS", "Banner", "Devices", "Footer", "Log", "Quote", "parse"]

T = TypeVar("T")

MAX_RANKS = 65_536
"""Ranks remembered: 8,192 nodes of eight GPUs."""

_KEPT_QUOTES = 8
_QUOTE_LENGTH = 200

_BANNER = re.compile(
    r"# nThread \d+ nGpus \d+ minBytes (?P<low>\d{1,18}) maxBytes (?P<high>\d{1,18}) "
    r"step: (?P<step>\d{1,18})\((?P<kind>factor|bytes)\).*?validation: (?P<validation>\d{1,18})"
)
_VERSION = re.compile(r"# nccl-tests version (?P<version>\S+) .*nccl-library=(?P<nccl>\d+)")
_STARTING = re.compile(r"# Collective test starting: (?P<name>\S+)\s*$")
_CONCLUDED = re.compile(r"# Collective test concluded: (?P<name>\S+)\s*$")
_SUFFIX = re.compile(r"_perf(_mpi)?$")
_REDUCED = re.compile(r"Reducing maxBytes to (?P<size>\d{1,18}) due to memory limitation")
_DEVICE = re.compile(
    r"#\s+Rank\s+(?P<rank>\d{1,9}) (?:Group\s+(?P<group>\d{1,9}) )?Pid\s+\d+ on\s+(?P<host>\S+) "
    r"device\s+\d+ \[[0-9a-fx:.]+\] (?P<name>.+?)\s*$"
)
_BOUNDS = re.compile(r"# Out of bounds values\s+: (?P<count>\d{1,18}) (?P<word>OK|FAILED)")
_AVERAGE = re.compile(r"# Avg bus bandwidth\s+: (?P<value>\S+)(?: (?P<word>OK|FAILED))?")
_FAILURE = re.compile(
    r"Test (?:CUDA|NCCL) failure|pid \d+: Test failure|Test timeout \(|Invalid number of GPUs"
    r"|^# error: "
)


@dataclass(frozen=True, slots=True)
class Quote:
    """A line of the log worth showing."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Banner:
    """What the run was asked to do: sizes in bytes; ``validation`` 0 compares nothing."""

    line: int
    low: int
    high: int
    step: int
    by_factor: bool
    validation: int

    def sizes(self, reduced_to: int | None) -> list[int]:
        """Return the sizes that the run prints, cut where memory was short."""
        high = self.high if reduced_to is None else min(self.high, reduced_to)
        sizes: list[int] = []
        size = self.low
        while size <= high and len(sizes) < MAX_ROWS:
            sizes.append(size)
            grown = size * self.step if self.by_factor else size + self.step
            if grown <= size:
                break
            size = grown
        return sizes


@dataclass(slots=True)
class Devices:
    """Which rank ran where, on what."""

    line: int = 0
    last_line: int = 0
    host_of: dict[int, str] = field(default_factory=dict[int, str])
    group_of: dict[int, int] = field(default_factory=dict[int, int])
    names: set[str] = field(default_factory=set[str])
    repeated: int = 0

    def ranks_by_host(self) -> dict[str, int]:
        """Count the ranks of each host, in order of first rank."""
        counts: dict[str, int] = {}
        for host in self.host_of.values():
            counts[host] = counts.get(host, 0) + 1
        return counts


@dataclass(frozen=True, slots=True)
class Footer:
    """A summary line: its number, and the word at its end if there is one."""

    line: int
    value: float
    word: str | None


@dataclass(slots=True)
class Log:
    """Everything that was understood. Lists are cut, counts are not."""

    lines: int = 0
    version: str | None = None
    nccl: str | None = None
    programs: list[str] = field(default_factory=list[str])
    banners: list[Banner] = field(default_factory=list[Banner])
    reduced_to: int | None = None
    devices: Devices = field(default_factory=Devices)
    tables: list[Table] = field(default_factory=list[Table])
    misread: list[Quote] = field(default_factory=list[Quote])
    transport: Transport = field(default_factory=Transport)
    bounds: list[Footer] = field(default_factory=list[Footer])
    averages: list[Footer] = field(default_factory=list[Footer])
    concluded: list[Quote] = field(default_factory=list[Quote])
    failures: list[Quote] = field(default_factory=list[Quote])
    warnings: list[Quote] = field(default_factory=list[Quote])

    @property
    def collectives(self) -> set[str]:
        """What the run says that it measured; releases before 2.16.7 say nothing."""
        return {_SUFFIX.sub("", name) for name in self.programs}


def parse(lines: Iterable[str]) -> Log:
    """Read a log line by line, in memory that does not grow with its length."""
    log = Log()
    for line in clean(lines):
        log.lines = line.number
        if (message := nccl_line(line)) is not None:
            log.transport.read(message, log.devices.host_of)
            if message.warning:
                _keep(log.warnings, line)
        elif _FAILURE.search(line.text):
            _keep(log.failures, line)
        elif line.stderr:
            continue
        elif line.text.lstrip().startswith("#"):
            _comment(log, line)
        elif looks_like_row(line.text):
            _row(log, line)
    return log


def _comment(log: Log, line: Line) -> None:
    text = line.text.lstrip()
    if found := _DEVICE.match(text):
        _device(log.devices, line.number, found)
    elif found := _BANNER.match(text):
        numbers = (int(found[key]) for key in ("low", "high", "step"))
        low, high, step = numbers
        banner = Banner(
            line.number, low, high, step, found["kind"] == "factor", int(found["validation"])
        )
        _append(log.banners, banner)
    elif found := _VERSION.match(text):
        log.version, log.nccl = found["version"], found["nccl"]
    elif found := _STARTING.match(text):
        _append(log.programs, found["name"])
    elif found := _CONCLUDED.match(text):
        _append(log.concluded, Quote(line.number, found["name"]))
    elif found := _REDUCED.search(text):
        log.reduced_to = int(found["size"])
    elif found := _BOUNDS.match(text):
        _append(log.bounds, Footer(line.number, float(found["count"]), found["word"]))
    elif found := _AVERAGE.match(text):
        _average(log, line, found)
    elif (columns := header(text)) is not None:
        _append(log.tables, Table(line.number, columns))


def _average(log: Log, line: Line, found: re.Match[str]) -> None:
    try:
        value = float(found["value"])
    except ValueError:
        _keep(log.misread, line)
        return
    _append(log.averages, Footer(line.number, value, found["word"]))


def _device(devices: Devices, number: int, found: re.Match[str]) -> None:
    devices.line = devices.line or number
    devices.last_line = number
    rank = int(found["rank"])
    if rank in devices.host_of:
        devices.repeated += 1
    elif len(devices.host_of) < MAX_RANKS:
        devices.host_of[rank] = found["host"]
        devices.group_of[rank] = int(found["group"] or 0)
    if len(devices.names) < _KEPT_QUOTES:
        devices.names.add(found["name"])


def _row(log: Log, line: Line) -> None:
    if not log.tables:
        _keep(log.misread, line, "a row above any header")
        return
    table = log.tables[-1]
    row = read_row(line, table.columns)
    if isinstance(row, str):
        _keep(log.misread, line, row)
    elif len(table.rows) < MAX_ROWS:
        table.rows.append(row)
    else:
        _keep(log.misread, line, f"more than {MAX_ROWS} rows")


def _keep(quotes: list[Quote], line: Line, text: str | None = None) -> None:
    if len(quotes) < _KEPT_QUOTES:
        quotes.append(Quote(line.number, (text or line.text.strip())[:_QUOTE_LENGTH]))


def _append(found: list[T], item: T) -> None:
    """Keep one more, but not without end: more than a few of these is a broken log anyway."""
    if len(found) < MAX_HOSTS:
        found.append(item)
