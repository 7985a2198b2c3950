"""Tags: the default ones of the provider, and each service's own way to carry them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, cast

from scripts.local.plugins.aws.calls import ask, fill, operation
from scripts.local.plugins.aws.convert import Api, find, from_api, place, reach, to_api
from scripts.local.plugins.aws.row import Call

if TYPE_CHECKING:
    from collections.abc import Mapping

    from botocore.model import Shape as ApiShape

    from scripts.local.plugins.aws.row import Row
    from scripts.local.plugins.aws.session import Item
    from scripts.local.plugins.shared.wire import Props, Value

Tags = dict[str, str]

_FIELDS = ("Tags", "TagsList", "ResourceTags", "TagSet")


def merged(defaults: Mapping[str, str], own: Value) -> Props:
    """Lay a resource's own tags over the provider's default ones."""
    return {**defaults, **(own if isinstance(own, dict) else {})}


def wanted(item: Item) -> Tags:
    """Give the tags that the program asks for, default ones among them."""
    return _texts(item.props.get("tagsAll"))


def had(item: Item) -> Tags:
    """Give the tags that the resource had before."""
    return _texts(item.prior.get("tagsAll"))


def _texts(value: Value) -> Tags:
    entries = value if isinstance(value, dict) else {}
    return {key: str(item) for key, item in entries.items() if item is not None}


def at_create(row: Row, item: Item, shape: ApiShape, params: dict[str, Api]) -> None:
    """Put all tags into the parameters of a create call."""
    members: Mapping[str, ApiShape] = getattr(shape, "members", {})
    asked = wanted(item)
    if "TagSpecifications" in members and row.tag_type:
        pairs = [{"Key": key, "Value": value} for key, value in asked.items()]
        specification = {"ResourceType": row.tag_type, "Tags": pairs}
        params.pop("TagSpecifications", None)
        if pairs:
            params["TagSpecifications"] = [specification]
        return
    name = next((found for field in _FIELDS if (found := find(members, field))), None)
    if name:
        params.pop(name, None)
        if asked:
            params[name] = to_api(cast("Props", asked), members[name], {}, "tags")


def read(row: Row, item: Item, found: Mapping[str, Api], state: Props) -> Tags:
    """Ask for the tags that the resource has, without AWS's own and ignored ones."""
    answer: Api = found
    if row.tagging and row.tagging.read:
        answer = ask(row.tagging.read, _with(item, state))
    value = next((v for field in _FIELDS if (v := reach(answer, field)) is not None), None)
    every = cast("Tags", from_api(value or {}, "{}string", {}, "tags"))
    return {key: text for key, text in every.items() if not item.session.ignored_tags(key)}


def shown(item: Item, every: Tags) -> Props:
    """``tagsAll``, and as ``tags`` what is not there by default."""
    defaults = item.session.default_tags
    own = _texts(item.prior.get("tags"))
    rest = {key: text for key, text in every.items() if key in own or defaults.get(key) != text}
    return {"tagsAll": cast("Props", every), "tags": cast("Props", rest)}


def change(row: Row, item: Item, before: Tags, after: Tags) -> None:
    """Give the resource the tags that differ and take away those that are not wanted."""
    way = row.tagging
    if way is None:
        return
    scope = item.scope()
    removed = {key: text for key, text in before.items() if key not in after}
    if way.keys:
        added = {key: text for key, text in after.items() if before.get(key) != text}
    else:
        added = after if after != before else {}
    if removed and (way.keys or not after):
        params: dict[str, Api] = {}
        keys = cast("Props", removed) if way.keys == way.field else cast("list[Value]", [*removed])
        if way.keys:
            place(params, _input(item, way.remove.operation), way.keys, keys, {}, "tags")
        item.call(way.remove.operation, **params, **fill(dict(way.remove.params), scope))
    if added:
        params = {}
        shape = _input(item, way.add.operation)
        place(params, shape, way.field, cast("Props", added), {}, "tags")
        item.call(way.add.operation, **params, **fill(dict(way.add.params), scope))


def _input(item: Item, name: str) -> ApiShape:
    shape = operation(item, Call(name)).input_shape
    if shape is None:
        raise KeyError(f"{name} takes no parameters")
    return shape


def _with(item: Item, state: Props) -> Item:
    return replace(item, prior={**item.prior, **state})
