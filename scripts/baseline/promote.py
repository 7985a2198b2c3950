"""Makes a baseline of accepted runs, or says all that speaks against it. Pure.

A baseline is promoted by somebody, for a reason, and both are kept. It never gets slower by itself:
what is slower than the one before, of this stack or of the last, needs force, and that is kept too.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from statistics import mean, median, stdev

from scripts.baseline.compare import Level, deltas
from scripts.baseline.record import REASON_LENGTH, Baseline, BasePoint, Run
from scripts.baseline.rules import Rules, rules
from scripts.baseline.sample import Placement, Point
from scripts.baseline.setting import Setting
from scripts.errors import UsageError
from scripts.text import size, sizes
from scripts.verdicts import Verdict

__all__ = ["candidates", "promote"]

Key = tuple[int, Placement]


def candidates(runs: Sequence[Run], limits: Rules | None = None) -> tuple[Run, ...]:
    """Return the latest accepted runs, as a promotion without named runs takes them."""
    limits = limits or rules()
    good = sorted((run for run in runs if run.verdict is Verdict.PASS), key=lambda run: run.at)
    return tuple(good[-limits.baseline.latest :])


def promote(
    setting: Setting,
    runs: Sequence[Run],
    *,
    before: Baseline | None,
    by: str,
    why: str,
    at: datetime,
    force: bool = False,
    limits: Rules | None = None,
) -> Baseline:
    """Return the baseline that ``runs`` make.

    Parameters
    ----------
    setting
        What the runs have in common.
    runs
        Accepted runs.
    before
        The baseline that holds now; where the setting has none, the last one of the same shape on
        another stack.
    by, why, at
        Who promotes it, for what reason, and when.
    force
        Overrule that it is slower than ``before``, or suspiciously fast, or lacks its sizes. What
        was overruled is kept with the baseline. Nothing else can be overruled.
    limits
        The rules, when they are not the shipped ones.

    Raises
    ------
    UsageError
        If anything speaks against it; the message names all of it.
    """
    limits = limits or rules()
    problems = [*_reason(why), *_runs(setting, runs, limits)]
    if problems:
        raise UsageError(_refused(setting, problems))
    points, unstable = _points(runs, limits)
    problems = list(_unstable(unstable, limits))
    made = Baseline(
        setting=setting,
        points=points,
        runs=tuple(run.id for run in runs),
        logs=tuple(run.log for run in runs),
        at=at,
        by=by,
        why=why.strip(),
        left_out=tuple(f"{size(point.size)} {point.placement}" for point in unstable),
        replaces=before.id if before else "",
    )
    against = list(_against(made, before, unstable, limits)) if before else []
    if against and not force:
        problems += [f"{each}; --force overrules that, and is kept" for each in against]
    if problems:
        raise UsageError(_refused(setting, problems))
    return made.model_copy(update={"forced": tuple(against)})


def _refused(setting: Setting, problems: Sequence[str]) -> str:
    return f"no baseline for {setting}: {'; '.join(problems)}"


def _reason(why: str) -> Iterator[str]:
    if not why.strip():
        yield "--reason is empty; say why this is what to compare with"
    elif len(why.strip()) > REASON_LENGTH:
        yield f"--reason has {len(why.strip())} characters; {REASON_LENGTH} are kept"


def _runs(setting: Setting, runs: Sequence[Run], limits: Rules) -> Iterator[str]:
    yield from setting.gaps
    need = limits.baseline.runs
    logs = {run.log for run in runs}
    if len(logs) < need:
        again = f" ({len(runs)} records of them)" if len(runs) > len(logs) else ""
        yield f"{len(logs)} different accepted runs{again} are there, and {need} are needed"
    elif len(logs) < len(runs):
        yield f"{len(runs)} records are of only {len(logs)} different runs"
    for run in runs:
        if run.verdict is not Verdict.PASS:
            yield f"run {run.id} is {run.verdict}, not pass"
    measured = {run.id: {point.key for point in run.points} for run in runs}
    union = set[Key]().union(*measured.values())
    for name, keys in measured.items():
        if keys != union:
            yield f"run {name} lacks {sizes(sorted({key[0] for key in union - keys}))}"
    if runs and not any(limits.of(key[0]).fail is not None for key in union):
        yield "no size was run that can fail, so it would guard nothing"


def _points(
    runs: Sequence[Run], limits: Rules
) -> tuple[tuple[BasePoint, ...], tuple[BasePoint, ...]]:
    """Return the medians, and apart from them those that swing too much."""
    measured: dict[Key, list[Point]] = {}
    for run in runs:
        for point in run.points:
            measured.setdefault(point.key, []).append(point)
    points = tuple(
        BasePoint(
            size=size_,
            placement=placement,
            time_us=median(point.time_us for point in of),
            busbw=median(point.busbw for point in of),
            spread=_spread(of, limits),
        )
        for (size_, placement), of in sorted(measured.items())
    )
    wide = tuple(point for point in points if point.spread > limits.baseline.spread)
    return tuple(point for point in points if point not in wide), wide


def _spread(points: Sequence[Point], limits: Rules) -> float:
    """Return the coefficient of variation of what is judged at this size."""
    by_time = limits.of(points[0].size).measure == "time"
    values = [point.time_us if by_time else point.busbw for point in points]
    return stdev(values) / mean(values) if mean(values) else 0.0


def _unstable(wide: Sequence[BasePoint], limits: Rules) -> Iterator[str]:
    guarded = [point for point in wide if limits.of(point.size).fail is not None]
    if guarded:
        worst = max(guarded, key=lambda point: point.spread)
        yield (
            f"the runs differ too much at {sizes(sorted({point.size for point in guarded}))}: by "
            f"{worst.spread:.1%} (CV) at {size(worst.size)}, and {limits.baseline.spread:.0%} is "
            "allowed; find out why, or wait for runs that agree"
        )


def _against(
    made: Baseline, before: Baseline, unstable: Sequence[BasePoint], limits: Rules
) -> Iterator[str]:
    """Name what a person must overrule to have this baseline after that one.

    Sizes that are ``unstable`` were run, so they are not lacking; that they swing is told apart.
    """
    changed = "; ".join(made.setting.changes(before.setting))
    which = f"the baseline of {before.at:%Y-%m-%d}" + (
        f" (on another stack: {changed})" if changed else ""
    )
    medians = Run(
        run="",
        label="",
        at=made.at,
        verdict=Verdict.PASS,
        points=tuple(
            Point(
                size=point.size,
                placement=point.placement,
                time_us=point.time_us,
                busbw=point.busbw,
            )
            for point in made.points
        ),
        log="",
    )
    found = deltas(medians, before, limits)
    guarded = [each for each in found if limits.of(each.size).fail is not None]
    slower = [each for each in guarded if each.worse > 0]
    if slower:
        worst = max(slower, key=lambda each: each.worse)
        yield f"it is slower than {which} at {len(slower)} of {len(guarded)} points: {worst}"
    fast = [each for each in guarded if each.level is Level.FAST]
    if fast:
        worst = min(fast, key=lambda each: each.worse)
        yield f"it is suspiciously faster than {which}: {worst}"
    guarded_before = {
        point.size for point in before.points if limits.of(point.size).fail is not None
    }
    lost = guarded_before - {point.size for point in (*made.points, *unstable)}
    if lost:
        yield f"it lacks {sizes(sorted(lost))}, which {which} guards"
