"""Create, read, update and delete any resource type that has a row."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import jmespath

from scripts.local.plugins.aws import tags
from scripts.local.plugins.aws.calls import ask, operation, parameters, send, template_fields
from scripts.local.plugins.aws.compare import keep_spelling
from scripts.local.plugins.aws.convert import Api, reach, read_members
from scripts.local.plugins.aws.schema import schema
from scripts.local.plugins.aws.session import ApiDownError, AwsError, Item

if TYPE_CHECKING:
    from scripts.local.plugins.aws.row import Call, Row
    from scripts.local.plugins.aws.schema import Shape
    from scripts.local.plugins.shared.wire import Props, Value

_EMPTY: Final[dict[str, Value]] = {"string": "", "boolean": False, "integer": 0}
"""What the real provider shows for an output that AWS leaves out."""


class PartialError(Exception):
    """The resource exists, but is not as the program wants it."""

    def __init__(self, resource_id: str, state: Props, reason: str) -> None:
        super().__init__(reason)
        self.id = resource_id
        self.state = state
        self.reason = reason


def create(row: Row, token: str, item: Item) -> tuple[str, Props]:
    """Create a resource and give its id and state.

    Raises
    ------
    AwsError
        The API refused, and nothing exists.
    PartialError
        It exists, but a later step failed.
    """
    if row.hooks.create:
        item = replace(item, id=row.hooks.create(item))
    elif row.create:
        answer = _create_call(row, row.create, item)
        item = replace(item, id=_id(row, item, answer))
    try:
        for change in row.updates:
            wanted = [item.props.get(name) for name in change.when]
            if change.initial is not None and any(v not in (None, change.initial) for v in wanted):
                send(row, change.call, item, change.when)
        if row.hooks.created:
            row.hooks.created(item)
        if "tagsAll" in schema().resources[token].properties and not _tagged_at_create(row):
            tags.change(row, item, {}, tags.wanted(item))
        _settle(row, item)
        state = read(row, token, replace(item, prior=item.props))
    except (AwsError, ApiDownError) as error:
        raise PartialError(item.id, {**item.props}, str(error)) from error
    if state is None:
        raise PartialError(item.id, {**item.props}, f"{item.id} was created, but is gone again")
    return item.id, state


def read(row: Row, token: str, item: Item) -> Props | None:
    """Give the state of a resource as the API shows it, or None when it is gone."""
    found = _look(row, item)
    if found is None:
        return None
    shape = schema().resources[token]
    state: Props = read_members(found, shape.properties, row.names, "")
    for name in shape.properties:
        if name not in state and name not in row.names:
            value = next(
                (v for n in row.nested if (v := reach(found, f"{n}.{name}")) is not None), None
            )
            if value is not None:
                state |= read_members({name: value}, {name: shape.properties[name]}, {}, "")
    scope = {**item.scope(), **state}
    for name, template in row.outputs.items():
        state.setdefault(name, template.format_map(scope))
    kept = {*row.local, f"{row.autoname}Prefix", *(() if row.tagging else ("tags", "tagsAll"))}
    for name in kept & shape.properties.keys():
        if item.prior.get(name) is not None:
            state[name] = item.prior[name]
    if "region" in shape.properties:
        state["region"] = item.region
    if row.tagging:
        state |= tags.shown(item, tags.read(row, item, found, state))
    return keep_spelling(item.prior, _complete(row, shape, state), row)


def _complete(row: Row, shape: Shape, state: Props) -> Props:
    """Add what AWS does not show: what is at its default, and what is empty."""
    for name, value in row.defaults.items():
        if "." not in name and state.get(name) is None:
            state[name] = value
    for name, it in shape.properties.items():
        if name not in state and (it.always or not it.settable):
            empty = _EMPTY.get(it.type, [] if it.type.startswith("[]") else None)
            if empty is not None:
                state[name] = empty
    return state


def update(row: Row, token: str, item: Item, changed: frozenset[str]) -> Props:
    """Carry the ``changed`` properties to the resource and give its new state.

    Raises
    ------
    AwsError
        The API refused.
    """
    for change in row.updates:
        if changed & set(change.when):
            carried = item.props.keys() if change.whole else change.when
            send(row, change.call, item, carried, cleared=changed)
    if row.hooks.update:
        row.hooks.update(item, changed)
    if "tagsAll" in changed:
        tags.change(row, item, tags.had(item), tags.wanted(item))
    _settle(row, item)
    state = read(row, token, replace(item, prior={**item.prior, **item.props}))
    if state is None:
        raise AwsError("Update", "NotFound", f"{item.id} does not exist any more; run a refresh")
    return state


def delete(row: Row, item: Item) -> None:
    """Delete a resource and wait until it is gone; one that is gone already is fine.

    Raises
    ------
    AwsError
        The API refused, at last because something else held it for too long.
    """
    refused: AwsError | None = None

    def attempt() -> bool | None:
        nonlocal refused
        try:
            if row.hooks.delete:
                row.hooks.delete(item)
            elif row.delete:
                send(row, row.delete, item, ())
        except AwsError as error:
            if error.gone:
                return True
            refused = error
            if error.busy:
                return None
            if _look(row, item) is None:
                return True
            raise
        return True

    if item.session.until(attempt, item.patience) is None and refused:
        raise refused
    if (
        row.wait
        and item.session.until(lambda: _look(row, item) is None or None, item.patience) is None
    ):
        raise AwsError(
            "Delete", "Timeout", f"{item.id} still exists {item.patience:g} s after its deletion"
        )


def identify(row: Row, item: Item) -> Item:
    """Learn from an id what a read needs; an import knows nothing else."""
    form = row.id if "{" in row.id else ""
    for template in (row.import_id, form):
        parts = _parts(template, item.id)
        if parts:
            known: Props = {**item.props, **parts}
            found = replace(item, props=known)
            if template == row.import_id and row.hooks.identify:
                return replace(found, id=row.hooks.identify(found))
            own = (
                form.format_map(known) if form and set(template_fields(form)) <= set(known) else ""
            )
            return replace(found, id=own or str(parts.get("id", item.id)))
    return item


def _parts(template: str, text: str) -> dict[str, str]:
    """Match a text with a template; only the last part may hold the separator."""
    if "{" not in template:
        return {}
    pieces = re.split(r"\{(\w+)\}", template)
    last = len(pieces) - 2
    pattern = "".join(
        re.escape(piece) if i % 2 == 0 else f"(?P<{piece}>{'.+' if i == last else '.+?'})"
        for i, piece in enumerate(pieces)
    )
    found = re.fullmatch(pattern, text)
    return found.groupdict() if found else {}


def _create_call(row: Row, call: Call, item: Item) -> Api:
    params = parameters(row, call, item, item.props.keys())
    shape = operation(item, call).input_shape
    if shape is not None:
        tags.at_create(row, item, shape, params)
    if row.hooks.prepare:
        row.hooks.prepare(item, params)
    return item.call(call.operation, call.service, **params)


def _id(row: Row, item: Item, answer: Api) -> str:
    if "{" in row.id:
        return row.id.format_map(item.scope())
    return str(jmespath.search(row.id, answer))


def _look(row: Row, item: Item) -> dict[str, Api] | None:
    """Everything that the row's reads answer, or None when the resource is gone."""
    item = replace(item, props={**_parts(row.id, item.id), **item.props})
    found: dict[str, Api] = {}
    for place, call in enumerate(row.read):
        try:
            answer = ask(call, item)
        except AwsError as error:
            if not error.gone:
                raise
            answer = None
        if not answer and place == 0:
            return None
        found |= answer or {}
    if row.hooks.read and not row.hooks.read(item, found):
        return None
    return found


def _settle(row: Row, item: Item) -> None:
    """Wait until the resource says that it is ready."""
    wait = row.wait
    if wait is None:
        return
    seen = ""

    def ready() -> bool | None:
        nonlocal seen
        seen = str(reach(_look(row, item) or {}, wait.path) or "")
        if seen in wait.failed:
            raise AwsError("Wait", seen, f"{item.id} ended in state {seen}")
        return True if seen in wait.ready else None

    if item.session.until(ready, item.patience) is None:
        state = f"is in state {seen}" if seen else "cannot be seen"
        raise AwsError(
            "Wait", "Timeout", f"{item.id} {state} after {item.patience:g} s, not {wait.ready[0]}"
        )


def _tagged_at_create(row: Row) -> bool:
    return row.create is not None and row.hooks.create is None and row.service != "s3"
