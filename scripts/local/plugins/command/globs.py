"""Path patterns in the syntax of ``github.com/gobwas/glob`` with ``/`` as the separator.

``*`` and ``?`` stop at a separator, ``**`` does not; ``[a-z]`` and ``[!a-z]`` are classes,
``{a,b}`` are alternatives, and a backslash takes the special meaning off.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


class GlobError(Exception):
    """A pattern cannot be read."""


def find(folder: str, patterns: Sequence[str]) -> list[str]:
    """List the files under ``folder`` that the patterns choose, as sorted relative paths.

    The rules are applied in order, so a pattern that starts with ``!`` takes away what those
    before it have chosen.

    Raises
    ------
    GlobError
        A pattern cannot be read.
    OSError
        A folder cannot be read.
    """
    rules = [
        (compile_pattern(pattern.removeprefix("!")), pattern.startswith("!"))
        for pattern in patterns
    ]
    chosen: list[str] = []
    for path in _files(folder):
        verdicts = [not excluded for rule, excluded in rules if rule.fullmatch(path)]
        if verdicts and verdicts[-1]:
            chosen.append(path)
    return sorted(chosen)


def compile_pattern(pattern: str) -> re.Pattern[str]:
    """Turn a pattern into a regular expression for whole paths.

    Raises
    ------
    GlobError
        A class or a list of alternatives is not closed, or a backslash ends the pattern.
    """
    parts: list[str] = []
    depth = 0
    rest = pattern
    while rest:
        token = _TOKEN.match(rest)
        if token is None:
            raise GlobError(f"the pattern {pattern!r} cannot be read from {rest!r} on")
        rest = rest[token.end() :]
        text = token.group()
        if text == "{":
            depth += 1
        elif text == "}" and depth:
            depth -= 1
            parts.append(")")
            continue
        parts.append(_translate(text, inside=depth > 0))
    if depth:
        raise GlobError(f"the pattern {pattern!r} lacks a closing brace")
    return re.compile("".join(parts), re.DOTALL)


_TOKEN = re.compile(r"\*\*+|\*|\?|\[!?(?:\\.|[^\]\\])+\]|\\.|[^\[\\]", re.DOTALL)

_MEANINGS = {"*": "[^/]*", "?": "[^/]", "{": "(?:"}


def _translate(text: str, *, inside: bool) -> str:
    match text[0]:
        case "[":
            members = text[1:-1]
            negated = members.startswith("!")
            return f"[{'^' * negated}{_members(members.removeprefix('!'))}]"
        case "*" if len(text) > 1:
            return ".*"
        case "\\":
            return re.escape(text[1])
        case "," if inside:
            return "|"
        case _:
            return _MEANINGS.get(text, re.escape(text))


def _members(text: str) -> str:
    """Escape what a class means literally, and keep its ranges."""
    return re.sub(r"\\(.)|([\^\[&~|])", lambda found: "\\" + (found[1] or found[2]), text)


def _files(folder: str) -> Iterator[str]:
    def fail(error: OSError) -> None:
        raise error

    for parent, _, names in os.walk(folder, onerror=fail):
        for name in names:
            yield Path(parent, name).relative_to(folder).as_posix()
