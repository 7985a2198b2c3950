"""What AWS refuses of a change to a node group in place."""

from typing import Any

import pytest

from .conftest import Account, launch_template, nodegroup, refusal
from .test_node_group_refusals import P5, PARAMETER, PRIMARY, REQUEST, interface
from .test_node_groups import WHERE, block, reservation

Cluster = dict[str, Any]


def test_a_template_and_a_release_do_not_change_together(
    account: Account, cluster: Cluster
) -> None:
    identity = launch_template(account, InstanceType=P5)
    nodegroup(account, cluster, launchTemplate={"id": identity})
    assert refusal(
        account.client("eks").update_nodegroup_version,
        **WHERE,
        launchTemplate={"id": identity, "version": "1"},
        releaseVersion="1.34.3-20261201",
    ) == (PARAMETER, "Version and ReleaseVersion updates cannot be combined with other updates")


@pytest.mark.parametrize(
    ("data", "code", "message"),
    [
        (
            {"ImageId": "ami-1", "InstanceType": P5},
            PARAMETER,
            (
                "You cannot specify an AMI Type other than CUSTOM, when specifying an image id in "
                "your launch template."
            ),
        ),
        (
            {"InstanceType": P5, "InstanceMarketOptions": {"MarketType": "spot"}},
            PARAMETER,
            "Instance market options are not supported with the launch template.",
        ),
        (
            {"InstanceType": P5, "NetworkInterfaces": [PRIMARY, interface(1, 2)]},
            REQUEST,
            (
                "The specified number '2' for the device index exceeds the maximum number of "
                "network interfaces supported by the network card at network card index 1. The "
                "maximum devices for this network card is 2. Specify a number from 0 to 1, and try "
                "again."
            ),
        ),
        (
            {"InstanceType": "m7g.xlarge"},
            PARAMETER,
            (
                "[m7g.xlarge] is not a valid instance type for requested amiType "
                "AL2023_x86_64_STANDARD"
            ),
        ),
        (
            {"KeyName": "none"},
            PARAMETER,
            (
                "You must specify an instance type in your launch template, since the node group "
                "has none of its own."
            ),
        ),
    ],
)
def test_another_version_of_a_template_is_held_against_the_same_rules(
    account: Account, cluster: Cluster, data: dict[str, Any], code: str, message: str
) -> None:
    identity = launch_template(account, InstanceType=P5)
    nodegroup(account, cluster, launchTemplate={"id": identity})
    account.client("ec2").create_launch_template_version(
        LaunchTemplateId=identity, LaunchTemplateData=data
    )
    template = {"id": identity, "version": "2"}
    assert refusal(
        account.client("eks").update_nodegroup_version, **WHERE, launchTemplate=template
    ) == (code, message)


def test_a_group_keeps_its_launch_template(account: Account, cluster: Cluster) -> None:
    identity = launch_template(account, InstanceType=P5)
    nodegroup(account, cluster, launchTemplate={"id": identity})
    other = account.client("ec2").create_launch_template(
        LaunchTemplateName="other", LaunchTemplateData={"InstanceType": P5}
    )["LaunchTemplate"]["LaunchTemplateId"]
    update = account.client("eks").update_nodegroup_version
    assert refusal(update, **WHERE, launchTemplate={"id": other}) == (
        REQUEST,
        "You cannot change the launch template of a node group, only its version.",
    )
    assert refusal(update, **WHERE, launchTemplate={"version": "1"}) == (
        PARAMETER,
        "Either provide launch template ID or launch template name in the request.",
    )


def test_the_template_of_a_capacity_block_changes_only_without_nodes(
    account: Account, cluster: Cluster
) -> None:
    eks, ec2 = account.client("eks"), account.client("ec2")
    data = block(reservation(account))
    identity = launch_template(account, **data)
    scaling = {"minSize": 0, "maxSize": 4, "desiredSize": 4}
    nodegroup(
        account,
        cluster,
        capacityType="CAPACITY_BLOCK",
        launchTemplate={"id": identity},
        scalingConfig=scaling,
    )
    ec2.create_launch_template_version(
        LaunchTemplateId=identity, LaunchTemplateData={**data, "KeyName": "other"}
    )
    change = {**WHERE, "launchTemplate": {"id": identity, "version": "2"}}
    assert refusal(eks.update_nodegroup_version, **change) == (
        REQUEST,
        (
            "The desired size of a node group with capacity type CAPACITY_BLOCK must be 0 to "
            "update its launch template, it is 4"
        ),
    )
    eks.update_nodegroup_config(**WHERE, scalingConfig={"desiredSize": 0})
    eks.update_nodegroup_version(**change)
    found = eks.describe_nodegroup(**WHERE)["nodegroup"]
    assert found["launchTemplate"]["version"] == "2"


def test_a_group_with_an_image_of_its_own_has_no_release_to_change(
    account: Account, cluster: Cluster
) -> None:
    data = {"InstanceType": P5, "ImageId": "ami-0123456789abcdef0"}
    nodegroup(account, cluster, launchTemplate={"id": launch_template(account, **data)})
    update = account.client("eks").update_nodegroup_version
    assert refusal(update, **WHERE, releaseVersion="1.34.3-20261201") == (
        PARAMETER,
        (
            "You cannot specify a release version to use when specifying an image id to use within "
            "the launch template."
        ),
    )
    assert refusal(update, **WHERE) == (
        PARAMETER,
        ("You must specify a launch template version to update a node group with AMI Type CUSTOM."),
    )
