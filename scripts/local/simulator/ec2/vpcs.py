"""EC2 VPCs and subnets: defaults and refusals as on AWS, where moto's differ."""

from ipaddress import IPv4Network

from scripts.local.simulator.calls import Answer, AwsError, Call, answers
from scripts.local.simulator.ec2.common import dependency, in_use, listed, overlaid
from scripts.local.simulator.eks.common import NODEGROUP

__all__ = ["create_subnet", "create_vpc", "delete_subnet", "delete_vpc"]

SUBNET = "ec2:subnet"
"""What moto does not keep of a subnet."""


@answers("ec2", "CreateVpc")
def create_vpc(call: Call) -> Answer:
    """Give the default security group its rule: all traffic from itself."""
    answer = call.forward()
    vpc = answer["Vpc"]["VpcId"]
    [group] = listed(
        call, "DescribeSecurityGroups", "SecurityGroups", vpc_id=vpc, group_name="default"
    )
    call.ask_moto(
        "ec2",
        "AuthorizeSecurityGroupIngress",
        GroupId=group["GroupId"],
        IpPermissions=[{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group["GroupId"]}]}],
    )
    return answer


@answers("ec2", "DeleteVpc")
def delete_vpc(call: Call) -> Answer:
    """Refuse while anything but what AWS made with the VPC is left in it."""
    vpc = call.params["VpcId"]
    groups = listed(call, "DescribeSecurityGroups", "SecurityGroups", vpc_id=vpc)
    endpoints = listed(call, "DescribeVpcEndpoints", "VpcEndpoints", vpc_id=vpc)
    if (
        any(group["GroupName"] != "default" for group in groups)
        or any(endpoint["State"] != "deleted" for endpoint in endpoints)
        or listed(call, "DescribeInternetGateways", "InternetGateways", attachment__vpc_id=vpc)
    ):
        raise dependency(f"The vpc '{vpc}' has dependencies and cannot be deleted.")
    return call.forward()


@answers("ec2", "DisassociateVpcCidrBlock")
def disassociate_cidr(call: Call) -> Answer:
    """Refuse to take away addresses that subnets use, or the VPC's first block."""
    identity = call.params["AssociationId"]
    for vpc in call.ask("ec2", "DescribeVpcs")["Vpcs"]:
        for block in vpc["CidrBlockAssociationSet"]:
            if block["AssociationId"] != identity:
                continue
            if block["CidrBlock"] == vpc["CidrBlock"]:
                raise AwsError(
                    "OperationNotPermitted",
                    f"The vpc CIDR block with association ID {identity} may not be "
                    "disassociated. It is the primary IPv4 CIDR block of the VPC",
                )
            network = IPv4Network(block["CidrBlock"])
            subnets = listed(call, "DescribeSubnets", "Subnets", vpc_id=vpc["VpcId"])
            if any(IPv4Network(one["CidrBlock"]).subnet_of(network) for one in subnets):
                raise AwsError(
                    "InvalidCidrBlock.InUse",
                    f"The vpc CIDR block with association ID {identity} is in use by subnets "
                    "and may not be disassociated.",
                )
    return call.forward()


@answers("ec2", "DetachInternetGateway")
def detach_gateway(call: Call) -> Answer:
    """Refuse while the VPC has public addresses, such as those of NAT gateways."""
    vpc = call.params["VpcId"]
    if listed(call, "DescribeNatGateways", "NatGateways", vpc_id=vpc, state="available"):
        raise dependency(
            f"Network {vpc} has some mapped public address(es). Please unmap those public "
            "address(es) before detaching the gateway."
        )
    return call.forward()


@answers("ec2", "CreateSubnet")
def create_subnet(call: Call) -> Answer:
    """Make a subnet of no default kind: moto takes the first one of a zone for a default one."""
    _check_zone(call)
    subnet = call.forward()["Subnet"]
    call.ask_moto(
        "ec2",
        "ModifySubnetAttribute",
        SubnetId=subnet["SubnetId"],
        MapPublicIpOnLaunch={"Value": False},
    )
    call.table(SUBNET)[subnet["SubnetId"]] = {"DefaultForAz": False, "EnableDns64": False}
    [described] = call.ask("ec2", "DescribeSubnets", SubnetIds=[subnet["SubnetId"]])["Subnets"]
    return {"Subnet": described}


def _check_zone(call: Call) -> None:
    zones = call.ask("ec2", "DescribeAvailabilityZones")["AvailabilityZones"]
    for parameter, key in (("AvailabilityZone", "ZoneName"), ("AvailabilityZoneId", "ZoneId")):
        known = [zone[key] for zone in zones]
        asked = call.params.get(parameter)
        if asked is not None and asked not in known:
            name = parameter[0].lower() + parameter[1:]
            raise AwsError(
                "InvalidParameterValue",
                f"Value ({asked}) for parameter {name} is invalid. Subnets can currently only "
                f"be created in the following availability zones: {', '.join(known)}.",
            )


@answers("ec2", "DescribeSubnets")
def describe_subnets(call: Call) -> Answer:
    """Describe subnets with what moto does not keep of them."""
    answer = call.forward()
    return {**answer, "Subnets": overlaid(call, SUBNET, answer["Subnets"], "SubnetId")}


@answers("ec2", "ModifySubnetAttribute")
def modify_subnet(call: Call) -> Answer:
    """Keep the attributes that moto drops; it answers for the others."""
    identity = call.params["SubnetId"]
    [subnet] = call.ask("ec2", "DescribeSubnets", SubnetIds=[identity])["Subnets"]
    names = dict(subnet["PrivateDnsNameOptionsOnLaunch"])
    kept = call.table(SUBNET).setdefault(identity, {})
    if "PrivateDnsHostnameTypeOnLaunch" in call.params:
        names["HostnameType"] = call.params["PrivateDnsHostnameTypeOnLaunch"]
    for record in ("EnableResourceNameDnsARecord", "EnableResourceNameDnsAAAARecord"):
        if f"{record}OnLaunch" in call.params:
            names[record] = call.params[f"{record}OnLaunch"]["Value"]
    kept["PrivateDnsNameOptionsOnLaunch"] = names
    if "EnableDns64" in call.params:
        kept["EnableDns64"] = call.params["EnableDns64"]["Value"]
    if {"MapPublicIpOnLaunch", "AssignIpv6AddressOnCreation"} & set(call.params):
        return call.forward()
    return {}


@answers("ec2", "DeleteSubnet")
def delete_subnet(call: Call) -> Answer:
    """Refuse while network interfaces or nodes are in the subnet."""
    identity = call.params["SubnetId"]
    nodes = [
        group
        for group in call.table(NODEGROUP).values()
        if identity in group["subnets"] and group["scalingConfig"]["desiredSize"]
    ]
    if nodes or in_use(call, subnet_id=identity):
        raise dependency(f"The subnet '{identity}' has dependencies and cannot be deleted.")
    answer = call.forward()
    call.table(SUBNET).pop(identity, None)
    return answer
