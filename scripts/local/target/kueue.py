"""What Kueue's chart would put into a cluster, with its webhooks at URLs.

The controller is a process beside the control plane, and no Service network reaches it. So each
``clientConfig.service`` becomes a ``url`` of 127.0.0.1 with the target's own authority.
"""

import base64
import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from components.catalog import kueue_configuration
from scripts.local.target import manifests
from scripts.local.target.api import Json
from scripts.local.target.pki import Pki

__all__ = ["NAMESPACE", "controller_configuration", "edition", "objects"]

NAMESPACE = "kueue-system"

CONVERTED = ("localqueues", "clusterqueues", "cohorts", "workloads", "multikueueclusters")
"""The CRDs with a conversion webhook, as config/components/crd/kustomization.yaml patches them."""

PLAIN_KINDS = frozenset({"pods", "deployments", "statefulsets"})
"""Kinds that system namespaces hold too; their webhooks leave those namespaces alone."""

SYSTEM_NAMESPACES = ("kube-system", NAMESPACE)

AUTHORITY, WEBHOOK = "kueue-ca", "kueue-webhook"

FRAMEWORKS = (
    "batch/job",
    "kubeflow.org/mpijob",
    "jobset.x-k8s.io/jobset",
    "trainer.kubeflow.org/trainjob",
    "pod",
    "deployment",
    "statefulset",
)
"""What the controller admits; a framework whose CRD is not installed waits for it."""


def objects(module: Path, webhook: str, pki: Pki) -> Iterator[Json]:
    """Give Kueue's namespace, CRDs, roles and webhook configurations, in the order to apply.

    Parameters
    ----------
    module
        The source folder of Kueue's Go module.
    webhook
        Where the controller serves its webhooks, ``https://host:port``.
    pki
        Holds the webhooks' certificate and its authority.
    """
    components = module / "config" / "components"
    bundle = _base64(pki.certificate(AUTHORITY))
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    yield _secret(pki)
    for crd in manifests.load(sorted((components / "crd" / "bases").glob("*.yaml"))):
        yield _converted(crd, webhook, bundle)
    for pattern in ("*role.yaml", "*role_binding.yaml"):
        for role in manifests.load(sorted((components / "rbac").glob(pattern))):
            yield _role(role)
    for configuration in manifests.load([components / "webhook" / "manifests.yaml"]):
        yield _redirected(configuration, webhook, bundle)


def _base64(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()


def _secret(pki: Pki) -> Json:
    """Give the Secret in which Kueue keeps its certificate; a good one it leaves alone."""
    data = {
        "ca.crt": _base64(pki.certificate(AUTHORITY)),
        "ca.key": _base64(pki.key(AUTHORITY)),
        "tls.crt": _base64(pki.certificate(WEBHOOK)),
        "tls.key": _base64(pki.key(WEBHOOK)),
    }
    metadata = {"name": "kueue-webhook-server-cert", "namespace": NAMESPACE}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}


def _prefixed(named: Json) -> Json:
    return named | {"name": f"kueue-{named['name']}"}


def _renamed(item: Json) -> Json:
    """Prefix a name as kustomize does for the chart."""
    return item | {"metadata": _prefixed(item["metadata"])}


def _converted(crd: Json, webhook: str, bundle: str) -> Json:
    if crd["spec"]["names"]["plural"] not in CONVERTED:
        return crd
    client = {"url": f"{webhook}/convert", "caBundle": bundle}
    conversion = {
        "strategy": "Webhook",
        "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]},
    }
    return crd | {"spec": crd["spec"] | {"conversion": conversion}}


def _redirected(configuration: Json, webhook: str, bundle: str) -> Json:
    selector = {
        "matchExpressions": [
            {
                "key": "kubernetes.io/metadata.name",
                "operator": "NotIn",
                "values": list(SYSTEM_NAMESPACES),
            }
        ]
    }
    hooks: list[Json] = []
    for hook in configuration["webhooks"]:
        path = hook["clientConfig"]["service"]["path"]
        changed: Json = hook | {"clientConfig": {"url": f"{webhook}{path}", "caBundle": bundle}}
        if PLAIN_KINDS & set(hook["rules"][0]["resources"]):
            changed["namespaceSelector"] = selector
        hooks.append(changed)
    return _renamed(configuration) | {"webhooks": hooks}


def _role(item: Json) -> Json:
    """Give a role or a binding as kustomize would, bound to the controller's certificate."""
    changed = _renamed(item)
    if "namespace" in changed["metadata"]:
        changed["metadata"]["namespace"] = NAMESPACE
    if "roleRef" in changed:
        changed["roleRef"] = _prefixed(item["roleRef"])
    return manifests.bound_to("kueue-controller", changed)


def edition(version: str, webhook: str, pki: Pki) -> str:
    """Give a digest of all that the objects are made from; much quicker than to make them."""
    digest = hashlib.sha256(manifests.code(__file__))
    digest.update(f"{version} {webhook}".encode())
    for name in (AUTHORITY, WEBHOOK):
        digest.update(pki.certificate(name).read_bytes())
    return digest.hexdigest()


def controller_configuration(ports: Mapping[str, int], certificates: Path) -> Json:
    """Give the controller's configuration; ``certificates`` holds ``tls.crt`` and ``tls.key``."""
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": NAMESPACE,
        "health": {"healthProbeBindAddress": f"127.0.0.1:{ports['kueue-health']}"},
        # "0" serves no metrics: nobody scrapes them here, and they would want more certificates.
        "metrics": {"bindAddress": "0"},
        "webhook": {
            "host": "127.0.0.1",
            "port": ports["kueue-webhook"],
            "certDir": str(certificates),
        },
        # Enabled, because otherwise it insists on certificates in /etc. It finds good ones in its
        # Secret and makes none.
        "internalCertManagement": {
            "enable": True,
            "webhookServiceName": "kueue-webhook-service",
            "webhookSecretName": "kueue-webhook-server-cert",
        },
        "leaderElection": {"leaderElect": False},
        # Ten times the chart's numbers: a gang of a thousand pods is one of the target's uses.
        "clientConnection": {"qps": 500, "burst": 1000},
        "controller": kueue_configuration()["controller"],
        "integrations": {"frameworks": list(FRAMEWORKS)},
    }
