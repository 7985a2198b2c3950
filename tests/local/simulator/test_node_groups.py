"""Managed node groups: what is written reads back, changes in place, and stands beside another."""

from typing import Any

from .conftest import Account, launch_template, nodegroup, refusal

Cluster = dict[str, Any]

WHERE = {"clusterName": "train", "nodegroupName": "wave-1"}

LEAN = [
    {"NetworkCardIndex": 0, "DeviceIndex": 0, "InterfaceType": "interface"},
    {"NetworkCardIndex": 0, "DeviceIndex": 1, "InterfaceType": "efa-only"},
    *(
        {"NetworkCardIndex": card, "DeviceIndex": 0, "InterfaceType": "efa-only"}
        for card in range(1, 32)
    ),
]
"""Interfaces of a p5.48xlarge: addresses on the first card only."""


def described(account: Account, name: str = "wave-1") -> dict[str, Any]:
    found: dict[str, Any] = account.client("eks").describe_nodegroup(
        clusterName="train", nodegroupName=name
    )["nodegroup"]
    return found


def reservation(account: Account, zone: str = "use1-az4") -> str:
    made: str = account.client("ec2").create_capacity_reservation(
        InstanceType="p5.48xlarge",
        InstancePlatform="Linux/UNIX",
        AvailabilityZoneId=zone,
        InstanceCount=8,
        InstanceMatchCriteria="targeted",
    )["CapacityReservation"]["CapacityReservationId"]
    return made


def block(identity: str) -> dict[str, Any]:
    """Give the data of a template for a capacity block."""
    target = {"CapacityReservationId": identity}
    return {
        "InstanceType": "p5.48xlarge",
        "InstanceMarketOptions": {"MarketType": "capacity-block"},
        "CapacityReservationSpecification": {"CapacityReservationTarget": target},
        "NetworkInterfaces": LEAN,
    }


def test_a_node_group_reads_back_as_it_was_written(account: Account, cluster: Cluster) -> None:
    identity = launch_template(account, **block(reservation(account)))
    asked = {
        "capacityType": "CAPACITY_BLOCK",
        "amiType": "AL2023_x86_64_NVIDIA",
        "releaseVersion": "1.34.2-20261101",
        "labels": {"trainyard.dev/pool": "a"},
        "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
        "scalingConfig": {"minSize": 0, "maxSize": 8, "desiredSize": 4},
        "updateConfig": {"maxUnavailable": 2, "updateStrategy": "MINIMAL"},
        "nodeRepairConfig": {
            "enabled": True,
            "maxUnhealthyNodeThresholdPercentage": 20,
            "maxParallelNodesRepairedCount": 1,
            "nodeRepairConfigOverrides": [
                {
                    "nodeMonitoringCondition": "AcceleratedHardwareReady",
                    "nodeUnhealthyReason": "NvidiaXID79Error",
                    "minRepairWaitTimeMins": 15,
                    "repairAction": "Replace",
                }
            ],
        },
        "tags": {"team": "ml"},
    }
    made = nodegroup(
        account, cluster, launchTemplate={"id": identity, "version": "$Latest"}, **asked
    )
    found = described(account)
    assert found == made
    assert {key: found[key] for key in asked} == asked
    assert found["status"] == "ACTIVE"
    assert found["launchTemplate"] == {"id": identity, "name": "pool", "version": "1"}
    assert "instanceTypes" not in found
    assert "diskSize" not in found


def test_a_group_with_an_image_of_its_own_shows_the_image_as_release(
    account: Account, cluster: Cluster
) -> None:
    image = {"ImageId": "ami-0123456789abcdef0", "InstanceType": "p5.48xlarge"}
    identity = launch_template(account, **image)
    nodegroup(account, cluster, amiType="CUSTOM", launchTemplate={"id": identity})
    found = described(account)
    assert (found["amiType"], found["releaseVersion"]) == ("CUSTOM", "ami-0123456789abcdef0")
    assert "version" not in found
    account.client("ec2").create_launch_template_version(
        LaunchTemplateId=identity, LaunchTemplateData={**image, "ImageId": "ami-1"}
    )
    account.client("eks").update_nodegroup_version(
        **WHERE, launchTemplate={"id": identity, "version": "2"}
    )
    assert described(account)["releaseVersion"] == "ami-1"


def test_a_trainium_group_takes_the_image_for_it(account: Account, cluster: Cluster) -> None:
    nodegroup(account, cluster, amiType="AL2023_x86_64_NEURON", instanceTypes=["trn2.48xlarge"])
    assert described(account)["amiType"] == "AL2023_x86_64_NEURON"


def test_a_node_group_needs_a_template_a_role_and_sizes_that_fit(
    account: Account, cluster: Cluster
) -> None:
    eks = account.client("eks")
    common = {**WHERE, "subnets": cluster["resourcesVpcConfig"]["subnetIds"]}
    assert refusal(
        eks.create_nodegroup, nodeRole=f"arn:aws:iam::{account.number}:role/none", **common
    ) == ("InvalidParameterException", "The role with name none cannot be found.")
    common["nodeRole"] = account.role("node", "ec2.amazonaws.com")
    assert refusal(
        eks.create_nodegroup, launchTemplate={"id": "lt-0123456789abcdef0"}, **common
    ) == (
        "InvalidRequestException",
        "The specified launch template, with template ID lt-0123456789abcdef0, does not exist.",
    )
    sizes = {"minSize": 0, "maxSize": 4, "desiredSize": 9}
    assert refusal(eks.create_nodegroup, scalingConfig=sizes, **common) == (
        "InvalidParameterException",
        "Desired capacity 9 can't be greater than max size 4",
    )


def test_a_node_group_name_is_used_once(account: Account, cluster: Cluster) -> None:
    made = nodegroup(account, cluster)
    assert refusal(
        account.client("eks").create_nodegroup,
        **WHERE,
        nodeRole=made["nodeRole"],
        subnets=made["subnets"],
    ) == (
        "ResourceInUseException",
        "NodeGroup already exists with name wave-1 and cluster name train",
    )
    assert refusal(
        account.client("eks").describe_nodegroup, clusterName="train", nodegroupName="none"
    ) == ("ResourceNotFoundException", "No node group found for name: none.")


def test_a_group_under_another_name_stands_beside_the_one_that_it_replaces(
    account: Account, cluster: Cluster
) -> None:
    eks = account.client("eks")
    old = nodegroup(account, cluster)
    new = nodegroup(account, cluster, nodegroupName="wave-1-b", nodeRole=old["nodeRole"])
    assert eks.list_nodegroups(clusterName="train")["nodegroups"] == ["wave-1", "wave-1-b"]
    groups = [group["resources"]["autoScalingGroups"][0]["name"] for group in (old, new)]
    assert len(set(groups)) == 2
    eks.delete_nodegroup(**WHERE)
    assert described(account, "wave-1-b") == new
    # The nodes of the new one still need the entry of the role that both have.
    entries = eks.list_access_entries(clusterName="train")["accessEntries"]
    assert new["nodeRole"] in entries


def test_a_node_group_changes_in_place(account: Account, cluster: Cluster) -> None:
    eks = account.client("eks")
    taint = {"key": "trainyard.dev/unproved", "value": "true", "effect": "NO_SCHEDULE"}
    identity = launch_template(account, InstanceType="p5.48xlarge")
    nodegroup(
        account,
        cluster,
        labels={"a": "1", "b": "2"},
        taints=[taint],
        launchTemplate={"id": identity},
    )
    repair = {"enabled": True, "maxUnhealthyNodeThresholdCount": 3}
    eks.update_nodegroup_config(
        **WHERE,
        labels={"addOrUpdateLabels": {"b": "3"}, "removeLabels": ["a"]},
        taints={"removeTaints": [taint]},
        scalingConfig={"maxSize": 6},
        updateConfig={"maxUnavailablePercentage": 50},
        nodeRepairConfig=repair,
    )
    account.client("ec2").create_launch_template_version(
        LaunchTemplateId=identity, LaunchTemplateData={"InstanceType": "p5en.48xlarge"}
    )
    update = eks.update_nodegroup_version(**WHERE, launchTemplate={"id": identity, "version": "2"})[
        "update"
    ]
    found = described(account)
    assert found["labels"] == {"b": "3"}
    assert found["taints"] == []
    assert found["scalingConfig"] == {"minSize": 1, "maxSize": 6, "desiredSize": 2}
    assert found["updateConfig"] == {"updateStrategy": "DEFAULT", "maxUnavailablePercentage": 50}
    assert found["nodeRepairConfig"] == repair
    assert found["launchTemplate"]["version"] == "2"
    assert update["id"] in eks.list_updates(name="train", nodegroupName="wave-1")["updateIds"]


def test_a_release_changes_alone_and_nothing_means_the_version_of_the_cluster(
    account: Account, cluster: Cluster
) -> None:
    eks = account.client("eks")
    nodegroup(account, cluster, version="1.33", releaseVersion="1.33.1-20260101")
    eks.update_nodegroup_version(**WHERE, releaseVersion="1.33.2-20260201")
    found = described(account)
    assert (found["version"], found["releaseVersion"]) == ("1.33", "1.33.2-20260201")
    eks.update_nodegroup_version(**WHERE)
    found = described(account)
    assert found["version"] == "1.34"
    assert found["releaseVersion"].startswith("1.34.")
