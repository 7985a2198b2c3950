"""Show the toolchain's events: a live table in a terminal, plain lines anywhere else."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

from rich.console import Console
from rich.live import Live
from rich.table import Table

from scripts.local.toolchain.events import Event, Plan, Report, State, Step
from scripts.text import clock

__all__ = ["LiveReport", "PlainReport", "announcement", "console", "describe"]

LINE_SECONDS = 30
"""Plain output has one line in this time for a running build."""

REFRESHES_PER_SECOND = 2

STYLES = {
    State.WAITING: "dim",
    State.FETCHING: "cyan",
    State.BUILDING: "cyan",
    State.DONE: "green",
    State.HAVE: "green",
    State.FAILED: "red",
}


@contextmanager
def console() -> Generator[Report]:
    """Yield a report that writes to stderr, live when that is a terminal."""
    terminal = Console(stderr=True)
    if not terminal.is_interactive:
        yield PlainReport(lambda line: print(line, file=sys.stderr, flush=True))  # noqa: T201 - it is what a person reads
        return
    report = LiveReport(terminal)
    try:
        yield report
    finally:
        report.end()


def announcement(plan: Plan) -> list[str]:
    """Say what is going to be built, how long it usually takes, and where it goes."""
    total = sum(task.usual_seconds for task in plan.tasks)
    names = ", ".join(f"{task.name} {task.version}" for task in plan.tasks)
    cores = "core" if plan.cpus == 1 else "cores"
    return [
        f"building {len(plan.tasks)} of {len(plan.tasks) + plan.have} tools from source: {names}",
        (
            f"usually {clock(total)} on two cores when nothing is cached; this machine has "
            f"{plan.cpus} {cores}; an interrupted build goes on where it was"
        ),
        f"programs go to {plan.programs}, logs to {plan.logs}",
    ]


class PlainReport:
    """A line when a state changes, and one each 30 seconds in between."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._said: dict[str, tuple[State, int]] = {}

    def __call__(self, event: Event) -> None:
        """Write what is new in ``event``."""
        if isinstance(event, Plan):
            for line in announcement(event):
                self._write(line)
            return
        said = (event.state, int(event.seconds // LINE_SECONDS))
        if self._said.get(event.task.name) != said:
            self._said[event.task.name] = said
            self._write(f"{event.task.name} {event.task.version}: {describe(event)}")


class LiveReport:
    """One row for each build, redrawn in place."""

    def __init__(self, terminal: Console) -> None:
        self._terminal = terminal
        self._steps: dict[str, Step] = {}
        self._live = Live(
            console=terminal,
            get_renderable=self._table,
            refresh_per_second=REFRESHES_PER_SECOND,
        )

    def __call__(self, event: Event) -> None:
        """Take ``event`` into the table."""
        if isinstance(event, Plan):
            for line in announcement(event):
                self._terminal.print(line, highlight=False)
            for task in event.tasks:
                self._steps[task.name] = Step(task, State.WAITING)
            self._live.start()
        else:
            self._steps[event.task.name] = event

    def end(self) -> None:
        """Leave the last table standing."""
        self._live.stop()

    def _table(self) -> Table:
        table = Table.grid(padding=(0, 2))
        for step in self._steps.values():
            table.add_row(
                step.task.name, step.task.version, f"[{STYLES[step.state]}]{describe(step)}"
            )
        return table


def describe(step: Step) -> str:
    """Say the state of a task, with its times."""
    if step.state is State.BUILDING:
        return f"building {clock(step.seconds)} of about {clock(step.task.usual_seconds)}"
    if step.state is State.DONE:
        return f"done in {clock(step.seconds)}"
    note = f", {step.note}" if step.note else ""
    time_so_far = f" {clock(step.seconds)}" if step.seconds >= 1 else ""
    return f"{step.state}{note}{time_so_far}"
