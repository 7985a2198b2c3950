"""A log is read once, line by line, in memory that does not grow with it."""

import io
import tracemalloc
from collections.abc import Iterable, Iterator
from itertools import chain, repeat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.nccl.judge import Judgement, judge
from scripts.nccl.lines import MAX_LINE, bounded
from scripts.nccl.log import parse
from scripts.nccl.source import read
from scripts.verdicts import Verdict
from tests.nccl.logs import expected, judged, text
from tests.nccl.make import Run

MEGABYTE = 1_000_000
LOG = Run(hosts=[f"p5-{number}" for number in range(64)]).lines()
ENOUGH_MB = 200
MOST_MB = 8


def messages(megabytes: int) -> Iterator[str]:
    """Return messages of NCCL, ranks in turn, without keeping them."""
    size, number = 0, 0
    while size < megabytes * MEGABYTE:
        rank = number % 512
        here = f"p5-{rank // 8}:{2310 + rank}:{2400 + number % 4096} [{rank % 8}] NCCL INFO"
        ends = f"{rank}[{rank % 8}] -> {(rank + 8) % 512}[{rank % 8}] [send] via NET"
        for line in (
            f"{here} Channel {number % 32:02}/0 : {ends}/Libfabric/{number % 32}/GDRDMA",
            f"{here} Channel {number % 32:02}/0 : {rank}[0] -> {(rank + 1) % 512}[1] via P2P/CUMEM",
            f"{here} Trees [0] {number}/-1/-1->{rank}->-1 [1] {number}/-1/-1->{rank}->-1 and so on",
            f"{here} NET/OFI request {number} of a kind that nobody has seen before this line",
        ):
            size += len(line) + 1
            yield line
        number += 1


def within(middle: Iterable[str]) -> Iterator[str]:
    """Return a good log with more messages between its devices and its table."""
    table = next(number for number, line in enumerate(LOG) if "out-of-place" in line)
    yield from LOG[:table]
    yield from middle
    yield from LOG[table:]


def peak(lines: Iterable[str]) -> tuple[Judgement, float]:
    """Judge a log that is made while it is read; return the most memory taken, MB."""
    tracemalloc.start()
    try:
        judgement = judge(parse(lines), expected(64))
        return judgement, tracemalloc.get_traced_memory()[1] / MEGABYTE
    finally:
        tracemalloc.stop()


def test_six_megabytes_of_messages_that_all_differ_take_no_more_memory_than_two() -> None:
    (few, small), (many, large) = peak(within(messages(2))), peak(within(messages(6)))
    assert few.verdict is many.verdict is Verdict.PASS
    assert large < max(small * 1.2, MOST_MB)


@pytest.mark.slow
def test_two_hundred_megabytes_take_no_more_memory_than_ten() -> None:
    some = list(messages(4))
    times = ENOUGH_MB * MEGABYTE // sum(len(line) + 1 for line in some)
    small = peak(within(some * 2))[1]
    judgement, large = peak(within(chain.from_iterable(repeat(some, times))))
    assert judgement.verdict is Verdict.PASS
    assert large < small * 1.2
    assert large < MOST_MB


class Endless(io.RawIOBase):
    """Bytes without an end of line, as many as are asked for, up to a limit."""

    def __init__(self, megabytes: int) -> None:
        self.left = megabytes * MEGABYTE

    def read(self, size: int = -1, /) -> bytes:
        count = min(size, self.left)
        self.left -= count
        return b"9" * count


def test_a_line_without_an_end_takes_no_memory() -> None:
    tracemalloc.start()
    lines = list(bounded(Endless(50)))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [len(line) for line in lines] == [MAX_LINE]
    assert most < 3 * MEGABYTE


class Slow(io.BytesIO):
    """Gives a few bytes at a time, as a pipe may."""

    def read(self, size: int | None = -1, /) -> bytes:
        return super().read(min(size or 1, 7))


content = st.binary(max_size=300) | st.lists(
    st.sampled_from([b"\n", b"\r\n", b"\r", b"ab", "é\u2028".encode(), b"\xff", b"\x0b", b"\x00"])
).map(b"".join)


@settings(max_examples=200, deadline=None)
@given(content)
def test_lines_are_those_of_an_editor_however_the_bytes_arrive(raw: bytes) -> None:
    plain = raw.decode(errors="replace").replace("\r\n", "\n").split("\n")
    wanted = plain if plain[-1] else plain[:-1]
    if raw.endswith(b"\r"):
        wanted[-1] = wanted[-1].removesuffix("\r")
    assert list(bounded(io.BytesIO(raw))) == wanted
    whole = raw.split(b"\n")
    assert len(list(bounded(Slow(raw)))) == len(whole) - (not whole[-1])


def test_a_log_read_in_small_pieces_is_the_same_log() -> None:
    raw = text().encode()
    assert judge(read(Slow(raw)), expected(2)) == judged(text())
    assert judge(read(io.BytesIO(raw)), expected(2)) == judged(text())


def test_findings_name_the_lines_of_the_file() -> None:
    lines = text("bad_wrong.txt").splitlines()
    judgement = judge(read(io.BytesIO(text("bad_wrong.txt").encode())), expected(2))
    [found] = judgement.reasons
    assert [lines[number - 1].split()[0] for number in found.lines] == ["4294967296", "17179869184"]
