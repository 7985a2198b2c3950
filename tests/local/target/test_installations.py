import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Self

import pytest

from scripts.local.target.installations import Installation, install
from scripts.local.target.part import MPI_OBJECTS

CRD = {"kind": "CustomResourceDefinition", "metadata": {"name": "mpijobs.kubeflow.org"}}
ROLE = {"kind": "ClusterRole", "metadata": {"name": "mpi-operator"}}
WANTED = Installation(MPI_OBJECTS, "applied", "edition 1", lambda: iter([CRD, ROLE]))
REGISTRY = {
    "/registry/apiextensions.k8s.io/customresourcedefinitions/mpijobs.kubeflow.org": "crd",
    "/registry/clusterroles/mpi-operator": "role",
    "/registry/namespaces/mpi-operator": "of a program",
}


class Cluster:
    """A control plane and its store, which remember what was applied."""

    def __init__(self, *, refuses: str | None = None) -> None:
        self.applied: list[str] = []
        self.refuses = refuses

    def __call__(self) -> Self:
        return self

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def apply(self, item: dict) -> None:
        if item["kind"] == self.refuses:
            raise ConnectionError(self.refuses)
        self.applied.append(item["kind"])

    def values(self) -> dict[str, str]:
        return dict(REGISTRY)


@pytest.fixture
def installed(tmp_path: Path) -> Callable[..., bool]:
    def run(cluster: Cluster, wanted: Installation = WANTED) -> bool:
        return install(wanted, tmp_path, cluster, cluster)

    return run


def test_objects_are_applied_in_their_order_and_only_once(
    installed: Callable[..., bool],
) -> None:
    cluster = Cluster()
    assert installed(cluster)
    assert cluster.applied == ["CustomResourceDefinition", "ClusterRole"]
    assert not installed(cluster)
    assert len(cluster.applied) == 2


def test_another_edition_is_applied_again(installed: Callable[..., bool]) -> None:
    cluster = Cluster()
    installed(cluster)
    assert installed(cluster, replace(WANTED, edition="edition 2"))
    assert len(cluster.applied) == 4


def test_what_was_applied_in_part_is_applied_again(installed: Callable[..., bool]) -> None:
    with pytest.raises(ConnectionError):
        installed(Cluster(refuses="ClusterRole"))
    assert installed(Cluster())


def test_a_home_of_an_earlier_edition_keeps_the_new_objects_when_it_is_emptied(
    installed: Callable[..., bool], tmp_path: Path
) -> None:
    baseline = tmp_path / "baseline.json"
    baseline.write_text('{"/registry/namespaces/default": "1"}')
    installed(Cluster())
    kept = {key: value for key, value in REGISTRY.items() if "namespaces" not in key}
    assert json.loads(baseline.read_text()) == {"/registry/namespaces/default": "1"} | kept


def test_the_first_installation_leaves_the_baseline_to_be_saved(
    installed: Callable[..., bool], tmp_path: Path
) -> None:
    installed(Cluster())
    assert not (tmp_path / "baseline.json").exists()
