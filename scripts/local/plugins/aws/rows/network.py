"""Rows: VPC, its address blocks, subnets, gateways."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scripts.local.plugins.aws.row import EC2_TAGS, Call, Change, Hooks, Row, Wait

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scripts.local.plugins.aws.convert import Api
    from scripts.local.plugins.aws.session import Item

_VPC: Final = {"VpcId": "$id"}
_SUBNET: Final = {"SubnetId": "$id"}


def _vpc_attribute(name: str) -> Call:
    return Call("DescribeVpcAttribute", {"VpcId": "$id", "Attribute": name})


def _of_vpc(**more: str) -> list[dict[str, object]]:
    filters = {"vpc-id": "$id", **{name.replace("_", "-"): text for name, text in more.items()}}
    return [{"Name": name, "Values": [text]} for name, text in filters.items()]


VPC: Final = Row(
    service="ec2",
    id="Vpc.VpcId",
    create=Call("CreateVpc"),
    read=(
        Call("DescribeVpcs", {"VpcIds": ["$id"]}, "Vpcs[0]"),
        _vpc_attribute("enableDnsSupport"),
        _vpc_attribute("enableDnsHostnames"),
        _vpc_attribute("enableNetworkAddressUsageMetrics"),
        Call(
            "DescribeSecurityGroups",
            {"Filters": _of_vpc(group_name="default")},
            "{DefaultSecurityGroupId: SecurityGroups[0].GroupId}",
        ),
        Call(
            "DescribeRouteTables",
            {"Filters": [*_of_vpc(), {"Name": "association.main", "Values": ["true"]}]},
            "{MainRouteTableId: RouteTables[0].RouteTableId,"
            " DefaultRouteTableId: RouteTables[0].RouteTableId}",
        ),
        Call(
            "DescribeNetworkAcls",
            {"Filters": [*_of_vpc(), {"Name": "default", "Values": ["true"]}]},
            "{DefaultNetworkAclId: NetworkAcls[0].NetworkAclId}",
        ),
    ),
    updates=(
        Change(("enableDnsSupport",), Call("ModifyVpcAttribute", _VPC), initial=True),
        Change(("enableDnsHostnames",), Call("ModifyVpcAttribute", _VPC), initial=False),
        Change(
            ("enableNetworkAddressUsageMetrics",), Call("ModifyVpcAttribute", _VPC), initial=False
        ),
    ),
    delete=Call("DeleteVpc", _VPC),
    replace=frozenset({"cidrBlock", "instanceTenancy"}),
    refused=frozenset(
        {
            "assignGeneratedIpv6CidrBlock",
            "ipv4IpamPoolId",
            "ipv4NetmaskLength",
            "ipv6CidrBlock",
            "ipv6CidrBlockNetworkBorderGroup",
            "ipv6IpamPoolId",
            "ipv6NetmaskLength",
        }
    ),
    defaults={"enableDnsSupport": True, "instanceTenancy": "default"},
    one_of=("cidrBlock",),
    outputs={"arn": "arn:{partition}:ec2:{region}:{account}:vpc/{id}"},
    tag_type="vpc",
    tagging=EC2_TAGS,
)


def _the_association(item: Item, found: dict[str, Api]) -> bool:
    """Put the address block of this association in the place of the VPC's own."""
    for association in found.get("CidrBlockAssociationSet", ()):
        if association["AssociationId"] == item.id:
            found["CidrBlock"] = association["CidrBlock"]
            state: str = association["CidrBlockState"]["State"]
            return state in {"associating", "associated"}
    return False


VPC_IPV4_CIDR_BLOCK_ASSOCIATION: Final = Row(
    service="ec2",
    id="CidrBlockAssociation.AssociationId",
    create=Call("AssociateVpcCidrBlock"),
    read=(
        Call(
            "DescribeVpcs",
            {"Filters": [{"Name": "cidr-block-association.association-id", "Values": ["$id"]}]},
            "Vpcs[0]",
        ),
    ),
    delete=Call("DisassociateVpcCidrBlock", {"AssociationId": "$id"}),
    replace=frozenset({"vpcId", "cidrBlock"}),
    refused=frozenset({"ipv4IpamPoolId", "ipv4NetmaskLength"}),
    one_of=("cidrBlock",),
    hooks=Hooks(read=_the_association),
)

_MODIFY_SUBNET: Final = Call("ModifySubnetAttribute", _SUBNET)

SUBNET: Final = Row(
    service="ec2",
    id="Subnet.SubnetId",
    create=Call("CreateSubnet"),
    read=(Call("DescribeSubnets", {"SubnetIds": ["$id"]}, "Subnets[0]"),),
    updates=(
        Change(("mapPublicIpOnLaunch",), _MODIFY_SUBNET, initial=False),
        Change(("assignIpv6AddressOnCreation",), _MODIFY_SUBNET, initial=False),
        Change(("enableResourceNameDnsARecordOnLaunch",), _MODIFY_SUBNET, initial=False),
    ),
    delete=Call("DeleteSubnet", _SUBNET),
    names={
        "arn": "SubnetArn",
        "ipv6CidrBlock": "Ipv6CidrBlockAssociationSet.Ipv6CidrBlock",
        "ipv6CidrBlockAssociationId": "Ipv6CidrBlockAssociationSet.AssociationId",
    },
    # The simulator takes it, but does not show it.
    local=frozenset({"enableResourceNameDnsARecordOnLaunch"}),
    replace=frozenset({"availabilityZone", "availabilityZoneId", "cidrBlock", "vpcId"}),
    refused=frozenset(
        {
            "customerOwnedIpv4Pool",
            "enableDns64",
            "enableLniAtDeviceIndex",
            "enableResourceNameDnsAaaaRecordOnLaunch",
            "ipv4IpamPoolId",
            "ipv4NetmaskLength",
            "ipv6CidrBlock",
            "ipv6IpamPoolId",
            "ipv6Native",
            "ipv6NetmaskLength",
            "mapCustomerOwnedIpOnLaunch",
            "outpostArn",
            "privateDnsHostnameTypeOnLaunch",
        }
    ),
    defaults={
        "assignIpv6AddressOnCreation": False,
        "enableResourceNameDnsARecordOnLaunch": False,
        "mapPublicIpOnLaunch": False,
    },
    conflicts=(("availabilityZone", "availabilityZoneId"),),
    one_of=("cidrBlock",),
    tag_type="subnet",
    tagging=EC2_TAGS,
)


def _find_reservation(item: Item, found: dict[str, Api]) -> bool:
    """Pick this reservation out of those of its subnet."""
    for kind in ("SubnetIpv4CidrReservations", "SubnetIpv6CidrReservations"):
        for reservation in found.pop(kind, None) or ():
            if reservation["SubnetCidrReservationId"] == item.id:
                found |= reservation
                return True
    return False


SUBNET_CIDR_RESERVATION: Final = Row(
    service="ec2",
    id="SubnetCidrReservation.SubnetCidrReservationId",
    create=Call("CreateSubnetCidrReservation"),
    read=(Call("GetSubnetCidrReservations", {"SubnetId": "$subnetId"}),),
    delete=Call("DeleteSubnetCidrReservation", {"SubnetCidrReservationId": "$id"}),
    names={"cidrBlock": "Cidr"},
    replace=frozenset({"cidrBlock", "description", "reservationType", "subnetId"}),
    import_id="{subnetId}:{id}",
    hooks=Hooks(read=_find_reservation),
)


def _attach(item: Item) -> None:
    vpc = item.props.get("vpcId")
    if vpc:
        item.call("AttachInternetGateway", InternetGatewayId=item.id, VpcId=vpc)


def _detach(item: Item) -> None:
    vpc = item.prior.get("vpcId")
    if vpc:
        item.call("DetachInternetGateway", InternetGatewayId=item.id, VpcId=vpc)


def _move_gateway(item: Item, changed: frozenset[str]) -> None:
    if "vpcId" in changed:
        _detach(item)
        _attach(item)


def _delete_gateway(item: Item) -> None:
    _detach(item)
    item.call("DeleteInternetGateway", InternetGatewayId=item.id)


INTERNET_GATEWAY: Final = Row(
    service="ec2",
    id="InternetGateway.InternetGatewayId",
    create=Call("CreateInternetGateway"),
    read=(
        Call("DescribeInternetGateways", {"InternetGatewayIds": ["$id"]}, "InternetGateways[0]"),
    ),
    names={"vpcId": "Attachments.VpcId"},
    hooks=Hooks(created=_attach, update=_move_gateway, delete=_delete_gateway),
    outputs={
        "arn": "arn:{partition}:ec2:{region}:{account}:internet-gateway/{id}",
        "ownerId": "{account}",
    },
    tag_type="internet-gateway",
    tagging=EC2_TAGS,
)

EIP: Final = Row(
    service="ec2",
    id="AllocationId",
    create=Call("AllocateAddress"),
    read=(Call("DescribeAddresses", {"AllocationIds": ["$id"]}, "Addresses[0]"),),
    delete=Call("ReleaseAddress", {"AllocationId": "$id"}),
    names={
        "privateIp": "PrivateIpAddress",
        "instance": "InstanceId",
        "networkInterface": "NetworkInterfaceId",
    },
    replace=frozenset({"address", "domain", "networkBorderGroup", "publicIpv4Pool"}),
    refused=frozenset(
        {
            "associateWithPrivateIp",
            "customerOwnedIpv4Pool",
            "instance",
            "ipamPoolId",
            "networkInterface",
        }
    ),
    outputs={"arn": "arn:{partition}:ec2:{region}:{account}:elastic-ip/{id}"},
    tag_type="elastic-ip",
    tagging=EC2_TAGS,
)


def _living_nat(_: Item, found: dict[str, Api]) -> bool:
    return found.get("State") not in {"deleted", "deleting"}


def _nat_needs(inputs: Mapping[str, object]) -> Mapping[str, str]:
    """Say before the create that only a public gateway needs an address."""
    private = inputs.get("connectivityType") == "private"
    if private and "allocationId" in inputs:
        return {"allocationId": "a private NAT gateway takes no allocationId; leave it out"}
    if not private and "allocationId" not in inputs:
        return {
            "allocationId": "a public NAT gateway needs an address; set allocationId, or "
            'connectivityType to "private"'
        }
    return {}


NAT_GATEWAY: Final = Row(
    service="ec2",
    id="NatGateway.NatGatewayId",
    create=Call("CreateNatGateway"),
    read=(Call("DescribeNatGateways", {"NatGatewayIds": ["$id"]}, "NatGateways[0]"),),
    delete=Call("DeleteNatGateway", {"NatGatewayId": "$id"}),
    names={
        "allocationId": "AllocationId|NatGatewayAddresses.AllocationId",
        "associationId": "NatGatewayAddresses.AssociationId",
        "networkInterfaceId": "NatGatewayAddresses.NetworkInterfaceId",
        "privateIp": "PrivateIpAddress|NatGatewayAddresses.PrivateIp",
        "publicIp": "NatGatewayAddresses.PublicIp",
    },
    replace=frozenset({"allocationId", "connectivityType", "privateIp", "subnetId"}),
    refused=frozenset(
        {
            "availabilityMode",
            "availabilityZoneAddresses",
            "secondaryAllocationIds",
            "secondaryPrivateIpAddressCount",
            "secondaryPrivateIpAddresses",
            "vpcId",
        }
    ),
    defaults={"connectivityType": "public"},
    one_of=("subnetId",),
    wait=Wait("State", ready=("available",), failed=("failed",)),
    hooks=Hooks(read=_living_nat, check=_nat_needs),
    tag_type="natgateway",
    tagging=EC2_TAGS,
)

NETWORK: Final = {
    "aws:ec2/vpc:Vpc": VPC,
    "aws:ec2/vpcIpv4CidrBlockAssociation:VpcIpv4CidrBlockAssociation": (
        VPC_IPV4_CIDR_BLOCK_ASSOCIATION
    ),
    "aws:ec2/subnet:Subnet": SUBNET,
    "aws:ec2/subnetCidrReservation:SubnetCidrReservation": SUBNET_CIDR_RESERVATION,
    "aws:ec2/internetGateway:InternetGateway": INTERNET_GATEWAY,
    "aws:ec2/eip:Eip": EIP,
    "aws:ec2/natGateway:NatGateway": NAT_GATEWAY,
}
