"""Reads what was captured of a node: a stream of ``node_check.sh``, or a folder of raw outputs.

``docs/captures.md`` describes both forms.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from scripts.nccl.lines import bounded

__all__ = [
    "BEGIN",
    "DONE",
    "END",
    "FIRST",
    "FOLDER_DONE",
    "FOLDER_FIRST",
    "NOTE",
    "OUTPUT",
    "Capture",
    "Section",
    "parse",
    "read_folder",
]

FIRST = "#@ trainyard-node-check 1"
BEGIN = "#@ begin "
END = "#@ end "
OUTPUT = "| "
DONE = "#@ done"

NOTE = "capture.txt"
FOLDER_FIRST = "trainyard-node-capture 1"
FOLDER_DONE = "done"

MAX_LINES = 20_000
"""Lines kept of one section: a whole kernel log has fewer."""

MAX_SECTIONS = 1000

_MAX_LINE = 4000
_BAR = OUTPUT.rstrip()
_ENDED = re.compile(r"(?:(?P<name>\S+) )?(?:rc=(?P<rc>\d{1,3})|(?P<word>missing|timeout))")
_FOLDER_COUNT = re.compile(r"done (?P<sections>\d{1,9}) sections")

State = Literal["ended", "missing", "timeout", "open"]


@dataclass(slots=True)
class Section:
    """One command: its output and how it ended; ``open`` means that it never did.

    ``numbers`` are the line numbers of the output, in the stream or in the section's own file.
    """

    name: str
    line: int
    state: State = "open"
    code: int | None = None
    output: list[str] = field(default_factory=list[str])
    numbers: list[int] = field(default_factory=list[int])

    @property
    def ran(self) -> bool:
        """Tell whether the command came to its own end without an error."""
        return self.state == "ended" and self.code == 0

    def keep(self, line: str, number: int) -> None:
        """Add a line of output, if there is room."""
        if len(self.output) < MAX_LINES:
            self.output.append(line)
            self.numbers.append(number)

    def end(self, text: str) -> None:
        """Note how the command ended; what is not understood leaves it open."""
        found = _ENDED.fullmatch(text)
        if found is None or found["name"] not in (None, self.name):
            return
        if found["rc"] is not None:
            self.state, self.code = "ended", int(found["rc"])
        else:
            self.state = "missing" if found["word"] == "missing" else "timeout"


@dataclass(slots=True)
class Capture:
    """All sections; ``complete`` where nothing was cut off, lost or added.

    ``repeated`` names sections that are there more than once: nobody can say which is true.
    """

    sections: dict[str, Section] = field(default_factory=dict[str, Section])
    known_format: bool = False
    complete: bool = False
    repeated: set[str] = field(default_factory=set[str])

    def add(self, section: Section) -> None:
        """Add a section."""
        if section.name in self.sections:
            self.repeated.add(section.name)
        if len(self.sections) < MAX_SECTIONS:
            self.sections[section.name] = section

    @property
    def on_host(self) -> bool:
        """Tell whether the capture was made on the node itself and not in a pod."""
        scope = self.sections.get("scope")
        return scope is not None and [line.strip() for line in scope.output] == ["host"]


def parse(lines: Iterable[str], first: str = FIRST) -> Capture:
    """Read a stream that begins with the line ``first``.

    Lines that are in no section are ignored: a log may carry other text.
    """
    capture = Capture()
    current: Section | None = None
    done: str | None = None
    for number, raw in enumerate(lines, start=1):
        line = raw.rstrip("\r\n")[:_MAX_LINE]
        if line.startswith(_BAR):  # first, for nearly every line does
            if current is not None:
                current.keep(line.removeprefix(_BAR).removeprefix(" "), number)
        elif line == first:
            capture.known_format = True
        elif line.startswith(DONE):
            done = line
        elif line.startswith(BEGIN):
            current = Section(line.removeprefix(BEGIN), number)
            capture.add(current)
        elif line.startswith(END) and current is not None:
            current.end(line.removeprefix(END))
            current = None
    counted = sorted(f"{name}={len(each.output)}" for name, each in capture.sections.items())
    told = sorted(done.removeprefix(DONE).split()) if done is not None else None
    capture.complete = capture.known_format and told == counted
    return capture


def read_folder(folder: Path) -> Capture:
    """Read a folder: ``NAME.out`` as the command printed it, ``NAME.end`` for how it ended."""
    capture = Capture()
    note = _lines(folder / NOTE)
    capture.known_format = note[:1] == [FOLDER_FIRST]
    for ended in sorted(folder.glob("*.end")):
        section = Section(ended.stem, 0)
        section.end(" ".join(_lines(ended)).strip())
        for number, line in enumerate(_lines(folder / f"{section.name}.out"), start=1):
            section.keep(line, number)
        capture.add(section)
    for output in sorted(folder.glob("*.out")):
        if output.stem not in capture.sections:
            capture.add(Section(output.stem, 0))
    counts = [int(found["sections"]) for line in note if (found := _FOLDER_COUNT.match(line))]
    capture.complete = capture.known_format and counts == [len(capture.sections)]
    return capture


def _lines(file: Path) -> list[str]:
    """Return the lines of a file, none where there is no such file."""
    if not file.is_file():
        return []
    with file.open("rb") as stream:
        return [
            line[:_MAX_LINE] for line, _ in zip(bounded(stream), range(MAX_LINES), strict=False)
        ]
