"""Addresses of a subnet: reserved for prefixes, taken by interfaces, and given back."""

import pytest

from .conftest import Account, refusal
from .test_ec2 import tags


def test_a_subnet_reservation_keeps_description_and_tags(account: Account) -> None:
    ec2, subnet = account.client("ec2"), account.subnet(account.vpc())
    ec2.create_subnet_cidr_reservation(
        SubnetId=subnet,
        Cidr="10.0.0.128/28",
        ReservationType="prefix",
        Description="pods",
        TagSpecifications=tags("subnet-cidr-reservation"),
    )
    [found] = ec2.get_subnet_cidr_reservations(SubnetId=subnet)["SubnetIpv4CidrReservations"]
    assert (found["Description"], found["Tags"]) == ("pods", [{"Key": "team", "Value": "ml"}])


@pytest.mark.parametrize(
    ("block", "kind", "message"),
    [
        (
            "10.0.1.0/28",
            "prefix",
            "Reservation CIDR should be within subnet CIDR block (10.0.0.0/24)",
        ),
        (
            "10.0.0.192/28",
            "explicit",
            "Reservation CIDR 10.0.0.192/28 has overlap with existing reserved CIDR block",
        ),
        ("10.0.0.16/28", "pods", "Value (pods) for parameter reservationType is invalid."),
    ],
)
def test_a_reservation_lies_in_its_subnet_beside_the_others(
    account: Account, block: str, kind: str, message: str
) -> None:
    ec2, subnet = account.client("ec2"), account.subnet(account.vpc())
    ec2.create_subnet_cidr_reservation(
        SubnetId=subnet, Cidr="10.0.0.128/25", ReservationType="prefix"
    )
    assert refusal(
        ec2.create_subnet_cidr_reservation, SubnetId=subnet, Cidr=block, ReservationType=kind
    ) == ("InvalidParameterValue", message)


def test_a_reservation_that_is_gone_leaves_nothing(account: Account) -> None:
    ec2, subnet = account.client("ec2"), account.subnet(account.vpc())
    identity = ec2.create_subnet_cidr_reservation(
        SubnetId=subnet, Cidr="10.0.0.128/28", ReservationType="prefix", Description="pods"
    )["SubnetCidrReservation"]["SubnetCidrReservationId"]
    ec2.delete_subnet_cidr_reservation(SubnetCidrReservationId=identity)
    found = ec2.get_subnet_cidr_reservations(SubnetId=subnet)
    assert found.get("SubnetIpv4CidrReservations", []) == []
    assert refusal(ec2.delete_subnet_cidr_reservation, SubnetCidrReservationId=identity) == (
        "InvalidSubnetCidrReservationID.NotFound",
        f"The subnet-cidr-reservation ID '{identity}' does not exist",
    )


def test_hosts_take_no_address_that_is_reserved_and_give_theirs_back(account: Account) -> None:
    ec2, subnet = account.client("ec2"), account.subnet(account.vpc())
    for block in ("10.0.0.64/26", "10.0.0.128/25"):
        ec2.create_subnet_cidr_reservation(SubnetId=subnet, Cidr=block, ReservationType="prefix")

    def free() -> int:
        [found] = ec2.describe_subnets(SubnetIds=[subnet])["Subnets"]
        count: int = found["AvailableIpAddressCount"]
        return count

    def request(count: int) -> dict[str, object]:
        interface = {"DeviceIndex": 0, "SubnetId": subnet, "DeleteOnTermination": True}
        return {
            "InstanceType": "p5.48xlarge",
            "MinCount": count,
            "MaxCount": count,
            "NetworkInterfaces": [interface],
        }

    before = free()
    instances = ec2.run_instances(**request(before))["Instances"]
    hosts = {int(one["PrivateIpAddress"].rpartition(".")[2]) for one in instances}
    assert max(hosts) < 64
    full = (
        "InsufficientFreeAddressesInSubnet",
        "The specified subnet does not have enough free addresses to satisfy the request.",
    )
    assert refusal(ec2.run_instances, **request(1)) == full
    assert refusal(ec2.create_network_interface, SubnetId=subnet) == full
    ec2.terminate_instances(InstanceIds=[one["InstanceId"] for one in instances])
    assert free() == before
    assert len(ec2.run_instances(**request(before))["Instances"]) == before


def test_an_address_goes_to_another_machine_only_when_none_is_fresh(account: Account) -> None:
    ec2, subnet = account.client("ec2"), account.subnet(account.vpc())
    interface = {"DeviceIndex": 0, "SubnetId": subnet, "DeleteOnTermination": True}
    seen: list[str] = []
    for _ in range(3):
        [one] = ec2.run_instances(
            InstanceType="p5.48xlarge", MinCount=1, MaxCount=1, NetworkInterfaces=[interface]
        )["Instances"]
        seen.append(one["PrivateDnsName"])
        ec2.terminate_instances(InstanceIds=[one["InstanceId"]])
    assert len(set(seen)) == 3


def test_a_deleted_interface_gives_its_address_back(account: Account) -> None:
    ec2, vpc = account.client("ec2"), account.vpc()
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.9.0/28")["Subnet"]["SubnetId"]
    addresses: set[str] = set()
    for _ in range(20):
        made = ec2.create_network_interface(SubnetId=subnet)["NetworkInterface"]
        addresses.add(made["PrivateIpAddress"])
        ec2.delete_network_interface(NetworkInterfaceId=made["NetworkInterfaceId"])
    assert len(addresses) == 11
    assert (
        refusal(ec2.delete_network_interface, NetworkInterfaceId="eni-0123456789abcdef0")[0]
        == "InvalidNetworkInterfaceID.NotFound"
    )
