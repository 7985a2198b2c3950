import io
import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import pytest
from rich.console import Console

from scripts.gate.screen import Heading, LiveScreen, PlainScreen, Screen, Tally, screen_for
from scripts.gate.sweep import FULL_SWEEP

HEADING = Heading(pool="train", wave="1", nodes=1024, run="20261201-080000-ab12", timeout=3600)
HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"

TABLE = """\
gate of pool train wave 1  1,024 nodes  5:50, 54:10 left  run 20261201-080000-ab12

  stage    round                                         runs  passed  failed  unknown  time
✗ static   1        ━━━━━━━━━━━━━━━━━━━━━━━━━━━━  1,024/1,024   1,022       1        1  1:10
✓ static   2        ━━━━━━━━━━━━━━━━━━━━━━━━━━━━          1/1       1       0        0  0:40
✓ dcgm     1        ━━━━━━━━━━━━━━━━━━━━━━━━━━━━  1,023/1,023   1,023       0        0  3:20
- alone    not run
▸ pairs    1        ━━━━━━━━━━━                       201/511     200       1        0  0:40
  sweep    waiting
  storage  waiting

08:00:00 1024 of 1024 nodes Ready
08:05:10 pairs, round 1: 511 pairs at once
08:05:50 waiting for 310 Jobs: 310 Running (gate-p1-0 and 309 more)
08:05:50   node-0003 and node-0004: 210 GB/s at 8 GiB, below 430"""


class Time:
    """A clock that stands still until somebody turns it."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    def now(self) -> datetime:
        return datetime(2026, 12, 1, 8, tzinfo=UTC) + timedelta(seconds=self.seconds)


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def plain(time: Time) -> tuple[PlainScreen, list[str]]:
    lines: list[str] = []
    return PlainScreen(lines.append, now=time.now, seconds=time), lines


def live(time: Time, width: int = 100, height: int = 30) -> tuple[LiveScreen, Callable[[], str]]:
    console = Console(
        file=Terminal(),
        width=width,
        height=height,
        color_system=None,
        force_terminal=True,
        record=True,
    )
    screen = LiveScreen(console, HEADING, now=time.now, seconds=time)

    def shown() -> str:
        console.print(screen.picture())
        return "\n".join(line.rstrip() for line in console.export_text().splitlines())

    return screen, shown


def play(screen: Screen, time: Time) -> None:
    """Play a gate up to the middle of its pairs."""
    screen.say("1024 of 1024 nodes Ready")
    screen.tally(Tally("static", "1", 1024))
    time.seconds = 70
    screen.tally(Tally("static", "1", 1024, passed=1022, failed=1, unknown=1))
    screen.tally(Tally("static", "2", 1))
    time.seconds = 110
    screen.tally(Tally("static", "2", 1, passed=1))
    screen.tally(Tally("dcgm", "1", 1023))
    time.seconds = 310
    screen.tally(Tally("dcgm", "1", 1023, passed=1023))
    screen.say("pairs, round 1: 511 pairs at once")
    screen.tally(Tally("pairs", "1", 511))
    screen.say("waiting for 511 Jobs: 511 Pending (gate-p1-0 and 510 more)")
    time.seconds = 350
    screen.say("waiting for 310 Jobs: 310 Running (gate-p1-0 and 309 more)")
    screen.tally(Tally("pairs", "1", 511, passed=200, failed=1))
    screen.say("  node-0003 and node-0004: 210 GB/s at 8 GiB, below 430")


def test_plain_lines_tell_when_a_round_starts_and_ends_and_how_it_goes() -> None:
    time = Time()
    screen, lines = plain(time)
    with screen:
        play(screen, time)
    assert lines == [
        "08:00:00 1024 of 1024 nodes Ready",
        "08:01:10 static, round 1: 1,022 passed, 1 failed, 1 unknown in 1:10",
        "08:01:10 static, round 2: 1 run",
        "08:01:50 static, round 2: 1 passed in 0:40",
        "08:01:50 dcgm, round 1: 1023 runs",
        "08:05:10 dcgm, round 1: 1,023 passed in 3:20",
        "08:05:10 pairs, round 1: 511 pairs at once",
        "08:05:50 waiting for 310 Jobs: 310 Running (gate-p1-0 and 309 more)",
        "08:05:50   node-0003 and node-0004: 210 GB/s at 8 GiB, below 430",
    ]


def test_a_round_of_twenty_minutes_has_six_plain_lines_in_between_however_many_runs_end() -> None:
    time = Time()
    screen, lines = plain(time)
    for second in range(1200):
        time.seconds = second
        screen.say(f"waiting for {1200 - second} Jobs: 1 Running (a)")
        screen.tally(Tally("static", "1", 1200, passed=second))
    assert [line[9:] for line in lines if " ended after " in line or "waiting" in line] == [
        "waiting for 1170 Jobs: 1 Running (a)",
        "waiting for 1140 Jobs: 1 Running (a)",
        "waiting for 1080 Jobs: 1 Running (a)",
        "waiting for 960 Jobs: 1 Running (a)",
        "waiting for 720 Jobs: 1 Running (a)",
        "waiting for 240 Jobs: 1 Running (a)",
    ]


def test_a_plain_line_tells_how_many_runs_of_a_round_have_ended() -> None:
    time = Time()
    screen, lines = plain(time)
    screen.tally(Tally("sweep", "all_gather", 1))
    time.seconds = 30
    screen.tally(Tally("sweep", "all_gather", 1))
    screen.tally(Tally("static", "1", 1024))
    time.seconds = 95
    screen.tally(Tally("static", "1", 1024, 1000, 5))
    assert lines == [
        "08:00:00 sweep all_gather: 1 run",
        "08:00:30 sweep all_gather: 0 of 1 ended after 0:30",
        "08:00:30 static, round 1: 1024 runs",
        "08:01:35 static, round 1: 1,005 of 1,024 ended after 1:05: 1,000 passed, 5 failed",
    ]


def test_a_round_that_has_ended_is_told_once_in_plain_lines() -> None:
    screen, lines = plain(Time())
    for _ in range(3):
        screen.tally(Tally("static", "", 2, passed=2))
    assert lines == ["08:00:00 static: 2 passed in 0:00"]


def test_of_many_lines_alike_plain_output_has_a_few_and_counts_the_rest() -> None:
    screen, lines = plain(Time())
    with screen:
        for index in range(64):
            screen.say(f"  node-{index:03} alone: a GPU is lost")
        for index in range(1024):
            screen.say(f"node-{index:04} stays out (unknown): the wave did not open")
    assert lines[5:7] == [
        "08:00:00   node-005 alone: a GPU is lost",
        "08:00:00   … and 58 more like these, all in the report",
    ]
    assert lines[22:] == [
        "08:00:00 node-0015 stays out (unknown): the wave did not open",
        "08:00:00   … and 1,008 more like these, all in the report",
    ]


def test_a_gate_over_1024_nodes_with_16_bad_ones_fits_into_a_hundred_plain_lines() -> None:
    time = Time()
    screen, lines = plain(time)
    rounds = [(stage, "1", 1024, 180) for stage in ("static", "dcgm", "alone")]
    rounds += [("pairs", number, 512, 180) for number in "123"]
    rounds += [("sweep", name, 1, 300) for name in FULL_SWEEP]
    rounds += [("storage", "1", 1024, 120)]
    with screen:
        for stage, name, total, seconds in rounds:
            screen.say(f"{stage} of 1024 nodes")
            for second in range(seconds + 1):
                time.seconds += 1
                screen.say(f"waiting for {total} Jobs: {second} Running (gate-1 and others)")
                ended = total * second // seconds
                bad = 16 if ended == total > 1 else 0
                screen.tally(Tally(stage, name, total, ended - bad, bad))
            for index in range(16 if stage == "pairs" else 0):
                screen.say(f"  node-{index:04} and node-{index + 16:04}: slow")
        for index in range(16):
            screen.say(f"node-{index:04} stays out (failed): slow with two proven nodes")
    assert lines[-16].endswith("node-0000 stays out (failed): slow with two proven nodes")
    assert len(lines) < 100


def test_a_terminal_shows_stages_runs_and_the_last_lines() -> None:
    time = Time()
    screen, shown = live(time)
    play(screen, time)
    assert shown() == TABLE


def test_a_narrow_terminal_has_no_bars_and_cuts_long_lines() -> None:
    time = Time()
    screen, shown = live(time, width=60)
    play(screen, time)
    lines = shown().splitlines()
    assert lines[0] == "gate of pool train wave 1  1,024 nodes  5:50, 54:10 left  r…"
    assert lines[2] == "  stage   round          runs passed failed unknown time"
    assert lines[3] == "✗ static  1       1,024/1,024  1,022      1       1 1:10"
    assert lines[-2] == "08:05:50 waiting for 310 Jobs: 310 Running (gate-p1-0 and 3…"


@pytest.mark.parametrize("height", [6, 8, 12, 16, 24, 50])
def test_the_table_is_never_higher_than_the_terminal_and_keeps_what_runs(height: int) -> None:
    time = Time()
    screen, shown = live(time, height=height)
    for number in range(30):
        time.seconds += 1
        screen.tally(Tally("search", str(number), 4, failed=4))
        screen.say(f"searching, round {number}")
    screen.tally(Tally("search", "30", 4, failed=2))
    lines = shown().splitlines()
    assert len(lines) <= max(8, min(height - 1, 20))
    assert any(line.split()[:3] == ["▸", "search", "30"] for line in lines)


def test_at_the_end_the_table_tells_what_was_stopped_and_names_who_stays_out() -> None:
    time = Time()
    screen, shown = live(time)
    with screen:
        play(screen, time)
        for index in range(18):
            screen.say(f"node-{index:04} stays out (failed): a GPU is lost")
        screen.say("entered in the blacklist: node-0000")
        time.seconds = 360
    out = [f"08:05:50 node-{index:04} stays out (failed): a GPU is lost" for index in range(16)]
    lines = shown().splitlines()[-32:]
    assert lines[0].startswith("gate of pool train wave 1  1,024 nodes  ended after 6:00  run")
    assert [line.split()[:4] for line in lines[6:10]] == [
        ["-", "alone", "not", "run"],
        ["!", "pairs", "1,", "stopped"],
        ["-", "sweep", "not", "run"],
        ["-", "storage", "not", "run"],
    ]
    assert lines[11:] == [
        "08:00:00 1024 of 1024 nodes Ready",
        "08:05:10 pairs, round 1: 511 pairs at once",
        "08:05:50   node-0003 and node-0004: 210 GB/s at 8 GiB, below 430",
        *out,
        "  … and 2 more like these, all in the report",
        "08:05:50 entered in the blacklist: node-0000",
    ]


@pytest.mark.parametrize(
    ("said", "code"),
    [("is bad", "1;31"), ("stays out (failed)", "1;31"), ("stays out", "1;33")],
)
def test_a_bad_node_is_red_wherever_it_is_named_and_a_held_one_is_not(said: str, code: str) -> None:
    stream = Terminal()
    console = Console(file=stream, width=100, color_system="standard", force_terminal=True)
    screen = LiveScreen(console, HEADING)
    screen.say(f"node-1 {said}: slow")
    screen.say("entered: node-1, node-12.")
    console.print(screen.picture())
    assert re.findall(r"\x1b\[([\d;]+)m(node-\d+)", stream.getvalue()) == [
        (code, "node-1"),
        (code, "node-1"),
    ]


def test_why_a_node_is_out_is_told_once_unless_it_changes() -> None:
    time = Time()
    table, shown = live(time)
    screen, lines = plain(time)
    for each in (screen, table):
        each.say("node-1 is bad: slow with two proven nodes")
        each.say("node-1 stays out: slow with two proven nodes")
        each.say("node-1 stays out: wave failed as a whole: slow")
    told = [
        "08:00:00 node-1 is bad: slow with two proven nodes",
        "08:00:00 node-1 stays out: wave failed as a whole: slow",
    ]
    assert lines == told
    assert shown().splitlines()[-2:] == told


@pytest.mark.parametrize("error", [SystemExit(3), KeyboardInterrupt(), ValueError("a bug")])
def test_whatever_ends_a_gate_the_terminal_gets_its_cursor_back(error: BaseException) -> None:
    stream = Terminal()
    console = Console(file=stream, width=100, height=30, color_system=None, force_terminal=True)
    screen = LiveScreen(console, HEADING)
    screen.tally(Tally("static", "1", 4, passed=1))
    with pytest.raises(type(error)), screen:
        raise error
    written = stream.getvalue()
    assert written.rindex(SHOW) > written.rindex(HIDE)
    assert "! static   1, stopped" in written[written.rindex("gate of pool") :]


@pytest.mark.parametrize(
    ("stream", "environment", "asked", "kind"),
    [
        (Terminal(), {"TERM": "xterm-256color"}, None, LiveScreen),
        (Terminal(), {"TERM": "xterm", "NO_COLOR": "1"}, None, LiveScreen),
        (Terminal(), {"TERM": "xterm", "CI": "true"}, None, PlainScreen),
        (Terminal(), {"TERM": "dumb"}, None, PlainScreen),
        (io.StringIO(), {"TERM": "xterm"}, None, PlainScreen),
        (Terminal(), {"TERM": "xterm"}, False, PlainScreen),
        (io.StringIO(), {"CI": "true"}, True, LiveScreen),
    ],
)
def test_a_table_is_shown_where_it_can_be_seen_or_is_asked_for(
    stream: io.StringIO, environment: dict[str, str], asked: object, kind: type[Screen]
) -> None:
    live = asked if isinstance(asked, bool) else None
    assert isinstance(screen_for(stream, environment, HEADING, live=live), kind)


def test_a_terminal_without_the_signs_gets_plain_ones() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    console = Console(file=stream, width=100, height=30, color_system=None, force_terminal=True)
    screen = LiveScreen(console, HEADING)
    play(screen, Time())
    console.print(screen.picture())
    stream.seek(0)
    assert [line[:10] for line in stream.read().splitlines()[3:6]] == [
        "x static  ",
        "+ static  ",
        "+ dcgm    ",
    ]
