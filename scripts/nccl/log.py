"""Reads the text that nccl-tests prints into facts with line numbers; judges nothing.

Formats: ``src/util.cu`` and ``src/common.cu`` of NVIDIA/nccl-tests, releases 2.0 to 2.19.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeVar

from scripts.nccl import launcher
from scripts.nccl.lines import INFO, MAX_LINE, ORIGIN, WARN, Line, NcclLine, clean, nccl_line
from scripts.nccl.record import MAX_RANKS, Banner, Devices, Footer, Log, Quote
from scripts.nccl.table import MAX_ROWS, Table, header, looks_like_row, read_row
from scripts.nccl.transport import MAX_HOSTS, VIA, matters

__all__ = ["MAX_RANKS", "Banner", "Devices", "Footer", "Log", "Quote", "parse"]

T = TypeVar("T")

_KEPT_QUOTES = 8
_QUOTE_LENGTH = 200
_KEPT_ORIGINS = 16_384
"""Beginnings of messages (host, process, thread) whose host is remembered."""

_BANNER = re.compile(
    r"# nThread \d+ nGpus \d+ minBytes (?P<low>\d{1,18}) maxBytes (?P<high>\d{1,18}) "
    r"step: (?P<step>\d{1,18})\((?P<kind>factor|bytes)\).*?validation: (?P<validation>\d{1,18})"
)
_VERSION = re.compile(r"# nccl-tests version (?P<version>\S+) .*nccl-library=(?P<nccl>\d+)")
_STARTING = re.compile(r"# Collective test starting: (?P<name>\S+)\s*$")
_CONCLUDED = re.compile(r"# Collective test concluded: (?P<name>\S+)\s*$")
_REDUCED = re.compile(r"Reducing maxBytes to (?P<size>\d{1,18}) due to memory limitation")
_DEVICE = re.compile(
    r"#\s+Rank\s+(?P<rank>\d{1,9}) (?:Group\s+(?P<group>\d{1,9}) )?(?:Pid\s+(?P<pid>\d{1,9}) )?"
    r"on\s+(?P<host>\S+) device\s+\d+ \[[0-9a-fx:.]+\] (?P<name>.+?)\s*$"
)
_BOUNDS = re.compile(r"# Out of bounds values\s+: (?P<count>\d{1,18}) (?P<word>OK|FAILED)")
_AVERAGE = re.compile(r"# Avg bus bandwidth\s+: (?P<value>\S+)(?: (?P<word>OK|FAILED))?")
_FAILURE = re.compile(
    r"Test (?:CUDA|NCCL) failure|pid \d+: Test failure|Test timeout \(|Invalid number of GPUs"
    r"|^# error: "
)
_LAST_ERROR = "# error: "
_OLD_COMMENT = re.compile(r" ?(?:nThread |Out of bounds values |Avg bus bandwidth )")
_TAIL = re.compile(r"\s+\d")
_OF_NO_ACCOUNT = frozenset({"Boot", "Init", "P2P ", "Ring", "Sett", "Tree", "comm", "nccl", "thre"})
"""How frequent messages begin that never tell of the transport; all others are looked at."""

_WORD = 4
_LONGEST_ORIGIN = 60
"""The head of a row has 52 characters: a message that stands behind one begins later."""

_CUT_HERE = "-1"
"""What stands last in the part of a row that is printed before its test runs: no root."""


def parse(lines: Iterable[str]) -> Log:
    """Read a log line by line, in memory that does not grow with its length.

    Most lines of a long log are messages of NCCL that say nothing about the run as a whole. They
    are told apart by a few searches for plain words, and only the rest is read by patterns.
    """
    reader = _Reader()
    log, info, longest = reader.log, INFO, _LONGEST_ORIGIN
    of_no_account, is_known = _OF_NO_ACCOUNT, reader.knows_channel
    skipped, kind = len(info), len(info) + _WORD
    number = passed = 0
    for number, raw in enumerate(lines, start=1):
        at = raw.find(info)
        if at < 0:
            if "#" in raw or "   " in raw or WARN in raw or _may_speak(raw):
                reader.line(clean(number, raw))
        elif at > longest and "   " in raw:
            reader.line(clean(number, raw))
        elif (word := raw[at + skipped : at + kind]) == "Chan":
            if VIA not in raw or is_known(raw, at):
                passed += 1
            else:
                reader.message(number, raw, at)
        elif word in of_no_account or not matters(raw):
            passed += 1
        else:
            reader.message(number, raw, at)
    reader.forget_head()
    log.lines = number
    log.transport.messages += passed
    return log


def _origin(raw: str, at: int) -> str:
    """Return host, process, thread and device before ``at``, without the prefix of a launcher."""
    device = raw.rfind(" [", 0, at)
    start = max(raw.rfind(" ", 0, device), raw.rfind(">:", 0, device) + 1)
    return raw[start + 1 : at]


def _may_speak(raw: str) -> bool:
    """Tell quickly whether a line may tell of a failure, or is of the first releases."""
    return (
        "Test " in raw
        or "Invalid" in raw
        or "nThread" in raw
        or "Out of b" in raw
        or "Avg bus" in raw
        or launcher.speaks(raw)
    )


@dataclass(slots=True)
class _Reader:
    """Reads what ``parse`` does not pass over. ``head`` is the first part of a row cut in two."""

    log: Log = field(default_factory=Log)
    head: Line | None = None
    origins: dict[str, str] = field(default_factory=dict[str, str])

    def knows_channel(self, raw: str, at: int) -> bool:
        """Tell whether a channel over a network says nothing new: most of a long log does not."""
        host = self.origins.get(raw[:at] if at <= _LONGEST_ORIGIN else _origin(raw, at))
        return host is not None and self.log.transport.knows(host, raw, at)

    def message(self, number: int, raw: str, at: int) -> None:
        """Read a message of NCCL; ``at`` is where its origin ends."""
        origin = raw[:at] if at <= _LONGEST_ORIGIN else _origin(raw, at)
        if (host := self.origins.get(origin)) is None:
            found = ORIGIN.search(origin)
            if found is None:
                self.line(clean(number, raw))
                return
            host = found["host"]
            if len(self.origins) >= _KEPT_ORIGINS:
                self.origins.clear()
            self.origins[origin] = host
        text = raw[at + len(INFO) : MAX_LINE]
        self.log.transport.read(NcclLine(number, host, False, text), self.log.devices.host_of)

    def _message(self, line: Line, found: NcclLine) -> None:
        """Read a message of NCCL that may stand in the middle of a row, and keep the row's head."""
        if looks_like_row(found.before) and found.host.startswith(_CUT_HERE):
            self.forget_head()
            self.head = Line(line.number, f"{found.before} {_CUT_HERE}", line.stderr)
            found = found._replace(host=found.host.removeprefix(_CUT_HERE))
        self.log.transport.read(found, self.log.devices.host_of)
        if found.warning:
            _keep(self.log.warnings, line)

    def line(self, line: Line) -> None:
        """Read any other line. What standard error says of the table is not believed."""
        text = line.text
        if looks_like_row(text) and " NCCL " not in text:
            if not line.stderr:
                self.forget_head()
                _row(self.log, line)
        elif (bare := text.lstrip()).startswith("#") and not bare.startswith(_LAST_ERROR):
            if not line.stderr:
                _comment(self.log, line, bare)
        elif (message := nccl_line(line)) is not None:
            self._message(line, message)
        else:
            self.other(line)

    def other(self, line: Line) -> None:
        """Read what programs and launchers say outside the table, and the rest of a cut row."""
        log, text = self.log, line.text
        if _FAILURE.search(text):
            _keep(log.failures, line)
        elif (code := launcher.exit_code(text)) is not None:
            log.exit_code = code
        elif launcher.speaks(text) and launcher.says(text):
            _keep(log.launcher, line)
        elif line.stderr:
            return
        elif self.head is not None and _TAIL.match(text):
            whole, self.head = Line(self.head.number, f"{self.head.text} {text}"), None
            _row(log, whole)
        elif _OLD_COMMENT.match(text):
            _comment(log, line, f"# {text.strip()}")

    def forget_head(self) -> None:
        """Note a row that began and did not go on."""
        if self.head is not None:
            _keep(self.log.misread, self.head, "a row was cut by a message and never went on")
            self.head = None


def _comment(log: Log, line: Line, text: str) -> None:
    if found := _DEVICE.match(text):
        _device(log.devices, line.number, found)
    elif (columns := header(text)) is not None:
        _append(log.tables, Table(line.number, columns))
    elif " busbw " in text:
        _keep(log.misread, line, "a header of columns that are not known")
    elif not _opening(log, line, text):
        _footer(log, line, text)


def _opening(log: Log, line: Line, text: str) -> bool:
    """Read what stands above the table, and tell whether this line does."""
    if found := _BANNER.match(text):
        low, high, step = (int(found[key]) for key in ("low", "high", "step"))
        banner = Banner(
            line.number, low, high, step, found["kind"] == "factor", int(found["validation"])
        )
        _append(log.banners, banner)
    elif found := _VERSION.match(text):
        log.version, log.nccl = found["version"], found["nccl"]
    elif found := _STARTING.match(text):
        _append(log.programs, found["name"])
    elif found := _REDUCED.search(text):
        log.reduced_to = int(found["size"])
    return found is not None


def _footer(log: Log, line: Line, text: str) -> None:
    if found := _BOUNDS.match(text):
        _append(log.bounds, Footer(line.number, float(found["count"]), found["word"]))
    elif found := _AVERAGE.match(text):
        _average(log, line, found)
    elif found := _CONCLUDED.match(text):
        _append(log.concluded, Quote(line.number, found["name"]))


def _average(log: Log, line: Line, found: re.Match[str]) -> None:
    try:
        value = float(found["value"])
    except ValueError:
        _keep(log.misread, line)
        return
    _append(log.averages, Footer(line.number, value, found["word"]))


def _device(devices: Devices, number: int, found: re.Match[str]) -> None:
    devices.add(
        number,
        int(found["rank"]),
        found["host"],
        found["name"],
        group=int(found["group"] or 0),
        pid=int(found["pid"]) if found["pid"] else None,
    )


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
