from __future__ import annotations

import pytest

from scripts.local.plugins.command.job import Job, Transcript
from scripts.local.plugins.command.values import Mask, quote
from scripts.local.plugins.shared.wire import Props, Secret

KEY = "-----BEGIN KEY-----\nfirst-line-of-it\n=\n-----END KEY-----\n"


# What Go's %q prints.
@pytest.mark.parametrize(
    ("command", "quoted"),
    [
        ("echo", '"echo"'),
        ('say "hi"\\', r'"say \"hi\"\\"'),
        ("a\n\tb", r'"a\n\tb"'),
        ("naïve ✓", '"naïve ✓"'),
        ("\x1b[0m", r'"\x1b[0m"'),
    ],
)
def test_a_command_is_quoted_as_go_quotes_it(command: str, quoted: str) -> None:
    assert quote(command) == quoted


@pytest.mark.parametrize(
    ("inputs", "shown", "masked"),
    [
        ({"environment": {"T": Secret("s3cret-token")}}, "a s3cret-token b", "a [secret] b"),
        ({"environment": Secret({"T": "s3cret-token"})}, "s3cret-token", "[secret]"),
        ({"stdin": Secret(KEY)}, f"got {KEY}", "got [secret]"),
        ({"stdin": Secret(KEY)}, "first-line-of-it", "[secret]"),
        ({"stdin": Secret(KEY)}, "a = b", "a = b"),
        ({"environment": {"T": "not-secret"}}, "not-secret", "not-secret"),
        ({"environment": {"T": Secret("short")}}, "short", "short"),
        (
            {"connection": Secret({"host": "gpu-node-1.example", "password": "correct-horse"})},
            "gpu-node-1.example refused correct-horse",
            "gpu-node-1.example refused [secret]",
        ),
    ],
)
def test_secret_inputs_are_not_shown(inputs: Props, shown: str, masked: str) -> None:
    assert Mask([inputs])(shown) == masked


def test_lines_are_logged_as_they_come_and_whole() -> None:
    lines: list[str] = []
    transcript = Transcript(None, lines.append)
    transcript.add("stdout", b"one\r\ntw")
    assert lines == ["one"]
    transcript.add("stderr", b"problem\n")
    transcript.add("stdout", b"o \xc3")
    transcript.add("stdout", b"\xa9\n\nlast")
    assert lines == ["one", "problem", "two é", ""]
    transcript.close()
    assert lines[4:] == ["last"]
    assert transcript.output("stdout") == "one\r\ntwo é\n\nlast"
    assert transcript.output("stderr") == "problem"


@pytest.mark.parametrize(
    ("logging", "logged"),
    [
        (None, ["out", "err"]),
        ("stdoutAndStderr", ["out", "err"]),
        ("stdout", ["out"]),
        ("stderr", ["err"]),
        ("none", []),
    ],
)
def test_only_the_streams_that_are_asked_for_are_logged(
    logging: str | None, logged: list[str]
) -> None:
    lines: list[str] = []
    transcript = Transcript(logging, lines.append)
    transcript.add("stdout", b"out\n")
    transcript.add("stderr", b"err\n")
    transcript.close()
    assert lines == logged
    assert (transcript.output("stdout"), transcript.output("stderr")) == ("out", "err")


def test_one_line_feed_is_taken_off_the_end() -> None:
    transcript = Transcript("none", print)
    transcript.add("stdout", b"a\n\n")
    assert transcript.output("stdout") == "a\n"


def test_an_error_carries_the_end_of_a_long_output() -> None:
    transcript = Transcript("none", print)
    transcript.add("stdout", b"x" * (1 << 20))
    transcript.add("stderr", b"the end\n")
    assert str(transcript.failure("exit status 1", "big")) == (
        'exit status 1: running "big":\n(the first 8 characters are left out)\n'
        + "x" * ((1 << 20) - 8)
        + "the end\n"
    )


def test_a_stopped_job_stops_what_starts_late() -> None:
    stopped: list[str] = []
    job = Job(print)
    with job.stoppable(lambda: stopped.append("early")):
        job.stop()
    with job.stoppable(lambda: stopped.append("late")):
        pass
    assert stopped == ["early", "late"]
