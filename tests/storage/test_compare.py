"""The nodes of a wave held against each other: one slow node is the suspect, all of them nobody."""

import pytest

from scripts.node.judge import NodeJudgement
from scripts.storage.compare import LOOK, Comparison, compare
from scripts.storage.expectation import expect
from scripts.verdicts import Verdict
from tests.storage.logs import OTHER, P5, judged, log, shown

LATE = 1_764_590_000 + 90

REPLACE = "[ISOLATE]; next: replace the instance"


def wave(*rates: float, begun: float = 1_764_590_000, sold: float = 2400) -> Comparison:
    """Compare nodes n0, n1 … that write at these rates; the last one begins at ``begun``."""
    expected = expect(P5, len(rates), sold)
    nodes = {
        f"n{index}": judged(
            log(
                write=rate,
                read=expected.share_mbps,
                expected=expected,
                begun=begun if index == len(rates) - 1 else 1_764_590_000,
            ),
            expected,
        )
        for index, rate in enumerate(rates)
    }
    return compare(nodes, expected, allowed=max(1, len(rates) // 5))


def test_nodes_that_get_their_shares_are_good() -> None:
    found = wave(600, 610, 590, 600)
    assert (found.verdict, found.problem, found.suspects, found.findings) == (
        Verdict.PASS,
        None,
        (),
        (),
    )
    assert all(each.findings == () for each in found.judged.values())


@pytest.mark.parametrize(
    ("rates", "suspects", "messages"),
    [
        (
            (600, 600, 100, 600),
            ("n2",),
            [
                (
                    "fail storage-write: it writes 100 MB/s, and the median of 3 other nodes is "
                    f"600 {REPLACE}"
                ),
                (
                    "note storage-write (line 8): 100 MB/s, and its share of what is sold is 600 "
                    "[MONITOR]; next: watch it"
                ),
            ],
        ),
        (
            (100, 1200),
            ("n0",),
            [
                (
                    "fail storage-write: it writes 100 MB/s, and the median of 1 other node is "
                    f"1200 {REPLACE}"
                ),
                (
                    "note storage-write (line 8): 100 MB/s, and its share of what is sold is 1200 "
                    "[MONITOR]; next: watch it"
                ),
            ],
        ),
    ],
)
def test_a_node_far_behind_the_others_is_the_suspect(
    rates: tuple[float, ...], suspects: tuple[str, ...], messages: list[str]
) -> None:
    found = wave(*rates)
    assert (found.suspects, found.problem) == (suspects, None)
    assert shown(found.judged[suspects[0]]) == messages
    assert found.judged[suspects[0]].verdict is Verdict.FAIL
    others = [each for name, each in found.judged.items() if name not in suspects]
    assert {each.verdict for each in others} == {Verdict.PASS}


def test_a_node_behind_the_others_that_gets_what_is_sold_is_only_told() -> None:
    found = wave(3000, 3000, 650, 3000)
    assert (found.suspects, found.verdict) == ((), Verdict.PASS)
    assert shown(found.judged["n2"]) == [
        (
            "note storage-write: it writes 650 MB/s, and the median of 3 other nodes is 2998 "
            "[MONITOR]; next: watch it"
        )
    ]


def test_all_slow_blames_nobody_and_keeps_the_wave_shut() -> None:
    found = wave(150, 160, 155, 150)
    assert found.suspects == ()
    assert found.problem is not None
    assert str(found.problem) == (
        "fail wave-storage-write: 4 nodes at once write 615 MB/s, and their share of what is sold "
        f"is 2400, so nobody is blamed; next: {LOOK}"
    )
    assert {each.verdict for each in found.judged.values()} == {Verdict.PASS}


def test_more_suspects_than_may_be_are_a_fault_of_the_wave() -> None:
    found = wave(600, 600, 600, 100, 100)
    assert found.suspects == ()
    assert str(found.problem) == (
        "fail wave-storage: 2 nodes of 5 are far slower than the others and 1 may be, so nobody is "
        "blamed: of n3, it writes 100 MB/s, and the median of 4 other nodes is 600; next: " + LOOK
    )
    assert found.judged["n3"].verdict is Verdict.PASS
    assert shown(found.judged["n3"])[0] == (
        "note storage-write: it writes 100 MB/s, and the median of 4 other nodes is 600 [MONITOR]; "
        "next: watch it"
    )


def test_a_wave_a_little_below_what_is_sold_passes_with_a_note() -> None:
    found = wave(450, 450, 450, 450)
    assert found.verdict is Verdict.PASS
    assert [str(each) for each in found.findings] == [
        (
            "note wave-storage-write: 4 nodes at once write 1800 MB/s, and their share of what is "
            "sold is 2400; next: watch it"
        )
    ]


def test_nodes_that_did_not_run_together_say_nothing_of_the_sum() -> None:
    found = wave(600, 600, 600, 600, begun=LATE)
    assert str(found.problem) == (
        "unknown wave-storage-write: 4 nodes at once write between 600 and 2400 MB/s, and their "
        "share of what is sold is 2400: they did not run together, so nothing can be said; next: "
        "run the gate again: the nodes did not measure at the same time"
    )
    assert found.suspects == ()


def test_a_suspect_that_is_good_in_a_second_run_is_good() -> None:
    expected = expect(P5, 4, 2400)
    nodes = {f"n{index}": judged(log()) for index in range(4)}
    nodes["n2"] = judged(log(begun=LATE * 2, write=900, read=900))
    found = compare(nodes, expected, allowed=1, again=["n2"])
    assert (found.suspects, found.verdict, found.findings) == ((), Verdict.PASS, ())
    nodes["n2"] = judged(log(begun=LATE * 2, write=100, read=900))
    assert compare(nodes, expected, allowed=1, again=["n2"]).suspects == ("n2",)


def test_a_node_that_began_when_others_were_done_is_no_part_of_the_sum() -> None:
    expected = expect(P5, 4, 2400)
    nodes = {f"n{index}": judged(log()) for index in range(4)}
    nodes["n3"] = judged(log(begun=1_764_590_000 + 600))
    assert compare(nodes, expected, allowed=1).findings == ()


@pytest.mark.parametrize("allowed", [0, -1])
def test_where_no_more_may_stay_out_a_good_wave_is_good(allowed: int) -> None:
    nodes = {f"n{index}": judged(log()) for index in range(4)}
    found = compare(nodes, expect(P5, 4, 2400), allowed=allowed)
    assert (found.verdict, found.suspects) == (Verdict.PASS, ())


def test_nodes_that_did_not_pass_by_themselves_are_left_as_they_are() -> None:
    expected = expect(P5, 4, 2400)
    bad = judged(log(read_digest=OTHER))
    gone = NodeJudgement.unknown("its pod never started")
    found = compare(
        {"n0": judged(log()), "n1": bad, "n2": gone, "n3": judged(log())}, expected, allowed=1
    )
    assert (found.judged["n1"], found.judged["n2"]) == (bad, gone)
    assert (found.suspects, found.verdict) == ((), Verdict.PASS)


def test_a_single_node_is_held_against_what_is_sold_alone() -> None:
    assert wave(1900).verdict is Verdict.PASS
    assert str(wave(900).problem) == (
        "fail wave-storage-write: 1 node at once write 900 MB/s, and their share of what is sold "
        f"is 2400, so nobody is blamed; next: {LOOK}"
    )


def test_nobody_measured_anything_says_nothing_of_the_file_system() -> None:
    found = compare({"n0": NodeJudgement.unknown("no log")}, expect(P5, 1, 2400), allowed=1)
    assert (found.findings, found.suspects) == ((), ())
