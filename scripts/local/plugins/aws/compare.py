"""When two values of a property mean the same."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scripts.local.plugins.shared.wire import UNKNOWN, Value

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scripts.local.plugins.aws.row import Row

_POLICY_KEYS: Final = frozenset({"Version", "Statement"})


def normal_json(text: str) -> str:
    """Spell JSON in one way; in an IAM document the order and form of lists mean nothing.

    Text that is not JSON is given back.
    """
    try:
        document: Value = json.loads(text)
    except ValueError:
        return text
    if isinstance(document, dict) and _POLICY_KEYS & document.keys():
        document = _normal_policy(document)
    return json.dumps(document, sort_keys=True)


def _normal_policy(value: Value) -> Value:
    """Sort every list, and let a list of one be its member."""
    if isinstance(value, dict):
        return {key: _normal_policy(item) for key, item in value.items()}
    if isinstance(value, list):
        unique = {json.dumps(item, sort_keys=True): item for item in map(_normal_policy, value)}
        items = [unique[key] for key in sorted(unique)]
        return items[0] if len(items) == 1 else items
    return str(value).lower() if isinstance(value, bool) else value


@dataclass(frozen=True)
class Comparison:
    """Compares the properties of one resource type."""

    row: Row

    def differences(self, old: Value, new: Value, path: str) -> Iterator[tuple[str, str]]:
        """Yield (path, ``add``, ``delete`` or ``update``) of each difference.

        Paths are the engine's: ``tags.Name``, ``ingress[0].cidrBlocks``.
        """
        if self.same(old, new, path):
            return
        if isinstance(old, dict) and isinstance(new, dict):
            for key in [*old, *(key for key in new if key not in old)]:
                yield from self.differences(old.get(key), new.get(key), _join(path, key))
        elif isinstance(old, list) and isinstance(new, list):
            yield from self._list_differences(old, new, path)
        elif old is None:
            yield path, "add"
        elif new is None:
            yield path, "delete"
        else:
            yield path, "update"

    def _list_differences(
        self, old: list[Value], new: list[Value], path: str
    ) -> Iterator[tuple[str, str]]:
        """Pair the members of an ordered list by place; of a set, leave out those that agree."""
        before, after = dict(enumerate(old)), dict(enumerate(new))
        if plain_path(path) not in self.row.ordered:
            before, after = self._unmatched(old, new, path)
        for index in sorted(before.keys() | after.keys()):
            place = f"{path}[{index}]"
            yield from self.differences(before.get(index), after.get(index), place)

    def _unmatched(
        self, old: list[Value], new: list[Value], path: str
    ) -> tuple[dict[int, Value], dict[int, Value]]:
        """Find the members of each set, by place, that the other set does not have."""
        rest = dict(enumerate(old))
        added: dict[int, Value] = {}
        for index, item in enumerate(new):
            match = next((i for i, o in rest.items() if self.same(o, item, f"{path}[0]")), None)
            if match is None:
                added[index] = item
            else:
                del rest[match]
        return rest, added

    def same(self, old: Value, new: Value, path: str) -> bool:
        """Tell whether two values mean the same to AWS."""
        if old is UNKNOWN or new is UNKNOWN:
            return old is new
        if _empty(old) and _empty(new):
            return True
        if isinstance(old or {}, dict) and isinstance(new or {}, dict):
            before, after = _members(old), _members(new)
            keys = before.keys() | after.keys()
            return all(self.same(before.get(k), after.get(k), _join(path, k)) for k in keys)
        if isinstance(old, list) and isinstance(new, list):
            return self._same_list(old, new, path)
        if isinstance(old, str) and isinstance(new, str) and plain_path(path) in self.row.json:
            return normal_json(old) == normal_json(new)
        return old == new or _scalar(old) == _scalar(new)

    def _same_list(self, old: list[Value], new: list[Value], path: str) -> bool:
        if len(old) != len(new):
            return False
        if plain_path(path) in self.row.ordered:
            return all(self.same(a, b, f"{path}[0]") for a, b in zip(old, new, strict=True))
        rest, added = self._unmatched(old, new, path)
        return not rest and not added


def plain_path(path: str) -> str:
    """Spell a path without places in lists, as rows do."""
    return "".join(part.partition("]")[2] if i else part for i, part in enumerate(path.split("[")))


def _join(path: str, key: str) -> str:
    if key.isidentifier():
        return f"{path}.{key}" if path else key
    return f"{path}[{json.dumps(key)}]"


def _members(value: Value) -> dict[str, Value]:
    return value if isinstance(value, dict) else {}


def _empty(value: Value) -> bool:
    """Take nothing, zero and an empty list for one, as the real provider does."""
    return value is None or value in (False, 0, "", [], {})


def _scalar(value: Value) -> Value:
    """Take 1, "1" and 1.0 for one, and true and "true", as the engine does."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, int | float) else value


def keep_spelling(old: Mapping[str, Value], new: Mapping[str, Value], row: Row) -> dict[str, Value]:
    """Give ``new``, with the old spelling of what still means the same."""
    comparison = Comparison(row)
    return {
        key: old[key] if key in old and comparison.same(old[key], value, key) else value
        for key, value in new.items()
    }
