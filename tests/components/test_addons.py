"""Managed add-ons: pinned, in an order that does not deadlock, each under its own identity."""

import json
import re
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from components.addons import AddonName, told
from components.addressing import prefixes_for
from components.catalog import PREFIX_ADDRESSES, instance_types, releases
from components.catalog.addons import addons, read
from components.documents import pod_trust
from tests.components.test_control_plane import control_plane
from tests.support.engine import Engine
from tests.support.names import NAMES

EVERY_TAINT = [{"operator": "Exists"}]

FIRST = {"vpc-cni", "kube-proxy", "eks-pod-identity-agent"}
LATER = {
    "aws-ebs-csi-driver",
    "aws-fsx-csi-driver",
    "coredns",
    "eks-node-monitoring-agent",
    "metrics-server",
}

IDENTITIES = {
    "vpc-cni": ("aws-node", "AmazonEKS_CNI_Policy"),
    "aws-ebs-csi-driver": ("ebs-csi-controller-sa", "AmazonEBSCSIDriverEKSClusterScopedPolicy"),
    "aws-fsx-csi-driver": ("fsx-csi-controller-sa", None),
}


@pytest.fixture(scope="module")
def plain() -> Engine:
    return control_plane()


def values(engine: Engine, addon: str) -> dict[str, Any]:
    text = engine.named(f"cp-{addon}", "Addon").get("configurationValues")
    return json.loads(text) if text else {}


def test_settings_versions_and_facts_speak_of_the_same_addons() -> None:
    assert set(get_args(AddonName)) == addons().keys() == FIRST | LATER
    for release in releases().values():
        assert release.addons.keys() == addons().keys()


def test_every_version_has_a_source_of_its_own() -> None:
    for release in releases().values():
        for pin in release.addons.values():
            assert re.fullmatch(r"v\d+\.\d+\.\d+-eksbuild\.\d+", pin.version)
            assert pin.source
            assert pin.confidence in {"high", "medium", "low"}


@pytest.mark.parametrize("version", sorted(releases()))
def test_kube_proxy_is_of_the_clusters_own_minor_version(version: str) -> None:
    assert releases()[version].addons["kube-proxy"].version.startswith(f"v{version}.")


def test_every_addon_is_installed_at_the_catalogs_version(plain: Engine) -> None:
    made = {each["addonName"]: each["addonVersion"] for each in plain.all("Addon")}
    assert made == {name: pin.version for name, pin in releases()["1.35"].addons.items()}


def test_a_stack_may_run_another_version_of_one_addon() -> None:
    engine = control_plane(addons=[{"name": "coredns", "version": "v1.14.3-eksbuild.9"}])
    made = {each["addonName"]: each["addonVersion"] for each in engine.all("Addon")}
    pins = {name: pin.version for name, pin in releases()["1.35"].addons.items()}
    assert made == {**pins, "coredns": "v1.14.3-eksbuild.9"}


def test_what_is_there_is_taken_over_and_what_people_changed_is_kept(plain: Engine) -> None:
    for addon in plain.all("Addon"):
        assert addon["resolveConflictsOnCreate"] == "OVERWRITE"
        assert addon["resolveConflictsOnUpdate"] == "PRESERVE"


@pytest.mark.parametrize("addon", sorted(FIRST))
def test_nodes_wait_for_the_addons_that_make_them_ready(plain: Engine, addon: str) -> None:
    system, made = plain.urn("cp-system", "NodeGroup"), plain.urn(f"cp-{addon}", "Addon")
    assert made in plain.dependencies[system]
    assert system not in everything_before(plain, made)


@pytest.mark.parametrize("addon", sorted(LATER))
def test_addons_that_run_on_nodes_wait_for_untainted_ones(plain: Engine, addon: str) -> None:
    system = plain.urn("cp-system", "NodeGroup")
    assert system in plain.dependencies[plain.urn(f"cp-{addon}", "Addon")]
    assert "taints" not in plain.named("cp-system", "NodeGroup")


def everything_before(engine: Engine, urn: str) -> set[str]:
    """Return all that ``urn`` waits for, however far."""
    found: set[str] = set()
    ahead = [urn]
    while ahead:
        for before in engine.dependencies[ahead.pop()]:
            if before not in found:
                found.add(before)
                ahead.append(before)
    return found


def test_an_addon_that_calls_aws_has_a_role_that_only_its_pods_of_this_cluster_take(
    plain: Engine,
) -> None:
    made = {
        each["serviceAccount"]: each["roleArn"]
        for each in plain.all("PodIdentityAssociation")
        if each["namespace"] == "kube-system"
    }
    assert made == {
        account: f"arn:mock:aws:iam/role:Role:cp-{addon}"
        for addon, (account, _) in IDENTITIES.items()
    }
    for addon in IDENTITIES:
        assert plain.named(f"cp-{addon}", "Role")["assumeRolePolicy"] == pod_trust(NAMES)


@pytest.mark.parametrize("addon", sorted(IDENTITIES))
def test_an_addon_starts_when_its_rights_are_there(plain: Engine, addon: str) -> None:
    policy = IDENTITIES[addon][1]
    kind = "RolePolicyAttachment" if policy else "RolePolicy"
    if policy:
        arn = plain.named(f"cp-{addon}", kind)["policyArn"]
        assert arn == f"arn:aws:iam::aws:policy/{policy}"
    before = plain.dependencies[plain.urn(f"cp-{addon}", "Addon")]
    assert plain.urn(f"cp-{addon}", kind) in before
    assert plain.urn(f"cp-{addon}", "PodIdentityAssociation") in before


def test_the_driver_of_the_file_system_may_look_at_file_systems_only(plain: Engine) -> None:
    policy = json.loads(plain.named("cp-aws-fsx-csi-driver", "RolePolicy")["policy"])
    assert [(s["Action"], s["Resource"]) for s in policy["Statement"]] == [
        (["fsx:DescribeFileSystems"], ["*"])
    ]


@pytest.mark.parametrize("addon", sorted((FIRST | LATER) - IDENTITIES.keys()))
def test_an_addon_that_calls_no_aws_api_has_no_role(plain: Engine, addon: str) -> None:
    assert f"cp-{addon}" not in {r.name for r in plain.declared if r.typ.endswith(":Role")}
    assert addons()[addon].rights is None


@given(pods=st.integers(8, 110))
def test_a_node_takes_as_many_prefixes_as_the_address_plan_counts(pods: int) -> None:
    settings: Any = told(pods_per_node=pods, system_nodes=3, gpu_pools=[])["vpc-cni"]
    least, warm = (int(settings["env"][f"{key}_IP_TARGET"]) for key in ("MINIMUM", "WARM"))
    # The CNI holds the larger of the least and what is used with the warm ones, in whole prefixes.
    held = {-(-max(least, used + warm) // PREFIX_ADDRESSES) for used in range(pods + 1)}
    assert held == {prefixes_for(pods)}


def test_the_cni_works_with_prefixes_and_judges_policies(plain: Engine) -> None:
    assert values(plain, "vpc-cni") == {
        "enableNetworkPolicy": "true",
        "env": {
            "ENABLE_PREFIX_DELEGATION": "true",
            "MINIMUM_IP_TARGET": "26",
            "WARM_IP_TARGET": "2",
        },
    }


def test_dns_grows_with_the_cluster_within_what_the_system_nodes_carry() -> None:
    engine = control_plane(system_nodes=6)
    assert values(engine, "coredns") == {
        "autoScaling": {"enabled": True, "minReplicas": 3, "maxReplicas": 24}
    }


def test_agents_of_a_node_are_on_nodes_that_nothing_else_may_use(plain: Engine) -> None:
    # Those that need to be told; the other agents tolerate every taint by themselves.
    monitoring = values(plain, "eks-node-monitoring-agent")
    assert monitoring["nodeAgent"]["tolerations"] == EVERY_TAINT
    assert monitoring["dcgmAgent"]["tolerations"] == EVERY_TAINT
    assert values(plain, "aws-ebs-csi-driver") == {"node": {"tolerateAllTaints": True}}


def test_the_gpu_server_is_on_every_gpu_pool_whatever_its_instance_type(plain: Engine) -> None:
    settings = values(plain, "eks-node-monitoring-agent")["dcgmAgent"]
    required = settings["affinity"]["nodeAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    [term] = required["nodeSelectorTerms"]
    assert term["matchExpressions"] == [
        {"key": "trainyard.dev/pool", "operator": "In", "values": ["train"]},
        {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
    ]
    assert not any(name in json.dumps(settings) for name in instance_types())


def test_without_gpus_the_gpu_server_is_left_as_it_is() -> None:
    settings = told(pods_per_node=24, system_nodes=3, gpu_pools=[])
    assert settings["eks-node-monitoring-agent"] == {"nodeAgent": {"tolerations": EVERY_TAINT}}


@pytest.mark.parametrize(
    ("rights", "problem"),
    [
        (
            "{service_account: a, pod_identity: false, actions: [s3:GetObject]}",
            "its software takes no rights from Pod Identity, and we give no other",
        ),
        (
            "{service_account: a, pod_identity: true}",
            "name either a managed_policy or actions",
        ),
        (
            "{service_account: a, pod_identity: true, managed_policy: P, actions: [s3:GetObject]}",
            "name either a managed_policy or actions",
        ),
    ],
)
def test_an_addon_whose_rights_cannot_be_given_is_no_addon_of_ours(
    rights: str, problem: str
) -> None:
    facts = "before_nodes: false, source: s, date: 2026-12-01, confidence: low"
    with pytest.raises(ValidationError) as caught:
        read(f"one: {{{facts}, rights: {rights}}}")
    [error] = caught.value.errors()
    assert error["msg"] == f"Value error, {problem}"
