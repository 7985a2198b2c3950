"""Everything the catalog holds about one instance type, with the picture of its cards."""

from collections.abc import Iterator
from dataclasses import asdict
from textwrap import wrap
from typing import Any

from components.catalog import InstanceType
from components.layout import Interface, layout
from scripts.catalog.tables import floor_rows
from scripts.catalog.words import MIB_PER_GIB, picture, placement, ranges, usage
from scripts.text import words

__all__ = ["LAYOUTS", "addresses", "as_json", "layouts", "sheet"]

LAYOUTS = ("lean", "wide")

TITLE = 14
"""Width of the titles before the facts."""

WIDTH = 100
"""Columns of a line of prose."""


def layouts(kind: InstanceType) -> dict[str, tuple[Interface, ...]]:
    """Return where the interfaces of a node sit, lean and wide, as its launch template has them."""
    efa = bool(kind.efa_interfaces)
    return {name: layout(kind, efa=efa, wide=name == "wide") for name in LAYOUTS}


def addresses(interfaces: tuple[Interface, ...]) -> int:
    """Count the interfaces that take an address of the subnet."""
    return sum(each.kind == "interface" for each in interfaces)


def sheet(kind: InstanceType, shown: str, region: str | None) -> str:
    """Return all about ``kind`` for a reader: its facts, its cards, its zones, its floors."""
    lines = [
        kind.name,
        *(f"  {title:<{TITLE}}{text}" for title, text in _facts(kind)),
        "",
        *_cards(kind, shown),
        "",
        "zones",
        *(f"  {title:<{TITLE}}{text}" for title, text in _zones(kind, region)),
        "",
        "floors",
        *(f"  {line}" for line in _floors(kind)),
        "",
        *wrap(f"source: {kind.source}", WIDTH, subsequent_indent="  "),
        f"read {kind.date}; confidence {kind.confidence}, layout {kind.layout_confidence}",
    ]
    return "\n".join(lines)


def as_json(kind: InstanceType, region: str | None = None) -> dict[str, Any]:
    """Return all about ``kind`` as plain data; zones of one region only, where it is given."""
    facts = asdict(kind)
    if region:
        facts["offered_in"] = {region: kind.offered_in.get(region)}
    return {
        **facts,
        "date": kind.date.isoformat(),
        "max_pods": kind.max_pods,
        "max_pods_with_prefixes": kind.max_pods_with_prefixes,
        "layouts": {
            name: {
                "addresses": addresses(interfaces),
                "interfaces": [asdict(each) for each in interfaces],
            }
            for name, interfaces in layouts(kind).items()
        },
        "floors": [row.as_json() for row in floor_rows(kind.name)],
    }


def _facts(kind: InstanceType) -> Iterator[tuple[str, str]]:
    unit = kind.accelerator
    if unit:
        each = f"{unit.memory_mib // MIB_PER_GIB} GiB each"
        yield "accelerators", f"{unit.count} x {unit.name}, {each} ({unit.vendor})"
    else:
        yield "accelerators", "none"
    disks = f"{kind.local_nvme_gb} GB of local NVMe" if kind.local_nvme_gb else "no local NVMe"
    machine = f"{kind.architecture}, {kind.vcpus} vCPU, {kind.memory_gib} GiB"
    yield "machine", f"{machine}, {disks}"
    speed = f"{kind.network_gbps} Gbit/s, " if kind.network_gbps else ""
    cards = words(kind.network_cards, "card")
    efa = f"EFA on {ranges(kind.efa_cards)}" if kind.efa_cards else "no EFA"
    yield "network", f"{speed}{cards}, {efa}"
    held = words(kind.interfaces_per_card, "interface")
    yield "a card", f"{held} of {kind.ipv4_per_interface} addresses"
    yield "pods", f"at most {kind.max_pods}, {kind.max_pods_with_prefixes} with prefixes"
    yield "bought", usage(kind)
    yield "grouped", f"{placement(kind)} (cluster placement group)"


def _cards(kind: InstanceType, shown: str) -> Iterator[str]:
    both = layouts(kind)
    counts = [
        f"{name} {words(len(interfaces), 'interface')}, {addresses(interfaces)} with an address"
        for name, interfaces in both.items()
    ]
    yield f"cards, {shown} layout ({'; '.join(counts)})"
    yield f"  {'card':>4}  {'device 0':<10}device 1"
    for card, first, second in picture(kind, both[shown]):
        yield f"  {card:>4}  {first:<10}{second}"


def _zones(kind: InstanceType, region: str | None) -> Iterator[tuple[str, str]]:
    ask = f"not known, ask EC2: yard catalog verify {kind.name} --region"
    for name, zones in kind.offered_in.items():
        if region in (None, name):
            yield name, ", ".join(zones)
    if region is None:
        yield "elsewhere", f"{ask} REGION"
    elif region not in kind.offered_in:
        yield region, f"{ask} {region}"


def _floors(kind: InstanceType) -> list[str]:
    rows = [str(row) for row in floor_rows(kind.name)]
    return rows or ["none is known: a pool of this type gives its own (floor_gbps)"]
