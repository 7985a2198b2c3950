"""The three verdicts, and what a judge found: shared by the judges of logs, nodes and waves."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

__all__ = ["EXIT_CODES", "Finding", "Verdict", "overall"]


class Verdict(StrEnum):
    """Unknown means that nothing could be judged: it opens no gate and blames no hardware."""

    PASS = "pass"  # noqa: S105 - a verdict, not a password
    FAIL = "fail"
    UNKNOWN = "unknown"


EXIT_CODES = {Verdict.PASS: 0, Verdict.FAIL: 1, Verdict.UNKNOWN: 3}
"""Exit code of a command by its verdict; 2 is left to bad use."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a rule saw: on which lines of the input, and what to do about it.

    A finding whose verdict is pass is a note: worth reading, not against anything.
    """

    rule: str
    verdict: Verdict
    message: str
    next_step: str = ""
    lines: tuple[int, ...] = ()

    def __str__(self) -> str:
        where = f" (line {', '.join(map(str, self.lines))})" if self.lines else ""
        step = f"; next: {self.next_step}" if self.next_step else ""
        word = "note" if self.verdict is Verdict.PASS else self.verdict
        return f"{word} {self.rule}{where}: {self.message}{step}"

    def as_json(self) -> dict[str, Any]:
        """Return the finding as plain data for a report."""
        return {
            "rule": self.rule,
            "verdict": str(self.verdict),
            "message": self.message,
            "next_step": self.next_step,
            "lines": list(self.lines),
        }


def overall(verdicts: Iterable[Verdict]) -> Verdict:
    """Return the worst: a seen fault outranks a missing measurement, which outranks a pass."""
    seen = set(verdicts)
    for verdict in (Verdict.FAIL, Verdict.UNKNOWN):
        if verdict in seen:
            return verdict
    return Verdict.PASS
