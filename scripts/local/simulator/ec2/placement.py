"""EC2 placement groups."""

from scripts.local.simulator.calls import Answer, AwsError, Call, answers
from scripts.local.simulator.ec2.common import (
    PLACEMENT_GROUP,
    hex_id,
    selected,
    set_tags,
    tagged,
)
from scripts.local.simulator.eks.common import NODEGROUP
from scripts.local.simulator.records import Record

__all__ = ["create_placement_group", "delete_placement_group", "describe_placement_groups"]

FILTERS = {
    "group-name": "GroupName",
    "group-arn": "GroupArn",
    "state": "State",
    "strategy": "Strategy",
    "spread-level": "SpreadLevel",
}
MOST_PARTITIONS = 7


@answers("ec2", "CreatePlacementGroup")
def create_placement_group(call: Call) -> Answer:
    """Make a placement group, available at once."""
    name, strategy = call.params.get("GroupName"), call.params.get("Strategy", "cluster")
    if not name:
        raise AwsError("MissingParameter", "The request must contain the parameter GroupName")
    if name in call.table(PLACEMENT_GROUP):
        raise AwsError(
            "InvalidPlacementGroup.Duplicate", f"The placement group '{name}' already exists."
        )
    group: Record = {
        "GroupName": name,
        "GroupId": hex_id("pg"),
        "GroupArn": call.arn("ec2", f"placement-group/{name}"),
        "State": "available",
        "Strategy": strategy,
    }
    if strategy == "partition":
        group["PartitionCount"] = call.params.get("PartitionCount", 2)
        if not 1 <= group["PartitionCount"] <= MOST_PARTITIONS:
            raise AwsError(
                "InvalidParameterValue",
                f"Value ({group['PartitionCount']}) for parameter partitionCount is invalid. "
                f"It must be between 1 and {MOST_PARTITIONS}.",
            )
    elif "PartitionCount" in call.params:
        raise AwsError(
            "InvalidParameterCombination",
            "The parameter partitionCount is only for the strategy partition.",
        )
    if strategy == "spread":
        group["SpreadLevel"] = call.params.get("SpreadLevel", "rack")
    set_tags(call, group["GroupId"])
    call.table(PLACEMENT_GROUP)[name] = group
    return {"PlacementGroup": tagged(call, [group], "GroupId")[0]}


@answers("ec2", "DescribePlacementGroups")
def describe_placement_groups(call: Call) -> Answer:
    """Describe placement groups by name, id or filter."""
    groups = call.table(PLACEMENT_GROUP)
    names, ids = call.params.get("GroupNames", []), call.params.get("GroupIds", [])
    for name in names:
        _found(call, name)
    known = {group["GroupId"] for group in groups.values()}
    for identity in ids:
        if identity not in known:
            raise _unknown(identity)
    found = [
        group
        for group in groups.values()
        if (not names or group["GroupName"] in names) and (not ids or group["GroupId"] in ids)
    ]
    records = tagged(call, found, "GroupId")
    return {"PlacementGroups": selected(records, call.params.get("Filters", []), FILTERS)}


@answers("ec2", "DeletePlacementGroup")
def delete_placement_group(call: Call) -> Answer:
    """Delete a placement group that no node group's instances are in."""
    name = call.params["GroupName"]
    _found(call, name)
    if any(_uses(call, group, name) for group in call.table(NODEGROUP).values()):
        raise AwsError(
            "InvalidPlacementGroup.InUse",
            f"The placement group '{name}' is in use and may not be deleted.",
        )
    del call.table(PLACEMENT_GROUP)[name]
    return {}


def _uses(call: Call, nodegroup: Record, name: str) -> bool:
    template = nodegroup.get("launchTemplate")
    if template is None or not nodegroup["scalingConfig"]["desiredSize"]:
        return False
    [version] = call.ask(
        "ec2",
        "DescribeLaunchTemplateVersions",
        LaunchTemplateId=template["id"],
        Versions=[template["version"]],
    )["LaunchTemplateVersions"]
    placement = version["LaunchTemplateData"].get("Placement", {})
    return placement.get("GroupName") == name


def _found(call: Call, name: str) -> Record:
    group = call.table(PLACEMENT_GROUP).get(name)
    if group is None:
        raise _unknown(name)
    return group


def _unknown(name: str) -> AwsError:
    return AwsError("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")
