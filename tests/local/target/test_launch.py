import base64

from scripts.local.target.launch import Launch, launch


def test_what_a_template_says_of_its_machines_is_read() -> None:
    user_data = "    localStorage:\n      strategy: RAID0\nsysctl -w vm.nr_hugepages=5128\n"
    data = {
        "InstanceType": "p5.48xlarge",
        "ImageId": "ami-1",
        "UserData": base64.b64encode(user_data.encode()).decode(),
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
    assert launch(data) == Launch("p5.48xlarge", "ami-1", 2, 5128, 300, local_storage=True)


def test_a_node_group_without_a_template_has_plain_machines() -> None:
    assert launch({}) == Launch(None, None, 0, 0, 20, local_storage=False)
