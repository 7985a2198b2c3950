"""A small Kubernetes API in memory, spoken to over HTTP, that runs Jobs by recordings at once.

MPIJobs are run as the MPI operator runs them. The scheduler likes the last of the nodes best, so
that the launcher is hardly ever on the first.
"""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import unquote

import httpx2
from lightkube import Client, KubeConfig
from lightkube.config.models import Cluster, User

from components.catalog import instance_type
from scripts.gate.devices import wanted
from scripts.gate.objects import Manifest, items, labels, mapping
from scripts.local.answers import SimulatedNode, answer

if TYPE_CHECKING:
    from collections.abc import Callable

PLURALS = {
    "configmaps": "ConfigMap",
    "jobs": "Job",
    "mpijobs": "MPIJob",
    "nodes": "Node",
    "pods": "Pod",
    "services": "Service",
    "workloads": "Workload",
}
JOBS = {"Job", "MPIJob"}


class ApiServer(httpx2.BaseTransport):
    """Holds objects by kind and name. ``trouble`` may answer a request in place of the API.

    Kinds in ``unknown`` are not served; Jobs in ``queued`` are never admitted by their queue. Where
    no ``operator`` runs, MPIJobs stay as they are.
    """

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Manifest]] = {kind: {} for kind in PLURALS.values()}
        self.faults: dict[str, frozenset[str]] = {}
        self.unknown: set[str] = set()
        self.queued: set[str] = set()
        self.operator = True
        self.place: Callable[[list[str]], str] = lambda free: free.pop()
        self.requests: list[str] = []
        self.deleted: list[str] = []
        self.trouble: Callable[[str], httpx2.Response | None] = lambda _request: None
        self.pod_status: Callable[[Manifest], Manifest] = lambda _pod: {"phase": "Succeeded"}

    def client(self) -> Client:
        cluster = Cluster(server="http://api.test", insecure=True)
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
        if PLURALS[plural] in self.unknown:
            return httpx2.Response(404, text="404 page not found\n")
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
        found = [
            {key: value for key, value in item.items() if key not in {"kind", "apiVersion"}}
            for item in self._selected(request, kind)
        ]
        return httpx2.Response(200, json={"kind": f"{kind}List", "metadata": {}, "items": found})

    def _selected(self, request: httpx2.Request, kind: str) -> list[Manifest]:
        selector = request.url.params.get("labelSelector") or ""
        wanted = dict(pair.split("=") for pair in selector.split(",") if pair)
        held = list(self.objects[kind].values())
        return [item for item in held if wanted.items() <= labels(item).items()]

    def _post(self, request: httpx2.Request, kind: str, _rest: list[str]) -> httpx2.Response:
        item = json.loads(request.content)
        name = item["metadata"]["name"]
        if name in self.objects[kind]:
            return status(409, f"{name} already exists")
        item["metadata"] |= {"uid": f"uid-of-{name}", "resourceVersion": "1"}
        self.objects[kind][name] = item
        if kind in JOBS and name in self.queued:
            (item["spec"]["runPolicy"] if kind == "MPIJob" else item["spec"])["suspend"] = True
        elif kind == "Job":
            self._start(item)
        elif kind == "MPIJob" and self.operator:
            self._start_mpi(item)
        return httpx2.Response(201, json=item)

    def _patch(self, request: httpx2.Request, kind: str, rest: list[str]) -> httpx2.Response:
        item, patch = self.objects[kind][rest[0]], json.loads(request.content)
        version = patch.get("metadata", {}).get("resourceVersion")
        if version not in {None, item["metadata"].get("resourceVersion")}:
            return status(409, "the object has been modified")
        merge(item, patch)
        read = item["metadata"].get("resourceVersion", "1")
        item["metadata"]["resourceVersion"] = str(int(read) + 1)
        return httpx2.Response(200, json=item)

    def _delete(self, request: httpx2.Request, kind: str, rest: list[str]) -> httpx2.Response:
        if rest:
            assert kind == "ConfigMap", "the gate deletes Jobs by label only"
            return httpx2.Response(200, json=self.objects[kind].pop(rest[0]))
        assert request.url.params["propagationPolicy"] == "Background"
        for item in self._selected(request, kind):
            name = item["metadata"]["name"]
            del self.objects[kind][name]
            self.deleted.append(f"{kind} {name}")
            pods = self.objects["Pod"]
            for pod in [pod for pod, held in pods.items() if kind in JOBS and held["job"] == name]:
                del pods[pod]
        return httpx2.Response(200, json={"kind": "Status", "status": "Success"})

    def _start(self, job: Manifest) -> None:
        name, template = job["metadata"]["name"], job["spec"]["template"]
        [node] = places(template)
        self._pod(name, f"{name}-x", template, node, {"batch.kubernetes.io/job-name": name})

    def _start_mpi(self, job: Manifest) -> None:
        """Make the pods of an MPIJob, with the labels that the operator gives them."""
        name, replicas = job["metadata"]["name"], job["spec"]["mpiReplicaSpecs"]
        free = places(replicas["Launcher"]["template"])
        condition = {"type": "Created", "status": "True", "reason": "MPIJobCreated"}
        job["status"] = {"conditions": [condition]}
        workers = replicas.get("Worker", {"replicas": 0})
        for rank in range(1 + workers["replicas"]):
            role = "worker" if rank else "launcher"
            known = {
                "training.kubeflow.org/job-name": name,
                "training.kubeflow.org/job-role": role,
                "training.kubeflow.org/replica-index": str(rank),
                **({} if rank else {"batch.kubernetes.io/job-name": f"{name}-launcher"}),
            }
            pod = f"{name}-worker-{rank - 1}" if rank else f"{name}-launcher-x"
            self._pod(
                name,
                pod,
                (workers if rank else replicas["Launcher"])["template"],
                self.place(free),
                known,
            )

    def _pod(
        self, job: str, name: str, template: Manifest, node: str, known: Mapping[str, str]
    ) -> None:
        pod = {
            "metadata": {
                "name": name,
                "namespace": "trainyard-gate",
                "labels": {**template["metadata"]["labels"], **known},
            },
            "spec": {"nodeName": node, "containers": template["spec"]["containers"]},
            "job": job,
        }
        pod["status"] = self.pod_status(pod)
        # Who serves ssh does so until the MPIJob is deleted.
        if known.get("training.kubeflow.org/job-role") == "worker":
            pod["status"] = {"phase": "Running"}
        self.objects["Pod"][name] = pod

    def _log(self, pod: Manifest) -> str:
        pods = [each for each in self.objects["Pod"].values() if each["job"] == pod["job"]]
        ranked = sorted(
            pods, key=lambda each: int(labels(each).get("training.kubeflow.org/replica-index", "0"))
        )
        nodes = [self._simulated(each["spec"]["nodeName"]) for each in ranked]
        [container] = items(pod, "spec", "containers")
        env = {each["name"]: each.get("value", "") for each in container["env"]}
        return answer(labels(pod)["trainyard.dev/check"], nodes, env) or ""

    def _simulated(self, name: str) -> SimulatedNode:
        kind = labels(self.objects["Node"][name])["node.kubernetes.io/instance-type"]
        return SimulatedNode(name, kind, self.faults.get(name, frozenset()))


def places(template: Manifest) -> list[str]:
    """Return the nodes that a pod may go to."""
    affinity = mapping(template, "spec", "affinity", "nodeAffinity")
    terms = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    return [name for term in terms for name in term["matchFields"][0]["values"]]


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
