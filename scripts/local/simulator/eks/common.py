"""What several EKS operations share: records, ids, and the checks against IAM and EC2."""

import json
import uuid
from collections.abc import Iterable
from datetime import UTC, datetime
from urllib.parse import unquote

from scripts.local.simulator.calls import AwsError, Call
from scripts.local.simulator.documents import services_allowed, statements
from scripts.local.simulator.records import Record

__all__ = [
    "ADDON",
    "ASSOCIATION",
    "CLUSTER",
    "ENTRY",
    "NODEGROUP",
    "UPDATE",
    "check_role",
    "found_cluster",
    "found_nodegroup",
    "in_cluster",
    "invalid",
    "new_id",
    "now",
    "started",
    "subnets_of",
    "trusted_services",
]

CLUSTER, NODEGROUP, ADDON = "eks:cluster", "eks:nodegroup", "eks:addon"
ENTRY, ASSOCIATION, UPDATE = "eks:access-entry", "eks:association", "eks:update"


def now() -> datetime:
    """Return the time of a creation or change."""
    return datetime.now(UTC)


def new_id() -> str:
    """Return a fresh UUID, as EKS puts one into most ARNs."""
    return str(uuid.uuid4())


def invalid(message: str) -> AwsError:
    """Build the error that EKS answers to most wrong parameters."""
    return AwsError("InvalidParameterException", message)


def found_cluster(call: Call, name: str) -> Record:
    """Return the cluster; raises ``ResourceNotFoundException`` as EKS does."""
    cluster = call.table(CLUSTER).get(name)
    if cluster is None:
        raise AwsError("ResourceNotFoundException", f"No cluster found for name: {name}.")
    return cluster


def found_nodegroup(call: Call) -> Record:
    """Return the node group that a request names; raises ``ResourceNotFoundException``."""
    cluster, name = call.params["clusterName"], call.params["nodegroupName"]
    found_cluster(call, cluster)
    group = call.table(NODEGROUP).get(f"{cluster}|{name}")
    if group is None:
        raise AwsError("ResourceNotFoundException", f"No node group found for name: {name}.")
    return group


def in_cluster(call: Call, kind: str, cluster: str) -> list[Record]:
    """List the records of one kind that belong to a cluster."""
    return [record for record in call.table(kind).values() if record["clusterName"] == cluster]


def trusted_services(call: Call, role_arn: str) -> set[str] | None:
    """Service principals that may assume a role of the account; None if there is no such role."""
    name = role_arn.rsplit("/", 1)[-1]
    try:
        role = call.ask("iam", "GetRole", RoleName=name)["Role"]
    except AwsError:
        return None
    if role["Arn"] != role_arn:
        return None
    document = unquote(role["AssumeRolePolicyDocument"])
    return {
        service for statement in statements(document) for service in services_allowed(statement)
    }


def check_role(call: Call, role_arn: str) -> None:
    """Refuse a cluster role that is missing or that EKS may not assume."""
    services = trusted_services(call, role_arn)
    if services is None or "eks.amazonaws.com" not in services:
        raise invalid(
            f"Role with arn: {role_arn}, could not be assumed because it does not exist or "
            "the trusted entity is not correct"
        )


def subnets_of(call: Call, ids: Iterable[str]) -> list[Record]:
    """Describe subnets; raises what EKS makes of EC2's refusal."""
    try:
        found = call.ask("ec2", "DescribeSubnets", SubnetIds=list(ids))["Subnets"]
    except AwsError as error:
        raise invalid(
            f"{error.message} (Service: AmazonEC2; Status Code: 400; Error Code: {error.code})"
        ) from None
    if len({subnet["VpcId"] for subnet in found}) > 1:
        raise invalid("Subnets specified must belong to the same VPC")
    return found


def started(
    call: Call, cluster: str, kind: str, params: Record, *, nodegroup: str = "", addon: str = ""
) -> Record:
    """Record an update that is already done, and return it as EKS first answers: in progress."""
    identity = new_id()
    update: Record = {
        "id": identity,
        "status": "Successful",
        "type": kind,
        "params": [
            {"type": name[0].upper() + name[1:], "value": json.dumps(value, default=str)}
            for name, value in params.items()
        ],
        "createdAt": now(),
        "errors": [],
        "clusterName": cluster,
        "_nodegroup": nodegroup,
        "_addon": addon,
    }
    call.table(UPDATE)[identity] = update
    return {**update, "status": "InProgress"}
