"""One line of a log: without what launchers and log readers put in front of it."""

import re
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple, Protocol

__all__ = [
    "INFO",
    "MAX_LINE",
    "ORIGIN",
    "WARN",
    "Line",
    "NcclLine",
    "Readable",
    "bounded",
    "clean",
    "nccl_line",
]

MAX_LINE = 4096
"""Characters read of one line: the longest real one has some 300, binary noise has no end."""

_BLOCK = 1 << 18

_PREFIXES = (
    re.compile("\ufeff"),
    re.compile(r"\x1b\[[0-9;]*[A-Za-z]"),  # colours
    re.compile(r"\[pod/[^\]]*\] "),  # kubectl logs --prefix
    re.compile(r"[A-Za-z0-9][\w.-]*\s+\| "),  # compose and its kin: name | line
    re.compile(  # kubectl --timestamps, containerd's files
        r"\d{4}-\d\d-\d\dT[\d:.,]+(?:Z|[+-]\d\d:?\d\d)\s(?:std(?P<cri>out|err) [FP] )?"
    ),
    re.compile(r"\[?\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d+)?\]? "),  # ts and loggers
    re.compile(r"[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d (?:\S+ \S+\[\d+\]: )?"),  # ts, syslog
    re.compile(r"[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}"),  # mpirun --timestamp
    # mpirun --tag-output in its several forms
    re.compile(
        r"\[[^\]\s]*\d,[\w:.-]+(?:,[^\]\s]+)?\](?:\[[^\]\s]+\])?<std(?P<mpi>out|err|diag)>:\s?"
    ),
    re.compile(r"\[(?:default|rank)?\d+\]: ?"),  # torchrun
    re.compile(r"\[\d+\] (?=[#\s\d])"),  # mpiexec -l
    re.compile(r"\s*\d+: "),  # srun --label
)

_BARE = ("# ", "   ")
"""How lines of nccl-tests begin that nothing was put in front of."""

ORIGIN = re.compile(r"(?:^|[\s\]>:|])(?P<host>[^\s:\[\]]+):\d+:\d+ \[-?\d+\](?: \S+:\d+)?$")

INFO = " NCCL INFO "
WARN = " NCCL WARN "


class Readable(Protocol):
    """What bytes are read from: a file, a pipe, or one of which a part was read already."""

    def read(self, size: int, /) -> bytes:
        """Return up to ``size`` bytes, and none at the end."""
        ...


class Line(NamedTuple):
    """A line by its number in the input (from 1); ``stderr`` where its launcher says so."""

    number: int
    text: str
    stderr: bool = False


class NcclLine(NamedTuple):
    """A message of NCCL itself, from a rank on ``host``.

    ``before`` is what stood on its line already, where another line was cut in two by it.
    """

    number: int
    host: str
    warning: bool
    text: str
    before: str = ""


def bounded(stream: Readable) -> Iterator[str]:
    """Return the lines of ``stream``, each cut to ``MAX_LINE`` characters, whatever is in it.

    Only a newline ends a line, so that numbers are those of an editor. Bytes that are no UTF-8 are
    replaced, and a carriage return before the newline is dropped.
    """
    return chain.from_iterable(_blocks(stream))


def _blocks(stream: Readable) -> Iterator[list[str]]:
    rest = b""
    while block := stream.read(_BLOCK):
        block = rest + block
        if end := block.rfind(b"\n") + 1:
            yield _lines(block[: end - 1])
        # What has no end is only kept as far as it is read, or one line could fill the memory.
        rest = block[end:][: MAX_LINE * 4]
    if rest:
        yield _lines(rest)


def _lines(block: bytes) -> list[str]:
    text = block.decode(errors="replace")
    if "\r" in text:
        text = f"{text}\n".replace("\r\n", "\n").removesuffix("\n")
    lines = text.split("\n")
    if max(map(len, lines)) > MAX_LINE:
        lines = [line[:MAX_LINE] for line in lines]
    return lines


def clean(number: int, raw: str) -> Line:
    """Return a line without the prefixes of launchers and log readers."""
    text = raw[:MAX_LINE].rstrip("\r\n")
    if text.startswith(_BARE):
        return Line(number, text)
    stderr = False
    for prefix in _PREFIXES:
        if found := prefix.match(text):
            stderr |= bool({"err", "diag"} & set(found.groupdict().values()))
            text = text[found.end() :]
    return Line(number, text, stderr)


def nccl_line(line: Line) -> NcclLine | None:
    """Return the message of NCCL in ``line``, or None if it is not one."""
    head, mark, text = line.text.partition(INFO)
    if not mark:
        head, mark, text = line.text.partition(WARN)
    if not mark or (found := ORIGIN.search(head)) is None:
        return None
    return NcclLine(line.number, found["host"], mark == WARN, text.strip(), head[: found.start()])
