"""What a resource looks like to the engine: before it exists, after a refresh, with its secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scripts.local.plugins.aws.checking import DEFAULTS
from scripts.local.plugins.aws.compare import Comparison
from scripts.local.plugins.aws.schema import schema
from scripts.local.plugins.shared.wire import UNKNOWN, Secret, has_secret, plain

if TYPE_CHECKING:
    from scripts.local.plugins.aws.row import Row
    from scripts.local.plugins.shared.wire import Props, Value


def planned(row: Row, token: str, inputs: Props, region: str) -> Props:
    """Foresee the state of a new resource: what AWS decides is unknown."""
    shape = schema().resources[token]
    state: Props = {}
    for name, it in shape.properties.items():
        if inputs.get(name) is not None:
            state[name] = _with_unknowns(inputs[name], it.type, row, name)
        elif name == "region":
            state[name] = region
        elif it.always or not it.settable:
            state[name] = UNKNOWN
    return state


def _with_unknowns(value: Value, kind: str, row: Row, path: str) -> Value:
    """Add what AWS fills in inside of an input."""
    if not kind.startswith("#") or not isinstance(value, dict):
        return value
    made: Props = dict(value)
    for name, it in schema().types[kind[1:]].items():
        inner = f"{path}.{name}"
        if made.get(name) is None and (not it.settable or inner in row.unknown):
            made[name] = UNKNOWN
    return made


def planned_update(
    row: Row, token: str, state: Props, inputs: Props, changed: frozenset[str]
) -> Props:
    """Foresee the state after an update: only what AWS will change is unknown."""
    shape = schema().resources[token]
    made = {name: value for name, value in state.items() if name in shape.properties}
    for name in changed:
        value = inputs.get(name)
        if value is not None:
            old = plain(made.get(name))
            nested = shape.properties[name].type.startswith("#")
            if nested and isinstance(old, dict) and isinstance(value, dict):
                value = {**old, **value}
            made[name] = value
        elif shape.properties[name].always:
            made[name] = UNKNOWN
        else:
            made.pop(name, None)
    if changed - {"tags", "tagsAll"}:
        made |= dict.fromkeys(row.unsettled - changed, UNKNOWN)
    return made


def sealed(token: str, state: Props, inputs: Props) -> Props:
    """``state``, with what comes from secret inputs secret again."""
    hidden = {name for name, value in inputs.items() if has_secret(value)}
    if "tags" in hidden:
        hidden.add("tagsAll")
    hidden |= set(schema().resources[token].secrets)
    return {
        name: Secret(value) if name in hidden and value is not None else value
        for name, value in state.items()
    }


def refreshed(row: Row, token: str, old: Props, state: Props) -> Props:
    """Give the inputs that would lead to ``state``: the old ones where nothing drifted."""
    shape = schema().resources[token]
    comparison = Comparison(row)
    made: Props = {}
    for name, value in old.items():
        it = shape.properties.get(name)
        if it is None:
            made[name] = value
            continue
        new = _narrowed(plain(value), state.get(name), it.type)
        if comparison.same(plain(value), new, name):
            made[name] = value
        elif new is not None:
            made[name] = Secret(new) if has_secret(value) else new
    for name, it in shape.inputs.items():
        if name in old or it.always or name in row.local or name in row.refused:
            continue
        value = state.get(name)
        if value and not comparison.same(row.defaults.get(name), value, name):
            made[name] = value
    return made


def _narrowed(old: Value, new: Value, kind: str) -> Value:
    """Leave out of ``new`` what AWS filled in beside what the program set."""
    if isinstance(old, dict) and isinstance(new, dict) and kind.startswith("#"):
        members = schema().types[kind[1:]]
        # What the API leaves out of an object it shows is taken to be as it was.
        return {
            name: _narrowed(value, new.get(name, value), members[name].type)
            for name, value in old.items()
            if name in members
        }
    if isinstance(old, list) and isinstance(new, list) and kind.startswith("[]#"):
        known = {name for it in old if isinstance(it, dict) for name in it}
        return [
            {name: value for name, value in it.items() if name in known or value}
            if isinstance(it, dict)
            else it
            for it in new
        ]
    return new


def imported(row: Row, token: str, state: Props) -> Props:
    """Give the inputs that a program would have written for ``state``."""
    shape = schema().resources[token]
    made: Props = {}
    for name, it in shape.inputs.items():
        value = state.get(name)
        if value in (None, "", [], {}) or name in row.refused or name.endswith("Prefix"):
            continue
        if name == "region" and not it.required:
            continue
        made[name] = _settable(value, it.type)
    for path, default in row.defaults.items():
        if "." not in path:
            made.setdefault(path, default)
    for group in row.conflicts:
        for name in [name for name in group if name in made][1:]:
            del made[name]
    if "tagsAll" in shape.properties:
        made["tagsAll"] = state.get("tagsAll", {})
    made[DEFAULTS] = []
    return made


def _settable(value: Value, kind: str) -> Value:
    """Leave out of nested objects what only AWS sets."""
    if kind.startswith("[]") and isinstance(value, list):
        return [_settable(it, kind[2:]) for it in value]
    if kind.startswith("#") and isinstance(value, dict):
        members = schema().types[kind[1:]]
        return {
            name: _settable(it, members[name].type)
            for name, it in value.items()
            if members[name].settable and it not in (None, "", [], {})
        }
    return value
