"""The address plan: which subnet of a site gets which addresses, and what fits. Pure, no names.

A zone's place depends on its own number only (the 4 of ``use1-az4``), so a zone that joins or
leaves moves no other. A subnet with nodes has two parts: a quarter gives single addresses to their
interfaces, the rest gives whole prefixes to their pods, so that neither can fragment the other.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network
from itertools import combinations

from components.catalog import PREFIX_ADDRESSES
from components.catalog.networks import sizes, units, update_needs

__all__ = [
    "LONGEST_MANAGEMENT",
    "LONGEST_WITH_PARTS",
    "PLACES",
    "WARM_ADDRESSES",
    "Amount",
    "Nodes",
    "Parts",
    "ZonePlan",
    "fewer_pods",
    "longest_that_holds",
    "node_units",
    "overlaps",
    "parts",
    "prefixes_for",
    "room",
    "surge",
    "updated_at_once",
    "zone_plan",
]

SLOTS = 8
PLACES = range(1, SLOTS)
"""Places for zones in the management network; no region has more than six zones."""

WARM_ADDRESSES = 2
"""Spare addresses that the VPC CNI holds on each node, so that a pod need not wait for one."""

PUBLIC_SHARE = 16
"""A zone's public subnet is this part of its place: it holds NAT gateways and load balancers."""

QUARTERS = 4
"""A zone's storage subnet is the last of so many parts of its place; a subnet with nodes gives the
first of so many to their interfaces."""

UPDATED_SHARE = 10
MOST_UPDATED_AT_ONCE = 100
"""EKS takes out at most so many nodes at once (EKS API, NodegroupUpdateConfig)."""

LONGEST_MANAGEMENT = 21
"""In a longer management network a zone's public subnet would be longer than AWS has them."""

LONGEST_WITH_PARTS = 26
"""A quarter of this is a /28, which is one prefix: a longer block has no part for pods."""


@dataclass(frozen=True, slots=True)
class ZonePlan:
    """The management addresses of one zone."""

    private: IPv4Network
    public: IPv4Network
    storage: IPv4Network


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a subnet with nodes."""

    hosts: IPv4Network
    pods: tuple[IPv4Network, IPv4Network]


@dataclass(frozen=True, slots=True)
class Amount:
    """Addresses as a subnet gives them out: single ones, and prefixes of 16 for pods."""

    addresses: int = 0
    prefixes: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.addresses + other.addresses, self.prefixes + other.prefixes)

    def within(self, other: "Amount") -> bool:
        """Tell whether ``other`` has all of this."""
        return self.addresses <= other.addresses and self.prefixes <= other.prefixes

    def with_headroom(self, percent: int) -> "Amount":
        """Return this and ``percent`` more, rounded up."""
        return Amount(_more(self.addresses, percent), _more(self.prefixes, percent))


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """Equal nodes.

    ``surge`` of them are there besides while node groups are updated; each has ``addresses`` on its
    own interfaces (EFA-only ones have none) and ``prefixes`` for its pods.
    """

    count: int
    surge: int = 0
    addresses: int = 1
    prefixes: int = 0

    @property
    def demand(self) -> Amount:
        """What they take from their subnet at most."""
        most = self.count + self.surge
        return Amount(most * self.addresses, most * self.prefixes)


def zone_plan(management: IPv4Network, number: int) -> ZonePlan:
    """Return the subnets of zone ``number`` (1 to 7) in the ``management`` network.

    Each zone has an eighth of it: the first half of that is private, a sixteenth behind that half
    is public, and the last quarter is for storage.
    """
    if number not in PLACES:
        raise ValueError(f"zone number {number} has no place; there are 1 to {SLOTS - 1}")
    place = _part(management, SLOTS, number)
    return ZonePlan(
        private=_part(place, 2, 0),
        public=_part(place, PUBLIC_SHARE, PUBLIC_SHARE // 2),
        storage=_part(place, QUARTERS, QUARTERS - 1),
    )


def parts(subnet: IPv4Network) -> Parts:
    """Return the parts of a subnet with nodes: its first quarter, and the rest as two blocks."""
    return Parts(
        hosts=_part(subnet, QUARTERS, 0),
        pods=(_part(subnet, QUARTERS, 1), _part(subnet, 2, 1)),
    )


def room(length: int, *, nodes: bool) -> Amount:
    """Return what a subnet of this ``length`` can give out, in parts if it has ``nodes``.

    The addresses that AWS keeps at the end spoil the last prefix.
    """
    size, facts = 2 ** (32 - length), sizes()
    if not nodes:
        return Amount(max(size - facts.kept, 0))
    quarter, spoilt = size // QUARTERS, _up(facts.kept_last, PREFIX_ADDRESSES)
    prefixes = quarter // PREFIX_ADDRESSES + size // 2 // PREFIX_ADDRESSES - spoilt
    return Amount(max(quarter - facts.kept_first, 0), max(prefixes, 0))


def longest_that_holds(amount: Amount, *, nodes: bool) -> int | None:
    """Return the length of the smallest subnet that gives ``amount``, if AWS has one so large."""
    longest = LONGEST_WITH_PARTS if nodes else sizes().longest
    for length in range(longest, sizes().shortest - 1, -1):
        if amount.within(room(length, nodes=nodes)):
            return length
    return None


def prefixes_for(pods: int) -> int:
    """Return the prefixes that the CNI takes for ``pods`` on one node, some addresses held warm."""
    return _up(pods + WARM_ADDRESSES, PREFIX_ADDRESSES)


def updated_at_once(nodes: int) -> int:
    """Return how many nodes of a group one update takes out at the same time: a tenth."""
    return min(MOST_UPDATED_AT_ONCE, max(1, nodes // UPDATED_SHARE))


def surge(nodes: int) -> int:
    """Return the nodes that EKS brings up in one zone beside a group of ``nodes`` to update it."""
    return max(update_needs().nodes_in_zone, updated_at_once(nodes))


def fewer_pods(pods: int) -> int:
    """Return the most pods that need one prefix less; 0 when there is nothing less."""
    return max((prefixes_for(pods) - 1) * PREFIX_ADDRESSES - WARM_ADDRESSES, 0)


def node_units(addresses: int, fabric: int, prefixes: int) -> int:
    """Return what a node adds to the network address usage of its VPC, as AWS counts it.

    ``fabric`` are its EFA-only interfaces: they have no address, but they count.
    """
    each = units()
    return (
        addresses * each.address
        + (addresses - 1) * each.further_interface
        + fabric * each.fabric_interface
        + prefixes * each.prefix
    )


def overlaps(networks: Mapping[str, IPv4Network]) -> Iterator[tuple[str, str]]:
    """Yield the names of each two ``networks`` that share an address, whichever holds the other."""
    for (one, first), (other, second) in combinations(networks.items(), 2):
        if first.overlaps(second):
            yield one, other


def _more(number: int, percent: int) -> int:
    return _up(number * (100 + percent), 100)


def _up(number: int, by: int) -> int:
    """Divide, and round up."""
    return -(-number // by)


def _part(network: IPv4Network, of: int, number: int) -> IPv4Network:
    """Return part ``number`` of ``network`` cut into so many, a power of two."""
    length = network.prefixlen + of.bit_length() - 1
    size = 2 ** (32 - length)
    return IPv4Network((int(network.network_address) + number * size, length))
