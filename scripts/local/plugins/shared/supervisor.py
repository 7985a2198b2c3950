"""Run one command, and end its whole family when the one who asked is gone.

Started by ``children.Child`` with one end of a socket pair as its only argument. It reads what to
run as one line of JSON, runs it, and answers with one line of JSON: how it ended. Then it waits.
``done`` tells it to leave, and to leave alone what the command put in the background on purpose.
The end of the stream tells it to end every process that descends from the command: whoever held
the other end has stopped the command, or has died.

It imports little, because it starts once for each command.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any, Final

_GRACE_SECONDS: Final = 2.0
"""Time between SIGTERM and SIGKILL; the engine gives a plugin five seconds to end."""

_POLL_SECONDS: Final = 0.02
_PR_SET_PDEATHSIG: Final = 1
_PR_SET_CHILD_SUBREAPER: Final = 36
_LINUX: Final = sys.platform == "linux"


def main(descriptor: int) -> None:
    """Serve one command over the socket ``descriptor``."""
    control = socket.socket(fileno=descriptor)
    order = control.makefile("rb").readline()
    if not order:
        return
    if _LINUX:
        # Orphans of the command become our children, so they can be found and ended.
        _prctl(_PR_SET_CHILD_SUBREAPER, 1)
    command_line = json.loads(order)
    try:
        command = _start(command_line)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in what is passed
        reason = (getattr(error, "strerror", "") or str(error)).lower()
        _answer(control, {"failed": f"fork/exec {command_line['argv'][0]}: {reason}"})
        return
    _let_go_of_output()
    threading.Thread(target=_report, args=(control, command), daemon=True).start()
    if control.recv(16) != b"done":
        _end_family(command.pid)


def _start(order: dict[str, Any]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(  # noqa: S603 - running what the user's program says is the purpose
        order["argv"],
        cwd=order["cwd"],
        env=order["env"],
        start_new_session=True,
        preexec_fn=_die_with_parent if _LINUX else None,  # noqa: PLW1509 - no thread runs yet
    )


def _die_with_parent() -> None:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _let_go_of_output() -> None:
    """Leave the streams to the command, whose end is then the end of the streams."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)


def _report(control: socket.socket, command: subprocess.Popen[bytes]) -> None:
    code = command.wait()
    _answer(control, {"code": code} if code >= 0 else {"signal": -code})


def _answer(control: socket.socket, ending: dict[str, object]) -> None:
    with contextlib.suppress(OSError):  # the reader may be gone; then the main thread acts
        control.sendall(json.dumps(ending).encode() + b"\n")


def _end_family(leader: int) -> None:
    """Ask every descendant to end, and force those that are left after the grace time."""
    asked: set[int] = set()
    deadline = time.monotonic() + _GRACE_SECONDS
    while members := _members(leader):
        forced = time.monotonic() > deadline
        for member in members if forced else members - asked:
            with contextlib.suppress(ProcessLookupError):
                os.kill(member, signal.SIGKILL if forced else signal.SIGTERM)
        asked |= members
        time.sleep(_POLL_SECONDS)
    # The adopted dead are ours to bury; not every first process does it.
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def _members(leader: int) -> set[int]:
    """Give what ``os.kill`` takes: the living descendants, or elsewhere than on Linux the group."""
    if not _LINUX:
        try:
            os.killpg(leader, 0)
        except ProcessLookupError:
            return set()
        return {-leader}
    parents = dict(filter(None, map(_parent_of, Path("/proc").iterdir())))
    family = {os.getpid()}
    while children := {pid for pid, parent in parents.items() if parent in family} - family:
        family |= children
    return family - {os.getpid()}


def _parent_of(folder: Path) -> tuple[int, int] | None:
    """Give a process and its parent, or nothing for what is no process or is dead already."""
    if not folder.name.isdigit():
        return None
    try:
        # The name of the program may hold spaces and parentheses; the fields stand behind it.
        state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
    except OSError:
        return None
    return None if state == "Z" else (int(folder.name), int(parent))


if __name__ == "__main__":
    main(int(sys.argv[1]))
