"""Captures a real node: runs each command of ``node_check.sh`` and keeps its output as it is.

Every command is a process of its own with a time limit. One that even a kill does not end (a driver
that hangs in the kernel) is left behind, and the next one runs.
"""

import os
import signal
import socket
import subprocess
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path

from scripts.errors import UsageError
from scripts.node.capture import FOLDER_FIRST, NOTE
from scripts.node.profiles import policy

__all__ = ["SCRIPT", "dcgm_environment", "take"]

SCRIPT = Path(__file__).parents[1] / "jobs" / "node_check.sh"
SHELL = "/bin/sh"

MISSING = 127
TIMEOUT_SECONDS = 5
"""How long a process may take to die."""

MAX_BYTES = 16 * 2**20
"""Of one output; a command that prints without an end is cut by its time limit only after that."""


def dcgm_environment(level: int) -> dict[str, str]:
    """Return what the script must be told to run DCGM's diagnostics of a level, 1 to 4."""
    return {"CHECK_DCGM": str(level), "CHECK_DCGM_SECONDS": str(policy().dcgm.seconds[level])}


def take(
    folder: Path,
    *,
    timeout: float | None = None,
    dcgm: int | None = None,
    progress: Callable[[str], None] = lambda _line: None,
    script: Path = SCRIPT,
) -> int:
    """Capture this machine into ``folder``, which must be new or empty; return how many sections.

    ``timeout`` (seconds) takes the place of each command's own limit.

    Raises
    ------
    UsageError
        If the folder holds something: an old capture must not pass for a new one.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty; give a new folder, so that no old output is read")
    folder.mkdir(parents=True, exist_ok=True)
    environment = {**os.environ, **(dcgm_environment(dcgm) if dcgm else {})}
    note = folder / NOTE
    note.write_text(f"{FOLDER_FIRST}\nhost {socket.gethostname()}\nstarted {_now()}\n")
    count = 0
    for name, limit in _sections(script, environment):
        ended = _run(script, name, timeout or limit, folder / f"{name}.out", environment)
        (folder / f"{name}.end").write_text(f"{ended}\n")
        progress(f"{name}: {ended}")
        count += 1
    with note.open("a") as stream:
        stream.write(f"done {count} sections at {_now()}\n")
    return count


def _now() -> str:
    return datetime.now(tz=UTC).isoformat(timespec="seconds")


def _sections(script: Path, environment: Mapping[str, str]) -> Iterator[tuple[str, float]]:
    listed = subprocess.run(  # noqa: S603 - our own script
        [SHELL, str(script), "--list"],
        env=dict(environment),
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout
    for line in listed.splitlines():
        name, seconds = line.split()
        yield name, float(seconds)


def _run(
    script: Path, name: str, seconds: float, output: Path, environment: Mapping[str, str]
) -> str:
    """Run one command with its output in a file; return how it ended, in the words of the form."""
    with output.open("wb") as stream:
        process = subprocess.Popen(  # noqa: S603 - our own script
            [SHELL, str(script), "--raw", name],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            _kill(process)
            return "timeout"
    if code == MISSING:
        return "missing"
    return f"rc={code if code >= 0 else 128 - code}"


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End a process and its children; what does not die is left to the kernel."""
    os.killpg(process.pid, signal.SIGKILL)
    try:
        process.wait(TIMEOUT_SECONDS)
    except subprocess.TimeoutExpired:
        # Nothing may warn of it when the object goes: the process stays, and that is known.
        process.returncode = -signal.SIGKILL
