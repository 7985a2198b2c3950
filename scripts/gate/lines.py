"""What kind of line a gate says, so that many alike can be told in few. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

from scripts.gate.ports import Mark

__all__ = ["MOST_ALIKE", "Kind", "Out", "kind", "more", "out_of"]

_WAITING = re.compile(r"waiting for \d+ Jobs?: ")
_OUT = re.compile(
    r"(?P<node>\S+) (?:(?P<bad>is bad)|stays out(?: \((?P<mark>\w+)\))?): (?P<reason>.*)"
)


class Kind(Enum):
    """Why a line is said."""

    PLAIN = auto()
    WAITING = auto()
    """What the Jobs of a round wait for; the next such line takes its place."""
    DETAIL = auto()
    """A run that did not pass; indented."""
    OUT = auto()
    """A node that is bad, or stays out."""


MOST_ALIKE: Final[Mapping[Kind, int]] = {Kind.DETAIL: 6, Kind.OUT: 16}
"""Lines of one kind in a row that are shown before the rest is only counted."""


def kind(line: str) -> Kind:
    """Return the kind of a line."""
    if line.startswith("  "):
        return Kind.DETAIL
    if _WAITING.match(line):
        return Kind.WAITING
    return Kind.OUT if _OUT.match(line) else Kind.PLAIN


@dataclass(frozen=True, slots=True)
class Out:
    """A node that stays out: ``bad`` if it is called that, and why."""

    node: str
    bad: bool
    reason: str


def out_of(line: str) -> Out | None:
    """Return the node that a line says stays out."""
    found = _OUT.match(line)
    if found is None:
        return None
    bad = found["bad"] is not None or found["mark"] == Mark.REFUSE.value
    return Out(found["node"], bad, found["reason"])


def more(count: int) -> str:
    """Say how many lines of the same kind were left out."""
    return f"  … and {count:,} more like {'this' if count == 1 else 'these'}, all in the report"
