"""Faults that show on the Node object: what its device plugin offers, what its agent reports."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from scripts.local.recordings import values

__all__ = ["ANNOTATION", "GPU", "KINDS", "afflict", "change", "noted", "shown"]

Json = dict[str, Any]

ANNOTATION: Final = "trainyard.dev/symptoms"
"""Where a Node notes the faults that it shows, for a process that takes it over."""

AGENT: Final = "agent"
DEVICES: Final = "devices"
KINDS: Final = frozenset({AGENT, DEVICES})

GPU: Final = "nvidia.com/gpu"


def shown(kinds: Collection[str]) -> frozenset[str]:
    """Give those of a node's faults that its Node object shows."""
    return KINDS.intersection(kinds)


def noted(node: Json) -> frozenset[str]:
    """Give the faults that a Node shows already."""
    annotations: Mapping[str, str] = node["metadata"].get("annotations") or {}
    return frozenset(annotations.get(ANNOTATION, "").split(",")) - {""}


def afflict(node: Json, kinds: Collection[str], now: str) -> None:
    """Let a Node that is to be registered show faults."""
    if not kinds:
        return
    metadata, status = change(kinds, node["status"]["capacity"], now)
    node["metadata"]["annotations"] |= metadata["annotations"]
    node["status"]["allocatable"] |= status["allocatable"]
    if AGENT in kinds:
        node["status"].setdefault("conditions", []).extend(status["conditions"])


def change(kinds: Collection[str], capacity: Mapping[str, str], now: str) -> tuple[Json, Json]:
    """Give metadata and status of a Node that shows these faults and no others.

    ``capacity`` is the Node's own; ``now`` the time, as Kubernetes writes it.
    """
    gpus = int(capacity.get(GPU, "0"))
    offered = max(0, gpus - 1) if DEVICES in kinds else gpus
    said: Mapping[str, str] = values()["agent"]["bad" if AGENT in kinds else "good"]
    condition = {
        "type": values()["agent"]["type"],
        "status": "False" if AGENT in kinds else "True",
        **said,
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }
    metadata: Json = {"annotations": {ANNOTATION: ",".join(sorted(kinds))}}
    allocatable = {GPU: str(offered)} if gpus else {}
    return metadata, {"allocatable": allocatable, "conditions": [condition]}
