"""Instances that were sent back because their hardware is bad, and the shelf that remembers them.

The next gate must know: by these a budget holds over many runs, and hardware that comes back again
and again is recognised. A document is written before AWS is asked, so that a gate that is killed in
between has spent its budget and not lost count.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final, Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from components.catalog.replacement import replacement
from scripts.blacklist.entry import MOST_GPUS, REASON_LENGTH, Gpu
from scripts.records.documents import read_document
from scripts.records.shelf import Document, Shelf

__all__ = ["SHELF", "SentBack", "SentBackStore"]

SHELF: Final = "replaced"


class SentBack(BaseModel):
    """An instance that a gate had replaced. ``node``, ``reason`` and ``run`` are for people."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    schema_version: Literal[1] = Field(1, alias="schema")
    instance_id: str
    gpus: tuple[Gpu, ...] = Field((), max_length=MOST_GPUS)
    node: str
    pool: str
    wave: str
    run: str
    reason: str = Field(max_length=REASON_LENGTH)
    at: AwareDatetime

    @property
    def keys(self) -> frozenset[str]:
        """By what its GPUs are recognised."""
        return frozenset(key for gpu in self.gpus for key in gpu.keys)


class SentBackStore:
    """Reads and writes what was sent back; a document an instance."""

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf

    def read(self) -> tuple[SentBack, ...]:
        """Return all of them, the oldest first.

        Raises
        ------
        UnknownError
            If one cannot be read: then nobody knows how much of a budget is left.
        """
        found = map(_sent_back, self._shelf.documents())
        return tuple(sorted(found, key=lambda each: (each.at, each.instance_id)))

    def add(self, sent: SentBack) -> None:
        """Remember one; an instance that is remembered already stays as it is."""
        self._shelf.add(sent.instance_id, sent.model_dump_json(by_alias=True, indent=1))

    def take_back(self, sent: SentBack) -> None:
        """Forget one that stayed after all."""
        self._shelf.remove(sent.instance_id)

    def forget(self, known: Iterable[SentBack], now: datetime) -> None:
        """Remove what was so long ago that it counts for nothing."""
        for each in known:
            if each.at < now - replacement().limits.kept:
                self._shelf.remove(each.instance_id)


def _sent_back(document: Document) -> SentBack:
    return read_document(
        SentBack,
        document.text,
        f"what is kept of the replaced instance {document.name}",
        f"; restore or delete ConfigMap {SHELF}-{document.name}",
    )
