"""EKS: what is written reads back, and refusals are AWS's."""

import base64
from typing import Any

import pytest

from .conftest import KUBE_CA, KUBE_ENDPOINT, Account, nodegroup, refusal

Cluster = dict[str, Any]


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


def test_a_control_plane_takes_few_groups_and_of_its_own_vpc(
    account: Account, cluster: Cluster
) -> None:
    eks, ec2 = account.client("eks"), account.client("ec2")
    vpc = cluster["resourcesVpcConfig"]["vpcId"]

    def group(name: str, vpc: str) -> str:
        made: str = ec2.create_security_group(GroupName=name, Description=name, VpcId=vpc)[
            "GroupId"
        ]
        return made

    own, foreign = group("own", vpc), group("foreign", account.vpc())

    def change(*groups: str) -> dict[str, Any]:
        return {"name": "train", "resourcesVpcConfig": {"securityGroupIds": list(groups)}}

    assert refusal(eks.update_cluster_config, **change(own, foreign)) == (
        "InvalidParameterException",
        (
            f"Security group(s) [{foreign}] are not in the same VPC as the subnets. Please specify "
            f"a security group that is associated with the VPC: {vpc}."
        ),
    )
    assert refusal(eks.update_cluster_config, **change(*[own] * 5)) == (
        "InvalidParameterException",
        "At most 4 security groups can be specified, got 5",
    )
    eks.update_cluster_config(**change(own))
    described = eks.describe_cluster(name="train")["cluster"]["resourcesVpcConfig"]
    assert described["securityGroupIds"] == [own]
    assert refusal(ec2.delete_security_group, GroupId=own)[0] == "DependencyViolation"


def test_zonal_shift_is_turned_on_and_off(account: Account, cluster: Cluster) -> None:
    eks = account.client("eks")
    assert cluster["zonalShiftConfig"] == {"enabled": False}
    update = eks.update_cluster_config(name="train", zonalShiftConfig={"enabled": True})["update"]
    assert update["type"] == "ZonalShiftConfigUpdate"
    shown = eks.describe_cluster(name="train")["cluster"]["zonalShiftConfig"]
    assert shown == {"enabled": True}


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    ("name", "namespace"),
    [
        ("eks-node-monitoring-agent", "kube-system"),
        ("metrics-server", "kube-system"),
        ("kube-state-metrics", "kube-state-metrics"),
        ("amazon-cloudwatch-observability", "amazon-cloudwatch"),
    ],
)
def test_add_ons_live_where_eks_puts_them(account: Account, name: str, namespace: str) -> None:
    addon = account.client("eks").create_addon(
        clusterName="train", addonName=name, addonVersion="v1.2.3-eksbuild.4"
    )["addon"]
    assert (addon["status"], addon["addonVersion"]) == ("ACTIVE", "v1.2.3-eksbuild.4")
    assert addon["namespaceConfig"] == {"namespace": namespace}


@pytest.mark.usefixtures("cluster")
def test_an_add_on_that_eks_does_not_know_is_refused(account: Account) -> None:
    assert refusal(
        account.client("eks").create_addon, clusterName="train", addonName="gpu-operator"
    ) == (
        "InvalidParameterException",
        "Addon gpu-operator specified is not supported in 1.34 kubernetes version",
    )
