"""Reads how Jobs and MPIJobs stand from themselves and their pods. Pure, over plain API objects."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from scripts.gate import mpi
from scripts.gate.devices import GPU
from scripts.gate.jobs import OURS, QUEUE_LABEL
from scripts.gate.objects import Manifest, items, labels, mapping
from scripts.text import words

__all__ = ["NOT_TAKEN", "Standing", "holds_gpus", "queue_reason", "standing"]

JOB_LABEL: Final = "batch.kubernetes.io/job-name"
INDEX_LABEL: Final = "batch.kubernetes.io/job-completion-index"

ENDED: Final = frozenset({"Succeeded", "Failed"})
SPEAKER: Final = 0
"""The rank whose log speaks for its Job: the launcher's, or the only one."""

NOT_TAKEN: Final = "not taken up by the MPI operator"

NO_PODS: Final[Mapping[int, Manifest]] = {}


@dataclass(frozen=True, slots=True)
class Standing:
    """How a Job stands: ``text`` for people, the pod whose log speaks for it, whether it ended.

    ``problem`` says why there may be no whole log although it ended. ``nodes`` are those of its
    pods in the order of ranks, empty until all have one. ``queued`` is the uid of a Job that waits
    in a queue.
    """

    text: str
    pod: str = ""
    ended: bool = False
    problem: str = ""
    nodes: tuple[str, ...] = ()
    queued: str = ""


def standing(pods: Iterable[Manifest], jobs: Iterable[Manifest]) -> dict[str, Standing]:
    """Return how each Job or MPIJob (by their ``kind``) stands.

    It has ended with its speaking pod. One that failed without it (deadline, eviction) has ended
    too, and says why.
    """
    ranks = _ranks(pods)
    return {
        name: _job(job, ranks.get(name, NO_PODS))
        for job in jobs
        if (name := job["metadata"]["name"])
    }


def holds_gpus(pod: Manifest) -> bool:
    """Tell whether a pod that is not the gate's has GPUs, or is about to start on some."""
    if labels(pod).items() >= OURS.items():
        return False
    if mapping(pod, "status").get("phase") in ENDED:
        return False
    containers = items(pod, "spec", "containers")
    return any(GPU in mapping(each, "resources", "requests") for each in containers)


def queue_reason(workload: Manifest) -> str:
    """Return what Kueue says of a Workload that it has not admitted; empty if it says nothing."""
    conditions = {each["type"]: each for each in items(workload, "status", "conditions")}
    for kind in ("QuotaReserved", "Admitted"):
        found = conditions.get(kind, {})
        if found.get("status") == "False" and found.get("message"):
            return found["message"]
    return ""


def _ranks(pods: Iterable[Manifest]) -> dict[str, dict[int, Manifest]]:
    """Return the newest pod of each rank by the name of its Job or MPIJob."""
    found: dict[str, dict[int, Manifest]] = {}
    for pod in sorted(pods, key=_age):
        known = labels(pod)
        # The pod of a launcher belongs to a Job of the operator's, which is none of ours.
        if mpi.JOB_LABEL in known:
            job, rank = known[mpi.JOB_LABEL], known.get(mpi.INDEX_LABEL)
        else:
            job, rank = known.get(JOB_LABEL), known.get(INDEX_LABEL, "0")
        if job is not None and rank is not None:
            found.setdefault(job, {})[int(rank)] = pod
    return found


def _age(pod: Manifest) -> tuple[bool, str]:
    """Sort by this, and what is being deleted comes first, then what is older."""
    metadata = mapping(pod, "metadata")
    return not metadata.get("deletionTimestamp"), metadata.get("creationTimestamp") or ""


def _job(job: Manifest, pods: Mapping[int, Manifest]) -> Standing:
    is_mpi = job.get("kind") == "MPIJob"
    policy = mapping(job, "spec", "runPolicy") if is_mpi else mapping(job, "spec")
    if policy.get("suspend"):
        # Pods may still be there, of before it was evicted: what they wrote is not whole.
        return _suspended(job)
    workers = _workers(job) if is_mpi else 0
    state = _pod(pods[SPEAKER]) if SPEAKER in pods else _unborn(job, is_mpi=is_mpi)
    count = 1 + workers if is_mpi else mapping(job, "spec").get("completions") or 1
    state = replace(state, nodes=_nodes(pods, count))
    if is_mpi and not state.ended and state.text != NOT_TAKEN:
        state = _with_workers(state, pods, workers)
    failure = next(_failures(job), "")
    if failure and not state.ended:
        return replace(state, ended=True, problem=failure)
    return state


def _suspended(job: Manifest) -> Standing:
    queue = labels(job).get(QUEUE_LABEL)
    if queue is None:
        return Standing("suspended, and no queue will start it")
    uid = mapping(job, "metadata").get("uid", "")
    return Standing(f"waiting for quota in queue {queue}", queued=uid)


def _unborn(job: Manifest, *, is_mpi: bool) -> Standing:
    if is_mpi and not items(job, "status", "conditions"):
        return Standing(NOT_TAKEN)
    return Standing("without a launcher" if is_mpi else "without a pod")


def _workers(job: Manifest) -> int:
    return mapping(job, "spec", "mpiReplicaSpecs", "Worker").get("replicas", 0)


def _nodes(pods: Mapping[int, Manifest], count: int) -> tuple[str, ...]:
    """Return the node of each rank's pod; nothing if one has none yet."""
    placed = [mapping(pods.get(rank, {}), "spec").get("nodeName", "") for rank in range(count)]
    return tuple(placed) if all(placed) else ()


def _with_workers(state: Standing, pods: Mapping[int, Manifest], count: int) -> Standing:
    """Add what holds up the workers; a worker that failed before there is a launcher ends it."""
    workers = {rank: pods[rank] for rank in range(1, count + 1) if rank in pods}
    for rank, pod in workers.items():
        status = mapping(pod, "status")
        if status.get("phase") in ENDED:
            node = mapping(pod, "spec").get("nodeName", "no node")
            why = status.get("message") or status.get("reason") or status["phase"]
            text = f"worker {rank} on {node} ended: {why}"
            ended = SPEAKER not in pods
            return replace(
                state, text=f"{state.text}; {text}", ended=ended, problem=text if ended else ""
            )
    running = sum(mapping(pod, "status").get("phase") == "Running" for pod in workers.values())
    if running == count:
        return state
    reasons = (_pod(pod).text for pod in workers.values() if _phase(pod) != "Running")
    why = next((f": {text}" for text in reasons), "")
    return replace(state, text=f"{state.text}, {running} of {words(count, 'worker')} Running{why}")


def _phase(pod: Manifest) -> str:
    return mapping(pod, "status").get("phase", "Pending")


def _pod(pod: Manifest) -> Standing:
    phase, name = _phase(pod), pod["metadata"]["name"]
    if phase in ENDED:
        return Standing(phase, name, ended=True)
    reason = next(_reasons(mapping(pod, "status")), "")
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
            kind = job.get("kind", "Job")
            yield f"the {kind} failed: {condition.get('message') or condition.get('reason')}"
