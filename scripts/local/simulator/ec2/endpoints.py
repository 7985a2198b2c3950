"""EC2 VPC endpoints, where moto keeps or answers less than AWS."""

from collections.abc import Iterable

from scripts.local.simulator.calls import Answer, AwsError, Call, answers
from scripts.local.simulator.ec2.common import listed, overlaid
from scripts.local.simulator.records import Record

__all__ = ["create_endpoint", "delete_endpoints", "describe_endpoints", "modify_endpoint"]

ENDPOINT = "ec2:vpc-endpoint"
"""What moto does not keep of an endpoint."""

OPEN_POLICY = (
    '{"Version":"2008-10-17","Statement":[{"Effect":"Allow","Principal":"*",'
    '"Action":"*","Resource":"*"}]}'
)


@answers("ec2", "CreateVpcEndpoint")
def create_endpoint(call: Call) -> Answer:
    """Make an endpoint; an interface one is in the VPC's default group if none is named."""
    kind = call.params.get("VpcEndpointType", "Gateway")
    changes: Record = {"VpcEndpointType": kind}
    _check(call)
    if kind == "Interface" and not call.params.get("SecurityGroupIds"):
        vpc = call.params["VpcId"]
        [group] = listed(
            call, "DescribeSecurityGroups", "SecurityGroups", vpc_id=vpc, group_name="default"
        )
        changes["SecurityGroupIds"] = [group["GroupId"]]
    identity = call.forward(**changes)["VpcEndpoint"]["VpcEndpointId"]
    kept: Record = {
        "PrivateDnsEnabled": kind == "Interface" and call.params.get("PrivateDnsEnabled", True),
        "IpAddressType": call.params.get("IpAddressType", "ipv4"),
        "RequesterManaged": False,
    }
    if kind == "Interface":
        kept["DnsOptions"] = {"DnsRecordIpType": "ipv4", **call.params.get("DnsOptions", {})}
    call.table(ENDPOINT)[identity] = kept
    return {"VpcEndpoint": _described(call, identity)}


def _check(call: Call) -> None:
    call.ask("ec2", "DescribeVpcs", VpcIds=[call.params["VpcId"]])
    if call.params.get("RouteTableIds"):
        call.ask("ec2", "DescribeRouteTables", RouteTableIds=call.params["RouteTableIds"])
    if call.params.get("SecurityGroupIds"):
        call.ask("ec2", "DescribeSecurityGroups", GroupIds=call.params["SecurityGroupIds"])


def _described(call: Call, identity: str) -> Record:
    [endpoint] = call.ask("ec2", "DescribeVpcEndpoints", VpcEndpointIds=[identity])["VpcEndpoints"]
    return endpoint


@answers("ec2", "DescribeVpcEndpoints")
def describe_endpoints(call: Call) -> Answer:
    """Describe endpoints with what moto does not keep of them."""
    found: list[Record] = call.forward().get("VpcEndpoints", [])
    return {"VpcEndpoints": overlaid(call, ENDPOINT, found, "VpcEndpointId")}


@answers("ec2", "ModifyVpcEndpoint")
def modify_endpoint(call: Call) -> Answer:
    """Change an endpoint; interfaces follow its subnets, routes its route tables."""
    identity, asked = call.params["VpcEndpointId"], call.params
    endpoint = _described(call, identity)
    answer = call.forward()
    kept = call.table(ENDPOINT).setdefault(identity, {})
    kept |= {
        key: asked[key]
        for key in ("PrivateDnsEnabled", "IpAddressType", "DnsOptions")
        if key in asked
    }
    if asked.get("ResetPolicy"):
        kept["PolicyDocument"] = OPEN_POLICY
    elif "PolicyDocument" in asked:
        kept.pop("PolicyDocument", None)
    if endpoint["VpcEndpointType"] == "Interface":
        kept["NetworkInterfaceIds"] = _moved_interfaces(call, endpoint)
    else:
        _move_routes(call, endpoint)
    return answer


def _moved_interfaces(call: Call, endpoint: Record) -> list[str]:
    gone = set(call.params.get("RemoveSubnetIds", []))
    added = set(call.params.get("AddSubnetIds", [])) - set(endpoint["SubnetIds"])
    found = call.ask(
        "ec2", "DescribeNetworkInterfaces", NetworkInterfaceIds=endpoint["NetworkInterfaceIds"]
    )["NetworkInterfaces"]
    leaving = {one["NetworkInterfaceId"] for one in found if one["SubnetId"] in gone}
    _delete_interfaces(call, leaving)
    made = [
        call.ask(
            "ec2",
            "CreateNetworkInterface",
            SubnetId=subnet,
            Description=f"VPC Endpoint Interface {endpoint['VpcEndpointId']}",
        )["NetworkInterface"]["NetworkInterfaceId"]
        for subnet in sorted(added)
    ]
    return [one for one in endpoint["NetworkInterfaceIds"] if one not in leaving] + made


def _delete_interfaces(call: Call, interfaces: Iterable[str]) -> None:
    for interface in interfaces:
        call.ask_moto("ec2", "DeleteNetworkInterface", NetworkInterfaceId=interface)


def _move_routes(call: Call, endpoint: Record) -> None:
    lists = listed(
        call, "DescribePrefixLists", "PrefixLists", prefix_list_name=endpoint["ServiceName"]
    )
    for prefixes in lists:
        target = {"DestinationPrefixListId": prefixes["PrefixListId"]}
        for table in call.params.get("AddRouteTableIds", []):
            if table not in endpoint["RouteTableIds"]:
                gateway = endpoint["VpcEndpointId"]
                call.ask_moto("ec2", "CreateRoute", RouteTableId=table, GatewayId=gateway, **target)
        for table in call.params.get("RemoveRouteTableIds", []):
            if table in endpoint["RouteTableIds"]:
                call.ask_moto("ec2", "DeleteRoute", RouteTableId=table, **target)


@answers("ec2", "DeleteVpcEndpoints")
def delete_endpoints(call: Call) -> Answer:
    """Delete endpoints with all their interfaces; ids that are none are reported, not raised."""
    failed: list[Record] = []
    for identity in call.params["VpcEndpointIds"]:
        try:
            endpoint = _described(call, identity)
        except AwsError as error:
            problem = {"Code": error.code, "Message": error.message}
            failed.append({"ResourceId": identity, "Error": problem})
            continue
        added = call.table(ENDPOINT).get(identity, {}).pop("NetworkInterfaceIds", [])
        if endpoint["State"] != "deleted":
            call.forward(VpcEndpointIds=[identity])
            left = _still_there(call, added)
            _delete_interfaces(call, left)
    return {"Unsuccessful": failed}


def _still_there(call: Call, interfaces: list[str]) -> list[str]:
    everything = call.ask("ec2", "DescribeNetworkInterfaces")["NetworkInterfaces"]
    present = {one["NetworkInterfaceId"] for one in everything}
    return [interface for interface in interfaces if interface in present]
