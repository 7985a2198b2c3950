"""The verdict on a wave of which bad nodes were replaced."""

import json
from dataclasses import replace
from datetime import UTC, datetime

import pytest

from scripts.gate.verdict import Former, NodeVerdict, WaveVerdict, after_replacement, for_cluster
from scripts.verdicts import Verdict

AT = datetime(2026, 12, 1, 8, tzinfo=UTC)
LATER = datetime(2026, 12, 1, 9, tzinfo=UTC)
ORDERED = {"node-03": "aws:///use1-az4/i-3"}
GONE = [
    {
        "name": "node-03",
        "provider_id": "aws:///use1-az4/i-3",
        "reason": "ecc: bad",
        "run": "r1",
    }
]


def wave(run: str, verdict: Verdict, message: str, ended: datetime) -> WaveVerdict:
    node = NodeVerdict(
        name="node-03",
        provider_id="aws:///use1-az4/i-3",
        verdict=Verdict.FAIL,
        reason="ecc: bad",
        check={"facts": {"driver": "580"}},
        place=("nn-top", "nn-1"),
    )
    return WaveVerdict(
        run=run,
        pool="train",
        wave="1",
        instance_type="p5.48xlarge",
        image="nccl",
        asked=14,
        started=AT,
        ended=ended,
        verdict=verdict,
        message=message,
        nodes=[node],
        baselines=[{"setting": "s1", "deltas": [1, 2]}],
    )


@pytest.mark.parametrize(
    ("first", "then", "kept", "message"),
    [
        (Verdict.PASS, Verdict.PASS, "r2", "then"),
        (Verdict.PASS, Verdict.FAIL, "r2", "then"),
        (Verdict.FAIL, Verdict.UNKNOWN, "r2", "then"),
        (Verdict.FAIL, Verdict.PASS, "r2", "then"),
        (
            Verdict.PASS,
            Verdict.UNKNOWN,
            "r1",
            (
                "first; node-03 left for replacement, which is not proved: then; Auto Scaling "
                "could not start another instance: no capacity"
            ),
        ),
    ],
)
def test_the_newer_verdict_counts_but_a_replacement_that_does_not_come_shuts_no_wave(
    first: Verdict, then: Verdict, kept: str, message: str
) -> None:
    trouble = "Auto Scaling could not start another instance: no capacity"
    before = wave("r1", first, "first", AT)
    verdict = after_replacement(
        Former.of(before, ORDERED), wave("r2", then, "then", LATER), trouble, before
    )
    assert (verdict.run, verdict.message, verdict.ended) == (kept, message, LATER)
    assert [each.as_json() for each in verdict.replaced] == GONE


def test_a_run_that_was_stopped_since_needs_not_the_whole_verdict_before() -> None:
    former = Former.of(wave("r1", Verdict.PASS, "first", AT), ORDERED)
    verdict = after_replacement(former, wave("r2", Verdict.UNKNOWN, "then", LATER), "")
    assert (verdict.run, verdict.verdict, verdict.message) == (
        "r2",
        Verdict.PASS,
        "first; node-03 left for replacement, which is not proved: then",
    )
    assert [each.as_json() for each in verdict.replaced] == GONE


def test_a_second_replacement_is_added_to_the_first() -> None:
    former = Former.of(wave("r1", Verdict.PASS, "first", AT), ORDERED)
    once = after_replacement(former, wave("r2", Verdict.PASS, "then", LATER), "")
    again = Former.of(once, ORDERED)
    twice = after_replacement(again, wave("r3", Verdict.PASS, "last", LATER), "")
    assert [each.run for each in twice.replaced] == ["r1", "r2"]
    assert again.left == ["node-03"]


def test_warnings_are_told_on_the_line_of_the_verdict() -> None:
    verdict = wave("r1", Verdict.PASS, "14 of 14 nodes open", AT)
    verdict.warnings = ["all_reduce over 14 nodes: 6 % below its baseline"]
    assert verdict.line == (
        "pass: pool train wave 1: 14 of 14 nodes open (1 warning in the report)"
    )


def test_what_is_kept_in_the_cluster_has_no_captures_and_leaves_the_report_whole() -> None:
    verdict = wave("r1", Verdict.PASS, "14 of 14 nodes open", AT)
    small = for_cluster(verdict)
    assert small["baselines"] == [{"setting": "s1"}]
    assert small["nodes"] == [
        {
            "name": "node-03",
            "provider_id": "aws:///use1-az4/i-3",
            "verdict": "fail",
            "reason": "ecc: bad",
        }
    ]
    whole = verdict.as_json()
    assert whole["baselines"] == [{"setting": "s1", "deltas": [1, 2]}]
    assert whole["nodes"][0]["place"] == ["nn-top", "nn-1"]
    assert json.loads(json.dumps(whole)) == whole


@pytest.mark.parametrize(
    ("open_", "out", "reason", "kept"),
    [
        (900, 100, 500, 1000),
        (3000, 100, 500, 100),
        (0, 3000, 500, "3000 nodes"),
    ],
)
def test_what_is_kept_in_the_cluster_fits_a_config_map_whatever_the_size_of_the_wave(
    open_: int, out: int, reason: int, kept: int | str
) -> None:
    verdict = wave("r1", Verdict.PASS, "open", AT)
    [bad] = verdict.nodes
    good = replace(bad, verdict=Verdict.PASS, reason="r" * reason)
    verdict.nodes = [good] * open_ + [replace(bad, reason="r" * reason)] * out
    nodes = for_cluster(verdict)["nodes"]
    assert kept == (nodes if isinstance(nodes, str) else len(nodes))
    assert len(json.dumps(for_cluster(verdict), indent=1)) < 1 << 20
