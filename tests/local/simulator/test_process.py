"""The simulator as a process: quick to start, and never without a loadable state."""

import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .conftest import KUBE_CA, KUBE_ENDPOINT, Account
from .everything import build, snapshot

pytestmark = pytest.mark.slow

ACCOUNT = "111122223333"
SOON_SECONDS = 60
SAVED_SECONDS = 3
"""A save is due half a second after a change; the rest is for a busy machine."""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def process(state: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    ca = state.parent / "ca.pem"
    ca.write_text(KUBE_CA, encoding="utf-8")
    command = [sys.executable, "-m", "scripts.local.simulator", "--port", str(port)]
    options = ["--state", str(state), "--kube-endpoint", KUBE_ENDPOINT, "--kube-ca", str(ca)]
    with subprocess.Popen([*command, *options], stderr=subprocess.PIPE) as running:
        try:
            yield running
        finally:
            running.kill()


def wait_for_health(port: int) -> None:
    deadline = time.monotonic() + SOON_SECONDS
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/trainyard/health"):
                return
        except urllib.error.URLError:
            time.sleep(0.05)
    pytest.fail("the simulator did not answer")


def test_a_killed_process_comes_back_with_everything(tmp_path: Path) -> None:
    port, state = free_port(), tmp_path / "state"
    account = Account(f"http://127.0.0.1:{port}", ACCOUNT)
    with process(state, port) as running:
        wait_for_health(port)
        build(account)
        before = snapshot(account)
        time.sleep(SAVED_SECONDS)
        running.kill()
    with process(state, port):
        wait_for_health(port)
        assert snapshot(account) == before


def test_a_process_killed_while_it_saves_leaves_a_loadable_file(tmp_path: Path) -> None:
    port, state = free_port(), tmp_path / "state"
    ecr = Account(f"http://127.0.0.1:{port}", ACCOUNT).client("ecr")
    made = 0
    for _ in range(3):
        with process(state, port) as running:
            wait_for_health(port)
            there = len(ecr.describe_repositories()["repositories"])
            assert there <= made
            assert there > 0 or made == 0
            deadline = time.monotonic() + SAVED_SECONDS
            while time.monotonic() < deadline:
                made += 1
                ecr.create_repository(repositoryName=f"repository-{made}")
            running.kill()
    with process(state, port):
        wait_for_health(port)
        assert 0 < len(ecr.describe_repositories()["repositories"]) <= made


def test_a_process_that_is_told_to_end_saves_first(tmp_path: Path) -> None:
    port, state = free_port(), tmp_path / "state"
    ecr = Account(f"http://127.0.0.1:{port}", ACCOUNT).client("ecr")
    with process(state, port) as running:
        wait_for_health(port)
        ecr.create_repository(repositoryName="last")
        running.send_signal(signal.SIGTERM)
        assert running.wait(SOON_SECONDS) == 0
    with process(state, port):
        wait_for_health(port)
        [found] = ecr.describe_repositories()["repositories"]
        assert found["repositoryName"] == "last"


def test_a_state_of_another_version_ends_the_start_with_a_message(tmp_path: Path) -> None:
    state = tmp_path / "state"
    state.mkdir()
    (state / "aws.state").write_bytes(b'{"format": 0}\n')
    with process(state, free_port()) as running:
        _, errors = running.communicate(timeout=SOON_SECONDS)
        assert running.returncode == 2
    [line] = errors.decode().splitlines()
    assert line.startswith(
        f"error: the simulator's state file {state / 'aws.state'} was written by format 0, this is"
    )
