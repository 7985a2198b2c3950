"""Rows: launch templates, placement groups, capacity reservations, scaling by the clock."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from scripts.local.plugins.aws import tags
from scripts.local.plugins.aws.convert import to_api
from scripts.local.plugins.aws.row import EC2_TAGS, Call, Change, Hooks, Row, Wait, ec2_tagging

if TYPE_CHECKING:
    from botocore.model import Shape

    from scripts.local.plugins.aws.convert import Api
    from scripts.local.plugins.aws.session import Item
    from scripts.local.plugins.shared.wire import Props, Value

_OUTSIDE: Final = frozenset(
    {
        "defaultVersion",
        "description",
        "name",
        "namePrefix",
        "region",
        "tags",
        "tagsAll",
        "updateDefaultVersion",
    }
)
"""Properties of the template itself; all others are the data of a version."""

TEMPLATE_NAMES: Final = {
    "name": "LaunchTemplateName",
    "defaultVersion": "DefaultVersionNumber",
    "latestVersion": "LatestVersionNumber",
    "vpcSecurityGroupIds": "SecurityGroupIds",
    "securityGroupNames": "SecurityGroups",
    "instanceRequirements.memoryMib": "MemoryMiB",
    "instanceRequirements.memoryGibPerVcpu": "MemoryGiBPerVCpu",
    "networkInterfaces.securityGroups": "Groups",
    "networkInterfaces.ipv4AddressCount": "SecondaryPrivateIpAddressCount",
    "networkInterfaces.ipv4Addresses": "PrivateIpAddresses",
    "networkInterfaces.ipv4Prefixes": "Ipv4Prefixes",
    "networkInterfaces.ipv6Prefixes": "Ipv6Prefixes",
}

_STRUCTURED: Final = {
    "ipv4Addresses": "PrivateIpAddress",
    "ipv6Addresses": "Ipv6Address",
    "ipv4Prefixes": "Ipv4Prefix",
    "ipv6Prefixes": "Ipv6Prefix",
}
"""Lists of texts of an interface, which the API takes as lists of structures."""


def _data(item: Item) -> dict[str, Api]:
    """Spell the data of a version."""
    client: Any = item.session.client("ec2", item.region)
    model = client.meta.service_model.operation_model("CreateLaunchTemplateVersion")
    shape: Shape = model.input_shape.members["LaunchTemplateData"]
    props: Props = {k: v for k, v in item.props.items() if k not in _OUTSIDE and v is not None}
    interfaces = props.get("networkInterfaces")
    if isinstance(interfaces, list):
        props["networkInterfaces"] = [_interface(it) for it in interfaces]
    return to_api(props, shape, TEMPLATE_NAMES, "")


def _interface(value: Value) -> Value:
    if not isinstance(value, dict):
        return value
    made: Props = dict(value)
    for name, key in _STRUCTURED.items():
        texts = made.get(name)
        if isinstance(texts, list):
            made[name] = [{key: text} for text in texts]
    return made


def _create_template(item: Item) -> str:
    specification = {
        "ResourceType": "launch-template",
        "Tags": [{"Key": key, "Value": text} for key, text in tags.wanted(item).items()],
    }
    params: dict[str, Api] = {
        "LaunchTemplateName": item.props["name"],
        "LaunchTemplateData": _data(item),
        "VersionDescription": item.props.get("description"),
        "TagSpecifications": [specification] if specification["Tags"] else None,
    }
    given = {name: value for name, value in params.items() if value is not None}
    return str(item.call("CreateLaunchTemplate", **given)["LaunchTemplate"]["LaunchTemplateId"])


def _read_version(item: Item, found: dict[str, Api]) -> bool:
    """Show the data of the newest version."""
    answer = item.call(
        "DescribeLaunchTemplateVersions", LaunchTemplateId=item.id, Versions=["$Latest"]
    )
    version = answer["LaunchTemplateVersions"][0]
    data = version["LaunchTemplateData"]
    for interface in data.get("NetworkInterfaces") or ():
        for key in _STRUCTURED.values():
            field = next((n for n in (f"{key}es", f"{key}s") if n in interface), None)
            if field:
                interface[field] = [entry[key] for entry in interface[field]]
    found |= {**data, "Description": version.get("VersionDescription")}
    return True


def _new_version(item: Item, changed: frozenset[str]) -> None:
    """Make a new version, and move the default to it when the program says so."""
    latest = item.prior.get("latestVersion")
    if changed - (_OUTSIDE - {"description"}):
        text = item.props.get("description")
        answer = item.call(
            "CreateLaunchTemplateVersion",
            LaunchTemplateId=item.id,
            LaunchTemplateData=_data(item),
            **({"VersionDescription": text} if text else {}),
        )
        latest = answer["LaunchTemplateVersion"]["VersionNumber"]
    if item.props.get("updateDefaultVersion"):
        default = latest
    elif "defaultVersion" in changed:
        default = item.props.get("defaultVersion")
    else:
        return
    item.call("ModifyLaunchTemplate", LaunchTemplateId=item.id, DefaultVersion=str(default))


LAUNCH_TEMPLATE: Final = Row(
    service="ec2",
    id="LaunchTemplateId",
    read=(Call("DescribeLaunchTemplates", {"LaunchTemplateIds": ["$id"]}, "LaunchTemplates[0]"),),
    delete=Call("DeleteLaunchTemplate", {"LaunchTemplateId": "$id"}),
    names=TEMPLATE_NAMES,
    replace=frozenset({"name", "namePrefix"}),
    local=frozenset({"updateDefaultVersion"}),
    refused=frozenset({"secondaryInterfaces"}),
    ordered=frozenset({"blockDeviceMappings", "networkInterfaces", "tagSpecifications"}),
    conflicts=(("defaultVersion", "updateDefaultVersion"),),
    hooks=Hooks(create=_create_template, read=_read_version, update=_new_version),
    outputs={"arn": "arn:{partition}:ec2:{region}:{account}:launch-template/{id}"},
    unsettled=frozenset({"latestVersion", "defaultVersion"}),
    tagging=EC2_TAGS,
)

PLACEMENT_GROUP: Final = Row(
    service="ec2",
    id="{name}",
    create=Call("CreatePlacementGroup"),
    read=(Call("DescribePlacementGroups", {"GroupNames": ["$id"]}, "PlacementGroups[0]"),),
    delete=Call("DeletePlacementGroup", {"GroupName": "$id"}),
    names={"name": "GroupName", "placementGroupId": "GroupId", "arn": "GroupArn"},
    replace=frozenset({"name", "partitionCount", "spreadLevel", "strategy"}),
    wait=Wait("State", ready=("available",)),
    tag_type="placement-group",
    tagging=ec2_tagging("$placementGroupId"),
)


def _living_reservation(_: Item, found: dict[str, Api]) -> bool:
    return found.get("State") not in {"cancelled", "expired"}


_MODIFY: Final = Call("ModifyCapacityReservation", {"CapacityReservationId": "$id"})

CAPACITY_RESERVATION: Final = Row(
    service="ec2",
    id="CapacityReservation.CapacityReservationId",
    create=Call("CreateCapacityReservation"),
    read=(
        Call(
            "DescribeCapacityReservations",
            {"CapacityReservationIds": ["$id"]},
            "CapacityReservations[0]",
        ),
    ),
    updates=(Change(("instanceCount", "endDate", "endDateType"), _MODIFY),),
    delete=Call("CancelCapacityReservation", {"CapacityReservationId": "$id"}),
    names={"arn": "CapacityReservationArn", "instanceCount": "TotalInstanceCount|InstanceCount"},
    replace=frozenset(
        {
            "availabilityZone",
            "ebsOptimized",
            "ephemeralStorage",
            "instanceMatchCriteria",
            "instancePlatform",
            "instanceType",
            "outpostArn",
            "placementGroupArn",
            "tenancy",
        }
    ),
    defaults={
        "ebsOptimized": False,
        "endDateType": "unlimited",
        "ephemeralStorage": False,
        "instanceMatchCriteria": "open",
        "tenancy": "default",
    },
    wait=Wait("State", ready=("active", "pending", "scheduled"), failed=("failed",)),
    hooks=Hooks(read=_living_reservation),
    tag_type="capacity-reservation",
    tagging=EC2_TAGS,
)

_SIZES: Final = {
    "minSize": "MinSize",
    "maxSize": "MaxSize",
    "desiredCapacity": "DesiredCapacity",
}
_KEPT: Final = -1
"""What a program says of a size that the action shall not change."""


def _schedule(item: Item) -> str:
    """Write the whole action; to the provider, a size that is left out is zero."""
    props = item.props
    sizes = {api: props.get(name, 0) for name, api in _SIZES.items()}
    params: dict[str, Api] = {
        "AutoScalingGroupName": props["autoscalingGroupName"],
        "ScheduledActionName": props["scheduledActionName"],
        "StartTime": props.get("startTime"),
        "EndTime": props.get("endTime"),
        "Recurrence": props.get("recurrence"),
        "TimeZone": props.get("timeZone"),
        **{api: size for api, size in sizes.items() if size != _KEPT},
    }
    given = {name: value for name, value in params.items() if value is not None}
    item.call("PutScheduledUpdateGroupAction", **given)
    return str(props["scheduledActionName"])


def _reschedule(item: Item, _: frozenset[str]) -> None:
    _schedule(item)


def _scheduled(_: Item, found: dict[str, Api]) -> bool:
    for api in _SIZES.values():
        found.setdefault(api, _KEPT)
    return True


_ACTION: Final = {
    "AutoScalingGroupName": "$autoscalingGroupName",
    "ScheduledActionName": "$scheduledActionName",
}

SCHEDULE: Final = Row(
    service="autoscaling",
    id="{scheduledActionName}",
    read=(
        Call(
            "DescribeScheduledActions",
            {
                "AutoScalingGroupName": "$autoscalingGroupName",
                "ScheduledActionNames": ["$scheduledActionName"],
            },
            "ScheduledUpdateGroupActions[0]",
        ),
    ),
    delete=Call("DeleteScheduledAction", _ACTION),
    names={"arn": "ScheduledActionARN"},
    replace=frozenset({"autoscalingGroupName", "scheduledActionName"}),
    import_id="{autoscalingGroupName}/{scheduledActionName}",
    hooks=Hooks(create=_schedule, read=_scheduled, update=_reschedule),
    autoname="",
)

CAPACITY: Final = {
    "aws:ec2/launchTemplate:LaunchTemplate": LAUNCH_TEMPLATE,
    "aws:ec2/placementGroup:PlacementGroup": PLACEMENT_GROUP,
    "aws:ec2/capacityReservation:CapacityReservation": CAPACITY_RESERVATION,
    "aws:autoscaling/schedule:Schedule": SCHEDULE,
}
