"""How wide an ARN pattern is, and whether a condition narrows a statement."""

import re
from collections.abc import Callable
from enum import Enum

from rules.documents import Statement

_ARN_FIELDS = 6
_WILDCARD = re.compile(r"[*?]")
_VARIABLE = re.compile(r"\$\{[^}]*\}")
_LITERAL = re.compile(r"[^*?]")
_POSITIVE = frozenset(
    {"arnequals", "arnlike", "stringequals", "stringequalsignorecase", "stringlike"}
)


class Width(Enum):
    """What a resource pattern covers."""

    EVERYTHING = "every resource"
    KIND = "every resource of its kind"
    NAMED = "named resources"


def has_wildcard(pattern: str) -> bool:
    """Whether the pattern has a ``*`` or ``?`` outside of policy variables."""
    return bool(_WILDCARD.search(_VARIABLE.sub("v", pattern)))


def width(pattern: str) -> Width:
    """Judge a resource pattern; ``arn:aws:s3:::*/*`` and ``secret:*`` are stars in disguise.

    A pattern is named when its first part after the resource type, or its last part, says
    something. Bucket ARNs have no type, and there only the bucket counts.
    """
    if not has_wildcard(pattern):
        return Width.NAMED
    fields = pattern.split(":", _ARN_FIELDS - 1)
    if len(fields) < _ARN_FIELDS or has_wildcard(fields[2]):
        return Width.EVERYTHING
    parts = [part for part in re.split(r"[:/]", _VARIABLE.sub("v", fields[-1])) if part]
    if not parts:
        return Width.KIND
    if fields[2] == "s3":
        return Width.NAMED if _LITERAL.search(parts[0]) else Width.KIND
    if len(parts) > 1 and not _WILDCARD.search(parts[0]):
        parts = parts[1:]
    named = _LITERAL.search(parts[0]) or _LITERAL.search(parts[-1])
    return Width.NAMED if named else Width.KIND


def concrete(value: str) -> bool:
    """Whether a value says something: an ARN an account or a name, a text no wildcard."""
    fields = value.split(":", _ARN_FIELDS - 1)
    if len(fields) == _ARN_FIELDS and fields[0].lower() == "arn":
        account = bool(re.fullmatch(r"\d{12}", fields[4]))
        return account or width(value) is Width.NAMED
    return bool(value) and not has_wildcard(value)


def holds(statement: Statement, wanted: Callable[[str], bool]) -> bool:
    """Whether a condition always holds the caller to concrete values of a wanted key.

    ``wanted`` gets keys in lower case. ``IfExists`` and ``ForAllValues`` are satisfied by a
    request without the key, and one open value undoes the others, so neither counts.
    """
    return any(
        condition.operator.removeprefix("foranyvalue:") in _POSITIVE
        and wanted(condition.key)
        and bool(condition.values)
        and all(concrete(value) for value in condition.values)
        for condition in statement.conditions
    )
