"""Reads a picture back, as a program that shows it would."""

import re
from dataclasses import dataclass
from xml.etree import ElementTree as ET

SVG = "{http://www.w3.org/2000/svg}"
LUMINANCE = (0.2126, 0.7152, 0.0722)
RULE = re.compile(r"svg\.yard \.([\w-]+)\{([^}]*)\}")
COLOUR = re.compile(r"(?:fill|stroke):(#[0-9a-f]{6})")


@dataclass(frozen=True)
class Mark:
    """One thing that is drawn: its element, its classes, where it is, and its hint or its words."""

    element: str
    style: str
    place: str
    words: str

    def __str__(self) -> str:
        said = f" {self.words!r}" if self.words else ""
        return f"{self.element} [{self.style}] {self.place}{said}"


@dataclass(frozen=True)
class Drawn:
    """A picture that was read."""

    title: str
    description: str
    style: str
    marks: tuple[Mark, ...]

    def of(self, element: str, style: str) -> list[Mark]:
        """Return the marks of an element that carry a class."""
        return [m for m in self.marks if m.element == element and style in m.style.split()]

    def texts(self) -> list[str]:
        """Return all words that stand in the picture."""
        return [mark.words for mark in self.marks if mark.element == "text"]


def read(svg: str) -> Drawn:
    """Parse a picture, and insist on what holds for each of them."""
    root = ET.fromstring(svg)  # noqa: S314 - our own picture
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    title, description, style = (root[index] for index in range(3))
    assert root.get("aria-labelledby") == f"{title.get('id')} {description.get('id')}"
    assert (title.tag, description.tag, style.tag) == (f"{SVG}title", f"{SVG}desc", f"{SVG}style")
    assert not re.search(r"href|url\(|@import|<script|<image|<foreign", svg), "it stands alone"
    assert svg.count("http") == 1, "the namespace is the only address"
    marks = tuple(map(_mark, root[3:]))
    known = {name for name, _ in RULE.findall(style.text or "")} | {
        "big",
        "strong",
        "small",
        "thick",
    }
    assert {word for mark in marks for word in mark.style.split()} <= known
    return Drawn(title.text or "", description.text or "", style.text or "", marks)


def _mark(element: ET.Element) -> Mark:
    given = dict(element.attrib)
    style = given.pop("class")
    hint = element.find(f"{SVG}title")
    words = element.text if element.tag == f"{SVG}text" else hint.text if hint is not None else ""
    place = " ".join(f"{name}={value}" for name, value in given.items())
    return Mark(element.tag.removeprefix(SVG), style, place, words or "")


def contrast(one: str, other: str) -> float:
    """Return the contrast of two colours after WCAG 2: 1 for equal ones, 21 for black on white."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return sum(weight * part for weight, part in zip(LUMINANCE, linear, strict=True))
