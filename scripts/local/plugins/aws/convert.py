"""Turn values of a program into values of the AWS API, and back.

A program spells ``securityGroupIds``, the API ``SecurityGroupIds`` or ``securityGroupIds``; what
differs by more than case or a plural "s" stands in a row's ``names``. The shapes of botocore say
what the API wants: one structure or a list of it, a map of tags or a list of pairs.
"""

from __future__ import annotations

import base64
import datetime as dt
import functools
import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeGuard, cast

from scripts.local.plugins.aws.schema import Property, schema

if TYPE_CHECKING:
    from botocore.model import Shape as ApiShape

    from scripts.local.plugins.shared.wire import Value

Api: TypeAlias = Any
"""A value as boto3 takes or gives it; only the service model, at run time, knows its shape."""

Names: TypeAlias = Mapping[str, str]
"""A property's dotted path to the API's name, where case alone does not lead there."""

_PAIR: Final = 2
_KEYS: Final = ("key", "tagkey", "name")
_VALUES: Final = ("value", "tagvalue")


@functools.cache
def fold(name: str) -> str:
    """Spell a name so that only real differences remain."""
    return name.replace("_", "").lower()


def find(known: Iterable[str], wanted: str) -> str | None:
    """Find the spelling among ``known`` that means ``wanted``, or its singular or plural."""
    folded = {fold(name): name for name in known}
    key = fold(wanted)
    for form in (key, f"{key}s", key.removesuffix("s")):
        if form in folded:
            return folded[form]
    return None


def to_api(value: Value, shape: ApiShape, names: Names, path: str) -> Api:
    """Spell ``value``, found at ``path`` of a program, as ``shape`` wants it."""
    kind: str = shape.type_name
    if kind == "structure":
        return _to_structure(value, shape, names, path)
    if kind == "list":
        return _to_list(value, shape, names, path)
    if kind == "map":
        entries = value if isinstance(value, dict) else {}
        member: ApiShape = _attribute(shape, "value")
        return {key: to_api(item, member, names, path) for key, item in entries.items()}
    return _to_scalar(value, kind)


def _to_structure(value: Value, shape: ApiShape, names: Names, path: str) -> Api:
    members: Mapping[str, ApiShape] = _attribute(shape, "members")
    if isinstance(value, list):
        return _to_structure(value[0], shape, names, path) if value else {}
    if not isinstance(value, dict):
        # EC2 wraps the new value of some attributes: {"Value": true}.
        [(name, member)] = members.items()
        return {name: to_api(value, member, names, path)}
    made: dict[str, Api] = {}
    for key, item in value.items():
        inner = f"{path}.{key}" if path else key
        if item is None:
            continue
        if not place(made, shape, names.get(inner, key), item, names, inner):
            raise KeyError(f"the API has no member for {inner}; it has {', '.join(members)}")
    return made


def place(
    params: dict[str, Api], shape: ApiShape, name: str, value: Value, names: Names, path: str
) -> bool:
    """Put a value at a dotted API name; False when ``shape`` has no such place.

    Of several names, ``A|B``, the first counts that is there: what one call takes as A, another
    may show as B.
    """
    for one in name.split("|"):
        trail = _trail(shape, one)
        if trail:
            *holders, last = trail
            inner = params
            for key, _ in holders:
                inner = inner.setdefault(key, {})
            inner[last[0]] = to_api(value, last[1], names, path)
            return True
    return False


def _trail(shape: ApiShape, name: str) -> list[tuple[str, ApiShape]]:
    """List the members on the way to a dotted name; none when it leads nowhere."""
    trail: list[tuple[str, ApiShape]] = []
    for part in name.split("."):
        members: Mapping[str, ApiShape] = _attribute(shape, "members", {})
        key = find(members, part)
        if key is None:
            return []
        shape = members[key]
        trail.append((key, shape))
    return trail


def _to_list(value: Value, shape: ApiShape, names: Names, path: str) -> Api:
    member: ApiShape = _attribute(shape, "member")
    pair = _pair(_attribute(member, "members", {}))
    if isinstance(value, dict) and pair:
        return [{pair[0]: key, pair[1]: str(item)} for key, item in value.items()]
    items = value if isinstance(value, list) else [value]
    return [to_api(item, member, names, path) for item in items]


def _pair(members: Iterable[str]) -> tuple[str, str] | None:
    """Give the two names of a structure that is one entry of a map, such as a tag."""
    spelled = {fold(name): name for name in members}
    keys = [spelled[key] for key in _KEYS if key in spelled]
    values = [spelled[value] for value in _VALUES if value in spelled]
    return (keys[0], values[0]) if keys and values and len(spelled) == _PAIR else None


def _to_scalar(value: Value, kind: str) -> Api:
    made: Api = value
    match kind, value:
        case "boolean", str():
            made = value == "true"
        case "integer" | "long", int() | float() | str():
            made = int(value)
        case "float" | "double", int() | float() | str():
            made = float(value)
        case "blob", _:
            made = str(value).encode()
        case "string", dict() | list():
            made = json.dumps(value)
        case "string", _:
            made = str(value).lower() if isinstance(value, bool) else str(value)
        case _:
            pass
    return made


def _attribute(shape: ApiShape, name: str, default: Api = None) -> Api:
    """Read what only some kinds of shape have, and what botocore does not declare."""
    return getattr(shape, name, default) if default is not None else getattr(shape, name)


def from_api(value: Api, kind: str, names: Names, path: str) -> Value:
    """Spell what the API answered as a program's property of type ``kind``."""
    if value is None:
        return None
    if kind.startswith("[]"):
        items = value if _is_list(value) else [value]
        return [from_api(item, kind[2:], names, path) for item in items]
    if kind.startswith("{}"):
        return _from_map(value, kind[2:], names, path)
    if _is_list(value) and kind not in {"any", "document"}:
        return from_api(value[0], kind, names, path) if value else None
    if kind.startswith("#"):
        members = cast("Mapping[str, Api]", value)
        return read_members(members, schema().types[kind[1:]], names, path)
    return _from_scalar(value, kind)


def _is_list(value: Api) -> TypeGuard[list[Api]]:
    return isinstance(value, list)


def _is_map(value: Api) -> TypeGuard[Mapping[str, Api]]:
    return isinstance(value, Mapping)


def read_members(
    answer: Mapping[str, Api], properties: Mapping[str, Property], names: Names, path: str
) -> dict[str, Value]:
    """Collect those of ``properties`` that the API's ``answer`` holds."""
    found: dict[str, Value] = {}
    for key, it in properties.items():
        inner = f"{path}.{key}" if path else key
        value = reach(answer, names.get(inner, key))
        if value is not None:
            found[key] = from_api(value, it.type, names, inner)
    return found


def reach(answer: Api, name: str) -> Api:
    """Follow a dotted API name, or the first of several that leads somewhere; else None.

    Of a list on the way only the first member counts.
    """
    return next((it for one in name.split("|") if (it := _follow(answer, one)) is not None), None)


def _follow(answer: Api, name: str) -> Api:
    at: Api = answer
    for part in name.split("."):
        held: Api = at[0] if _is_list(at) and at else at
        members: Mapping[str, Api] = held if _is_map(held) else {}
        key = find(members, part)
        if key is None:
            return None
        at = members[key]
    return at


def _from_map(value: Api, kind: str, names: Names, path: str) -> Value:
    if _is_map(value):
        return {key: from_api(item, kind, names, path) for key, item in value.items()}
    entries: dict[str, Value] = {}
    for item in value:
        pair = _pair(item)
        if pair:
            entries[item[pair[0]]] = from_api(item[pair[1]], kind, names, path)
    return entries


def _from_scalar(value: Api, kind: str) -> Value:
    plain: Api = value
    if _is_map(value) and kind not in {"string", "document", "any"}:
        plain = next(iter(value.values()), None)
    match kind:
        case "string" | "document":
            return _text(plain)
        case "boolean":
            return plain == "true" if isinstance(plain, str) else bool(plain)
        case "integer":
            return int(plain)
        case "number":
            return float(plain)
        case _:
            return plain


def _text(value: Api) -> str:
    match value:
        case dt.datetime():
            return value.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        case bool():
            return str(value).lower()
        case bytes():
            return base64.b64encode(value).decode()
        case dict() | list():
            return json.dumps(value)
        case _:
            return str(value)
