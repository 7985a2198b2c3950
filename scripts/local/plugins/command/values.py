"""Typed access to inputs that Check has let through."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from scripts.local.plugins.shared.wire import Secret

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from scripts.local.plugins.shared.wire import Props, Value

_SHORTEST_SECRET: Final = 8
"""Shorter secrets are not looked for in output, where they would hide unrelated words."""

_HIDDEN: Final = "[secret]"
_ADDRESS: Final = frozenset({"host", "user", "hostKey", "agentSocketPath"})


def text(props: Props, name: str) -> str | None:
    """Give a string, or ``None`` where there is none."""
    value = props.get(name)
    return value if isinstance(value, str) else None


def texts(props: Props, name: str) -> list[str] | None:
    """Give a list of strings, or ``None`` where there is no list."""
    value = props.get(name)
    if not isinstance(value, list):
        return None
    return [item for item in value if isinstance(item, str)]


def mapping(props: Props, name: str) -> dict[str, str]:
    """Give a map of strings, empty where there is none."""
    value = props.get(name)
    items = value.items() if isinstance(value, dict) else ()
    return {key: item for key, item in items if isinstance(item, str)}


def number(props: Props, name: str, default: int) -> int:
    """Give a number as a whole one, or ``default`` where there is none."""
    value = props.get(name)
    return int(value) if isinstance(value, int | float) else default


def quote(command: str) -> str:
    """Quote a command as Go's ``%q`` does."""
    quoted = json.dumps(command, ensure_ascii=False)
    return re.sub(r"\\u00([0-9a-f]{2})", r"\\x\1", quoted)


class Mask:
    """Hides secret inputs in what is shown: each as a whole, and each of its lines."""

    def __init__(self, inputs: Iterable[Props]) -> None:
        secrets = [secret for props in inputs for secret in _secrets(props)]
        found = {part for secret in secrets for part in (secret, *secret.splitlines())}
        long = (part for part in found if len(part.strip()) >= _SHORTEST_SECRET)
        self._parts = sorted(long, key=len, reverse=True)

    def __call__(self, shown: str) -> str:
        """Give ``shown`` without the secrets."""
        for part in self._parts:
            shown = shown.replace(part, _HIDDEN)
        return shown


def _secrets(value: Value, *, secret: bool = False) -> Iterator[str]:
    match value:
        case Secret():
            yield from _secrets(value.value, secret=True)
        case dict():
            for name, item in value.items():
                # The SDK marks a whole connection; its address is what an error must name.
                yield from _secrets(item, secret=secret and name not in _ADDRESS)
        case list():
            for item in value:
                yield from _secrets(item, secret=secret)
        case str() if secret:
            yield value
        case _:
            return
