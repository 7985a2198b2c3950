"""What a comparison with a baseline means for a wave. Pure.

A wave is accepted by its floors. What it reached before is held against it only where somebody asks
for that: a repeated regression test does, an acceptance warns.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Final

from scripts.baseline.compare import Comparison
from scripts.baseline.record import REASON_LENGTH, Run
from scripts.verdicts import Verdict, overall

__all__ = ["Weight", "accepted", "warnings", "weigh"]

NOTHING_EQUAL: Final = "baseline"
"""Rule of the finding that there is no baseline, or that the setting is not known. The runs that
the first baseline is made of have none to be held against, so it is no warning either."""

NOT_HELD: Final = frozenset({NOTHING_EQUAL, "stack"})
"""What is held against no wave: that nothing equal was run before, and that the stack changed."""


class Weight(StrEnum):
    """How much a baseline weighs: ``warn`` tells, ``enforce`` makes it part of the verdict."""

    WARN = "warn"
    ENFORCE = "enforce"


def weigh(found: Comparison, weight: Weight, *, fault: bool = False) -> Verdict:
    """Return what a comparison, reruns included, adds to the verdict on its wave.

    Enforced, a confirmed regression fails it; a run that was slower and could not be confirmed, or
    lacks sizes of its baseline, makes it unknown. A ``fault`` that never passes by itself (a wrong
    result, a wrong transport) fails it in any case, when a rerun shows it.
    """
    if fault:
        return Verdict.FAIL
    if weight is Weight.WARN:
        return Verdict.PASS
    return overall(each.verdict for each in found.findings if each.rule not in NOT_HELD)


def warnings(found: Comparison) -> Iterator[str]:
    """Yield what a person should read of a comparison, whatever it weighs."""
    return (each.message for each in found.findings if each.rule != NOTHING_EQUAL)


def accepted(run: Run, wave: Verdict, message: str) -> Run:
    """Return a run as it is kept: only an accepted one may become a part of a baseline.

    One that passed in a wave that did not is unknown; ``message`` is what came of the wave.
    """
    if wave is Verdict.PASS or run.verdict is not Verdict.PASS:
        return run
    reason = f"its wave did not pass: {message}"[:REASON_LENGTH]
    return run.model_copy(update={"verdict": Verdict.UNKNOWN, "reasons": (reason,)})
