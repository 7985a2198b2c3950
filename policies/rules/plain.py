"""Plain values out of the SDK's property proxies, with unknowns as a marker instead of an error."""

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final, TypeAlias, cast

from pulumi_policy.proxy import (
    UNKNOWN_ARCHIVE_VALUE,
    UNKNOWN_ARRAY_VALUE,
    UNKNOWN_ASSET_VALUE,
    UNKNOWN_BOOLEAN_VALUE,
    UNKNOWN_NUMBER_VALUE,
    UNKNOWN_OBJECT_VALUE,
    UNKNOWN_STRING_VALUE,
    UnknownValueError,
)


class Unknown(Enum):
    """The type of the one marker for values that exist only after the update."""

    VALUE = "unknown"


UNKNOWN: Final = Unknown.VALUE
"""What stands in plain data where the engine does not know the value yet."""

Plain: TypeAlias = "str | int | float | bool | Unknown | list[Plain] | dict[str, Plain] | None"

_SENTINELS = (
    UNKNOWN_BOOLEAN_VALUE,
    UNKNOWN_NUMBER_VALUE,
    UNKNOWN_STRING_VALUE,
    UNKNOWN_ARRAY_VALUE,
    UNKNOWN_ASSET_VALUE,
    UNKNOWN_ARCHIVE_VALUE,
    UNKNOWN_OBJECT_VALUE,
)
_SENTINEL = re.compile("|".join(_SENTINELS))


def to_plain(value: object) -> Plain:
    """Copy ``value`` into dicts, lists and scalars; never raises.

    The SDK detects an unknown only when it is the whole value, so a text with an unknown inside
    becomes ``UNKNOWN`` here. Numbers arrive as floats; whole ones become integers. Assets and
    archives become ``None``, because no rule reads them.
    """
    if isinstance(value, str):
        return UNKNOWN if _SENTINEL.search(value) else value
    if value is None or isinstance(value, (bool, int, Unknown)):
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else value
    if isinstance(value, Mapping):
        mapping = cast("Mapping[object, object]", value)
        return {str(key): _item(mapping, key) for key in mapping}
    if isinstance(value, Sequence):
        sequence = cast("Sequence[object]", value)
        return [_item(sequence, index) for index in range(len(sequence))]
    return None


def _item(container: Mapping[object, object] | Sequence[object], key: object) -> Plain:
    try:
        return to_plain(cast("Mapping[object, object]", container)[key])
    except UnknownValueError:
        return UNKNOWN


def many(value: Plain) -> list[Plain]:
    """Read one-or-many: nothing for ``None``, the items of a list, else the value alone."""
    if value is None:
        return []
    return value if isinstance(value, list) else [value]


def section(value: Plain) -> dict[str, Plain]:
    """Read a block, which some providers wrap in a list of one; empty when it is not there."""
    for item in many(value):
        if isinstance(item, dict):
            return item
    return {}


def sections(value: Plain) -> list[dict[str, Plain]]:
    """Read a list of blocks, leaving out what is no block."""
    return [item for item in many(value) if isinstance(item, dict)]


def texts(value: Plain) -> list[str]:
    """Read one text or many, leaving out what is no text."""
    return [item for item in many(value) if isinstance(item, str)]


def text(value: Plain) -> str:
    """Read a text; empty when it is unknown or something else."""
    return value if isinstance(value, str) else ""


def is_on(value: Plain) -> bool:
    """Whether a flag is on; launch templates write flags as texts."""
    return value is True or (isinstance(value, str) and value.lower() == "true")


def is_set(value: Plain) -> bool:
    """Whether there is a value; an unknown one counts, because only a given property is unknown."""
    return value is UNKNOWN or bool(value)


def has_unknown(value: Plain) -> bool:
    """Whether ``value`` is unknown or holds something unknown."""
    if isinstance(value, dict):
        return any(has_unknown(item) for item in value.values())
    if isinstance(value, list):
        return any(has_unknown(item) for item in value)
    return value is UNKNOWN
