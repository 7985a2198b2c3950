import pytest

from scripts.gate.objects import Manifest
from scripts.gate.pods import NOT_TAKEN, Standing, holds_gpus, queue_reason, standing

QUEUE = {"kueue.x-k8s.io/queue-name": "gate"}
TAKEN = {"type": "Created", "status": "True", "reason": "MPIJobCreated"}


def job(*conditions: Manifest, suspend: bool = False, queue: bool = True) -> Manifest:
    return {
        "kind": "Job",
        "metadata": {"name": "j", "uid": "u", "labels": QUEUE if queue else {}},
        "spec": {"suspend": suspend},
        "status": {"conditions": list(conditions)},
    }


def mpi_job(*conditions: Manifest, workers: int = 1, suspend: bool = False) -> Manifest:
    replicas = {"Launcher": {"replicas": 1}, "Worker": {"replicas": workers}}
    return {
        "kind": "MPIJob",
        "metadata": {"name": "j", "uid": "u", "labels": QUEUE},
        "spec": {
            "runPolicy": {"suspend": suspend},
            "mpiReplicaSpecs": replicas if workers else {"Launcher": replicas["Launcher"]},
        },
        "status": {"conditions": list(conditions)},
    }


def failed(reason: str, message: str) -> Manifest:
    return {"type": "Failed", "status": "True", "reason": reason, "message": message}


def pod(node: str = "n0", phase: str = "Running", **more: object) -> Manifest:
    """Return the pod of a plain Job."""
    return {
        "metadata": {"name": "j-x", "labels": {"batch.kubernetes.io/job-name": "j"}},
        "spec": {"nodeName": node},
        "status": {"phase": phase, **more},
    }


def rank(index: int, node: str = "", phase: str = "Running", **more: object) -> Manifest:
    """Return a pod of an MPIJob, as the operator labels it."""
    known = {
        "training.kubeflow.org/job-name": "j",
        "training.kubeflow.org/replica-index": str(index),
        **({} if index else {"batch.kubernetes.io/job-name": "j-launcher"}),
    }
    name = f"j-worker-{index - 1}" if index else "j-launcher-x"
    return {
        "metadata": {"name": name, "labels": known},
        "spec": {"nodeName": node or f"n{index}"},
        "status": {"phase": phase, **more},
    }


def unplaced(index: int) -> Manifest:
    condition = {"type": "PodScheduled", "status": "False", "message": "0/4 nodes are available"}
    found = rank(index, phase="Pending", conditions=[condition])
    del found["spec"]["nodeName"]
    return found


@pytest.mark.parametrize(
    ("pods", "of", "expected"),
    [
        ([], job(), Standing("without a pod")),
        ([pod()], job(), Standing("Running", "j-x", nodes=("n0",))),
        ([pod(phase="Failed")], job(), Standing("Failed", "j-x", ended=True, nodes=("n0",))),
        (
            [],
            job(failed("DeadlineExceeded", "Job was active too long")),
            Standing(
                "without a pod", ended=True, problem="the Job failed: Job was active too long"
            ),
        ),
        ([pod()], job(suspend=True), Standing("waiting for quota in queue gate", queued="u")),
        (
            [pod(phase="Failed")],
            job(suspend=True, queue=False),
            Standing("suspended, and no queue will start it"),
        ),
        ([], mpi_job(), Standing(NOT_TAKEN)),
        ([], mpi_job(suspend=True), Standing("waiting for quota in queue gate", queued="u")),
        (
            [rank(1)],
            mpi_job(TAKEN),
            Standing("without a launcher"),
        ),
        (
            [rank(1), unplaced(2)],
            mpi_job(TAKEN, workers=2),
            Standing(
                "without a launcher, 1 of 2 workers Running: Pending: 0/4 nodes are available"
            ),
        ),
        (
            [rank(0, "b"), rank(1, "a")],
            mpi_job(TAKEN),
            Standing("Running", "j-launcher-x", nodes=("b", "a")),
        ),
        (
            [rank(0), unplaced(1)],
            mpi_job(TAKEN),
            Standing(
                "Running, 0 of 1 worker Running: Pending: 0/4 nodes are available", "j-launcher-x"
            ),
        ),
        (
            [rank(0, phase="Succeeded"), rank(1)],
            mpi_job(TAKEN, {"type": "Succeeded", "status": "True"}),
            Standing("Succeeded", "j-launcher-x", ended=True, nodes=("n0", "n1")),
        ),
        (
            [rank(0, phase="Succeeded")],
            mpi_job(TAKEN, workers=0),
            Standing("Succeeded", "j-launcher-x", ended=True, nodes=("n0",)),
        ),
        (
            [rank(1)],
            mpi_job(TAKEN, failed("DeadlineExceeded", "Job was active longer than specified")),
            Standing(
                "without a launcher",
                ended=True,
                problem="the MPIJob failed: Job was active longer than specified",
            ),
        ),
        (
            [rank(0), rank(1, phase="Failed", reason="Evicted", message="low on memory")],
            mpi_job(TAKEN, failed("MPIJobEvicted", "1/1 workers are evicted")),
            Standing(
                "Running; worker 1 on n1 ended: low on memory",
                "j-launcher-x",
                ended=True,
                problem="the MPIJob failed: 1/1 workers are evicted",
                nodes=("n0", "n1"),
            ),
        ),
        (
            [rank(1, phase="Failed", reason="UnexpectedAdmissionError")],
            mpi_job(TAKEN),
            Standing(
                "without a launcher; worker 1 on n1 ended: UnexpectedAdmissionError",
                ended=True,
                problem="worker 1 on n1 ended: UnexpectedAdmissionError",
            ),
        ),
    ],
)
def test_how_a_job_stands(pods: list[Manifest], of: Manifest, expected: Standing) -> None:
    assert standing(pods, [of]) == {"j": expected}


def test_the_newest_pod_of_a_rank_counts_and_none_that_is_being_deleted() -> None:
    older, newer, going = (pod(node) for node in ("old", "new", "going"))
    older["metadata"]["creationTimestamp"] = "2026-12-01T10:00:00Z"
    newer["metadata"]["creationTimestamp"] = "2026-12-01T10:00:01Z"
    going["metadata"] |= {
        "creationTimestamp": "2026-12-01T10:00:02Z",
        "deletionTimestamp": "2026-12-01T10:00:03Z",
    }
    assert standing([going, newer, older], [job()])["j"].nodes == ("new",)


@pytest.mark.parametrize(
    ("conditions", "reason"),
    [
        ([], ""),
        (
            [("QuotaReserved", "False", "LocalQueue gate doesn't exist")],
            "LocalQueue gate doesn't exist",
        ),
        (
            [
                ("Evicted", "True", "Preempted"),
                ("QuotaReserved", "False", "Preempted to make room"),
            ],
            "Preempted to make room",
        ),
        (
            [
                ("QuotaReserved", "True", "Quota reserved"),
                ("Admitted", "False", "waits for checks"),
            ],
            "waits for checks",
        ),
        ([("QuotaReserved", "True", "Quota reserved"), ("Admitted", "True", "admitted")], ""),
    ],
)
def test_what_kueue_says_of_a_workload(conditions: list[tuple[str, str, str]], reason: str) -> None:
    found = [
        {"type": kind, "status": status, "message": message} for kind, status, message in conditions
    ]
    assert queue_reason({"status": {"conditions": found}}) == reason


@pytest.mark.parametrize(
    ("phase", "requests", "name", "expected"),
    [
        ("Running", {"nvidia.com/gpu": "8"}, "job", True),
        ("Pending", {"nvidia.com/gpu": "1"}, "job", True),
        ("Succeeded", {"nvidia.com/gpu": "8"}, "job", False),
        ("Running", {"cpu": "1"}, "agent", False),
        ("Running", {"nvidia.com/gpu": "8"}, "trainyard-gate", False),
    ],
)
def test_a_node_is_busy_with_pods_that_hold_gpus(
    phase: str, requests: dict[str, str], name: str, *, expected: bool
) -> None:
    found = {
        "metadata": {"labels": {"app.kubernetes.io/name": name}},
        "spec": {"containers": [{"resources": {"requests": requests}}]},
        "status": {"phase": phase},
    }
    assert holds_gpus(found) is expected
