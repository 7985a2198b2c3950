"""Find what an update would change, and what it would replace."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scripts.local.plugins.aws.calls import template_fields
from scripts.local.plugins.aws.checking import DEFAULTS
from scripts.local.plugins.aws.compare import Comparison, plain_path
from scripts.local.plugins.aws.schema import Property, schema

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scripts.local.plugins.aws.row import Row
    from scripts.local.plugins.shared.wire import Props, Value

REGION: Final = "region"


@dataclass(frozen=True)
class Difference:
    """One property that differs."""

    path: str
    how: str
    """``add``, ``delete`` or ``update``."""

    replaces: bool

    @property
    def name(self) -> str:
        """The top-level property."""
        return self.path.split(".")[0].split("[")[0]


@dataclass(frozen=True)
class Plan:
    """What the engine has to do."""

    differences: tuple[Difference, ...] = ()
    delete_first: bool = False

    @property
    def changed(self) -> frozenset[str]:
        """The top-level properties that differ."""
        return frozenset(it.name for it in self.differences)


def plan(
    row: Row,
    token: str,
    olds: Props,
    news: Props,
    *,
    state: Props,
    region: tuple[str, str],
    ignored: Sequence[str] = (),
) -> Plan:
    """Compare plain inputs, old and new.

    ``state`` is what the resource has, and ``region`` where it is and where it should be.
    """
    shape = schema().resources[token]
    by_value = row.hooks.replaces(olds, news) if row.hooks.replaces else frozenset[str]()
    forced = row.replace | by_value
    found: list[Difference] = []
    for name in [*shape.inputs, "tagsAll"]:
        if name not in shape.properties or name in ignored or name == REGION:
            continue
        old, new = olds.get(name), news.get(name)
        if _computed(row, name, shape.properties[name]):
            if new is None:
                continue
            old = state.get(name) if old is None else old
        found += [
            Difference(path, how, replaces=_forces(path, forced))
            for path, how in Comparison(row).differences(old, new, name)
            if not (how == "delete" and plain_path(path) in row.unknown)
        ]
    if REGION in shape.properties and region[0] != region[1]:
        found.append(Difference(REGION, "update", replaces=True))
    replaces = any(it.replaces for it in found)
    return Plan(tuple(found), delete_first=replaces and _clashes(row, token, olds, news, region))


def _computed(row: Row, name: str, it: Property) -> bool:
    """Whether AWS's value stays when the program does not set one any more."""
    return it.always and not it.required and name not in row.defaults


def _forces(path: str, forced: frozenset[str]) -> bool:
    """Tell whether a path, what holds it, or what it holds forces a replacement."""
    plain = plain_path(path)
    return any(
        plain == one or plain.startswith(f"{one}.") or one.startswith(f"{plain}.") for one in forced
    )


def _clashes(row: Row, token: str, olds: Props, news: Props, region: tuple[str, str]) -> bool:
    """Whether AWS would refuse the new resource because the old one is in its place."""
    if row.clash:
        return True
    if region[0] != region[1] and row.service != "s3":
        return False
    made_up: Value = news.get(DEFAULTS)
    # What an import names tells two resources apart where the id alone does not.
    fields = template_fields(row.import_id) or template_fields(row.id)
    if any(name not in schema().resources[token].inputs for name in fields):
        return False
    names = fields or ([row.autoname] if row.autoname in news else [])
    # A name from a prefix is made anew, as one from nothing is.
    given = [
        name
        for name in names
        if news.get(name) is not None and not (isinstance(made_up, list) and name in made_up)
    ]
    return bool(given) and given == names and all(olds.get(n) == news.get(n) for n in names)
