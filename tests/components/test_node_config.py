from email import message_from_string
from typing import Any

import pytest
import yaml

from components.catalog import instance_type
from components.node_config import Join, node_config, user_data

P5 = instance_type("p5.48xlarge")
JOIN = Join(
    cluster="trainyard-test",
    endpoint="https://cluster.example",
    authority="Q0E=",
    service_cidr="172.20.0.0/16",
    taints=("trainyard.dev/unproved=true:NoSchedule", "nvidia.com/gpu=present:NoSchedule"),
)


def parts(text: str) -> dict[str, str]:
    """Read user data as the image does, by the kind of each part."""
    message = message_from_string(text)
    found: list[Any] = list(message.walk())[1:]
    return {part.get_content_type(): part.get_payload() for part in found}


def test_the_image_reads_a_node_config_and_a_script() -> None:
    read = parts(user_data(P5, efa=True, pods_per_node=24))
    assert list(read) == ["application/node.eks.aws", "text/x-shellscript"]
    assert yaml.safe_load(read["application/node.eks.aws"]) == node_config(P5, pods_per_node=24)
    assert read["text/x-shellscript"].startswith("#!/bin/bash\nset -o errexit")


@pytest.mark.parametrize(
    ("name", "pods", "most"),
    [("p5.48xlarge", 24, 36), ("p5.4xlarge", 110, 110), ("p4d.24xlarge", 110, 122)],
)
def test_a_node_takes_no_more_pods_than_the_address_plan_counts_on(
    name: str, pods: int, most: int
) -> None:
    config = node_config(instance_type(name), pods_per_node=pods)
    assert config["spec"]["kubelet"]["config"]["maxPods"] == most


def test_local_disks_become_one_where_the_type_has_them() -> None:
    assert node_config(P5, pods_per_node=24)["spec"]["instance"] == {
        "localStorage": {"strategy": "RAID0"}
    }
    assert "instance" not in node_config(instance_type("m7i.xlarge"), pods_per_node=24)["spec"]


def test_an_image_of_our_own_is_told_how_to_join_and_with_which_taints() -> None:
    spec = node_config(P5, pods_per_node=24, join=JOIN)["spec"]
    assert spec["cluster"] == {
        "name": "trainyard-test",
        "apiServerEndpoint": "https://cluster.example",
        "certificateAuthority": "Q0E=",
        "cidr": "172.20.0.0/16",
    }
    assert spec["kubelet"]["flags"] == [
        (
            "--register-with-taints=trainyard.dev/unproved=true:NoSchedule,"
            "nvidia.com/gpu=present:NoSchedule"
        )
    ]
    assert "cluster" not in node_config(P5, pods_per_node=24)["spec"]


def test_what_the_script_sets_outlives_a_reboot() -> None:
    script = parts(user_data(P5, efa=True, pods_per_node=24))["text/x-shellscript"]
    assert "sysctl -w" not in script
    assert "vm.nr_hugepages = 5128\n" in script
    assert "[Service]\nLimitMEMLOCK=infinity\n" in script


def test_a_node_without_fabric_sets_no_huge_pages_aside() -> None:
    assert "nr_hugepages" not in user_data(P5, efa=False, pods_per_node=24)
