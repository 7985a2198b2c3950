"""The manifests of the small training. Pure: from names and the catalog to plain data.

One Indexed Job is one attempt: a pod a node, which starts the ranks of its node by itself. Ranks
that lose another one wait for it in vain, so the first pod that fails ends the whole Job; the next
attempt is the same Job under another name, and goes on from the newest checkpoint.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from components.catalog import InstanceType
from scripts.errors import UsageError
from scripts.gate.jobs import (
    CHECK_LABEL,
    CONTAINER,
    HUGE_PAGES,
    KEEP_FINISHED_SECONDS,
    PRIORITY,
    PRIORITY_LABEL,
    QUEUE,
    QUEUE_LABEL,
    ROUND_LABEL,
    RUN_LABEL,
    GateJob,
    accelerator,
    require_digest,
)
from scripts.gate.objects import Manifest

__all__ = ["ATTEMPT_LABEL", "CHECK", "LEAST_NODES", "MOST_NODES", "Attempt", "Course", "TrainMaker"]

SCRIPT = Path(__file__).parents[1] / "jobs/small_train.py"

CHECK: Final = "train"

ATTEMPT_LABEL: Final = "trainyard.dev/attempt"

LEAST_NODES, MOST_NODES = 2, 4
"""One node trains without the fabric; more than four prove nothing that a sweep has not proved."""

SERVICE: Final = "small-train"

PORT: Final = 29500
"""Where rank 0 listens, as torchrun has it."""

MOUNT: Final = "/shared"
FOLDER: Final = f"{MOUNT}/trainyard/small-train"
"""Outside of the folder that stands for the bucket: what is written here is not exported."""

MEET_SECONDS: Final = 900
"""Ranks wait so long for others, whose nodes may still pull an image of some 10 GB."""

Attempt = Literal["whole", "killed", "resumed"]
"""A run to the end; one that loses its first node on the way; the same once more."""


@dataclass(frozen=True, slots=True)
class Course:
    """How long the training is: steps in all, between checkpoints, and until it is killed."""

    steps: int = 60
    every: int = 20
    die_at: int = 30

    @property
    def kept(self) -> int:
        """Step of the newest checkpoint when it is killed."""
        return self.die_at // self.every * self.every


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainMaker:
    """Makes the objects of one small training.

    ``claim`` is the PersistentVolumeClaim of the shared file system in ``namespace``; ``queue`` is
    the LocalQueue that its Jobs wait in, None where no Kueue runs.

    Raises
    ------
    UsageError
        If the image has no digest, the type no NVIDIA GPU, or the nodes are not 2 to 4.
    """

    run: str
    pool: str
    namespace: str
    image: str
    instance: InstanceType
    nodes: int
    claim: str
    queue: str | None
    course: Course = Course()

    def __post_init__(self) -> None:
        require_digest(self.image)
        accelerator(self.instance)
        if not LEAST_NODES <= self.nodes <= MOST_NODES:
            raise UsageError(
                f"a small training over {self.nodes} nodes is asked for; take {LEAST_NODES} to "
                f"{MOST_NODES}"
            )

    @property
    def run_name(self) -> str:
        """Name of what all attempts share."""
        return f"train-{self.run}"

    @property
    def place(self) -> dict[str, str]:
        """Labels of every small training of the pool."""
        return {"app.kubernetes.io/name": "trainyard-train", "trainyard.dev/train-of": self.pool}

    @property
    def labels(self) -> dict[str, str]:
        """Labels of every object of the run.

        They are not those of a gate: to a gate this is a job like any other, and its nodes busy.
        """
        return {**self.place, RUN_LABEL: self.run, CHECK_LABEL: CHECK}

    @property
    def ranks(self) -> int:
        """One rank a GPU."""
        return self.nodes * accelerator(self.instance).count

    def service(self) -> Manifest:
        """Return the Service that gives the pods names, also before they are ready.

        One is enough for all small trainings of a namespace, and it stays.
        """
        return {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {
                "name": SERVICE,
                "namespace": self.namespace,
                "labels": {"app.kubernetes.io/name": "trainyard-train"},
            },
            "spec": {
                "clusterIP": "None",
                "publishNotReadyAddresses": True,
                "selector": {CHECK_LABEL: CHECK},
                "ports": [{"name": "rendezvous", "port": PORT}],
            },
        }

    def job(self, attempt: Attempt, seconds: float) -> GateJob:
        """Return the Job of one attempt; index 0 speaks for it."""
        name = f"{self.run_name}-{attempt}"
        own = {ATTEMPT_LABEL: attempt}
        queue = {} if self.queue is None else {QUEUE_LABEL: self.queue}
        if self.queue == QUEUE:
            # As the gates have it: it ends an update, and tests of the schedule can wait.
            queue[PRIORITY_LABEL] = PRIORITY
        manifest = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {
                "name": name,
                "namespace": self.namespace,
                "labels": {**self.labels, **own, ROUND_LABEL: attempt, **queue},
            },
            "spec": {
                "completionMode": "Indexed",
                "completions": self.nodes,
                "parallelism": self.nodes,
                # The gang lives and dies as one, also when a node is drained or goes.
                "backoffLimit": 0,
                "podFailurePolicy": {
                    "rules": [
                        {
                            "action": "FailJob",
                            "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
                        },
                        {
                            "action": "FailJob",
                            "onExitCodes": {
                                "containerName": CONTAINER,
                                "operator": "NotIn",
                                "values": [0],
                            },
                        },
                    ]
                },
                "activeDeadlineSeconds": int(seconds),
                "ttlSecondsAfterFinished": KEEP_FINISHED_SECONDS,
                "template": {
                    "metadata": {
                        "labels": {**self.labels, **own},
                        "annotations": {"karpenter.sh/do-not-disrupt": "true"},
                    },
                    "spec": self._pod(name, attempt),
                },
            },
        }
        # The scheduler chooses the nodes; only the pod that speaks is known by a name.
        return GateJob(name, (f"{name}-0",), manifest)

    def _pod(self, name: str, attempt: Attempt) -> Manifest:
        memory = self.instance.memory_gib
        return {
            "restartPolicy": "Never",
            "subdomain": SERVICE,
            "automountServiceAccountToken": False,
            "enableServiceLinks": False,
            "terminationGracePeriodSeconds": 5,
            "nodeSelector": {"trainyard.dev/pool": self.pool, "trainyard.dev/gate": "passed"},
            # Of its own, though the queue's flavor has it too: Kueue moves a workload away from a
            # taint that its own pods do not tolerate, whatever the flavor adds later.
            "tolerations": [
                {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
            ],
            "containers": [self._container(name, attempt)],
            "volumes": [
                {
                    "name": "shm",
                    "emptyDir": {"medium": "Memory", "sizeLimit": f"{max(1, memory // 8)}Gi"},
                },
                {"name": "shared", "persistentVolumeClaim": {"claimName": self.claim}},
            ],
        }

    def _container(self, name: str, attempt: Attempt) -> Manifest:
        resources = self._resources()
        return {
            "name": CONTAINER,
            "image": self.image,
            "imagePullPolicy": "IfNotPresent",
            "command": ["python3", "-c", SCRIPT.read_text(encoding="utf-8")],
            "args": self._words(attempt),
            "env": [
                {
                    "name": "NODE_RANK",
                    "valueFrom": {
                        "fieldRef": {
                            "fieldPath": (
                                "metadata.annotations['batch.kubernetes.io/job-completion-index']"
                            )
                        }
                    },
                },
                *(
                    {"name": key, "value": value}
                    for key, value in {
                        "NODES": str(self.nodes),
                        "MASTER_ADDR": f"{name}-0.{SERVICE}",
                        "MASTER_PORT": str(PORT),
                        # What proves that it went over EFA.
                        "NCCL_DEBUG": "INFO",
                        "NCCL_DEBUG_SUBSYS": "INIT,NET",
                    }.items()
                ),
            ],
            "resources": {"requests": resources, "limits": resources},
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "capabilities": {"add": ["IPC_LOCK"]},
            },
            "volumeMounts": [
                {"name": "shm", "mountPath": "/dev/shm"},  # noqa: S108 - in the pod
                {"name": "shared", "mountPath": MOUNT},
            ],
        }

    def _words(self, attempt: Attempt) -> list[str]:
        folder = f"{FOLDER}/{self.run}"
        course = self.course
        options: dict[str, str | int] = {
            "data": f"{folder}/data",
            "checkpoints": f"{folder}/{'whole' if attempt == 'whole' else 'halved'}",
            "local-ranks": accelerator(self.instance).count,
            "steps": course.steps,
            "every": course.every,
            "timeout": MEET_SECONDS,
            "report": "-",
        }
        if attempt != "whole":
            # Also in the next attempt: one that has resumed is not killed again.
            options |= {"die-at": course.die_at, "die-ranks": accelerator(self.instance).count}
        if attempt == "resumed":
            options["tidy"] = folder
        return [
            "--make-data",
            *(word for key, value in options.items() for word in (f"--{key}", str(value))),
        ]

    def _resources(self) -> dict[str, str]:
        instance = self.instance
        found = {
            "cpu": str(max(1, instance.vcpus // 4)),
            "memory": f"{max(1, instance.memory_gib // 4)}Gi",
            # All GPUs of a node, so that each pod has a node of its own.
            "nvidia.com/gpu": str(accelerator(instance).count),
        }
        if instance.efa_interfaces:
            found["vpc.amazonaws.com/efa"] = str(instance.efa_interfaces)
            found["hugepages-2Mi"] = HUGE_PAGES
        return found
