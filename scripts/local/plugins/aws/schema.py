"""The shapes of the resource types, as :mod:`.make_schema` read them from ``pulumi_aws``."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA_FILE = Path(__file__).with_name("schema.json")


@dataclass(frozen=True)
class Property:
    """What the SDK says about one property."""

    type: str
    """``string``, ``boolean``, ``integer``, ``number``, ``any``, ``document`` (JSON text, or the
    same as an object), ``[]T`` for a list, ``{}T`` for a map, ``#name`` for a nested type."""

    required: bool = False
    """Whether a program must set it."""

    settable: bool = True
    """Whether a program may set it; AWS alone sets the others."""

    always: bool = False
    """Whether it has a value after create, set or not."""


@dataclass(frozen=True)
class Shape:
    """The properties of a resource type or of a look-up."""

    properties: Mapping[str, Property]
    secrets: tuple[str, ...] = ()

    @functools.cached_property
    def inputs(self) -> Mapping[str, Property]:
        """What a program may set."""
        return {name: it for name, it in self.properties.items() if it.settable}


@dataclass(frozen=True)
class Schema:
    """Every shape that the plugin knows."""

    version: str
    resources: Mapping[str, Shape] = field(repr=False)
    lookups: Mapping[str, Shape] = field(repr=False)
    provider: Shape = field(repr=False)
    types: Mapping[str, Mapping[str, Property]] = field(repr=False)


class _Entry(TypedDict, total=False):
    type: str
    required: bool
    always: bool


class _Shape(TypedDict, total=False):
    properties: dict[str, _Entry]
    secrets: list[str]


class _File(TypedDict):
    version: str
    resources: dict[str, _Shape]
    lookups: dict[str, _Shape]
    provider: _Shape
    types: dict[str, dict[str, _Entry]]


def _property(entry: _Entry) -> Property:
    return Property(
        type=entry.get("type", "any"),
        required=entry.get("required", False),
        settable="required" in entry,
        always=entry.get("always", False),
    )


def _properties(entries: Mapping[str, _Entry]) -> Mapping[str, Property]:
    return {name: _property(entry) for name, entry in entries.items()}


def _shape(entry: _Shape) -> Shape:
    return Shape(_properties(entry.get("properties", {})), tuple(entry.get("secrets", ())))


@functools.cache
def schema() -> Schema:
    """Load ``schema.json``, once."""
    data: _File = json.loads(SCHEMA_FILE.read_text(encoding="utf-8"))
    return Schema(
        version=data["version"],
        resources={token: _shape(entry) for token, entry in data["resources"].items()},
        lookups={token: _shape(entry) for token, entry in data["lookups"].items()},
        provider=_shape(data["provider"]),
        types={name: _properties(entries) for name, entries in data["types"].items()},
    )
