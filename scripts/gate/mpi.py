"""MPIJobs of Kubeflow's MPI operator: their manifest, and how their pods are called. Pure.

Read from the operator's source, v0.8.0: ``pkg/controller/mpi_job_controller.go``.
"""

from copy import deepcopy
from typing import Final

from scripts.gate.objects import Manifest

__all__ = [
    "API_VERSION",
    "INDEX_LABEL",
    "JOB_LABEL",
    "ROLE_LABEL",
    "SSH_PATH",
    "host_names",
    "mpi_job",
]

API_VERSION: Final = "kubeflow.org/v2beta1"

JOB_LABEL: Final = "training.kubeflow.org/job-name"
ROLE_LABEL: Final = "training.kubeflow.org/job-role"
INDEX_LABEL: Final = "training.kubeflow.org/replica-index"
"""The place of a pod in the host file where the launcher is a worker too: 0 is the launcher."""

SSH_PATH: Final = "/etc/gate-ssh"
"""Where the operator mounts the key pair that it makes for each MPIJob."""


def host_names(name: str, nodes: int) -> tuple[str, ...]:
    """Return the host names of the pods of an MPIJob over ``nodes`` nodes, in rank order."""
    return (f"{name}-launcher", *(f"{name}-worker-{index}" for index in range(nodes - 1)))


def mpi_job(
    metadata: Manifest,
    *,
    pod_metadata: Manifest,
    launcher: Manifest,
    worker: Manifest,
    nodes: int,
    slots: int,
    seconds: float,
    keep_seconds: int,
) -> Manifest:
    """Return an MPIJob over two ``nodes`` or more: the launcher's, and a worker on each other one.

    ``launcher`` and ``worker`` are pod specs. ``seconds`` bounds the launcher's Job, which is all
    that the operator gives it to; workers carry it themselves, or those of a gate that was killed
    would hold their GPUs for ever.
    """
    bounded = {**worker, "activeDeadlineSeconds": int(seconds)}
    replicas = {
        "Launcher": _replica(1, pod_metadata, launcher),
        "Worker": _replica(nodes - 1, pod_metadata, bounded),
    }
    return {
        "apiVersion": API_VERSION,
        "kind": "MPIJob",
        "metadata": metadata,
        "spec": {
            "slotsPerWorker": slots,
            "runLauncherAsWorker": True,
            # Without a queue. One that Kueue starts gets its launcher at once in any case, so the
            # launcher waits for the workers itself.
            "launcherCreationPolicy": "WaitForWorkersReady",
            "mpiImplementation": "OpenMPI",
            "sshAuthMountPath": SSH_PATH,
            "runPolicy": {
                # Workers stay until the MPIJob is deleted: they tell which rank was on which node.
                "cleanPodPolicy": "None",
                "backoffLimit": 0,
                "activeDeadlineSeconds": int(seconds),
                "ttlSecondsAfterFinished": keep_seconds,
            },
            "mpiReplicaSpecs": replicas,
        },
    }


def _replica(count: int, metadata: Manifest, pod: Manifest) -> Manifest:
    # The operator wants the policy here, and complains of one in the pod's own specification.
    spec = {key: value for key, value in pod.items() if key != "restartPolicy"}
    template = {"metadata": deepcopy(metadata), "spec": spec}
    return {"replicas": count, "restartPolicy": "Never", "template": template}
