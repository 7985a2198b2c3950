"""A gate as a table that is redrawn in place: its stages, their runs, and what was said last."""

import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from time import monotonic
from types import TracebackType
from typing import Final, Self

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from scripts.gate.lines import MOST_ALIKE, Kind, Out, kind, more, out_of
from scripts.gate.tally import STAGES, Row, State, Tally, fitted, listed, taken
from scripts.text import clock

__all__ = ["Heading", "LiveScreen"]

MOST_LINES: Final = 20
FRAME_LINES: Final = 4
"""Header, the table's head, and an empty line after each."""

LEAST_SAID, MOST_SAID = 3, 6
BAR_WIDTH: Final = 28
WIDTH_FOR_BAR: Final = 100
WIDTH_FOR_ROOM: Final = 80
REFRESHES_PER_SECOND: Final = 4

SIGNS: Final[Mapping[State, tuple[str, str, str]]] = {
    State.WAITING: (" ", " ", "dim"),
    State.RUNNING: ("▸", ">", "cyan"),
    State.PASSED: ("✓", "+", "green"),
    State.FAILED: ("✗", "x", "red"),
    State.UNKNOWN: ("?", "?", "yellow"),
    State.STOPPED: ("!", "!", "yellow"),
    State.ABSENT: ("-", "-", "dim"),
}
"""Of each state its sign, the same for terminals that know ASCII only, and its style."""

BAD, OUT = "bold red", "bold yellow"
NAME: Final = re.compile(r"[\w.-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What a gate is of. ``timeout`` in seconds."""

    pool: str
    wave: str
    nodes: int
    run: str
    timeout: float


class LiveScreen:
    """One row a round, and the last lines below; it fits the terminal, whatever its size."""

    def __init__(
        self,
        console: Console,
        heading: Heading,
        *,
        stages: Sequence[str] = STAGES,
        now: Callable[[], datetime] = lambda: datetime.now(tz=UTC),
        seconds: Callable[[], float] = monotonic,
    ) -> None:
        self._console = console
        self._heading = heading
        self._stages = stages
        self._now = now
        self._seconds = seconds
        self._began = seconds()
        self._ended: float | None = None
        # The thread that redraws reads these while the gate writes: they are replaced, not changed.
        self._rows: tuple[Row, ...] = ()
        self._said: tuple[tuple[datetime, str], ...] = ()
        self._out: dict[str, Out] = {}
        self._live = Live(
            console=console,
            get_renderable=self.picture,
            refresh_per_second=REFRESHES_PER_SECOND,
            redirect_stdout=False,
        )

    def say(self, line: str) -> None:
        """Show a line below the table; the newest on what is waited for replaces the one before."""
        said = deque(self._said)
        if said and kind(said[-1][1]) is kind(line) is Kind.WAITING:
            said.pop()
        said.append((self._now(), line))
        if found := out_of(line):
            before = self._out.get(found.node)
            if before and before.reason == found.reason:
                return
            self._out = {**self._out, found.node: found}
        self._said = tuple(said)

    def tally(self, tally: Tally) -> None:
        """Take the tally into the table."""
        self._rows = taken(self._rows, tally, self._seconds())

    def __enter__(self) -> Self:
        """Begin to draw."""
        self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Draw a last time what is known, and give the terminal back."""
        self._ended = self._seconds()
        try:
            self._live.stop()
        finally:
            self._console.show_cursor(show=True)

    def picture(self) -> RenderableType:
        """Return what stands in the terminal now."""
        over = self._ended is not None
        rows = listed(self._rows, self._stages, over=over)
        # What stays standing at the end may be higher than the terminal: it is not drawn again.
        high = MOST_LINES if over else min(MOST_LINES, self._console.height - 1)
        room = high - FRAME_LINES
        rows = fitted(rows, max(1, room - LEAST_SAID))
        most = max(LEAST_SAID, min(MOST_SAID, room - len(rows)))
        lines = (
            self._last_words(most) if over else [self._line(*each) for each in self._said[-most:]]
        )
        table = self._table(rows)
        return Group(self._head(), Text(), table, *([Text(), *lines] if lines else []))

    def _head(self) -> Text:
        about = self._heading
        spent = (self._seconds() if self._ended is None else self._ended) - self._began
        time = f"{clock(spent)}, {clock(about.timeout - spent)} left"
        ended = f"ended after {clock(spent)}"
        return Text.assemble(
            (f"gate of pool {about.pool} wave {about.wave}", "bold"),
            f"  {about.nodes:,} {'node' if about.nodes == 1 else 'nodes'}",
            f"  {time if self._ended is None else ended}  ",
            (f"run {about.run}", "dim"),
            no_wrap=True,
            overflow="ellipsis",
        )

    def _table(self, rows: Sequence[Row]) -> Table:
        wide = self._console.width >= WIDTH_FOR_ROOM
        space = (0, 2 if wide else 1, 0, 0)
        table = Table(box=None, pad_edge=False, padding=space, header_style="dim")
        table.add_column("  stage", no_wrap=True)
        table.add_column("round", no_wrap=True, overflow="ellipsis")
        bar = self._console.width >= WIDTH_FOR_BAR
        if bar:
            table.add_column("", width=BAR_WIDTH)
        for heading in ("runs", "passed", "failed", "unknown", "time"):
            table.add_column(heading, justify="right", no_wrap=True)
        for row in rows:
            table.add_row(*self._cells(row, bar=bar))
        return table

    def _cells(self, row: Row, *, bar: bool) -> list[RenderableType]:
        sign, plain, style = SIGNS[row.state]
        shown = plain if self._console.options.ascii_only else sign
        stage = Text(f"{shown} {row.tally.stage}", style)
        if row.state in {State.WAITING, State.ABSENT}:
            return [stage, Text(row.state.value, style)]
        tally = row.tally
        drawn = ProgressBar(
            total=max(1, tally.total),
            completed=tally.ended,
            width=BAR_WIDTH,
            complete_style=style,
            finished_style=style,
        )
        done = f"{tally.ended:,}/{tally.total:,}"
        return [
            stage,
            Text(tally.round if row.state is not State.STOPPED else f"{tally.round}, stopped"),
            *([drawn] if bar else []),
            Text(done),
            Text(f"{tally.passed:,}", "green" if tally.passed else "dim"),
            Text(f"{tally.failed:,}", "bold red" if tally.failed else "dim"),
            Text(f"{tally.unknown:,}", "bold yellow" if tally.unknown else "dim"),
            Text(clock(row.seconds(self._seconds() if self._ended is None else self._ended))),
        ]

    def _last_words(self, most: int) -> list[Text]:
        """Return which nodes stay out, and the last of all other lines."""
        out = [said for said in self._said if kind(said[1]) is Kind.OUT]
        others = [said for said in self._said if kind(said[1]) in {Kind.PLAIN, Kind.DETAIL}]
        shown = {*out[: MOST_ALIKE[Kind.OUT]], *others[-most:]}
        lines: list[Text] = []
        for said in self._said:
            if said in shown:
                lines.append(self._line(*said))
            if len(out) > MOST_ALIKE[Kind.OUT] and said == out[-1]:
                lines.append(Text(more(len(out) - MOST_ALIKE[Kind.OUT]), "dim"))
        return lines

    def _line(self, at: datetime, line: str) -> Text:
        """Return a line, cut at the edge: the table must not jump, and the report has it whole."""
        text = Text(f"{at:%H:%M:%S} ", "dim", no_wrap=True, overflow="ellipsis")
        text.append(line, "not dim")
        for word in NAME.finditer(text.plain):
            if found := self._out.get(word[0].rstrip(".")):
                text.stylize(BAD if found.bad else OUT, *word.span())
        return text
