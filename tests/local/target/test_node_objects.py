from dataclasses import replace

import pytest

from components.catalog import instance_type
from scripts.local.target.hardware import hardware
from scripts.local.target.launch import Launch
from scripts.local.target.node_objects import (
    DEAD,
    RUNNING,
    Group,
    Start,
    node_object,
    ready_unknown,
    relabelled,
)
from tests.local.target.support import GROUP, instance


def node(group: Group = GROUP, index: int = 4, life: str = RUNNING) -> dict:
    capacity = hardware(instance_type(group.instance_type), group.launch)
    start = Start(life, 10250, "2026-12-01T00:00:00Z")
    return node_object(group, instance(index), capacity, start)


def test_a_node_carries_what_its_kubelet_and_eks_would_set() -> None:
    assert node()["metadata"] == {
        "name": "ip-10-0-0-4.ec2.internal",
        "annotations": {"trainyard.dev/index": "4"},
        "labels": {
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/hostname": "ip-10-0-0-4.ec2.internal",
            "kubernetes.io/os": "linux",
            "node.kubernetes.io/instance-type": "p5.48xlarge",
            "topology.kubernetes.io/region": "us-east-1",
            "topology.kubernetes.io/zone": "us-east-1a",
            "topology.k8s.aws/zone-id": "use1-az6",
            "eks.amazonaws.com/nodegroup": "h100-1",
            "eks.amazonaws.com/capacityType": "CAPACITY_BLOCK",
            "eks.amazonaws.com/sourceLaunchTemplateId": "lt-1",
            "eks.amazonaws.com/sourceLaunchTemplateVersion": "3",
            "topology.k8s.aws/network-node-layer-1": "nn-aec09164fd8d3b135",
            "topology.k8s.aws/network-node-layer-2": "nn-a27fff60527309cf1",
            "topology.k8s.aws/network-node-layer-3": "nn-39891babeff88c6fd",
            "trainyard.dev/pool": "h100",
            "trainyard.dev/wave": "1",
            "trainyard.dev/stand-in": "running",
        },
    }


def test_a_node_starts_with_the_taints_of_its_group() -> None:
    assert node()["spec"] == {
        "providerID": "aws:///us-east-1a/i-4",
        "taints": [{"key": "trainyard.dev/unproved", "value": "true", "effect": "NoSchedule"}],
    }


def test_capacity_is_that_of_the_type_and_of_the_launch_template() -> None:
    status = node()["status"]
    assert status["capacity"] == {
        "cpu": "192",
        "memory": "2097152Mi",
        "pods": "51",
        "ephemeral-storage": "28312Gi",
        "hugepages-2Mi": "10256Mi",
        "nvidia.com/gpu": "8",
        "vpc.amazonaws.com/efa": "32",
    }
    # 60 + 10 + 2 x 5 + 188 x 2.5 thousandths of a core; 255 MiB + 51 x 11 MiB and the huge pages.
    assert status["allocatable"] == status["capacity"] | {"cpu": "191450m", "memory": "2086080Mi"}


def test_a_management_node_has_no_devices_and_no_fabric() -> None:
    group = replace(GROUP, instance_type="m7i.xlarge", launch=Launch(), template=None)
    made = node(group)
    assert made["status"]["capacity"] == {
        "cpu": "4",
        "memory": "16384Mi",
        "pods": "58",
        "ephemeral-storage": "20Gi",
        "hugepages-2Mi": "0Mi",
    }
    assert not [label for label in made["metadata"]["labels"] if "network-node" in label]


def test_addresses_are_the_instances_and_one_where_the_stand_in_listens() -> None:
    assert node()["status"]["addresses"] == [
        {"type": "InternalIP", "address": "10.0.0.4"},
        {"type": "InternalDNS", "address": "ip-10-0-0-4.ec2.internal"},
        {"type": "Hostname", "address": "ip-10-0-0-4.ec2.internal"},
        {"type": "ExternalDNS", "address": "localhost"},
    ]


def conditions(life: str) -> dict[str, str]:
    return {each["type"]: each["status"] for each in node(life=life)["status"]["conditions"]}


def test_a_running_node_is_ready_and_says_where_its_kubelet_is() -> None:
    pressures = dict.fromkeys(["MemoryPressure", "DiskPressure", "PIDPressure"], "False")
    assert conditions(RUNNING) == {**pressures, "Ready": "True"}
    status = node()["status"]
    assert status["daemonEndpoints"] == {"kubeletEndpoint": {"Port": 10250}}
    assert status["phase"] == "Running"


def test_a_dead_node_is_silent_and_not_played() -> None:
    assert node(life=DEAD)["metadata"]["labels"]["trainyard.dev/stand-in"] == "dead"
    assert conditions(DEAD) == {"Ready": "Unknown"}


def switch(layer: int, group: Group = GROUP, index: int = 0) -> str:
    return node(group, index)["metadata"]["labels"][f"topology.k8s.aws/network-node-layer-{layer}"]


@pytest.mark.parametrize(("layer", "size"), [(2, 64), (3, 16)])
def test_nodes_of_a_block_are_under_the_same_switch(layer: int, size: int) -> None:
    assert switch(layer, index=0) == switch(layer, index=size - 1)
    assert switch(layer, index=size - 1) != switch(layer, index=size)


def test_node_groups_of_a_zone_meet_at_the_top_only() -> None:
    other = replace(GROUP, name="h100-2")
    assert switch(1) == switch(1, other, index=900)
    assert switch(2) != switch(2, other)


@pytest.mark.parametrize(
    "change",
    [
        {"arn": "another"},
        {"template": ("lt-1", "4")},
        {"image_release": "1.35.0-20261201"},
        {"instance_type": "p5e.48xlarge"},
    ],
)
def test_instances_are_of_another_generation_after_a_replacing_change(change: dict) -> None:
    assert replace(GROUP, **change).generation != GROUP.generation


def test_scaling_and_labels_replace_no_instance() -> None:
    assert replace(GROUP, desired=9, labels={}, taints=()).generation == GROUP.generation


def test_changed_labels_and_taints_come_to_the_nodes_and_nothing_else_goes() -> None:
    gpu = ("nvidia.com/gpu", "present", "NO_SCHEDULE")
    busy = ("busy", "", "NO_EXECUTE")
    before = replace(GROUP, labels={"a": "1", "b": "1"}, taints=(*GROUP.taints, gpu))
    after = replace(GROUP, labels={"b": "2"}, taints=(*GROUP.taints, gpu, busy))
    # The gate took `unproved` away; somebody else had cordoned the node.
    cordon = {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}
    kept = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    assert relabelled([cordon, kept], before, after) == {
        "metadata": {"labels": {"a": None, "b": "2"}},
        "spec": {"taints": [cordon, kept, {"key": "busy", "value": "", "effect": "NoExecute"}]},
    }


def test_a_silent_kubelet_leaves_the_condition_that_kubernetes_sets() -> None:
    assert ready_unknown("2026-12-01T00:00:00Z") == {
        "status": {
            "conditions": [
                {
                    "type": "Ready",
                    "status": "Unknown",
                    "reason": "NodeStatusUnknown",
                    "message": "Kubelet stopped posting node status.",
                    "lastHeartbeatTime": "2026-12-01T00:00:00Z",
                    "lastTransitionTime": "2026-12-01T00:00:00Z",
                }
            ]
        }
    }
