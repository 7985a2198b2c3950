"""EC2 instances and interfaces: a subnet without free addresses takes no more."""

from typing import TYPE_CHECKING

from scripts.local.simulator.calls import AwsError, Call, answers

if TYPE_CHECKING:
    from scripts.local.simulator.records import Record

__all__ = ["create_interface", "run_instances"]


@answers("ec2", "RunInstances")
def run_instances(call: Call) -> None:
    """Refuse all instances of a request when there is no address for one of them."""
    interfaces: list[Record] = call.params.get("NetworkInterfaces", [])
    subnets = [one["SubnetId"] for one in (*interfaces, call.params) if "SubnetId" in one]
    for subnet in set(subnets):
        _check_room(call, subnet, call.params["MaxCount"] * subnets.count(subnet))


@answers("ec2", "CreateNetworkInterface")
def create_interface(call: Call) -> None:
    """Refuse an interface for which there is no address."""
    _check_room(call, call.params["SubnetId"], 1)


def _check_room(call: Call, subnet: str, count: int) -> None:
    [found] = call.ask("ec2", "DescribeSubnets", SubnetIds=[subnet])["Subnets"]
    if found["AvailableIpAddressCount"] < count:
        raise AwsError(
            "InsufficientFreeAddressesInSubnet",
            "The specified subnet does not have enough free addresses to satisfy the request.",
        )
