from typing import Any

import pulumi
import pytest

from components.mpi_operator import MpiOperator
from tests.support.engine import Engine, run


def operator(source: str | None = None) -> Engine:
    def program() -> None:
        MpiOperator("operator", region="us-east-1", source=source, opts=pulumi.ResourceOptions())

    return run(program)


@pytest.mark.parametrize(
    ("source", "file"),
    [
        (
            None,
            (
                "https://raw.githubusercontent.com/kubeflow/mpi-operator/v0.8.0/manifests/base/"
                "kubeflow.org_mpijobs.yaml"
            ),
        ),
        ("mirror/mpijobs.yaml", "mirror/mpijobs.yaml"),
    ],
)
def test_the_kind_of_mpi_jobs_comes_from_a_pinned_manifest_or_a_mirror(
    source: str | None, file: str
) -> None:
    assert operator(source).only("ConfigFile")["file"] == file


def test_the_controller_has_room_for_the_pairs_of_a_large_wave() -> None:
    [container] = operator().only("Deployment")["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "docker.io/mpioperator/mpi-operator:0.8.0"
    assert container["args"] == [
        "--lock-namespace=mpi-operator",
        "--threadiness=16",
        "--kube-api-qps=200",
        "--kube-api-burst=400",
        "--controller-queue-rate-limit=1000",
        "--controller-queue-burst=10000",
    ]


def test_the_controller_starts_when_its_kind_and_its_rights_are_there() -> None:
    engine = operator()
    needed = engine.dependencies[engine.urn("operator", "Deployment")]
    for name, kind in (
        ("operator-crd", "ConfigFile"),
        ("operator", "ClusterRoleBinding"),
        ("operator", "RoleBinding"),
    ):
        assert engine.urn(name, kind) in needed


def test_the_controller_may_run_under_the_strictest_level() -> None:
    engine = operator()
    assert engine.only("Namespace")["metadata"] == {
        "name": "mpi-operator",
        "labels": {"pod-security.kubernetes.io/enforce": "restricted"},
    }
    pod = engine.only("Deployment")["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["containers"][0]["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }


def test_the_controller_may_start_an_evicted_launcher_again_and_run_nothing_in_pods() -> None:
    rights = {
        (resource, verb)
        for rule in operator().only("ClusterRole")["rules"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }
    assert ("jobs/status", "update") in rights
    assert not {resource for resource, _ in rights} & {"pods/exec", "customresourcedefinitions"}
    assert {verb for resource, verb in rights if resource == "mpijobs"} == {"list", "watch"}
    assert "*" not in {verb for _, verb in rights}


def test_leases_are_held_in_its_own_namespace_only() -> None:
    engine = operator()
    role: dict[str, Any] = engine.only("Role")
    assert role["metadata"]["namespace"] == "mpi-operator"
    assert role["rules"] == [
        {
            "apiGroups": ["coordination.k8s.io"],
            "resources": ["leases"],
            "verbs": ["create", "get", "update"],
        }
    ]
