"""Words for what the catalog holds, as they stand in tables, pictures and messages."""

from collections.abc import Collection, Iterable, Iterator
from itertools import pairwise

from components.catalog import InstanceType
from components.catalog.floors import Floor
from components.layout import Interface

__all__ = [
    "MIB_PER_GIB",
    "accelerators",
    "in_words",
    "nodes",
    "picture",
    "placement",
    "ranges",
    "usage",
]

MIB_PER_GIB = 1024

SITS = {"interface": "address", "efa-only": "EFA-only"}
"""What an interface is to the one who plans addresses: only a plain one has any."""

BOUGHT = {
    "on-demand": "on demand, reservation",
    "spot": "spot",
    "capacity-block": "capacity block",
}

NOTHING = "-"


def accelerators(kind: InstanceType) -> str:
    """Return "8 x H100, 80 GiB", or a dash where there is none."""
    unit = kind.accelerator
    if unit is None:
        return NOTHING
    return f"{unit.count} x {unit.name}, {unit.memory_mib // MIB_PER_GIB} GiB"


def ranges(cards: Collection[int]) -> str:
    """Return card indexes as the data writes them: 0-3, or 0,4,8."""
    return ",".join(
        str(first) if first == last else f"{first}-{last}" for first, last in _runs(sorted(cards))
    )


def picture(kind: InstanceType, interfaces: Iterable[Interface]) -> list[tuple[int, str, str]]:
    """Return for each card of ``kind`` what sits at its devices 0 and 1."""
    sits = {(each.card, each.device): SITS[each.kind] for each in interfaces}
    return [
        (card, sits.get((card, 0), NOTHING), sits.get((card, 1), NOTHING))
        for card in range(kind.network_cards)
    ]


def in_words(kind: InstanceType, interfaces: Iterable[Interface]) -> str:
    """Return the picture as a sentence, cards that hold the same named together."""
    alike: dict[str, list[int]] = {}
    for card, *devices in picture(kind, interfaces):
        held = [
            f"{what} (device {device})"
            for device, what in enumerate(devices)
            if what is not NOTHING
        ]
        alike.setdefault(" and ".join(held) or "nothing", []).append(card)
    return "; ".join(
        f"card{'s' if len(cards) > 1 else ''} {ranges(cards)}: {held}"
        for held, cards in alike.items()
    )


def usage(kind: InstanceType) -> str:
    """Return how the type is bought."""
    return ", ".join(BOUGHT[each] for each in kind.usage_classes)


def placement(kind: InstanceType) -> str:
    """Return when a cluster placement group is asked for: reserved capacity has its place."""
    can = kind.placement_group and "on-demand" in kind.usage_classes
    return "on demand" if can else "never"


def nodes(rows: Collection[Floor]) -> Iterator[tuple[str, Floor]]:
    """Pair each floor of a type, in ascending order, with the node counts it speaks for."""
    ends = [following.nodes - 1 for _, following in pairwise(rows)]
    for row, end in zip(rows, [*ends, None], strict=True):
        last = min((count for count in (end, row.until_nodes) if count is not None), default=None)
        if last is None:
            yield f"{row.nodes} and more", row
        else:
            yield ranges(range(row.nodes, last + 1)), row


def _runs(ordered: Iterable[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for card in ordered:
        if runs and runs[-1][1] == card - 1:
            runs[-1] = (runs[-1][0], card)
        else:
            runs.append((card, card))
    return runs
