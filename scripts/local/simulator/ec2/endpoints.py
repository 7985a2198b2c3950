"""EC2 VPC endpoints, where moto keeps or answers less than AWS."""

from scripts.local.simulator.calls import Answer, Call, answers
from scripts.local.simulator.ec2.common import listed, overlaid
from scripts.local.simulator.records import Record

__all__ = ["create_endpoint", "describe_endpoints", "modify_endpoint"]

ENDPOINT = "ec2:vpc-endpoint"
"""What moto does not keep of an endpoint."""


@answers("ec2", "CreateVpcEndpoint")
def create_endpoint(call: Call) -> Answer:
    """Make an endpoint; an interface one is in the VPC's default group if none is named."""
    changes: Record = {}
    interface = call.params.get("VpcEndpointType", "Gateway") == "Interface"
    if interface and not call.params.get("SecurityGroupIds"):
        [group] = listed(
            call,
            "DescribeSecurityGroups",
            "SecurityGroups",
            vpc_id=call.params["VpcId"],
            group_name="default",
        )
        changes["SecurityGroupIds"] = [group["GroupId"]]
    if "VpcEndpointType" not in call.params:
        changes["VpcEndpointType"] = "Gateway"
    call.ask("ec2", "DescribeVpcs", VpcIds=[call.params["VpcId"]])
    if call.params.get("RouteTableIds"):
        call.ask("ec2", "DescribeRouteTables", RouteTableIds=call.params["RouteTableIds"])
    if call.params.get("SecurityGroupIds"):
        call.ask("ec2", "DescribeSecurityGroups", GroupIds=call.params["SecurityGroupIds"])
    identity = call.forward(**changes)["VpcEndpoint"]["VpcEndpointId"]
    kept = {
        "PrivateDnsEnabled": interface and call.params.get("PrivateDnsEnabled", True),
        "IpAddressType": call.params.get("IpAddressType", "ipv4"),
        "RequesterManaged": False,
    }
    if interface:
        kept["DnsOptions"] = {"DnsRecordIpType": "ipv4", **call.params.get("DnsOptions", {})}
    call.table(ENDPOINT)[identity] = kept
    return {"VpcEndpoint": _described(call, identity)}


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
    """Change an endpoint; its interfaces follow its subnets."""
    identity = call.params["VpcEndpointId"]
    before = _described(call, identity)
    answer = call.forward()
    kept = call.table(ENDPOINT).setdefault(identity, {})
    for key in ("PrivateDnsEnabled", "IpAddressType", "DnsOptions"):
        if key in call.params:
            kept[key] = call.params[key]
    if call.params.get("ResetPolicy"):
        kept["PolicyDocument"] = (
            '{"Version":"2008-10-17","Statement":[{"Effect":"Allow","Principal":"*",'
            '"Action":"*","Resource":"*"}]}'
        )
    elif "PolicyDocument" in call.params:
        kept.pop("PolicyDocument", None)
    return answer if before else {}
