"""One line of a log: without what launchers and log readers put in front of it."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

__all__ = ["MAX_LINE", "Line", "NcclLine", "bounded", "clean", "nccl_line"]

MAX_LINE = 4096
"""Characters read of one line: the longest real one has some 300, binary noise has no end."""

_PREFIXES = (
    re.compile(r"\x1b\[[0-9;]*[A-Za-z]"),  # colours
    re.compile(r"\[pod/[^\]]*\] "),  # kubectl logs --prefix
    re.compile(r"\d{4}-\d\d-\d\dT[\d:.]+(?:Z|[+-]\d\d:?\d\d)\s(?:std(?P<cri>out|err) [FP] )?"),
    re.compile(r"\[[^\]\s]*\d+,\d+\]<std(?P<mpi>out|err|diag)>:\s?"),  # mpirun --tag-output
    re.compile(r"\s*\d+: "),  # srun --label
)

_NCCL = re.compile(
    r"(?:^|[\s\]])(?P<host>[^\s:\[\]]+):\d+:\d+ \[-?\d+\] (?:\S+:\d+ )?NCCL (?P<level>INFO|WARN)"
    r"\s?(?P<text>.*)"
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line by its number in the input (from 1); ``stderr`` where its launcher says so."""

    number: int
    text: str
    stderr: bool = False


@dataclass(frozen=True, slots=True)
class NcclLine:
    """A message of NCCL itself, from a rank on ``host``."""

    number: int
    host: str
    warning: bool
    text: str


def bounded(stream: BinaryIO) -> Iterator[str]:
    """Yield the lines of ``stream``, each cut to ``MAX_LINE`` bytes, whatever is in it."""
    while chunk := stream.readline(MAX_LINE):
        whole = chunk.endswith(b"\n")
        yield chunk.decode(errors="replace").rstrip("\r\n")
        while not whole and (rest := stream.readline(MAX_LINE)):
            whole = rest.endswith(b"\n")


def clean(lines: Iterable[str]) -> Iterator[Line]:
    """Yield the lines with numbers and without the prefixes of launchers and log readers."""
    for number, raw in enumerate(lines, start=1):
        text = raw[:MAX_LINE].rstrip("\r\n")
        stderr = False
        for prefix in _PREFIXES:
            if found := prefix.match(text):
                stderr |= bool({"err", "diag"} & set(found.groupdict().values()))
                text = text[found.end() :]
        yield Line(number, text, stderr)


def nccl_line(line: Line) -> NcclLine | None:
    """Return the message of NCCL in ``line``, or None if it is not one."""
    if "NCCL " not in line.text or (found := _NCCL.search(line.text)) is None:
        return None
    return NcclLine(line.number, found["host"], found["level"] == "WARN", found["text"])
