"""Facts about AWS that the program reasons with, read from the data files beside this module.

Nothing here asks AWS. Each row carries its source, the date it was read and how sure we are of it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Any, Literal

import yaml
from rapidfuzz import process

__all__ = [
    "Accelerator",
    "FsxTier",
    "InstanceType",
    "Pin",
    "Release",
    "UnknownInstanceTypeError",
    "chart",
    "fsx_tier",
    "image",
    "instance_type",
    "instance_types",
    "kueue_configuration",
    "manifest",
    "releases",
]

DATA = Path(__file__).parent

NEAREST = 3
"""Names offered when one is not known: more than three is no longer a hint."""

PREFIX_ADDRESSES = 16
"""Addresses of a prefix that the VPC CNI takes at once (EC2 guide, prefix delegation)."""

HOST_PODS = 2
"""Pods of every node that use the host's own address: the CNI and kube-proxy."""

MOST_PODS = 250
MOST_PODS_SMALL = 110
SMALL_VCPUS = 30
"""Pods that EKS advises at most for a node, and for one of up to 30 vCPUs (EKS AMI)."""

Architecture = Literal["x86_64", "arm64"]
Confidence = Literal["high", "medium", "low"]
UsageClass = Literal["on-demand", "spot", "capacity-block"]
Vendor = Literal["nvidia", "neuron"]


@dataclass(frozen=True, slots=True)
class Accelerator:
    """What computes on an instance: ``count`` devices of ``memory_mib`` each.

    ``ec2_says`` are EC2's words about them where those are known to be wrong.
    """

    name: str
    vendor: Vendor
    count: int
    memory_mib: int
    ec2_says: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InstanceType:
    """One EC2 instance type.

    ``efa_cards`` can carry EFA; ``address_cards`` get a plain interface in the wide layout. Every
    card holds ``interfaces_per_card`` interfaces, each with ``ipv4_per_interface`` addresses.
    ``usage_classes`` are the ways EC2 sells the type; ``offered_in`` maps a region to the zone ids
    that sell it, and a region that is missing is not known. ``network_gbps`` is 0 where it plays no
    part (types without an accelerator).
    """

    name: str
    architecture: Architecture
    vcpus: int
    memory_gib: int
    accelerator: Accelerator | None = None
    network_gbps: int = 0
    efa_interfaces: int
    network_cards: int
    efa_cards: tuple[int, ...] = ()
    address_cards: tuple[int, ...] = (0,)
    layout_confidence: Confidence = "high"
    interfaces_per_card: int
    ipv4_per_interface: int
    local_nvme_gb: int
    placement_group: bool
    usage_classes: tuple[UsageClass, ...]
    offered_in: Mapping[str, tuple[str, ...]]
    source: str
    date: date
    confidence: Confidence

    @property
    def topology_labels(self) -> tuple[str, ...]:
        """Node labels from the widest place to the narrowest, for placing a job close together.

        EC2 tells the network nodes above an instance for the P and Trn families only
        (cloud-provider-aws#1038).
        """
        if self.name.startswith(("p", "trn")):
            layers = tuple(f"topology.k8s.aws/network-node-layer-{n}" for n in (1, 2, 3))
            return (*layers, "kubernetes.io/hostname")
        return ("topology.kubernetes.io/zone", "kubernetes.io/hostname")

    @property
    def max_pods(self) -> int:
        """Pods that get an address without prefix delegation, with EFA in use where there is."""
        return self._address_slots + HOST_PODS

    @property
    def max_pods_with_prefixes(self) -> int:
        """Pods that get an address when each slot of an interface holds a prefix."""
        most = MOST_PODS if self.vcpus > SMALL_VCPUS else MOST_PODS_SMALL
        return min(most, self._address_slots * PREFIX_ADDRESSES + HOST_PODS)

    @property
    def _address_slots(self) -> int:
        """Slots for addresses of pods.

        Only interfaces on card 0 carry pods, each keeps one address for itself, and an EFA-only
        interface there takes the place of one (EKS AMI, max pods calculator).
        """
        taken = 1 if 0 in self.efa_cards and self.interfaces_per_card > 1 else 0
        return (self.interfaces_per_card - taken) * (self.ipv4_per_interface - 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class FsxTier:
    """Sizes (GiB) and throughputs (MB/s per TiB) on sale for a deployment type of FSx."""

    name: str
    first_gib: int
    step_gib: int
    throughputs: tuple[int, ...]
    efa_step_gib: Mapping[int, int]
    source: str
    date: date
    confidence: Confidence

    def sells(self, gib: int, *, efa_throughput: int | None = None) -> bool:
        """Tell whether ``gib`` can be bought, in steps of EFA when a throughput is given for it."""
        if efa_throughput is not None:
            return gib > 0 and gib % self.efa_step_gib[efa_throughput] == 0
        return gib == self.first_gib or (gib > 0 and gib % self.step_gib == 0)

    def nearest(self, gib: int, *, efa_throughput: int | None = None) -> tuple[int, int]:
        """Return the sizes on sale just below (or the smallest) and just above ``gib``."""
        if efa_throughput is not None:
            step = first = self.efa_step_gib[efa_throughput]
        else:
            step, first = self.step_gib, self.first_gib
        below = max(gib // step * step, first)
        above = first if gib < first else (gib // step + 1) * step
        return below, max(above, below)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """The version of an add-on that goes with a Kubernetes version."""

    version: str
    source: str
    date: date
    confidence: Confidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The node image and add-on versions that were seen to work with a Kubernetes version."""

    version: str
    ami_release: str
    addons: Mapping[str, Pin]
    source: str
    date: date
    confidence: Confidence


class UnknownInstanceTypeError(LookupError):
    """No instance type of this name is in the catalog."""

    def __init__(self, name: str, nearest: list[str]) -> None:
        super().__init__(
            f"{name!r} is not an instance type of the catalog; nearest: {', '.join(nearest)}"
        )
        self.name = name
        self.nearest = nearest


@cache
def instance_types() -> Mapping[str, InstanceType]:
    """Return every instance type of the catalog by its name."""
    return {name: _instance_type(name, row) for name, row in _rows("instances.yaml").items()}


def instance_type(name: str) -> InstanceType:
    """Return the instance type called ``name``.

    Raises
    ------
    UnknownInstanceTypeError
        If there is none; it names the nearest.
    """
    known = instance_types()
    if name not in known:
        nearest = [match[0] for match in process.extract(name, list(known), limit=NEAREST)]
        raise UnknownInstanceTypeError(name, nearest)
    return known[name]


@cache
def fsx_tier(name: str) -> FsxTier:
    """Return the sizes and throughputs on sale for the deployment type ``name``."""
    row = _rows("fsx.yaml")[name]
    facts: dict[str, Any] = {**row, "name": name, "throughputs": tuple(row["throughputs"])}
    return FsxTier(**facts)


@cache
def releases() -> Mapping[str, Release]:
    """Return the versions that go together, by Kubernetes version."""
    rows = _rows("versions.yaml")["kubernetes"]
    return {version: _release(version, row) for version, row in rows.items()}


@cache
def chart(name: str) -> tuple[str, str]:
    """Return where the chart ``name`` is, and its pinned version."""
    row = _rows("versions.yaml")["charts"][name]
    return row["chart"], row["version"]


@cache
def kueue_configuration() -> dict[str, Any]:
    """Return the configuration of Kueue's controller, as its chart takes it."""
    return _rows("kueue.yaml")["configuration"]


def manifest(name: str) -> str:
    """Return where the pinned manifest ``name`` is."""
    return _rows("versions.yaml")["manifests"][name]["manifest"]


@cache
def image(name: str, region: str) -> str:
    """Return the pinned reference of an image that the program runs, as pulled in ``region``."""
    reference: str = _rows("versions.yaml")["images"][name]["image"]
    return reference.format(region=region)


def _release(version: str, row: Mapping[str, Any]) -> Release:
    pins = {name: Pin(**pin) for name, pin in row["addons"].items()}
    facts: dict[str, Any] = {**row, "version": version, "addons": pins}
    return Release(**facts)


def _instance_type(name: str, row: Mapping[str, Any]) -> InstanceType:
    accelerator = row.get("accelerator")
    offered = {region: tuple(zones) for region, zones in row.get("offered_in", {}).items()}
    facts: dict[str, Any] = {
        **row,
        "name": name,
        "accelerator": Accelerator(**accelerator) if accelerator else None,
        "offered_in": offered,
        "efa_cards": _cards(row.get("efa_cards", "")),
        "address_cards": _cards(row.get("address_cards", 0)),
        "usage_classes": tuple(row["usage_classes"]),
    }
    return InstanceType(**facts)


def _cards(text: str | int) -> tuple[int, ...]:
    """Read card indexes as the data writes them: ``0-3`` or ``0,4,8``."""
    found: list[int] = []
    for part in filter(None, str(text).split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return tuple(found)


def _rows(file: str) -> dict[str, dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = yaml.load((DATA / file).read_text(), yaml.CSafeLoader)
    return rows
