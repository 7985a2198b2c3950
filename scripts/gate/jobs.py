"""The manifests of the gate's Jobs. Pure: from names and the catalog to plain data."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from components.catalog import Accelerator, InstanceType
from scripts.errors import UsageError
from scripts.gate.mpi import host_names, mpi_job
from scripts.gate.objects import Manifest
from scripts.gate.silence import silent_seconds
from scripts.nccl.expectation import sweep

__all__ = [
    "CHECK_LABEL",
    "CONTAINER",
    "GATE_OF_LABEL",
    "OURS",
    "POOL_LABEL",
    "QUEUE",
    "QUEUE_LABEL",
    "ROUND_LABEL",
    "RUN_LABEL",
    "TAINT",
    "WAVE_LABEL",
    "GateJob",
    "JobKind",
    "JobMaker",
    "accelerator",
    "require_digest",
]

SCRIPTS = Path(__file__).parents[1] / "jobs"

CONTAINER: Final = "check"
NCCL_TESTS: Final = "/opt/nccl-tests/build"
"""Where the image of the checks has its programs."""

JobKind = Literal["Job", "MPIJob"]

OURS: Final = {"app.kubernetes.io/name": "trainyard-gate"}
"""The label of all that gates run; whoever else holds GPUs has another."""

RUN_LABEL: Final = "trainyard.dev/run"
GATE_OF_LABEL: Final = "trainyard.dev/gate-of"
"""Which wave it is for: :attr:`scripts.gate.request.Request.place`."""

CHECK_LABEL: Final = "trainyard.dev/check"
ROUND_LABEL: Final = "trainyard.dev/round"
"""What Jobs that run side by side share, so that they can be deleted at once."""

QUEUE_LABEL: Final = "kueue.x-k8s.io/queue-name"
PRIORITY_LABEL: Final = "kueue.x-k8s.io/priority-class"
POOL_LABEL: Final = "trainyard.dev/pool"
WAVE_LABEL: Final = "trainyard.dev/wave"
TAINT: Final = "trainyard.dev/unproved"
"""On every node from its start until a gate has opened it."""

QUEUE: Final = "gate"
PRIORITY: Final = "gate"
"""Names of the gate's queue and of its priority class in the scheduler layer."""

SSH_PORT: Final = 2222
HUGE_PAGES: Final = "5120Mi"
"""What libfabric takes for the bounce buffers of one node (awsome-distributed-ai nccl-tests)."""

LAST_WORDS_SECONDS: Final = 30
"""A program is stopped so long before its pod: then the log ends with why."""

KEEP_FINISHED_SECONDS: Final = 3600
"""Jobs are deleted by the gate; this cleans up after one that was killed."""

ALL_REDUCE: Final = "all-reduce"

_DIGEST = re.compile(r"[^@\s]+@sha256:[0-9a-f]{64}")

TOLERATIONS: Final = (
    {"key": TAINT, "operator": "Exists", "effect": "NoSchedule"},
    {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
    # A node that failed before is cordoned until it has passed.
    {"key": "node.kubernetes.io/unschedulable", "operator": "Exists", "effect": "NoSchedule"},
)


@dataclass(frozen=True, slots=True)
class GateJob:
    """A Job or MPIJob to run.

    ``nodes`` are those it was made for; once it has run, they are in the order of ranks.
    """

    name: str
    nodes: tuple[str, ...]
    manifest: Manifest

    @property
    def kind(self) -> JobKind:
        """What it is to the API."""
        return self.manifest["kind"]

    @property
    def hosts(self) -> tuple[str, ...]:
        """Host names of its pods, in rank order; a plain Job over one node has the launcher's."""
        return host_names(self.name, len(self.nodes))


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
    """Makes the Jobs of one run of the gate; all carry its labels.

    ``queue`` is the LocalQueue that they wait in, None where no Kueue runs; ``priority`` is the
    WorkloadPriorityClass that they have in it.
    """

    run: str
    pool: str
    wave: str
    namespace: str
    image: str
    instance: InstanceType
    queue: str | None = QUEUE
    priority: str = PRIORITY

    @property
    def run_name(self) -> str:
        """Name of what all Jobs of the run share."""
        return f"gate-{self.run}"

    @property
    def labels(self) -> dict[str, str]:
        """Labels of every object of the run."""
        return {
            **OURS,
            RUN_LABEL: self.run,
            GATE_OF_LABEL: f"{self.pool}-{self.wave}",
        }

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
            check, _on([node]), script=script, environment=environment, capabilities=capabilities
        )
        pod["volumes"] += map(dict, volumes)
        pod["containers"][0]["volumeMounts"] += map(dict, mounts)
        meta = self._meta(label, check)
        manifest = _job(meta, self._pod_meta(check), pod, seconds)
        return GateJob(meta["name"], (node,), manifest)

    def all_reduce(
        self,
        label: str,
        nodes: Sequence[str],
        seconds: float,
        collective: str = "all_reduce",
        *,
        others: Collection[str] | None = None,
    ) -> GateJob:
        """Return the Job that runs one collective over ``nodes``; rank 0 launches it.

        It is an MPIJob where there is more than one. It is an all-reduce if nothing else is asked
        for, and its pods carry that name in any case. ``others`` are all the other nodes of the
        wave, where ``nodes`` are nearly all of it.
        """
        sizes, gpus = sweep(self.instance), accelerator(self.instance).count
        meta = self._meta(label, ALL_REDUCE)
        environment = {
            "GATE_JOB": meta["name"],
            "GATE_NODES": str(len(nodes)),
            "GATE_GPUS": str(gpus),
            "GATE_MIN_BYTES": str(sizes.low),
            "GATE_MAX_BYTES": str(sizes.high),
            "GATE_SECONDS": str(max(1, int(seconds) - LAST_WORDS_SECONDS)),
            "GATE_SILENT_SECONDS": str(silent_seconds(len(nodes))),
            "GATE_BINARY": f"{NCCL_TESTS}/{collective}_perf",
        }
        shorter = others is not None and len(others) < len(nodes)
        where = _all_but(others or (), self.wave) if shorter else _on(nodes)
        launcher = self._rank(where, "all_reduce.sh", environment)
        pods = self._pod_meta(ALL_REDUCE)
        if len(nodes) == 1:
            [launcher["hostname"]] = host_names(meta["name"], 1)
            return GateJob(meta["name"], tuple(nodes), _job(meta, pods, launcher, seconds))
        worker = self._rank(where, "serve_ssh.sh", {})
        # Where no queue starts it, the launcher is made once all workers take connections.
        worker["containers"][0]["readinessProbe"] = {
            "tcpSocket": {"port": SSH_PORT},
            "periodSeconds": 2,
        }
        manifest = mpi_job(
            meta,
            pod_metadata=pods,
            launcher=launcher,
            worker=worker,
            nodes=len(nodes),
            slots=gpus,
            seconds=seconds,
            keep_seconds=KEEP_FINISHED_SECONDS,
        )
        return GateJob(meta["name"], tuple(nodes), manifest)

    def _rank(self, where: Manifest, script: str, environment: Mapping[str, str]) -> Manifest:
        """Return the spec of a pod that holds the ranks of one node."""
        return self._pod(
            ALL_REDUCE,
            where,
            script=script,
            environment={"GATE_SSH_PORT": str(SSH_PORT), **environment},
            capabilities=["IPC_LOCK"],
        )

    def _meta(self, label: str, check: str) -> Manifest:
        """Return the metadata of a Job: only here does Kueue look for its own labels."""
        queue = (
            {} if self.queue is None else {QUEUE_LABEL: self.queue, PRIORITY_LABEL: self.priority}
        )
        return {
            "name": f"{self.run_name}-{label}",
            "namespace": self.namespace,
            "labels": {**self.labels, CHECK_LABEL: check, ROUND_LABEL: _round(label), **queue},
        }

    def _pod_meta(self, check: str) -> Manifest:
        return {
            "labels": {**self.labels, CHECK_LABEL: check},
            "annotations": {"karpenter.sh/do-not-disrupt": "true"},
        }

    def _pod(
        self,
        check: str,
        where: Manifest,
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
            # By this Kueue finds the flavor of the pool; the affinity names the nodes themselves.
            "nodeSelector": {POOL_LABEL: self.pool},
            "affinity": where,
            "tolerations": [dict(toleration) for toleration in TOLERATIONS],
            "containers": [container],
            "volumes": [
                {
                    "name": "shm",
                    "emptyDir": {"medium": "Memory", "sizeLimit": f"{max(1, memory // 8)}Gi"},
                }
            ],
        }


def _job(meta: Manifest, pod_meta: Manifest, pod: Manifest, seconds: float) -> Manifest:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": meta,
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": int(seconds),
            "ttlSecondsAfterFinished": KEEP_FINISHED_SECONDS,
            "template": {"metadata": pod_meta, "spec": pod},
        },
    }


def _round(label: str) -> str:
    """Return what the labels of Jobs that run side by side begin with: r0 of r0-17, n of n17."""
    head, dash, _ = label.rpartition("-")
    return head if dash else label.rstrip("0123456789")


def _on(nodes: Sequence[str]) -> Manifest:
    """Require these nodes. A field selector takes one name, so each has a term of its own."""
    return _affinity([{"matchFields": [_name("In", name)]} for name in nodes])


def _all_but(others: Collection[str], wave: str) -> Manifest:
    """Require the nodes of a wave but ``others``.

    A thousand names in each of a thousand pods would be some hundred megabytes.
    """
    term: Manifest = {"matchExpressions": [{"key": WAVE_LABEL, "operator": "In", "values": [wave]}]}
    if others:
        term["matchFields"] = [_name("NotIn", name) for name in sorted(others)]
    return _affinity([term])


def _affinity(terms: Sequence[Manifest]) -> Manifest:
    return {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [*terms]}
        }
    }


def _name(operator: str, name: str) -> Manifest:
    return {"key": "metadata.name", "operator": operator, "values": [name]}
