"""EKS: what is written reads back, and refusals are AWS's."""

import base64
from typing import Any

import pytest

from .conftest import KUBE_CA, KUBE_ENDPOINT, Account, nodegroup, refusal

Cluster = dict[str, Any]


def template(account: Account, **data: object) -> str:
    made: str = account.client("ec2").create_launch_template(
        LaunchTemplateName="pool", LaunchTemplateData=data
    )["LaunchTemplate"]["LaunchTemplateId"]
    return made


def test_a_cluster_is_active_at_once_behind_the_target_s_api_server(cluster: Cluster) -> None:
    assert cluster["status"] == "ACTIVE"
    assert cluster["endpoint"] == KUBE_ENDPOINT
    assert base64.b64decode(cluster["certificateAuthority"]["data"]).decode() == KUBE_CA
    assert cluster["identity"]["oidc"]["issuer"].startswith(
        "https://oidc.eks.us-east-1.amazonaws.com/id/"
    )


def test_a_cluster_reads_back_as_it_was_written(account: Account, cluster: Cluster) -> None:
    described = account.client("eks").describe_cluster(name="train")["cluster"]
    assert described == cluster
    config = described["resourcesVpcConfig"]
    assert (config["endpointPrivateAccess"], config["endpointPublicAccess"]) == (True, False)
    assert described["accessConfig"] == {"authenticationMode": "API"}
    assert described["tags"] == {"team": "ml"}
    assert described["deletionProtection"] is False


def test_a_second_cluster_is_refused_also_in_another_account(
    cluster: Cluster, other_account: Account
) -> None:
    owner = cluster["arn"].split(":")[4]
    assert refusal(
        other_account.client("eks").create_cluster,
        name="second",
        roleArn=other_account.role("cluster", "eks.amazonaws.com"),
        resourcesVpcConfig={"subnetIds": other_account.two_subnets()},
    ) == (
        "ResourceLimitExceededException",
        (
            "The embedded target has one Kubernetes API server, so at most one live EKS cluster: "
            f"train in us-east-1 of account {owner}. Delete that one first."
        ),
    )


def test_a_role_that_eks_may_not_assume_is_refused(account: Account) -> None:
    for arn in (
        account.role("wrong", "ec2.amazonaws.com"),
        f"arn:aws:iam::{account.number}:role/none",
    ):
        assert refusal(
            account.client("eks").create_cluster,
            name="train",
            roleArn=arn,
            resourcesVpcConfig={"subnetIds": []},
        ) == (
            "InvalidParameterException",
            (
                f"Role with arn: {arn}, could not be assumed because it does not exist or the "
                "trusted entity is not correct"
            ),
        )


def test_subnets_must_exist_and_lie_in_two_zones(account: Account) -> None:
    role, create = (
        account.role("cluster", "eks.amazonaws.com"),
        account.client("eks").create_cluster,
    )
    missing = {"subnetIds": ["subnet-0123456789abcdef0"]}
    assert refusal(create, name="train", roleArn=role, resourcesVpcConfig=missing) == (
        "InvalidParameterException",
        (
            "The subnet ID 'subnet-0123456789abcdef0' does not exist (Service: AmazonEC2; "
            "Status Code: 400; Error Code: InvalidSubnetID.NotFound)"
        ),
    )
    lonely = {"subnetIds": [account.subnet(account.vpc())]}
    assert refusal(create, name="train", roleArn=role, resourcesVpcConfig=lonely) == (
        "InvalidParameterException",
        "Subnets specified must be in at least two different AZs",
    )


def test_an_unknown_cluster_is_not_found(account: Account) -> None:
    eks = account.client("eks")
    expected = ("ResourceNotFoundException", "No cluster found for name: none.")
    assert refusal(eks.describe_cluster, name="none") == expected
    assert refusal(eks.list_nodegroups, clusterName="none") == expected
    assert refusal(eks.create_addon, clusterName="none", addonName="vpc-cni") == expected


@pytest.mark.usefixtures("cluster")
def test_a_cluster_changes_one_thing_at_a_time(account: Account) -> None:
    eks = account.client("eks")
    logging = {"clusterLogging": [{"types": ["api", "audit"], "enabled": True}]}
    update = eks.update_cluster_config(name="train", logging=logging)["update"]
    assert (update["status"], update["type"]) == ("InProgress", "LoggingUpdate")
    described = eks.describe_update(name="train", updateId=update["id"])["update"]
    assert described["status"] == "Successful"
    assert eks.describe_cluster(name="train")["cluster"]["logging"]["clusterLogging"] == [
        {"types": ["api", "audit"], "enabled": True},
        {"types": ["authenticator", "controllerManager", "scheduler"], "enabled": False},
    ]
    assert refusal(eks.update_cluster_config, name="train", logging=logging) == (
        "InvalidParameterException",
        "No changes needed for the logging config provided",
    )
    both = {"logging": logging, "accessConfig": {"authenticationMode": "API"}}
    assert refusal(eks.update_cluster_config, name="train", **both) == (
        "InvalidParameterException",
        "Only one type of update can be allowed.",
    )
    assert refusal(
        eks.update_cluster_config,
        name="train",
        accessConfig={"authenticationMode": "API_AND_CONFIG_MAP"},
    ) == (
        "InvalidParameterException",
        "Unsupported authentication mode update from API to API_AND_CONFIG_MAP",
    )


@pytest.mark.usefixtures("cluster")
def test_kubernetes_goes_up_by_one_minor_version(account: Account) -> None:
    eks = account.client("eks")
    assert refusal(eks.update_cluster_version, name="train", version="1.36") == (
        "InvalidParameterException",
        "Unsupported Kubernetes minor version update from 1.34 to 1.36",
    )
    eks.update_cluster_version(name="train", version="1.35")
    assert eks.describe_cluster(name="train")["cluster"]["version"] == "1.35"


def test_a_protected_cluster_or_one_with_nodes_is_not_deleted(
    account: Account, cluster: Cluster
) -> None:
    eks = account.client("eks")
    nodegroup(account, cluster)
    in_use = ("ResourceInUseException", "Cluster has nodegroups attached")
    assert refusal(eks.delete_cluster, name="train") == in_use
    eks.delete_nodegroup(clusterName="train", nodegroupName="wave-1")
    eks.update_cluster_config(name="train", deletionProtection=True)
    assert refusal(eks.delete_cluster, name="train") == (
        "InvalidRequestException",
        "Cluster train has deletion protection enabled. Disable it before deleting.",
    )


def test_a_cluster_holds_its_subnets_until_it_is_deleted(
    account: Account, cluster: Cluster
) -> None:
    eks, ec2 = account.client("eks"), account.client("ec2")
    config = cluster["resourcesVpcConfig"]
    subnet = config["subnetIds"][0]
    assert refusal(ec2.delete_subnet, SubnetId=subnet) == (
        "DependencyViolation",
        f"The subnet '{subnet}' has dependencies and cannot be deleted.",
    )
    eks.delete_cluster(name="train")
    for subnet in config["subnetIds"]:
        ec2.delete_subnet(SubnetId=subnet)
    ec2.delete_vpc(VpcId=config["vpcId"])
    assert eks.list_clusters()["clusters"] == []


def test_a_node_group_reads_back_as_it_was_written(account: Account, cluster: Cluster) -> None:
    identity = template(
        account,
        InstanceType="p5.48xlarge",
        NetworkInterfaces=[
            {"DeviceIndex": 0, "NetworkCardIndex": 0, "InterfaceType": "efa"},
            {"DeviceIndex": 1, "NetworkCardIndex": 1, "InterfaceType": "efa-only"},
        ],
    )
    taints = [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}]
    scaling = {"minSize": 0, "maxSize": 8, "desiredSize": 4}
    made = nodegroup(
        account,
        cluster,
        capacityType="CAPACITY_BLOCK",
        launchTemplate={"id": identity, "version": "$Latest"},
        labels={"trainyard.dev/pool": "a"},
        taints=taints,
        scalingConfig=scaling,
        tags={"team": "ml"},
    )
    described = account.client("eks").describe_nodegroup(
        clusterName="train", nodegroupName="wave-1"
    )["nodegroup"]
    assert described == made
    assert {
        key: described[key]
        for key in ("status", "labels", "taints", "scalingConfig", "tags", "capacityType")
    } == {
        "status": "ACTIVE",
        "labels": {"trainyard.dev/pool": "a"},
        "taints": taints,
        "scalingConfig": scaling,
        "tags": {"team": "ml"},
        "capacityType": "CAPACITY_BLOCK",
    }
    assert described["launchTemplate"] == {"id": identity, "name": "pool", "version": "1"}
    assert "instanceTypes" not in described
    assert "diskSize" not in described


@pytest.mark.parametrize(
    ("data", "request_", "expected"),
    [
        (
            {"SecurityGroupIds": ["sg-1"], "NetworkInterfaces": [{"DeviceIndex": 0}]},
            {},
            (
                "InvalidRequestException",
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
                "InvalidParameterException",
                (
                    "Launch template should not specify a subnet in its network interfaces. The "
                    "subnets in your request will be used."
                ),
            ),
        ),
        (
            {"NetworkInterfaces": [{"DeviceIndex": 0}, {"DeviceIndex": 0}]},
            {},
            (
                "InvalidRequestException",
                "Each network interface requires a unique device index within its network card.",
            ),
        ),
        (
            {"InstanceType": "p5.48xlarge"},
            {"instanceTypes": ["p5.48xlarge"]},
            (
                "InvalidRequestException",
                "Cannot specify instance types in launch template and API request",
            ),
        ),
        (
            {"IamInstanceProfile": {"Name": "a"}},
            {},
            (
                "InvalidParameterException",
                (
                    "Launch template should not specify an instance profile. The noderole in your "
                    "request will be used to construct an instance profile."
                ),
            ),
        ),
        (
            {"InstanceType": "p5.48xlarge"},
            {"diskSize": 100},
            (
                "InvalidParameterException",
                "Disk size must be specified within the launch template.",
            ),
        ),
        (
            {"ImageId": "ami-0123456789abcdef0"},
            {"amiType": "AL2023_x86_64_NVIDIA"},
            (
                "InvalidParameterException",
                (
                    "You cannot specify an AMI Type other than CUSTOM, when specifying an image id "
                    "in your launch template."
                ),
            ),
        ),
    ],
)
def test_a_launch_template_that_eks_cannot_use_is_refused(
    account: Account,
    cluster: Cluster,
    data: dict[str, Any],
    request_: dict[str, Any],
    expected: tuple[str, str],
) -> None:
    assert (
        refusal(
            lambda **more: nodegroup(account, cluster, **more),
            launchTemplate={"id": template(account, **data)},
            **request_,
        )
        == expected
    )


def test_a_node_group_needs_a_template_a_role_and_sizes_that_fit(
    account: Account, cluster: Cluster
) -> None:
    eks = account.client("eks")
    common = {
        "clusterName": "train",
        "nodegroupName": "wave-1",
        "subnets": cluster["resourcesVpcConfig"]["subnetIds"],
    }
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
        clusterName="train",
        nodegroupName="wave-1",
        nodeRole=made["nodeRole"],
        subnets=made["subnets"],
    ) == (
        "ResourceInUseException",
        "NodeGroup already exists with name wave-1 and cluster name train",
    )
    assert refusal(
        account.client("eks").describe_nodegroup, clusterName="train", nodegroupName="none"
    ) == ("ResourceNotFoundException", "No node group found for name: none.")


def test_a_node_group_changes_in_place(account: Account, cluster: Cluster) -> None:
    eks = account.client("eks")
    taint = {"key": "trainyard.dev/unproved", "value": "true", "effect": "NO_SCHEDULE"}
    identity = template(account, InstanceType="p5.48xlarge")
    nodegroup(
        account,
        cluster,
        labels={"a": "1", "b": "2"},
        taints=[taint],
        launchTemplate={"id": identity},
    )
    where = {"clusterName": "train", "nodegroupName": "wave-1"}
    eks.update_nodegroup_config(
        **where,
        labels={"addOrUpdateLabels": {"b": "3"}, "removeLabels": ["a"]},
        taints={"removeTaints": [taint]},
        scalingConfig={"maxSize": 6},
    )
    account.client("ec2").create_launch_template_version(
        LaunchTemplateId=identity, LaunchTemplateData={"InstanceType": "p5en.48xlarge"}
    )
    update = eks.update_nodegroup_version(**where, launchTemplate={"id": identity, "version": "2"})[
        "update"
    ]
    described = eks.describe_nodegroup(**where)["nodegroup"]
    assert described["labels"] == {"b": "3"}
    assert described["taints"] == []
    assert described["scalingConfig"] == {"minSize": 1, "maxSize": 6, "desiredSize": 2}
    assert described["launchTemplate"]["version"] == "2"
    assert update["id"] in eks.list_updates(name="train", nodegroupName="wave-1")["updateIds"]
