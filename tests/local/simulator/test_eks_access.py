"""Who may enter a cluster, and what EKS adds to it: refusals are AWS's."""

from typing import Any

import pytest

from .conftest import Account, nodegroup, refusal

ADMIN = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
VIEW = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy"

Cluster = dict[str, Any]


def test_node_roles_get_in_by_themselves_while_a_group_uses_them(
    account: Account, cluster: Cluster
) -> None:
    eks = account.client("eks")
    role = nodegroup(account, cluster)["nodeRole"]
    entry = eks.describe_access_entry(clusterName="train", principalArn=role)["accessEntry"]
    assert (entry["type"], entry["kubernetesGroups"]) == ("EC2_LINUX", ["system:nodes"])
    assert refusal(
        eks.associate_access_policy,
        clusterName="train",
        principalArn=role,
        policyArn=VIEW,
        accessScope={"type": "cluster"},
    ) == (
        "InvalidParameterException",
        'This operation can only be performed on Access Entries with a type of "STANDARD".',
    )
    eks.delete_nodegroup(clusterName="train", nodegroupName="wave-1")
    assert role not in eks.list_access_entries(clusterName="train")["accessEntries"]


@pytest.mark.usefixtures("cluster")
def test_the_creator_is_an_admin_of_the_cluster(account: Account) -> None:
    eks, creator = account.client("eks"), f"arn:aws:iam::{account.number}:role/trainyard-deploy"
    assert eks.list_access_entries(clusterName="train")["accessEntries"] == [creator]
    [policy] = eks.list_associated_access_policies(clusterName="train", principalArn=creator)[
        "associatedAccessPolicies"
    ]
    assert policy["policyArn"] == ADMIN
    assert policy["accessScope"] == {"type": "cluster", "namespaces": []}


@pytest.mark.usefixtures("cluster")
def test_access_entries_and_their_policies_come_and_go(account: Account) -> None:
    eks, role = account.client("eks"), account.role("researcher", "ec2.amazonaws.com")
    entry = {"clusterName": "train", "principalArn": role}
    made = eks.create_access_entry(**entry, kubernetesGroups=["train"], tags={"a": "b"})
    assert made["accessEntry"]["kubernetesGroups"] == ["train"]
    assert made["accessEntry"]["username"] == (
        f"arn:aws:sts::{account.number}:assumed-role/researcher/{{{{SessionName}}}}"
    )
    assert refusal(eks.create_access_entry, **entry) == (
        "ResourceInUseException",
        "The specified access entry resource is already in use on this cluster.",
    )
    eks.update_access_entry(**entry, kubernetesGroups=["simulate"])
    scope = {"type": "namespace", "namespaces": ["team-a"]}
    eks.associate_access_policy(**entry, policyArn=VIEW, accessScope=scope)
    [policy] = eks.list_associated_access_policies(**entry)["associatedAccessPolicies"]
    assert policy["accessScope"] == scope
    assert eks.list_access_entries(clusterName="train", associatedPolicyArn=VIEW)[
        "accessEntries"
    ] == [role]
    eks.disassociate_access_policy(**entry, policyArn=VIEW)
    assert eks.list_associated_access_policies(**entry)["associatedAccessPolicies"] == []
    eks.delete_access_entry(**entry)
    assert refusal(eks.describe_access_entry, **entry) == (
        "ResourceNotFoundException",
        (
            "The specified principalArn could not be found. You can view your available access "
            "entries with 'list-access-entries'."
        ),
    )


@pytest.mark.usefixtures("cluster")
def test_a_principal_that_does_not_exist_gets_no_entry(account: Account) -> None:
    assert refusal(
        account.client("eks").create_access_entry,
        clusterName="train",
        principalArn=f"arn:aws:iam::{account.number}:role/none",
    ) == (
        "InvalidParameterException",
        "The specified principalArn is invalid: invalid principal.",
    )


@pytest.mark.usefixtures("cluster")
def test_a_reserved_group_cannot_be_given(account: Account) -> None:
    assert refusal(
        account.client("eks").create_access_entry,
        clusterName="train",
        principalArn=account.role("researcher", "ec2.amazonaws.com"),
        kubernetesGroups=["system:masters"],
    ) == (
        "InvalidParameterException",
        "The kubernetes group name system:masters is invalid, it cannot start with system:",
    )


@pytest.mark.usefixtures("cluster")
def test_an_add_on_brings_its_pod_identity_along(account: Account) -> None:
    eks, role = account.client("eks"), account.role("cni", "pods.eks.amazonaws.com")
    addon = eks.create_addon(
        clusterName="train",
        addonName="vpc-cni",
        addonVersion="v1.20.1-eksbuild.3",
        configurationValues='{"env": {"ENABLE_PREFIX_DELEGATION": "true"}}',
        podIdentityAssociations=[{"serviceAccount": "aws-node", "roleArn": role}],
        tags={"team": "ml"},
    )["addon"]
    described = eks.describe_addon(clusterName="train", addonName="vpc-cni")["addon"]
    assert described == addon
    assert (addon["status"], addon["addonVersion"]) == ("ACTIVE", "v1.20.1-eksbuild.3")
    [association] = eks.list_pod_identity_associations(clusterName="train")["associations"]
    assert association["associationArn"] == addon["podIdentityAssociations"][0]
    assert association["ownerArn"] == addon["addonArn"]
    eks.update_addon(
        clusterName="train",
        addonName="vpc-cni",
        configurationValues="{}",
        podIdentityAssociations=[],
    )
    assert eks.list_pod_identity_associations(clusterName="train")["associations"] == []
    eks.delete_addon(clusterName="train", addonName="vpc-cni")
    assert eks.list_addons(clusterName="train")["addons"] == []


@pytest.mark.usefixtures("cluster")
@pytest.mark.parametrize(
    ("params", "message"),
    [
        (
            {"addonName": "vpn-cni"},
            "Addon vpn-cni specified is not supported in 1.34 kubernetes version",
        ),
        (
            {"addonName": "vpc-cni", "addonVersion": "1.20"},
            "Addon version specified is not supported",
        ),
        (
            {"addonName": "vpc-cni", "configurationValues": "{"},
            "ConfigurationValues is neither valid JSON nor valid YAML",
        ),
    ],
)
def test_an_add_on_that_eks_does_not_offer_is_refused(
    account: Account, params: dict[str, str], message: str
) -> None:
    assert refusal(account.client("eks").create_addon, clusterName="train", **params) == (
        "InvalidParameterException",
        message,
    )


@pytest.mark.usefixtures("cluster")
def test_pod_identities_need_a_role_that_pods_may_assume(account: Account) -> None:
    eks = account.client("eks")
    place = {"clusterName": "train", "namespace": "train", "serviceAccount": "job"}
    role = account.role("job", "pods.eks.amazonaws.com")
    made = eks.create_pod_identity_association(**place, roleArn=role, tags={"a": "b"})
    identity = made["association"]["associationId"]
    where = {"clusterName": "train", "associationId": identity}
    assert eks.describe_pod_identity_association(**where)["association"] == made["association"]
    assert refusal(eks.create_pod_identity_association, **place, roleArn=role) == (
        "ResourceInUseException",
        f"Association already exists: {identity}",
    )
    wrong = account.role("wrong", "ec2.amazonaws.com")
    assert refusal(eks.update_pod_identity_association, **where, roleArn=wrong) == (
        "InvalidParameterException",
        (
            "Trust policy of the role provided in the request does not allow "
            "pods.eks.amazonaws.com to assume it."
        ),
    )
    eks.delete_pod_identity_association(**where)
    assert refusal(eks.describe_pod_identity_association, **where) == (
        "ResourceNotFoundException",
        f"The pod identity association {identity} was not found in cluster train.",
    )


def test_everything_in_eks_is_tagged_by_its_arn(account: Account, cluster: Cluster) -> None:
    eks = account.client("eks")
    group = nodegroup(account, cluster, tags={"a": "1"})
    for arn in (cluster["arn"], group["nodegroupArn"]):
        eks.tag_resource(resourceArn=arn, tags={"b": "2"})
        eks.untag_resource(resourceArn=arn, tagKeys=["a", "team"])
        assert eks.list_tags_for_resource(resourceArn=arn)["tags"] == {"b": "2"}
    assert refusal(eks.list_tags_for_resource, resourceArn=f"{cluster['arn']}-x") == (
        "NotFoundException",
        f"The resource {cluster['arn']}-x was not found.",
    )
