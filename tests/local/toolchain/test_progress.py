import io
from pathlib import Path

import pytest
from rich.console import Console

from scripts.local.toolchain import progress
from scripts.local.toolchain.events import Plan, State, Step, Task

KWOK = Task("kwok", "v0.8.0", 101)
KUEUE = Task("kueue", "v0.17.0", 116)
PLAN = Plan((KWOK, KUEUE), 4, Path("/cache/toolchain/logs"), Path("/cache/toolchain"), 8)

ANNOUNCEMENT = [
    "building 2 of 6 tools from source: kwok v0.8.0, kueue v0.17.0",
    (
        "usually 3:37 on two cores when nothing is cached; this machine has 8 cores; "
        "an interrupted build goes on where it was"
    ),
    "programs go to /cache/toolchain, logs to /cache/toolchain/logs",
]


def test_plain_output_has_a_line_at_the_start_each_30_seconds_and_at_the_end() -> None:
    lines: list[str] = []
    report = progress.PlainReport(lines.append)
    report(PLAN)
    report(Step(KWOK, State.WAITING, 0, "another yard builds it"))
    for second in range(3):
        report(Step(KWOK, State.FETCHING, second))
    for second in range(65):
        report(Step(KWOK, State.BUILDING, second))
    report(Step(KWOK, State.DONE, 65))
    report(Step(KUEUE, State.HAVE))
    report(Step(KUEUE, State.FAILED, 5))
    assert lines == [
        *ANNOUNCEMENT,
        "kwok v0.8.0: waiting, another yard builds it",
        "kwok v0.8.0: fetching modules",
        "kwok v0.8.0: building 0:00 of about 1:41",
        "kwok v0.8.0: building 0:30 of about 1:41",
        "kwok v0.8.0: building 1:00 of about 1:41",
        "kwok v0.8.0: done in 1:05",
        "kueue v0.17.0: have",
        "kueue v0.17.0: failed 0:05",
    ]


def test_a_terminal_shows_one_row_for_each_build() -> None:
    terminal = Console(file=io.StringIO(), force_terminal=True, width=120, color_system=None)
    report = progress.LiveReport(terminal)
    report(PLAN)
    report(Step(KWOK, State.BUILDING, 30))
    report.end()
    assert isinstance(terminal.file, io.StringIO)
    last_drawing = terminal.file.getvalue().split("\x1b[2K")[-1]
    assert "kueue  v0.17.0  waiting" in last_drawing
    assert "kwok   v0.8.0   building 0:30 of about 1:41" in terminal.file.getvalue()


def test_nothing_is_drawn_when_nothing_is_built() -> None:
    terminal = Console(file=io.StringIO(), force_terminal=True)
    progress.LiveReport(terminal).end()
    assert isinstance(terminal.file, io.StringIO)
    assert terminal.file.getvalue() == ""


def test_without_a_terminal_lines_go_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    with progress.console() as report:
        report(Step(KWOK, State.HAVE))
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "kwok v0.8.0: have\n")
