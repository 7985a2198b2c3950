"""EKS clusters: at most one live one, since the embedded target has one Kubernetes API server."""

import base64
import uuid
from typing import Any

from scripts.local.simulator.calls import Answer, AwsError, Call, answers
from scripts.local.simulator.eks import access
from scripts.local.simulator.eks.common import (
    ADDON,
    ASSOCIATION,
    CLUSTER,
    ENTRY,
    NODEGROUP,
    UPDATE,
    check_role,
    found_cluster,
    in_cluster,
    invalid,
    now,
    subnets_of,
)
from scripts.local.simulator.eks.interfaces import attach, detach
from scripts.local.simulator.eks.values import check_values
from scripts.local.simulator.records import Record

__all__ = [
    "check_groups",
    "create_cluster",
    "delete_cluster",
    "describe_cluster",
    "list_clusters",
    "log_setup",
]

DEFAULT_VERSION = "1.35"
"""Kubernetes version of the embedded target's own control plane."""

LOG_TYPES = ("api", "audit", "authenticator", "controllerManager", "scheduler")
PASSED_THROUGH = ("encryptionConfig", "remoteNetworkConfig", "computeConfig", "storageConfig")
LEAST_ZONES = 2

MOST_GROUPS = 4
"""Security groups of a control plane (EKS service quota L-11427A54)."""


@answers("eks", "CreateCluster")
def create_cluster(call: Call) -> Answer:
    """Make the one live cluster, active at once, its endpoint the target's API server."""
    _check_request(call)
    name = call.params["name"]
    cluster: Record = {
        "name": name,
        "arn": call.arn("eks", f"cluster/{name}"),
        "createdAt": now(),
        "status": "ACTIVE",
        "version": call.params.get("version", DEFAULT_VERSION),
        "platformVersion": "eks.1",
        "endpoint": call.settings.kube_endpoint,
        "certificateAuthority": {
            "data": base64.b64encode(call.settings.kube_ca.encode()).decode(),
        },
        "roleArn": call.params["roleArn"],
        "identity": {
            "oidc": {
                "issuer": f"https://oidc.eks.{call.region}.amazonaws.com/id/"
                f"{uuid.uuid4().hex.upper()}"
            }
        },
        "resourcesVpcConfig": _vpc_config(call),
        "kubernetesNetworkConfig": _network_config(call),
        "logging": log_setup(call.params.get("logging")),
        "accessConfig": _access_config(call),
        "upgradePolicy": call.params.get("upgradePolicy", {"supportType": "EXTENDED"}),
        "zonalShiftConfig": call.params.get("zonalShiftConfig", {"enabled": False}),
        "deletionProtection": call.params.get("deletionProtection", False),
        "health": {"issues": []},
        "tags": call.params.get("tags", {}),
    }
    cluster |= {key: call.params[key] for key in PASSED_THROUGH if key in call.params}
    attach(call, cluster)
    call.table(CLUSTER)[name] = cluster
    if _bootstraps(call):
        access.grant_admin_to_creator(call, cluster)
    return {"cluster": cluster}


def _check_request(call: Call) -> None:
    check_values(call)
    name = call.params["name"]
    if name in call.table(CLUSTER):
        raise AwsError("ResourceInUseException", f"Cluster already exists with name: {name}")
    for account, region, live in call.records.everywhere(CLUSTER):
        raise AwsError(
            "ResourceLimitExceededException",
            "The embedded target has one Kubernetes API server, so at most one live EKS cluster: "
            f"{live['name']} in {region} of account {account}. Delete that one first.",
        )
    check_role(call, call.params["roleArn"])
    subnets = subnets_of(call, call.params["resourcesVpcConfig"].get("subnetIds", []))
    if len({subnet["AvailabilityZoneId"] for subnet in subnets}) < LEAST_ZONES:
        raise invalid("Subnets specified must be in at least two different AZs")
    groups = call.params["resourcesVpcConfig"].get("securityGroupIds", [])
    check_groups(call, groups, subnets[0]["VpcId"])
    for entry in call.params.get("encryptionConfig", []):
        _check_key(call, entry["provider"]["keyArn"])


def check_groups(call: Call, ids: list[str], vpc: str) -> None:
    """Refuse security groups that do not exist, are of another VPC, or are too many."""
    if not ids:
        return
    if len(ids) > MOST_GROUPS:
        raise invalid(f"At most {MOST_GROUPS} security groups can be specified, got {len(ids)}")
    try:
        found = call.ask("ec2", "DescribeSecurityGroups", GroupIds=ids)["SecurityGroups"]
    except AwsError as error:
        raise invalid(
            f"{error.message} (Service: AmazonEC2; Status Code: 400; Error Code: {error.code})"
        ) from None
    foreign = [group["GroupId"] for group in found if group["VpcId"] != vpc]
    if foreign:
        raise invalid(
            f"Security group(s) [{', '.join(foreign)}] are not in the same VPC as the subnets. "
            f"Please specify a security group that is associated with the VPC: {vpc}."
        )


def _check_key(call: Call, arn: str) -> None:
    try:
        key = call.ask("kms", "DescribeKey", KeyId=arn)["KeyMetadata"]
    except AwsError as error:
        raise invalid(
            f"{error.message} (Service: AWSKMS; Status Code: 400; Error Code: {error.code})"
        ) from None
    if key["KeyState"] != "Enabled":
        raise invalid(f"The KMS key {arn} is {key['KeyState']}, it must be Enabled")


def _vpc_config(call: Call) -> Record:
    asked = call.params["resourcesVpcConfig"]
    subnets = subnets_of(call, asked.get("subnetIds", []))
    public = asked.get("endpointPublicAccess", True)
    private = asked.get("endpointPrivateAccess", False)
    if not public and not private:
        raise invalid("Private and public endpoint access cannot be false")
    return {
        "subnetIds": asked.get("subnetIds", []),
        "securityGroupIds": asked.get("securityGroupIds", []),
        "vpcId": subnets[0]["VpcId"],
        "endpointPublicAccess": public,
        "endpointPrivateAccess": private,
        "publicAccessCidrs": asked.get("publicAccessCidrs", ["0.0.0.0/0"] if public else []),
    }


def _network_config(call: Call) -> Record:
    asked = call.params.get("kubernetesNetworkConfig", {})
    return {
        "ipFamily": asked.get("ipFamily", "ipv4"),
        "serviceIpv4Cidr": asked.get("serviceIpv4Cidr", "172.20.0.0/16"),
        "elasticLoadBalancing": asked.get("elasticLoadBalancing", {"enabled": False}),
    }


def _access_config(call: Call) -> Record:
    asked = call.params.get("accessConfig", {})
    return {"authenticationMode": asked.get("authenticationMode", "CONFIG_MAP")}


def _bootstraps(call: Call) -> bool:
    asked = call.params.get("accessConfig", {})
    api = asked.get("authenticationMode", "CONFIG_MAP") != "CONFIG_MAP"
    return api and bool(asked.get("bootstrapClusterCreatorAdminPermissions", True))


def log_setup(asked: dict[str, Any] | None, before: Record | None = None) -> Record:
    """Merge asked log types into those before; EKS describes an enabled and a disabled set."""
    enabled: set[str] = set()
    for setup in (before or {}).get("clusterLogging", []):
        if setup["enabled"]:
            enabled.update(setup["types"])
    for setup in (asked or {}).get("clusterLogging", []):
        types = set(setup.get("types", []))
        enabled = enabled | types if setup.get("enabled") else enabled - types
    halves = [
        {"types": [kind for kind in LOG_TYPES if (kind in enabled) is state], "enabled": state}
        for state in (True, False)
    ]
    return {"clusterLogging": [half for half in halves if half["types"]]}


@answers("eks", "DescribeCluster")
def describe_cluster(call: Call) -> Answer:
    """Describe one cluster."""
    return {"cluster": found_cluster(call, call.params["name"])}


@answers("eks", "ListClusters")
def list_clusters(call: Call) -> Answer:
    """List the names of the account's clusters in the region."""
    return {"clusters": sorted(call.table(CLUSTER))}


@answers("eks", "DeleteCluster")
def delete_cluster(call: Call) -> Answer:
    """Delete a cluster without node groups, with its add-ons, entries and associations."""
    name = call.params["name"]
    cluster = found_cluster(call, name)
    if in_cluster(call, NODEGROUP, name):
        raise AwsError("ResourceInUseException", "Cluster has nodegroups attached")
    if cluster["deletionProtection"]:
        raise AwsError(
            "InvalidRequestException",
            f"Cluster {name} has deletion protection enabled. Disable it before deleting.",
        )
    detach(call, cluster)
    for kind in (ADDON, ASSOCIATION, ENTRY, UPDATE):
        table = call.table(kind)
        for key in [key for key, record in table.items() if record["clusterName"] == name]:
            del table[key]
    del call.table(CLUSTER)[name]
    return {"cluster": {**cluster, "status": "DELETING"}}
