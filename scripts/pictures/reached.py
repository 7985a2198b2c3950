"""What runs of each shape reached at least, against the floor of that shape: one bar each."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from scripts.pictures.frame import Key, legend
from scripts.pictures.svg import Picture, ticks
from scripts.text import words

__all__ = ["Shape", "reached"]

WIDTH, LEFT, RIGHT = 860, 250, 160
TOP, BOTTOM, ROW = 104, 44, 26
THICK = 12


@dataclass(frozen=True, slots=True)
class Shape:
    """Runs that are judged alike: what each reached (GB/s, None without a number), and the floor.

    ``floor`` is None where none is known, so that their bandwidth was not judged.
    """

    name: str
    reached: Sequence[float | None]
    floor: float | None

    @property
    def numbers(self) -> list[float]:
        """What was reached, from the lowest on."""
        return sorted(value for value in self.reached if value is not None)

    @property
    def words(self) -> str:
        """What the picture shows, for who cannot see it."""
        numbers, blank = self.numbers, len(self.reached) - len(self.numbers)
        told = f"{self.name}: {words(len(self.reached), 'run')}"
        told += f", {blank} without a number" if blank else ""
        told += f", lowest {numbers[0]:g} GB/s" if numbers else ""
        return told + (", no floor" if self.floor is None else f", floor {self.floor:g} GB/s")


def reached(subject: str, shapes: Sequence[Shape]) -> str:
    """Draw the bars.

    Parameters
    ----------
    subject
        What was measured on what.
    shapes
        From top to bottom; at least one.
    """
    if not shapes:
        raise ValueError("there is nothing to draw: nothing was measured")
    size = WIDTH, TOP + ROW * len(shapes) + BOTTOM
    told = ". ".join(shape.words for shape in shapes) + "."
    picture = Picture("reached", size, "Lowest bus bandwidth against the floor", subject, told)
    values = [number for shape in shapes for number in shape.numbers]
    values += [shape.floor for shape in shapes if shape.floor is not None]
    marks = ticks(0, max(values, default=1) or 1)
    bottom = TOP + ROW * len(shapes)

    def x(value: float) -> float:
        return LEFT + value / marks[-1] * (WIDTH - LEFT - RIGHT)

    for value in marks:
        picture.line("grid", [(x(value), TOP - 6), (x(value), bottom)])
        picture.text("soft", x(value), bottom + 18, f"{value:g}", anchor="middle")
    picture.text("soft", LEFT, bottom + 36, "GB/s")
    for index, shape in enumerate(shapes):
        _row(picture, shape, x(0), [x(each) for each in shape.numbers], TOP + ROW * index)
        if shape.floor is not None:
            place, top = x(shape.floor), TOP + ROW * index
            picture.line("floor thick", [(place, top), (place, top + ROW - 4)])
    keys = [
        Key("area", "bar", "lowest run"),
        Key("area", "h0", "lowest run, below the floor"),
        Key("open", "open-dot", "median run"),
        Key("line", "floor", "floor"),
    ]
    legend(picture, keys)
    return str(picture)


def _row(picture: Picture, shape: Shape, start: float, places: Sequence[float], top: float) -> None:
    middle = top + ROW / 2 - 2
    picture.text("ink", LEFT - 10, middle + 4, shape.name, anchor="end")
    if not places:
        picture.text("soft", start + 6, middle + 4, "no number")
        return
    lowest = shape.numbers[0]
    low = shape.floor is not None and lowest < shape.floor
    width = max(1.0, places[0] - start)
    picture.rectangle("h0" if low else "bar", start, middle - THICK / 2, width, THICK, shape.words)
    if len(places) > 1:
        number = median(shape.numbers)
        picture.dot("open-dot", median(places), middle, 4, f"median {number:g} GB/s")
    share = "" if shape.floor is None else f" ({lowest / shape.floor:.0%})"
    style = "bad-ink strong" if low else "ink"
    picture.text(style, WIDTH - RIGHT + 12, middle + 4, f"{lowest:g} GB/s{share}")
