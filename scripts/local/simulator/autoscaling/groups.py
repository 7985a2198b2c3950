"""The Auto Scaling group of each managed node group; it is what EKS says of the node group.

Groups of one's own are moto's. The nodes of a managed group come from the target's reconciler, not
from here, so a size that is changed here is changed at the node group.
"""

from scripts.local.simulator.autoscaling.schedules import apply_due
from scripts.local.simulator.autoscaling.sizes import (
    SIZES,
    managed_group,
    name_of,
    resize,
    sizes,
)
from scripts.local.simulator.calls import Answer, AwsError, Call, answers
from scripts.local.simulator.ec2.common import selected
from scripts.local.simulator.eks.common import NODEGROUP
from scripts.local.simulator.records import Record

__all__ = ["describe", "update"]

LIVE = ("pending", "running")


def _described(call: Call, group: Record) -> Record:
    name, cluster = group["nodegroupName"], group["clusterName"]
    subnets = call.ask("ec2", "DescribeSubnets", SubnetIds=group["subnets"])["Subnets"]
    tags = {
        "eks:cluster-name": cluster,
        "eks:nodegroup-name": name,
        f"k8s.io/cluster-autoscaler/{cluster}": "owned",
        "k8s.io/cluster-autoscaler/enabled": "true",
        f"kubernetes.io/cluster/{cluster}": "owned",
    }
    described: Record = {
        "AutoScalingGroupName": name_of(group),
        "AutoScalingGroupARN": call.arn(
            "autoscaling",
            f"autoScalingGroup:{group['nodegroupArn'].rsplit('/', 1)[-1]}:"
            f"autoScalingGroupName/{name_of(group)}",
        ),
        **{its: group["scalingConfig"][our] for its, our in SIZES.items()},
        "DefaultCooldown": 300,
        "AvailabilityZones": sorted({one["AvailabilityZone"] for one in subnets}),
        "HealthCheckType": "EC2",
        "HealthCheckGracePeriod": 15,
        "CreatedTime": group["createdAt"],
        "VPCZoneIdentifier": ",".join(group["subnets"]),
        "Instances": _instances(call, cluster, name),
        "Tags": [
            {
                "ResourceId": name_of(group),
                "ResourceType": "auto-scaling-group",
                "Key": key,
                "Value": value,
                "PropagateAtLaunch": True,
            }
            for key, value in tags.items()
        ],
        "TerminationPolicies": ["AllocationStrategy", "OldestLaunchTemplate", "OldestInstance"],
        "NewInstancesProtectedFromScaleIn": False,
        "CapacityRebalance": group["capacityType"] == "SPOT",
    }
    return described


def _instances(call: Call, cluster: str, name: str) -> list[Record]:
    filters = [
        {"Name": "tag:eks:cluster-name", "Values": [cluster]},
        {"Name": "tag:eks:nodegroup-name", "Values": [name]},
        {"Name": "instance-state-name", "Values": list(LIVE)},
    ]
    found = call.ask("ec2", "DescribeInstances", Filters=filters)["Reservations"]
    return [
        {
            "InstanceId": instance["InstanceId"],
            "InstanceType": instance["InstanceType"],
            "AvailabilityZone": instance["Placement"]["AvailabilityZone"],
            "LifecycleState": "InService",
            "HealthStatus": "Healthy",
            "ProtectedFromScaleIn": False,
        }
        for reservation in found
        for instance in reservation["Instances"]
    ]


@answers("autoscaling", "DescribeAutoScalingGroups")
def describe(call: Call) -> Answer:
    """Describe Auto Scaling groups, those of node groups first."""
    apply_due(call)
    names: list[str] = call.params.get("AutoScalingGroupNames", [])
    own = [
        _described(call, group)
        for group in call.table(NODEGROUP).values()
        if not names or name_of(group) in names
    ]
    own = selected(own, call.params.get("Filters", []), {})
    return {"AutoScalingGroups": [*own, *call.forward()["AutoScalingGroups"]]}


@answers("autoscaling", "UpdateAutoScalingGroup", "SetDesiredCapacity")
def update(call: Call) -> Answer:
    """Change the sizes of a group; its node group shows them."""
    group = managed_group(call, call.params["AutoScalingGroupName"])
    if group is None:
        return call.forward()
    asked = sizes(call.params)
    if call.operation == "SetDesiredCapacity":
        _check_desired(asked["desiredSize"], group["scalingConfig"])
    resize(group, asked)
    return {}


def _check_desired(desired: int, scaling: dict[str, int]) -> None:
    for bound, wrong in (
        ("max", desired > scaling["maxSize"]),
        ("min", desired < scaling["minSize"]),
    ):
        if wrong:
            side = "above" if bound == "max" else "below"
            raise AwsError(
                "ValidationError",
                f"New SetDesiredCapacity value {desired} is {side} {bound} value "
                f"{scaling[f'{bound}Size']} for the AutoScalingGroup.",
            )
