"""Where the network interfaces of a node sit: which card, which device, with an address or not."""

from dataclasses import dataclass
from typing import Literal

from components.catalog import InstanceType

__all__ = ["Interface", "layout"]


@dataclass(frozen=True, slots=True)
class Interface:
    """One interface of a node; only a plain ``interface`` has an address."""

    card: int
    device: int
    kind: Literal["interface", "efa-only"]


def layout(
    kind: InstanceType, *, efa: bool, wide: bool, further_device_index: int = 0
) -> tuple[Interface, ...]:
    """Return the interfaces of a node of this ``kind``, by card and device.

    Card 0 holds the primary interface at device 0, which cannot be EFA-only. Each card that can
    carry EFA gets an EFA-only one: at device 1 beside the primary, else at
    ``further_device_index``. ``wide`` adds a plain interface on the cards meant for addresses, at
    the device that EFA leaves free (EC2 guide, EFA on accelerated instance types).

    Parameters
    ----------
    kind
        A row of the catalog.
    efa
        Whether the node joins the fabric.
    wide
        Whether more cards than the first carry addresses, for more IP bandwidth.
    further_device_index
        Device of EFA on the cards behind the first: the EC2 guide says 0, some clusters run with 1.
    """
    found = [Interface(0, 0, "interface")]
    if efa:
        found += [
            Interface(card, further_device_index if card else 1, "efa-only")
            for card in kind.efa_cards
        ]
    if wide:
        taken = {(each.card, each.device) for each in found}
        for card in kind.address_cards:
            if card:
                free = next(device for device in (0, 1) if (card, device) not in taken)
                found.append(Interface(card, free, "interface"))
    return tuple(sorted(found, key=lambda each: (each.card, each.device)))
