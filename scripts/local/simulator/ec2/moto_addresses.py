"""How moto hands out the addresses of a subnet: fresh ones first, and those given back after.

moto gives an address back to the next instance at once, so that another machine has its name; EC2
does that rarely. It keeps the addresses of interfaces that were deleted, and gives a new interface
any address of the subnet, also one that is reserved or in use.
"""

from typing import Any

from moto.ec2.models.elastic_network_interfaces import NetworkInterfaceBackend
from moto.ec2.models.subnets import Subnet

__all__ = ["teach"]


def teach() -> None:
    """Replace moto's ways, once."""
    subnets: Any = Subnet
    interfaces: Any = NetworkInterfaceBackend
    subnets.get_available_subnet_ip = _take
    interfaces.create_network_interface = _taking(interfaces.create_network_interface)
    interfaces.delete_network_interface = _giving_back(interfaces.delete_network_interface)


def _take(subnet: Any, instance: Any) -> str:  # noqa: ANN401 - objects of moto's
    """Take an address that nobody has had, else one that was given back."""
    taken: dict[str, Any] = subnet._subnet_ips  # noqa: SLF001 - moto's own list
    given_back: set[str] = subnet._unused_ips  # noqa: SLF001 - as above
    fresh = (str(address) for address in subnet._subnet_ip_generator)  # noqa: SLF001 - as above
    address = next((one for one in fresh if one not in taken), None) or given_back.pop()
    given_back.discard(address)
    taken[address] = instance
    return address


def _taking(create: Any) -> Any:  # noqa: ANN401 - a method of moto's
    """Let an interface that names no address take one of its subnet's."""

    def create_interface(
        backend: Any,  # noqa: ANN401 - an object of moto's
        subnet: Any,  # noqa: ANN401 - one more, or its id
        private_ip_address: Any,  # noqa: ANN401 - a text, or a list of them
        private_ip_addresses: Any = None,  # noqa: ANN401 - as moto has it
        *rest: Any,  # noqa: ANN401 - as moto has it
        **more: Any,  # noqa: ANN401 - as moto has it
    ) -> Any:  # noqa: ANN401 - an interface of moto's
        if not private_ip_address and not private_ip_addresses:
            found = backend.get_subnet(subnet) if isinstance(subnet, str) else subnet
            private_ip_address = _take(found, None)
        return create(backend, subnet, private_ip_address, private_ip_addresses, *rest, **more)

    return create_interface


def _giving_back(delete: Any) -> Any:  # noqa: ANN401 - a method of moto's
    """Let a deleted interface give its addresses back."""

    def delete_interface(backend: Any, eni_id: str) -> None:  # noqa: ANN401 - an object of moto's
        interface = backend.enis.get(eni_id)
        delete(backend, eni_id)
        for address in interface.private_ip_addresses:
            interface.subnet.del_subnet_ip(address["PrivateIpAddress"])

    return delete_interface
