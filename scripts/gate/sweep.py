"""Which collectives a wave must pass, and how a run without a floor is judged. Pure."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from scripts.nccl.expectation import Expectation
from scripts.nccl.judge import Judgement
from scripts.text import words
from scripts.verdicts import Finding, Verdict, overall

__all__ = [
    "COLLECTIVES",
    "FULL_SWEEP",
    "HARD_RULES",
    "NOT_JUDGED",
    "PLAIN",
    "hard",
    "reached",
    "told",
    "without_floor",
]

PLAIN: Final = "all_reduce"
"""What pairs and single nodes run: the only collective whose floors are known for them."""

COLLECTIVES: Final = {
    PLAIN: "ar",
    "all_gather": "ag",
    "reduce_scatter": "rs",
    "alltoall": "aa",
}
"""Collective -> its short name in the names of Jobs."""

FULL_SWEEP: Final = tuple(COLLECTIVES)
"""Training leans on all four, and each loads the fabric in its own way: all_reduce by trees and
NVLink SHARP, the two halves of a sharded step by rings, alltoall by all paths at once."""

HARD_RULES: Final = frozenset({"wrong-values", "transport"})
"""A wrong result and a wrong transport are never a passing weakness: one sight of them fails."""

NOT_JUDGED: Final = "bandwidth was not judged"
"""How the judge of logs ends the finding that no floor is known."""


def hard(judgement: Judgement) -> bool:
    """Tell whether a run failed by what never passes by itself."""
    return any(
        found.verdict is Verdict.FAIL and found.rule in HARD_RULES for found in judgement.findings
    )


def without_floor(judgement: Judgement, expected: Expectation) -> Judgement:
    """Take it as a note that no floor is known for a collective other than all_reduce.

    All else still counts: the run must be whole, correct, placed as asked and on EFA. For
    all_reduce nothing changes: a wave whose bandwidth nobody judged does not open.
    """
    if expected.floor is not None or expected.collective == PLAIN:
        return judgement
    findings = tuple(
        replace(found, verdict=Verdict.PASS, next_step="") if _no_floor(found) else found
        for found in judgement.findings
    )
    return replace(
        judgement, verdict=overall(found.verdict for found in findings), findings=findings
    )


def told(judgement: Judgement) -> str:
    """Return what a run has shown; of one without a floor, that its bandwidth was not judged."""
    if judgement.verdict is not Verdict.PASS or not any(map(_no_floor, judgement.findings)):
        return judgement.summary
    return f"correct, {judgement.lowest_busbw or 0:g} GB/s at least, bandwidth not judged"


def reached(passed: Mapping[str, tuple[Judgement, int]]) -> str:
    """Say on one line what each collective has shown, over how many nodes."""
    return "; ".join(
        f"{collective} over {words(nodes, 'node')}: {told(judgement)}"
        for collective, (judgement, nodes) in passed.items()
    )


def _no_floor(found: Finding) -> bool:
    return found.rule == "bandwidth" and found.message.endswith(NOT_JUDGED)
