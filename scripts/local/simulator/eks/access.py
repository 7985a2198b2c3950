"""EKS access entries and the access policies associated with them."""

from typing import Any

from scripts.local.simulator.calls import Answer, AwsError, Call, answers
from scripts.local.simulator.eks.common import (
    ENTRY,
    found_cluster,
    in_cluster,
    invalid,
    new_id,
    now,
    trusted_services,
)
from scripts.local.simulator.records import Record
from scripts.local.simulator.token_review import CLUSTER_ADMIN, deploy_role_arn

__all__ = ["add_node_entry", "grant_admin_to_creator", "remove_node_entry"]

POLICIES = (
    "AmazonEKSAdminPolicy",
    "AmazonEKSAdminViewPolicy",
    "AmazonEKSAutoNodePolicy",
    "AmazonEKSClusterAdminPolicy",
    "AmazonEKSEditPolicy",
    "AmazonEKSViewPolicy",
    "AmazonEMRJobPolicy",
    "AmazonSagemakerHyperpodClusterPolicy",
)
"""Names of the policies that EKS offers for STANDARD entries."""

POLICY_PREFIX = "arn:aws:eks::aws:cluster-access-policy/"
NODE_TYPES = ("EC2_LINUX", "EC2_WINDOWS", "EC2", "HYBRID_LINUX", "FARGATE_LINUX", "HYPERPOD_LINUX")
NOT_FOUND = (
    "The specified principalArn could not be found. "
    "You can view your available access entries with 'list-access-entries'."
)


def _new_entry(call: Call, cluster: str, principal: str, asked: Record) -> Record:
    kind, name = asked.get("type", "STANDARD"), principal.rsplit("/", 1)[-1]
    owner, resource = principal.split(":")[4:6]
    session = f"arn:aws:sts::{owner}:assumed-role/{name}/{{{{SessionName}}}}"
    default_username = session if resource.startswith("role/") else principal
    groups = asked.get("kubernetesGroups", [])
    if kind in NODE_TYPES:
        default_username, groups = "system:node:{{EC2PrivateDNSName}}", ["system:nodes"]
    entry: Record = {
        "clusterName": cluster,
        "principalArn": principal,
        "kubernetesGroups": groups,
        "accessEntryArn": call.arn(
            "eks",
            f"access-entry/{cluster}/{resource.split('/')[0]}/{owner}/{name}/{new_id()}",
        ),
        "createdAt": now(),
        "modifiedAt": now(),
        "tags": asked.get("tags", {}),
        "username": asked.get("username", default_username),
        "type": kind,
        "associatedAccessPolicies": [],
    }
    call.table(ENTRY)[f"{cluster}|{principal}"] = entry
    return entry


def grant_admin_to_creator(call: Call, cluster: Record) -> None:
    """Do what bootstrapClusterCreatorAdminPermissions asks for."""
    entry = _new_entry(call, cluster["name"], deploy_role_arn(call.account), {})
    entry["associatedAccessPolicies"].append(_association(CLUSTER_ADMIN, {"type": "cluster"}))


def add_node_entry(call: Call, cluster: str, role_arn: str) -> None:
    """Let a managed node group's nodes in, as EKS does by itself."""
    if f"{cluster}|{role_arn}" not in call.table(ENTRY):
        _new_entry(call, cluster, role_arn, {"type": "EC2_LINUX"})["_managed"] = True


def remove_node_entry(call: Call, cluster: str, role_arn: str) -> None:
    """Take back an entry that EKS made for a node group's role."""
    entry = call.table(ENTRY).get(f"{cluster}|{role_arn}", {})
    if entry.get("_managed"):
        del call.table(ENTRY)[f"{cluster}|{role_arn}"]


def _api_cluster(call: Call) -> str:
    name: str = call.params["clusterName"]
    mode = found_cluster(call, name)["accessConfig"]["authenticationMode"]
    if mode == "CONFIG_MAP":
        raise AwsError(
            "InvalidRequestException",
            "The cluster's authentication mode must be set to one of [API, API_AND_CONFIG_MAP] "
            "to perform this operation.",
        )
    return name


def _found(call: Call) -> Record:
    name, principal = _api_cluster(call), call.params["principalArn"]
    entry = call.table(ENTRY).get(f"{name}|{principal}")
    if entry is None:
        raise AwsError("ResourceNotFoundException", NOT_FOUND)
    return entry


def _check_groups(groups: list[str]) -> None:
    for group in groups:
        if group.startswith(("system:", "eks:", "aws:", "amazon:", "iam:")):
            prefix = group.split(":")[0]
            raise invalid(
                f"The kubernetes group name {group} is invalid, it cannot start with {prefix}:"
            )


def _check_principal(call: Call, principal: str) -> None:
    own = principal == deploy_role_arn(call.account)
    foreign = principal.split(":")[4:5] != [call.account]
    exists = own or foreign or ":role/" not in principal
    if not principal.startswith("arn:aws:iam::") or not (
        exists or trusted_services(call, principal) is not None
    ):
        raise invalid("The specified principalArn is invalid: invalid principal.")


@answers("eks", "CreateAccessEntry")
def create_access_entry(call: Call) -> Answer:
    """Let a principal of IAM into the cluster."""
    name, principal = _api_cluster(call), call.params["principalArn"]
    if f"{name}|{principal}" in call.table(ENTRY):
        raise AwsError(
            "ResourceInUseException",
            "The specified access entry resource is already in use on this cluster.",
        )
    _check_principal(call, principal)
    _check_groups(call.params.get("kubernetesGroups", []))
    if call.params.get("type", "STANDARD") in NODE_TYPES and (
        call.params.get("kubernetesGroups") or call.params.get("username")
    ):
        raise invalid(
            f"Kubernetes groups and username cannot be set for type {call.params['type']}"
        )
    return {"accessEntry": _new_entry(call, name, principal, call.params)}


@answers("eks", "DescribeAccessEntry")
def describe_access_entry(call: Call) -> Answer:
    """Describe one access entry."""
    return {"accessEntry": _found(call)}


@answers("eks", "ListAccessEntries")
def list_access_entries(call: Call) -> Answer:
    """List the principals that have an entry, or an entry with one policy."""
    policy = call.params.get("associatedPolicyArn")
    return {
        "accessEntries": [
            entry["principalArn"]
            for entry in in_cluster(call, ENTRY, _api_cluster(call))
            if policy is None
            or policy in {found["policyArn"] for found in entry["associatedAccessPolicies"]}
        ]
    }


@answers("eks", "UpdateAccessEntry")
def update_access_entry(call: Call) -> Answer:
    """Change the groups or the username of a STANDARD entry."""
    entry = _found(call)
    _check_standard(entry)
    _check_groups(call.params.get("kubernetesGroups", []))
    for key in ("kubernetesGroups", "username"):
        if key in call.params:
            entry[key] = call.params[key]
    entry["modifiedAt"] = now()
    return {"accessEntry": entry}


@answers("eks", "DeleteAccessEntry")
def delete_access_entry(call: Call) -> Answer:
    """Take a principal's access away."""
    entry = _found(call)
    del call.table(ENTRY)[f"{entry['clusterName']}|{entry['principalArn']}"]
    return {}


def _check_standard(entry: Record) -> None:
    if entry["type"] != "STANDARD":
        raise invalid(
            'This operation can only be performed on Access Entries with a type of "STANDARD".'
        )


def _association(policy: str, scope: dict[str, Any]) -> Record:
    return {
        "policyArn": policy,
        "accessScope": {"type": scope["type"], "namespaces": scope.get("namespaces", [])},
        "associatedAt": now(),
        "modifiedAt": now(),
    }


@answers("eks", "ListAccessPolicies")
def list_access_policies(_: Call) -> Answer:
    """List the access policies that EKS offers."""
    return {
        "accessPolicies": [{"name": name, "arn": f"{POLICY_PREFIX}{name}"} for name in POLICIES]
    }


@answers("eks", "AssociateAccessPolicy")
def associate_access_policy(call: Call) -> Answer:
    """Associate a policy with an entry, or change the scope of one that is there."""
    entry, policy, scope = _found(call), call.params["policyArn"], call.params["accessScope"]
    _check_standard(entry)
    if policy.removeprefix(POLICY_PREFIX) not in POLICIES:
        raise invalid("The specified policyArn is invalid: invalid policy.")
    if (scope["type"] == "namespace") != bool(scope.get("namespaces")):
        raise invalid("Namespaces must be given for, and only for, an access scope of namespace.")
    kept = [found for found in entry["associatedAccessPolicies"] if found["policyArn"] != policy]
    association = _association(policy, scope)
    entry["associatedAccessPolicies"] = [*kept, association]
    return {
        "clusterName": entry["clusterName"],
        "principalArn": entry["principalArn"],
        "associatedAccessPolicy": association,
    }


@answers("eks", "DisassociateAccessPolicy")
def disassociate_access_policy(call: Call) -> Answer:
    """Take a policy away from an entry."""
    entry, policy = _found(call), call.params["policyArn"]
    kept = [found for found in entry["associatedAccessPolicies"] if found["policyArn"] != policy]
    if len(kept) == len(entry["associatedAccessPolicies"]):
        raise AwsError(
            "ResourceNotFoundException",
            f"The specified policyArn {policy} is not associated with the access entry.",
        )
    entry["associatedAccessPolicies"] = kept
    return {}


@answers("eks", "ListAssociatedAccessPolicies")
def list_associated_access_policies(call: Call) -> Answer:
    """List the policies of an entry."""
    entry = _found(call)
    return {
        "clusterName": entry["clusterName"],
        "principalArn": entry["principalArn"],
        "associatedAccessPolicies": entry["associatedAccessPolicies"],
    }
