"""EC2 security groups and their rules: refusals as on AWS, and descriptions that moto drops."""

from typing import Any

from scripts.local.simulator.calls import Answer, AwsError, Call, answers
from scripts.local.simulator.ec2.common import dependency, in_use, listed
from scripts.local.simulator.records import Record

__all__ = ["authorize", "create_group", "delete_group"]


@answers("ec2", "CreateSecurityGroup")
def create_group(call: Call) -> Answer:
    """Refuse a VPC that does not exist, and say which VPC already has the name."""
    vpc = call.params.get("VpcId")
    if vpc is not None:
        call.ask("ec2", "DescribeVpcs", VpcIds=[vpc])
    try:
        return call.forward()
    except AwsError as error:
        if error.code == "InvalidGroup.Duplicate":
            raise AwsError(error.code, f"{error.message} for VPC '{vpc}'") from None
        raise


@answers("ec2", "DeleteSecurityGroup")
def delete_group(call: Call) -> Answer:
    """Refuse while another group's rule, an interface or an endpoint names the group."""
    identity = call.params.get("GroupId")
    if identity is None:
        return call.forward()
    [group] = call.ask("ec2", "DescribeSecurityGroups", GroupIds=[identity])["SecurityGroups"]
    if group["GroupName"] == "default":
        raise AwsError(
            "CannotDelete",
            f'the specified group: "{identity}" name: "default" cannot be deleted by a user',
        )
    if _needed(call, identity, group["VpcId"]):
        raise dependency(f"resource {identity} has a dependent object")
    return call.forward()


def _needed(call: Call, identity: str, vpc: str) -> bool:
    groups = listed(call, "DescribeSecurityGroups", "SecurityGroups", vpc_id=vpc)
    endpoints = listed(call, "DescribeVpcEndpoints", "VpcEndpoints", vpc_id=vpc)
    return (
        any(identity in _named(group) for group in groups if group["GroupId"] != identity)
        or any(
            identity in {group["GroupId"] for group in endpoint["Groups"]}
            for endpoint in endpoints
            if endpoint["State"] != "deleted"
        )
        or in_use(call, group_id=identity)
    )


def _named(group: Record) -> set[str]:
    return {
        pair.get("GroupId", "")
        for permissions in ("IpPermissions", "IpPermissionsEgress")
        for permission in group.get(permissions, [])
        for pair in permission.get("UserIdGroupPairs", [])
    }


@answers("ec2", "AuthorizeSecurityGroupIngress", "AuthorizeSecurityGroupEgress")
def authorize(call: Call) -> Answer:
    """Add rules; a rule keeps its description, whatever its source is."""
    answer = call.forward()
    rules: list[Record] = answer.get("SecurityGroupRules", [])
    for rule in rules:
        text = _description(call.params.get("IpPermissions", []), rule)
        if text is not None and "Description" not in rule:
            rule["Description"] = text
            _describe_rule(call, rule, text)
    return answer


def _source(rule: Record) -> tuple[str, Any]:
    if "ReferencedGroupInfo" in rule:
        return "GroupId", rule["ReferencedGroupInfo"]["GroupId"]
    if "PrefixListId" in rule:
        return "PrefixListId", rule["PrefixListId"]
    return ("CidrIpv6" if "CidrIpv6" in rule else "CidrIp"), rule.get("CidrIpv4")


def _description(permissions: list[Record], rule: Record) -> str | None:
    """Find the description that the request gave for a rule's protocol, ports and source."""
    key, value = _source(rule)
    for permission in permissions:
        same = permission["IpProtocol"] == rule["IpProtocol"] and all(
            permission.get(port, -1) == rule.get(port, -1) for port in ("FromPort", "ToPort")
        )
        sources = [*permission.get("UserIdGroupPairs", []), *permission.get("PrefixListIds", [])]
        for source in sources:
            if same and source.get(key) == value:
                return source.get("Description")
    return None


def _describe_rule(call: Call, rule: Record, text: str) -> None:
    change: Record = {"IpProtocol": rule["IpProtocol"], "Description": text}
    change |= {port: rule.get(port, -1) for port in ("FromPort", "ToPort")}
    key, value = _source(rule)
    change["ReferencedGroupId" if key == "GroupId" else key] = value
    call.ask_moto(
        "ec2",
        "ModifySecurityGroupRules",
        GroupId=rule["GroupId"],
        SecurityGroupRules=[
            {"SecurityGroupRuleId": rule["SecurityGroupRuleId"], "SecurityGroupRule": change}
        ],
    )
