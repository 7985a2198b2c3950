"""The address plan: which subnet of a site gets which addresses. Pure arithmetic, no names.

A zone's place depends on its own number only (the 4 of ``use1-az4``), so a zone that joins or
leaves moves no other.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network
from itertools import combinations

__all__ = ["ZonePlan", "demand", "overlaps", "smallest", "usable", "zone_plan"]

SLOTS = 8
"""Places for zones in the management network; no region has more than six zones."""

LONGEST_VPC_BLOCK = 28
SHORTEST_VPC_BLOCK = 16
"""A VPC block is at least a /28 and at most a /16 (VPC guide, VPC CIDR blocks)."""

RESERVED = 5
"""Addresses that AWS keeps in every subnet (VPC guide, subnet sizing)."""

WARM_ADDRESSES = 2
"""Spare addresses that the VPC CNI holds on each node, so that a pod need not wait for one."""

PUBLIC_SHARE = 16
"""A zone's public subnet is this part of its place: it holds NAT gateways and load balancers."""


@dataclass(frozen=True, slots=True)
class ZonePlan:
    """The management addresses of one zone."""

    private: IPv4Network
    public: IPv4Network


def zone_plan(management: IPv4Network, number: int) -> ZonePlan:
    """Return the subnets of zone ``number`` (1 to 7) in the ``management`` network.

    Each zone has an eighth of it: the first half of that is private, and a sixteenth behind that
    half is public.
    """
    if not 0 < number < SLOTS:
        raise ValueError(f"zone number {number} has no place; there are 1 to {SLOTS - 1}")
    place = _part(management, SLOTS, number)
    return ZonePlan(
        private=_part(place, 2, 0), public=_part(place, PUBLIC_SHARE, PUBLIC_SHARE // 2)
    )


def usable(network: IPv4Network) -> int:
    """Return how many addresses of a subnet can be given out."""
    return network.num_addresses - RESERVED


def demand(nodes: int, pods_per_node: int, *, file_servers: int = 0) -> int:
    """Return the addresses that ``nodes`` need: one for the host, its pods, and some held warm.

    EFA-only interfaces have no address. ``file_servers`` is the number of Lustre interfaces beside.
    """
    return nodes * (1 + pods_per_node + WARM_ADDRESSES) + file_servers


def smallest(addresses: int) -> int | None:
    """Return the length of the smallest subnet that holds ``addresses``, if a VPC allows one."""
    for length in range(LONGEST_VPC_BLOCK, SHORTEST_VPC_BLOCK - 1, -1):
        if 2 ** (32 - length) - RESERVED >= addresses:
            return length
    return None


def overlaps(networks: Mapping[str, IPv4Network]) -> Iterator[tuple[str, str]]:
    """Yield the names of each two ``networks`` that share an address, whichever holds the other."""
    for (one, first), (other, second) in combinations(networks.items(), 2):
        if first.overlaps(second):
            yield one, other


def _part(network: IPv4Network, parts: int, number: int) -> IPv4Network:
    """Return part ``number`` of ``network`` cut into ``parts``, a power of two."""
    length = network.prefixlen + parts.bit_length() - 1
    size = 2 ** (32 - length)
    return IPv4Network((int(network.network_address) + number * size, length))
