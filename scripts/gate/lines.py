"""What kind of line a gate says, so that many alike can be told in few. Pure."""

import re
from collections.abc import Mapping
from enum import Enum, auto
from typing import Final

__all__ = ["MOST_ALIKE", "Kind", "kind", "more", "out_of"]

_WAITING = re.compile(r"waiting for \d+ Jobs?: ")
_OUT = re.compile(r"(?P<node>\S+) stays out(?: \((?P<mark>\w+)\))?: ")


class Kind(Enum):
    """Why a line is said."""

    PLAIN = auto()
    WAITING = auto()
    """What the Jobs of a round wait for; the next such line takes its place."""
    DETAIL = auto()
    """A run that did not pass; indented."""
    OUT = auto()
    """A node that stays out."""


MOST_ALIKE: Final[Mapping[Kind, int]] = {Kind.DETAIL: 6, Kind.OUT: 16}
"""Lines of one kind in a row that are shown before the rest is only counted."""


def kind(line: str) -> Kind:
    """Return the kind of a line."""
    if line.startswith("  "):
        return Kind.DETAIL
    if _WAITING.match(line):
        return Kind.WAITING
    return Kind.OUT if _OUT.match(line) else Kind.PLAIN


def out_of(line: str) -> tuple[str, str] | None:
    """Return the node that a line says stays out, and its mark (empty where none is told)."""
    found = _OUT.match(line)
    return (found["node"], found["mark"] or "") if found else None


def more(count: int) -> str:
    """Say how many lines of the same kind were left out."""
    return f"  … and {count:,} more like {'this' if count == 1 else 'these'}, all in the report"
