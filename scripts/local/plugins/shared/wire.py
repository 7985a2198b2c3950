"""Property values as the engine sends them, and as plain Python.

The engine sends a ``google.protobuf.Struct``. Values that JSON lacks travel as maps with a
signature, and unknown values as well-known strings, one for each type. The constants are those
of the Pulumi SDK for Go, ``sdk/go/common/resource/sig``.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

from google.protobuf import struct_pb2

if TYPE_CHECKING:
    from collections.abc import Mapping

SIGNATURE: Final = "4dabf18193072939515e22adb298388d"
"""The key whose value says what a map stands for."""

_SECRET: Final = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - a public signature of the format
_OUTPUT: Final = "d0e6a833031e9bbcd3f4e8bde6ca49a4"
_RESOURCE: Final = "5cf8f73096256a8f31e491e813e4eb8e"
_ASSET: Final = "c44067f5952c0a294b673a41bacd8c17"
_ARCHIVE: Final = "0def7320c3a5731c473e5ecbe6d01bc7"

UNKNOWN_STRING: Final = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""Stands on the wire for an unknown string; we send it for an unknown of any type."""

_UNKNOWN_STRINGS: Final = frozenset(
    {
        UNKNOWN_STRING,
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",  # boolean
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",  # number
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",  # list
        "030794c1-ac77-496b-92df-f27374a8bd58",  # asset
        "e48ece36-62e2-4504-bad9-02848725956a",  # archive
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",  # map
    }
)


class Unknown(enum.Enum):
    """The type of ``UNKNOWN``, the value that is not known before the update."""

    UNKNOWN = "unknown"


UNKNOWN: Final = Unknown.UNKNOWN


@dataclass(frozen=True)
class Secret:
    """A value that the engine must encrypt; its ``repr`` does not show it."""

    value: Value = field(repr=False)


@dataclass(frozen=True, eq=False)
class Asset:
    """A file: by path, by text or by URI. Equal to another one with the same hash."""

    hash: str = ""
    path: str = ""
    text: str = ""
    uri: str = ""

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Asset):
            return NotImplemented
        if self.hash and other.hash:
            return self.hash == other.hash
        return (self.path, self.text, self.uri) == (other.path, other.text, other.uri)

    __hash__ = None  # type: ignore[assignment] # equality is not transitive where a hash is missing


@dataclass(frozen=True, eq=False)
class Archive:
    """A set of files: by names, by path or by URI. Equal to another one with the same hash."""

    hash: str = ""
    path: str = ""
    uri: str = ""
    assets: Mapping[str, Asset | Archive] = field(default_factory=dict[str, "Asset | Archive"])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Archive):
            return NotImplemented
        if self.hash and other.hash:
            return self.hash == other.hash
        return (self.path, self.uri, self.assets) == (other.path, other.uri, other.assets)

    __hash__ = None  # type: ignore[assignment] # equality is not transitive where a hash is missing


Leaf: TypeAlias = "bool | int | float | str | Unknown | Asset | Archive | None"
Value: TypeAlias = "Leaf | Secret | list[Value] | dict[str, Value]"
Props: TypeAlias = dict[str, "Value"]


def from_struct(struct: struct_pb2.Struct) -> Props:
    """Turn a property map of the engine into plain Python.

    Raises
    ------
    ValueError
        A map carries a signature that this module does not know.
    """
    return {key: _decode(value) for key, value in struct.fields.items()}


def to_struct(props: Mapping[str, Value]) -> struct_pb2.Struct:
    """Turn plain Python into a property map of the engine."""
    return struct_pb2.Struct(fields={key: _encode(value) for key, value in props.items()})


def plain(value: Value) -> Value:
    """Take off the secret wrappers at every depth."""
    match value:
        case Secret():
            return plain(value.value)
        case list():
            return [plain(item) for item in value]
        case dict():
            return {key: plain(item) for key, item in value.items()}
        case _:
            return value


def plain_props(props: Props) -> Props:
    """Take off the secret wrappers of all properties, at every depth."""
    return {key: plain(value) for key, value in props.items()}


def has_unknown(value: Value) -> bool:
    """Tell whether ``value`` is, or holds at any depth, an unknown."""
    return any(item is UNKNOWN for item in _walk(value))


def has_secret(value: Value) -> bool:
    """Tell whether ``value`` is, or holds at any depth, a secret."""
    return any(isinstance(item, Secret) for item in _walk(value))


def _walk(value: Value) -> list[Value]:
    match value:
        case Secret():
            return [value, *_walk(value.value)]
        case list():
            return [value, *(found for item in value for found in _walk(item))]
        case dict():
            return [value, *(found for item in value.values() for found in _walk(item))]
        case _:
            return [value]


def _decode(value: struct_pb2.Value) -> Value:
    match value.WhichOneof("kind"):
        case "bool_value":
            return value.bool_value
        case "number_value":
            number = value.number_value
            return int(number) if number.is_integer() else number
        case "string_value":
            return UNKNOWN if value.string_value in _UNKNOWN_STRINGS else value.string_value
        case "list_value":
            return [_decode(item) for item in value.list_value.values]
        case "struct_value":
            return _decode_map(from_struct(value.struct_value))
        case _:
            return None


def _decode_map(fields: Props) -> Value:
    signature = fields.get(SIGNATURE)
    if signature is None:
        return fields
    if signature == _SECRET:
        return Secret(fields.get("value"))
    if signature == _OUTPUT:
        value = fields.get("value", UNKNOWN)
        return Secret(value) if fields.get("secret") else value
    if signature == _RESOURCE:
        return fields.get("id") or fields.get("urn")
    if signature == _ASSET:
        return Asset(**_texts(fields, "hash", "path", "text", "uri"))
    if signature == _ARCHIVE:
        assets = fields.get("assets")
        members = assets.items() if isinstance(assets, dict) else ()
        return Archive(
            **_texts(fields, "hash", "path", "uri"),
            assets={name: m for name, m in members if isinstance(m, Asset | Archive)},
        )
    raise ValueError(f"a map has the signature {signature!r}, which this plugin does not know")


def _texts(fields: Props, *names: str) -> dict[str, str]:
    return {name: text for name in names if isinstance(text := fields.get(name), str)}


def _encode(value: Value) -> struct_pb2.Value:
    match value:
        case None:
            encoded = struct_pb2.Value(null_value=struct_pb2.NULL_VALUE)
        case bool():
            encoded = struct_pb2.Value(bool_value=value)
        case int() | float():
            encoded = struct_pb2.Value(number_value=value)
        case str():
            encoded = struct_pb2.Value(string_value=value)
        case Unknown():
            encoded = struct_pb2.Value(string_value=UNKNOWN_STRING)
        case list():
            items = struct_pb2.ListValue(values=[_encode(item) for item in value])
            encoded = struct_pb2.Value(list_value=items)
        case dict():
            encoded = struct_pb2.Value(struct_value=to_struct(value))
        case Secret():
            encoded = _encode({SIGNATURE: _SECRET, "value": value.value})
        case Asset() | Archive():
            encoded = _encode(_file_fields(value))
    return encoded


def _file_fields(value: Asset | Archive) -> Props:
    fields: Props = {"hash": value.hash, "path": value.path, "uri": value.uri}
    if isinstance(value, Asset):
        fields["text"] = value.text
    # An archive without members is told from a placeholder by its empty map.
    elif value.assets or not (value.path or value.uri):
        fields["assets"] = dict(value.assets)
    signature = _ASSET if isinstance(value, Asset) else _ARCHIVE
    return {SIGNATURE: signature} | {key: item for key, item in fields.items() if item != ""}
