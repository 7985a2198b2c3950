"""Whatever happens to a log: it is judged without a crash, and damage is never a pass."""

import io
import random
from collections.abc import Iterator

from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.nccl.lines import MAX_LINE, bounded
from scripts.nccl.log import parse
from scripts.verdicts import Verdict
from tests.nccl.logs import judged, text

LOG = text()
LINES = LOG.splitlines()
LAST = LOG.index("# Collective test concluded") + len("# Collective test concluded: all_reduce")

quick = settings(max_examples=40, deadline=None)

NEEDED = [
    index
    for index, line in enumerate(LINES)
    if line.startswith(("# nThread", "#  Rank", "#       size", "# Out of", "# Avg", "# Coll"))
    or line.lstrip()[:1].isdigit()
]
NEEDED.remove(next(index for index, line in enumerate(LINES) if "starting" in line))


@quick
@given(st.integers(0, LAST - 1))
def test_a_log_cut_anywhere_never_passes(end: int) -> None:
    assert judged(LOG[:end]).verdict is not Verdict.PASS


@quick
@given(st.sampled_from(NEEDED))
def test_a_log_without_one_of_its_lines_never_passes(index: int) -> None:
    assert judged(LINES[:index] + LINES[index + 1 :]).verdict is not Verdict.PASS


@quick
@given(st.sampled_from(NEEDED))
def test_a_log_with_one_of_its_lines_twice_never_passes(index: int) -> None:
    assert judged(LINES[: index + 1] + LINES[index:]).verdict is not Verdict.PASS


@quick
@given(st.lists(st.sampled_from(NEEDED), min_size=2, max_size=2, unique=True))
def test_a_log_with_two_lines_swapped_passes_only_if_both_name_ranks(pair: list[int]) -> None:
    first, second = pair
    lines = list(LINES)
    lines[first], lines[second] = lines[second], lines[first]
    ranks = all("Rank" in LINES[index] for index in pair)
    assert (judged(lines).verdict is Verdict.PASS) == ranks


@quick
@given(st.integers(), st.integers(1, 12))
def test_shuffled_logs_never_pass(seed: int, size: int) -> None:
    lines = list(LINES)
    chooser = random.Random(seed)  # noqa: S311 - a reproducible shuffle, not a secret
    blocks = [lines[index : index + size] for index in range(0, len(lines), size)]
    chooser.shuffle(blocks)
    mixed = [line for block in blocks for line in block]
    same_order = [line for line in mixed if line in lines] == lines
    assert same_order or judged(mixed).verdict is not Verdict.PASS


@quick
@given(st.sampled_from(NEEDED), st.data())
def test_a_row_with_a_changed_character_never_crashes(index: int, data: st.DataObject) -> None:
    line = LINES[index]
    place = data.draw(st.integers(0, len(line) - 1))
    character = data.draw(st.characters())
    changed = line[:place] + character + line[place + 1 :]
    judged([*LINES[:index], changed, *LINES[index + 1 :]])


@quick
@given(st.binary(max_size=5000))
def test_noise_never_passes(noise: bytes) -> None:
    assert judged(bounded(io.BytesIO(noise))).verdict is Verdict.UNKNOWN


@quick
@given(st.binary(min_size=1, max_size=200), st.sampled_from(NEEDED))
def test_noise_in_place_of_a_line_never_passes(noise: bytes, index: int) -> None:
    raw = [line.encode() for line in LINES]
    raw[index] = noise.replace(b"\n", b"?")
    assert judged(bounded(io.BytesIO(b"\n".join(raw)))).verdict is not Verdict.PASS


def test_a_line_without_an_end_is_cut() -> None:
    stream = io.BytesIO(b"9" * (10 * MAX_LINE) + b"\nshort\n")
    assert [len(line) for line in bounded(stream)] == [MAX_LINE, len("short")]


def test_numbers_without_an_end_are_no_rows() -> None:
    digits = "9" * 4000
    log = LOG.replace("  1073741824 ", f"  {digits} ").replace("maxBytes 17179869184", digits)
    assert judged(log).verdict is not Verdict.PASS


def test_memory_does_not_grow_with_the_length_of_a_log() -> None:
    def endless(count: int) -> Iterator[str]:
        row = next(line for line in LINES if line.startswith("   134217728"))
        message = "p5-a:1:1 [0] NCCL INFO Channel 00/0 : 7[7] -> 8[0] [send] via NET/Socket/0"
        for number in range(count):
            yield from (
                row,
                message,
                f"h{number}:1:1 [0] NCCL WARN lost",
                "p5-a: Test NCCL failure",
            )

    log = parse(["#  size count type redop root time algbw busbw #wrong time algbw busbw #wrong",
                 *endless(5000)])  # fmt: skip
    assert log.lines == 20001
    assert len(log.tables[0].rows) == 1024
    assert len(log.transport.sockets.lines) == 3
    assert len(log.warnings) == len(log.failures) == len(log.misread) == 8
