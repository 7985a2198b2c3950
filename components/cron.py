"""Schedules as cron writes them: five fields, each held against what it may be. Pure.

Kubernetes takes the same text (robfig/cron, ``ParseStandard``), but says what is wrong with it only
when the object is made, after everything that stands before it.
"""

import calendar
import re
from dataclasses import dataclass
from typing import Annotated, Final

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

__all__ = ["Schedule", "trouble"]

EXAMPLE: Final = "0 3 * * 6 (Saturdays at 03:00)"


@dataclass(frozen=True, slots=True)
class Field:
    """One field: its least and greatest number, and names for its first numbers."""

    name: str
    low: int
    high: int
    words: tuple[str, ...] = ()


MONTHS: Final = tuple(name.lower() for name in calendar.month_abbr if name)
DAYS: Final = ("sun", "mon", "tue", "wed", "thu", "fri", "sat")

FIELDS: Final = (
    Field("minute", 0, 59),
    Field("hour", 0, 23),
    Field("day of the month", 1, 31),
    Field("month", 1, 12, MONTHS),
    # Sunday is 0 only: Kubernetes refuses the 7 of other crons.
    Field("day of the week", 0, 6, DAYS),
)

STEP: Final = re.compile(r"[1-9][0-9]{0,2}")

LEAP_YEAR: Final = 2024
"""A year in which February has as many days as it ever has."""


def trouble(text: str) -> str | None:
    """Say what is wrong with a schedule, as the rest of a sentence; None if it is one.

    Schedules that never come, such as the 31st of February, are wrong too.
    """
    parts = text.split()
    if len(parts) != len(FIELDS):
        names = ", ".join(field.name for field in FIELDS)
        count = f"{len(parts)} field{'' if len(parts) == 1 else 's'}"
        return f"has {count}; cron has five: {names}"
    chosen: list[frozenset[int]] = []
    for field, part in zip(FIELDS, parts, strict=True):
        numbers = _numbers(field, part)
        if isinstance(numbers, str):
            return numbers
        chosen.append(numbers)
    _, _, days, months, _ = chosen
    if parts[4] in {"*", "?"} and not any(min(days) <= _length(month) for month in months):
        return f"never comes: no month that it names has a day {min(days)}"
    return None


def _length(month: int) -> int:
    return calendar.monthrange(LEAP_YEAR, month)[1]


def _numbers(field: Field, part: str) -> frozenset[int] | str:
    """Return the numbers that a field stands for, or what is wrong with it."""
    found: set[int] = set()
    for item in part.split(","):
        span, slash, step = item.partition("/")
        bounds = _span(field, span, open_ended=bool(slash))
        if isinstance(bounds, str):
            return bounds
        if slash and not STEP.fullmatch(step):
            return f"has {item!r} as {field.name}; a step is a number from 1 on, as in */15"
        low, high = bounds
        found.update(range(low, high + 1, int(step) if slash else 1))
    return frozenset(found)


def _span(field: Field, span: str, *, open_ended: bool) -> tuple[int, int] | str:
    """Return the least and the greatest number of a span; one with a step runs to the end."""
    if span in {"*", "?"}:
        return field.low, field.high
    first, dash, last = span.partition("-")
    low = _number(field, first)
    high = _number(field, last) if dash else field.high if open_ended else low
    if low is None or high is None:
        words = f" or {field.words[0]} to {field.words[-1]}" if field.words else ""
        return f"has {span!r} as {field.name}; use {field.low} to {field.high}{words}, or *"
    if low > high:
        return f"has {span!r} as {field.name}, which ends before it begins; write two spans"
    return low, high


def _number(field: Field, word: str) -> int | None:
    if word.lower() in field.words:
        return field.low + field.words.index(word.lower())
    if not (word.isascii() and word.isdecimal() and len(word) <= len(str(field.high))):
        return None
    return int(word) if field.low <= int(word) <= field.high else None


def _check(text: str) -> str:
    wrong = trouble(text)
    if wrong is None:
        return text
    message = f"{wrong}; write it like {EXAMPLE}".replace("{", "{{")
    raise PydanticCustomError("shape", message)  # pyright: ignore[reportArgumentType] - the message names what was seen


Schedule = Annotated[str, AfterValidator(_check)]
"""When something is to happen, in UTC: minute, hour, day of the month, month, day of the week."""
