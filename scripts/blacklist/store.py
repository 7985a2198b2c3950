"""The blacklist on a shelf: each entry a document, written once, and later at most cleared.

Gates of other waves write at the same time; they write other documents. A gate that was killed and
runs on finds its own entries there and leaves them.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from scripts.blacklist.blacklist import Blacklist
from scripts.blacklist.entry import Cleared, Entry
from scripts.blacklist.policy import Policy, policy
from scripts.errors import UsageError
from scripts.records.documents import read_document
from scripts.records.shelf import Document, Shelf, change

__all__ = ["SHELF", "BlacklistStore"]

SHELF: Final = "blacklist"


class BlacklistStore:
    """Reads and writes entries."""

    def __init__(self, shelf: Shelf, rules: Policy | None = None) -> None:
        self._shelf = shelf
        self._rules = rules or policy()

    def read(self) -> Blacklist:
        """Return the blacklist with all entries, also those that are over.

        Raises
        ------
        UnknownError
            If one cannot be read: whoever is on it must not slip through.
        """
        return Blacklist(map(_entry, self._shelf.documents()))

    def add(self, *entries: Entry, keep_until: bool = False) -> tuple[Entry, ...]:
        """Put entries on the list, with the end that the policy gives them.

        ``keep_until`` leaves the end that they have. Returns them as they stand there.
        """
        if not entries:
            return ()
        known = self.read()
        self._forget(known, max(entry.at for entry in entries))
        added: list[Entry] = []
        for entry in entries:
            full = entry if keep_until else known.with_term(entry, self._rules)
            if not self._shelf.add(full.id, full.text()):
                before = self._shelf.read(full.id)
                full = _entry(before) if before else full
            added.append(full)
        return tuple(added)

    def clear(self, entry: Entry, cleared: Cleared) -> Entry:
        """Take an entry off the list; it is kept, with who did it and why.

        Raises
        ------
        UsageError
            If it is gone, or somebody else cleared it before.
        """

        def edit(text: str | None) -> str | None:
            if text is None:
                raise UsageError(f"entry {entry.id} is no longer there; yard blacklist list")
            found = _entry(Document(entry.id, text, ""))
            before = found.cleared
            if before is not None and before != cleared:
                raise UsageError(
                    f"entry {entry.id} was cleared before: {before.reason} "
                    f"({before.by}, {before.at:%Y-%m-%d})"
                )
            return found.model_copy(update={"cleared": cleared}).text()

        text = change(self._shelf, entry.id, edit)
        return _entry(Document(entry.id, text or "", ""))

    def _forget(self, known: Blacklist, now: datetime) -> None:
        """Remove entries that have been over for so long that they count for nothing."""
        for entry in _over(known.entries, now - timedelta(days=self._rules.keep_days)):
            self._shelf.remove(entry.id)


def _over(entries: Sequence[Entry], since: datetime) -> list[Entry]:
    """Return the entries that were over before ``since``."""
    ends = [(entry, entry.cleared.at if entry.cleared else entry.until) for entry in entries]
    return [entry for entry, end in ends if end is not None and end < since]


def _entry(document: Document) -> Entry:
    return read_document(
        Entry,
        document.text,
        f"entry {document.name} of the blacklist",
        f", so nobody knows whom it keeps out; restore or delete ConfigMap {SHELF}-{document.name}",
    )
