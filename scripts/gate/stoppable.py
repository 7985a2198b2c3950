"""Lets who ends or interrupts a gate still get a report, and an exit code that blames nobody."""

import signal
import sys
from collections.abc import Generator
from contextlib import contextmanager
from types import FrameType

from scripts.verdicts import EXIT_CODES, Verdict

__all__ = ["stoppable"]


@contextmanager
def stoppable() -> Generator[None]:
    """End by a SystemExit at SIGTERM and SIGINT, which runs what stands under `finally`."""
    former = {each: signal.signal(each, _stop) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for each, handler in former.items():
            signal.signal(each, handler)


def _stop(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(EXIT_CODES[Verdict.UNKNOWN])
