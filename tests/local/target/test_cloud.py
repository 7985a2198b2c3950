from dataclasses import replace

from scripts.local.target.cloud import credentials, group
from scripts.local.target.launch import Launch
from tests.local.target.support import CLUSTER, GROUP

DESCRIBED = {
    "nodegroupName": "h100-1",
    "nodegroupArn": GROUP.arn,
    "clusterName": "demo",
    "version": "1.35",
    "releaseVersion": "1.35.0-20261101",
    "capacityType": "CAPACITY_BLOCK",
    "scalingConfig": {"minSize": 0, "maxSize": 4, "desiredSize": 2},
    "subnets": ["subnet-1"],
    "labels": {"trainyard.dev/pool": "h100", "trainyard.dev/wave": "1"},
    "taints": [{"key": "trainyard.dev/unproved", "value": "true", "effect": "NO_SCHEDULE"}],
    "launchTemplate": {"id": "lt-1", "version": "3", "name": "h100"},
}


def test_a_node_group_is_read_from_its_description_and_template() -> None:
    start = replace(GROUP.launch, instance_type="p5.48xlarge")
    assert group(DESCRIBED, CLUSTER, start) == replace(GROUP, launch=start)


def test_a_plain_node_group_is_read() -> None:
    described = {
        name: DESCRIBED[name]
        for name in ("nodegroupName", "nodegroupArn", "clusterName", "scalingConfig", "subnets")
    }
    found = group(described | {"instanceTypes": ["m7i.large"]}, CLUSTER, Launch())
    assert found == replace(
        GROUP,
        instance_type="m7i.large",
        labels={},
        taints=(),
        capacity="ON_DEMAND",
        image_release="",
        template=None,
        launch=Launch(),
    )


def test_the_account_stands_in_the_key() -> None:
    assert credentials("000000000000") == {
        "AWS_ACCESS_KEY_ID": "EMBEDDED000000000000",
        "AWS_SECRET_ACCESS_KEY": "embedded",
    }
