"""One run of a command: its log, its transcript, and how it is stopped."""

from __future__ import annotations

import codecs
import contextlib
import threading
from typing import TYPE_CHECKING, Final

from scripts.local.plugins.command import values

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from scripts.local.plugins.shared.children import Stream

_SHOWN_CHARACTERS: Final = 1 << 20
"""How much output an error carries; the engine takes 16 MiB, in which a character may need 12."""

_LOGGED: Final = {
    "stdout": ("stdout", "stdoutAndStderr", None),
    "stderr": ("stderr", "stdoutAndStderr", None),
}


class CommandError(Exception):
    """A command failed; the text is worded as pulumi-command words it."""


class Job:
    """The run of a command, which can be stopped from another thread at any time."""

    def __init__(self, log: Callable[[str], None]) -> None:
        self.log = log
        self._stoppers: list[Callable[[], None]] = []
        self._lock = threading.Lock()
        self._stopped = False

    @contextlib.contextmanager
    def stoppable(self, stop: Callable[[], None]) -> Generator[None]:
        """Let ``stop`` be what stops the job during the block."""
        with self._lock:
            self._stoppers.append(stop)
            stopped = self._stopped
        if stopped:
            stop()
        try:
            yield
        finally:
            with self._lock:
                self._stoppers.remove(stop)

    def stop(self) -> None:
        """Stop what runs, and whatever would start later."""
        with self._lock:
            self._stopped = True
            stoppers = list(self._stoppers)
        for stop in stoppers:
            stop()


class Transcript:
    """What a command writes: kept for the outputs, and logged line by line as it comes.

    Parameters
    ----------
    logging
        Which streams are logged, in the words of the input ``logging``; ``None`` is both.
    """

    def __init__(self, logging: str | None, log: Callable[[str], None]) -> None:
        self._chunks: list[tuple[Stream, bytes]] = []
        self._logs = {
            stream: _LineLog(log) for stream, words in _LOGGED.items() if logging in words
        }

    def add(self, stream: Stream, chunk: bytes) -> None:
        """Take in what the command has just written."""
        self._chunks.append((stream, chunk))
        if stream in self._logs:
            self._logs[stream].add(chunk)

    def close(self) -> None:
        """Log the last lines, which no line feed ends."""
        for log in self._logs.values():
            log.close()

    def output(self, stream: Stream) -> str:
        """Give all of a stream without its last line feed."""
        return _decode(chunk for name, chunk in self._chunks if name == stream).removesuffix("\n")

    def failure(self, ending: object, command: str) -> CommandError:
        """Say that ``command`` failed, with what it wrote."""
        both = _decode(chunk for _, chunk in self._chunks)
        hidden = len(both) - _SHOWN_CHARACTERS
        if hidden > 0:
            both = f"(the first {hidden} characters are left out)\n{both[hidden:]}"
        return CommandError(f"{ending}: running {values.quote(command)}:\n{both}")


def _decode(chunks: Iterable[bytes]) -> str:
    return b"".join(chunks).decode(errors="replace")


class _LineLog:
    def __init__(self, log: Callable[[str], None]) -> None:
        self._log = log
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._rest = ""

    def add(self, chunk: bytes) -> None:
        *lines, self._rest = (self._rest + self._decoder.decode(chunk)).split("\n")
        for line in lines:
            self._log(line.removesuffix("\r"))

    def close(self) -> None:
        if self._rest:
            self._log(self._rest)
            self._rest = ""
