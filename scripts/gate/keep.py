"""Keeps the raw logs of a gate's Jobs in files, and the digest of each: what its verdict rests on.

A log is written while it is read, in constant memory, as its verdict is known only at its end. Then
it stays or goes. That a disk is full changes no verdict.
"""

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from gzip import GzipFile
from pathlib import Path
from typing import Final, TypeVar

from scripts.gate.jobs import GateJob
from scripts.gate.ports import Progress
from scripts.verdicts import Verdict

__all__ = ["INDEX", "Keep", "Logs"]

T = TypeVar("T")

INDEX: Final = "index.jsonl"
"""A line for each log: its Job, its nodes, its verdict, its digest, and its file if it was kept."""

ENDING: Final = ".log.gz"
UNFINISHED: Final = ".part"

LEVEL: Final = 1
"""The quickest compression: logs repeat themselves, and shrink to a tenth by it already."""

BUFFER: Final = 2**17
"""Bytes that are compressed at once; line by line would take longer than reading them."""


class Keep(StrEnum):
    """Which logs stay: ``bad`` keeps what did not pass, and the sweeps."""

    ALL = "all"
    BAD = "bad"
    NONE = "none"


class _File:
    """A compressed file that is written in large pieces."""

    def __init__(self, path: Path) -> None:
        self._raw = path.open("wb")
        self._zip = GzipFile(filename="", mode="wb", compresslevel=LEVEL, fileobj=self._raw)
        self._held = bytearray()

    def write(self, data: bytes) -> None:
        self._held += data
        if len(self._held) >= BUFFER:
            self._zip.write(self._held)
            self._held.clear()

    def close(self) -> None:
        with self._raw, self._zip:
            self._zip.write(self._held)


@dataclass(slots=True)
class _Read:
    """A log that was read, or is; ``part`` where it is written down."""

    digest: str = ""
    part: Path | None = None
    file: _File | None = None


@dataclass(slots=True)
class Logs:
    """The logs of one run of the gate, in a ``folder`` of their own.

    ``evidence`` is, by node, the digest of the last log in which it failed.
    """

    folder: Path
    keep: Keep
    progress: Progress
    evidence: dict[str, str] = field(default_factory=dict[str, str])
    _broken: bool = False
    _read: dict[str, _Read] = field(default_factory=dict[str, _Read])

    def keeping(
        self, read: Callable[[GateJob, Iterable[str]], T]
    ) -> Callable[[GateJob, Iterable[str]], T]:
        """Return a reader of logs that also writes down what it reads."""
        return lambda job, lines: read(job, self.tee(job, lines))

    def tee(self, job: GateJob, lines: Iterable[str]) -> Iterator[str]:
        """Hand on the lines of a Job's log and write them down; a second time writes it anew.

        What is written has one line feed after each line. Its SHA-256 is the digest, and that is
        also the digest of the run's record.
        """
        read = self._read[job.name] = _Read()
        digest = hashlib.sha256()
        self._open(job.name, read)
        try:
            for line in lines:
                data = line.rstrip("\r\n").encode(errors="replace") + b"\n"
                digest.update(data)
                if read.file is not None:
                    self._write(read, data)
                yield line
        finally:
            read.digest = f"sha256:{digest.hexdigest()}"
            if read.file is not None:
                self._finish(read)

    def close(self, job: GateJob, verdict: Verdict, *, always: bool = False) -> Path | None:
        """Keep the log of a Job or let it go; returns its file, if it has one now.

        Parameters
        ----------
        job
            The Job; nothing happens if no log of it was read.
        verdict
            What came of it in the end.
        always
            Whether it is one of the few that stay also when all is well.
        """
        read = self._read.pop(job.name, None)
        if read is None:
            return None
        if verdict is Verdict.FAIL:
            self.evidence |= dict.fromkeys(job.nodes, read.digest)
        if self.keep is Keep.NONE:
            return None
        wanted = self.keep is Keep.ALL or always or verdict is not Verdict.PASS
        kept = None
        try:
            if read.part is not None and wanted:
                kept = read.part.rename(read.part.with_suffix(""))
            elif read.part is not None:
                read.part.unlink(missing_ok=True)
            self._list(job, verdict, read.digest, kept)
        except OSError as error:
            self._give_up(error)
        return kept

    def _list(self, job: GateJob, verdict: Verdict, digest: str, kept: Path | None) -> None:
        told = {
            "job": job.name,
            "nodes": list(job.nodes),
            "verdict": str(verdict),
            "log": digest,
            "file": kept.name if kept else None,
        }
        with (self.folder / INDEX).open("a", encoding="utf-8") as index:
            index.write(json.dumps(told) + "\n")

    def _open(self, name: str, read: _Read) -> None:
        if self._broken or self.keep is Keep.NONE:
            return
        path = self.folder / f"{name.removeprefix('gate-')}{ENDING}{UNFINISHED}"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            read.file = _File(path)
        except OSError as error:
            self._give_up(error)
        else:
            read.part = path

    def _write(self, read: _Read, data: bytes) -> None:
        try:
            if read.file is not None:
                read.file.write(data)
        except OSError as error:
            self._finish(read)
            self._abandon(read, error)

    def _finish(self, read: _Read) -> None:
        file, read.file = read.file, None
        try:
            if file is not None:
                file.close()
        except OSError as error:
            self._abandon(read, error)

    def _abandon(self, read: _Read, error: OSError) -> None:
        """Drop a log that could not be written whole: it would be taken for the whole."""
        part, read.part = read.part, None
        with suppress(OSError):
            if part is not None:
                part.unlink(missing_ok=True)
        self._give_up(error)

    def _give_up(self, error: OSError) -> None:
        """Write no more logs, and say so once."""
        if not self._broken:
            self.progress(f"the logs are not kept any more: {error}")
        self._broken = True
