"""Processes of this machine: short-lived, but real."""

import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from scripts.local.home import Home
from scripts.local.target import process

pytestmark = pytest.mark.slow

STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN);"
    " print('up', flush=True); time.sleep(60)"
)


@pytest.fixture
def home(tmp_path: Path) -> Iterator[Home]:
    home = Home(tmp_path)
    home.make()
    yield home
    for path in home.pids.glob("*.json"):
        process.stop(home, path.stem, grace=0)


def start(home: Home, program: str) -> process.Record:
    argv = [sys.executable, "-c", program]
    return process.start(home, "part", argv, environ={}, fingerprint="f", version="1")


def wait_for(home: Home, text: str) -> None:
    deadline = time.monotonic() + 10
    while text not in (home.logs / "part.log").read_text():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_started_process_is_found_again_and_leads_its_own_session(home: Home) -> None:
    record = start(home, "import time; print('hello', flush=True); time.sleep(60)")
    assert process.find(home, "part") == record
    assert os.getsid(record.pid) == record.pid != os.getsid(0)
    wait_for(home, "hello")


def test_a_process_that_ended_is_not_found(home: Home) -> None:
    record = start(home, "pass")
    psutil.Process(record.pid).wait(10)
    assert process.find(home, "part") is None
    assert process.stop(home, "part") is False


def test_a_stopped_process_is_gone_with_its_record(home: Home) -> None:
    record = start(home, "import time; time.sleep(60)")
    assert process.stop(home, "part") is True
    assert not psutil.pid_exists(record.pid)
    assert list(home.pids.iterdir()) == []


def test_a_process_that_does_not_listen_is_killed_with_its_children(home: Home) -> None:
    child = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {STUBBORN!r}])\n"
    record = start(home, child + STUBBORN)
    wait_for(home, "up\nup\n")
    [stubborn] = psutil.Process(record.pid).children()
    assert process.stop(home, "part", grace=0.1) is True
    assert not psutil.pid_exists(record.pid)
    gone, _ = psutil.wait_procs([stubborn], timeout=10)
    assert gone == [stubborn]


def test_a_pid_that_another_program_has_now_is_left_alone(home: Home) -> None:
    stranger = start(home, "import time; time.sleep(60)")
    path = home.pids / "part.json"
    content = json.loads(path.read_text())
    path.write_text(json.dumps(content | {"created": content["created"] - 3600}))
    assert process.find(home, "part") is None
    assert process.stop(home, "part") is False
    assert psutil.Process(stranger.pid).is_running()
    os.kill(stranger.pid, signal.SIGKILL)
    os.waitpid(stranger.pid, 0)


def test_a_part_that_was_never_started_is_not_stopped(home: Home) -> None:
    assert process.find(home, "part") is None
    assert process.stop(home, "part") is False
