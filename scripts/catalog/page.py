"""The reference page of instance types, made from the catalog: ``docs/instance-types.md``."""

from collections.abc import Iterable, Iterator, Sequence

from components.catalog import InstanceType, instance_types
from scripts.catalog.sheet import addresses, layouts
from scripts.catalog.tables import floor_rows
from scripts.catalog.words import accelerators, in_words, placement, usage
from scripts.text import size

__all__ = ["page"]

HEAD = """\
# Instance types

Made from `components/catalog/` by `yard catalog docs`; edit the data, not this page.
`yard catalog show TYPE` draws the cards of one type, and `yard catalog verify` holds the rows
against what EC2 says. Every row carries its source, the date it was read, and how sure we are of
it.
"""

MACHINES = """\
## Machines

Memory is that of the host. A pool on demand asks for a cluster placement group where the type takes
one. Reserved capacity lies where it lies, so none is asked for there, nor for spot.
"""

NETWORK = """\
## Network cards

An interface is plain, with an address, or EFA-only, which costs no address. Two layouts:

- lean: an address on card 0 only, EFA on every card that takes it;
- wide: addresses on more cards, for more IP bandwidth.

The address columns count interfaces of a node; its pods come on top, in prefixes of 16 addresses.
Max pods are with EFA in use, without and with prefixes. Confidence speaks of the layout.
"""

ZONES = """\
## Zones

Zone ids that sell the type. Zones are added over time, and a region that is not here is not known:
ask EC2 with `yard catalog verify TYPE --region REGION`.
"""

SYSTEM = """\
## Types without an accelerator

For system nodes.
"""

FLOORS = """\
## Bandwidth floors

The lowest bus bandwidth (busbw of nccl-tests) of healthy nodes, from a message size on.
`yard catalog floors` also tells the sources. A pool of a type without a floor gives its own
(`floor_gbps`).
"""


def page() -> str:
    """Return the whole page."""
    kinds = list(instance_types().values())
    trainers = [kind for kind in kinds if kind.accelerator]
    plain = [kind for kind in kinds if not kind.accelerator]
    parts = [
        HEAD,
        MACHINES,
        _table(
            "type | accelerators | vCPU | memory GiB | NVMe GB | network Gbit/s | bought "
            "| placement group | confidence",
            map(_machine, trainers),
        ),
        NETWORK,
        _table(
            "type | EFA | cards | lean layout | addresses lean | wide | max pods | with prefixes "
            "| confidence",
            map(_network, trainers),
        ),
        ZONES,
        _table("type | zones", map(_zones, trainers)),
        SYSTEM,
        _table(
            "type | architecture | vCPU | memory GiB | max pods | with prefixes | confidence",
            map(_system, plain),
        ),
        FLOORS,
        _table("type | collective | nodes | from | GB/s | confidence", _floors()),
    ]
    return "\n".join(parts)


def _table(head: str, rows: Iterable[Sequence[object]]) -> str:
    rule = "|".join("---" for _ in head.split("|"))
    lines = (f"| {' | '.join(map(str, row))} |" for row in rows)
    return "\n".join([f"| {head} |", f"|{rule}|", *lines, ""])


def _machine(kind: InstanceType) -> Sequence[object]:
    return (
        kind.name,
        accelerators(kind),
        kind.vcpus,
        kind.memory_gib,
        kind.local_nvme_gb,
        kind.network_gbps,
        usage(kind),
        placement(kind),
        kind.confidence,
    )


def _network(kind: InstanceType) -> Sequence[object]:
    both = layouts(kind)
    return (
        kind.name,
        kind.efa_interfaces,
        kind.network_cards,
        in_words(kind, both["lean"]),
        addresses(both["lean"]),
        addresses(both["wide"]),
        kind.max_pods,
        kind.max_pods_with_prefixes,
        kind.layout_confidence,
    )


def _zones(kind: InstanceType) -> Sequence[object]:
    known = [zone for zones in kind.offered_in.values() for zone in zones]
    return (kind.name, ", ".join(known) or "not known")


def _system(kind: InstanceType) -> Sequence[object]:
    return (
        kind.name,
        kind.architecture,
        kind.vcpus,
        kind.memory_gib,
        kind.max_pods,
        kind.max_pods_with_prefixes,
        kind.confidence,
    )


def _floors() -> Iterator[Sequence[object]]:
    for row in sorted(floor_rows(), key=lambda row: (row.instance_type, row.collective)):
        yield (
            row.instance_type,
            row.collective,
            row.nodes,
            size(row.floor.from_bytes),
            f"{row.floor.busbw:g}",
            row.floor.confidence,
        )
