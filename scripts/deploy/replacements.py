"""What a preview replaces, and in which order: the part of it that a reviewer must not miss."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

__all__ = ["Replacement", "replacements", "summary"]

MADE, DELETED = "create-replacement", "delete-replaced"


@dataclass(frozen=True, slots=True)
class Replacement:
    """One resource that is replaced: its name, its kind, and the properties that ask for it."""

    name: str
    kind: str
    causes: tuple[str, ...]
    deleted_first: bool


def replacements(log: Iterable[str]) -> list[Replacement]:
    """Read the engine's event log, an event a line in JSON, in the order of the log.

    A resource whose deletion comes before its creation cannot stand twice.
    """
    order: dict[str, list[dict[str, Any]]] = {}
    for step in _steps(log):
        if step["op"] in {MADE, DELETED}:
            order.setdefault(step["urn"], []).append(step)
    found: list[Replacement] = []
    for urn, steps in order.items():
        made = [step for step in steps if step["op"] == MADE]
        found.append(
            Replacement(
                name=urn.rpartition("::")[2],
                kind=steps[0]["type"].rpartition(":")[2],
                causes=tuple(dict.fromkeys(key for step in made for key in step.get("keys") or ())),
                deleted_first=steps[0]["op"] == DELETED,
            )
        )
    return found


def summary(found: Iterable[Replacement]) -> list[str]:
    """Return what to tell a person, a line each; nothing when nothing is replaced."""
    lines = [_line(each) for each in sorted(found, key=lambda each: not each.deleted_first)]
    return [f"{len(lines)} to be replaced:", *lines] if lines else []


def _line(each: Replacement) -> str:
    why = f", because of {', '.join(each.causes)}" if each.causes else ""
    how = "the new one is made first"
    if each.deleted_first:
        how = "deleted first, then made again"
        if each.kind == "NodeGroup":
            how += ": its capacity cannot hold two, so its nodes leave before new ones come"
    return f"  {each.name} ({each.kind}){why}: {how}"


def _steps(log: Iterable[str]) -> Iterator[dict[str, Any]]:
    for line in log:
        event: dict[str, Any] = json.loads(line)
        if "resourcePreEvent" in event:
            yield event["resourcePreEvent"]["metadata"]
