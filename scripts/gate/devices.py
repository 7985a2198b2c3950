"""The first and cheapest check: what the API says that a node can give, before anything runs on it.

A device plugin that does not run leaves a node with good hardware and none of it to be asked for; a
Job would wait for ever and tell nothing. Here the DaemonSet is named.
"""

from collections.abc import Mapping
from typing import Final

from components.catalog import InstanceType
from scripts.gate.ports import NodeState
from scripts.node.finding import NodeFinding
from scripts.node.judge import NodeJudgement
from scripts.node.profiles import Severity
from scripts.verdicts import Verdict

__all__ = ["GPU", "lacking", "wanted"]

GPU: Final = "nvidia.com/gpu"
EFA: Final = "vpc.amazonaws.com/efa"

PLUGINS: Final[Mapping[str, str]] = {GPU: "nvidia-device-plugin", EFA: "aws-efa-k8s-device-plugin"}
"""Resource -> the DaemonSet in kube-system that offers it."""


def wanted(instance: InstanceType) -> dict[str, int]:
    """Return the devices that every node of the type must offer."""
    gpus = instance.accelerator.count if instance.accelerator else 0
    devices = {GPU: gpus, EFA: instance.efa_interfaces}
    return {name: count for name, count in devices.items() if count}


def lacking(node: NodeState, instance: InstanceType) -> NodeJudgement | None:
    """Return the judgement on a node that offers less than its type has; None when all is there.

    More than the type has fails as well: then the node is not what it is called.
    """
    findings = tuple(
        NodeFinding("devices", Severity.RESET, _sentence(name, node.devices.get(name), count))
        for name, count in wanted(instance).items()
        if node.devices.get(name) != count
    )
    return NodeJudgement(Verdict.FAIL, Severity.RESET, findings) if findings else None


def _sentence(name: str, seen: int | None, count: int) -> str:
    if seen:
        return f"it offers {seen} of {count} {name}"
    return (
        f"it offers no {name} of {count}: look at DaemonSet {PLUGINS[name]} in kube-system, and "
        "whether its pod runs on this node"
    )
