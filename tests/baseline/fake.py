"""A bucket in memory."""

from collections.abc import Iterator

from scripts.errors import UnknownError


class MemoryBucket:
    """Texts by key, each written once."""

    def __init__(self) -> None:
        self.held: dict[str, str] = {}
        self.away = False

    def put(self, key: str, text: str) -> None:
        if self.away:
            raise UnknownError(f"cannot write {key}: away")
        assert self.held.setdefault(key, text) == text, "a record is never overwritten"

    def get(self, key: str) -> str:
        return self.held[key]

    def keys(self, prefix: str) -> Iterator[str]:
        return (key for key in sorted(self.held) if key.startswith(prefix))
