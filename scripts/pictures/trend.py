"""What a setting reached over time, with its baselines and the floor."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from scripts.pictures.frame import Frame, Key, legend
from scripts.pictures.svg import Picture
from scripts.text import words
from scripts.verdicts import Verdict

__all__ = ["Measured", "Promoted", "over_time"]

WIDTH, HEIGHT = 860, 400
LABELS = 6
SHOWN = 12
"""Runs told in the description, the latest."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What one run reached, GB/s, and how it was judged."""

    at: datetime
    gbps: float
    verdict: Verdict
    name: str


@dataclass(frozen=True, slots=True)
class Promoted:
    """From when on what was the baseline; ``forced`` where it was lowered by force."""

    at: datetime
    gbps: float
    forced: bool


def over_time(
    subject: str,
    runs: Sequence[Measured],
    *,
    baselines: Sequence[Promoted] = (),
    floor: float | None = None,
) -> str:
    """Draw runs as marks by their verdict, baselines as steps, and the floor."""
    times = sorted([each.at for each in runs] + [each.at for each in baselines])
    if not times:
        raise ValueError("there is nothing to draw: no run and no baseline")
    steps, marks = (
        sorted(baselines, key=lambda each: each.at),
        sorted(runs, key=lambda each: each.at),
    )
    values = [each.gbps for each in [*marks, *steps]] + ([] if floor is None else [floor])
    picture = Picture(
        "trend",
        (WIDTH, HEIGHT),
        "Bus bandwidth over time",
        subject,
        _in_words(marks, steps, floor),
    )
    frame = Frame.draw(picture, _labels(times), values, unit="GB/s", across="UTC")
    if floor is not None:
        place = frame.y(floor)
        picture.line("floor thick", [(frame.x(frame.low), place), (frame.right, place)])
    _steps(frame, steps)
    for each in marks:
        x, y = frame.x(each.at.timestamp()), frame.y(each.gbps)
        hint = f"{each.name}: {each.verdict}, {each.gbps:g} GB/s, {each.at:%Y-%m-%d %H:%M}"
        match each.verdict:
            case Verdict.PASS:
                picture.dot("run-dot", x, y, 4, hint)
            case Verdict.FAIL:
                picture.cross("bad", x, y, 5, hint)
            case Verdict.UNKNOWN:
                picture.dot("open-dot", x, y, 4, hint)
    keys = [
        Key("dot", "run-dot", "passed"),
        Key("cross", "bad", "failed"),
        Key("open", "open-dot", "unknown"),
        Key("dash", "base", "baseline"),
    ]
    keys += [] if floor is None else [Key("line", "floor", f"floor {floor:g} GB/s")]
    legend(picture, keys)
    return str(picture)


def _steps(frame: Frame, steps: Sequence[Promoted]) -> None:
    points: list[tuple[float, float]] = []
    for each in steps:
        x, y = frame.x(each.at.timestamp()), frame.y(each.gbps)
        points += [(x, points[-1][1]), (x, y)] if points else [(x, y)]
        word = " (forced)" if each.forced else ""
        frame.picture.dot(
            "base-dot", x, y, 4, f"baseline {each.gbps:g} GB/s{word}, {each.at:%Y-%m-%d}"
        )
        if each.forced:
            frame.picture.text("soft small", x, y + 16, "forced", anchor="middle")
    if points:
        points.append((frame.right, points[-1][1]))
    frame.picture.line("base thick", points, "6 4")


def _labels(times: Sequence[datetime]) -> list[tuple[float, str]]:
    """Return evenly spread moments from the first to the last, in days where there are several."""
    first, last = times[0], max(times[-1], times[0] + timedelta(hours=1))
    shape = "%Y-%m-%d" if last - first >= timedelta(days=LABELS) else "%m-%d %H:%M"
    moments = [first + (last - first) * index / LABELS for index in range(LABELS + 1)]
    return [(moment.timestamp(), f"{moment:{shape}}") for moment in moments]


def _in_words(runs: Sequence[Measured], baselines: Sequence[Promoted], floor: float | None) -> str:
    """Tell the picture's numbers to who cannot see it."""
    told = [f"{each.at:%Y-%m-%d %H:%M} {each.gbps:g} GB/s {each.verdict}" for each in runs[-SHOWN:]]
    earlier = f" (the latest {SHOWN})" if len(runs) > SHOWN else ""
    parts = [f"{words(len(runs), 'run')}{earlier}: {', '.join(told)}" if runs else "no runs"]
    parts += [
        f"baseline of {each.at:%Y-%m-%d}: {each.gbps:g} GB/s{', forced' if each.forced else ''}"
        for each in baselines
    ]
    parts += [f"floor: {floor:g} GB/s"] if floor is not None else []
    return ". ".join(parts) + "."
