"""Reads what ``scripts/jobs/node_check.sh`` printed; the format is described there."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal

__all__ = ["BEGIN", "DONE", "END", "FIRST", "OUTPUT", "Capture", "Section", "parse"]

FIRST = "#@ trainyard-node-check 1"
BEGIN = "#@ begin "
END = "#@ end "
OUTPUT = "| "
DONE = "#@ done"

MAX_LINES = 20_000
"""Lines kept of one section: a whole kernel log has fewer."""

_MAX_LINE = 1000
_ENDED = re.compile(r"(?P<name>\S+) (?:rc=(?P<rc>\d{1,3})|(?P<word>missing|timeout))")

State = Literal["ended", "missing", "timeout", "open"]


@dataclass(slots=True)
class Section:
    """One command: its output and how it ended; ``open`` means that it never did."""

    name: str
    line: int
    state: State = "open"
    code: int | None = None
    output: list[str] = field(default_factory=list[str])

    def keep(self, line: str) -> None:
        """Add a line of output, if there is room."""
        if len(self.output) < MAX_LINES:
            self.output.append(line)


@dataclass(slots=True)
class Capture:
    """All sections; ``complete`` where nothing was cut off at either end."""

    sections: dict[str, Section] = field(default_factory=dict[str, Section])
    known_format: bool = False
    complete: bool = False


def parse(lines: Iterable[str]) -> Capture:
    """Read a capture. Lines that are in no section are ignored: a log may carry other text."""
    capture = Capture()
    current: Section | None = None
    for number, raw in enumerate(lines, start=1):
        line = raw[:_MAX_LINE].rstrip("\r\n")
        if line == FIRST:
            capture.known_format = True
        elif line == DONE:
            capture.complete = capture.known_format
        elif line.startswith(BEGIN):
            current = Section(line.removeprefix(BEGIN), number)
            capture.sections[current.name] = current
        elif line.startswith(END) and current is not None:
            _end(current, line.removeprefix(END))
            current = None
        elif current is not None and line.startswith(OUTPUT.rstrip()):
            current.keep(line.removeprefix(OUTPUT.rstrip()).removeprefix(" "))
    return capture


def _end(section: Section, text: str) -> None:
    found = _ENDED.fullmatch(text)
    if found is None or found["name"] != section.name:
        return
    if found["rc"] is not None:
        section.state, section.code = "ended", int(found["rc"])
    else:
        section.state = "missing" if found["word"] == "missing" else "timeout"
