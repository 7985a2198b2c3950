from pathlib import Path

import pytest
import yaml

from scripts.local.target import mpi_operator, pki

ROLE = {"kind": "ClusterRole", "metadata": {"name": "mpi-operator"}, "rules": []}
VIEW = {"kind": "ClusterRole", "metadata": {"name": "kubeflow-mpijobs-view"}, "rules": []}
BINDING = {
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "mpi-operator"},
    "roleRef": {"kind": "ClusterRole", "name": "mpi-operator"},
    "subjects": [{"kind": "ServiceAccount", "name": "mpi-operator"}],
}
CRD = {"kind": "CustomResourceDefinition", "metadata": {"name": "mpijobs.kubeflow.org"}}


@pytest.fixture
def module(tmp_path: Path) -> Path:
    base = tmp_path / "manifests" / "base"
    base.mkdir(parents=True)
    for name, documents in {
        "cluster-role-binding.yaml": [BINDING],
        "cluster-role.yaml": [ROLE, VIEW],
        "deployment.yaml": [{"kind": "Deployment", "metadata": {"name": "mpi-operator"}}],
        "kubeflow.org_mpijobs.yaml": [CRD],
        "service-account.yaml": [{"kind": "ServiceAccount", "metadata": {"name": "mpi-operator"}}],
    }.items():
        (base / name).write_text(yaml.safe_dump_all(documents))
    return tmp_path


def test_its_crd_and_roles_are_applied_but_no_pod_and_no_account(module: Path) -> None:
    user = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "mpi-operator"}
    assert list(mpi_operator.objects(module)) == [CRD, ROLE, VIEW, BINDING | {"subjects": [user]}]


def test_the_roles_are_bound_to_the_name_in_its_certificate() -> None:
    assert pki.CLIENTS["mpi-operator"] == (mpi_operator.USER, ())


def test_the_edition_changes_with_the_version() -> None:
    first = mpi_operator.edition("v0.8.0")
    assert mpi_operator.edition("v0.8.0") == first
    assert mpi_operator.edition("v0.9.0") != first
