from pathlib import Path

from scripts.local.target import manifests

BINDING = {
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "operator"},
    "roleRef": {"kind": "ClusterRole", "name": "operator"},
    "subjects": [{"kind": "ServiceAccount", "name": "operator"}],
}


def test_files_of_several_documents_are_read_in_their_order(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("name: first\n---\nname: second\n")
    (tmp_path / "b.yaml").write_text("name: third\n")
    found = manifests.load([tmp_path / "b.yaml", tmp_path / "a.yaml"])
    assert [item["name"] for item in found] == ["third", "first", "second"]


def test_a_binding_names_the_certificate_instead_of_the_account() -> None:
    user = {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": "someone"}
    assert manifests.bound_to("someone", BINDING) == BINDING | {"subjects": [user]}


def test_a_role_stays_as_it_is() -> None:
    role = {"kind": "ClusterRole", "metadata": {"name": "operator"}, "rules": []}
    assert manifests.bound_to("someone", role) == role


def test_the_code_of_what_makes_objects_is_its_own_and_that_of_manifests() -> None:
    code = manifests.code(__file__)
    assert Path(__file__).read_bytes() in code
    assert Path(manifests.__file__).read_bytes() in code
