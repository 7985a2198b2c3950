"""EKS managed node groups; the embedded target makes nodes of what they ask for."""

from datetime import UTC, datetime

from scripts.local.simulator.calls import Answer, AwsError, Call, answers
from scripts.local.simulator.eks.access import add_node_entry, remove_node_entry
from scripts.local.simulator.eks.common import (
    NODEGROUP,
    found_cluster,
    in_cluster,
    invalid,
    new_id,
    now,
    started,
    subnets_of,
    trusted_services,
)
from scripts.local.simulator.eks.templates import resolved_template
from scripts.local.simulator.records import Record

__all__ = ["create_nodegroup", "delete_nodegroup", "describe_nodegroup"]

DEFAULT_SCALING = {"minSize": 1, "maxSize": 2, "desiredSize": 2}
PASSED_THROUGH = ("remoteAccess", "nodeRepairConfig", "warmPoolConfig")


@answers("eks", "CreateNodegroup")
def create_nodegroup(call: Call) -> Answer:
    """Make a node group, active at once."""
    cluster, name = found_cluster(call, call.params["clusterName"]), call.params["nodegroupName"]
    if _key(call) in call.table(NODEGROUP):
        raise AwsError(
            "ResourceInUseException",
            f"NodeGroup already exists with name {name} and cluster name {cluster['name']}",
        )
    _check_role(call)
    subnets_of(call, call.params["subnets"])
    scaling = {**DEFAULT_SCALING, **call.params.get("scalingConfig", {})}
    _check_scaling(scaling)
    identity = new_id()
    group: Record = {
        "nodegroupName": name,
        "nodegroupArn": call.arn("eks", f"nodegroup/{cluster['name']}/{name}/{identity}"),
        "clusterName": cluster["name"],
        "createdAt": now(),
        "modifiedAt": now(),
        "status": "ACTIVE",
        "capacityType": call.params.get("capacityType", "ON_DEMAND"),
        "scalingConfig": scaling,
        "subnets": call.params["subnets"],
        "nodeRole": call.params["nodeRole"],
        "labels": call.params.get("labels", {}),
        "taints": call.params.get("taints", []),
        "updateConfig": call.params.get("updateConfig", {"maxUnavailable": 1}),
        "resources": {"autoScalingGroups": [{"name": f"eks-{name}-{identity}"}]},
        "health": {"issues": []},
        "tags": call.params.get("tags", {}),
    }
    group |= {key: call.params[key] for key in PASSED_THROUGH if key in call.params}
    group |= _machine(call, cluster)
    call.table(NODEGROUP)[_key(call)] = group
    add_node_entry(call, cluster["name"], group["nodeRole"])
    return {"nodegroup": group}


def _key(call: Call) -> str:
    return f"{call.params['clusterName']}|{call.params['nodegroupName']}"


def _check_role(call: Call) -> None:
    arn = call.params["nodeRole"]
    services = trusted_services(call, arn)
    if services is None:
        raise invalid(f"The role with name {arn.rsplit('/', 1)[-1]} cannot be found.")
    if "ec2.amazonaws.com" not in services:
        raise invalid(
            "Following required service principals [ec2.amazonaws.com] were not found in the "
            f"trust relationships of nodeRole {arn}"
        )


def _check_scaling(scaling: dict[str, int]) -> None:
    least, most, desired = scaling["minSize"], scaling["maxSize"], scaling["desiredSize"]
    if least > desired:
        raise invalid(f"Minimum capacity {least} can't be greater than desired size {desired}")
    if desired > most:
        raise invalid(f"Desired capacity {desired} can't be greater than max size {most}")


def _machine(call: Call, cluster: Record) -> Record:
    """Tell what the nodes are made of: from the launch template, else from the request."""
    asked, data = call.params, {}
    version = asked.get("version", cluster["version"])
    if _minor(version) > _minor(cluster["version"]):
        raise invalid(
            f"Requested Nodegroup kubernetes version {version} is newer than the cluster's "
            f"kubernetes version {cluster['version']}"
        )
    machine: Record = {"version": version}
    if "launchTemplate" in asked:
        machine["launchTemplate"], data = resolved_template(call, asked["launchTemplate"], asked)
    else:
        machine["diskSize"] = asked.get("diskSize", 20)
    if "InstanceType" not in data:
        machine["instanceTypes"] = asked.get("instanceTypes", ["t3.medium"])
    if "ImageId" in data:
        del machine["version"]
        return {**machine, "amiType": "CUSTOM"}
    default_release = f"{version}.0-{datetime.now(UTC):%Y%m01}"
    return {
        **machine,
        "amiType": asked.get("amiType", "AL2023_x86_64_STANDARD"),
        "releaseVersion": asked.get("releaseVersion", default_release),
    }


def _minor(version: str) -> int:
    return int(version.split(".")[1])


def _found(call: Call) -> Record:
    found_cluster(call, call.params["clusterName"])
    group = call.table(NODEGROUP).get(_key(call))
    if group is None:
        raise AwsError(
            "ResourceNotFoundException",
            f"No node group found for name: {call.params['nodegroupName']}.",
        )
    return group


@answers("eks", "DescribeNodegroup")
def describe_nodegroup(call: Call) -> Answer:
    """Describe one node group."""
    return {"nodegroup": _found(call)}


@answers("eks", "ListNodegroups")
def list_nodegroups(call: Call) -> Answer:
    """List the names of a cluster's node groups."""
    cluster = found_cluster(call, call.params["clusterName"])["name"]
    groups = in_cluster(call, NODEGROUP, cluster)
    return {"nodegroups": sorted(group["nodegroupName"] for group in groups)}


@answers("eks", "DeleteNodegroup")
def delete_nodegroup(call: Call) -> Answer:
    """Delete a node group, and the access entry that was made for its role."""
    group = _found(call)
    del call.table(NODEGROUP)[_key(call)]
    others = in_cluster(call, NODEGROUP, group["clusterName"])
    if group["nodeRole"] not in {other["nodeRole"] for other in others}:
        remove_node_entry(call, group["clusterName"], group["nodeRole"])
    return {"nodegroup": {**group, "status": "DELETING"}}


@answers("eks", "UpdateNodegroupConfig")
def update_nodegroup_config(call: Call) -> Answer:
    """Change size, labels, taints or how the group updates."""
    group = _found(call)
    changes: Record = {}
    if "scalingConfig" in call.params:
        changes["scalingConfig"] = {**group["scalingConfig"], **call.params["scalingConfig"]}
        _check_scaling(changes["scalingConfig"])
    if "labels" in call.params:
        changes["labels"] = _changed_labels(group["labels"], call.params["labels"])
    if "taints" in call.params:
        changes["taints"] = _changed_taints(group["taints"], call.params["taints"])
    for key in ("updateConfig", "nodeRepairConfig", "warmPoolConfig"):
        if key in call.params:
            changes[key] = call.params[key]
    group |= {**changes, "modifiedAt": now()}
    update = started(
        call,
        group["clusterName"],
        "ConfigUpdate",
        changes,
        nodegroup=group["nodegroupName"],
    )
    return {"update": update}


def _changed_labels(before: dict[str, str], asked: Record) -> dict[str, str]:
    kept = {key: value for key, value in before.items() if key not in asked.get("removeLabels", [])}
    return {**kept, **asked.get("addOrUpdateLabels", {})}


def _changed_taints(before: list[Record], asked: Record) -> list[Record]:
    """Change taints: one is known by its key and effect, its value may change."""
    gone = {
        (taint["key"], taint["effect"])
        for change in ("removeTaints", "addOrUpdateTaints")
        for taint in asked.get(change, [])
    }
    kept = [taint for taint in before if (taint["key"], taint["effect"]) not in gone]
    return [*kept, *asked.get("addOrUpdateTaints", [])]


@answers("eks", "UpdateNodegroupVersion")
def update_nodegroup_version(call: Call) -> Answer:
    """Move to another launch template version, Kubernetes version or AMI release."""
    group = _found(call)
    cluster = found_cluster(call, group["clusterName"])
    asked = {key: call.params[key] for key in ("version", "releaseVersion") if key in call.params}
    version = asked.get("version", group.get("version", cluster["version"]))
    if _minor(version) > _minor(cluster["version"]):
        raise invalid(
            f"Requested Nodegroup kubernetes version {version} is newer than the cluster's "
            f"kubernetes version {cluster['version']}"
        )
    if "launchTemplate" in call.params:
        before = group.get("launchTemplate")
        after, _ = resolved_template(call, call.params["launchTemplate"], {})
        if before is None or before["id"] != after["id"]:
            raise AwsError(
                "InvalidRequestException",
                "You cannot change the launch template of a node group, only its version.",
            )
        asked["launchTemplate"] = after
    if not asked:
        asked = {"version": cluster["version"]}
    if "version" in asked and "releaseVersion" not in asked and "releaseVersion" in group:
        asked["releaseVersion"] = f"{asked['version']}.0-{datetime.now(UTC):%Y%m01}"
    group |= {**asked, "modifiedAt": now()}
    update = started(
        call, group["clusterName"], "VersionUpdate", asked, nodegroup=group["nodegroupName"]
    )
    return {"update": update}
