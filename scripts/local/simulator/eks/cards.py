"""What EC2 refuses of a launch template's network interfaces, by what the instance type has."""

from collections import Counter

from components.catalog import InstanceType, instance_types
from scripts.local.simulator.calls import AwsError
from scripts.local.simulator.records import Record

__all__ = ["check_interfaces"]

PRIMARY = (0, 0)
"""Card and device of the interface through which an instance is reached."""

EFA_KINDS = ("efa", "efa-only")


def check_interfaces(interfaces: list[Record], types: tuple[str, ...]) -> None:
    """Refuse interfaces that no instance of these types can have.

    Types that are not in the catalog are held against the rules for all types only.
    """
    if not interfaces:
        return
    _check_places(interfaces)
    known = instance_types()
    for name in types:
        if name in known:
            _check_type(interfaces, known[name])


def _refused(message: str) -> AwsError:
    return AwsError("InvalidRequestException", message)


def _place(interface: Record) -> tuple[int, int]:
    return interface.get("NetworkCardIndex", 0), interface.get("DeviceIndex", 0)


def _check_places(interfaces: list[Record]) -> None:
    """Each (card, device) is used once, and an address is at the primary one."""
    places = Counter(map(_place, interfaces))
    if max(places.values()) > 1:
        raise _refused(
            "Each network interface requires a unique device index within its network card."
        )
    if PRIMARY not in places:
        raise _refused("The primary network interface must have device index 0 on network card 0.")
    if any(_place(one) == PRIMARY and _kind(one) == "efa-only" for one in interfaces):
        raise _refused(
            "An EFA-only network interface cannot be the primary network interface. Specify the "
            "interface type 'interface' or 'efa' for device index 0 on network card index 0."
        )
    if len(interfaces) > 1 and any(one.get("AssociatePublicIpAddress") for one in interfaces):
        raise _refused(
            "The associatePublicIPAddress parameter cannot be specified when launching with "
            "multiple network interfaces."
        )


def _kind(interface: Record) -> str:
    kind: str = interface.get("InterfaceType", "interface")
    return kind


def _check_type(interfaces: list[Record], kind: InstanceType) -> None:
    for interface in interfaces:
        card, device = _place(interface)
        if card >= kind.network_cards:
            raise _refused(
                f"The specified number '{card}' for the network card index exceeds the maximum "
                f"number of network cards supported by {kind.name}. The maximum network cards for "
                f"this instance type is {kind.network_cards}. Specify a number from 0 to "
                f"{kind.network_cards - 1}, and try again."
            )
        if device >= kind.interfaces_per_card:
            raise _refused(
                f"The specified number '{device}' for the device index exceeds the maximum number "
                "of network interfaces supported by the network card at network card index "
                f"{card}. The maximum devices for this network card is "
                f"{kind.interfaces_per_card}. Specify a number from 0 to "
                f"{kind.interfaces_per_card - 1}, and try again."
            )
    _check_efa(Counter(_place(one)[0] for one in interfaces if _kind(one) in EFA_KINDS), kind)


def _check_efa(used: Counter[int], kind: InstanceType) -> None:
    """Take at most one EFA interface on a card, and only on cards that can carry it."""
    if used and not kind.efa_interfaces:
        raise _refused(f"{kind.name} instances do not support Elastic Fabric Adapters.")
    for card, count in sorted(used.items()):
        if card not in kind.efa_cards:
            raise _refused(
                f"The network card at network card index {card} of {kind.name} does not support "
                "Elastic Fabric Adapters."
            )
        if count > 1:
            raise _refused(
                f"{count} Elastic Fabric Adapters are specified for the network card at network "
                f"card index {card}. The maximum for this network card is 1."
            )
