"""The cluster itself: who enters it, who reaches it, what it records, and how it is spoken to."""

import json
from dataclasses import replace
from typing import Any

import pulumi
import pytest
from pulumi_kubernetes import core

from components.access_entries import repeated
from components.control_plane import ControlPlane, ControlPlaneConfig
from components.settings import SettingsError, parse
from components.site_config import SiteConfig
from tests.support import engine as mocks
from tests.support.engine import Engine, run
from tests.support.names import NAMES
from tests.support.stacks import raw

ACCOUNT = "arn:aws:iam::111122223333:role"
CLUSTER = "aws:eks/cluster:Cluster"


def build(environment: str = "dev", **settings: object) -> ControlPlane:
    config = parse(ControlPlaneConfig, {"kubernetes": "1.35", **settings}, "test")
    return ControlPlane(
        "cp",
        config,
        names=replace(NAMES, environment=environment),
        service_cidr="172.20.0.0/16",
        subnet_ids=[pulumi.Output.from_input(f"subnet-{n}") for n in (1, 2)],
        api_group_id="sg-api",
        node_group_id="sg-nodes",
        gpu_pools=["train"],
    )


def control_plane(environment: str = "dev", **settings: object) -> Engine:
    return run(lambda: build(environment, **settings) and None)


@pytest.fixture(scope="module")
def plain() -> Engine:
    return control_plane()


def problems(**settings: object) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        parse(ControlPlaneConfig, {"kubernetes": "1.35", **settings}, "test")
    return [str(problem) for problem in caught.value.problems]


def scopes(engine: Engine) -> dict[str, tuple[str, list[str] | str]]:
    """Return by role its policy, and where it holds."""
    found: dict[str, tuple[str, list[str] | str]] = {}
    for association in engine.all("AccessPolicyAssociation"):
        scope = association["accessScope"]
        assert ("namespaces" in scope) == (scope["type"] == "namespace")
        where = scope.get("namespaces", "everywhere")
        found[association["principalArn"]] = (association["policyArn"].rpartition("/")[2], where)
    return found


def test_nobody_is_in_a_new_cluster_but_the_role_that_deploys(plain: Engine) -> None:
    assert plain.only("Cluster")["accessConfig"] == {
        "authenticationMode": "API",
        "bootstrapClusterCreatorAdminPermissions": False,
    }
    assert scopes(plain) == {
        f"{ACCOUNT}/trainyard-deploy": ("AmazonEKSClusterAdminPolicy", "everywhere")
    }


def test_each_role_gets_its_policy_where_it_is_named_for() -> None:
    engine = control_plane(
        administrators=[f"{ACCOUNT}/platform"],
        access=[
            {"role": f"{ACCOUNT}/auditors", "policy": "view"},
            {"role": f"{ACCOUNT}/support", "policy": "view", "namespaces": ["research"]},
            {"role": f"{ACCOUNT}/tools", "policy": "edit", "namespaces": ["research", "tools"]},
            {"role": f"{ACCOUNT}/leads", "policy": "admin", "namespaces": ["research"]},
        ],
    )
    assert scopes(engine) == {
        f"{ACCOUNT}/trainyard-deploy": ("AmazonEKSClusterAdminPolicy", "everywhere"),
        f"{ACCOUNT}/platform": ("AmazonEKSClusterAdminPolicy", "everywhere"),
        f"{ACCOUNT}/auditors": ("AmazonEKSViewPolicy", "everywhere"),
        f"{ACCOUNT}/support": ("AmazonEKSViewPolicy", ["research"]),
        f"{ACCOUNT}/tools": ("AmazonEKSEditPolicy", ["research", "tools"]),
        f"{ACCOUNT}/leads": ("AmazonEKSAdminPolicy", ["research"]),
    }
    entries = engine.all("AccessEntry")
    assert {entry["principalArn"] for entry in entries} == scopes(engine).keys()
    assert all("kubernetesGroups" not in entry for entry in entries)


def test_a_policy_is_given_to_an_entry_that_is_there(plain: Engine) -> None:
    association = plain.urn("cp-trainyard-deploy", "AccessPolicyAssociation")
    assert plain.urn("cp-trainyard-deploy", "AccessEntry") in plain.dependencies[association]


def test_roles_that_differ_in_path_or_account_only_are_two_roles() -> None:
    roles = [
        f"{ACCOUNT}/platform",
        f"{ACCOUNT}/aws-reserved/sso.amazonaws.com/platform",
        "arn:aws:iam::444455556666:role/platform",
    ]
    engine = control_plane(administrators=roles)
    made = [entry["principalArn"] for entry in engine.all("AccessEntry")]
    assert made == [f"{ACCOUNT}/trainyard-deploy", *roles]
    assert len({r.name for r in engine.declared if r.typ.endswith(":AccessEntry")}) == len(made)


@pytest.mark.parametrize(
    ("access", "problem"),
    [
        (
            {"policy": "edit"},
            (
                "access.0.namespaces: is empty, but edit in every namespace is as good as "
                "administrator; name the namespaces, use view, or add the role to "
                "control_plane.administrators"
            ),
        ),
        (
            {"policy": "admin", "namespaces": []},
            (
                "access.0.namespaces: is empty, but admin in every namespace is as good as "
                "administrator; name the namespaces, use view, or add the role to "
                "control_plane.administrators"
            ),
        ),
        (
            {"policy": "edit", "namespaces": ["research", "kube-system"]},
            (
                "access.0.namespaces.1: is kube-system, where edit reaches the rights of the whole "
                "cluster's agents; use view, or add the role to control_plane.administrators"
            ),
        ),
        (
            {"policy": "view", "namespaces": ["research", "research"]},
            "access.0.namespaces.1: is research again; name it once",
        ),
        (
            {"policy": "view", "namespaces": ["*"]},
            (
                "access.0.namespaces.0: is the text '*', which is not the name of a namespace; "
                "write it like research"
            ),
        ),
        (
            {"policy": "cluster-admin"},
            "access.0.policy: is the text 'cluster-admin'; use 'view', 'edit' or 'admin'",
        ),
    ],
)
def test_a_scope_is_named_and_no_wider_than_it_says(access: dict[str, Any], problem: str) -> None:
    assert problems(access=[{"role": f"{ACCOUNT}/tools", **access}]) == [problem]


def test_kube_system_may_be_looked_at() -> None:
    access = {"role": f"{ACCOUNT}/auditors", "policy": "view", "namespaces": ["kube-system"]}
    assert scopes(control_plane(access=[access]))[f"{ACCOUNT}/auditors"][1] == ["kube-system"]


def test_a_role_at_two_places_is_named_with_both() -> None:
    places = [("the deployment", "a"), ("administrators.0", "b"), ("access.0.role", "a")]
    assert [str(problem) for problem in repeated([*places, ("tenants.0.submitters.0", "b")])] == [
        (
            "access.0.role: is a, which the deployment names already, and EKS keeps one access "
            "entry for a role; leave one of them out, or use another role here"
        ),
        (
            "tenants.0.submitters.0: is b, which administrators.0 names already, and EKS keeps one "
            "access entry for a role; leave one of them out, or use another role here"
        ),
    ]


def test_every_role_of_the_settings_is_named_with_its_place() -> None:
    config = parse(
        ControlPlaneConfig,
        {
            "kubernetes": "1.35",
            "administrators": [f"{ACCOUNT}/platform"],
            "access": [{"role": f"{ACCOUNT}/auditors", "policy": "view"}],
        },
        "test",
    )
    assert list(config.roles()) == [
        ("administrators.0", f"{ACCOUNT}/platform"),
        ("access.0.role", f"{ACCOUNT}/auditors"),
    ]


def site_problems(path: str, value: object) -> list[str]:
    """Return what is wrong with the dev stack when one setting of it is another."""
    settings = raw("dev")
    *parents, last = path.split(".")
    inner: Any = settings
    for key in parents:
        inner = inner[int(key)] if isinstance(inner, list) else inner.setdefault(key, {})
    inner[last] = value
    with pytest.raises(SettingsError) as caught:
        parse(SiteConfig, settings, "file.yaml")
    return [str(problem) for problem in caught.value.problems]


def test_a_role_enters_once_in_the_whole_site() -> None:
    entries = "and EKS keeps one access entry for a role; leave one of them out, or use another"
    roles = [f"{ACCOUNT}/platform", f"{ACCOUNT}/trainyard-deploy", f"{ACCOUNT}/research"]
    assert site_problems("control_plane.administrators", [*roles, f"{ACCOUNT}/platform"]) == [
        (
            f"control_plane.administrators.1: is {ACCOUNT}/trainyard-deploy, which the deployment "
            f"names already, {entries} role here"
        ),
        (
            f"control_plane.administrators.3: is {ACCOUNT}/platform, which "
            f"control_plane.administrators.0 names already, {entries} role here"
        ),
        (
            f"tenants.0.submitters.0: is {ACCOUNT}/research, which control_plane.administrators.2 "
            f"names already, {entries} role here"
        ),
    ]


def test_only_a_neighbour_can_be_let_to_the_api() -> None:
    assert site_problems("control_plane.api_clients", ["offce", "office"]) == [
        (
            "control_plane.api_clients.0: is offce, which is no neighbour; use prod or office, or "
            "add it under network.neighbours"
        )
    ]


def test_a_neighbour_whose_name_is_not_its_own_is_not_let_to_the_api() -> None:
    settings = raw("dev")
    settings["network"]["neighbours"].append({"name": "office", "cidr": "192.168.0.0/16"})
    settings["control_plane"]["api_clients"] = ["office"]
    with pytest.raises(SettingsError) as caught:
        parse(SiteConfig, settings, "file.yaml")
    assert [str(problem) for problem in caught.value.problems] == [
        (
            "control_plane.api_clients.0: is office, which 2 neighbours are called; give each a "
            "name of its own under network.neighbours"
        )
    ]


def test_neighbours_reach_the_api_by_their_addresses_and_only_those_named() -> None:
    settings = raw("dev")
    settings["control_plane"]["api_clients"] = ["office"]
    assert parse(SiteConfig, settings, "file.yaml").api_clients == {"office": "10.0.0.0/12"}


def test_the_api_is_private_and_behind_a_group_of_our_own(plain: Engine) -> None:
    assert plain.only("Cluster")["vpcConfig"] == {
        "subnetIds": ["subnet-1", "subnet-2"],
        "securityGroupIds": ["sg-api"],
        "endpointPrivateAccess": True,
        "endpointPublicAccess": False,
    }


def test_a_public_endpoint_is_open_to_the_listed_ranges_only() -> None:
    network = control_plane(public_access=["52.1.2.0/24"]).only("Cluster")["vpcConfig"]
    assert network["endpointPrivateAccess"] is True
    assert network["endpointPublicAccess"] is True
    assert network["publicAccessCidrs"] == ["52.1.2.0/24"]


def test_secrets_are_encrypted_under_the_clusters_own_key_and_everything_is_logged(
    plain: Engine,
) -> None:
    cluster = plain.only("Cluster")
    assert cluster["encryptionConfig"] == {
        "provider": {"keyArn": "arn:mock:aws:kms/key:Key:cp-key"},
        "resources": ["secrets"],
    }
    assert cluster["enabledClusterLogTypes"] == [
        "api",
        "audit",
        "authenticator",
        "controllerManager",
        "scheduler",
    ]


def test_the_log_group_is_made_before_eks_makes_one_without_retention(plain: Engine) -> None:
    group = plain.named("cp-logs", "LogGroup")
    assert group["name"] == "/aws/eks/trainyard-test/cluster"
    assert group["retentionInDays"] == 365
    assert group["kmsKeyId"] == "arn:mock:aws:kms/key:Key:cp-key"
    assert plain.urn("cp-logs", "LogGroup") in plain.dependencies[plain.urn("cp", "Cluster")]


@pytest.mark.parametrize(
    ("environment", "kept"), [("local", False), ("dev", False), ("prod", True)]
)
def test_a_cluster_of_prod_refuses_to_be_deleted(environment: str, *, kept: bool) -> None:
    engine = control_plane(environment)
    assert engine.only("Cluster")["deletionProtection"] is kept
    assert engine.protected[engine.urn("cp", "Cluster")] is kept


def test_support_and_zonal_shift_are_as_the_settings_say(plain: Engine) -> None:
    cluster = plain.only("Cluster")
    assert cluster["upgradePolicy"] == {"supportType": "STANDARD"}
    assert cluster["zonalShiftConfig"] == {"enabled": True}
    other = control_plane(support="extended", zonal_shift=False).only("Cluster")
    assert other["upgradePolicy"] == {"supportType": "EXTENDED"}
    assert other["zonalShiftConfig"] == {"enabled": False}


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (
            {"api_clients": ["office", "office"]},
            "api_clients.1: is office again; name it once",
        ),
        (
            {
                "addons": [
                    {"name": "coredns", "version": "v1.14.3-eksbuild.3"},
                    {"name": "coredns", "version": "v1.14.3-eksbuild.4"},
                ]
            },
            "addons.1.name: is coredns again; name it once",
        ),
        (
            {"support": "none"},
            "support: is the text 'none'; use 'standard' or 'extended'",
        ),
        (
            {"public_access": ["52.1.2.0/24", "10.0.3.0/24"]},
            (
                "public_access.1: is 10.0.3.0/24, which is no public range, so EKS refuses it; "
                "name its network under network.neighbours and in api_clients instead"
            ),
        ),
        (
            {"public_access": ["52.0.0.0/8"]},
            (
                "public_access.0: is 52.0.0.0/8, a wide range for a cluster's API; use /24 or "
                "narrower, or leave the list empty and come through the network"
            ),
        ),
    ],
)
def test_a_rule_tells_what_was_seen_and_the_way_out(
    settings: dict[str, object], problem: str
) -> None:
    assert problems(**settings) == [problem]


def test_nodes_ask_what_nodeadm_asks_and_pull_images_and_nothing_else(plain: Engine) -> None:
    policies = {
        each["policyArn"].rpartition("/")[2]
        for each in plain.all("RolePolicyAttachment")
        if each["role"] == "trainyard-test-node"
    }
    assert policies == {"AmazonEKSWorkerNodeMinimalPolicy", "AmazonEC2ContainerRegistryPullOnly"}
    own = json.loads(plain.named("cp-node-join", "RolePolicy")["policy"])
    assert [statement["Action"] for statement in own["Statement"]] == [
        ["ec2:DescribeInstanceTypes", "ec2:DescribeInstances"]
    ]


def test_nodes_come_after_the_rights_of_their_role_and_go_before_them(plain: Engine) -> None:
    rights = {
        plain.urn("cp-node-join", "RolePolicy"),
        plain.urn("cp-node-AmazonEKSWorkerNodeMinimalPolicy", "RolePolicyAttachment"),
        plain.urn("cp-node-AmazonEC2ContainerRegistryPullOnly", "RolePolicyAttachment"),
    }
    assert rights <= set(plain.dependencies[plain.urn("cp-system", "NodeGroup")])


def test_pools_wait_for_entries_rights_and_addons() -> None:
    made: list[ControlPlane] = []
    run(lambda: made.append(build()))
    kinds = {type(resource).__name__ for resource in made[0].ready}
    assert kinds == {"AccessPolicyAssociation", "Addon", "RolePolicy", "RolePolicyAttachment"}


def test_system_nodes_carry_both_groups_and_no_taint(plain: Engine) -> None:
    template = plain.named("cp-system", "LaunchTemplate")
    assert template["vpcSecurityGroupIds"] == ["sg-cluster", "sg-nodes"]
    assert "networkInterfaces" not in template
    group = plain.named("cp-system", "NodeGroup")
    assert group["labels"] == {"trainyard.dev/pool": "system"}
    assert "taints" not in group


def test_the_kubeconfig_has_a_command_for_a_token_and_no_secret(plain: Engine) -> None:
    provider = plain.only("kubernetes")
    config = json.loads(provider["kubeconfig"])
    [user] = config["users"]
    assert user == {
        "name": "trainyard-test",
        "user": {
            "exec": {
                "apiVersion": "client.authentication.k8s.io/v1beta1",
                "command": "aws",
                "args": [
                    *("eks", "get-token", "--cluster-name", "trainyard-test"),
                    *("--region", "us-east-1", "--output", "json"),
                ],
                "interactiveMode": "Never",
            }
        },
    }
    [cluster] = config["clusters"]
    assert cluster["cluster"].keys() == {"server", "certificate-authority-data"}


def test_no_input_of_the_cluster_holds_a_credential(plain: Engine) -> None:
    text = json.dumps([r.inputs for r in plain.declared], default=str)
    held = ("accessKey", "secretKey", "AKIA", "ASIA", "client-key", "password", '"token"')
    assert [word for word in held if word in text] == []


def test_an_unreachable_cluster_keeps_its_objects_in_the_state(plain: Engine) -> None:
    provider = plain.only("kubernetes")
    assert provider["deleteUnreachable"] == "false"
    assert provider["enableServerSideApply"] == "true"


def with_workload() -> None:
    """Build a cluster, and one object in it."""
    cluster = build()
    core.v1.Namespace("work", opts=pulumi.ResourceOptions(provider=cluster.provider))


def test_a_new_address_or_certificate_changes_the_provider_in_place_and_no_workload(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = run(with_workload)
    rotated = {"endpoint": "https://new.example", "certificateAuthority": {"data": "TkVX"}}
    monkeypatch.setattr(mocks, "COMPUTED", {**mocks.COMPUTED, CLUSTER: rotated})
    after = run(with_workload)

    assert before.parents == after.parents
    old, new = before.only("kubernetes"), after.only("kubernetes")
    assert {key for key in old | new if old.get(key) != new.get(key)} == {"kubeconfig"}
    assert json.loads(new["kubeconfig"])["clusters"][0]["cluster"] == {
        "server": "https://new.example",
        "certificate-authority-data": "TkVX",
    }
    # The Kubernetes provider replaces itself, and all that is in the cluster, when this changes.
    assert new["clusterIdentifier"] == "arn:aws:eks:us-east-1:111122223333:cluster/trainyard-test"
    assert [r.inputs for r in before.declared if r.typ.endswith(":Namespace")] == [
        r.inputs for r in after.declared if r.typ.endswith(":Namespace")
    ]


def test_which_cluster_it_is_is_known_before_it_is_there() -> None:
    provider = run(with_workload, preview=True).only("kubernetes")
    assert provider["clusterIdentifier"] == (
        "arn:aws:eks:us-east-1:111122223333:cluster/trainyard-test"
    )
    assert isinstance(provider["kubeconfig"], pulumi.output.Unknown)
