"""Whatever happens to a log: it is judged without a crash, and damage is never a pass."""

import io
import random
from collections.abc import Callable, Iterable, Iterator

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from scripts.nccl.lines import bounded
from scripts.nccl.log import parse
from scripts.verdicts import Verdict
from tests.nccl.logs import judged, text
from tests.nccl.make import Run

LOG = text()
LINES = LOG.splitlines()
LAST = LOG.index("# Collective test concluded") + len("# Collective test concluded: all_reduce")

quick = settings(max_examples=40, deadline=None)


def counts(line: str) -> bool:
    """Tell whether a log says less without a line; NCCL's own and ornaments may be anywhere."""
    words = ("# nThread", "#  Rank", "#       size", "# Out of", "# Avg", "# Collective test conc")
    return line.startswith(words) or line.lstrip()[:1].isdigit()


NEEDED = [index for index, line in enumerate(LINES) if counts(line)]


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
    assert bones(mixed) == bones(LINES) or judged(mixed).verdict is not Verdict.PASS


def bones(lines: Iterable[str]) -> list[str]:
    """Return the lines that count; ranks may be listed in any order."""
    return ["a rank" if "Rank" in line else line for line in lines if counts(line)]


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


def test_numbers_without_an_end_are_no_rows() -> None:
    digits = "9" * 4000
    log = LOG.replace("  1073741824 ", f"  {digits} ").replace("maxBytes 17179869184", digits)
    assert judged(log).verdict is not Verdict.PASS


def test_what_is_kept_of_a_log_does_not_grow_with_its_length() -> None:
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


MADE = [
    Run(layout=layout, collective=collective)
    for layout in ("2.0", "2.9", "2.13", "2.18", "timestamps", "per_iteration")
    for collective in ("all_reduce", "alltoall")
]

BAD = ["bad_wrong", "bad_socket_fallback", "bad_dip_p5_2n", "bad_no_gdrdma_p5_2n",
       "bad_nics_missing_31", "bad_nccl_failure", "split_run_p5_2x1n"]  # fmt: skip


def encoded(lines: list[str]) -> list[bytes]:
    return [line.encode() for line in lines]


def damage(lines: list[bytes], chooser: random.Random) -> list[bytes]:
    """Do one of the things that happen to logs; what lost its last line stays empty."""
    if not lines:
        return lines
    at, other = chooser.randrange(len(lines)), chooser.randrange(len(lines))
    noise = chooser.randbytes(chooser.randrange(1, 60)).replace(b"\n", b"?")
    line = lines[at]
    place = chooser.randrange(len(line) + 1)
    ways: dict[str, Callable[[], list[bytes]]] = {
        "cut": lambda: [*lines[:at], line[:place]],
        "lost": lambda: lines[:at] + lines[at + 1 :],
        "lost head": lambda: lines[at:],
        "twice": lambda: lines[: at + 1] + lines[at:],
        "all twice": lambda: lines + lines,
        "moved": lambda: [*lines[:other], line, *lines[other:]],
        "noise line": lambda: [*lines[:at], noise, *lines[at:]],
        "noise within": lambda: [
            *lines[:at],
            line[:place] + noise + line[place:],
            *lines[at + 1 :],
        ],
        "huge": lambda: [
            *lines[:at],
            line[:place] + b"9" * 70_000 + line[place:],
            *lines[at + 1 :],
        ],
        "commas": lambda: [each.replace(b".", b",") for each in lines],
        "one comma": lambda: [*lines[:at], line.replace(b".", b",", 1), *lines[at + 1 :]],
        "capitals": lambda: [*lines[:at], line.upper(), *lines[at + 1 :]],
        "tabs": lambda: [*lines[:at], line.replace(b"  ", b"\t"), *lines[at + 1 :]],
        "joined": lambda: [*lines[:at], b"".join(lines[at : at + 2]), *lines[at + 2 :]],
        "ends": lambda: [each + b"\r" for each in lines],
        "wide": lambda: [each.decode(errors="replace").encode("utf-16") for each in lines],
        "latin": lambda: [*lines[:at], line + "\u00e9".encode("latin-1"), *lines[at + 1 :]],
    }
    return ways[chooser.choice(sorted(ways))]()


def facts(lines: Iterable[str]) -> tuple[object, ...]:
    """Return what a verdict rests on, with measurements as coarse as printing makes them."""
    log = parse(lines)
    rows = [row for table in log.tables for row in table.rows]
    return (
        [(row.size, row.kind, [round(side.busbw / 8) for side in row.sides]) for row in rows],
        [[side.wrong for side in row.sides] for row in rows],
        sorted(log.devices.host_of.items()),
        [(banner.low, banner.high, banner.validation) for banner in log.banners],
        [(footer.value, footer.word) for footer in log.bounds],
    )


@settings(max_examples=300, deadline=None)
@given(st.sampled_from(MADE), st.integers(), st.integers(1, 3))
def test_a_damaged_log_passes_only_if_it_still_says_the_same(
    run: Run, seed: int, times: int
) -> None:
    chooser = random.Random(seed)  # noqa: S311 - reproducible damage, not a secret
    lines = encoded(run.lines())
    for _ in range(times):
        lines = damage(lines, chooser)
    read = list(bounded(io.BytesIO(b"\n".join(lines))))
    judgement = judged(read, collective=run.collective)
    if judgement.verdict is Verdict.PASS:
        assert facts(read) == facts(run.lines())


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(BAD), st.integers(), st.integers(1, 3))
def test_a_bad_log_that_is_damaged_on_top_never_passes(name: str, seed: int, times: int) -> None:
    whole = text(f"{name}.txt").splitlines()
    proof = sorted({number - 1 for found in judged(whole).reasons for number in found.lines})
    chooser = random.Random(seed)  # noqa: S311 - reproducible damage, not a secret
    lines = encoded(whole)
    for _ in range(times):
        lines = damage(lines, chooser)
    assume(all(whole[number].encode() in lines for number in proof if number < len(whole)))
    read = list(bounded(io.BytesIO(b"\n".join(lines))))
    assert judged(read).verdict is not Verdict.PASS
