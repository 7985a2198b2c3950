"""How instances are bought: one small model for each source, and what AWS accepts for it.

Each source knows what its launch template and its node group must say, and whether it can hold a
group twice while one replaces the other.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from components.settings import Problem, Reservation, ResourceGroup, Section, rule

__all__ = [
    "CapacityBlock",
    "CapacityConfig",
    "FutureReservation",
    "OnDemand",
    "OpenReservation",
    "Spot",
    "TargetedReservation",
    "Term",
]

DRAIN_MINUTES = 40
"""EC2 ends a capacity block's instances from 30 minutes before its end on (EC2 guide, Capacity
Blocks); the rest is for writing a last checkpoint."""

ONLY = "capacity-reservations-only"


def _in_utc(moment: datetime) -> datetime:
    if moment.utcoffset() != timedelta(0):
        text = f"is {moment.isoformat()}, which is not in UTC; write it like 2026-12-14T11:30:00Z"
        raise PydanticCustomError("shape", text)  # pyright: ignore[reportArgumentType] - the message names what was seen
    return moment.astimezone(UTC)


Moment = Annotated[datetime, AfterValidator(_in_utc)]


@dataclass(frozen=True, slots=True)
class Term:
    """When capacity is there, both moments in UTC.

    ``starts`` is None when it is there already, ``drain`` (when the nodes must be gone) when it
    does not end.
    """

    starts: datetime | None
    drain: datetime | None


class Source(Section):
    """What all sources have in common: they buy on demand, side by side, and together."""

    capacity_type: ClassVar[str] = "ON_DEMAND"
    """What the node group is told."""

    usage_class: ClassVar[str] = "on-demand"
    """How EC2 calls it when it says in which ways a type is sold."""

    placed: ClassVar[bool] = False
    """Whether a placement group keeps the nodes together.

    Reserved capacity lies where it lies: a placement group would ask for another place, and starve.
    """

    held: ClassVar[bool] = False
    """Whether the nodes are a fixed number that is held for us, so that no second group fits."""

    def template(self) -> dict[str, Any]:
        """Return what the launch template says of capacity."""
        return {}

    @property
    def term(self) -> Term | None:
        """Return when the capacity comes and goes, if it does."""
        return None


class OnDemand(Source):
    """Bought when asked for, if EC2 has it."""

    source: Literal["on-demand"] = "on-demand"
    """Bought when asked for."""

    placed: ClassVar[bool] = True


class Spot(Source):
    """Spare capacity that EC2 takes back with two minutes' notice."""

    source: Literal["spot"]
    """Spare capacity; EC2 takes it back with two minutes' notice."""

    # Market options in the template would be refused: a managed group has its own capacity type.
    capacity_type: ClassVar[str] = "SPOT"
    usage_class: ClassVar[str] = "spot"


class OpenReservation(Source):
    """Whatever open reservation of the account fits the type and the zone, and nothing else."""

    source: Literal["open-reservation"]
    """Any open reservation of the account that fits; nothing is bought beyond it."""

    held: ClassVar[bool] = True

    def template(self) -> dict[str, Any]:
        """Ask for reserved capacity only: falling back to on-demand would be a second bill."""
        return {"capacity_reservation_specification": {"capacity_reservation_preference": ONLY}}


class TargetedReservation(Source):
    """One reservation by its id, or a resource group of them."""

    source: Literal["reservation"]
    """One reservation by its id, or a group of them."""

    id: Reservation | None = None
    """Id of the reservation."""

    resource_group: ResourceGroup | None = None
    """ARN of a resource group of reservations."""

    held: ClassVar[bool] = True

    @rule("id", "resource_group")
    def _one_target(self) -> Iterator[Problem]:
        if (self.id is None) == (self.resource_group is None):
            seen = "missing" if self.id is None else "given"
            yield Problem(
                "id",
                f"and resource_group are both {seen}; give the id of one reservation, or the ARN "
                "of a resource group of them",
            )

    def template(self) -> dict[str, Any]:
        """Target the reservation or the group."""
        if self.id:
            return _target(capacity_reservation_id=self.id)
        return _target(capacity_reservation_resource_group_arn=self.resource_group or "")


class CapacityBlock(Source):
    """A block paid in advance, with an end that EC2 keeps."""

    source: Literal["capacity-block"]
    """A capacity block, paid in advance."""

    id: Reservation
    """Id of the block's reservation."""

    starts: Moment | None = None
    """When it starts, in UTC, while that is still to come: nodes are asked for then."""

    ends: Moment
    """When it ends, in UTC; nodes are drained 40 minutes before."""

    capacity_type: ClassVar[str] = "CAPACITY_BLOCK"
    usage_class: ClassVar[str] = "capacity-block"
    held: ClassVar[bool] = True

    def template(self) -> dict[str, Any]:
        """Target the block; EC2 wants its market type here, and EKS its capacity type besides."""
        return {
            **_target(capacity_reservation_id=self.id),
            "instance_market_options": {"market_type": "capacity-block"},
        }

    @property
    def term(self) -> Term:
        """Return when nodes come, and when they must be gone."""
        return Term(self.starts, self.ends - timedelta(minutes=DRAIN_MINUTES))

    @rule("starts", "ends")
    def _ends_after_it_starts(self) -> Iterator[Problem]:
        if self.starts:
            yield from _too_short(self.starts, self.ends)


class FutureReservation(Source):
    """A reservation that is still to come: nodes are asked for when it starts."""

    source: Literal["future-reservation"]
    """A future-dated reservation: nodes come when it starts."""

    id: Reservation
    """Id of the reservation."""

    starts: Moment
    """When it starts, in UTC."""

    ends: Moment | None = None
    """When it ends, in UTC, if it does; nodes are drained 40 minutes before."""

    held: ClassVar[bool] = True

    @rule("starts", "ends")
    def _ends_after_it_starts(self) -> Iterator[Problem]:
        if self.ends:
            yield from _too_short(self.starts, self.ends)

    def template(self) -> dict[str, Any]:
        """Target the reservation."""
        return _target(capacity_reservation_id=self.id)

    @property
    def term(self) -> Term:
        """Return when nodes come, and when they must be gone."""
        drain = self.ends - timedelta(minutes=DRAIN_MINUTES) if self.ends else None
        return Term(self.starts, drain)


CapacityConfig = Annotated[
    OnDemand | Spot | OpenReservation | TargetedReservation | CapacityBlock | FutureReservation,
    Field(discriminator="source"),
]


def _target(**target: str) -> dict[str, Any]:
    return {"capacity_reservation_specification": {"capacity_reservation_target": target}}


def _too_short(starts: datetime, ends: datetime) -> Iterator[Problem]:
    if ends <= starts + timedelta(minutes=DRAIN_MINUTES):
        yield Problem(
            "ends",
            f"is {_text(ends)}, which leaves no time after the start at {_text(starts)} and "
            f"{DRAIN_MINUTES} minutes of draining; use a later end",
        )


def _text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"
