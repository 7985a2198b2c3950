"""What every subnet of a site must hold, and whether it does. Pure.

The demand is counted, never guessed: interfaces of nodes, prefixes of their pods, file servers,
endpoints and the control plane, each in the subnet where it lands, and headroom on top.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import Literal

from components.addressing import (
    LONGEST_MANAGEMENT,
    LONGEST_WITH_PARTS,
    PLACES,
    Amount,
    Nodes,
    Parts,
    longest_that_holds,
    node_units,
    parts,
    prefixes_for,
    room,
    surge,
    zone_plan,
)
from components.catalog.networks import (
    Quota,
    cluster_needs,
    load_balancer_needs,
    quota,
    sizes,
    units,
)
from components.network_config import NetworkConfig, ZoneConfig
from components.pools import PoolConfig
from components.problems import Problem

__all__ = [
    "AddressPlan",
    "FileServers",
    "Needs",
    "SubnetPlan",
    "Use",
    "address_plan",
    "misfits",
]

Purpose = Literal["management", "public", "storage", "compute"]

SHARE_BITS = {"management": 4, "public": 7, "storage": 5}
"""How many bits longer than the management network a subnet in it is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileServers:
    """Interfaces of the shared file system; on the ``fabric`` they live beside the nodes."""

    zone: str
    count: int
    fabric: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """What the other layers want of the network."""

    pools: Sequence[PoolConfig]
    pods_per_node: int
    system_nodes: int
    file_servers: FileServers


@dataclass(frozen=True, slots=True, kw_only=True)
class SubnetPlan:
    """One subnet: ``demand`` is counted, ``needed`` has headroom, ``room`` is what there is.

    ``position`` is the place of its zone in the settings; ``parts`` is None without nodes.
    """

    zone: str
    position: int
    purpose: Purpose
    block: IPv4Network
    demand: Amount
    needed: Amount
    room: Amount
    parts: Parts | None
    nodes: int = 0
    surge: int = 0
    servers: int = 0

    @property
    def fits(self) -> bool:
        """Whether there is room for what is needed."""
        return self.needed.within(self.room)

    @property
    def length(self) -> int | None:
        """Length of the smallest subnet that would do, if AWS has one so large."""
        return longest_that_holds(self.needed, nodes=self.parts is not None)


@dataclass(frozen=True, slots=True)
class Use:
    """How much of a quota the site takes; ``most`` is the account's."""

    quota: Quota
    most: int
    taken: int

    @property
    def fits(self) -> bool:
        """Whether the account's quota is enough."""
        return self.taken <= self.most


@dataclass(frozen=True, slots=True)
class AddressPlan:
    """Every subnet of a site, and what the whole takes of its VPC's quotas."""

    subnets: tuple[SubnetPlan, ...]
    blocks: Use
    address_units: Use

    @property
    def fits(self) -> bool:
        """Whether all of it fits."""
        parts_of_it = (*self.subnets, self.blocks, self.address_units)
        return all(part.fits for part in parts_of_it)


def address_plan(network: NetworkConfig, needs: Needs) -> AddressPlan:
    """Lay out every subnet of a site, with what it must hold."""
    subnets = tuple(
        subnet
        for position, zone in enumerate(network.zones)
        for subnet in _Zone(network, needs, zone, position).subnets()
    )
    blocks = 1 + sum(zone.compute_cidr is not None for zone in network.zones)
    taken = _address_units(network, needs)
    return AddressPlan(
        subnets,
        Use(quota("vpc_blocks"), network.quotas.vpc_blocks, blocks),
        Use(quota("address_units"), network.quotas.address_units, taken),
    )


def misfits(network: NetworkConfig, needs: Needs) -> Iterator[Problem]:
    """Yield a problem for each block that is too small, and for a VPC that would be too full.

    Paths are those of a site's settings. Settings that no plan can be made of yield nothing: rules
    of the network speak of them.
    """
    if not _can_be_planned(network):
        return
    plan, headroom = address_plan(network, needs), network.headroom_percent
    for subnet in plan.subnets:
        if subnet.purpose == "compute" and not subnet.fits:
            yield _compute_problem(subnet, needs.pods_per_node, headroom)
    tight = [s for s in plan.subnets if s.purpose != "compute" and not s.fits]
    if tight:
        yield _management_problem(network.management_cidr, tight, headroom)
    if not plan.address_units.fits:
        yield _units_problem(plan.address_units)


@dataclass(frozen=True, slots=True)
class _Zone:
    """One zone of a site, with what lands in it."""

    network: NetworkConfig
    needs: Needs
    zone: ZoneConfig
    position: int

    def subnets(self) -> Iterator[SubnetPlan]:
        """Yield its subnets."""
        place = zone_plan(self.network.management_cidr, self.zone.number)
        endpoints = len(self.network.endpoints)
        beside, behind = self._file_servers()
        # Each zone has its share of the system nodes, which are one group over all zones.
        share = -(-self.needs.system_nodes // len(self.network.zones))
        system = self._nodes(share, more=surge(1), addresses=1)
        rest = cluster_needs().addresses_advised + (0 if self.zone.compute_cidr else endpoints)
        yield self._subnet("management", place.private, system, others=rest)
        if self.zone in self.network.public_zones:
            balancer = load_balancer_needs().addresses if self.network.entry else 0
            yield self._subnet("public", place.public, others=1 + balancer)
        if self.zone.compute_cidr:
            yield self._subnet("storage", place.storage, others=endpoints, servers=behind)
            groups = [
                self._nodes(sum(pool.waves), more=_surge(pool), addresses=pool.addresses_per_node)
                for pool in self.needs.pools
                if pool.zone == self.zone.id
            ]
            yield self._subnet("compute", self.zone.compute_cidr, *groups, servers=beside)

    def _file_servers(self) -> tuple[int, int]:
        """Return the file servers beside the nodes, and those in the storage subnet."""
        servers = self.needs.file_servers
        count = servers.count if servers.zone == self.zone.id else 0
        return (count, 0) if servers.fabric else (0, count)

    def _nodes(self, count: int, *, more: int, addresses: int) -> Nodes:
        prefixes = prefixes_for(self.needs.pods_per_node)
        return Nodes(count=count, surge=more, addresses=addresses, prefixes=prefixes)

    def _subnet(
        self,
        purpose: Purpose,
        block: IPv4Network,
        *groups: Nodes,
        others: int = 0,
        servers: int = 0,
    ) -> SubnetPlan:
        with_nodes = purpose in {"management", "compute"}
        demand = sum((group.demand for group in groups), Amount(others + servers))
        return SubnetPlan(
            zone=self.zone.id,
            position=self.position,
            purpose=purpose,
            block=block,
            demand=demand,
            needed=demand.with_headroom(self.network.headroom_percent),
            room=room(block.prefixlen, nodes=with_nodes),
            parts=parts(block) if with_nodes else None,
            nodes=sum(group.count for group in groups),
            surge=sum(group.surge for group in groups),
            servers=servers,
        )


def _surge(pool: PoolConfig) -> int:
    """Return the nodes beside those of a pool while it is updated: its waves go one by one.

    A group on capacity that is held gives a node up before it gets another.
    """
    return 0 if pool.capacity.held else max(map(surge, pool.waves), default=0)


def _address_units(network: NetworkConfig, needs: Needs) -> int:
    """Return the network address usage of the whole, as the VPC guide counts it."""
    each, prefixes = units(), prefixes_for(needs.pods_per_node)
    system = needs.system_nodes + surge(1) * len(network.zones)
    total = system * node_units(1, 0, prefixes)
    for pool in needs.pools:
        fabric = len(pool.node_interfaces) - pool.addresses_per_node
        most = sum(pool.waves) + _surge(pool)
        total += most * node_units(pool.addresses_per_node, fabric, prefixes)
    total += needs.file_servers.count * each.address
    total += len(network.endpoints) * len(network.zones) * each.endpoint_in_zone
    return total + len(network.nat_zones) * each.nat_gateway


def _can_be_planned(network: NetworkConfig) -> bool:
    shortest = sizes().shortest
    return shortest <= network.management_cidr.prefixlen <= LONGEST_MANAGEMENT and all(
        zone.number in PLACES
        and (
            zone.compute_cidr is None
            or shortest <= zone.compute_cidr.prefixlen <= LONGEST_WITH_PARTS
        )
        for zone in network.zones
    )


def _compute_problem(subnet: SubnetPlan, pods: int, headroom: int) -> Problem:
    if subnet.length is None:
        way = (
            "no VPC block is that large, so split the pools over zones or clusters, or lower "
            "control_plane.pods_per_node"
        )
    else:
        way = f"a /{subnet.length} would do, or lower control_plane.pods_per_node"
    counted = [f"{headroom} percent headroom"]
    if subnet.servers:
        counted.insert(0, f"{subnet.servers} file servers")
    if subnet.surge:
        counted.insert(0, f"{subnet.surge} more nodes during updates")
    return Problem(
        f"network.zones.{subnet.position}.compute_cidr",
        f"is {subnet.block}, which has {_words(subnet.room)}, but {subnet.nodes} nodes with {pods} "
        f"pods each need {_words(subnet.needed)} (with {', '.join(counted)}); {way}",
    )


def _management_problem(
    management: IPv4Network, tight: Sequence[SubnetPlan], headroom: int
) -> Problem:
    first = tight[0]
    length = min((s.length or 0) - SHARE_BITS[s.purpose] for s in tight)
    way = (
        f"a /{length} would do"
        if length >= sizes().shortest
        else "no VPC block is that large, so use fewer system nodes, file servers or endpoints"
    )
    return Problem(
        "network.management_cidr",
        f"is {management}, whose {first.purpose} subnet in {first.zone} is {first.block} with "
        f"{_words(first.room)}, but {_words(first.needed)} are needed there (with {headroom} "
        f"percent headroom); {way}",
    )


def _units_problem(use: Use) -> Problem:
    most = use.quota.up_to
    way = (
        f"ask AWS for a quota of {use.taken} or more and write it here"
        if most is None or use.taken <= most
        else f"AWS raises it to {most} at most, so split the pools over clusters"
    )
    return Problem(
        "network.quotas.address_units",
        f"is {use.most}, but interfaces, prefixes, endpoints and gateways come to {use.taken} "
        f"units of {use.quota.what}; {way}",
    )


def _words(amount: Amount) -> str:
    """Say an amount; a subnet without nodes has no prefixes to speak of."""
    single = f"{amount.addresses} addresses"
    return f"{single} and {amount.prefixes} prefixes" if amount.prefixes else single
