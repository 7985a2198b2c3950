"""What a check of a node found, and how tools spell that a value is missing."""

import re
from dataclasses import dataclass

from scripts.node.capture import Section
from scripts.node.profiles import Severity
from scripts.verdicts import Finding, Verdict

__all__ = ["NEXT_STEPS", "UNKNOWN", "NodeFinding", "absent", "at", "lost", "wants_reset"]

UNKNOWN = None
"""The severity of a finding that could not be judged."""

LONGEST_MESSAGE = 300

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
        "--",
        "deprecated",
        "err!",
        "error",
        "insufficient permissions",
        "n.a.",
        "n/a",
        "na",
        "nan",
        "no data",
        "none",
        "not active or not supported",
        "not available",
        "not found",
        "not supported",
        "null",
        "requested functionality has been deprecated",
        "unknown",
        "unknown error",
        "unsupported",
        "?",
    }
)

_BRACKETS = re.compile(r"^[\[<(\s]+|[\])>\s]+$")

_LOST = (
    "gpu is lost",
    "unable to determine the device handle",
    "has fallen off the bus",
    "no devices were found",
)


@dataclass(frozen=True, slots=True)
class NodeFinding:
    """One thing that a check saw. A severity of None is unknown: nothing could be judged.

    ``line`` is of the stream, or of the section's own file where the capture is a folder.
    """

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


def at(
    section: Section, severity: Severity | None, message: str, index: int | None = None
) -> NodeFinding:
    """Return a finding about a section, or about the line of its output that proves it."""
    line = section.line if index is None else section.numbers[index]
    return NodeFinding(section.name, severity, message[:LONGEST_MESSAGE], line)


def absent(word: str) -> bool:
    """Tell whether ``word`` is one of the many spellings of "no value": never 0, never good."""
    return _BRACKETS.sub("", word).lower() in _ABSENT


def wants_reset(text: str) -> bool:
    """Tell whether the driver prints, in place of a value, that the GPU must be reset first."""
    return "gpu requires reset" in text.lower()


def lost(text: str) -> bool:
    """Tell whether the driver says that a GPU is gone."""
    lower = text.lower()
    return any(phrase in lower for phrase in _LOST)
