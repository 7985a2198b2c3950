"""Run a child with its output in a log, and hold a lock that outlives a killed parent."""

import fcntl
import os
import shlex
import subprocess
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["Tick", "locked", "run", "tail"]

TICK_SECONDS = 1.0
"""How often a waiting caller is told; also how soon it can stop."""

GRACE_SECONDS = 10.0
"""What a child gets to end by itself before it is killed."""

TAIL_LINES = 12
"""Enough for a compiler's complaint, and for the reasons of a refused download."""

Tick = Callable[[float], None]
"""Called with the seconds so far; raises to stop what is waited for."""


def run(
    command: Sequence[str | Path],
    *,
    folder: Path,
    environment: Mapping[str, str],
    log: Path,
    tick: Tick,
    keep: Sequence[int] = (),
) -> int:
    """Run ``command`` in ``folder`` with all its output in ``log``, and return its exit code.

    ``keep`` names descriptors that the child inherits: given a lock's, the lock stays taken
    until the child has ended too, even when this process was killed before it.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as output:
        output.write(f"{shlex.join(map(str, command))}\n".encode())
        output.flush()
        child = subprocess.Popen(  # noqa: S603 - the programs are Go's and Python's installers
            command,
            cwd=folder,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            pass_fds=keep,
        )
        try:
            return _wait(child, tick)
        finally:
            _end(child)


def tail(log: Path, *, without: str = "") -> list[str]:
    """Return the last lines of ``log`` that hold something, but none that starts ``without``."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[1:]
    return [
        line.rstrip()
        for line in lines
        if line.strip() and not (without and line.startswith(without))
    ][-TAIL_LINES:]


@contextmanager
def locked(path: Path, tick: Tick) -> Generator[int]:
    """Hold the lock file ``path``, and yield its descriptor; wait while another holds it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        start = time.monotonic()
        while not _try_lock(descriptor):
            tick(time.monotonic() - start)
            time.sleep(TICK_SECONDS)
        yield descriptor
    finally:
        os.close(descriptor)


def _try_lock(descriptor: int) -> bool:
    with suppress(BlockingIOError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _wait(child: subprocess.Popen[bytes], tick: Tick) -> int:
    start = time.monotonic()
    while True:
        tick(time.monotonic() - start)
        with suppress(subprocess.TimeoutExpired):
            return child.wait(TICK_SECONDS)


def _end(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        child.terminate()
        try:
            child.wait(GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            child.kill()
            child.wait()
