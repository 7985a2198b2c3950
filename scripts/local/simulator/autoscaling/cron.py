"""Recurrences of scheduled actions: the five fields of cron."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

__all__ = ["Cron"]

FIELDS = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
"""Bounds of minute, hour, day of the month, month and day of the week; 0 and 7 are Sunday."""

NAMES = {
    3: ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"),
    4: ("sun", "mon", "tue", "wed", "thu", "fri", "sat"),
}
MINUTE = timedelta(minutes=1)


@dataclass(frozen=True)
class Cron:
    """The minutes in which something recurs."""

    minutes: frozenset[int]
    hours: frozenset[int]
    days: frozenset[int]
    months: frozenset[int]
    weekdays: frozenset[int]
    either_day: bool
    """Whether one of the two kinds of day is enough, which is so where both are restricted."""

    @classmethod
    def parse(cls, text: str) -> "Cron":
        """Read ``minute hour day month weekday``; raises ``ValueError``."""
        parts = text.split()
        if len(parts) != len(FIELDS):
            raise ValueError(f"{len(parts)} fields, not {len(FIELDS)}")
        minutes, hours, days, months, weekdays = (
            frozenset(_values(part.lower(), place)) for place, part in enumerate(parts)
        )
        either = not parts[2].startswith("*") and not parts[4].startswith("*")
        return cls(minutes, hours, days, months, frozenset(day % 7 for day in weekdays), either)

    def recurs(self, moment: datetime) -> bool:
        """Tell whether it recurs in the minute of ``moment``."""
        day = moment.day in self.days
        weekday = moment.isoweekday() % 7 in self.weekdays
        return (
            moment.minute in self.minutes
            and moment.hour in self.hours
            and moment.month in self.months
            and ((day or weekday) if self.either_day else (day and weekday))
        )

    def between(self, after: datetime, until: datetime) -> Iterator[datetime]:
        """Yield the minutes after one moment, up to another, in which it recurs."""
        moment = after.replace(second=0, microsecond=0) + MINUTE
        while moment <= until:
            if self.recurs(moment):
                yield moment
            moment += MINUTE


def _values(part: str, place: int) -> Iterator[int]:
    least, most = FIELDS[place]
    for one in part.split(","):
        span, slash, step = one.partition("/")
        if span == "*":
            first, last = least, most
        else:
            start, dash, end = span.partition("-")
            first = _number(start, place)
            last = _number(end, place) if dash else (most if slash else first)
        if not least <= first <= last <= most or (slash and int(step) < 1):
            raise ValueError(f"{one!r} is not within {least} to {most}")
        yield from range(first, last + 1, int(step) if slash else 1)


def _number(text: str, place: int) -> int:
    names = NAMES.get(place, ())
    if text in names:
        return names.index(text) + FIELDS[place][0]
    return int(text)
