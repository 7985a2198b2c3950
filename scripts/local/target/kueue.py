"""What Kueue's chart would put into a cluster, with its webhooks at URLs.

The controller is a process beside the control plane, and no Service network reaches it. So each
``clientConfig.service`` becomes a ``url`` of 127.0.0.1 with the target's own authority.
"""

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml
from lightkube import Client
from lightkube.codecs import from_dict

from scripts.local.target.files import write_private

__all__ = ["NAMESPACE", "apply_objects", "controller_configuration", "objects"]

NAMESPACE = "kueue-system"
FIELD_MANAGER = "trainyard-embedded-target"

CONVERTED = ("localqueues", "clusterqueues", "cohorts", "workloads", "multikueueclusters")
"""The CRDs with a conversion webhook, as config/components/crd/kustomization.yaml patches them."""

PLAIN_KINDS = frozenset({"pods", "deployments", "statefulsets"})
"""Kinds that system namespaces hold too; their webhooks leave those namespaces alone."""

SYSTEM_NAMESPACES = ("kube-system", NAMESPACE)

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

Object = dict[str, Any]


def objects(module: Path, webhook: str, ca: bytes) -> Iterator[Object]:
    """Give Kueue's namespace, CRDs, roles and webhook configurations, in the order to apply.

    Parameters
    ----------
    module
        The source folder of Kueue's Go module.
    webhook
        Where the controller serves its webhooks, ``https://host:port``.
    ca
        The authority that signed the webhook server's certificate, PEM.
    """
    components = module / "config" / "components"
    bundle = base64.b64encode(ca).decode()
    yield {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    for crd in _load(sorted((components / "crd" / "bases").glob("*.yaml"))):
        yield _converted(crd, webhook, bundle)
    for role in _load(sorted((components / "rbac").glob("*role.yaml"))):
        if role["kind"] == "ClusterRole":
            yield _renamed(role)
    yield _binding()
    for configuration in _load([components / "webhook" / "manifests.yaml"]):
        yield _redirected(configuration, webhook, bundle)


def _load(paths: Iterable[Path]) -> Iterator[Object]:
    for path in paths:
        with path.open("rb") as file:
            # The C loader: the largest CRD has 1.4 MB, which the Python one reads in seconds.
            yield from yaml.load_all(file, Loader=yaml.CSafeLoader)


def _renamed(item: Object) -> Object:
    """Prefix a name as kustomize does for the chart."""
    return item | {"metadata": item["metadata"] | {"name": f"kueue-{item['metadata']['name']}"}}


def _converted(crd: Object, webhook: str, bundle: str) -> Object:
    if crd["spec"]["names"]["plural"] not in CONVERTED:
        return crd
    client = {"url": f"{webhook}/convert", "caBundle": bundle}
    conversion = {
        "strategy": "Webhook",
        "webhook": {"clientConfig": client, "conversionReviewVersions": ["v1"]},
    }
    return crd | {"spec": crd["spec"] | {"conversion": conversion}}


def _redirected(configuration: Object, webhook: str, bundle: str) -> Object:
    selector = {
        "matchExpressions": [
            {
                "key": "kubernetes.io/metadata.name",
                "operator": "NotIn",
                "values": list(SYSTEM_NAMESPACES),
            }
        ]
    }
    hooks: list[Object] = []
    for hook in configuration["webhooks"]:
        path = hook["clientConfig"]["service"]["path"]
        changed: Object = hook | {
            "clientConfig": {"url": f"{webhook}{path}", "caBundle": bundle}
        }
        if PLAIN_KINDS & set(hook["rules"][0]["resources"]):
            changed["namespaceSelector"] = selector
        hooks.append(changed)
    return _renamed(configuration) | {"webhooks": hooks}


def _binding() -> Object:
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "kueue-manager-rolebinding"},
        "roleRef": {
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": "kueue-manager-role",
        },
        "subjects": [
            {
                "kind": "User",
                "apiGroup": "rbac.authorization.k8s.io",
                "name": "kueue-controller",
            }
        ],
    }


def apply_objects(client: Client, items: Iterable[Object], done: Path) -> bool:
    """Apply the objects on the server's side, unless ``done`` says that just these are applied.

    Says whether anything was applied.
    """
    items = list(items)
    digest = hashlib.sha256(json.dumps(items, sort_keys=True).encode()).hexdigest()
    if done.exists() and done.read_text(encoding="ascii") == digest:
        return False
    for item in items:
        client.apply(from_dict(item), field_manager=FIELD_MANAGER, force=True)
    write_private(done, digest.encode())
    return True


def controller_configuration(ports: Mapping[str, int], certificates: Path) -> Object:
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
        "internalCertManagement": {"enable": False},
        "leaderElection": {"leaderElect": False},
        # Ten times the chart's numbers: a gang of a thousand pods is one of the target's uses.
        "clientConnection": {"qps": 500, "burst": 1000},
        "controller": {
            "groupKindConcurrency": {"Job.batch": 5, "Pod": 5, "Workload.kueue.x-k8s.io": 5}
        },
        "integrations": {"frameworks": list(FRAMEWORKS)},
    }
