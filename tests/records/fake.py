"""A shelf in memory."""

import threading

from scripts.records.shelf import Document


class MemoryShelf:
    """Documents by name; every change raises the version, as in a cluster."""

    def __init__(self) -> None:
        self._held: dict[str, Document] = {}
        self._version = 0
        self._lock = threading.Lock()

    def documents(self) -> list[Document]:
        with self._lock:
            return sorted(self._held.values(), key=lambda document: document.name)

    def read(self, name: str) -> Document | None:
        with self._lock:
            return self._held.get(name)

    def add(self, name: str, text: str) -> bool:
        with self._lock:
            if name in self._held:
                return False
            self._keep(name, text)
            return True

    def replace(self, document: Document, text: str) -> bool:
        with self._lock:
            if self._held.get(document.name) != document:
                return False
            self._keep(document.name, text)
            return True

    def remove(self, name: str) -> None:
        with self._lock:
            self._held.pop(name, None)

    def _keep(self, name: str, text: str) -> None:
        self._version += 1
        self._held[name] = Document(name, text, str(self._version))
