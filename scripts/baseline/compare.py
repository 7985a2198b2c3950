"""Compares a run, and its rerun, with the baseline of equal runs. Pure.

Only points of equal keys are compared: the same setting, message size and placement. What cannot be
compared is unknown, never good. A slower run is not yet a regression: it is run once more, and only
what is slow both times counts. The verdict of the judge stands above all of it: a run below its
floor, with wrong values or on the wrong transport has failed, whatever the baseline says.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

from scripts.baseline.record import Baseline, BasePoint, Run
from scripts.baseline.rules import Rules, SizeClass, rules
from scripts.baseline.sample import Placement, Point
from scripts.baseline.setting import Setting
from scripts.text import size, sizes
from scripts.verdicts import Finding, Verdict, overall

__all__ = ["Comparison", "Delta", "Level", "compare", "deltas"]

SHOWN = 4
"""Sizes named in a message; the worst come first."""

PROMOTE = "promote one when three accepted runs are there: yard baseline promote {}"


class Level(IntEnum):
    """How a point stands to its baseline, from better to worse."""

    FAST = 0
    GOOD = 1
    WARN = 2
    FAIL = 3


@dataclass(frozen=True, slots=True)
class Delta:
    """One point of one run against its baseline; ``worse`` is the share of the loss."""

    size: int
    placement: Placement
    was: float
    now: float
    unit: str
    worse: float
    level: Level

    @property
    def key(self) -> tuple[int, Placement]:
        """What was compared."""
        return self.size, self.placement

    def __str__(self) -> str:
        way = {"GB/s": ("below", "above"), "us": ("above", "below")}[self.unit]
        word = way[0] if self.worse >= 0 else way[1]
        where = "" if self.placement == "out" else " in place"
        return (
            f"{self.now:g} {self.unit} at {size(self.size)}{where}, {abs(self.worse):.1%} {word} "
            f"{self.was:g}"
        )

    def as_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "size": self.size,
            "placement": self.placement,
            "unit": self.unit,
            "baseline": self.was,
            "measured": self.now,
            "worse_by": round(self.worse, 6),
            "level": self.level.name.lower(),
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """What came of it.

    ``rerun``: measure once more before anything is said. ``seek_node``: a regression on an equal
    stack, of which some node may be the cause; false for all that a changed stack explains.
    """

    verdict: Verdict
    findings: tuple[Finding, ...]
    deltas: tuple[Delta, ...] = ()
    baseline: str = ""
    rerun: bool = False
    seek_node: bool = False

    @property
    def suspicious(self) -> bool:
        """Tell whether something was so fast that it is rather another measurement."""
        return any(delta.level is Level.FAST for delta in self.deltas)

    @property
    def summary(self) -> str:
        """One line: the first reason, or that all is as before."""
        for found in self.findings:
            if found.verdict is self.verdict and self.verdict is not Verdict.PASS:
                return found.message
        notes = [found.message for found in self.findings]
        return notes[0] if notes else "as fast as its baseline"

    def as_json(self) -> dict[str, Any]:
        """Return plain data for a report."""
        return {
            "verdict": str(self.verdict),
            "summary": self.summary,
            "baseline": self.baseline,
            "rerun": self.rerun,
            "seek_node": self.seek_node,
            "suspicious": self.suspicious,
            "findings": [found.as_json() for found in self.findings],
            "deltas": [delta.as_json() for delta in self.deltas],
        }


def compare(
    setting: Setting,
    runs: Sequence[Run],
    baseline: Baseline | None,
    *,
    others: Sequence[Baseline] = (),
    limits: Rules | None = None,
) -> Comparison:
    """Hold one or more runs of one setting against its baseline.

    Parameters
    ----------
    setting
        What the runs have in common.
    runs
        The run and, where there was one, its rerun.
    baseline
        Of the setting. One of another setting counts as one of ``others``.
    others
        Baselines of the same shape, to say what changed when the setting has none of its own.
    limits
        The rules, when they are not the shipped ones.
    """
    limits = limits or rules()
    judged = tuple(_judged(runs))
    if baseline is not None and baseline.setting != setting:
        baseline, others = None, (*others, baseline)
    if baseline is None or setting.gaps or not runs:
        findings = (*judged, _not_compared(setting, runs, others, limits))
        return Comparison(overall(found.verdict for found in findings), findings)
    found = [deltas(run, baseline, limits) for run in runs]
    confirmed = _confirmed(found, limits)
    findings = (
        *judged,
        *_missing(runs, baseline),
        *_regression(found, confirmed, limits),
        *_notes(found, limits),
    )
    seen_once = any(each.rule == "regression" for each in findings) and not confirmed
    return Comparison(
        overall(each.verdict for each in findings),
        findings,
        tuple(delta for each in found for delta in each),
        baseline.id,
        rerun=seen_once and len(runs) < limits.confirmations.runs,
        seek_node=bool(confirmed),
    )


def deltas(run: Run, baseline: Baseline, limits: Rules) -> tuple[Delta, ...]:
    """Return how each point of a run stands to the baseline; points of one side only are left."""
    before = {point.key: point for point in baseline.points}
    return tuple(
        _delta(point, before[point.key], limits) for point in run.points if point.key in before
    )


def _delta(now: Point, was: BasePoint, limits: Rules) -> Delta:
    kind = limits.of(now.size)
    if kind.measure == "time":
        worse = now.time_us / was.time_us - 1
        return Delta(
            now.size,
            now.placement,
            was.time_us,
            now.time_us,
            "us",
            worse,
            Level.WARN if now.time_us > was.time_us * (1 + kind.warn) else Level.GOOD,
        )
    worse = 1 - now.busbw / was.busbw if was.busbw else 0.0
    level = _level(now.busbw, was.busbw, kind, limits)
    return Delta(now.size, now.placement, was.busbw, now.busbw, "GB/s", worse, level)


def _level(now: float, was: float, kind: SizeClass, limits: Rules) -> Level:
    if kind.fail is not None and now < was * (1 - kind.fail):
        return Level.FAIL
    if now < was * (1 - kind.warn):
        return Level.WARN
    return Level.FAST if now > was * (1 + limits.suspicious.above) else Level.GOOD


def _confirmed(found: Sequence[Sequence[Delta]], limits: Rules) -> list[Delta]:
    """Return the measurements of the points that fail in so many runs that it is a regression."""
    failed: dict[tuple[int, Placement], list[Delta]] = {}
    for delta in _at(Level.FAIL, found):
        failed.setdefault(delta.key, []).append(delta)
    often = (each for each in failed.values() if len(each) >= limits.confirmations.runs)
    return [delta for each in often for delta in each]


def _judged(runs: Sequence[Run]) -> Iterator[Finding]:
    """Repeat what the judge found against a run."""
    for run in runs:
        if run.verdict is not Verdict.PASS:
            why = run.reasons[0] if run.reasons else "no reason was kept"
            yield Finding(
                "judged",
                run.verdict,
                f"run {run.id} did not pass: {why}",
                "look at its log; no baseline makes up for this",
            )


def _not_compared(
    setting: Setting, runs: Sequence[Run], others: Sequence[Baseline], limits: Rules
) -> Finding:
    if not runs:
        return Finding("baseline", Verdict.UNKNOWN, "there is no run to compare")
    if setting.gaps:
        return Finding(
            "baseline",
            Verdict.UNKNOWN,
            f"nothing equal can be found: {'; '.join(setting.gaps)}",
            "make it known or equal, and run again",
        )
    same = [each for each in others if each.setting.shape == setting.shape]
    if not same:
        return Finding(
            "baseline",
            Verdict.UNKNOWN,
            f"there is no baseline for {setting}",
            PROMOTE.format(setting.id),
        )
    last = max(same, key=lambda each: each.at)
    changed = "; ".join(setting.changes(last.setting))
    return Finding(
        "stack",
        Verdict.UNKNOWN,
        f"the stack changed since the baseline of {last.at:%Y-%m-%d} ({changed}), so nobody is "
        f"blamed; against the old stack: {_against(runs[-1], last, limits)}",
        PROMOTE.format(setting.id),
    )


def _against(run: Run, old: Baseline, limits: Rules) -> str:
    """Say how a run stands to the baseline of another stack: for people, never for a verdict."""
    found = [each for each in deltas(run, old, limits) if each.unit == "GB/s"]
    if not found:
        return "no size in common"
    return str(max(found, key=lambda each: each.worse))


def _missing(runs: Sequence[Run], baseline: Baseline) -> Iterator[Finding]:
    for run in runs:
        seen = {point.key for point in run.points}
        absent = [point for point in baseline.points if point.key not in seen]
        if absent:
            yield Finding(
                "sizes",
                Verdict.UNKNOWN,
                f"run {run.id} lacks {sizes(sorted({point.size for point in absent}))}, which the "
                "baseline has: they were not compared",
                "run the same sizes",
            )


def _regression(
    found: Sequence[Sequence[Delta]], confirmed: Sequence[Delta], limits: Rules
) -> Iterator[Finding]:
    """Say what came of the points that fail, the same ones again or others each time."""
    failed = list(_at(Level.FAIL, found))
    if not failed:
        return
    if confirmed:
        yield Finding(
            "regression",
            Verdict.FAIL,
            f"{_worst(confirmed)}: slower than its baseline, and again when it was run once more, "
            "on the same stack",
            "test the nodes in pairs to find the slow one",
        )
    elif all(any(delta.level is Level.FAIL for delta in each) for each in found):
        seen = "seen once" if len(found) == 1 else "at another size each time"
        yield Finding(
            "regression",
            Verdict.UNKNOWN,
            f"{_worst(failed)}: slower than its baseline, {seen}",
            "run it once more; what is slow again at the same size is a regression",
        )
    else:
        yield Finding(
            "unconfirmed",
            Verdict.PASS,
            f"{_worst(failed)}: slower than its baseline, and not in another of {len(found)} runs "
            f"({limits.confirmations.runs} are needed)",
            "watch it",
        )


def _notes(found: Sequence[Sequence[Delta]], limits: Rules) -> Iterator[Finding]:
    if weak := list(_at(Level.WARN, found)):
        yield Finding(
            "weaker",
            Verdict.PASS,
            f"{_worst(weak)}: weaker than its baseline, within what is tolerated",
            "watch it",
        )
    if fast := list(_at(Level.FAST, found)):
        yield Finding(
            "fast",
            Verdict.PASS,
            f"{_worst(fast)}: more than {limits.suspicious.above:.0%} above its baseline, which is "
            "rather another measurement than a better one",
            "check type, nodes, sizes and flags before it becomes a baseline",
        )


def _at(level: Level, found: Iterable[Iterable[Delta]]) -> Iterator[Delta]:
    return (delta for each in found for delta in each if delta.level is level)


def _worst(of: Sequence[Delta]) -> str:
    """Name the sizes that are farthest off first, each once with the worse of its placements."""
    farthest: dict[int, Delta] = {}
    for delta in of:
        known = farthest.setdefault(delta.size, delta)
        if abs(delta.worse) > abs(known.worse):
            farthest[delta.size] = delta
    # Rounded, so that the last bits of equal losses do not decide.
    ordered = sorted(farthest.values(), key=lambda delta: (-round(abs(delta.worse), 4), delta.size))
    rest = len(ordered) - SHOWN
    more = f" and {rest} more" if rest > 0 else ""
    return "; ".join(map(str, ordered[:SHOWN])) + more
