"""Ending an instance of a node group's Auto Scaling group.

The instance is gone at once, where EKS drains it for minutes first: DescribeInstances says
terminated, and its group lists one fewer. The target's reconciler starts another one at the same
place of the group in its next round, as it does for whatever has ended.
"""

from datetime import UTC, datetime

from scripts.local.simulator.autoscaling.sizes import name_of, resize
from scripts.local.simulator.calls import Answer, AwsError, Call, answers, tag_map
from scripts.local.simulator.eks.common import NODEGROUP, new_id
from scripts.local.simulator.records import Record

__all__ = ["terminate"]

RUNNING = ("pending", "running", "stopping", "stopped")


@answers("autoscaling", "TerminateInstanceInAutoScalingGroup")
def terminate(call: Call) -> Answer:
    """End an instance; without a decrement its group stays as large as it was."""
    identity: str = call.params["InstanceId"]
    instance = _running(call, identity)
    group = _managed_group(call, instance) if instance else None
    if group is None:
        if instance is None or not _in_moto(call, identity):
            raise AwsError(
                "ValidationError",
                f"Instance Id not found - No managed instance found for instance ID {identity}",
            )
        return call.forward()
    if call.params["ShouldDecrementDesiredCapacity"]:
        _decrement(group)
    call.ask("ec2", "TerminateInstances", InstanceIds=[identity])
    now = datetime.now(UTC)
    return {
        "Activity": {
            "ActivityId": new_id(),
            "AutoScalingGroupName": name_of(group),
            "Description": f"Terminating EC2 instance: {identity}",
            "Cause": (
                f"At {now:%Y-%m-%dT%H:%M:%SZ} instance {identity} was taken out of service in "
                "response to a user request."
            ),
            "StartTime": now,
            "StatusCode": "InProgress",
            "Progress": 0,
        }
    }


def _running(call: Call, identity: str) -> Record | None:
    try:
        found = call.ask("ec2", "DescribeInstances", InstanceIds=[identity])["Reservations"]
    except AwsError:
        return None
    [instance] = [each for reservation in found for each in reservation["Instances"]]
    return instance if instance["State"]["Name"] in RUNNING else None


def _managed_group(call: Call, instance: Record) -> Record | None:
    """Find the node group of an instance by the tags that EKS gives it."""
    tags = tag_map(instance.get("Tags"))
    key = f"{tags.get('eks:cluster-name')}|{tags.get('eks:nodegroup-name')}"
    return call.table(NODEGROUP).get(key)


def _in_moto(call: Call, identity: str) -> bool:
    asked = call.ask_moto("autoscaling", "DescribeAutoScalingInstances", InstanceIds=[identity])
    return bool(asked["AutoScalingInstances"])


def _decrement(group: Record) -> None:
    scaling = group["scalingConfig"]
    if scaling["desiredSize"] <= scaling["minSize"]:
        raise AwsError(
            "ValidationError",
            f"Currently, desiredSize equals minSize ({scaling['minSize']}). Terminating instance "
            "without replacement will violate group's min size constraint. Either set "
            "shouldDecrementDesiredCapacity flag to false or lower group's min size.",
        )
    resize(group, {"desiredSize": scaling["desiredSize"] - 1})
