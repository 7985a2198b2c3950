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
    capacity = hardware(instance_type(group.instance_type), group.image_type, group.launch)
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
        "pods": "250",
        "ephemeral-storage": "28312Gi",
        "hugepages-2Mi": "10256Mi",
        "nvidia.com/gpu": "8",
        "vpc.amazonaws.com/efa": "32",
    }
    # 60 + 10 + 2 x 5 + 188 x 2.5 thousandths of a core; 255 MiB + 51 x 11 MiB and the huge pages.
    assert status["allocatable"] == status["capacity"] | {"cpu": "191450m", "memory": "2086080Mi"}


def capacity(group: Group) -> dict[str, str]:
    found: dict[str, str] = node(group)["status"]["capacity"]
    return found


def with_config(**said: object) -> Group:
    """Give the group with a NodeConfig that says this."""
    config = replace(GROUP.launch.config, **said)
    return replace(GROUP, launch=replace(GROUP.launch, config=config))


@pytest.mark.parametrize(("told", "pods"), [(None, "250"), (62, "62"), (400, "250")])
def test_pods_are_bounded_by_prefixes_and_by_what_the_kubelet_is_told(
    told: int | None, pods: str
) -> None:
    assert capacity(with_config(max_pods=told))["pods"] == pods


def test_what_the_kubelet_keeps_follows_its_configuration() -> None:
    plain = node()["status"]["allocatable"]
    system = with_config(system_cpu_millis=1000, system_memory_mib=4096)
    kept = node(system)["status"]["allocatable"]
    assert int(plain["cpu"][:-1]) - int(kept["cpu"][:-1]) == 1000
    assert int(plain["memory"][:-2]) - int(kept["memory"][:-2]) == 4096
    own = node(with_config(kube_cpu_millis=2000, kube_memory_mib=1024))["status"]["allocatable"]
    assert (own["cpu"], own["memory"]) == ("190000m", f"{2097152 - 1024 - 10256}Mi")


@pytest.mark.parametrize(
    ("kind", "image", "device", "count"),
    [
        ("p5.48xlarge", "AL2023_x86_64_NVIDIA", "nvidia.com/gpu", "8"),
        ("p5.48xlarge", "CUSTOM", "nvidia.com/gpu", "8"),
        ("p5.48xlarge", "BOTTLEROCKET_x86_64_NVIDIA", "nvidia.com/gpu", "8"),
        ("p5.48xlarge", "AL2023_x86_64_STANDARD", "nvidia.com/gpu", None),
        ("p5.48xlarge", "AL2023_x86_64_NEURON", "nvidia.com/gpu", None),
        ("trn2.48xlarge", "AL2023_x86_64_NEURON", "aws.amazon.com/neuron", "16"),
        ("trn2.48xlarge", "AL2023_x86_64_NVIDIA", "aws.amazon.com/neuron", None),
    ],
)
def test_accelerators_show_only_under_an_image_with_their_driver(
    kind: str, image: str, device: str, count: str | None
) -> None:
    group = replace(GROUP, instance_type=kind, image_type=image)
    assert capacity(group).get(device) == count


@pytest.mark.parametrize(
    ("image", "system"),
    [
        ("AL2023_x86_64_NVIDIA", "Amazon Linux 2023"),
        ("AL2_x86_64_GPU", "Amazon Linux 2"),
        ("BOTTLEROCKET_ARM_64", "Bottlerocket OS"),
        ("CUSTOM", "Linux"),
    ],
)
def test_a_node_names_the_system_of_its_image(image: str, system: str) -> None:
    info = node(replace(GROUP, image_type=image))["status"]["nodeInfo"]
    assert info["osImage"] == f"{system} (simulated, release 1.35.0-20261101)"


def test_ec2_tells_no_switches_above_a_g_instance() -> None:
    labels = node(replace(GROUP, instance_type="g6e.48xlarge"))["metadata"]["labels"]
    assert not [label for label in labels if "network-node" in label]


def test_efa_follows_the_template() -> None:
    none = replace(GROUP, launch=replace(GROUP.launch, efa_interfaces=0))
    assert "vpc.amazonaws.com/efa" not in capacity(none)
    few = replace(GROUP, launch=replace(GROUP.launch, efa_interfaces=16))
    assert capacity(few)["vpc.amazonaws.com/efa"] == "16"


def test_a_management_node_has_no_devices_and_no_fabric() -> None:
    group = replace(GROUP, instance_type="m7i.xlarge", launch=Launch(), template=None)
    made = node(group)
    assert made["status"]["capacity"] == {
        "cpu": "4",
        "memory": "16384Mi",
        "pods": "110",
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
        {"image_type": "CUSTOM"},
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
