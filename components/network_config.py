"""Settings of the network, and what AWS and EKS refuse of them."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from components.addressing import (
    LONGEST_MANAGEMENT,
    LONGEST_WITH_PARTS,
    PLACES,
    overlaps,
    zone_plan,
)
from components.catalog.networks import (
    cluster_needs,
    load_balancer_needs,
    quota,
    refused_beside,
    sizes,
)
from components.domains import Domain, EntryConfig
from components.endpoints import REQUIRED, Endpoint
from components.settings import NEVER, REPLACES, Cidr, Dns, Problem, Section, ZoneId, rule

__all__ = ["NeighbourConfig", "NetworkConfig", "QuotasConfig", "ZoneConfig"]

VPC_BLOCKS = quota("vpc_blocks")
ADDRESS_UNITS = quota("address_units")

KINDS = {
    "business": "a business network",
    "office": "an office",
    "on-premises": "on premises",
    "peered": "a peered network",
    "storage": "a storage network",
}


class NeighbourConfig(Section):
    """A network outside that ours will be joined to, or may be one day."""

    name: Dns
    """What people call it."""

    kind: Literal["business", "office", "on-premises", "peered", "storage"] = "peered"
    """What it is."""

    cidr: Cidr
    """Its addresses."""

    def __str__(self) -> str:
        """Return its name and what it is."""
        return f"neighbour {self.name}, {KINDS[self.kind]}"


class ZoneConfig(Section):
    """One availability zone of the site."""

    id: Annotated[ZoneId, REPLACES]
    """Zone id, not name: the same name is another zone in another account."""

    compute_cidr: Annotated[Cidr | None, REPLACES] = None
    """Addresses of the compute subnet (/16 to /26); none in a zone without accelerators."""

    @property
    def number(self) -> int:
        """The 4 of ``use1-az4``, which is the zone's place in the address plan."""
        return int(self.id[-1])

    @property
    def region(self) -> str:
        """The ``use1`` of ``use1-az4``."""
        return self.id.partition("-")[0]


class QuotasConfig(Section):
    """Quotas of the account that AWS has raised; the defaults are what an account has at first."""

    vpc_blocks: Annotated[int, Field(ge=VPC_BLOCKS.value, le=VPC_BLOCKS.up_to)] = VPC_BLOCKS.value
    """IPv4 blocks of a VPC: one for the management network, one for each compute subnet."""

    address_units: Annotated[int, Field(ge=ADDRESS_UNITS.value, le=ADDRESS_UNITS.up_to)] = (
        ADDRESS_UNITS.value
    )
    """Network address usage of a VPC; an EFA interface counts one, as a prefix of pods does."""


class NetworkConfig(Section):
    """Addresses and exits of the site."""

    management_cidr: Annotated[Cidr, NEVER]
    """Addresses of the management network (/16 to /21): control plane, system nodes, exits, file
    servers and endpoints."""

    service_cidr: Annotated[Cidr, NEVER] = Cidr("172.20.0.0/16")
    """Addresses of Kubernetes services (/12 to /24); they exist inside the cluster only."""

    zones: tuple[ZoneConfig, ...] = Field(min_length=2)
    """Zones in use; EKS needs two."""

    nat: Literal["per-zone", "one", "none"] = "per-zone"
    """Way out to the internet: one gateway for each zone, one for all, or none at all."""

    endpoints: tuple[Endpoint, ...] = ()
    """AWS services reached inside the network; S3 always is."""

    neighbours: tuple[NeighbourConfig, ...] = ()
    """Networks whose addresses must stay apart from ours."""

    headroom_percent: Annotated[int, Field(ge=10, le=20)] = 15
    """Addresses kept free in every subnet, on top of what is counted."""

    quotas: QuotasConfig = QuotasConfig()
    """Quotas that AWS has raised."""

    private_zone: Annotated[Domain | None, REPLACES] = None
    """Domain that only the network can ask for; none when left out."""

    entry: EntryConfig | None = None
    """Public name under which users come in; none when left out."""

    flow_log_days: Literal[30, 90, 180, 365, 400, 545, 731] = 365
    """Days for which flow logs are kept."""

    @property
    def public_zones(self) -> tuple[ZoneConfig, ...]:
        """Zones with a public subnet: where a gateway is, and all where users come in."""
        if self.nat == "none":
            return ()
        return self.zones if self.nat == "per-zone" or self.entry else self.zones[:1]

    @property
    def nat_zones(self) -> tuple[ZoneConfig, ...]:
        """Zones with a NAT gateway."""
        return {"none": (), "one": self.zones[:1], "per-zone": self.zones}[self.nat]

    @rule("zones")
    def _zones_differ(self) -> Iterator[Problem]:
        seen: set[str] = set()
        for position, zone in enumerate(self.zones):
            if zone.id in seen:
                yield Problem(f"zones.{position}.id", f"is {zone.id} again; name each zone once")
            seen.add(zone.id)

    @rule("zones")
    def _zones_can_be_used(self) -> Iterator[Problem]:
        for position, zone in enumerate(self.zones):
            path = f"zones.{position}.id"
            if zone.region != self.zones[0].region:
                yield Problem(
                    path,
                    f"is {zone.id}, but zones.0.id is {self.zones[0].id} in another region; a site "
                    "lies in one",
                )
            elif zone.number not in PLACES:
                yield Problem(
                    path,
                    f"is {zone.id}, but the address plan has places for az{PLACES[0]} to "
                    f"az{PLACES[-1]}; use one of these",
                )
            elif zone.id in cluster_needs().refused_zones:
                yield Problem(
                    path, f"is {zone.id}, where EKS takes no subnet of a cluster; use another zone"
                )

    @rule("management_cidr")
    def _management_fits(self) -> Iterator[Problem]:
        shortest = sizes().shortest
        if not shortest <= self.management_cidr.prefixlen <= LONGEST_MANAGEMENT:
            yield Problem(
                "management_cidr",
                f"is a /{self.management_cidr.prefixlen}, but a VPC block is at most a "
                f"/{shortest} and the plan for seven zones needs at least a "
                f"/{LONGEST_MANAGEMENT}; use a length from {shortest} to {LONGEST_MANAGEMENT}",
            )

    @rule("service_cidr")
    def _services_fit(self) -> Iterator[Problem]:
        needs, block = cluster_needs(), self.service_cidr
        inside = any(block.subnet_of(each) for each in needs.service_ranges)
        if not (inside and needs.service_shortest <= block.prefixlen <= needs.service_longest):
            ranges = " or ".join(map(str, needs.service_ranges))
            yield Problem(
                "service_cidr",
                f"is {block}, but EKS takes a /{needs.service_shortest} to a "
                f"/{needs.service_longest} inside {ranges}; use such a block",
            )

    @rule("zones")
    def _compute_blocks_fit(self) -> Iterator[Problem]:
        shortest = sizes().shortest
        for position, zone in enumerate(self.zones):
            block = zone.compute_cidr
            if block and not shortest <= block.prefixlen <= LONGEST_WITH_PARTS:
                yield Problem(
                    f"zones.{position}.compute_cidr",
                    f"is a /{block.prefixlen}, but a VPC block is at most a /{shortest}, and a "
                    f"quarter of less than a /{LONGEST_WITH_PARTS} holds no prefix for pods; use a "
                    f"length from {shortest} to {LONGEST_WITH_PARTS}",
                )

    @rule("zones", "quotas")
    def _blocks_are_few_enough(self) -> Iterator[Problem]:
        blocks, most = sum(zone.compute_cidr is not None for zone in self.zones), self.quotas
        if 1 + blocks > most.vpc_blocks:
            yield Problem(
                "zones",
                f"have {blocks} compute blocks, which with the management network are more than "
                f"the {most.vpc_blocks} that a VPC may have; use fewer, or have AWS raise the "
                f"quota (to {VPC_BLOCKS.up_to} at most) and write it in quotas.vpc_blocks",
            )

    @rule("management_cidr", "zones")
    def _blocks_go_together(self) -> Iterator[Problem]:
        blocks = {
            f"zones.{position}.compute_cidr": zone.compute_cidr
            for position, zone in enumerate(self.zones)
            if zone.compute_cidr
        }
        for path, block in blocks.items():
            others = tuple(each for other, each in blocks.items() if other != path)
            refused = refused_beside(self.management_cidr, others, block)
            if refused:
                yield Problem(
                    path,
                    f"is {block}, but AWS takes nothing of {refused} beside the other blocks of "
                    f"this network ({', '.join(map(str, (self.management_cidr, *others)))}); use "
                    "addresses of 100.64.0.0/10, or others of the management network's own range",
                )

    @rule("management_cidr", "service_cidr", "zones", "neighbours")
    def _nothing_overlaps(self) -> Iterator[Problem]:
        networks = {"management_cidr": self.management_cidr, "service_cidr": self.service_cidr}
        for position, zone in enumerate(self.zones):
            if zone.compute_cidr:
                networks[f"zones.{position}.compute_cidr"] = zone.compute_cidr
        called = {
            f"neighbours.{position}.cidr": neighbour
            for position, neighbour in enumerate(self.neighbours)
        }
        networks |= {path: neighbour.cidr for path, neighbour in called.items()}
        for ours, other in overlaps(networks):
            if ours not in called:
                whose = f" ({called[other]})" if other in called else ""
                yield Problem(
                    ours,
                    f"is {networks[ours]}, which shares addresses with {other} "
                    f"{networks[other]}{whose}; give one of them other addresses",
                )

    @rule("endpoints")
    def _endpoints_differ(self) -> Iterator[Problem]:
        for position, service in enumerate(self.endpoints):
            if service in self.endpoints[:position]:
                yield Problem(
                    f"endpoints.{position}", f"is {service} again; name each service once"
                )

    @rule("nat", "endpoints")
    def _a_way_to_aws(self) -> Iterator[Problem]:
        missing = sorted(REQUIRED - set(self.endpoints))
        if self.nat == "none" and missing:
            yield Problem(
                "endpoints",
                f"lacks {', '.join(missing)}, which nodes cannot do without when nat is none; add "
                "them, or choose another nat",
            )

    @rule("management_cidr", "nat", "entry")
    def _entry_has_room(self) -> Iterator[Problem]:
        length = self.management_cidr.prefixlen
        if self.entry is None or self.nat == "none" or length > LONGEST_MANAGEMENT:
            return
        public = zone_plan(self.management_cidr, PLACES[0]).public.prefixlen
        longest = load_balancer_needs().longest
        if public > longest:
            yield Problem(
                "management_cidr",
                f"is a /{length} whose public subnets are /{public}s, but a load balancer at the "
                f"entry wants a /{longest} at least; use a /{length - public + longest}, or leave "
                "entry out",
            )
