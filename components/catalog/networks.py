"""What a VPC, its subnets and an EKS cluster accept, read from ``networks.yaml``."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from ipaddress import IPv4Network
from pathlib import Path
from typing import Any, Literal

import yaml

__all__ = [
    "ClusterNeeds",
    "EndpointFacts",
    "LoadBalancerNeeds",
    "Quota",
    "Sizes",
    "Units",
    "UpdateNeeds",
    "cluster_needs",
    "endpoints",
    "image_account",
    "load_balancer_needs",
    "node_buckets",
    "quota",
    "refused_beside",
    "sizes",
    "units",
    "update_needs",
]

DATA = Path(__file__).with_name("networks.yaml")

Networks = tuple[IPv4Network, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """Where something was read, when, and how sure we are of it."""

    source: str
    date: date
    confidence: Literal["high", "medium", "low"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Quota(Fact):
    """How many of something an account has by default.

    ``up_to`` is as far as AWS raises it on request; None where no bound is published.
    """

    what: str
    value: int
    up_to: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes(Fact):
    """Lengths of VPC blocks and subnets, and the addresses that AWS keeps of each subnet."""

    shortest: int
    longest: int
    kept_first: int
    kept_last: int

    @property
    def kept(self) -> int:
        """All that AWS keeps of a subnet."""
        return self.kept_first + self.kept_last


@dataclass(frozen=True, slots=True, kw_only=True)
class Units(Fact):
    """What one thing adds to the network address usage of its VPC."""

    address: int
    further_interface: int
    fabric_interface: int
    prefix: int
    endpoint_in_zone: int
    nat_gateway: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterNeeds(Fact):
    """What EKS wants of the subnets of a cluster, and of the range of its services."""

    addresses_advised: int
    refused_zones: tuple[str, ...]
    service_ranges: Networks
    service_shortest: int
    service_longest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UpdateNeeds(Fact):
    """New nodes that EKS brings up, at least, in each zone of a managed group that it updates."""

    nodes_in_zone: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadBalancerNeeds(Fact):
    """What a load balancer wants of each of its subnets."""

    addresses: int
    longest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EndpointFacts(Fact):
    """A service that can be reached inside the network.

    ``actions`` is its name in IAM, ``needed`` whether nodes cannot do without it, ``images``
    whether it serves images of EKS from accounts of EKS.
    """

    service: str
    actions: str
    needed: bool = False
    images: bool = False


@cache
def quota(name: str) -> Quota:
    """Return the quota called ``name``."""
    return Quota(**_section("quotas")[name])


@cache
def sizes() -> Sizes:
    """Return the sizes of blocks and subnets."""
    return Sizes(**_section("sizes"))


@cache
def units() -> Units:
    """Return the units that the network address usage is counted in."""
    return Units(**_section("units"))


@cache
def cluster_needs() -> ClusterNeeds:
    """Return what EKS wants."""
    row: dict[str, Any] = {**_section("clusters")}
    row["refused_zones"] = tuple(row["refused_zones"])
    row["service_ranges"] = _networks(row["service_ranges"])
    return ClusterNeeds(**row)


@cache
def load_balancer_needs() -> LoadBalancerNeeds:
    """Return what a load balancer wants."""
    return LoadBalancerNeeds(**_section("load_balancers"))


@cache
def update_needs() -> UpdateNeeds:
    """Return what an update of a managed group needs beside it."""
    return UpdateNeeds(**_section("updates"))


@cache
def endpoints() -> Mapping[str, EndpointFacts]:
    """Return the services with an interface endpoint, by the name of the endpoint."""
    rows, facts = _with_facts("endpoints")
    return {
        service: EndpointFacts(service=service, **{"actions": service, **row, **facts})
        for service, row in rows["rows"].items()
    }


@cache
def image_account(region: str) -> str:
    """Return the account in which EKS keeps the images of its add-ons in ``region``."""
    row = _section("images")
    account: str = row["regions"].get(region, row["account"])
    return account


@cache
def node_buckets(region: str) -> tuple[str, ...]:
    """Return the buckets of AWS that nodes in ``region`` read on their way up."""
    names: list[str] = _section("node_buckets")["names"]
    return tuple(name.format(region=region) for name in names)


def refused_beside(
    primary: IPv4Network, others: Networks, added: IPv4Network
) -> IPv4Network | None:
    """Return the range for which AWS refuses the block ``added`` to a VPC, if it does.

    Parameters
    ----------
    primary
        The block that the VPC was made with.
    others
        The blocks that it has besides, without ``added``.
    added
        The block that is to be associated.
    """
    rules = _mixes()
    refused = [*rules.never]
    refused += next(ranges for beside, ranges in rules.primary if primary.subnet_of(beside))
    for beside, ranges in rules.any:
        if any(block.overlaps(beside) for block in (primary, *others)):
            refused += ranges
    return next((range_ for range_ in refused if added.overlaps(range_)), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Mixes(Fact):
    primary: tuple[tuple[IPv4Network, Networks], ...]
    any: tuple[tuple[IPv4Network, Networks], ...]
    never: Networks


@cache
def _mixes() -> _Mixes:
    rows, facts = _with_facts("mixes")
    return _Mixes(
        primary=_pairs(rows["primary"]),
        any=_pairs(rows["any"]),
        never=_networks(rows["never"]),
        **facts,
    )


def _pairs(rows: Mapping[str, list[str]]) -> tuple[tuple[IPv4Network, Networks], ...]:
    return tuple((IPv4Network(beside), _networks(refused)) for beside, refused in rows.items())


def _networks(texts: list[str]) -> Networks:
    return tuple(IPv4Network(text) for text in texts)


def _with_facts(name: str) -> tuple[Mapping[str, Any], dict[str, Any]]:
    """Return a section of the data, and where it was read."""
    row = _section(name)
    return row, {key: row[key] for key in ("source", "date", "confidence")}


def _section(name: str) -> Mapping[str, Any]:
    section: Mapping[str, Any] = _data()[name]
    return section


@cache
def _data() -> Mapping[str, Any]:
    data: Mapping[str, Any] = yaml.load(DATA.read_text(), yaml.CSafeLoader)
    return data
