import base64
import json
from pathlib import Path

import pytest

from scripts.local.target import etcd


class Store:
    """The keys and values of an etcd."""

    def __init__(self, content: dict[str, str]) -> None:
        self.content = dict(content)
        self.deletions: list[tuple[str, str]] = []

    def values(self) -> dict[str, str]:
        return dict(self.content)

    def delete(self, first: str, last: str) -> None:
        self.deletions.append((first, last))
        self.content = {k: v for k, v in self.content.items() if not first <= k <= last}

    def put(self, key: str, value: str) -> None:
        self.content[key] = value


FRESH = {
    "/registry/namespaces/default": "1",
    "/registry/namespaces/kube-system": "2",
    "/registry/leases/kube-system/apiserver": "3",
    "/registry/events/default/a": "4",
}


def test_a_baseline_holds_what_lasts(tmp_path: Path) -> None:
    etcd.save_baseline(Store(FRESH), tmp_path / "baseline.json")
    assert json.loads((tmp_path / "baseline.json").read_text()) == {
        "/registry/namespaces/default": "1",
        "/registry/namespaces/kube-system": "2",
    }


def test_what_came_later_goes_and_what_was_changed_is_mended(tmp_path: Path) -> None:
    store = Store(FRESH)
    etcd.save_baseline(store, tmp_path / "baseline.json")
    store.content |= {
        "/registry/namespaces/default": "with labels",
        "/registry/namespaces/tenant": "5",
        "/registry/minions/node-1": "6",
        "/registry/minions/node-2": "7",
        "/registry/leases/kube-node-lease/node-1": "8",
    }
    del store.content["/registry/namespaces/kube-system"]
    assert etcd.restore_baseline(store, tmp_path / "baseline.json") == 7
    assert store.content == {
        "/registry/namespaces/default": "1",
        "/registry/namespaces/kube-system": "2",
        "/registry/leases/kube-system/apiserver": "3",
    }


def test_objects_that_are_installed_later_are_added_as_they_are_stored(tmp_path: Path) -> None:
    path = tmp_path / "baseline.json"
    store = Store(FRESH)
    etcd.save_baseline(store, path)
    added = {
        "/registry/clusterroles/operator": "5",
        "/registry/secrets/operators/operator": "6",
    }
    store.content |= added | {"/registry/roles/operator": "7", "/registry/secrets/operator": "8"}
    metadata = {"name": "operator"}
    items = [
        {"kind": "ClusterRole", "metadata": metadata},
        {"kind": "Secret", "metadata": metadata | {"namespace": "operators"}},
        {"kind": "ConfigMap", "metadata": metadata},
    ]
    before = json.loads(path.read_text())
    etcd.add_to_baseline(store, path, items)
    assert json.loads(path.read_text()) == before | added


def test_neighbouring_keys_go_in_one_call(tmp_path: Path) -> None:
    store = Store(FRESH)
    etcd.save_baseline(store, tmp_path / "baseline.json")
    del store.content["/registry/events/default/a"]
    store.content |= {f"/registry/pods/default/{number}": "x" for number in range(1000)}
    etcd.restore_baseline(store, tmp_path / "baseline.json")
    assert store.deletions == [("/registry/pods/default/0", "/registry/pods/default/999")]


def test_without_a_baseline_nothing_is_deleted(tmp_path: Path) -> None:
    store = Store(FRESH)
    with pytest.raises(FileNotFoundError):
        etcd.restore_baseline(store, tmp_path / "baseline.json")
    assert store.content == FRESH


def test_a_range_covers_the_keys_of_a_prefix() -> None:
    decoded = {name: base64.b64decode(key) for name, key in etcd._range("/registry/").items()}
    assert decoded == {"key": b"/registry/", "range_end": b"/registry0"}
