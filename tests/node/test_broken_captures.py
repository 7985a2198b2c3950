"""Whatever happens to a capture: it is judged without a crash, and damage is never a pass."""

import io
import random
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from components.catalog import instance_type
from scripts.nccl.lines import bounded
from scripts.node.capture import Capture, parse, read_folder
from scripts.node.judge import NodeJudgement, judge
from scripts.verdicts import Verdict
from tests.node.captures import P5, Change, capture, fields, judged, once, read, section

GOOD = capture()
LINES = GOOD.splitlines()
KNOWN = {line.encode() for line in LINES}

BAD: dict[str, Change] = {
    "lost gpu": lambda _text: capture(P5, "gpu"),
    "ecc": fields(("Uncorrectable Parity", "9"), skip=1),
    "remapped": once("53:00.0, No, No, 0", "53:00.0, No, Yes, 0"),
    "xid": once("| lines read", "| NVRM: Xid (PCI:0000:53:00): 79, lost\n| lines read"),
    "throttle": once("0, 0x0000000000000001", "0, 0x0000000000000040"),
    "link": once("Link 3: 26.562 GB/s", "Link 3: <inactive>"),
    "fabric": fields(("    State", "In Progress")),
    "efa": once("| 0000:10:00.0 0xefa3\n", ""),
    "swap": once("SwapTotal:             0 kB", "SwapTotal:       4194304 kB"),
    "memlock": section("memlock", "64"),
}

quick = settings(max_examples=60, deadline=None)


@quick
@given(st.integers(0, len(GOOD) - len("#@ done ")))
def test_a_capture_cut_anywhere_never_passes(end: int) -> None:
    assume(end < GOOD.index("#@ done") + len("#@ done"))
    assert judged(GOOD[:end]).verdict is not Verdict.PASS


@quick
@given(st.integers(0, len(LINES) - 2))
def test_a_capture_without_one_of_its_lines_never_passes(index: int) -> None:
    assert judged("\n".join(LINES[:index] + LINES[index + 1 :])).verdict is not Verdict.PASS


@quick
@given(st.integers(1, len(LINES) - 2))
def test_a_capture_with_one_of_its_lines_twice_never_passes(index: int) -> None:
    assume(LINES[index].startswith(("|", "#@ begin")))
    assert judged("\n".join(LINES[: index + 1] + LINES[index:])).verdict is not Verdict.PASS


def test_two_captures_in_one_never_pass() -> None:
    other = capture(name="node-1")
    for text in (GOOD + other, GOOD + GOOD, capture(P5, "gpu") + GOOD, GOOD + capture(P5, "gpu")):
        assert judged(text).verdict is not Verdict.PASS


@quick
@given(st.binary(max_size=5000))
def test_noise_never_passes(noise: bytes) -> None:
    found = judge(parse(bounded(io.BytesIO(noise))), instance_type(P5))
    assert found.verdict is Verdict.UNKNOWN


def damage(lines: list[bytes], chooser: random.Random) -> list[bytes]:
    """Do one of the things that happen to captures on their way."""
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
        "noise instead": lambda: [*lines[:at], b"| " + noise, *lines[at + 1 :]],
        "huge": lambda: [*lines[:at], line[:place] + b"9" * 70_000, *lines[at + 1 :]],
        "commas": lambda: [each.replace(b".", b",") for each in lines],
        "one comma": lambda: [*lines[:at], line.replace(b".", b",", 1), *lines[at + 1 :]],
        "translated": lambda: [each.replace(b"Enabled", "Aktivé".encode()) for each in lines],
        "capitals": lambda: [*lines[:at], line.upper(), *lines[at + 1 :]],
        "joined": lambda: [*lines[:at], b"".join(lines[at : at + 2]), *lines[at + 2 :]],
        "ends": lambda: [each + b"\r" for each in lines],
        "wide": lambda: [each.decode(errors="replace").encode("utf-16") for each in lines],
        "latin": lambda: [*lines[:at], line + "é".encode("latin-1"), *lines[at + 1 :]],
    }
    return ways[chooser.choice(sorted(ways))]()


def told(lines: Iterable[bytes]) -> Capture:
    return parse(bounded(io.BytesIO(b"\n".join(lines))))


def said(found: Capture) -> dict[str, list[str]]:
    """Return what the sections that are judged say."""
    unjudged = {"efa-driver", "versions", "scope", "machine"}
    return {
        name: [" ".join(line.split()) for line in each.output if line.strip()]
        for name, each in found.sections.items()
        if name not in unjudged
    }


def differing(found: Capture) -> list[str]:
    """Return the lines of a good capture that this one lacks."""
    good, now = said(read(GOOD)), said(found)
    return [line for name, lines in good.items() for line in lines if line not in now.get(name, [])]


@settings(max_examples=300, deadline=None)
@given(st.integers(), st.integers(1, 3))
def test_a_damaged_capture_passes_only_if_nothing_that_counts_is_lost(
    seed: int, times: int
) -> None:
    chooser = random.Random(seed)  # noqa: S311 - reproducible damage, not a secret
    lines = [line.encode() for line in LINES]
    for _ in range(times):
        lines = damage(lines, chooser)
    found = told(lines)
    if judge(found, instance_type(P5)).verdict is Verdict.PASS:
        assert found.complete
        assert len(found.sections) == len(read(GOOD).sections)
        # Words in a line may have changed, of which no check takes note; no line is gone.
        counts = {name: len(each) for name, each in said(found).items()}
        assert counts == {name: len(each) for name, each in said(read(GOOD)).items()}
        assert len(differing(found)) <= times


@cache
def proof(name: str) -> list[int]:
    """Return the lines that prove a bad capture to be bad."""
    found = judged(BAD[name](GOOD)).findings
    return [each.line for each in found if each.verdict is Verdict.FAIL and each.line]


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(sorted(BAD)), st.integers(), st.integers(1, 3))
def test_a_bad_capture_that_is_damaged_on_top_never_passes(
    name: str, seed: int, times: int
) -> None:
    whole = BAD[name](GOOD).splitlines()
    kept = [whole[line - 1].encode() for line in proof(name)]
    chooser = random.Random(seed)  # noqa: S311 - reproducible damage, not a secret
    lines = [line.encode() for line in whole]
    for _ in range(times):
        lines = damage(lines, chooser)
    changed = {line.encode() for line in whole if not line.startswith("#@")} - KNOWN
    assume({*kept, *changed} <= {*lines})
    assert judge(told(lines), instance_type(P5)).verdict is not Verdict.PASS


@pytest.mark.parametrize("name", sorted(BAD))
def test_the_bad_captures_are_bad(name: str) -> None:
    assert judged(BAD[name](GOOD)).verdict is Verdict.FAIL


def blames(found: NodeJudgement) -> set[str]:
    return {each.check for each in found.findings if each.verdict is Verdict.FAIL}


def test_a_capture_of_another_locale_blames_no_hardware() -> None:
    commas = judged(GOOD.replace(".562", ",562").replace("700.00", "700,00"))
    assert (commas.verdict, blames(commas)) == (Verdict.UNKNOWN, set())
    french = judged(GOOD.replace("Enabled", "Activé").replace("Completed", "Terminé"))
    assert french.verdict is not Verdict.PASS


@quick
@given(st.integers(0, len(LINES) - 2), st.integers(0, 40))
def test_lines_lost_on_the_way_blame_nothing_but_what_the_rest_counts(
    start: int, many: int
) -> None:
    found = judged("\n".join(LINES[:start] + LINES[start + many + 1 :]))
    assert found.verdict is not Verdict.PASS
    assert all(each.verdict is not Verdict.FAIL or not read("").complete for each in found.findings)


@pytest.mark.parametrize(
    "content", [b"", b"\x00" * 999, b"\xff\xfe" * 999, b"rc=0" * 9999, "é".encode("latin-1")]
)
def test_a_folder_of_noise_never_passes(tmp_path: Path, content: bytes) -> None:
    for name in read(GOOD).sections:
        (tmp_path / f"{name}.out").write_bytes(content)
        (tmp_path / f"{name}.end").write_bytes(content)
    (tmp_path / "capture.txt").write_bytes(content)
    found = judge(read_folder(tmp_path), instance_type(P5))
    assert found.verdict is Verdict.UNKNOWN
    note = f"trainyard-node-capture 1\ndone {len(read(GOOD).sections)} sections at x\n"
    (tmp_path / "capture.txt").write_text(note)
    assert judge(read_folder(tmp_path), instance_type(P5)).verdict is not Verdict.PASS
