import base64
from pathlib import Path

import pytest
import yaml

from scripts.local.target import kueue
from scripts.local.target.pki import Pki

CRD = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "x.kueue.x-k8s.io"},
}


def hook(resource: str) -> dict:
    service = {"name": "webhook-service", "namespace": "system", "path": f"/validate-{resource}"}
    return {
        "name": f"{resource}.kb.io",
        "clientConfig": {"service": service},
        "rules": [{"resources": [resource]}],
    }


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """Make a module with one file of each kind."""
    files = {
        "crd/bases/queues.yaml": CRD | {"spec": {"names": {"plural": "clusterqueues"}}},
        "crd/bases/topologies.yaml": CRD | {"spec": {"names": {"plural": "topologies"}}},
        "rbac/secrets_role.yaml": {
            "kind": "Role",
            "metadata": {"name": "manager-secrets-role", "namespace": "system"},
            "rules": [],
        },
        "rbac/secrets_role_binding.yaml": {
            "kind": "RoleBinding",
            "metadata": {"name": "manager-secrets-rolebinding", "namespace": "system"},
            "roleRef": {"kind": "Role", "name": "manager-secrets-role"},
            "subjects": [{"kind": "ServiceAccount", "name": "controller-manager"}],
        },
        "webhook/manifests.yaml": {
            "kind": "ValidatingWebhookConfiguration",
            "metadata": {"name": "validating-webhook-configuration"},
            "webhooks": [hook("clusterqueues"), hook("pods")],
        },
    }
    for name, content in files.items():
        path = tmp_path / "module" / "config" / "components" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(yaml.safe_dump(content))
    return tmp_path / "module"


@pytest.fixture
def pki(tmp_path: Path) -> Pki:
    pki = Pki(tmp_path / "pki")
    pki.folder.mkdir()
    for name in ("kueue-ca", "kueue-webhook"):
        pki.certificate(name).write_text(f"{name} certificate")
        pki.key(name).write_text(f"{name} key")
    return pki


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.fixture
def items(module: Path, pki: Pki) -> dict[str, dict]:
    found = kueue.objects(module, "https://127.0.0.1:9443", pki)
    return {f"{item['kind']} {item['metadata']['name']}": item for item in found}


def test_the_objects_carry_the_names_of_the_chart(module: Path, pki: Pki) -> None:
    found = kueue.objects(module, "https://127.0.0.1:9443", pki)
    assert [f"{item['kind']} {item['metadata']['name']}" for item in found] == [
        "Namespace kueue-system",
        "Secret kueue-webhook-server-cert",
        "CustomResourceDefinition x.kueue.x-k8s.io",
        "CustomResourceDefinition x.kueue.x-k8s.io",
        "Role kueue-manager-secrets-role",
        "RoleBinding kueue-manager-secrets-rolebinding",
        "ValidatingWebhookConfiguration kueue-validating-webhook-configuration",
    ]


def test_only_crds_of_two_versions_are_converted_and_at_the_url(module: Path, pki: Pki) -> None:
    found = kueue.objects(module, "https://127.0.0.1:9443", pki)
    crds = [item for item in found if item["kind"] == "CustomResourceDefinition"]
    conversions = {crd["spec"]["names"]["plural"]: crd["spec"].get("conversion") for crd in crds}
    client = {"url": "https://127.0.0.1:9443/convert", "caBundle": encoded("kueue-ca certificate")}
    assert conversions == {
        "clusterqueues": {
            "strategy": "Webhook",
            "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]},
        },
        "topologies": None,
    }


def test_webhooks_are_called_at_the_url_and_leave_system_pods_alone(items: dict) -> None:
    configuration = items["ValidatingWebhookConfiguration kueue-validating-webhook-configuration"]
    bundle = encoded("kueue-ca certificate")
    system = {
        "matchExpressions": [
            {
                "key": "kubernetes.io/metadata.name",
                "operator": "NotIn",
                "values": ["kube-system", "kueue-system"],
            }
        ]
    }
    url = "https://127.0.0.1:9443/validate-"
    assert configuration["webhooks"] == [
        hook("clusterqueues")
        | {"clientConfig": {"url": f"{url}clusterqueues", "caBundle": bundle}},
        hook("pods")
        | {
            "clientConfig": {"url": f"{url}pods", "caBundle": bundle},
            "namespaceSelector": system,
        },
    ]


def test_roles_are_bound_to_the_certificate_of_the_controller(items: dict) -> None:
    assert items["RoleBinding kueue-manager-secrets-rolebinding"] == {
        "kind": "RoleBinding",
        "metadata": {"name": "kueue-manager-secrets-rolebinding", "namespace": "kueue-system"},
        "roleRef": {"kind": "Role", "name": "kueue-manager-secrets-role"},
        "subjects": [
            {
                "kind": "User",
                "apiGroup": "rbac.authorization.k8s.io",
                "name": "kueue-controller",
            }
        ],
    }


def test_kueue_finds_its_certificate_in_its_secret(items: dict) -> None:
    assert items["Secret kueue-webhook-server-cert"]["data"] == {
        "ca.crt": encoded("kueue-ca certificate"),
        "ca.key": encoded("kueue-ca key"),
        "tls.crt": encoded("kueue-webhook certificate"),
        "tls.key": encoded("kueue-webhook key"),
    }


def test_the_edition_changes_with_what_the_objects_are_made_from(pki: Pki) -> None:
    url = "https://127.0.0.1:9443"
    first = kueue.edition("v0.17.0", url, pki)
    assert kueue.edition("v0.17.0", url, pki) == first
    assert kueue.edition("v0.18.0", url, pki) != first
    assert kueue.edition("v0.17.0", "https://127.0.0.1:9444", pki) != first
    pki.certificate("kueue-webhook").write_text("renewed")
    assert kueue.edition("v0.17.0", url, pki) != first
