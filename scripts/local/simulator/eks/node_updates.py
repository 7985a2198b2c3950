"""Changes of a node group in place: its settings, and what its nodes are made of."""

from scripts.local.simulator.calls import Answer, AwsError, Call, answers
from scripts.local.simulator.eks.common import (
    found_cluster,
    found_nodegroup,
    invalid,
    now,
    started,
    subnets_of,
)
from scripts.local.simulator.eks.group_rules import (
    check_repair,
    check_scaling,
    check_update,
    update_setup,
)
from scripts.local.simulator.eks.machines import CUSTOM, Machines, check_machines, check_release
from scripts.local.simulator.eks.nodegroups import check_version, default_release
from scripts.local.simulator.eks.templates import check_request, resolved_template
from scripts.local.simulator.eks.values import check_values
from scripts.local.simulator.records import Record

__all__ = ["update_nodegroup_config", "update_nodegroup_version"]


@answers("eks", "UpdateNodegroupConfig")
def update_nodegroup_config(call: Call) -> Answer:
    """Change size, labels, taints, or how the group updates and repairs."""
    group = found_nodegroup(call)
    check_values(call)
    changes: Record = {}
    if "scalingConfig" in call.params:
        changes["scalingConfig"] = {**group["scalingConfig"], **call.params["scalingConfig"]}
        check_scaling(changes["scalingConfig"])
    if "labels" in call.params:
        changes["labels"] = _changed_labels(group["labels"], call.params["labels"])
    if "taints" in call.params:
        changes["taints"] = _changed_taints(group["taints"], call.params["taints"])
    if "updateConfig" in call.params:
        changes["updateConfig"] = update_setup(call.params["updateConfig"])
        check_update(changes["updateConfig"], changes.get("scalingConfig", group["scalingConfig"]))
    if "nodeRepairConfig" in call.params:
        check_repair(call.params["nodeRepairConfig"])
    for key in ("nodeRepairConfig", "warmPoolConfig"):
        if key in call.params:
            changes[key] = call.params[key]
    return _changed(call, group, "ConfigUpdate", changes)


def _changed(call: Call, group: Record, kind: str, changes: Record) -> Answer:
    group |= {**changes, "modifiedAt": now()}
    name = group["nodegroupName"]
    return {"update": started(call, group["clusterName"], kind, changes, nodegroup=name)}


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
    """Move to another launch template version, or to another Kubernetes version or AMI release."""
    group = found_nodegroup(call)
    asked = {key: call.params[key] for key in ("version", "releaseVersion") if key in call.params}
    if "launchTemplate" in call.params:
        if asked:
            raise invalid(
                "Version and ReleaseVersion updates cannot be combined with other updates"
            )
        return _changed(call, group, "VersionUpdate", _other_template(call, group))
    return _changed(call, group, "VersionUpdate", _other_release(call, group, asked))


def _other_template(call: Call, group: Record) -> Record:
    before = group.get("launchTemplate")
    after, data = resolved_template(call, call.params["launchTemplate"])
    if before is None or before["id"] != after["id"]:
        raise AwsError(
            "InvalidRequestException",
            "You cannot change the launch template of a node group, only its version.",
        )
    if group["capacityType"] == "CAPACITY_BLOCK" and group["scalingConfig"]["desiredSize"]:
        raise AwsError(
            "InvalidRequestException",
            "The desired size of a node group with capacity type CAPACITY_BLOCK must be 0 to "
            f"update its launch template, it is {group['scalingConfig']['desiredSize']}",
        )
    check_request(data, {"instanceTypes": group.get("instanceTypes")})
    types: list[str] = list(group.get("instanceTypes") or [])
    if "InstanceType" in data:
        types.append(data["InstanceType"])
    if not types:
        raise invalid(
            "You must specify an instance type in your launch template, since the node group has "
            "none of its own."
        )
    check_machines(
        call,
        Machines(
            ami_type=group["amiType"],
            capacity=group["capacityType"],
            types=tuple(types),
            zones=tuple(one["AvailabilityZone"] for one in subnets_of(call, group["subnets"])),
            template=data,
        ),
    )
    image = {"releaseVersion": data["ImageId"]} if group["amiType"] == CUSTOM else {}
    return {"launchTemplate": after, **image}


def _other_release(call: Call, group: Record, asked: Record) -> Record:
    if group["amiType"] == CUSTOM:
        check_request({"ImageId": group["releaseVersion"]}, asked)
        raise invalid(
            "You must specify a launch template version to update a node group with AMI Type "
            "CUSTOM."
        )
    of_cluster = found_cluster(call, group["clusterName"])["version"]
    # A release alone stays with the group's own version; nothing at all means the cluster's.
    version = asked.get("version", group["version"] if asked else of_cluster)
    check_version(version, of_cluster)
    release = asked.get("releaseVersion", default_release(version))
    check_release(group["amiType"], version, release)
    return {"version": version, "releaseVersion": release}
