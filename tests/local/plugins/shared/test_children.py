from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from scripts.local.plugins.shared.children import Child, ChildError, Ending, Running
from tests.local.plugins.shared.support import alive, eventually

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PARENT = """
import os, sys
from scripts.local.plugins.shared.children import Child
argv = ["/bin/sh", "-c", sys.argv[1]]
Child.start(argv, cwd=".", env=dict(os.environ), capture=False).wait()
"""
STUBBORN = 'trap "" TERM HUP; while :; do sleep 0.1; done'


def start(script: str, *, stdin: bytes | None = None, cwd: str = ".") -> Child:
    return Child.start(["/bin/sh", "-c", script], cwd=cwd, env=dict(os.environ), stdin=stdin)


def read(child: Child) -> dict[str, bytes]:
    read = {"stdout": b"", "stderr": b""}
    for stream, chunk in child.output():
        read[stream] += chunk
    return read


def pids(child: Child, count: int) -> Iterator[int]:
    """Read the process ids that a script prints, one a line."""
    text = b""
    for _, chunk in child.output():
        text += chunk
        if text.count(b"\n") == count:
            break
    return map(int, text.split())


@pytest.mark.parametrize(
    ("ending", "text", "ok"),
    [
        (Ending(code=0), "exit status 0", True),
        (Ending(code=3), "exit status 3", False),
        (Ending(signal=signal.SIGKILL), "signal: killed", False),
        (Ending(signal=signal.SIGSEGV), "signal: segmentation fault", False),
        (Ending(failed="fork/exec x: permission denied"), "fork/exec x: permission denied", False),
    ],
)
def test_an_ending_is_worded_as_go_words_it(ending: Ending, text: str, *, ok: bool) -> None:
    assert (str(ending), ending.ok) == (text, ok)


@pytest.mark.slow
def test_a_child_reads_and_writes_and_ends_with_its_code() -> None:
    with start("cat; echo problem >&2; exit 7", stdin=b"given") as child:
        assert read(child) == {"stdout": b"given", "stderr": b"problem\n"}
        assert child.wait() == Ending(code=7)


@pytest.mark.slow
def test_a_child_without_stdin_reads_the_end_at_once() -> None:
    with start("cat; echo done") as child:
        assert read(child)["stdout"] == b"done\n"


@pytest.mark.slow
def test_a_child_need_not_read_its_stdin() -> None:
    with start("exit 0", stdin=b"x" * 1_000_000) as child:
        assert child.wait() == Ending(code=0)


@pytest.mark.slow
def test_the_order_is_no_argument_of_the_supervisor() -> None:
    script = f"tr '\\0' ' ' < /proc/$PPID/cmdline; : {'canary'}"
    with start(script) as child:
        assert b"canary" not in read(child)["stdout"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("argv", "cwd", "message"),
    [
        (["no-such-program"], ".", 'exec: "no-such-program": executable file not found in $PATH'),
        (["/bin/sh"], "/no/such/folder", "chdir /no/such/folder: no such file or directory"),
    ],
)
def test_what_does_not_exist_cannot_be_started(argv: list[str], cwd: str, message: str) -> None:
    with pytest.raises(ChildError) as caught:
        Child.start(argv, cwd=cwd, env={})
    assert str(caught.value) == message


@pytest.mark.slow
@pytest.mark.parametrize(
    ("argv", "env", "message"),
    [
        (["/no/such/program"], {}, "fork/exec /no/such/program: no such file or directory"),
        (["/etc/passwd"], {}, "fork/exec /etc/passwd: permission denied"),
        (["/bin/true"], {"A": "\0"}, "fork/exec /bin/true: embedded null byte"),
    ],
)
def test_what_cannot_run_says_why(argv: list[str], env: dict[str, str], message: str) -> None:
    with Child.start(argv, cwd=".", env=env) as child:
        assert str(child.wait()) == message


@pytest.mark.slow
def test_a_stopped_child_dies_with_its_family_even_in_another_session() -> None:
    script = f"echo $$; setsid sh -c 'echo $$; {STUBBORN}' & sleep 1000 & echo $!; wait"
    with start(script) as child:
        family = list(pids(child, 3))
        assert all(map(alive, family))
        child.stop()
        assert not any(map(alive, family))


@pytest.mark.slow
def test_a_child_that_is_asked_can_still_clean_up(tmp_path: Path) -> None:
    clean = f"sleep 0.3; touch {tmp_path}/clean; exit"
    script = f"trap '{clean}' TERM; echo $$; while :; do sleep 0.05; done"
    with start(script) as child:
        list(pids(child, 1))
    assert (tmp_path / "clean").exists()


@pytest.mark.slow
def test_what_a_released_child_left_in_the_background_goes_on() -> None:
    with start("sleep 1000 >/dev/null 2>&1 & echo $!") as child:
        [left] = map(int, read(child)["stdout"].split())
        assert child.wait() == Ending(code=0)
        child.release()
    assert alive(left)
    os.kill(left, signal.SIGKILL)


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_a_child_dies_with_the_process_that_started_it(how: signal.Signals) -> None:
    script = f"echo $$; setsid sh -c 'echo $$; {STUBBORN}' & sleep 1000 & echo $!; wait"
    with subprocess.Popen([sys.executable, "-c", PARENT, script], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        family = [int(parent.stdout.readline()) for _ in range(3)]
        assert all(map(alive, family))
        parent.send_signal(how)
        assert eventually(lambda: not any(map(alive, family)))


@pytest.mark.slow
def test_stopping_everything_stops_what_comes_later_too() -> None:
    running = Running()
    with start("sleep 1000") as first, running.hold(first):
        stopper = threading.Thread(target=running.stop)
        stopper.start()
        assert first.wait() == Ending(signal=signal.SIGKILL)
        stopper.join()
        with start("sleep 1000") as late, running.hold(late):
            assert late.wait() == Ending(signal=signal.SIGKILL)
