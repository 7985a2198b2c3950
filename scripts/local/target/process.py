"""Detached processes of a home: started once, found again by record, ended for sure."""

import contextlib
import dataclasses
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

from scripts.local.home import Home
from scripts.local.target.files import read_json, write_json

__all__ = ["Record", "find", "start", "stop"]

START_TOLERANCE_SECONDS = 1.0
"""A process that has the recorded pid but another start time is not ours. The kernel's start time
and the clock that psutil reads it with may differ by some hundredths."""

GRACE_SECONDS = 8.0
"""How long a part may take to end after SIGTERM before it is killed."""


@dataclasses.dataclass(frozen=True)
class Record:
    """What is remembered of a started process."""

    pid: int
    created: float
    """Start time as the kernel tells it, in seconds since the epoch."""

    fingerprint: str
    """Of the command line and the configuration it was started with."""

    version: str


def _path(home: Home, name: str) -> Path:
    return home.pids / f"{name}.json"


def _process(record: Record) -> psutil.Process | None:
    """Give the running process of a record; None if it ended or its pid is another's now."""
    try:
        process = psutil.Process(record.pid)
        same = abs(process.create_time() - record.created) < START_TOLERANCE_SECONDS
        ended = process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return None
    return process if same and not (ended and _is_gone(record.pid)) else None


def _is_gone(pid: int) -> bool:
    """Take an ended process off the table if it is a child of this one.

    As long as threads of it are still ending, it is not gone: it may hold its port.
    """
    try:
        reaped, _ = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return True
    return reaped == pid


def find(home: Home, name: str) -> Record | None:
    """Give the record of a part that is running now, else None."""
    content = read_json(_path(home, name))
    if content is None:
        return None
    record = Record(**content)
    return record if _process(record) else None


def start(
    home: Home,
    name: str,
    argv: Sequence[str],
    *,
    environ: Mapping[str, str],
    fingerprint: str,
    version: str,
) -> Record:
    """Start a process in a session of its own, with its output in its log, and record it."""
    log = home.logs / f"{name}.log"
    # posix_spawn and not Popen: the process outlives this one, and nobody shall wait for it.
    pid = os.posix_spawn(
        argv[0],
        list(argv),
        dict(environ),
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
    )
    try:
        created = psutil.Process(pid).create_time()
    except psutil.NoSuchProcess:
        created = time.time()  # it ended at once; whoever waits for its health will see that
    record = Record(pid, created, fingerprint, version)
    write_json(_path(home, name), dataclasses.asdict(record))
    return record


def stop(
    home: Home,
    name: str,
    *,
    grace: float = GRACE_SECONDS,
    sleep: Callable[[float], None] = time.sleep,
) -> bool:
    """End a part: asked first, then killed with its children. Says whether it was running."""
    path = _path(home, name)
    content = read_json(path)
    if content is None:
        return False
    record = Record(**content)
    process = _process(record)
    if process is None:
        path.unlink(missing_ok=True)
        return False
    children = _children(process)
    with contextlib.suppress(psutil.NoSuchProcess):
        process.terminate()
    deadline = time.monotonic() + grace
    while _process(record) is not None and time.monotonic() < deadline:
        sleep(0.02)
    for left in (process, *children):
        _kill(left)
    while _process(record) is not None:
        sleep(0.02)
    path.unlink(missing_ok=True)
    return True


def _children(process: psutil.Process) -> list[psutil.Process]:
    try:
        return process.children(recursive=True)
    except psutil.NoSuchProcess:
        return []


def _kill(process: psutil.Process) -> None:
    """Kill a process if it still runs; psutil refuses when the pid is another's by now."""
    with contextlib.suppress(psutil.NoSuchProcess):
        process.send_signal(signal.SIGKILL)
