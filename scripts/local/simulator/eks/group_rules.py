"""What EKS refuses of a node group's sizes, of how it updates, and of how it repairs nodes.

The simulated account has the quotas of a new one.
"""

from components.catalog.networks import quota
from scripts.local.simulator.calls import AwsError
from scripts.local.simulator.eks.common import invalid
from scripts.local.simulator.records import Record

__all__ = ["check_group_count", "check_repair", "check_scaling", "check_update", "update_setup"]

DEFAULT_UPDATE = {"updateStrategy": "DEFAULT"}
OVERRIDE = (
    "minRepairWaitTimeMins",
    "nodeMonitoringCondition",
    "nodeUnhealthyReason",
    "repairAction",
)


def _exceeded(message: str) -> AwsError:
    return AwsError("ResourceLimitExceededException", message)


def check_group_count(cluster: str, present: int) -> None:
    """Refuse one more group in a cluster that has as many as the quota allows."""
    allowed = quota("node_groups").value
    if present >= allowed:
        raise _exceeded(
            f"NodeGroup limit exceeded for cluster {cluster}: the quota is {allowed} managed node "
            "groups per cluster"
        )


def check_scaling(scaling: dict[str, int]) -> None:
    """Refuse sizes that contradict each other, or more nodes than the quota allows."""
    least, most, desired = scaling["minSize"], scaling["maxSize"], scaling["desiredSize"]
    if least > desired:
        raise invalid(f"Minimum capacity {least} can't be greater than desired size {desired}")
    if desired > most:
        raise invalid(f"Desired capacity {desired} can't be greater than max size {most}")
    allowed = quota("nodes_per_group").value
    if most > allowed:
        raise _exceeded(
            f"Max size {most} exceeds the quota of {allowed} nodes per managed node group"
        )


def update_setup(asked: Record) -> Record:
    """Complete what a request says about updates, as EKS shows it."""
    setup = {**DEFAULT_UPDATE, **asked}
    if not {"maxUnavailable", "maxUnavailablePercentage"} & set(asked):
        setup["maxUnavailable"] = 1
    return setup


def check_update(setup: Record, scaling: dict[str, int]) -> None:
    """Refuse two counts of nodes that may be missing, or more than the group has."""
    _one_of(setup, "maxUnavailable", "maxUnavailablePercentage")
    if not 1 <= setup.get("maxUnavailable", 1) <= scaling["maxSize"]:
        raise invalid("max-unavailable must be within the range 1 and max size of the node group")


def check_repair(setup: Record) -> None:
    """Refuse a count beside a share, and an override that leaves something open."""
    _one_of(setup, "maxUnhealthyNodeThresholdCount", "maxUnhealthyNodeThresholdPercentage")
    _one_of(setup, "maxParallelNodesRepairedCount", "maxParallelNodesRepairedPercentage")
    for override in setup.get("nodeRepairConfigOverrides", []):
        missing = [name for name in OVERRIDE if name not in override]
        if missing:
            raise invalid(
                "All values of a node repair config override must be specified, missing: "
                f"{', '.join(missing)}"
            )


def _one_of(setup: Record, count: str, share: str) -> None:
    if count in setup and share in setup:
        raise invalid(f"You cannot specify both {count} and {share}.")
