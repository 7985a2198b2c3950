"""Make the calls that a row describes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, cast

import jmespath

from scripts.local.plugins.aws.convert import Api, place
from scripts.local.plugins.aws.row import Call

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from botocore.model import OperationModel

    from scripts.local.plugins.aws.row import Row
    from scripts.local.plugins.aws.session import Item
    from scripts.local.plugins.shared.wire import Value


_FIELD: Final = re.compile(r"\{(\w+)\}")


def template_fields(template: str) -> list[str]:
    """Give the names in the braces of a template."""
    return _FIELD.findall(template)


def fill(template: Api, scope: Mapping[str, Api]) -> Api:
    """Put values in the places of a template; None where a value is missing."""
    match template:
        case str() if template.startswith("$"):
            return scope.get(template[1:])
        case str():
            return template.format_map(scope) if "{" in template else template
        case dict():
            entries = cast("dict[str, Api]", template).items()
            filled = {key: fill(value, scope) for key, value in entries}
            return {key: value for key, value in filled.items() if value is not None}
        case list():
            return [
                v for v in (fill(v, scope) for v in cast("list[Api]", template)) if v is not None
            ]
        case _:
            return template


def ask(call: Call, item: Item) -> Api:
    """Make a call that carries no properties, and pick its result."""
    answer = item.call(call.operation, call.service, **fill(dict(call.params), item.scope()))
    if not call.result:
        return answer
    return jmespath.search(call.result.replace("$id", item.id), answer)


def spelled(item: Item, operation_name: str, member: str, value: Value) -> Api:
    """Spell one parameter of an operation as its shape wants it."""
    shape = operation(item, Call(operation_name)).input_shape
    if shape is None:
        raise KeyError(f"{operation_name} takes no parameters")
    made: dict[str, Api] = {}
    place(made, shape, member, value, {}, member)
    return made[member]


def parameters(
    row: Row,
    call: Call,
    item: Item,
    carried: Collection[str],
    *,
    cleared: Collection[str] = (),
) -> dict[str, Api]:
    """Give the parameters of ``call``: its own, and ``carried`` properties that its shape knows."""
    shape = operation(item, call).input_shape
    params: dict[str, Api] = {}
    if shape is not None:
        for name in carried:
            value = item.props.get(name)
            if value is None and name in cleared:
                value = _nothing(row, name, item)
            if value is not None and name != "tagsAll":
                wanted = row.names.get(name, name)
                for prefix in ("", *(f"{nested}." for nested in row.nested)):
                    if place(params, shape, f"{prefix}{wanted}", value, row.names, name):
                        break
    params |= fill(dict(call.params), item.scope())
    return params


def send(
    row: Row, call: Call, item: Item, carried: Collection[str], *, cleared: Collection[str] = ()
) -> None:
    """Make a call that carries properties; ``cleared`` ones are emptied where they are not set."""
    params = parameters(row, call, item, carried, cleared=cleared)
    item.call(call.operation, call.service, **params)


def _nothing(row: Row, name: str, item: Item) -> Value:
    """Give what the API gets for a property that the program does not set any more."""
    old = item.prior.get(name, row.defaults.get(name))
    match old:
        case list():
            return []
        case dict():
            return {}
        case str():
            return ""
        case _:
            return None


def operation(item: Item, call: Call) -> OperationModel:
    """Give botocore's model of the operation that ``call`` names."""
    client: Any = item.session.client(call.service or item.service, item.region)
    return client.meta.service_model.operation_model(call.operation)
