"""The frame of a chart: axes with round values, and a legend. It turns values into places."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Literal

from scripts.pictures.svg import Picture, ticks

__all__ = ["Frame", "Key", "legend"]

LEFT, RIGHT, TOP, BOTTOM = 72, 48, 104, 56

FLAT = 0.6
"""When the lowest value is above this share of the highest, the axis does not begin at 0: a few per
cent must be seen."""

MARGIN = 0.25
"""Room below the lowest value then, of the distance between lowest and highest."""


@dataclass(frozen=True, slots=True)
class Key:
    """One entry of a legend: how it is drawn, and what it is."""

    shape: Literal["line", "dash", "area", "dot", "open", "cross"]
    style: str
    words: str


@dataclass(frozen=True, slots=True)
class Frame:
    """Places of values: ``x`` from ``low`` to ``high``, ``y`` from ``base`` to ``top``."""

    picture: Picture
    low: float
    high: float
    base: float
    top: float

    def x(self, value: float) -> float:
        """Return the place of a value on the lower axis."""
        span = self.high - self.low
        share = (value - self.low) / span if span else 0.5
        return LEFT + share * (self.picture.width - LEFT - RIGHT)

    def y(self, value: float) -> float:
        """Return the place of a value on the left axis; what lies outside stands at its end."""
        share = (min(max(value, self.base), self.top) - self.base) / (self.top - self.base)
        return self.bottom - share * (self.bottom - TOP)

    @property
    def bottom(self) -> float:
        """The place of the lower axis."""
        return self.picture.height - BOTTOM

    @property
    def right(self) -> float:
        """The place where the lower axis ends."""
        return self.picture.width - RIGHT

    @classmethod
    def draw(
        cls,
        picture: Picture,
        below: Sequence[tuple[float, str]],
        values: Collection[float],
        *,
        unit: str,
        across: str,
    ) -> "Frame":
        """Draw both axes and return the frame.

        Parameters
        ----------
        picture
            Where to draw.
        below
            Values of the lower axis that get a label; the first and the last are its ends.
        values
            All that the left axis must have room for.
        unit, across
            What the left and the lower axis count.
        """
        marks = _marks(values)
        frame = cls(picture, below[0][0], below[-1][0], marks[0], marks[-1])
        for value in marks:
            place = frame.y(value)
            picture.line("grid", [(LEFT, place), (frame.right, place)])
            picture.text("soft", LEFT - 8, place + 4, f"{value:g}", anchor="end")
        for value, words in below:
            place = frame.x(value)
            picture.line("axis", [(place, frame.bottom), (place, frame.bottom + 5)])
            picture.text("soft", place, frame.bottom + 20, words, anchor="middle")
        picture.line("axis", [(LEFT, frame.bottom), (frame.right, frame.bottom)])
        cut = f" (from {marks[0]:g} on)" if marks[0] else ""
        picture.text("soft", 20, TOP - 14, f"{unit}{cut}")
        picture.text("soft", frame.right, frame.bottom + 42, across, anchor="end")
        return frame


def _marks(values: Collection[float]) -> list[float]:
    low, high = min(values), max(values)
    if low <= 0 or low < high * FLAT:
        return ticks(0, high or 1)
    return ticks(low - max(high - low, high * 0.02) * MARGIN, high)


def legend(picture: Picture, keys: Sequence[Key], y: float = 72) -> None:
    """Write what each line and mark is, in one row below the title."""
    x = float(LEFT)
    for key in keys:
        match key.shape:
            case "line":
                picture.line(f"{key.style} thick", [(x, y - 4), (x + 26, y - 4)])
            case "dash":
                picture.line(f"{key.style} thick", [(x, y - 4), (x + 26, y - 4)], "6 4")
            case "area":
                picture.rectangle(key.style, x, y - 10, 26, 12)
            case "dot" | "open":
                picture.dot(key.style, x + 13, y - 4)
            case "cross":
                picture.cross(key.style, x + 13, y - 4)
        picture.text("ink", x + 32, y, key.words)
        x += 32 + 6.6 * len(key.words) + 22
