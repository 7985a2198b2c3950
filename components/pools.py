"""Settings of a pool of accelerator nodes: what it is made of, how it is bought, how it grows."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from components.capacity import CapacityConfig, OnDemand
from components.catalog import InstanceType, instance_type
from components.catalog.floors import floor
from components.catalog.replacement import budget, obstacle
from components.layout import Interface, layout
from components.settings import (
    REPLACES,
    AmiId,
    AmiRelease,
    Dns,
    InstanceName,
    Problem,
    Section,
    ZoneId,
    rule,
)
from components.waves import Capacity, capacity

__all__ = ["InterfaceConfig", "PoolConfig", "RepairConfig"]

FIRST_SHARE = 10
"""The first wave is at most this part of a pool: what it teaches must come cheap."""

SMALLEST_FIRST = 2
"""A first wave may always have two nodes, since no link can be measured with one."""


class InterfaceConfig(Section):
    """One network interface, where the catalog's layout is to be overruled."""

    card: Annotated[int, Field(ge=0, le=63)]
    """Network card, from 0."""

    device: Literal[0, 1]
    """Device index on that card."""

    kind: Literal["interface", "efa-only"]
    """With an address, or for the fabric only."""


class RepairConfig(Section):
    """What EKS may do by itself about a node that its agent calls unhealthy."""

    enabled: bool = True
    """Whether EKS repairs nodes at all."""

    grace_minutes: Annotated[int, Field(ge=10, le=240)] = 30
    """How long the agent must go on reporting bad hardware before anything is done."""

    at_once: Annotated[int, Field(ge=1, le=50)] = 1
    """Nodes repaired at the same time."""

    most_unhealthy_percent: Annotated[int, Field(ge=1, le=100)] = 20
    """Beyond this share nothing is repaired: so many do not break at once, so the agent errs."""


class PoolConfig(Section):
    """A pool of equal accelerator nodes."""

    name: Annotated[Dns, REPLACES]
    """What jobs call it."""

    instance_type: Annotated[InstanceName, REPLACES]
    """EC2 instance type, one with accelerators."""

    zone: Annotated[ZoneId, REPLACES]
    """The one zone where it lives: the fabric does not leave a zone."""

    waves: Annotated[tuple[Annotated[int, Field(ge=1)], ...], Field(min_length=1)]
    """Nodes of each wave, in order, a node group each; a wave waits until the one before has proved
    itself. A pool grows by waves added at the end; the ones before stay as they are."""

    capacity: Annotated[CapacityConfig, REPLACES] = OnDemand()
    """How its instances are bought."""

    ami_release: AmiRelease | None = None
    """Image release when it differs from the catalog's, to try a new one on one pool first."""

    ami: AmiId | None = None
    """An image of your own instead of EKS's; it must bring driver, EFA and nodeadm."""

    efa: Annotated[bool, REPLACES] = True
    """Whether its nodes join the fabric."""

    layout: Annotated[Literal["lean", "wide"], REPLACES] = "lean"
    """Interfaces with addresses: on the first card only, or on more cards for more IP bandwidth."""

    further_device_index: Annotated[Literal[0, 1], REPLACES] = 0
    """Device index on cards behind the first; the EC2 guide says 0, some clusters run with 1."""

    interfaces: Annotated[tuple[InterfaceConfig, ...], REPLACES] = ()
    """Every interface of a node, instead of a layout made from the catalog."""

    floor_gbps: Annotated[float, Field(gt=0)] | None = None
    """Lowest good all-reduce bus bandwidth in GB/s; needed where the catalog has no floor."""

    root_gib: Annotated[int, Field(ge=50, le=16384)] = 200
    """Root disk; images and scratch go to the local NVMe where there is some."""

    repair: RepairConfig = RepairConfig()
    """What EKS may repair by itself."""

    replace_bad: Annotated[int, Field(ge=0, le=64)] | None = None
    """Nodes of a wave that its gate may replace within a week when they prove bad; 0 is never. A
    tenth of the wave and at least one when left out, where the capacity gives another instance."""

    @property
    def nodes(self) -> int:
        """Nodes of all waves."""
        return sum(self.waves)

    @property
    def capacity_to_share(self) -> Capacity:
        """What all its nodes have for jobs."""
        kind = instance_type(self.instance_type)
        return capacity(self.name, kind, self.nodes, efa=self.efa)

    @property
    def node_interfaces(self) -> tuple[Interface, ...]:
        """The interfaces of each node."""
        if self.interfaces:
            return tuple(Interface(each.card, each.device, each.kind) for each in self.interfaces)
        return layout(
            instance_type(self.instance_type),
            efa=self.efa,
            wide=self.layout == "wide",
            further_device_index=self.further_device_index,
        )

    @property
    def addresses_per_node(self) -> int:
        """Addresses of a node itself, without those of its pods: EFA-only interfaces have none."""
        return sum(each.kind == "interface" for each in self.node_interfaces)

    def to_replace(self, nodes: int) -> int:
        """Return how many bad nodes of a wave of ``nodes`` its gate may replace."""
        if obstacle(self.instance_type, self.capacity.source):
            return 0
        return budget(nodes) if self.replace_bad is None else self.replace_bad

    @rule("waves")
    def _first_wave_is_small(self) -> Iterator[Problem]:
        most = max(SMALLEST_FIRST, self.nodes // FIRST_SHARE)
        if self.waves[0] > most:
            yield Problem(
                "waves.0",
                f"is {self.waves[0]} of {self.nodes} nodes; the first wave has at most "
                f"{most} (two, or a tenth of the pool), so move the rest to later waves",
            )

    @rule("instance_type", "efa")
    def _type_can(self) -> Iterator[Problem]:
        kind = instance_type(self.instance_type)
        if kind.accelerator is None:
            yield Problem(
                "instance_type",
                f"is {kind.name}, which has no accelerator; use a type that has, or run plain "
                "work on the system nodes",
            )
        elif self.efa and not kind.efa_interfaces:
            yield Problem("efa", f"is true, but {kind.name} has no EFA; set it to false")

    @rule("instance_type", "waves", "efa", "floor_gbps")
    def _can_be_judged(self) -> Iterator[Problem]:
        known = self.efa and all(floor(self.instance_type, nodes) for nodes in self.waves)
        if self.floor_gbps is None and not known:
            without = "" if self.efa else " without EFA"
            yield Problem(
                "floor_gbps",
                f"is missing, and the catalog has no floor for {self.instance_type}{without}; give "
                "the lowest all-reduce bus bandwidth in GB/s that is good, or no wave can pass",
            )

    @rule("instance_type", "capacity")
    def _is_sold_so(self) -> Iterator[Problem]:
        kind, wanted = instance_type(self.instance_type), self.capacity.usage_class
        if kind.accelerator and wanted not in kind.usage_classes:
            yield Problem(
                "capacity",
                f"buys {self.capacity.source}, but EC2 sells {kind.name} as "
                f"{' or '.join(kind.usage_classes)} only; use such a source",
            )

    @rule("instance_type", "capacity", "replace_bad")
    def _can_be_replaced(self) -> Iterator[Problem]:
        why = obstacle(self.instance_type, self.capacity.source)
        if self.replace_bad and why:
            yield Problem(
                "replace_bad",
                f"is {self.replace_bad}, but {why}; set it to 0, and give bad nodes back to AWS "
                "support",
            )

    @rule("ami", "ami_release")
    def _one_image(self) -> Iterator[Problem]:
        if self.ami and self.ami_release:
            yield Problem(
                "ami_release",
                f"is {self.ami_release}, but ami names an image of your own; leave one of them out",
            )

    @rule("instance_type", "efa", "interfaces")
    def _interfaces_can_be(self) -> Iterator[Problem]:
        if self.interfaces:
            kind = instance_type(self.instance_type)
            for text in (*_places(kind, self.interfaces), *_fabric(self, kind)):
                yield Problem("interfaces", text)


def _places(kind: InstanceType, interfaces: tuple[InterfaceConfig, ...]) -> Iterator[str]:
    """Say what is wrong with where interfaces sit."""
    places = [(each.card, each.device) for each in interfaces]
    if (0, 0, "interface") not in {(each.card, each.device, each.kind) for each in interfaces}:
        yield "lack a plain interface on card 0, device 0, the primary one of every node; add it"
    if len(set(places)) < len(places):
        yield "name a card and device twice; give each place once"
    last = max(card for card, _ in places)
    if last >= kind.network_cards:
        yield f"name card {last}, but {kind.name} has {kind.network_cards}, from 0; use those"


def _fabric(pool: PoolConfig, kind: InstanceType) -> Iterator[str]:
    """Say what is wrong with the interfaces of the fabric."""
    fabric = [each.card for each in pool.interfaces if each.kind == "efa-only"]
    if len(fabric) > kind.efa_interfaces:
        yield f"are {len(fabric)} for EFA, but {kind.name} takes {kind.efa_interfaces}; drop some"
    wrong = [card for card in fabric if card not in kind.efa_cards]
    if wrong and len(fabric) <= kind.efa_interfaces:
        cards = ", ".join(map(str, wrong))
        yield f"want EFA on card {cards}, which {kind.name} does not offer there; use other cards"
    if bool(fabric) != pool.efa:
        have = f"have {len(fabric)} for EFA" if fabric else "have none for EFA"
        yield f"{have}, but efa is {str(pool.efa).lower()}; make the two agree"
