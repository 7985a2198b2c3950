"""Reads how Jobs stand from their pods. Pure, over plain API objects."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from scripts.gate.objects import Manifest, items, labels, mapping

__all__ = ["Standing", "holds_gpus", "standing"]

JOB_LABEL = "batch.kubernetes.io/job-name"
INDEX_LABEL = "batch.kubernetes.io/job-completion-index"

GPU = "nvidia.com/gpu"
ENDED = frozenset({"Succeeded", "Failed"})
SPEAKER = "0"
"""The index whose log speaks for its Job: the launcher's, or the only one."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How a Job stands: ``text`` for people, the pod whose log speaks for it, whether it ended.

    ``problem`` says why there may be no whole log although it ended.
    """

    text: str
    pod: str = ""
    ended: bool = False
    problem: str = ""


def standing(pods: Iterable[Manifest], jobs: Iterable[Manifest]) -> dict[str, Standing]:
    """Return how each Job stands.

    A Job has ended with its speaking pod. One that failed without it (deadline, eviction) has ended
    too, and says why.
    """
    found: dict[str, Standing] = {}
    for pod in pods:
        job = labels(pod).get(JOB_LABEL)
        if job is not None and labels(pod).get(INDEX_LABEL, SPEAKER) == SPEAKER:
            found[job] = _pod(pod)
    for job in jobs:
        name = job["metadata"]["name"]
        state = found.get(name, Standing("without a pod"))
        failure = next(_failures(job), None)
        if failure is not None and not state.ended:
            found[name] = Standing(state.text, state.pod, ended=True, problem=failure)
        else:
            found.setdefault(name, state)
    return found


def holds_gpus(pod: Manifest) -> bool:
    """Tell whether a pod that is not the gate's has GPUs, or is about to start on some."""
    if labels(pod).get("app.kubernetes.io/name") == "trainyard-gate":
        return False
    if mapping(pod, "status").get("phase") in ENDED:
        return False
    containers = items(pod, "spec", "containers")
    return any(GPU in mapping(each, "resources", "requests") for each in containers)


def _pod(pod: Manifest) -> Standing:
    status = mapping(pod, "status")
    phase: str = status.get("phase", "Pending")
    name = pod["metadata"]["name"]
    if phase in ENDED:
        return Standing(phase, name, ended=True)
    reason = next(_reasons(status), "")
    # A pod that has not started has no log to read.
    speaker = name if phase == "Running" else ""
    return Standing(f"{phase}: {reason}" if reason else phase, speaker)


def _reasons(status: Manifest) -> Iterator[str]:
    for container in items(status, "containerStatuses"):
        waiting = mapping(container, "state", "waiting")
        if waiting.get("reason"):
            yield f"{waiting['reason']} {waiting.get('message', '')}".strip()
    for condition in items(status, "conditions"):
        if condition.get("type") == "PodScheduled" and condition.get("status") == "False":
            yield condition.get("message") or condition.get("reason") or "not scheduled"


def _failures(job: Manifest) -> Iterator[str]:
    for condition in items(job, "status", "conditions"):
        if condition.get("type") == "Failed" and condition.get("status") == "True":
            yield f"the Job failed: {condition.get('message') or condition.get('reason')}"
