"""The Node that a real kubelet on an instance of a node group would register."""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from scripts.local.target.faults import INDEX_ANNOTATION
from scripts.local.target.hardware import Hardware
from scripts.local.target.launch import Launch

__all__ = [
    "DEAD",
    "LIFE_LABEL",
    "MANAGED_SELECTOR",
    "RUNNING",
    "Group",
    "Instance",
    "Start",
    "node_object",
    "ready_unknown",
    "relabelled",
    "taint_objects",
]

Json = dict[str, Any]

LIFE_LABEL = "trainyard.dev/stand-in"
RUNNING = "running"
DEAD = "dead"
MANAGED_SELECTOR = f"{LIFE_LABEL}={RUNNING}"
"""What kwok plays. A dead node has another value, and stops."""

EFFECTS = {
    "NO_SCHEDULE": "NoSchedule",
    "NO_EXECUTE": "NoExecute",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
}

SYSTEMS = (
    ("AL2023", "Amazon Linux 2023"),
    ("AL2", "Amazon Linux 2"),
    ("BOTTLEROCKET", "Bottlerocket OS"),
)
"""How the types of images begin, and what their nodes say that they run."""

BLOCK_SIZES = {2: 64, 3: 16}
"""Nodes of one node group under one switch of a layer; layer 1 is the zone's top. AWS publishes no
such numbers; these make several blocks of each layer out of a thousand nodes."""

PRESSURES = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "sufficient PID available"),
)

LAYERS = (1, 2, 3)
"""From the top to the switch closest to the node, as EC2 counts them."""


@dataclass(frozen=True)
class Group:
    """A node group, as EKS and its launch template describe it."""

    name: str
    arn: str
    cluster: str
    region: str
    instance_type: str
    desired: int
    subnets: tuple[str, ...]
    labels: Mapping[str, str]
    taints: tuple[tuple[str, str, str], ...]
    """Key, value, effect in EKS's spelling."""

    capacity: str
    """ON_DEMAND, SPOT or CAPACITY_BLOCK."""

    kubernetes: str
    image_type: str
    """EKS's name for the kind of image, such as AL2023_x86_64_NVIDIA, or CUSTOM."""

    image_release: str
    template: tuple[str, str] | None
    """Id and version of the launch template."""

    launch: Launch

    @property
    def generation(self) -> str:
        """A digest of what makes EKS replace the instances when it changes."""
        parts = (
            self.arn,
            self.template,
            self.image_type,
            self.image_release,
            self.instance_type,
        )
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:12]


@dataclass(frozen=True)
class Instance:
    """A running EC2 instance of a node group."""

    id: str
    address: str
    dns_name: str
    zone: str
    zone_id: str
    index: int


@dataclass(frozen=True)
class Start:
    """How a node starts."""

    life: str
    """``running`` or ``dead``."""

    kubelet_port: int
    """Where the stand-in for its kubelet listens."""

    now: str
    """The time, as Kubernetes writes it."""


def node_object(group: Group, instance: Instance, hardware: Hardware, start: Start) -> Json:
    """Give the Node, as it is once its kubelet has come up or has failed to."""
    labels = _labels(group, instance, hardware)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": instance.dns_name,
            # The group's own labels win, as they are given to the kubelet.
            "labels": labels | dict(group.labels) | {LIFE_LABEL: start.life},
            "annotations": {INDEX_ANNOTATION: str(instance.index)},
        },
        "spec": {
            "providerID": f"aws:///{instance.zone}/{instance.id}",
            "taints": taint_objects(group),
        },
        "status": _status(group, instance, hardware) | _reported(start),
    }


def taint_objects(group: Group) -> list[dict[str, str]]:
    """Give the taints of a node group in Kubernetes' spelling."""
    return [
        {"key": key, "value": value, "effect": EFFECTS[effect]}
        for key, value, effect in group.taints
    ]


def _labels(group: Group, instance: Instance, hardware: Hardware) -> dict[str, str]:
    labels = {
        "kubernetes.io/arch": hardware.architecture,
        "kubernetes.io/hostname": instance.dns_name,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": group.instance_type,
        "topology.kubernetes.io/region": group.region,
        "topology.kubernetes.io/zone": instance.zone,
        "topology.k8s.aws/zone-id": instance.zone_id,
        "eks.amazonaws.com/nodegroup": group.name,
        "eks.amazonaws.com/capacityType": group.capacity,
    }
    if group.launch.image:
        labels["eks.amazonaws.com/nodegroup-image"] = group.launch.image
    if group.template:
        labels["eks.amazonaws.com/sourceLaunchTemplateId"] = group.template[0]
        labels["eks.amazonaws.com/sourceLaunchTemplateVersion"] = group.template[1]
    if hardware.switches:
        labels |= {
            f"topology.k8s.aws/network-node-layer-{layer}": _switch(group, instance, layer)
            for layer in LAYERS
        }
    return labels


def _switch(group: Group, instance: Instance, layer: int) -> str:
    """Name the switch above a node on one layer, in EC2's form; the same at each run."""
    place = [group.cluster, instance.zone_id]
    for level in range(2, layer + 1):
        place += [group.name, str(instance.index // BLOCK_SIZES[level])]
    return "nn-" + hashlib.sha256("/".join(place).encode()).hexdigest()[:17]


def _status(group: Group, instance: Instance, hardware: Hardware) -> Json:
    capacity = {
        "cpu": str(hardware.vcpus),
        "memory": f"{hardware.memory_mib}Mi",
        "pods": str(hardware.max_pods),
        "ephemeral-storage": f"{hardware.disk_gib}Gi",
        "hugepages-2Mi": f"{hardware.hugepages_mib}Mi",
        **hardware.devices,
    }
    allocatable = capacity | {
        "cpu": f"{hardware.vcpus * 1000 - hardware.reserved_millicpus}m",
        "memory": f"{hardware.memory_mib - hardware.reserved_mib - hardware.hugepages_mib}Mi",
    }
    return {
        "capacity": capacity,
        "allocatable": allocatable,
        "addresses": [
            {"type": "InternalIP", "address": instance.address},
            {"type": "InternalDNS", "address": instance.dns_name},
            {"type": "Hostname", "address": instance.dns_name},
            # Where the API server really finds the kubelet stand-in.
            {"type": "ExternalDNS", "address": "localhost"},
        ],
        "nodeInfo": {
            "architecture": hardware.architecture,
            "bootID": "",
            "containerRuntimeVersion": "simulated://trainyard",
            "kernelVersion": "simulated",
            "kubeProxyVersion": "",
            "kubeletVersion": f"v{group.kubernetes}.0-simulated",
            "machineID": instance.id,
            "operatingSystem": "linux",
            "osImage": _image(group),
            "systemUUID": instance.id,
        },
    }


def _image(group: Group) -> str:
    name = next((name for start, name in SYSTEMS if group.image_type.startswith(start)), "Linux")
    return f"{name} (simulated, release {group.image_release or 'latest'})"


def relabelled(present: Sequence[Json], before: Group, after: Group) -> Json:
    """Give the patch that brings a node group's new labels and taints to a Node, as EKS does.

    Taints of others stay, and one that was taken away meanwhile (a gate does that) stays away.
    """
    removed: dict[str, str | None] = dict.fromkeys(before.labels.keys() - after.labels.keys())
    old, new = taint_objects(before), taint_objects(after)
    added = [taint for taint in new if taint not in old]
    unchanged = [taint for taint in new if taint in old and taint in present]
    ours = {(taint["key"], taint["effect"]) for taint in (*old, *added)}
    others = [taint for taint in present if (taint["key"], taint["effect"]) not in ours]
    return {
        "metadata": {"labels": {**removed, **after.labels}},
        "spec": {"taints": [*others, *unchanged, *added]},
    }


def _reported(start: Start) -> Json:
    """Give what a kubelet reports of itself."""
    if start.life == DEAD:
        return ready_unknown(start.now)["status"]
    conditions = [
        _condition(kind, "False", reason, f"kubelet has {message}", start.now)
        for kind, reason, message in PRESSURES
    ]
    ready = _condition("Ready", "True", "KubeletReady", "simulated by Trainyard", start.now)
    return {
        "conditions": [*conditions, ready],
        "daemonEndpoints": {"kubeletEndpoint": {"Port": start.kubelet_port}},
        # kwok's heartbeat looks for it; Kubernetes has given it up.
        "phase": "Running",
    }


def ready_unknown(now: str) -> Json:
    """Give the status patch that the node controller makes when a kubelet falls silent."""
    message = "Kubelet stopped posting node status."
    condition = _condition("Ready", "Unknown", "NodeStatusUnknown", message, now)
    return {"status": {"conditions": [condition]}}


def _condition(kind: str, status: str, reason: str, message: str, now: str) -> Json:
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }
