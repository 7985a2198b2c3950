"""The little of SVG that the pictures need, written by the standard library's XML writer.

A picture is one file: no script, no font, no reference to anywhere. It has a title and a
description for who cannot see it, and colours for light and for dark screens. Colour never speaks
alone: what it says is also said by a shape, a dash or a word.
"""

import math
import re
from collections.abc import Iterable
from typing import Final
from xml.etree.ElementTree import Element, SubElement, indent, tostring

__all__ = ["Picture", "clean", "nice_step", "number", "ticks"]

NAMESPACE: Final = "http://www.w3.org/2000/svg"

# Blue and orange after Okabe and Ito: all kinds of colour vision tell them apart.
_LIGHT = {
    "bg": "fill:#ffffff",
    "ink": "fill:#1f2933",
    "soft": "fill:#52606d",
    "axis": "stroke:#52606d;fill:none",
    "grid": "stroke:#d9e2ec;fill:none",
    "run": "stroke:#0072b2;fill:none",
    "run-dot": "fill:#0072b2;stroke:#0072b2",
    "bar": "fill:#0072b2",
    "base": "stroke:#00785a;fill:none",
    "base-dot": "fill:#ffffff;stroke:#00785a",
    "floor": "stroke:#b3261e;fill:none",
    "floor-ink": "fill:#b3261e",
    "band": "fill:#e69f00;fill-opacity:0.18;stroke:none",
    "bad": "stroke:#b3261e;fill:none",
    "bad-ink": "fill:#b3261e",
    "open-dot": "fill:#ffffff;stroke:#52606d",
    "h0": "fill:#7a0403",
    "h1": "fill:#d23105",
    "h2": "fill:#f7b538",
    "h3": "fill:#a9c9e8",
    "h4": "fill:#4a90c9",
    "hx": "fill:#9aa5b1",
    "mark": "fill:#ffffff",
    "none": "fill:#f3f6f9",
}
_DARK = {
    "bg": "fill:#12181f",
    "ink": "fill:#e4e7eb",
    "soft": "fill:#9aa5b1",
    "axis": "stroke:#9aa5b1;fill:none",
    "grid": "stroke:#2d3946;fill:none",
    "run": "stroke:#56b4e9;fill:none",
    "run-dot": "fill:#56b4e9;stroke:#56b4e9",
    "bar": "fill:#56b4e9",
    "base": "stroke:#3ecf9f;fill:none",
    "base-dot": "fill:#12181f;stroke:#3ecf9f",
    "floor": "stroke:#ff8a7a;fill:none",
    "floor-ink": "fill:#ff8a7a",
    "bad": "stroke:#ff8a7a;fill:none",
    "bad-ink": "fill:#ff8a7a",
    "open-dot": "fill:#12181f;stroke:#9aa5b1",
    "h0": "fill:#ff6b5e",
    "h1": "fill:#e0662f",
    "h2": "fill:#c99a2e",
    "h3": "fill:#41709b",
    "h4": "fill:#2f8fd6",
    "hx": "fill:#616e7c",
    "mark": "fill:#000000",
    "none": "fill:#1b232c",
}

_NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Picture:
    """A picture that grows from back to front. Lengths are pixels of its own size."""

    def __init__(
        self, kind: str, size: tuple[float, float], title: str, subject: str, description: str
    ) -> None:
        self.width, self.height = size
        self._root = Element(
            "svg",
            {
                "xmlns": NAMESPACE,
                "viewBox": f"0 0 {number(self.width)} {number(self.height)}",
                "role": "img",
                "class": "yard",
                # Several pictures may stand on one page, so their ids must differ.
                "aria-labelledby": f"{kind}-title {kind}-description",
            },
        )
        _text(SubElement(self._root, "title", {"id": f"{kind}-title"}), f"{title}: {subject}")
        _text(SubElement(self._root, "desc", {"id": f"{kind}-description"}), description)
        SubElement(self._root, "style").text = _style()
        self.rectangle("bg", 0, 0, *size)
        self.text("ink big", 20, 28, title)
        self.text("soft", 20, 46, subject)

    def line(self, style: str, points: Iterable[tuple[float, float]], dash: str = "") -> None:
        """Draw a line through points; fewer than two draw nothing."""
        words = [f"{number(x)},{number(y)}" for x, y in points]
        if len(words) > 1:
            more = {"stroke-dasharray": dash} if dash else {}
            SubElement(self._root, "polyline", {"class": style, "points": " ".join(words), **more})

    def area(self, style: str, points: Iterable[tuple[float, float]]) -> None:
        """Fill what points enclose."""
        words = [f"{number(x)},{number(y)}" for x, y in points]
        SubElement(self._root, "polygon", {"class": style, "points": " ".join(words)})

    def rectangle(
        self, style: str, x: float, y: float, width: float, height: float, hint: str = ""
    ) -> None:
        """Draw a rectangle; ``hint`` is shown when somebody points at it."""
        box = SubElement(
            self._root,
            "rect",
            {
                "class": style,
                "x": number(x),
                "y": number(y),
                "width": number(width),
                "height": number(height),
            },
        )
        _hint(box, hint)

    def dot(self, style: str, x: float, y: float, radius: float = 4, hint: str = "") -> None:
        """Draw a circle."""
        place = {"cx": number(x), "cy": number(y), "r": number(radius)}
        _hint(SubElement(self._root, "circle", {"class": style, **place}), hint)

    def cross(self, style: str, x: float, y: float, radius: float = 4, hint: str = "") -> None:
        """Draw an x."""
        r = radius
        path = (
            f"M{number(x - r)} {number(y - r)}L{number(x + r)} {number(y + r)}"
            f"M{number(x - r)} {number(y + r)}L{number(x + r)} {number(y - r)}"
        )
        _hint(SubElement(self._root, "path", {"class": f"{style} thick", "d": path}), hint)

    def text(
        self, style: str, x: float, y: float, words: str, *, anchor: str = "start", turn: float = 0
    ) -> None:
        """Write one line; ``turn`` is in degrees, clockwise."""
        place = {"class": style, "x": number(x), "y": number(y)}
        if anchor != "start":
            place["text-anchor"] = anchor
        if turn:
            place["transform"] = f"rotate({number(turn)} {number(x)} {number(y)})"
        _text(SubElement(self._root, "text", place), words)

    def __str__(self) -> str:
        indent(self._root, " ")
        return tostring(self._root, encoding="unicode") + "\n"


def number(value: float) -> str:
    """Write a length with one decimal at most, so that equal pictures are equal texts."""
    return f"{round(value, 1):g}" if abs(value) < 1e5 else f"{value:.0f}"  # noqa: PLR2004 - where g turns to exponents


def nice_step(span: float, most: int) -> float:
    """Return the smallest of 1, 2, 5, 10, 20, … of which at most ``most`` fit into ``span``."""
    if span <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(span / most))
    return next(power * factor for factor in (1, 2, 5, 10, 20) if span / (power * factor) <= most)


def ticks(low: float, high: float, most: int = 6) -> list[float]:
    """Return round values that enclose ``low`` and ``high``."""
    step = nice_step(high - low, most)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [step * index for index in range(first, max(last, first + 1) + 1)]


def _style() -> str:
    fixed = (
        "svg.yard text{font-family:system-ui,Helvetica,Arial,sans-serif;font-size:12px}"
        "svg.yard .big{font-size:17px;font-weight:700}"
        "svg.yard .strong{font-weight:700}"
        "svg.yard .small{font-size:10px}"
        "svg.yard polyline{stroke-width:1}"
        "svg.yard .thick{stroke-width:2.2}"
        "svg.yard circle{stroke-width:1.5}"
    )
    dark = "".join(f"svg.yard .{name}{{{rule}}}" for name, rule in _DARK.items())
    light = "".join(f"svg.yard .{name}{{{rule}}}" for name, rule in _LIGHT.items())
    return f"{light}{fixed}@media (prefers-color-scheme:dark){{{dark}}}"


def _hint(element: Element, words: str) -> None:
    if words:
        _text(SubElement(element, "title"), words)


def clean(words: str) -> str:
    """Return words without the characters that XML has no way to write."""
    return _NOT_XML.sub("\N{REPLACEMENT CHARACTER}", words)


def _text(element: Element, words: str) -> None:
    """Write any words; the writer escapes what XML takes for its own, and knows no other limits."""
    element.text = clean(words)
