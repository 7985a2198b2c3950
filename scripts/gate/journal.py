"""What a run has learnt so far, kept in the cluster, so that a killed gate goes on from there.

The gate decides by what it asks: which nodes there are, what a round of Jobs showed, who is not
Ready any more. Between two answers it only reckons, and reckons the same each time. So each answer
is kept as it comes, under a label; who resumes runs the whole flow again and gets the kept answers
instead of asking, up to the first that is missing. There its Jobs are still known by name: what
runs is waited for, what has ended is read, and nothing is measured twice.
"""

import base64
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeVar

from pydantic import TypeAdapter, ValidationError

from scripts.errors import UnknownError
from scripts.gate.ports import Progress
from scripts.gate.request import Request
from scripts.records.shelf import LARGEST, Shelf

__all__ = ["SHELF", "Header", "Journal", "open_run", "unfinished"]

T = TypeVar("T")

SHELF: Final = "journal"

SCHEMA: Final = 1
"""Version of what is kept; another one is not resumed, but begun anew."""

PART: Final = LARGEST - 100
"""Characters of one document: an answer on thousands of nodes takes more than one."""

FIRST: Final = 0
"""The part that tells how many parts there are; it is written last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """A run that began and has not ended."""

    schema: int
    request: Request
    started: datetime


_HEADER: Final = TypeAdapter(Header)


class Journal:
    """The answers of one run. Without a shelf nothing is kept, and nothing is known."""

    def __init__(
        self,
        shelf: Shelf | None = None,
        run: str = "",
        progress: Progress | None = None,
        *,
        resumes: bool = False,
    ) -> None:
        self._shelf = shelf
        self._run = run
        self._progress = progress
        self._replays = resumes and shelf is not None
        self._given: set[str] = set()
        self.resumed = self._replays

    def once(self, label: str, kind: TypeAdapter[T], ask: Callable[[], T]) -> T:
        """Return the answer that was kept under ``label``, or ask, and keep what is answered.

        Raises
        ------
        UnknownError
            If it cannot be kept, or what was kept cannot be read.
        """
        if self._replays:
            kept = self._read(label)
            if kept is not None:
                self._given.add(label)
                try:
                    return kind.validate_json(kept)
                except ValidationError as error:
                    raise self._unreadable(label, error.errors()[0]["msg"]) from error
            self._go_on(label)
        answer = ask()
        self._keep(label, kind.dump_json(answer))
        return answer

    def close(self) -> None:
        """Forget the run: its verdict is kept elsewhere."""
        if self._shelf:
            forget(self._shelf)

    def _go_on(self, label: str) -> None:
        """End the replay; what was kept in another order, or not whole, is asked for again."""
        self._replays = False
        if self._progress:
            self._progress(f"run {self._run} goes on with {label}")
        for name in sorted(_names(self._shelf)) if self._shelf else ():
            run, _, rest = name.partition(".")
            if run == self._run and self._shelf and rest.rpartition(".")[0] not in self._given:
                self._shelf.remove(name)

    def _unreadable(self, label: str, why: str) -> UnknownError:
        return UnknownError(
            f"what run {self._run} kept as {label} is not readable: {why}; begin anew with yard "
            "gate run --fresh"
        )

    def _keep(self, label: str, content: bytes) -> None:
        if self._shelf is None:
            return
        text = base64.b64encode(zlib.compress(content)).decode()
        parts = [text[start : start + PART] for start in range(0, len(text), PART)]
        for number, part in reversed(list(enumerate(parts))):
            head = f"{len(parts)}:" if number == FIRST else ""
            self._shelf.add(self._name(label, number), f"{head}{part}")

    def _read(self, label: str) -> bytes | None:
        shelf = self._shelf
        first = shelf.read(self._name(label, FIRST)) if shelf else None
        if shelf is None or first is None:
            return None
        count, _, text = first.text.partition(":")
        try:
            rest = [shelf.read(self._name(label, number)) for number in range(1, int(count))]
            parts = [text, *(part.text for part in rest if part)]
            return zlib.decompress(base64.b64decode("".join(parts)))
        except (ValueError, zlib.error) as error:
            raise self._unreadable(label, str(error)) from error

    def _name(self, label: str, part: int) -> str:
        return f"{self._run}.{label}.{part}"


def unfinished(shelf: Shelf, place: str) -> Header | None:
    """Return the run over a wave that has not ended; None if there is none that can be resumed.

    Parameters
    ----------
    shelf
        The journals of this wave.
    place
        :attr:`scripts.gate.request.Request.place` of the wave.
    """
    found = shelf.read(place)
    if found is None:
        return None
    try:
        header = _HEADER.validate_json(found.text)
    except ValidationError:
        return None
    return header if header.schema == SCHEMA else None


def open_run(shelf: Shelf, request: Request, now: datetime) -> None:
    """Forget what earlier runs over this wave kept, and note that this one has begun."""
    forget(shelf)
    header = Header(schema=SCHEMA, request=request, started=now)
    shelf.add(request.place, _HEADER.dump_json(header).decode())


def forget(shelf: Shelf) -> None:
    """Remove the journals on a shelf.

    The header goes first: with half of its answers nobody may go on. Answers that a stop leaves
    behind go when the next run begins.
    """
    for name in sorted(_names(shelf), key=lambda name: "." in name):
        shelf.remove(name)


def _names(shelf: Shelf) -> Iterator[str]:
    for document in shelf.documents():
        yield document.name
