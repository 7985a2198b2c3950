"""What a table row says about one resource type.

Templates: in the parameters of a call, ``"$name"`` stands for the value of a property (or of
``id``, ``region``, ``account``, ``partition``), and ``"…{name}…"`` puts it into a text. A parameter
without a value is not sent. Results are JMESPath, where ``$id`` stands for the id.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias

if TYPE_CHECKING:
    from scripts.local.plugins.aws.convert import Api, Names
    from scripts.local.plugins.aws.session import Item
    from scripts.local.plugins.shared.wire import Value

Params: TypeAlias = Mapping[str, "Api"]


def _no_params() -> dict[str, Api]:
    return {}


@dataclass(frozen=True)
class Call:
    """One operation of the service's API."""

    operation: str
    params: Params = field(default_factory=_no_params)
    result: str = ""
    service: str = ""
    """Only where it is not the row's."""


@dataclass(frozen=True)
class Change:
    """A call that carries some properties to an existing resource."""

    when: tuple[str, ...]
    """It is made when one of these differs."""

    call: Call
    """Besides its own parameters it carries the properties in ``when`` that its shape knows."""

    whole: bool = False
    """Whether it carries every property, because the call writes the resource anew."""

    initial: Value = None
    """What a new resource has; a create is followed by this call when the program wants another
    value. None: the create call carries the properties itself."""


@dataclass(frozen=True)
class Wait:
    """A state to wait for, at ``path`` of what the row reads."""

    path: str
    ready: tuple[str, ...]
    failed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Hooks:
    """Where the API is not regular."""

    prepare: Callable[[Item, dict[str, Api]], None] | None = None
    """Completes the parameters of the create call."""

    create: Callable[[Item], str] | None = None
    """Takes the place of the create call; gives the id."""

    created: Callable[[Item], None] | None = None
    """What still has to be done once the resource exists."""

    read: Callable[[Item, dict[str, Api]], bool] | None = None
    """Completes what was read; False when the resource is gone."""

    update: Callable[[Item, frozenset[str]], None] | None = None
    """Carries what no ``Change`` can; gets the names of what differs."""

    delete: Callable[[Item], None] | None = None
    """Takes the place of the delete call."""

    check: Callable[[Mapping[str, Value]], Mapping[str, str]] | None = None
    """Finds what is wrong with the inputs: property path to message."""

    identify: Callable[[Item], str] | None = None
    """Finds the id of what an import names otherwise."""

    replaces: Callable[[Mapping[str, Value], Mapping[str, Value]], frozenset[str]] | None = None
    """Names what forces a replacement by its old and new value."""


@dataclass(frozen=True)
class Tagging:
    """How a service changes tags after create."""

    add: Call
    remove: Call
    field: str
    """The parameter of ``add`` with the tags."""

    keys: str
    """The parameter of ``remove`` with the keys; tags themselves where it is ``field``, and
    nothing where ``add`` writes all tags anew."""

    read: Call | None = None
    """Only where the row's own read does not show the tags."""


@dataclass(frozen=True)
class Row:
    """One resource type."""

    service: str
    id: str
    """JMESPath into the create call's result, or a template of properties with ``{``."""

    create: Call | None = None
    read: tuple[Call, ...] = ()
    """The first decides whether the resource exists; what they give is laid over one another."""

    delete: Call | None = None
    updates: tuple[Change, ...] = ()
    names: Names = field(default_factory=dict[str, str])
    nested: tuple[str, ...] = ()
    """Structures of the API whose members are properties of the resource itself."""

    replace: frozenset[str] = frozenset()
    """Property paths that an existing resource cannot change."""

    local: frozenset[str] = frozenset()
    """Properties that only steer the provider, or that the API never shows."""

    refused: frozenset[str] = frozenset()
    """Properties of the real provider that the stand-in cannot carry."""

    defaults: Mapping[str, Value] = field(default_factory=dict[str, "Value"])
    """What the provider sets where the program is silent, by property path."""

    json: frozenset[str] = frozenset()
    """Text properties that hold JSON, compared by what it says."""

    ordered: frozenset[str] = frozenset()
    """Lists whose order has a meaning."""

    conflicts: tuple[tuple[str, ...], ...] = ()
    """Properties of which a program may set one."""

    one_of: tuple[str, ...] = ()
    """Properties of which a program must set one."""

    outputs: Mapping[str, str] = field(default_factory=dict[str, str])
    """Templates of outputs that the API does not show."""

    unknown: frozenset[str] = frozenset()
    """Paths inside inputs that AWS fills in: unknown before create, no loss when left out."""

    unsettled: frozenset[str] = frozenset()
    """Outputs that any update changes."""

    autoname: str = "name"
    """The property that gets a made-up name; nothing when the type has no such input."""

    autoname_form: str = "{}"
    """How a made-up name is dressed."""

    import_id: str = ""
    """The form of an import's id where it is not ``id``."""

    clash: bool = False
    """Whether AWS always refuses a second one beside the first, so that a replacement deletes
    first; where the id is made of properties, or the name is given, that follows from them."""

    tag_type: str = ""
    """EC2's name of the type in tag specifications."""

    tagging: Tagging | None = None
    wait: Wait | None = None
    hooks: Hooks = field(default_factory=Hooks)


def ec2_tagging(target: str = "$id") -> Tagging:
    """EC2 tags anything by its id."""
    params = {"Resources": [target]}
    return Tagging(Call("CreateTags", params), Call("DeleteTags", params), "Tags", "Tags")


EC2_TAGS: Final = ec2_tagging()


def tagging(target: str, value: str, tags: str, keys: str, read: str = "") -> Tagging:
    """Describe what most services have: TagResource, UntagResource, and a listing."""
    params = {target: value}
    return Tagging(
        add=Call("TagResource", params),
        remove=Call("UntagResource", params),
        field=tags,
        keys=keys,
        read=Call(read, params) if read else None,
    )
