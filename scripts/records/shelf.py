"""A shelf of small documents that several gates read and change at the same time.

Nothing is locked: who changes a document says which version was read, and reads again when somebody
else was quicker.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Protocol

from scripts.errors import UnknownError

__all__ = ["LARGEST", "Document", "Shelf", "change"]

LARGEST: Final = 900_000
"""Bytes of one document: a ConfigMap holds 1 MiB, and its metadata must fit beside the text."""

TRIES: Final = 50
"""Changes of one document that may come in between; a gate makes a few, and gates are few."""


@dataclass(frozen=True, slots=True)
class Document:
    """A text under a name; ``version`` changes with every change of it."""

    name: str
    text: str
    version: str


class Shelf(Protocol):
    """Documents of one kind."""

    def documents(self) -> list[Document]:
        """Return all of them, in order of name."""
        ...

    def read(self, name: str) -> Document | None:
        """Return one, or None if there is none of this name."""
        ...

    def add(self, name: str, text: str) -> bool:
        """Put a new one there; False if there is one of this name already."""
        ...

    def replace(self, document: Document, text: str) -> bool:
        """Change one as it was read; False if it has changed or gone since."""
        ...

    def remove(self, name: str) -> None:
        """Take one away; one that is gone is no mistake."""
        ...


def change(shelf: Shelf, name: str, edit: Callable[[str | None], str | None]) -> str | None:
    """Write what ``edit`` makes of a document, however many others write at the same time.

    ``edit`` gets the text, or None where there is no document yet, and returns the new one, or None
    to leave everything as it is. It is called again with newer text when somebody came in between,
    so it must do nothing else. Returns the text that stands there now.

    Raises
    ------
    UnknownError
        If others come in between without end.
    """
    for _ in range(TRIES):
        found = shelf.read(name)
        before = found.text if found else None
        after = edit(before)
        if after is None or after == before:
            return before
        if shelf.replace(found, after) if found else shelf.add(name, after):
            return after
    raise UnknownError(
        f"{name} was changed by others {TRIES} times in a row, so nothing was written; try again"
    )
