"""Bandwidth by message size, against the floor and the baseline."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from scripts.pictures.frame import Frame, Key, legend
from scripts.pictures.svg import Picture
from scripts.text import size as in_words

__all__ = ["Curve", "by_size"]

WIDTH, HEIGHT = 860, 460
MOST_LABELS = 10

Curve = Mapping[int, float]
"""GB/s by message size (bytes)."""


@dataclass(frozen=True, slots=True)
class _Scale:
    sizes: Sequence[int]

    def labels(self) -> list[tuple[float, str]]:
        """Return the sizes that get a label, the first and the last among them."""
        first, last = math.log2(self.sizes[0]), math.log2(self.sizes[-1])
        step = max(1, math.ceil((last - first) / MOST_LABELS))
        inner = range(math.ceil(first), math.ceil(last), step)
        places = [first, *(place for place in inner if first + step / 2 < place < last - step / 2)]
        places += [last] if last > first else [first + 1]
        return [(place, in_words(round(2**place))) for place in places]


def by_size(
    subject: str,
    runs: Mapping[str, Curve],
    *,
    baseline: Curve | None = None,
    floor: tuple[float, int] | None = None,
    tolerated: float | None = None,
) -> str:
    """Draw what runs reached at each message size.

    Parameters
    ----------
    subject
        What was measured on what.
    runs
        The curves, by name, the one that matters last.
    baseline
        What equal runs reached before.
    floor
        The lowest good GB/s, and the size (bytes) from which on it holds.
    tolerated
        Share below the baseline from which on a run is a regression, drawn as a band.
    """
    curves = [*runs.values(), *([baseline] if baseline else [])]
    sizes = sorted({size for curve in curves for size in curve})
    if not sizes:
        raise ValueError("there is nothing to draw: no curve has a point")
    values = [value for curve in curves for value in curve.values()]
    values += [floor[0]] if floor else []
    picture = Picture(
        "bandwidth",
        (WIDTH, HEIGHT),
        "Bus bandwidth by message size",
        subject,
        _in_words(runs, baseline, floor),
    )
    labels = _Scale(sizes).labels()
    frame = Frame.draw(picture, labels, values, unit="GB/s", across="message size")
    keys: list[Key] = []
    if baseline and tolerated is not None:
        places = [(frame.x(math.log2(size)), value) for size, value in sorted(baseline.items())]
        upper = [(x, frame.y(value)) for x, value in places]
        lower = [(x, frame.y(value * (1 - tolerated))) for x, value in reversed(places)]
        picture.area("band", [*upper, *lower])
        keys.append(Key("area", "band", f"up to {tolerated:.0%} below it"))
    if floor:
        start = frame.x(max(math.log2(floor[1]), frame.low))
        picture.line("floor thick", [(start, frame.y(floor[0])), (frame.right, frame.y(floor[0]))])
        keys.append(Key("line", "floor", f"floor {floor[0]:g} GB/s"))
    if baseline:
        _curve(frame, "base", "baseline", baseline, dash="6 4")
        keys.insert(0, Key("dash", "base", "baseline"))
    for name, curve in runs.items():
        _curve(frame, "run", name, curve)
    if runs:
        word = next(iter(runs)) if len(runs) == 1 else f"{len(runs)} runs"
        keys.insert(0, Key("line", "run", word))
    legend(picture, keys)
    return str(picture)


def _curve(frame: Frame, style: str, name: str, curve: Curve, dash: str = "") -> None:
    points = [(frame.x(math.log2(size)), frame.y(gbps)) for size, gbps in sorted(curve.items())]
    frame.picture.line(f"{style} thick", points, dash)
    for (x, y), (size, gbps) in zip(points, sorted(curve.items()), strict=True):
        frame.picture.dot(f"{style}-dot", x, y, 3.5, f"{name}: {gbps:g} GB/s at {in_words(size)}")


def _in_words(
    runs: Mapping[str, Curve], baseline: Curve | None, floor: tuple[float, int] | None
) -> str:
    """Tell the picture's numbers to who cannot see it."""
    named = {**runs, **({"baseline": baseline} if baseline else {})}
    parts = [
        f"{name}: "
        + ", ".join(f"{gbps:g} GB/s at {in_words(size)}" for size, gbps in sorted(curve.items()))
        for name, curve in named.items()
    ]
    if floor:
        parts.append(f"floor: {floor[0]:g} GB/s from {in_words(floor[1])} on")
    return ". ".join(parts) + "."
