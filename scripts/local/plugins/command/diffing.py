"""Tell which inputs changed, and whether that updates or replaces."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from scripts.local.plugins.shared.wire import plain

if TYPE_CHECKING:
    from collections.abc import Collection

    from scripts.local.plugins.command.properties import Shape
    from scripts.local.plugins.shared.wire import Props


@dataclass(frozen=True)
class Change:
    """An input that differs from the one that the state holds."""

    how: Literal["add", "delete", "update"]
    replaces: bool


def diff(shape: Shape, olds: Props, news: Props, ignored: Collection[str]) -> dict[str, Change]:
    """Compare the inputs that the state holds with new ones, whether secret or not.

    Triggers always replace; so does every change of a resource that cannot update.
    """
    changes: dict[str, Change] = {}
    for name in shape.inputs:
        old, new = plain(olds.get(name)), plain(news.get(name))
        if name in ignored or old == new:
            continue
        how = "add" if old is None else "delete" if new is None else "update"
        changes[name] = Change(how, replaces=name == "triggers" or not shape.updates)
    return changes
