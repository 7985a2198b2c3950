"""Judges the shared file system by all nodes of a wave that measured it at once. Pure.

One node far behind the others is the suspect. All of them slow is a fault of the file system, its
network or its size, or of other work on it: the wave stays shut, and no node is blamed.
"""

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Final

from scripts.node.finding import NodeFinding
from scripts.node.judge import NodeJudgement
from scripts.node.profiles import Severity
from scripts.storage.expectation import MB, Expectation, policy
from scripts.storage.judge import DIRECTIONS, SHORTEST
from scripts.text import words
from scripts.verdicts import Finding, Verdict, overall

__all__ = ["Comparison", "compare"]

LOOK: Final = (
    "look at the file system's own metrics and at what else works on it; where it is busy, give "
    "what it has left with --storage-mbps"
)
AGAIN: Final = "run the gate again: the nodes did not measure at the same time"


@dataclass(frozen=True, slots=True)
class Comparison:
    """What comes of a wave.

    ``judged`` are the nodes as they are after it: a suspect fails. Measure ``suspects`` once more
    before they are believed, and compare again. ``findings`` are of the wave as a whole.
    """

    judged: dict[str, NodeJudgement]
    suspects: tuple[str, ...]
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        """The verdict on the file system, which blames no node."""
        return overall(found.verdict for found in self.findings)

    @property
    def problem(self) -> Finding | None:
        """The finding that keeps the wave shut."""
        verdict = self.verdict
        if verdict is Verdict.PASS:
            return None
        return next(found for found in self.findings if found.verdict is verdict)


@dataclass(frozen=True, slots=True)
class _Measured:
    mbps: float
    begun: float
    seconds: float


def compare(
    judged: Mapping[str, NodeJudgement],
    expected: Expectation,
    *,
    allowed: int,
    again: Collection[str] = (),
) -> Comparison:
    """Hold the nodes that passed by themselves against each other and against what is sold.

    Parameters
    ----------
    judged
        The judgement on each node by ``scripts.storage.judge``.
    expected
        What they were to get.
    allowed
        How many may be suspects; more than that are a fault of the wave. None where it is below 0.
    again
        Nodes whose numbers are of a second run, with less company: they are held against the
        others, and are no part of the sum.
    """
    passed = {name: each for name, each in judged.items() if each.verdict is Verdict.PASS}
    slow: dict[str, list[NodeFinding]] = {}
    notes: dict[str, list[NodeFinding]] = {}
    for name, found in _against_others(passed, expected, again):
        into = slow if found.verdict is Verdict.FAIL else notes
        into.setdefault(name, []).append(found)
    apart = {*slow, *again, *_late(passed)}
    findings = tuple(_of_wave(passed, apart, expected))
    if slow and len(slow) > allowed:
        first = slow[min(slow)][0]
        message = (
            f"{words(len(slow), 'node')} of {len(judged)} are far slower than the others and "
            f"{allowed} may be, so nobody is blamed: of {min(slow)}, {first.message}"
        )
        findings = (Finding("wave-storage", Verdict.FAIL, message, LOOK), *findings)
        for name, found in slow.items():
            milder = [replace(each, severity=Severity.MONITOR) for each in found]
            notes.setdefault(name, []).extend(milder)
        slow = {}
    after = {
        name: _with(each, [*slow.get(name, []), *notes.get(name, [])])
        for name, each in judged.items()
    }
    return Comparison(after, tuple(sorted(slow)), findings)


def _rates(passed: Mapping[str, NodeJudgement], direction: str) -> dict[str, _Measured]:
    """Return what the judge of a node keeps as its facts."""
    keys = [f"storage_{direction}_{what}" for what in ("mbps", "from", "seconds")]
    return {
        name: _Measured(*(float(each.facts[key]) for key in keys))
        for name, each in passed.items()
        if all(key in each.facts for key in keys)
    }


def _late(passed: Mapping[str, NodeJudgement]) -> set[str]:
    """Return the nodes that began when others were done: they ran at another time."""
    written, read = _rates(passed, "write"), _rates(passed, "read")
    done = min((each.begun + each.seconds for each in read.values()), default=0.0)
    return {name for name, each in written.items() if each.begun > done}


def _against_others(
    passed: Mapping[str, NodeJudgement], expected: Expectation, again: Collection[str]
) -> Iterator[tuple[str, NodeFinding]]:
    limits = policy().limits
    for direction in DIRECTIONS:
        rates = _rates(passed, direction)
        first = sorted(each.mbps for name, each in rates.items() if name not in again)
        for name, measured in rates.items():
            others = first if name in again else _without(first, measured.mbps)
            usual = median(others) if others else 0.0
            if measured.mbps >= usual * limits.node_good:
                continue
            message = (
                f"it {direction}s {measured.mbps:.0f} MB/s, and the median of "
                f"{words(len(others), 'other node')} is {usual:.0f}"
            )
            starved = measured.mbps < expected.share_mbps * limits.aggregate_low
            far = starved and measured.mbps < usual * limits.node_low
            severity = Severity.ISOLATE if far else Severity.MONITOR
            yield name, NodeFinding(f"storage-{direction}", severity, message)


def _without(ordered: Sequence[float], one: float) -> list[float]:
    place = bisect_left(ordered, one)
    return [*ordered[:place], *ordered[place + 1 :]]


def _of_wave(
    passed: Mapping[str, NodeJudgement], without: Collection[str], expected: Expectation
) -> Iterator[Finding]:
    """Judge what the nodes got together, against the shares of these nodes.

    What all moved from the first start to the last end was surely given at once. The sum of their
    rates is what would have been given at most, had they all begun together.
    """
    limits = policy().limits
    for direction in DIRECTIONS:
        rates = [each for name, each in _rates(passed, direction).items() if name not in without]
        if not rates:
            continue
        wanted = expected.share_mbps * len(rates)
        begun = min(each.begun for each in rates)
        took = max(each.begun + each.seconds for each in rates) - begun
        surely = len(rates) * expected.bytes_each / MB / max(took, SHORTEST)
        most = max(surely, sum(each.mbps for each in rates))
        rule, who = f"wave-storage-{direction}", f"{words(len(rates), 'node')} at once {direction}"
        share = f"their share of what is sold is {wanted:.0f}"
        if most < wanted * limits.aggregate_low:
            message = f"{who} {most:.0f} MB/s, and {share}, so nobody is blamed"
            yield Finding(rule, Verdict.FAIL, message, LOOK)
        elif surely < wanted * limits.aggregate_low:
            message = (
                f"{who} between {surely:.0f} and {most:.0f} MB/s, and {share}: they did not run "
                "together, so nothing can be said"
            )
            yield Finding(rule, Verdict.UNKNOWN, message, AGAIN)
        elif surely < wanted * limits.aggregate_good:
            message = f"{who} {surely:.0f} MB/s, and {share}"
            yield Finding(rule, Verdict.PASS, message, "watch it")


def _with(judgement: NodeJudgement, found: list[NodeFinding]) -> NodeJudgement:
    if not found:
        return judgement
    findings = (*sorted(found, key=lambda each: -(each.severity or 0)), *judgement.findings)
    known = [each.severity for each in findings if each.severity is not None]
    return replace(
        judgement,
        verdict=overall(each.verdict for each in findings),
        severity=max(known, default=Severity.PASS),
        findings=findings,
    )
