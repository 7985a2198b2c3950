"""Compare rows of the catalog with what EC2 says: every fact that both speak of."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from components.catalog import InstanceType
from scripts.catalog.ec2 import Answer
from scripts.catalog.words import MIB_PER_GIB, ranges
from scripts.verdicts import Verdict, overall

if TYPE_CHECKING:
    from mypy_boto3_ec2.type_defs import InstanceTypeInfoTypeDef, NetworkInfoTypeDef

__all__ = ["Checked", "Fact", "check", "facts"]

SPEED = re.compile(r"(?:(?P<cards>\d+)x )?(?P<gbps>\d+) Gigabit")

NONE = "none"


@dataclass(frozen=True, slots=True)
class Fact:
    """One thing that the catalog says, and what EC2 says of it; None where EC2 says nothing."""

    name: str
    ours: str
    theirs: str | None

    @property
    def verdict(self) -> Verdict:
        """Pass where both agree; unknown where EC2 says nothing."""
        if self.theirs is None:
            return Verdict.UNKNOWN
        return Verdict.PASS if self.ours == self.theirs else Verdict.FAIL

    def __str__(self) -> str:
        if self.theirs is None:
            return f"{self.name}: {self.ours} here, not checked: EC2 does not say"
        return f"{self.name}: {self.ours} here, EC2 says {self.theirs}"


@dataclass(frozen=True, slots=True)
class Checked:
    """One type of the catalog, held against EC2."""

    name: str
    region: str
    facts: tuple[Fact, ...]
    notes: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The worst of its facts; unknown where EC2 does not know the type."""
        return overall(fact.verdict for fact in self.facts) if self.facts else Verdict.UNKNOWN

    @property
    def open_facts(self) -> tuple[Fact, ...]:
        """The facts that differ or could not be checked."""
        return tuple(fact for fact in self.facts if fact.verdict is not Verdict.PASS)

    def __str__(self) -> str:
        match self.verdict:
            case Verdict.PASS:
                said = f"as EC2 says in {self.region} ({len(self.facts)} facts)"
            case Verdict.FAIL:
                said = f"not as EC2 says in {self.region}"
            case Verdict.UNKNOWN if self.facts:
                said = f"not checked in full in {self.region}"
            case _:
                said = (
                    f"not checked: EC2 does not know it in {self.region}; ask where it is sold "
                    "(--region)"
                )
        lines = [*map(str, self.open_facts), *self.notes]
        return "\n  ".join([f"{self.verdict}: {self.name}: {said}", *lines])

    def as_json(self) -> dict[str, Any]:
        """Return it as plain data."""
        return {
            "type": self.name,
            "verdict": str(self.verdict),
            "known": bool(self.facts),
            "facts": [
                {"name": fact.name, "ours": fact.ours, "theirs": fact.theirs}
                for fact in self.open_facts
            ],
            "notes": list(self.notes),
        }


def check(kind: InstanceType, answer: Answer) -> Checked:
    """Hold ``kind`` against EC2's answer: its hardware, and its zones where we know them."""
    info = answer.types.get(kind.name)
    if info is None:
        return Checked(kind.name, answer.region, ())
    zones = _list(answer.zones.get(kind.name, ()))
    found, notes = tuple(facts(kind, info)), ()
    if answer.region in kind.offered_in:
        found += (Fact("zones", _list(kind.offered_in[answer.region]), zones),)
    else:
        notes = (f"note: the catalog has no zones of {answer.region}; EC2 says {zones}",)
    return Checked(kind.name, answer.region, found, notes)


def facts(kind: InstanceType, info: "InstanceTypeInfoTypeDef") -> Iterator[Fact]:
    """Pair what the catalog says of the hardware with what DescribeInstanceTypes says."""
    network = info.get("NetworkInfo", {})
    memory = info.get("MemoryInfo", {}).get("SizeInMiB")
    classes = info.get("SupportedUsageClasses")
    strategies = info.get("PlacementGroupInfo", {}).get("SupportedStrategies")
    architectures = info.get("ProcessorInfo", {}).get("SupportedArchitectures")
    runs = kind.architecture in (architectures or ())
    yield Fact(
        "architecture", kind.architecture, kind.architecture if runs else _listed(architectures)
    )
    yield Fact("vCPU", str(kind.vcpus), _text(info.get("VCpuInfo", {}).get("DefaultVCpus")))
    yield Fact(
        "memory (GiB)",
        str(kind.memory_gib),
        None if memory is None else f"{memory / MIB_PER_GIB:g}",
    )
    yield Fact("accelerators", _our_accelerators(kind), _their_accelerators(info))
    yield Fact("local NVMe (GB)", str(kind.local_nvme_gb), _storage(info))
    yield Fact(
        "cluster placement group",
        _yes(kind.placement_group),
        None if strategies is None else _yes("cluster" in strategies),
    )
    yield Fact("sold as", _list(kind.usage_classes), _listed(classes))
    yield from _network_facts(kind, network)


def _network_facts(kind: InstanceType, network: "NetworkInfoTypeDef") -> Iterator[Fact]:
    cards = network.get("NetworkCards")
    if kind.network_gbps:
        speed = _speed(network.get("NetworkPerformance", ""))
        yield Fact("network (Gbit/s)", str(kind.network_gbps), speed)
    yield Fact("EFA interfaces", str(kind.efa_interfaces), _efa(network))
    yield Fact("network cards", str(kind.network_cards), _text(network.get("MaximumNetworkCards")))
    yield Fact(
        "IPv4 addresses an interface",
        str(kind.ipv4_per_interface),
        _text(network.get("Ipv4AddressesPerInterface")),
    )
    held: dict[str, list[int]] = {}
    takes: dict[str, list[int]] = {"efa-only": [], "interface": []}
    for card in cards or ():
        index = card.get("NetworkCardIndex", 0)
        held.setdefault(str(card.get("MaximumNetworkInterfaces")), []).append(index)
        for kept in takes.keys() & card.get("InterfaceTypes", []):
            takes[kept].append(index)
    yield Fact("interfaces a card", str(kind.interfaces_per_card), _per_card(held))
    told = any("InterfaceTypes" in card for card in cards or ())
    yield Fact(
        "cards that take EFA",
        ranges(kind.efa_cards) or NONE,
        (ranges(takes["efa-only"]) or NONE) if told else None,
    )
    plain = takes["interface"]
    refused = [card for card in kind.address_cards if card not in plain]
    ours = ranges(kind.address_cards)
    theirs = (f"not {ranges(refused)}" if refused else ours) if told else None
    yield Fact("cards with addresses, wide", ours, theirs)


def _our_accelerators(kind: InstanceType) -> str:
    unit = kind.accelerator
    if unit is None:
        return NONE
    return unit.ec2_says or f"{unit.count} x {unit.memory_mib} MiB ({unit.vendor})"


def _their_accelerators(info: "InstanceTypeInfoTypeDef") -> str:
    """Return EC2's words; it leaves the whole part out for a type without accelerators."""
    found = [
        (unit.get("Manufacturer", "").lower(), unit)
        for unit in info.get("GpuInfo", {}).get("Gpus", [])
    ]
    found += [("neuron", unit) for unit in info.get("NeuronInfo", {}).get("NeuronDevices", [])]
    return (
        " and ".join(
            f"{unit.get('Count')} x {unit.get('MemoryInfo', {}).get('SizeInMiB')} MiB ({vendor})"
            for vendor, unit in found
        )
        or NONE
    )


def _storage(info: "InstanceTypeInfoTypeDef") -> str | None:
    if info.get("InstanceStorageSupported") is False:
        return "0"
    return _text(info.get("InstanceStorageInfo", {}).get("TotalSizeInGB"))


def _efa(network: "NetworkInfoTypeDef") -> str | None:
    if network.get("EfaSupported") is False:
        return "0"
    return _text(network.get("EfaInfo", {}).get("MaximumEfaInterfaces"))


def _speed(text: str) -> str | None:
    """Return Gbit/s from words like "3200 Gigabit" or "16x 200 Gigabit"."""
    match = SPEED.fullmatch(text)
    return str(int(match["cards"] or 1) * int(match["gbps"])) if match else None


def _per_card(held: dict[str, list[int]]) -> str | None:
    if len(held) > 1:
        return ", ".join(f"{count} on {ranges(cards)}" for count, cards in held.items())
    return next(iter(held), None)


def _yes(value: bool) -> str:  # noqa: FBT001 - the value is the whole argument
    return "yes" if value else "no"


def _text(value: int | None) -> str | None:
    return None if value is None else str(value)


def _listed(values: Collection[str] | None) -> str | None:
    return None if values is None else _list(values)


def _list(values: Collection[str]) -> str:
    return ", ".join(sorted(values)) or NONE
