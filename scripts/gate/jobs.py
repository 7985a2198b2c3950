"""The manifests of the gate's Jobs. Pure: from names and the catalog to plain data."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from components.catalog import Accelerator, InstanceType
from scripts.errors import UsageError
from scripts.gate.objects import Manifest
from scripts.nccl.expectation import sweep

__all__ = ["CONTAINER", "GateJob", "JobMaker", "accelerator", "require_digest"]

SCRIPTS = Path(__file__).parents[1] / "jobs"

CONTAINER: Final = "check"
NCCL_TESTS: Final = "/opt/nccl-tests/build"
"""Where the image of the checks has its programs."""

SSH_PORT: Final = 2222
HUGE_PAGES: Final = "5120Mi"
"""What libfabric takes for the bounce buffers of one node (awsome-distributed-ai nccl-tests)."""

KEEP_FINISHED_SECONDS: Final = 3600
"""Jobs are deleted by the gate; this cleans up after one that was killed."""

_DIGEST = re.compile(r"[^@\s]+@sha256:[0-9a-f]{64}")

TOLERATIONS: Final = (
    {"key": "trainyard.dev/unproved", "operator": "Exists", "effect": "NoSchedule"},
    {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
    # A node that failed before is cordoned until it has passed.
    {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"},
)


@dataclass(frozen=True, slots=True)
class GateJob:
    """A Job to run: its name, the nodes it was made for, and whose log speaks for it."""

    name: str
    nodes: tuple[str, ...]
    manifest: Manifest

    @property
    def hosts(self) -> tuple[str, ...]:
        """Host names of its pods, in rank order."""
        return tuple(f"{self.name}-{index}" for index in range(len(self.nodes)))


def require_digest(image: str) -> None:
    """Refuse an image by tag: what proves nodes must not change between two of them.

    Raises
    ------
    UsageError
        If ``image`` has no digest.
    """
    if not _DIGEST.fullmatch(image):
        raise UsageError(
            f"image {image!r} is not pinned; give it as NAME@sha256:DIGEST (64 hex digits), so "
            "that every node is proved by the same program"
        )


def accelerator(instance: InstanceType) -> Accelerator:
    """Return the GPUs of a type, or refuse a type that the gate cannot prove."""
    if instance.accelerator is None or instance.accelerator.vendor != "nvidia":
        raise UsageError(f"{instance.name} has no NVIDIA GPU; the gate proves NVIDIA nodes only")
    return instance.accelerator


@dataclass(frozen=True, slots=True, kw_only=True)
class JobMaker:
    """Makes the objects of one run of the gate; all carry its labels."""

    run: str
    pool: str
    wave: str
    namespace: str
    image: str
    instance: InstanceType

    @property
    def run_name(self) -> str:
        """Name of what all Jobs of the run share."""
        return f"gate-{self.run}"

    @property
    def labels(self) -> dict[str, str]:
        """Labels of every object of the run."""
        return {
            "app.kubernetes.io/name": "trainyard-gate",
            "trainyard.dev/run": self.run,
            "trainyard.dev/gate-of": f"{self.pool}-{self.wave}",
        }

    def shared(self, private_key: str, public_key: str) -> list[Manifest]:
        """Return the Service that names the pods, and the Secret with the run's key pair."""
        meta = {"name": self.run_name, "namespace": self.namespace, "labels": self.labels}
        service = {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": meta,
            "spec": {
                "clusterIP": "None",
                "publishNotReadyAddresses": True,
                "selector": {
                    "trainyard.dev/run": self.run,
                    "trainyard.dev/check": "all-reduce",
                },
                "ports": [{"name": "ssh", "port": SSH_PORT}],
            },
        }
        secret = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": meta,
            "immutable": True,
            "stringData": {
                "id": private_key,
                "id.pub": public_key,
                # The pods' host key is the same pair: nobody else holds it.
                "known_hosts": f"* {public_key}",
            },
        }
        return [service, secret]

    def node_check(self, label: str, node: str, seconds: float) -> GateJob:
        """Return the Job that captures one node."""
        return self.node_job(
            label,
            node,
            seconds,
            check="node",
            script="node_check.sh",
            environment={},
            capabilities=["SYSLOG", "IPC_LOCK"],
        )

    def node_job(  # noqa: PLR0913 - each tells one thing of the pod
        self,
        label: str,
        node: str,
        seconds: float,
        *,
        check: str,
        script: str,
        environment: Mapping[str, str],
        capabilities: Sequence[str],
        volumes: Sequence[Manifest] = (),
        mounts: Sequence[Manifest] = (),
    ) -> GateJob:
        """Return a Job of one pod that runs a script of ``scripts/jobs`` on a node.

        ``check`` names it: the label by which such Jobs are found.
        """
        pod = self._pod(
            check, [node], script=script, environment=environment, capabilities=capabilities
        )
        pod["volumes"] += map(dict, volumes)
        pod["containers"][0]["volumeMounts"] += map(dict, mounts)
        return self._job(f"{self.run_name}-{label}", [node], pod, seconds, check)

    def all_reduce(
        self, label: str, nodes: Sequence[str], seconds: float, collective: str = "all_reduce"
    ) -> GateJob:
        """Return the Indexed Job that runs one collective over ``nodes``; index 0 launches it.

        It is an all-reduce if nothing else is asked for, and its pods carry that name in any case:
        the Service knows them by it.
        """
        name = f"{self.run_name}-{label}"
        sizes = sweep(self.instance)
        pod = self._pod(
            "all-reduce",
            nodes,
            script="all_reduce.sh",
            environment={
                "GATE_JOB": name,
                "GATE_SERVICE": self.run_name,
                "GATE_NODES": str(len(nodes)),
                "GATE_GPUS": str(accelerator(self.instance).count),
                "GATE_MIN_BYTES": str(sizes.low),
                "GATE_MAX_BYTES": str(sizes.high),
                "GATE_SSH_PORT": str(SSH_PORT),
                "GATE_SECONDS": str(int(seconds)),
                "GATE_BINARY": f"{NCCL_TESTS}/{collective}_perf",
            },
            capabilities=["IPC_LOCK"],
        )
        pod["subdomain"] = self.run_name
        pod["volumes"].append(
            {"name": "ssh", "secret": {"secretName": self.run_name, "defaultMode": 0o400}}
        )
        pod["containers"][0]["volumeMounts"].append(
            {"name": "ssh", "mountPath": "/etc/gate-ssh", "readOnly": True}
        )
        return self._job(name, nodes, pod, seconds, "all-reduce")

    def _job(
        self, name: str, nodes: Sequence[str], pod: Manifest, seconds: float, check: str
    ) -> GateJob:
        labels = {**self.labels, "trainyard.dev/check": check}
        manifest = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "namespace": self.namespace, "labels": labels},
            "spec": {
                "completionMode": "Indexed",
                "completions": len(nodes),
                "parallelism": len(nodes),
                "backoffLimit": 0,
                "activeDeadlineSeconds": int(seconds),
                "ttlSecondsAfterFinished": KEEP_FINISHED_SECONDS,
                "template": {
                    "metadata": {
                        "labels": labels,
                        "annotations": {"karpenter.sh/do-not-disrupt": "true"},
                    },
                    "spec": pod,
                },
            },
        }
        return GateJob(name, tuple(nodes), manifest)

    def _pod(
        self,
        check: str,
        nodes: Sequence[str],
        *,
        script: str,
        environment: Mapping[str, str],
        capabilities: Sequence[str],
    ) -> Manifest:
        memory = self.instance.memory_gib
        resources: dict[str, str] = {
            "cpu": str(max(1, self.instance.vcpus // 4)),
            "memory": f"{max(1, memory // 4)}Gi",
            # All GPUs of a node, so that two pods never share one.
            "nvidia.com/gpu": str(accelerator(self.instance).count),
        }
        if self.instance.efa_interfaces:
            resources["vpc.amazonaws.com/efa"] = str(self.instance.efa_interfaces)
            resources["hugepages-2Mi"] = HUGE_PAGES
        container = {
            "name": CONTAINER,
            "image": self.image,
            "imagePullPolicy": "IfNotPresent",
            "command": ["/bin/sh", "-c", (SCRIPTS / script).read_text(encoding="utf-8"), check],
            "env": [{"name": key, "value": value} for key, value in environment.items()],
            "resources": {"requests": resources, "limits": resources},
            "securityContext": {"capabilities": {"add": list(capabilities)}},
            "volumeMounts": [{"name": "shm", "mountPath": "/dev/shm"}],  # noqa: S108 - in the pod
        }
        return {
            "restartPolicy": "Never",
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": 5,
            "affinity": _on(nodes),
            "tolerations": [dict(toleration) for toleration in TOLERATIONS],
            "containers": [container],
            "volumes": [
                {
                    "name": "shm",
                    "emptyDir": {"medium": "Memory", "sizeLimit": f"{max(1, memory // 8)}Gi"},
                }
            ],
        }


def _on(nodes: Sequence[str]) -> Manifest:
    """Require these nodes. A field selector takes one name, so each has a term of its own."""
    terms = [
        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [name]}]}
        for name in nodes
    ]
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}
        }
    }
