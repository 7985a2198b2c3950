"""The pictures of what is known of one setting."""

from collections.abc import Iterable
from pathlib import Path

from scripts.baseline.record import BasePoint, Ledger, Run
from scripts.baseline.rules import Rules, rules
from scripts.baseline.sample import Point
from scripts.errors import UsageError
from scripts.pictures.bandwidth import by_size
from scripts.pictures.trend import Measured, Promoted, over_time
from scripts.text import size as in_words

__all__ = ["write"]


def write(ledger: Ledger, folder: Path, limits: Rules | None = None) -> tuple[Path, ...]:
    """Draw the latest run against baseline and floor, and all runs over time; returns the files.

    Raises
    ------
    UsageError
        If there is nothing to draw, or the folder cannot be written.
    """
    drawn = {
        f"baseline-{ledger.setting.id}-sizes.svg": _sizes(ledger, limits or rules()),
        f"baseline-{ledger.setting.id}-trend.svg": _trend(ledger),
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in drawn.items():
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--pictures {folder}: cannot be written: {error}") from None
    return tuple(folder / name for name in drawn)


def _sizes(ledger: Ledger, limits: Rules) -> str:
    run, baseline = _latest(ledger), ledger.baseline
    runs = {f"run {run.run}": _curve(run.points)} if run else {}
    floor = (run.floor.busbw, run.floor.from_bytes) if run and run.floor else None
    return by_size(
        str(ledger.setting),
        runs,
        baseline=_curve(baseline.points) if baseline else None,
        floor=floor,
        tolerated=limits.of(_largest(ledger)).fail,
    )


def _trend(ledger: Ledger) -> str:
    at = _largest(ledger)
    run = _latest(ledger)
    floored = run is not None and run.floor is not None and at >= run.floor.from_bytes
    return over_time(
        f"{ledger.setting}, at {in_words(at)}",
        [
            Measured(each.at, curve[at], each.verdict, f"run {each.run}")
            for each in ledger.runs
            if at in (curve := _curve(each.points))
        ],
        baselines=[
            Promoted(each.at, curve[at], forced=bool(each.forced))
            for each in ledger.promotions
            if at in (curve := _curve(each.points))
        ],
        floor=run.floor.busbw if run and run.floor and floored else None,
    )


def _latest(ledger: Ledger) -> Run | None:
    return next((run for run in reversed(ledger.runs) if run.points), None)


def _largest(ledger: Ledger) -> int:
    """Return the largest size that was measured: there bandwidth says most."""
    sizes = [point.size for run in ledger.runs for point in run.points]
    sizes += [point.size for each in ledger.promotions for point in each.points]
    if not sizes:
        raise UsageError(f"there is nothing to draw of {ledger.setting}: no run has a number")
    return max(sizes)


def _curve(points: Iterable[Point | BasePoint]) -> dict[int, float]:
    """Return the lower of both placements at each size, as the judge takes it."""
    found: dict[int, float] = {}
    for point in points:
        found[point.size] = min(point.busbw, found.get(point.size, point.busbw))
    return found
