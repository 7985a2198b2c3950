"""What launchers say about a run that went wrong: they never prove that a node is bad."""

import re

__all__ = ["exit_code", "says", "silence", "speaks", "was_stopped"]

STOPPED = frozenset({124, 137, 143})
"""Exit codes of ``timeout`` and of a process that was killed or told to end."""

_EXIT = re.compile(r"gate: \w+ ended with exit code (?P<code>\d{1,3})\s*$")
_SILENCE = re.compile(r"gate: no output for (?P<seconds>\d{1,6}) s; stopped")
_TROUBLE = re.compile(
    r"gate: \S+ does not answer by ssh"
    r"|not enough slots"
    r"|(?:mpirun|prterun|mpiexec) noticed that"
    r"|lost communication with a remote daemon"
    r"|srun: error: |slurmstepd: error: |launch failed"
    r"|Permission denied \(publickey|Host key verification failed|Could not resolve hostname"
    r"|gate: no output for \d+ s; stopped"
    r"|Out of memory: Killed process|oom-kill|Bus error|Segmentation fault"
)
_TIME = re.compile(r"DUE TO TIME LIMIT|timed out and was killed")


def speaks(text: str) -> bool:
    """Tell quickly whether a line may be of a launcher."""
    return (
        "gate: " in text
        or "rror" in text
        or "ailed" in text
        or "illed" in text
        or "noticed" in text
        or "slots" in text
        or "ault" in text
        or "lost comm" in text
        or "denied" in text
        or "resolve" in text
        or "Host key" in text
    )


def exit_code(text: str) -> int | None:
    """Return the exit code that the script of the Job prints at its end."""
    found = _EXIT.search(text)
    return int(found["code"]) if found else None


def says(text: str) -> bool:
    """Tell whether a launcher complains in ``text``."""
    return _TROUBLE.search(text) is not None


def silence(complaints: list[str]) -> int | None:
    """Return after how many seconds of silence the script of the Job stopped the run, if it did."""
    found = next((seen for text in complaints if (seen := _SILENCE.search(text))), None)
    return int(found["seconds"]) if found else None


def was_stopped(code: int | None, complaints: list[str]) -> bool:
    """Tell whether the run was ended by its time limit."""
    return code in STOPPED or any(_TIME.search(text) for text in complaints)
