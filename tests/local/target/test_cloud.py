from dataclasses import replace

import pytest

from scripts.local.target.cloud import credentials, group, runs
from scripts.local.target.launch import Launch
from tests.local.target.support import CLUSTER, GROUP

DESCRIBED = {
    "nodegroupName": "h100-1",
    "nodegroupArn": GROUP.arn,
    "clusterName": "demo",
    "version": "1.35",
    "amiType": "AL2023_x86_64_NVIDIA",
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
        image_type="",
        image_release="",
        template=None,
        launch=Launch(),
    )


def test_the_account_stands_in_the_key() -> None:
    assert credentials("000000000000") == {
        "AWS_ACCESS_KEY_ID": "EMBEDDED000000000000",
        "AWS_SECRET_ACCESS_KEY": "embedded",
    }


@pytest.mark.parametrize(
    ("indexes", "step", "expected"),
    [
        ([], 1, []),
        ([0, 1, 2, 3], 1, [[0, 1, 2], [3]]),
        ([0, 2, 4], 2, [[0, 2, 4]]),
        ([1, 3, 9, 11], 2, [[1, 3], [9, 11]]),
    ],
)
def test_instances_are_launched_in_runs_of_their_indexes(
    indexes: list[int], step: int, expected: list[list[int]]
) -> None:
    assert runs(indexes, step, longest=3) == expected
