import base64

from components.catalog import instance_type
from components.node_config import Join, user_data
from scripts.local.target.launch import Launch, launch
from scripts.local.target.user_data import NodeConfig


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_what_a_template_says_of_its_machines_is_read() -> None:
    data = {
        "InstanceType": "p5.48xlarge",
        "UserData": encoded(user_data(instance_type("p5.48xlarge"), efa=True, pods_per_node=50)),
        "NetworkInterfaces": [
            {"InterfaceType": "interface"},
            {"InterfaceType": "efa"},
            {"InterfaceType": "efa-only"},
        ],
        "BlockDeviceMappings": [
            {"DeviceName": "/dev/sdb", "VirtualName": "ephemeral0"},
            {"DeviceName": "/dev/xvda", "Ebs": {"VolumeSize": 300}},
        ],
    }
    read = launch(data)
    assert (read.instance_type, read.image, read.defect) == ("p5.48xlarge", None, None)
    assert (read.efa_interfaces, read.huge_pages, read.disk_gib) == (2, 5128, 300)
    assert read.config.max_pods == 62
    assert read.config.local_storage
    assert (read.config.system_cpu_millis, read.config.system_memory_mib) == (1000, 4096)


def test_a_node_group_without_a_template_has_plain_machines() -> None:
    assert launch({}) == Launch(None, None, 0, 0, 20, NodeConfig(), None)


def test_an_image_of_one_s_own_must_be_told_its_cluster() -> None:
    kind = instance_type("p5.48xlarge")
    join = Join(
        cluster="demo",
        endpoint="https://10.0.0.1",
        authority="Y2E=",
        service_cidr="172.20.0.0/16",
        taints=("a=b:NoSchedule",),
    )
    told = user_data(kind, efa=False, pods_per_node=50, join=join)
    silent = user_data(kind, efa=False, pods_per_node=50)
    assert launch({"ImageId": "ami-1", "UserData": encoded(told)}).defect is None
    assert launch({"ImageId": "ami-1", "UserData": encoded(silent)}).defect == (
        "the NodeConfig for an image of one's own lacks spec.cluster.name"
    )
    # It may be no image for nodeadm at all.
    assert launch({"ImageId": "ami-1", "UserData": encoded("#!/bin/sh")}).defect is None


def test_a_template_with_broken_user_data_says_what_is_wrong() -> None:
    assert launch({"UserData": "?"}).defect == (
        "user data is not base64: Only base64 data is allowed"
    )
