"""What a check of a node found, and how tools spell that a value is missing."""

from dataclasses import dataclass

from scripts.node.profiles import Severity
from scripts.verdicts import Finding, Verdict

__all__ = ["NEXT_STEPS", "NodeFinding", "absent", "lost"]

NEXT_STEPS = {
    None: "run the check again; if it stays, look at the node by hand",
    Severity.PASS: "",
    Severity.MONITOR: "watch it",
    Severity.RESET: "reset the GPUs (nvidia-smi --gpu-reset) or replace the instance",
    Severity.REBOOT: "reboot the node, after mending what configures it if that is the cause",
    Severity.ISOLATE: "replace the instance",
}

_ABSENT = frozenset(
    {
        "",
        "-",
        "deprecated",
        "err!",
        "error",
        "insufficient permissions",
        "n/a",
        "na",
        "no data",
        "none",
        "not available",
        "not found",
        "not supported",
        "unknown",
        "unknown error",
    }
)

_LOST = ("gpu is lost", "unable to determine the device handle", "has fallen off the bus")


@dataclass(frozen=True, slots=True)
class NodeFinding:
    """One thing that a check saw. A severity of None is unknown: nothing could be judged."""

    check: str
    severity: Severity | None
    message: str
    line: int = 0

    @property
    def verdict(self) -> Verdict:
        """Return fail from ``RESET`` on; what must only be watched passes."""
        if self.severity is None:
            return Verdict.UNKNOWN
        return Verdict.FAIL if self.severity >= Severity.RESET else Verdict.PASS

    def finding(self) -> Finding:
        """Return it in the form that all judges share."""
        word = "" if self.severity is None else f" [{self.severity.name}]"
        return Finding(
            self.check,
            self.verdict,
            f"{self.message}{word}",
            NEXT_STEPS[self.severity],
            (self.line,) if self.line else (),
        )


def absent(word: str) -> bool:
    """Tell whether ``word`` is one of the many spellings of "no value": never 0, never good."""
    return word.strip().strip("[]").strip().lower() in _ABSENT


def lost(text: str) -> bool:
    """Tell whether the driver says that a GPU is gone."""
    return any(phrase in text.lower() for phrase in _LOST)
