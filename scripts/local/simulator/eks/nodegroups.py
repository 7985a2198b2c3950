"""EKS managed node groups; the embedded target makes nodes of what they ask for."""

from datetime import UTC, datetime

from scripts.local.simulator.autoscaling.schedules import apply_due
from scripts.local.simulator.calls import Answer, AwsError, Call, answers
from scripts.local.simulator.eks.access import add_node_entry, remove_node_entry
from scripts.local.simulator.eks.common import (
    NODEGROUP,
    found_cluster,
    found_nodegroup,
    in_cluster,
    invalid,
    new_id,
    now,
    subnets_of,
    trusted_services,
)
from scripts.local.simulator.eks.group_rules import (
    check_group_count,
    check_repair,
    check_scaling,
    check_update,
    update_setup,
)
from scripts.local.simulator.eks.machines import CUSTOM, Machines, check_machines, check_release
from scripts.local.simulator.eks.templates import check_request, resolved_template
from scripts.local.simulator.eks.values import check_values
from scripts.local.simulator.records import Record

__all__ = [
    "check_version",
    "create_nodegroup",
    "default_release",
    "delete_nodegroup",
    "describe_nodegroup",
]

DEFAULT_SCALING = {"minSize": 1, "maxSize": 2, "desiredSize": 2}
DEFAULT_IMAGE = "AL2023_x86_64_STANDARD"
DEFAULT_TYPES = ["t3.medium"]
PASSED_THROUGH = ("remoteAccess", "nodeRepairConfig", "warmPoolConfig")


@answers("eks", "CreateNodegroup")
def create_nodegroup(call: Call) -> Answer:
    """Make a node group, active at once."""
    cluster, name = found_cluster(call, call.params["clusterName"]), call.params["nodegroupName"]
    check_values(call)
    key = f"{cluster['name']}|{name}"
    if key in call.table(NODEGROUP):
        raise AwsError(
            "ResourceInUseException",
            f"NodeGroup already exists with name {name} and cluster name {cluster['name']}",
        )
    check_group_count(cluster["name"], len(in_cluster(call, NODEGROUP, cluster["name"])))
    _check_role(call)
    scaling = {**DEFAULT_SCALING, **call.params.get("scalingConfig", {})}
    update = update_setup(call.params.get("updateConfig", {}))
    check_scaling(scaling)
    check_update(update, scaling)
    check_repair(call.params.get("nodeRepairConfig", {}))
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
        "updateConfig": update,
        "resources": {"autoScalingGroups": [{"name": f"eks-{name}-{identity}"}]},
        "health": {"issues": []},
        "tags": call.params.get("tags", {}),
    }
    group |= {key: call.params[key] for key in PASSED_THROUGH if key in call.params}
    group |= _made_of(call, cluster)
    call.table(NODEGROUP)[key] = group
    add_node_entry(call, cluster["name"], group["nodeRole"])
    return {"nodegroup": group}


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


def _made_of(call: Call, cluster: Record) -> Record:
    """Tell what the nodes are made of: from the launch template, else from the request."""
    asked, data = call.params, None
    made: Record = {}
    if "launchTemplate" in asked:
        made["launchTemplate"], data = resolved_template(call, asked["launchTemplate"])
        check_request(data, asked)
    else:
        made["diskSize"] = asked.get("diskSize", 20)
    if not (data and "InstanceType" in data):
        made["instanceTypes"] = asked.get("instanceTypes", DEFAULT_TYPES)
    image = (data or {}).get("ImageId")
    machines = Machines(
        ami_type=asked.get("amiType", CUSTOM if image else DEFAULT_IMAGE),
        capacity=asked.get("capacityType", "ON_DEMAND"),
        types=tuple(made.get("instanceTypes") or [(data or {})["InstanceType"]]),
        zones=tuple(one["AvailabilityZone"] for one in subnets_of(call, asked["subnets"])),
        template=data,
    )
    check_machines(call, machines)
    made["amiType"] = machines.ami_type
    if image:
        # EKS shows the image as the release, and no version of Kubernetes.
        return {**made, "releaseVersion": image}
    version = asked.get("version", cluster["version"])
    check_version(version, cluster["version"])
    release = asked.get("releaseVersion", default_release(version))
    check_release(machines.ami_type, version, release)
    return {**made, "version": version, "releaseVersion": release}


def check_version(version: str, of_cluster: str) -> None:
    """Refuse nodes that are newer than their control plane."""
    if _minor(version) > _minor(of_cluster):
        raise invalid(
            f"Requested Nodegroup kubernetes version {version} is newer than the cluster's "
            f"kubernetes version {of_cluster}"
        )


def _minor(version: str) -> int:
    return int(version.split(".")[1])


def default_release(version: str) -> str:
    """Give the release that EKS would take as the latest one."""
    return f"{version}.0-{datetime.now(UTC):%Y%m01}"


@answers("eks", "DescribeNodegroup")
def describe_nodegroup(call: Call) -> Answer:
    """Describe one node group, after what its schedules have done to its size."""
    apply_due(call)
    return {"nodegroup": found_nodegroup(call)}


@answers("eks", "ListNodegroups")
def list_nodegroups(call: Call) -> Answer:
    """List the names of a cluster's node groups."""
    cluster = found_cluster(call, call.params["clusterName"])["name"]
    groups = in_cluster(call, NODEGROUP, cluster)
    return {"nodegroups": sorted(group["nodegroupName"] for group in groups)}


@answers("eks", "DeleteNodegroup")
def delete_nodegroup(call: Call) -> Answer:
    """Delete a node group, and the access entry that was made for its role."""
    group = found_nodegroup(call)
    del call.table(NODEGROUP)[f"{group['clusterName']}|{group['nodegroupName']}"]
    others = in_cluster(call, NODEGROUP, group["clusterName"])
    if group["nodeRole"] not in {other["nodeRole"] for other in others}:
        remove_node_entry(call, group["clusterName"], group["nodeRole"])
    return {"nodegroup": {**group, "status": "DELETING"}}
