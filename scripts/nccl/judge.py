"""Judges a read log: whole, correct, placed as asked, over EFA, and fast enough at every size.

A fault that was seen fails a log, also a broken one. What is missing makes it unknown, never good.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from scripts.nccl import bandwidth, fabric, placement, whole
from scripts.nccl.expectation import Expectation
from scripts.nccl.record import Log
from scripts.text import words
from scripts.verdicts import Finding, Verdict, overall

__all__ = ["Judgement", "judge"]

NO_FAULT_OF_A_NODE = frozenset({placement.PLACEMENT})
"""Rules that fail a log without speaking against the nodes that it is of."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict on one log, why, and the slowest judged row (GB/s) if there was one.

    ``curve`` is the lower bus bandwidth (GB/s) of each message size (bytes), and ``facts`` what a
    run must share with another to be compared with it; both are empty where a log has no one table.
    """

    verdict: Verdict
    findings: tuple[Finding, ...]
    lowest_busbw: float | None = None
    curve: tuple[tuple[int, float], ...] = ()
    facts: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def reasons(self) -> tuple[Finding, ...]:
        """The findings that made the verdict what it is."""
        return tuple(found for found in self.findings if found.verdict is not Verdict.PASS)

    @property
    def blames_nodes(self) -> bool:
        """Tell whether a failure can be of the nodes: a wrong placement is the launcher's."""
        return any(
            found.verdict is Verdict.FAIL and found.rule not in NO_FAULT_OF_A_NODE
            for found in self.findings
        )

    @property
    def summary(self) -> str:
        """One line: the first reason, or what was reached."""
        for found in self.findings:
            if found.verdict is self.verdict and self.verdict is not Verdict.PASS:
                return found.message
        if self.lowest_busbw is None:
            return "whole, correct and on the right transport"
        return f"at least {self.lowest_busbw:g} GB/s at every judged size"

    def as_json(self) -> dict[str, Any]:
        """Return plain data for a report."""
        return {
            "verdict": str(self.verdict),
            "lowest_busbw_gbps": self.lowest_busbw,
            "curve_gbps": [list(point) for point in self.curve],
            "facts": self.facts,
            "findings": [found.as_json() for found in self.findings],
        }


Rule = Callable[[Log, Expectation], Iterator[Finding]]

RULES: tuple[Rule, ...] = (
    whole.first_findings,
    fabric.findings,
    whole.findings,
    placement.findings,
    bandwidth.findings,
)


def judge(log: Log, expected: Expectation) -> Judgement:
    """Hold ``log`` against ``expected``."""
    seen = log.banners or log.tables or log.failures or log.launcher or log.transport.messages
    if not (seen or log.cut or log.misread):
        nothing = Finding(
            "whole",
            Verdict.UNKNOWN,
            f"nothing of nccl-tests in {words(log.lines, 'line')}",
            "give the output of the launcher, with both of its streams",
        )
        return Judgement(Verdict.UNKNOWN, (nothing,))
    found = tuple(_shown(found) for rule in RULES for found in rule(log, expected))
    one = len(log.tables) == 1 and not log.misread
    return Judgement(
        verdict=overall(each.verdict for each in found),
        findings=found,
        lowest_busbw=bandwidth.lowest(log, expected),
        curve=bandwidth.curve(log) if one else (),
        facts=_facts(log) if one else {},
    )


def _shown(found: Finding) -> Finding:
    """Drop line numbers of 0: JSON output has no lines to point at."""
    return replace(found, lines=tuple(line for line in found.lines if line))


def _facts(log: Log) -> dict[str, str]:
    kinds = sorted({row.kind for row in log.tables[0].rows})
    facts = {
        "nccl": log.nccl,
        "nccl_tests": log.version,
        "ofi": log.transport.ofi,
        "kind": ", ".join(kinds),
    }
    return {name: value for name, value in facts.items() if value}
