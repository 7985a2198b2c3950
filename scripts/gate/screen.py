"""Shows how a gate goes on: a live table in a terminal, plain lines anywhere else."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from time import monotonic
from types import TracebackType
from typing import Final, Protocol, Self, TextIO

from rich.console import Console

from scripts.gate.lines import MOST_ALIKE, Kind, kind, more, out_of
from scripts.gate.live import Heading, LiveScreen
from scripts.gate.tally import Row, State, Tally, taken
from scripts.text import clock, words

__all__ = ["Heading", "LiveScreen", "PlainScreen", "Screen", "Tally", "screen_for"]

FIRST_SECONDS: Final = 30
"""A round that runs has a plain line after this time, and then each time that it has doubled: a
round of twenty minutes has six, however many nodes have part."""

DUMB: Final = frozenset({"dumb", "unknown"})


class Screen(Protocol):
    """Where a person watches a gate. As a context it is there for as long as the gate runs."""

    def say(self, line: str) -> None:
        """Show one line."""
        ...

    def tally(self, tally: Tally) -> None:
        """Show how far a round is: when it starts, and whenever a run of it has ended."""
        ...

    def __enter__(self) -> Self:
        """Begin to show."""
        ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Leave what is known standing, and the terminal as it was."""
        ...


def screen_for(
    stream: TextIO,
    environment: Mapping[str, str],
    heading: Heading,
    *,
    live: bool | None = None,
) -> Screen:
    """Return the table where ``stream`` is a terminal that can show it, else plain lines.

    ``live`` says it outright. A set ``CI`` means plain lines, as does a terminal that cannot move
    its cursor; ``NO_COLOR`` only takes the colours away, since each of them also has a sign.
    """
    able = stream.isatty() and environment.get("TERM", "") not in DUMB
    if live is None:
        live = able and not environment.get("CI")
    if live:
        console = Console(
            file=stream, force_terminal=True, no_color=bool(environment.get("NO_COLOR")) or None
        )
        return LiveScreen(console, heading)
    return PlainScreen(lambda line: print(line, file=stream, flush=True))


class PlainScreen:
    """Lines with the time of day (UTC), few enough to be read in the log of a CI job."""

    def __init__(
        self,
        write: Callable[[str], None],
        *,
        now: Callable[[], datetime] = lambda: datetime.now(tz=UTC),
        seconds: Callable[[], float] = monotonic,
    ) -> None:
        self._write = write
        self._now = now
        self._seconds = seconds
        self._rows: tuple[Row, ...] = ()
        self._began, self._due = seconds(), float(FIRST_SECONDS)
        self._kind, self._alike = Kind.PLAIN, 0
        self._announced = False
        self._out: dict[str, str] = {}

    def say(self, line: str) -> None:
        """Write the line, unless many like it stand just above it, or it was said before."""
        now = kind(line)
        if found := out_of(line):
            if self._out.get(found.node) == found.reason:
                return
            self._out[found.node] = found.reason
        if now is Kind.WAITING:
            if self._is_due():
                self._line(line)
            return
        if now is not self._kind:
            self._end_of_alike()
        self._kind = now
        self._alike += 1
        self._announced = now is Kind.PLAIN
        if self._alike <= MOST_ALIKE.get(now, self._alike):
            self._line(line)

    def tally(self, tally: Tally) -> None:
        """Write a line when a round starts, now and then while it runs, and when it has ended.

        The line just before may have told already what starts.
        """
        now, before = self._seconds(), self._rows
        self._rows = taken(before, tally, now)
        row = next(
            each
            for each in reversed(self._rows)
            if (each.tally.stage, each.tally.round) == (tally.stage, tally.round)
        )
        if self._rows == before and row.state is not State.RUNNING:
            return
        self._end_of_alike()
        started = len(self._rows) > len(before)
        if started:
            self._began, self._due = now, float(FIRST_SECONDS)
        if row.state is not State.RUNNING:
            self._line(f"{row.name}: {_counts(tally)} in {clock(row.seconds(now))}")
        elif started and not self._announced:
            self._line(f"{row.name}: {words(tally.total, 'run')}")
        elif self._is_due():
            after = f"{tally.ended:,} of {tally.total:,} ended after {clock(row.seconds(now))}"
            self._line(f"{row.name}: {after}{f': {_counts(tally)}' if tally.ended else ''}")
        self._announced = False

    def __enter__(self) -> Self:
        """Write nothing yet."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Say how many lines were left out at the end."""
        self._end_of_alike()

    def _is_due(self) -> bool:
        spent = self._seconds() - self._began
        if spent < self._due:
            return False
        while self._due <= spent:
            self._due *= 2
        return True

    def _end_of_alike(self) -> None:
        left = self._alike - MOST_ALIKE.get(self._kind, self._alike)
        if left > 0:
            self._line(more(left))
        self._kind, self._alike = Kind.PLAIN, 0

    def _line(self, line: str) -> None:
        self._write(f"{self._now():%H:%M:%S} {line}")


def _counts(tally: Tally) -> str:
    known = {"passed": tally.passed, "failed": tally.failed, "unknown": tally.unknown}
    return ", ".join(f"{count:,} {word}" for word, count in known.items() if count) or "nothing"
