from __future__ import annotations

import signal
import subprocess
import sys
import time

import pytest

from scripts.local.plugins.shared.engine import Engine
from tests.local.plugins.shared.support import EngineLog, alive, eventually, served

PLUGIN = (
    "from scripts.local.plugins.shared import serving\n"
    "serving.serve(lambda server: None, on_stop=lambda: print('stopped', flush=True))\n"
)


def test_each_kind_of_line_reaches_the_log_of_the_engine() -> None:
    log = EngineLog()
    with served(log.register) as address:
        engine = Engine(address)
        engine.debug("a")
        engine.info("b", "urn")
        engine.status("c", "urn")
        engine.warning("d")
        engine.error("e")
    assert log.lines == [
        ("debug", "", "a"),
        ("info", "urn", "b"),
        ("info (status)", "urn", "c"),
        ("warning", "", "d"),
        ("error", "", "e"),
    ]


def test_a_line_is_dropped_when_there_is_no_engine() -> None:
    Engine("").info("nobody")
    Engine("127.0.0.1:1").info("nobody")


SIGNALLED = (
    "import signal, threading\n"
    "def ask(): signal.pthread_kill(threading.get_ident(), signal.{})\n"
    "threading.Timer(0.3, ask).start()\n"
)


def plugin(stdin: int = subprocess.PIPE, before: str = "") -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", before + PLUGIN], stdin=stdin, stdout=subprocess.PIPE, text=True
    )


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_plugin_prints_its_port_and_ends_quietly_on_a_signal(number: signal.Signals) -> None:
    with plugin() as process:
        assert process.stdout is not None
        assert 0 < int(process.stdout.readline()) < 65536
        process.send_signal(number)
        assert process.stdout.read() == "stopped\n"
        assert process.wait() == 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_that_another_thread_than_the_first_gets_ends_a_plugin_too(name: str) -> None:
    with plugin(before=SIGNALLED.format(name)) as process:
        try:
            told, _ = process.communicate(timeout=10)
        finally:
            process.kill()
        assert told.splitlines()[1:] == ["stopped"]
        assert process.returncode == 0


@pytest.mark.slow
def test_a_plugin_ends_when_the_engine_lets_go_of_its_stdin() -> None:
    with plugin() as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.readline()
        process.stdin.close()
        assert process.stdout.read() == "stopped\n"
        assert process.wait() == 0


@pytest.mark.slow
def test_a_plugin_without_a_pipe_ends_when_its_parent_dies() -> None:
    shim = "import subprocess, sys; subprocess.run([sys.executable, '-c', sys.argv[1]])"
    with subprocess.Popen(
        [sys.executable, "-c", shim, "import os; print(os.getpid(), flush=True)\n" + PLUGIN],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        parent.stdout.readline()
        time.sleep(0.1)
        assert alive(pid)
        parent.kill()
        assert eventually(lambda: not alive(pid))
