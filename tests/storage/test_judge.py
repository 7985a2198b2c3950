"""One node's log of the storage check: what is good, what fails it, and what is unknown."""

import random

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from scripts.gate.storage import environment
from scripts.local.recordings import SimulatedNode
from scripts.local.storage_answers import storage_check_log
from scripts.storage.judge import judge
from scripts.verdicts import Verdict
from tests.storage.logs import EXPECTED, OTHER, failed, judged, log, shown, stream

AGAIN = "next: run the check again; if it stays, look at the node by hand"
REBOOT = "[REBOOT]; next: reboot the node, after mending what configures it if that is the cause"
REPLACE = "[ISOLATE]; next: replace the instance"


def test_a_node_that_reads_what_it_wrote_passes_and_its_numbers_are_kept() -> None:
    found = judged(log(write=612.5, read=580))
    assert (found.verdict, found.findings) == (Verdict.PASS, ())
    assert found.facts == {
        "storage_write_mbps": "612.6",
        "storage_write_from": "1764590000.000",
        "storage_write_seconds": "29.36",
        "storage_read_mbps": "580.0",
        "storage_read_from": "1764590120.000",
        "storage_read_seconds": "31.01",
        "storage_files_per_second": "400",
    }


@pytest.mark.parametrize(
    ("text", "verdict", "messages"),
    [
        (
            log(read_digest=OTHER),
            Verdict.FAIL,
            [
                "fail storage-read (line 11): what was read is not what was written: digest "
                "cdcdcdcdcdcd of 17985175552 bytes, and abababababab was written " + REPLACE
            ],
        ),
        (
            stream({"mount": (["mount type=overlay options=rw"], "rc=1")}),
            Verdict.FAIL,
            [
                (
                    "fail storage-mount (line 2): it is not mounted: overlay is there, and must be "
                    f"lustre {REBOOT}"
                )
            ],
        ),
        (
            log().replace("options=rw,noatime", "options=ro,noatime"),
            Verdict.FAIL,
            [f"fail storage-mount (line 2): it is mounted read-only {REBOOT}"],
        ),
        (
            failed("write", "dd: error writing '/gate-storage/x': Input/output error"),
            Verdict.FAIL,
            [
                (
                    "fail storage-write (line 9): this node has lost the file system: dd: error "
                    f"writing '/gate-storage/x': Input/output error {REBOOT}"
                )
            ],
        ),
        (
            failed("meet", "mkdir: cannot create directory '/gate-storage/x': Stale file handle"),
            Verdict.FAIL,
            [
                (
                    "fail storage-meet (line 6): this node has lost the file system: mkdir: cannot "
                    f"create directory '/gate-storage/x': Stale file handle {REBOOT}"
                )
            ],
        ),
        (
            log().replace("seen=500", "seen=499"),
            Verdict.FAIL,
            ["fail storage-files (line 14): of 500 small files that it made it saw 499 " + REPLACE],
        ),
        (
            failed("write", "dd: error writing '/gate-storage/x': No space left on device"),
            Verdict.UNKNOWN,
            [
                (
                    "unknown storage-write (line 8): it failed: dd: error writing "
                    f"'/gate-storage/x': No space left on device; {AGAIN}"
                )
            ],
        ),
        (
            failed("write", end="timeout"),
            Verdict.UNKNOWN,
            [f"unknown storage-write (line 8): it was stopped after 300 s, far from done; {AGAIN}"],
        ),
        (
            failed("read", "sh: timeout: not found", end="missing"),
            Verdict.UNKNOWN,
            [
                (
                    "unknown storage-read (line 11): the image of the check lacks a tool: sh: "
                    f"timeout: not found; {AGAIN}"
                )
            ],
        ),
        (
            log(way="synced"),
            Verdict.UNKNOWN,
            [
                (
                    "unknown storage-read (line 11): no O_DIRECT here: what was read may have come "
                    f"from this node's memory; {AGAIN}"
                )
            ],
        ),
        (
            log().replace("bytes=17985175552", "bytes=1048576"),
            Verdict.UNKNOWN,
            [
                (
                    "unknown storage-write (line 8): it does not say what was asked of it: write "
                    "bytes=1048576 streams=8 way=direct from=1764590000.000 seconds=29.98 digest="
                    f"{'ab' * 32}; {AGAIN}"
                ),
                (
                    "unknown storage-read (line 11): it does not say what was asked of it: read "
                    "bytes=1048576 streams=8 way=direct from=1764590120.000 seconds=29.98 digest="
                    f"{'ab' * 32}; {AGAIN}"
                ),
            ],
        ),
        (
            log().replace("clients=4 of=4", "clients=four"),
            Verdict.UNKNOWN,
            [
                (
                    "unknown storage-meet (line 5): it does not say what was asked of it: meet "
                    f"clients=four seconds=1.02; {AGAIN}"
                )
            ],
        ),
        (
            "exec /bin/sh: no such file\n",
            Verdict.UNKNOWN,
            [f"unknown storage: this is no log of storage_check.sh, format 1; {AGAIN}"],
        ),
        (
            log().split("#@ end write")[0],
            Verdict.UNKNOWN,
            [
                (
                    "unknown storage-write (line 8): it began and never ended: the file system "
                    f"does not answer this node; {AGAIN}"
                ),
                (
                    "unknown storage: the log is cut off or damaged: its last line does not count "
                    f"what is there; {AGAIN}"
                ),
            ],
        ),
        (
            log().replace(
                "#@ begin clean\n", "#@ begin mount\n#@ end mount rc=0\n#@ begin clean\n"
            ),
            Verdict.UNKNOWN,
            [f"unknown storage: step mount is there more than once; {AGAIN}"],
        ),
        (
            log().replace("clients=4 of=4", "clients=3 of=4"),
            Verdict.PASS,
            [
                (
                    "note storage-meet (line 5): only 3 of 4 nodes came in time [MONITOR]; next: "
                    "watch it"
                )
            ],
        ),
        (
            log(read=400),
            Verdict.PASS,
            [
                (
                    "note storage-read (line 11): 400 MB/s, and its share of what is sold is 600 "
                    "[MONITOR]; next: watch it"
                )
            ],
        ),
        (
            log().replace("#@ end clean rc=0", "#@ end clean rc=1"),
            Verdict.PASS,
            [
                (
                    "note storage-clean (line 17): its folder was not removed: it says nothing "
                    "[MONITOR]; next: watch it"
                )
            ],
        ),
    ],
)
def test_every_fault_is_named(text: str, verdict: Verdict, messages: list[str]) -> None:
    found = judged(text)
    assert (found.verdict, shown(found)) == (verdict, messages)


def test_a_damaged_log_blames_nobody_even_if_its_digests_differ() -> None:
    lines = log(read_digest=OTHER).splitlines()
    files, clean = lines.index("#@ begin files"), lines.index("#@ begin clean")
    moved = [*lines[:1], *lines[files:clean], *lines[1:files], *lines[clean:]]
    found = judged("\n".join(moved))
    assert found.facts == {}
    assert shown(found) == [f"unknown storage: its steps are in no order that there is; {AGAIN}"]


def test_the_stand_in_log_of_a_simulated_node_is_read() -> None:
    env = environment(EXPECTED, "run-t", "n1")
    good = judged(storage_check_log(SimulatedNode("n1", "p5.48xlarge", frozenset()), env))
    assert good.verdict is Verdict.PASS
    bad = judged(storage_check_log(SimulatedNode("n1", "p5.48xlarge", frozenset({"mount"})), env))
    assert bad.verdict is Verdict.FAIL


LINES = log().splitlines()
"""Of a node that passes."""


@given(st.integers(0, len(log()) - 2))
@example(len(log()) - 2)
def test_a_log_cut_anywhere_neither_passes_nor_blames(length: int) -> None:
    assert judged(log()[:length]).verdict is Verdict.UNKNOWN


@given(st.lists(st.integers(0, len(LINES) - 1), min_size=1, unique=True))
def test_a_log_that_lost_lines_never_passes(lost: list[int]) -> None:
    kept = [line for number, line in enumerate(LINES) if number not in lost]
    assert judge(kept, EXPECTED).verdict is Verdict.UNKNOWN


@given(st.randoms(use_true_random=False))
def test_a_log_with_its_lines_in_another_order_never_passes(chance: random.Random) -> None:
    shuffled = chance.sample(LINES, len(LINES))
    same = shuffled == LINES
    assert (judge(shuffled, EXPECTED).verdict is Verdict.PASS) is same


@given(st.integers(0, len(LINES) - 1), st.integers(0, len(LINES) - 1))
def test_a_log_with_two_lines_swapped_never_passes(one: int, two: int) -> None:
    lines = list(LINES)
    lines[one], lines[two] = lines[two], lines[one]
    assert (judge(lines, EXPECTED).verdict is Verdict.PASS) is (lines == LINES)


@given(st.integers(0, len(LINES) - 1), st.text(max_size=80))
def test_a_line_twice_or_written_over_never_passes(number: int, text: str) -> None:
    again = [*LINES[: number + 1], LINES[number], *LINES[number + 1 :]]
    assert judge(again, EXPECTED).verdict is not Verdict.PASS
    over = [*LINES[:number], text, *LINES[number + 1 :]]
    assert judge(over, EXPECTED).verdict is not Verdict.PASS


@settings(max_examples=200)
@given(st.lists(st.one_of(st.sampled_from(LINES), st.text(), st.binary().map(repr)), max_size=40))
def test_noise_is_unknown_and_never_crashes(lines: list[str]) -> None:
    if lines != LINES:
        assert judge(lines, EXPECTED).verdict is not Verdict.PASS
