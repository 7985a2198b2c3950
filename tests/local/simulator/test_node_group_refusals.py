"""What AWS refuses of a node group and its launch template, in its words where they are known."""

import base64
from typing import Any

import pytest

from .conftest import Account, launch_template, nodegroup, refusal
from .test_node_groups import LEAN, WHERE, block, reservation

Cluster = dict[str, Any]

PARAMETER, REQUEST = "InvalidParameterException", "InvalidRequestException"
QUOTA = "ResourceLimitExceededException"
P5 = "p5.48xlarge"
ENUM = "1 validation error detected: Value '{}' at '{}' failed to satisfy constraint: Member must "


def interface(card: int, device: int, kind: str = "interface") -> dict[str, Any]:
    return {"NetworkCardIndex": card, "DeviceIndex": device, "InterfaceType": kind}


PRIMARY = interface(0, 0)


def refused(
    account: Account, cluster: Cluster, data: dict[str, Any] | None, **request: object
) -> tuple[str, str]:
    """Give the refusal of a node group with this template."""
    if data is not None:
        request["launchTemplate"] = {"id": launch_template(account, **data)}
    return refusal(lambda **more: nodegroup(account, cluster, **more), **request)


@pytest.mark.parametrize(
    ("data", "request_", "expected"),
    [
        (
            {"SecurityGroupIds": ["sg-1"], "NetworkInterfaces": [{"DeviceIndex": 0}]},
            {},
            (
                REQUEST,
                (
                    "Network interfaces and an instance-level security groups may not be specified "
                    "on the same request"
                ),
            ),
        ),
        (
            {"NetworkInterfaces": [{"DeviceIndex": 0, "SubnetId": "subnet-1"}]},
            {},
            (
                PARAMETER,
                (
                    "Launch template should not specify a subnet in its network interfaces. The "
                    "subnets in your request will be used."
                ),
            ),
        ),
        (
            {"InstanceType": P5},
            {"instanceTypes": [P5]},
            (REQUEST, "Cannot specify instance types in launch template and API request"),
        ),
        (
            {"IamInstanceProfile": {"Name": "a"}},
            {},
            (
                PARAMETER,
                (
                    "Launch template should not specify an instance profile. The noderole in your "
                    "request will be used to construct an instance profile."
                ),
            ),
        ),
        (
            {"InstanceType": P5},
            {"diskSize": 100},
            (PARAMETER, "Disk size must be specified within the launch template."),
        ),
        (
            {"InstanceType": P5, "UserData": base64.b64encode(b"#!/bin/sh").decode()},
            {},
            (PARAMETER, "User data was not in the MIME multipart format."),
        ),
        (
            {"InstanceType": P5, "SecurityGroupIds": ["sg-0123456789abcdef0"]},
            {},
            (REQUEST, "The security group 'sg-0123456789abcdef0' does not exist"),
        ),
    ],
    ids=["groups twice", "subnet", "types twice", "profile", "disk", "user data", "no such group"],
)
def test_a_launch_template_that_eks_cannot_use_is_refused(
    account: Account,
    cluster: Cluster,
    data: dict[str, Any],
    request_: dict[str, Any],
    expected: tuple[str, str],
) -> None:
    assert refused(account, cluster, data, **request_) == expected


@pytest.mark.parametrize(
    ("kind", "interfaces", "message"),
    [
        (
            P5,
            [{"DeviceIndex": 0}, {"DeviceIndex": 0}],
            "Each network interface requires a unique device index within its network card.",
        ),
        (
            P5,
            [interface(1, 0)],
            "The primary network interface must have device index 0 on network card 0.",
        ),
        (
            P5,
            [interface(0, 0, "efa-only")],
            (
                "An EFA-only network interface cannot be the primary network interface. Specify "
                "the interface type 'interface' or 'efa' for device index 0 on network card index "
                "0."
            ),
        ),
        (
            P5,
            [PRIMARY, interface(2, 2, "efa-only")],
            (
                "The specified number '2' for the device index exceeds the maximum number of "
                "network interfaces supported by the network card at network card index 2. The "
                "maximum devices for this network card is 2. Specify a number from 0 to 1, and try "
                "again."
            ),
        ),
        (
            P5,
            [PRIMARY, interface(32, 0, "efa-only")],
            (
                "The specified number '32' for the network card index exceeds the maximum number "
                "of network cards supported by p5.48xlarge. The maximum network cards for this "
                "instance type is 32. Specify a number from 0 to 31, and try again."
            ),
        ),
        (
            "p6-b300.48xlarge",
            [PRIMARY, interface(0, 1, "efa-only")],
            (
                "The network card at network card index 0 of p6-b300.48xlarge does not support "
                "Elastic Fabric Adapters."
            ),
        ),
        (
            "p4d.24xlarge",
            [interface(0, 0, "efa"), interface(0, 1, "efa-only")],
            (
                "2 Elastic Fabric Adapters are specified for the network card at network card "
                "index 0. The maximum for this network card is 1."
            ),
        ),
        (
            "m7i.large",
            [interface(0, 0, "efa")],
            "m7i.large instances do not support Elastic Fabric Adapters.",
        ),
        (
            P5,
            [{**PRIMARY, "AssociatePublicIpAddress": True}, interface(1, 0, "efa-only")],
            (
                "The associatePublicIPAddress parameter cannot be specified when launching with "
                "multiple network interfaces."
            ),
        ),
    ],
    ids=[
        "place twice",
        "no primary",
        "efa-only primary",
        "device",
        "card",
        "card without efa",
        "two efa on a card",
        "type without efa",
        "public address",
    ],
)
def test_interfaces_that_the_instance_type_cannot_have_are_refused(
    account: Account, cluster: Cluster, kind: str, interfaces: list[Any], message: str
) -> None:
    data = {"InstanceType": kind, "NetworkInterfaces": interfaces}
    assert refused(account, cluster, data) == (REQUEST, message)
    # The type may stand in the request as well.
    data = {"NetworkInterfaces": interfaces}
    account.client("ec2").delete_launch_template(LaunchTemplateName="pool")
    assert refused(account, cluster, data, instanceTypes=[kind]) == (REQUEST, message)


@pytest.mark.parametrize(
    ("data", "request_", "message"),
    [
        (
            {"InstanceMarketOptions": {"MarketType": "spot"}},
            {"capacityType": "SPOT"},
            "Instance market options are not supported with the launch template.",
        ),
        (
            {"InstanceType": P5, "InstanceMarketOptions": {"MarketType": "capacity-block"}},
            {"capacityType": "ON_DEMAND"},
            (
                "You must specify capacity type CAPACITY_BLOCK, when specifying market type "
                "capacity-block in your launch template."
            ),
        ),
        (
            None,
            {"capacityType": "CAPACITY_BLOCK", "instanceTypes": [P5]},
            "You must specify a launch template, when specifying capacity type CAPACITY_BLOCK.",
        ),
        (
            {"InstanceType": P5},
            {"capacityType": "CAPACITY_BLOCK"},
            (
                "You must specify market type capacity-block in your launch template, when "
                "specifying capacity type CAPACITY_BLOCK."
            ),
        ),
        (
            {"InstanceType": P5, "InstanceMarketOptions": {"MarketType": "capacity-block"}},
            {"capacityType": "CAPACITY_BLOCK"},
            (
                "You must specify a capacity reservation id in your launch template, when "
                "specifying capacity type CAPACITY_BLOCK."
            ),
        ),
        (
            {name: value for name, value in block("cr-1").items() if name != "InstanceType"},
            {"capacityType": "CAPACITY_BLOCK", "instanceTypes": [P5]},
            (
                "You must specify an instance type in your launch template, when specifying "
                "capacity type CAPACITY_BLOCK."
            ),
        ),
        (
            {"InstanceType": P5},
            {"amiType": "CUSTOM"},
            (
                "You must specify an image id in your launch template, when specifying AMI Type "
                "CUSTOM."
            ),
        ),
        (
            {"InstanceType": P5, "ImageId": "ami-0123456789abcdef0"},
            {"amiType": "AL2023_x86_64_NVIDIA"},
            (
                "You cannot specify an AMI Type other than CUSTOM, when specifying an image id in "
                "your launch template."
            ),
        ),
        (
            {"InstanceType": P5, "ImageId": "ami-0123456789abcdef0"},
            {"amiType": "CUSTOM", "version": "1.34"},
            (
                "You cannot specify a kubernetes version to use when specifying an image id to use "
                "within the launch template."
            ),
        ),
        (
            {"InstanceType": P5, "ImageId": "ami-0123456789abcdef0"},
            {"amiType": "CUSTOM", "releaseVersion": "1.34.2-20261101"},
            (
                "You cannot specify a release version to use when specifying an image id to use "
                "within the launch template."
            ),
        ),
        (
            None,
            {"amiType": "AL2023_x86_64_STANDARD", "instanceTypes": ["m7g.xlarge"]},
            (
                "[m7g.xlarge] is not a valid instance type for requested amiType "
                "AL2023_x86_64_STANDARD"
            ),
        ),
        (
            None,
            {"instanceTypes": ["t4g.medium"]},
            (
                "[t4g.medium] is not a valid instance type for requested amiType "
                "AL2023_x86_64_STANDARD"
            ),
        ),
        (
            {"InstanceType": "p99.48xlarge"},
            {},
            "The following supplied instance types do not exist: [p99.48xlarge]",
        ),
        (
            None,
            {"version": "1.34", "releaseVersion": "1.33.5-20261101"},
            "Requested release version 1.33.5-20261101 is not valid for kubernetes version 1.34.",
        ),
        (
            None,
            {"version": "1.35"},
            (
                "Requested Nodegroup kubernetes version 1.35 is newer than the cluster's "
                "kubernetes version 1.34"
            ),
        ),
        (
            None,
            {"updateConfig": {"maxUnavailable": 1, "maxUnavailablePercentage": 10}},
            "You cannot specify both maxUnavailable and maxUnavailablePercentage.",
        ),
        (
            None,
            {"updateConfig": {"maxUnavailable": 3}},
            "max-unavailable must be within the range 1 and max size of the node group",
        ),
        (
            None,
            {"updateConfig": {"updateStrategy": "FAST"}},
            (
                f"{ENUM.format('FAST', 'updateConfig.updateStrategy')}satisfy enum value set: "
                "[DEFAULT, MINIMAL]"
            ),
        ),
        (
            None,
            {"updateConfig": {"maxUnavailablePercentage": 101}},
            (
                f"{ENUM.format('101', 'updateConfig.maxUnavailablePercentage')}have value less "
                "than or equal to 100"
            ),
        ),
        (
            None,
            {"scalingConfig": {"minSize": 0, "maxSize": 0, "desiredSize": 0}},
            (f"{ENUM.format('0', 'scalingConfig.maxSize')}have value greater than or equal to 1"),
        ),
        (
            None,
            {"taints": [{"key": "a", "effect": "NoSchedule"}]},
            (
                f"{ENUM.format('NoSchedule', 'taints.1.member.effect')}satisfy enum value set: "
                "[NO_SCHEDULE, NO_EXECUTE, PREFER_NO_SCHEDULE]"
            ),
        ),
        (
            None,
            {
                "nodeRepairConfig": {
                    "maxParallelNodesRepairedCount": 1,
                    "maxParallelNodesRepairedPercentage": 5,
                }
            },
            (
                "You cannot specify both maxParallelNodesRepairedCount and "
                "maxParallelNodesRepairedPercentage."
            ),
        ),
        (
            None,
            {
                "nodeRepairConfig": {
                    "nodeRepairConfigOverrides": [
                        {"nodeMonitoringCondition": "Ready", "repairAction": "Reboot"}
                    ]
                }
            },
            (
                "All values of a node repair config override must be specified, missing: "
                "minRepairWaitTimeMins, nodeUnhealthyReason"
            ),
        ),
    ],
    ids=lambda value: value[:40] if isinstance(value, str) else "",
)
def test_settings_that_contradict_each_other_are_refused(
    account: Account,
    cluster: Cluster,
    data: dict[str, Any] | None,
    request_: dict[str, Any],
    message: str,
) -> None:
    assert refused(account, cluster, data, **request_) == (PARAMETER, message)


def test_a_reservation_must_be_there_and_fit_type_and_zone(
    account: Account, cluster: Cluster
) -> None:
    def expect(message: str, **changes: object) -> None:
        account.client("ec2").delete_launch_template(LaunchTemplateName="pool")
        data = {**block(identity), **changes}
        found = refused(account, cluster, data, capacityType="CAPACITY_BLOCK")
        assert found == (REQUEST, message)

    launch_template(account)
    identity = "cr-0123456789abcdef0"
    expect("The capacity reservation ID 'cr-0123456789abcdef0' does not exist")
    identity = reservation(account)
    expect(
        f"The capacity reservation '{identity}' is for the instance type p5.48xlarge and cannot be "
        "used by the instance type p5en.48xlarge.",
        InstanceType="p5en.48xlarge",
        NetworkInterfaces=[PRIMARY],
    )
    account.client("ec2").create_placement_group(GroupName="fabric")
    expect(
        "Placement groups are not supported with market type capacity-block.",
        Placement={"GroupName": "fabric"},
    )
    identity = reservation(account, "use1-az6")
    zones = {
        zone["ZoneId"]: zone["ZoneName"]
        for zone in account.client("ec2").describe_availability_zones()["AvailabilityZones"]
    }
    expect(
        f"The capacity reservation '{identity}' is in the Availability Zone {zones['use1-az6']} "
        f"and cannot be used in the Availability Zone {zones['use1-az4']}."
    )


def test_a_cluster_placement_group_lies_in_one_zone(account: Account, cluster: Cluster) -> None:
    data = {
        "InstanceType": P5,
        "NetworkInterfaces": LEAN,
        "Placement": {"GroupName": "fabric"},
    }
    assert refused(account, cluster, data) == (
        REQUEST,
        "The Placement Group 'fabric' is unknown.",
    )
    ec2 = account.client("ec2")
    ec2.create_placement_group(GroupName="fabric", Strategy="cluster")
    subnets = cluster["resourcesVpcConfig"]["subnetIds"]
    [first, _] = ec2.describe_subnets(SubnetIds=subnets)["Subnets"]
    zone = first["AvailabilityZone"]
    assert refusal(
        lambda **more: nodegroup(account, cluster, **more),
        launchTemplate={"name": "pool"},
        subnets=subnets,
    ) == (
        REQUEST,
        (
            f"Instances in the fabric Placement Group must be launched in the {zone} Availability "
            f"Zone. Specify the {zone} Availability Zone and try again."
        ),
    )
    nodegroup(account, cluster, launchTemplate={"name": "pool"})


def test_a_type_that_no_cluster_placement_group_takes_is_refused(
    account: Account, cluster: Cluster
) -> None:
    account.client("ec2").create_placement_group(GroupName="fabric", Strategy="cluster")
    data = {"InstanceType": "p6e-gb200.36xlarge", "Placement": {"GroupName": "fabric"}}
    assert refused(account, cluster, data, amiType="AL2023_ARM_64_NVIDIA") == (
        REQUEST,
        (
            "Cluster placement groups are not supported by the 'p6e-gb200.36xlarge' instance type. "
            "Specify a supported instance type or change the placement group strategy, and try "
            "again."
        ),
    )


def test_quotas_of_nodes_and_groups_are_kept(account: Account, cluster: Cluster) -> None:
    eks = account.client("eks")
    sizes = {"minSize": 0, "maxSize": 451, "desiredSize": 0}
    message = "Max size 451 exceeds the quota of 450 nodes per managed node group"
    assert refused(account, cluster, None, scalingConfig=sizes) == (QUOTA, message)
    nodegroup(account, cluster, scalingConfig={**sizes, "maxSize": 450})
    assert refusal(eks.update_nodegroup_config, **WHERE, scalingConfig={"maxSize": 451}) == (
        QUOTA,
        message,
    )
    for number in range(2, 31):
        nodegroup(account, cluster, nodegroupName=f"wave-{number}")
    assert refused(account, cluster, None, nodegroupName="wave-31") == (
        QUOTA,
        (
            "NodeGroup limit exceeded for cluster train: the quota is 30 managed node groups per "
            "cluster"
        ),
    )
