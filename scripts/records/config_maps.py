"""A shelf of ConfigMaps, one a document, in the gate's namespace.

One object a document keeps each far below the 1 MiB that a ConfigMap may have, and lets gates write
different documents without meeting. The API server compares the resource version that a change
names with the one it holds, and refuses the change if they differ.
"""

from collections.abc import Mapping
from typing import Final

from lightkube import ApiError

from scripts.errors import UnknownError
from scripts.gate.api import Api
from scripts.gate.objects import Manifest, labels, mapping
from scripts.records.shelf import LARGEST, Document

__all__ = ["ConfigMapShelf"]

KIND_LABEL: Final = "trainyard.dev/record"
NAME_LABEL: Final = "trainyard.dev/record-name"
"""The API is asked by labels only: it can list but not get, and needs no more rights for it."""

KEY: Final = "record.json"

CONFLICT, NOT_FOUND = 409, 404


class ConfigMapShelf:
    """Documents of one kind, as ConfigMaps with a label that names the kind."""

    def __init__(
        self, api: Api, namespace: str, kind: str, *, owner: Mapping[str, str] | None = None
    ) -> None:
        """Take the documents of a ``kind``; with ``owner``, only those with these labels too."""
        self._api = api
        self._namespace = namespace
        self._kind = kind
        self._owner = dict(owner or {})

    def documents(self) -> list[Document]:
        """Return all of them, in order of name."""
        return self._list({})

    def read(self, name: str) -> Document | None:
        """Return one, or None if there is none of this name."""
        return next(iter(self._list({NAME_LABEL: name})), None)

    def add(self, name: str, text: str) -> bool:
        """Create its ConfigMap; False if it exists, also by a first try whose answer was lost."""
        _require_room(name, text)
        return self._api.create(
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {
                    "name": self._object(name),
                    "namespace": self._namespace,
                    "labels": {
                        **self._owner,
                        "app.kubernetes.io/name": "trainyard",
                        KIND_LABEL: self._kind,
                        NAME_LABEL: name,
                    },
                },
                "data": {KEY: text},
            }
        )

    def replace(self, document: Document, text: str) -> bool:
        """Change its ConfigMap at the version that was read."""
        _require_room(document.name, text)
        patch: Manifest = {
            "metadata": {"resourceVersion": document.version},
            "data": {KEY: text},
        }
        try:
            self._api.merge("ConfigMap", self._object(document.name), patch)
        except ApiError as error:
            if error.status.code not in {CONFLICT, NOT_FOUND}:
                raise
            return False
        return True

    def remove(self, name: str) -> None:
        """Delete its ConfigMap."""
        self._api.delete("ConfigMap", self._object(name))

    def _object(self, name: str) -> str:
        return f"{self._kind}-{name}"

    def _list(self, wanted: Mapping[str, str]) -> list[Document]:
        found = self._api.list("ConfigMap", {**self._owner, KIND_LABEL: self._kind, **wanted})
        return sorted(map(_document, found), key=lambda document: document.name)


def _document(item: Manifest) -> Document:
    meta = item["metadata"]
    text: str | None = mapping(item, "data").get(KEY)
    if text is None:
        raise UnknownError(
            f"ConfigMap {meta['name']} holds no {KEY}; somebody has changed it: restore it, or "
            "delete it and what it says is forgotten"
        )
    return Document(labels(item)[NAME_LABEL], text, meta["resourceVersion"])


def _require_room(name: str, text: str) -> None:
    size = len(text.encode())
    if size > LARGEST:
        raise UnknownError(f"{name} has {size} bytes, and {LARGEST} fit a ConfigMap")
