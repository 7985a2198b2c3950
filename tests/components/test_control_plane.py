import json

import pytest

from tests.support.engine import Engine, run
from tests.support.stacks import build

FIRST = ("vpc-cni", "kube-proxy", "eks-pod-identity-agent")
LATER = ("coredns", "aws-ebs-csi-driver", "aws-fsx-csi-driver")


@pytest.fixture(scope="module")
def site() -> Engine:
    return run(lambda: build("prod") and None, stack="prod")


def test_only_named_roles_are_in_the_cluster(site: Engine) -> None:
    cluster = site.only("Cluster")
    assert cluster["accessConfig"] == {
        "authenticationMode": "API",
        "bootstrapClusterCreatorAdminPermissions": False,
    }
    administrators = {a["principalArn"] for a in site.all("AccessPolicyAssociation")}
    assert administrators == {
        "arn:aws:iam::444455556666:role/trainyard-deploy",
        "arn:aws:iam::444455556666:role/platform",
    }


def test_the_api_is_private_encrypts_secrets_and_logs_everything(site: Engine) -> None:
    cluster = site.only("Cluster")
    assert cluster["vpcConfig"]["endpointPrivateAccess"] is True
    assert cluster["vpcConfig"]["endpointPublicAccess"] is False
    assert cluster["encryptionConfig"]["resources"] == ["secrets"]
    assert len(cluster["enabledClusterLogTypes"]) == 5
    assert cluster["deletionProtection"] is True


def test_the_log_group_is_made_before_eks_makes_one_without_retention(site: Engine) -> None:
    group = site.urn("control-plane-logs", "LogGroup")
    assert group in site.dependencies[site.urn("control-plane", "Cluster")]
    name = site.named("control-plane-logs", "LogGroup")["name"]
    assert name == "/aws/eks/trainyard-prod/cluster"


@pytest.mark.parametrize("addon", FIRST)
def test_nodes_wait_for_the_addons_that_make_them_ready(site: Engine, addon: str) -> None:
    system = site.urn("control-plane-system", "NodeGroup")
    made = site.urn(f"control-plane-{addon}", "Addon")
    assert made in site.dependencies[system]
    assert system not in site.dependencies[made]


@pytest.mark.parametrize("addon", LATER)
def test_addons_that_run_on_nodes_wait_for_them(site: Engine, addon: str) -> None:
    system = site.urn("control-plane-system", "NodeGroup")
    assert system in site.dependencies[site.urn(f"control-plane-{addon}", "Addon")]


def test_addons_are_pinned_and_act_as_themselves(site: Engine) -> None:
    assert all("-eksbuild." in addon["addonVersion"] for addon in site.all("Addon"))
    accounts = {
        a["serviceAccount"]
        for a in site.all("PodIdentityAssociation")
        if a["namespace"] == "kube-system"
    }
    assert accounts == {"aws-node", "ebs-csi-controller-sa", "fsx-csi-controller-sa"}


def test_the_network_addon_holds_few_spare_addresses_and_judges_policies(site: Engine) -> None:
    settings = json.loads(site.named("control-plane-vpc-cni", "Addon")["configurationValues"])
    assert settings == {
        "enableNetworkPolicy": "true",
        "env": {"MINIMUM_IP_TARGET": "24", "WARM_IP_TARGET": "2"},
    }


def test_nodes_may_join_and_pull_images_and_nothing_else(site: Engine) -> None:
    policies = {
        a["policyArn"].rpartition("/")[2]
        for a in site.all("RolePolicyAttachment")
        if a["role"] == "trainyard-prod-node"
    }
    assert policies == {"AmazonEKSWorkerNodeMinimalPolicy", "AmazonEC2ContainerRegistryPullOnly"}


def test_system_nodes_carry_both_groups_or_they_never_join(site: Engine) -> None:
    template = site.named("control-plane-system", "LaunchTemplate")
    assert template["vpcSecurityGroupIds"] == ["sg-cluster", "firewall-nodes-id"]
    group = site.named("control-plane-system", "NodeGroup")
    assert group["labels"] == {"trainyard.dev/pool": "system"}
    assert "taints" not in group


def test_an_unreachable_cluster_keeps_its_objects_in_the_state(site: Engine) -> None:
    provider = site.only("kubernetes")
    assert provider["deleteUnreachable"] == "false"
    assert provider["enableServerSideApply"] == "true"
