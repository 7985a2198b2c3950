"""Check inputs against the table of properties, and fill in the defaults."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scripts.local.plugins.command.properties import (
    CONNECTION,
    COPY_TO_REMOTE,
    LOGGING,
    PROXY,
)
from scripts.local.plugins.shared.wire import UNKNOWN, Archive, Asset, Props, Secret, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from scripts.local.plugins.command.properties import Kind, Property, Shape
    from scripts.local.plugins.shared.wire import Value


@dataclass(frozen=True)
class Failure:
    """What is wrong with one property; the text never shows the value of a secret."""

    property: str
    reason: str


def check(token: str, shape: Shape, news: Props) -> tuple[Props, list[Failure]]:
    """Give the inputs with defaults filled in, and everything that is wrong with them."""
    # The engine adds keys of its own, which start with two underscores.
    given = {key: value for key, value in news.items() if not key.startswith("__")}
    failures = list(_object(given, shape.inputs, ""))
    if token == COPY_TO_REMOTE:
        failures += _source(plain(given.get("source")))
    inputs = _defaults(news, shape.inputs)
    for name, each in shape.inputs.items():
        value = inputs.get(name)
        if each.secret and value is not None and not isinstance(value, Secret):
            inputs[name] = Secret(value)
    return inputs, failures


def _object(given: Props, properties: Mapping[str, Property], prefix: str) -> Iterator[Failure]:
    for name, value in given.items():
        if name in properties:
            yield from _value(value, properties[name].kind, prefix + name)
        else:
            yield Failure(prefix + name, _unknown(name, properties))
    for name, each in properties.items():
        if each.required and given.get(name) is None:
            yield Failure(prefix + name, f"missing required property {name!r}")


def _unknown(name: str, properties: Mapping[str, Property]) -> str:
    near = difflib.get_close_matches(name, properties, n=1)
    hint = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(sorted(properties))}"
    return f"unknown property {name!r}; {hint}"


def _value(value: Value, kind: Kind, path: str) -> Iterator[Failure]:
    secret = isinstance(value, Secret)
    if isinstance(value, Secret):
        value = value.value
    if value is None or value is UNKNOWN or kind not in _EXPECTED:
        return
    expected, types = _EXPECTED[kind]
    # A boolean is an int to Python, and to nobody else.
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        yield Failure(path, f"expected {expected}, got {_name(value)}")
    elif kind == "logging" and value not in LOGGING:
        seen = "the value" if secret else repr(value)
        yield Failure(path, f"{seen} is no way of logging; use one of {', '.join(LOGGING)}")
    else:
        yield from _members(value, kind, path)


def _members(value: Value, kind: Kind, path: str) -> Iterator[Failure]:
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _value(item, "string", f"{path}[{index}]")
    elif isinstance(value, dict) and kind in _OBJECTS:
        yield from _object(value, _OBJECTS[kind], f"{path}.")
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from _value(item, "string", f"{path}.{name}")


_OBJECTS: Final[dict[Kind, Mapping[str, Property]]] = {"connection": CONNECTION, "proxy": PROXY}
_EXPECTED: Final[dict[Kind, tuple[str, tuple[type, ...]]]] = {
    "string": ("a string", (str,)),
    "boolean": ("a boolean", (bool,)),
    "integer": ("a whole number", (int,)),
    "number": ("a number", (int, float)),
    "strings": ("a list of strings", (list,)),
    "environment": ("a map of strings", (dict,)),
    "logging": ("a string", (str,)),
    "connection": ("a map", (dict,)),
    "proxy": ("a map", (dict,)),
    "file": ("an asset or an archive", (Asset, Archive)),
}


def _name(value: Value) -> str:
    names = {"bool": "a boolean", "int": "a number", "float": "a number", "str": "a string"}
    names |= {"list": "a list", "dict": "a map"}
    return names.get(type(value).__name__, "an asset or an archive")


def _source(source: Value) -> Iterator[Failure]:
    if isinstance(source, Asset) and not source.path:
        yield Failure("source", "asset must be a path-based file asset")
    if isinstance(source, Archive) and not source.path:
        yield Failure("source", "archive must be a path to a file or directory")


def _defaults(given: Props, properties: Mapping[str, Property]) -> Props:
    filled = dict(given)
    for name, each in properties.items():
        if filled.get(name) is None and each.default is not None:
            filled[name] = each.default
        if each.kind in _OBJECTS and name in filled:
            filled[name] = _inside(filled[name], _OBJECTS[each.kind])
    return filled


def _inside(value: Value, properties: Mapping[str, Property]) -> Value:
    match value:
        case Secret():
            return Secret(_inside(value.value, properties))
        case dict():
            return _defaults(value, properties)
        case _:
            return value
