"""How many clusters a number of accelerators needs, and which limit makes it so. Pure."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from ipaddress import IPv4Network

from components.addressing import (
    LONGEST_MANAGEMENT,
    PLACES,
    Amount,
    Nodes,
    fewer_pods,
    longest_that_holds,
    node_units,
    prefixes_for,
    room,
    surge,
    zone_plan,
)
from components.catalog import Accelerator, InstanceType
from components.catalog.networks import (
    cluster_needs,
    endpoints,
    quota,
    refused_beside,
    sizes,
    units,
)
from components.layout import layout
from scripts.plan.blocks import FreeBlocks

__all__ = [
    "Answer",
    "ClusterBlocks",
    "Limit",
    "Paper",
    "Wish",
    "answer",
    "blocks_of",
    "plan",
    "waves",
]

MOST = 2**20
"""More nodes than any limit allows a cluster."""

FIRST_SHARE = 10
SMALLEST_FIRST = 2
"""The first wave is at most a tenth of a pool, or two nodes (`PoolConfig`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What is to be planned; every cluster is a site with a VPC of its own."""

    accelerators: int
    accelerator: Accelerator
    kind: InstanceType
    pods_per_node: int
    block: int
    zones: int
    headroom: int
    system_nodes: int
    wide: bool
    raised: bool

    @property
    def nodes(self) -> int:
        """Nodes that hold the accelerators."""
        return -(
            -self.accelerators // (self.kind.accelerator.count if self.kind.accelerator else 1)
        )

    @property
    def blocks(self) -> int:
        """Compute subnets that one VPC can have: a zone each, beside the management network."""
        return min(self.most("vpc_blocks") - 1, len(PLACES))

    def most(self, name: str) -> int:
        """Return a quota: as an account has it, or as far as AWS raises it."""
        found = quota(name)
        return found.up_to or found.value if self.raised else found.value


@dataclass(frozen=True, slots=True)
class Limit:
    """How many nodes one limit allows a cluster, and how that comes about."""

    what: str
    nodes: int
    why: str


@dataclass(frozen=True, slots=True)
class Paper:
    """The answer: ``sizes`` are the nodes of each cluster, the limit with the fewest nodes binds.

    ``management`` is the length that each management network needs; ``needed`` and ``units`` are
    what the largest cluster takes of one compute subnet and of its VPC.
    """

    wish: Wish
    limits: tuple[Limit, ...]
    sizes: tuple[int, ...]
    management: int | None
    needed: Amount
    units: int

    @property
    def binding(self) -> Limit:
        """The limit that allows the fewest nodes."""
        return min(self.limits, key=lambda limit: limit.nodes)


@dataclass(frozen=True, slots=True)
class Answer:
    """A plan with addresses for its clusters.

    ``problem`` says why it does not fit, and is empty when it does; ``helps`` are ways that need
    fewer clusters, with how many.
    """

    paper: Paper
    blocks: tuple["ClusterBlocks", ...]
    problem: str
    helps: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ClusterBlocks:
    """Addresses for one cluster: none of these blocks shares any with another or a neighbour."""

    management: IPv4Network
    compute: tuple[IPv4Network, ...]


def answer(wish: Wish, *, within: IPv4Network, avoid: Mapping[str, IPv4Network]) -> Answer:
    """Say whether ``wish`` fits, in how many clusters, with which addresses, and what would help.

    Blocks lie ``within`` a range and share no address with the neighbours to ``avoid``.
    """
    paper = plan(wish)
    blocks = blocks_of(paper, within=within, avoid=avoid)
    return Answer(paper, blocks, _problem(paper, len(blocks), within), _helps(paper))


def plan(wish: Wish) -> Paper:
    """Work out how many clusters ``wish`` needs."""
    limits = tuple(_limits(wish))
    most = min(limit.nodes for limit in limits)
    clusters = -(-wish.nodes // most) if most else 0
    even, more = divmod(wish.nodes, clusters) if clusters else (0, 0)
    largest = even + (more > 0)
    return Paper(
        wish=wish,
        limits=limits,
        sizes=tuple(even + (number < more) for number in range(clusters)),
        management=_management(wish),
        needed=_in_a_zone(wish, -(-largest // wish.zones)).with_headroom(wish.headroom),
        units=_units(wish, largest),
    )


def waves(nodes: int, most: int) -> tuple[int, ...]:
    """Split a pool into node groups: a first tenth, then as few equal ones as hold the rest."""
    first = min(nodes, most, max(SMALLEST_FIRST, nodes // FIRST_SHARE))
    rest = nodes - first
    groups = -(-rest // most)
    even, more = divmod(rest, groups) if groups else (0, 0)
    return (first, *(even + (number < more) for number in range(groups)))


def blocks_of(
    paper: Paper, *, within: IPv4Network, avoid: Mapping[str, IPv4Network]
) -> tuple[ClusterBlocks, ...]:
    """Suggest blocks for each cluster, as long as there are any that AWS takes together."""
    free = FreeBlocks(within, avoid.values())
    found: list[ClusterBlocks] = []
    for _ in paper.sizes:
        blocks = _next(paper, free)
        if blocks is None:
            break
        found.append(blocks)
    return tuple(found)


def _problem(paper: Paper, blocks: int, within: IPv4Network) -> str:
    if not paper.sizes:
        return f"{paper.binding.what} leave room for no node at all"
    if paper.management is None:
        return "no management network is large enough; use fewer --system-nodes"
    if blocks < len(paper.sizes):
        return (
            f"{within} has free blocks for {blocks} of {len(paper.sizes):,} clusters; give more "
            "addresses with --within, or smaller ones with --block"
        )
    return ""


def _helps(paper: Paper) -> Mapping[str, int]:
    wish = paper.wish
    ways = {
        f"--zones {wish.zones + 1}": replace(wish, zones=wish.zones + 1),
        "--raised": replace(wish, raised=True),
    }
    fewer = fewer_pods(wish.pods_per_node)
    if fewer:
        ways[f"--pods-per-node {fewer}"] = replace(wish, pods_per_node=fewer)
    counts = {way: len(plan(each).sizes) for way, each in ways.items() if each.zones <= each.blocks}
    return {
        way: count
        for way, count in counts.items()
        if count and (count < len(paper.sizes) or not paper.sizes)
    }


def _next(paper: Paper, free: FreeBlocks) -> ClusterBlocks | None:
    management = free.take(paper.management or LONGEST_MANAGEMENT)
    if management is None:
        return None
    compute: list[IPv4Network] = []
    while len(compute) < paper.wish.zones:
        block = free.take(paper.wish.block)
        if block is None:
            return None
        # A block that AWS refuses beside these stays taken: it is of no use to the next one either.
        if not refused_beside(management, tuple(compute), block):
            compute.append(block)
    return ClusterBlocks(management, tuple(compute))


def _limits(wish: Wish) -> Iterator[Limit]:
    ceiling = wish.most("nodes_per_cluster")
    yield Limit(
        "nodes of a cluster",
        max(ceiling - wish.system_nodes, 0),
        f"{ceiling:,} to plan with, {wish.system_nodes} of them system nodes",
    )
    groups, each = wish.most("node_groups") - 1, wish.most("nodes_per_group")
    yield Limit(
        "node groups of a cluster",
        _most(lambda nodes: _groups(wish, nodes) <= groups),
        f"{groups} beside that of the system nodes, {each} nodes each, a tenth first",
    )
    in_zone, blocks = _most_in_zone(wish), wish.blocks
    yield Limit("addresses of compute subnets", in_zone * wish.zones, _address_words(wish))
    yield Limit(
        "blocks of a VPC",
        in_zone * blocks,
        f"{blocks} compute subnets beside the management network",
    )
    most = wish.most("address_units")
    yield Limit(
        "network address usage of a VPC",
        _most(lambda nodes: _units(wish, nodes) <= most),
        f"{most:,} units, {_units_of_node(wish)} for each node",
    )


def _most(allowed: Callable[[int], bool]) -> int:
    """Return the most nodes that are allowed, where fewer always are."""
    low, high = 0, MOST
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if allowed(middle) else (low, middle - 1)
    return low


def _groups(wish: Wish, nodes: int) -> int:
    """Return the node groups of ``nodes`` spread evenly over the zones, a pool in each."""
    each = -(-nodes // wish.zones)
    return wish.zones * len(waves(each, wish.most("nodes_per_group"))) if nodes else 0


def _in_a_zone(wish: Wish, nodes: int) -> Amount:
    """Return what ``nodes`` of one zone take from its compute subnet."""
    return Nodes(
        count=nodes,
        surge=_surge(wish, nodes),
        addresses=_addresses(wish),
        prefixes=prefixes_for(wish.pods_per_node),
    ).demand


def _surge(wish: Wish, nodes: int) -> int:
    """Return the nodes that come besides while the largest group that may be is updated."""
    return surge(min(nodes, wish.most("nodes_per_group"))) if nodes else 0


def _most_in_zone(wish: Wish) -> int:
    there = room(wish.block, nodes=True)
    return _most(lambda nodes: _in_a_zone(wish, nodes).with_headroom(wish.headroom).within(there))


def _address_words(wish: Wish) -> str:
    there, prefixes = room(wish.block, nodes=True), prefixes_for(wish.pods_per_node)
    return (
        f"{wish.zones} x /{wish.block} with {there.addresses:,} addresses and {there.prefixes:,} "
        f"prefixes; a node takes {_addresses(wish)} and {prefixes} of them"
    )


def _addresses(wish: Wish) -> int:
    return sum(
        each.kind == "interface"
        for each in layout(wish.kind, efa=bool(wish.kind.efa_interfaces), wide=wish.wide)
    )


def _units_of_node(wish: Wish) -> int:
    interfaces = layout(wish.kind, efa=bool(wish.kind.efa_interfaces), wide=wish.wide)
    addresses = _addresses(wish)
    prefixes = prefixes_for(wish.pods_per_node)
    return node_units(addresses, len(interfaces) - addresses, prefixes)


def _units(wish: Wish, nodes: int) -> int:
    """Return the network address usage of a cluster, without NAT: with all endpoints instead."""
    zones = max(wish.zones, 2)
    system = (wish.system_nodes + zones * surge(1)) * node_units(
        1, 0, prefixes_for(wish.pods_per_node)
    )
    ways = len(endpoints()) * zones * units().endpoint_in_zone
    most = nodes + wish.zones * _surge(wish, -(-nodes // wish.zones))
    return most * _units_of_node(wish) + system + ways


def _management(wish: Wish) -> int | None:
    """Return the length of the smallest management network with room for its parts."""
    zones = max(wish.zones, 2)
    system = Nodes(
        count=-(-wish.system_nodes // zones),
        surge=surge(1),
        prefixes=prefixes_for(wish.pods_per_node),
    )
    private = system.demand + Amount(cluster_needs().addresses_advised)
    wanted = {
        "private": longest_that_holds(private.with_headroom(wish.headroom), nodes=True),
        "storage": longest_that_holds(
            Amount(len(endpoints())).with_headroom(wish.headroom), nodes=False
        ),
    }
    for length in range(LONGEST_MANAGEMENT, sizes().shortest - 1, -1):
        place = zone_plan(IPv4Network((0, length)), 1)
        have = {"private": place.private.prefixlen, "storage": place.storage.prefixlen}
        if all(limit is not None and have[part] <= limit for part, limit in wanted.items()):
            return length
    return None
