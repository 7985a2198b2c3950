"""The Auto Scaling group behind a node group, and its sizes, which are the node group's."""

from scripts.local.simulator.calls import AwsError, Call
from scripts.local.simulator.eks.common import NODEGROUP, now
from scripts.local.simulator.records import Record

__all__ = ["SIZES", "managed_group", "missing", "name_of", "resize", "sizes"]

SIZES = {"MinSize": "minSize", "MaxSize": "maxSize", "DesiredCapacity": "desiredSize"}
"""How Auto Scaling and EKS call the sizes of a group."""


def name_of(group: Record) -> str:
    """Give the name of a node group's Auto Scaling group."""
    name: str = group["resources"]["autoScalingGroups"][0]["name"]
    return name


def managed_group(call: Call, name: str) -> Record | None:
    """Find the node group behind an Auto Scaling group."""
    groups = call.table(NODEGROUP).values()
    return next((group for group in groups if name_of(group) == name), None)


def missing(name: str) -> AwsError:
    """Build the refusal of a group that is not there."""
    return AwsError("ValidationError", f"AutoScalingGroup name not found - {name}")


def sizes(asked: Record) -> dict[str, int]:
    """Give the sizes that a request names, as EKS calls them."""
    return {our: asked[its] for its, our in SIZES.items() if its in asked}


def resize(group: Record, asked: dict[str, int]) -> None:
    """Give a node group other sizes; a desired size outside of new bounds follows them."""
    after = {**group["scalingConfig"], **asked}
    if after["minSize"] > after["maxSize"]:
        raise AwsError(
            "ValidationError",
            "Max bound, "
            f"{after['maxSize']}, must be greater than or equal to min bound, {after['minSize']}",
        )
    after["desiredSize"] = min(max(after["desiredSize"], after["minSize"]), after["maxSize"])
    group |= {"scalingConfig": after, "modifiedAt": now()}
