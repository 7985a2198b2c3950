"""A small Kubernetes API in memory, spoken to over HTTP, that runs Jobs by recordings at once."""

import json
from typing import TYPE_CHECKING
from urllib.parse import unquote

import httpx2
from lightkube import Client, KubeConfig
from lightkube.config.models import Cluster, User

from components.catalog import instance_type
from scripts.gate.devices import wanted
from scripts.gate.objects import Manifest, items, labels
from scripts.local.answers import SimulatedNode, all_reduce_log, node_check_log

if TYPE_CHECKING:
    from collections.abc import Callable

PLURALS = {
    "configmaps": "ConfigMap",
    "jobs": "Job",
    "nodes": "Node",
    "pods": "Pod",
    "secrets": "Secret",
    "services": "Service",
}


class ApiServer(httpx2.BaseTransport):
    """Holds objects by kind and name. ``trouble`` may answer a request in place of the API."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Manifest]] = {kind: {} for kind in PLURALS.values()}
        self.faults: dict[str, frozenset[str]] = {}
        self.requests: list[str] = []
        self.deleted: list[str] = []
        self.trouble: Callable[[str], httpx2.Response | None] = lambda _request: None
        self.pod_status: Callable[[Manifest], Manifest] = lambda _pod: {"phase": "Succeeded"}

    def client(self) -> Client:
        cluster = Cluster(server="http://api.test")
        config = KubeConfig.from_one(cluster=cluster, user=User(username="gate"))
        return Client(config=config, namespace="trainyard-gate", transport=self)

    def add_node(self, name: str, kind: str = "p5.48xlarge", **more: object) -> None:
        known = {
            "trainyard.dev/pool": "train",
            "trainyard.dev/wave": "1",
            "node.kubernetes.io/instance-type": kind,
        }
        self.objects["Node"][name] = {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": known, "resourceVersion": "1"},
            "spec": {
                "providerID": f"aws:///use1-az4/i-{name}",
                "taints": [
                    {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
                    {"key": "trainyard.dev/unproved", "value": "true", "effect": "NoSchedule"},
                ],
                **more,
            },
            "status": {
                "conditions": [{"type": "Ready", "status": "True"}],
                "allocatable": {
                    "cpu": "191",
                    **{name: str(count) for name, count in wanted(instance_type(kind)).items()},
                },
            },
        }

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        path = unquote(request.url.path)
        self.requests.append(f"{request.method} {path}")
        if (answer := self.trouble(self.requests[-1])) is not None:
            return answer
        parts = [part for part in path.split("/") if part in PLURALS or part not in {"api", "apis"}]
        plural = next(part for part in parts if part in PLURALS)
        rest = parts[parts.index(plural) + 1 :]
        held = self.objects[PLURALS[plural]]
        if rest and rest[0] not in held:
            return status(404, f"{plural} {rest[0]} not found")
        if rest[1:] == ["log"]:
            return httpx2.Response(200, text=self._log(held[rest[0]]))
        return getattr(self, f"_{request.method.lower()}")(request, PLURALS[plural], rest)

    def _get(self, request: httpx2.Request, kind: str, rest: list[str]) -> httpx2.Response:
        held = self.objects[kind]
        if rest:
            return httpx2.Response(200, json=held[rest[0]])
        selector = request.url.params.get("labelSelector") or ""
        wanted = dict(pair.split("=") for pair in selector.split(",") if pair)
        found = [item for item in held.values() if wanted.items() <= labels(item).items()]
        return httpx2.Response(200, json={"kind": f"{kind}List", "metadata": {}, "items": found})

    def _post(self, request: httpx2.Request, kind: str, _rest: list[str]) -> httpx2.Response:
        item = json.loads(request.content)
        name = item["metadata"]["name"]
        if name in self.objects[kind]:
            return status(409, f"{name} already exists")
        self.objects[kind][name] = item
        if kind == "Job":
            self._start(item)
        return httpx2.Response(201, json=item)

    def _patch(self, request: httpx2.Request, kind: str, rest: list[str]) -> httpx2.Response:
        item, patch = self.objects[kind][rest[0]], json.loads(request.content)
        version = patch.get("metadata", {}).get("resourceVersion")
        if version not in {None, item["metadata"].get("resourceVersion")}:
            return status(409, "the object has been modified")
        merge(item, patch)
        if version is not None:
            item["metadata"]["resourceVersion"] = str(int(version) + 1)
        return httpx2.Response(200, json=item)

    def _delete(self, _request: httpx2.Request, kind: str, rest: list[str]) -> httpx2.Response:
        del self.objects[kind][rest[0]]
        self.deleted.append(f"{kind} {rest[0]}")
        pods = self.objects["Pod"]
        for name in [name for name, pod in pods.items() if kind == "Job" and pod["job"] == rest[0]]:
            del pods[name]
        return httpx2.Response(200, json={"kind": "Status", "status": "Success"})

    def _start(self, job: Manifest) -> None:
        template = job["spec"]["template"]
        affinity = template["spec"]["affinity"]["nodeAffinity"]
        terms = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
        for index, term in enumerate(terms):
            name = f"{job['metadata']['name']}-{index}-x"
            known = {
                **template["metadata"]["labels"],
                "batch.kubernetes.io/job-name": job["metadata"]["name"],
                "batch.kubernetes.io/job-completion-index": str(index),
            }
            [node] = term["matchFields"][0]["values"]
            pod = {
                "metadata": {"name": name, "namespace": "trainyard-gate", "labels": known},
                "spec": {"nodeName": node, "containers": template["spec"]["containers"]},
                "job": job["metadata"]["name"],
            }
            self.objects["Pod"][name] = {**pod, "status": self.pod_status(pod)}

    def _log(self, pod: Manifest) -> str:
        pods = [each for each in self.objects["Pod"].values() if each["job"] == pod["job"]]
        nodes = [self._simulated(each["spec"]["nodeName"]) for each in pods]
        if labels(pod)["trainyard.dev/check"] == "node":
            return node_check_log(nodes[0])
        [container] = items(pod, "spec", "containers")
        return all_reduce_log(nodes, {each["name"]: each["value"] for each in container["env"]})

    def _simulated(self, name: str) -> SimulatedNode:
        kind = labels(self.objects["Node"][name])["node.kubernetes.io/instance-type"]
        return SimulatedNode(name, kind, self.faults.get(name, frozenset()))


def status(code: int, message: str) -> httpx2.Response:
    body = {"kind": "Status", "status": "Failure", "message": message, "code": code}
    return httpx2.Response(code, json=body)


def merge(item: Manifest, patch: Manifest) -> None:
    """Apply a JSON merge patch."""
    for key, value in patch.items():
        if value is None:
            item.pop(key, None)
        elif isinstance(value, dict):
            merge(item.setdefault(key, {}), value)
        else:
            item[key] = value
