from collections.abc import Iterable

import httpx2
import pytest

from components.catalog import instance_type
from scripts.errors import UsageError
from scripts.gate.api import Api
from scripts.gate.cluster import KubeCluster
from scripts.gate.jobs import GateJob, JobMaker
from scripts.gate.patience import Patience
from scripts.gate.ports import JobResult
from scripts.gate.results import by_node
from scripts.gate.runner import pause
from scripts.nccl.expectation import expect
from scripts.nccl.judge import judge
from scripts.nccl.log import parse
from tests.gate.api_server import ApiServer, status
from tests.gate.fake import IMAGE, FakeTime

P5 = instance_type("p5.48xlarge")
MAKER = JobMaker(
    run="r1", pool="train", wave="1", namespace="trainyard-gate", image=IMAGE, instance=P5
)
PAIR = MAKER.all_reduce("r0-0", ["n0", "n1"], 600)


class World:
    """A cluster of some nodes, and what a run of Jobs on it says."""

    def __init__(self, nodes: int = 4) -> None:
        self.server = ApiServer()
        for index in range(nodes):
            self.server.add_node(f"n{index}")
        self.clock = FakeTime()
        self.lines: list[str] = []
        patience = Patience(60, monotonic=lambda: self.clock.seconds, sleep=self.clock.sleep)
        self.cluster = KubeCluster(
            Api(self.server.client(), "trainyard-gate", patience),
            "trainyard-gate",
            self.lines.append,
            monotonic=lambda: self.clock.seconds,
            sleep=self.clock.sleep,
        )

    def run(self, *jobs: GateJob, seconds: float = 600) -> dict[str, JobResult[str]]:
        return self.cluster.run(jobs, seconds, summary)


def summary(job: GateJob, lines: Iterable[str]) -> str:
    expected = expect(P5, len(job.nodes), hosts=job.hosts)
    return by_node(judge(parse(lines), expected), job).summary


@pytest.mark.parametrize("bad", ["n0", "n1"])
def test_findings_name_the_node_on_which_the_scheduler_put_a_pod(bad: str) -> None:
    world = World()
    world.server.faults[bad] = frozenset({"nic"})
    ranked: list[tuple[str, ...]] = []

    def seen(job: GateJob, _result: object) -> None:
        ranked.append(job.nodes)

    results = world.cluster.run([PAIR], 600, summary, seen)
    assert ranked == [("n1", "n0")], "the launcher is on the second of the two"
    assert results[PAIR.name].value == f"{bad} found 31 NICs; p5.48xlarge has 32"


def test_a_log_is_not_read_where_a_pod_has_no_node() -> None:
    world = World()
    world.server.pod_status = lambda _pod: {"phase": "Running"}
    world.server.place = lambda free: free.pop() if len(free) > 1 else ""
    assert world.run(PAIR)[PAIR.name] == JobResult(
        None,
        "it did not end in time: Running; its log is not read, for nobody knows which of its pods "
        "ran on which node",
    )


def test_a_job_that_waits_for_quota_says_what_kueue_says() -> None:
    world = World()
    job = MAKER.node_check("n0", "n0", 60)
    world.server.queued = {job.name}
    text = "couldn't assign flavors to pod set main: insufficient unused quota for nvidia.com/gpu"
    condition = {"type": "QuotaReserved", "status": "False", "message": text}
    world.server.objects["Workload"]["job-w"] = {
        "metadata": {
            "name": "job-w",
            "labels": {"kueue.x-k8s.io/job-uid": f"uid-of-{job.name}"},
        },
        "status": {"conditions": [condition]},
    }
    result = world.run(job, seconds=60)[job.name]
    assert result.problem == f"it did not end in time: waiting for quota in queue gate: {text}"
    assert world.lines == [
        "waiting for 1 Job: 1 waiting for quota in queue gate (gate-r1-n0); gate-r1-n0: " + text
    ]


@pytest.mark.parametrize(
    ("count", "named"),
    [(1, "gate-r1-n0"), (2, "gate-r1-n0, gate-r1-n1"), (3, "gate-r1-n0 and 2 more")],
)
def test_of_many_jobs_that_wait_one_is_named(count: int, named: str) -> None:
    world = World()
    jobs = [MAKER.node_check(f"n{index}", f"n{index}", 60) for index in range(count)]
    world.server.queued = {job.name for job in jobs}
    world.run(*jobs, seconds=60)
    waiting = f"waiting for {count} Job{'s' if count > 1 else ''}"
    assert world.lines[0].startswith(
        f"{waiting}: {count} waiting for quota in queue gate ({named}); gate-r1-n0: "
    )


@pytest.mark.parametrize(
    ("kueue", "reason"),
    [
        (True, "Kueue has not looked at it yet"),
        (
            False,
            (
                "why cannot be read: the cluster has no Workloads, which Kueue brings; `pulumi up` "
                "installs it with the scheduler layer"
            ),
        ),
    ],
)
def test_a_queue_of_which_kueue_says_nothing_is_told(*, kueue: bool, reason: str) -> None:
    world = World()
    world.server.queued = {PAIR.name}
    world.server.unknown = set() if kueue else {"Workload"}
    assert world.run(PAIR, seconds=60)[PAIR.name].problem == (
        f"it did not end in time: waiting for quota in queue gate: {reason}"
    )


def test_mpi_jobs_that_no_operator_takes_up_are_deleted_and_told() -> None:
    world = World()
    world.server.operator = False
    with pytest.raises(UsageError) as caught:
        world.run(PAIR)
    assert str(caught.value) == (
        "no MPI operator runs the MPIJobs of this cluster: gate-r1-r0-0 was not taken up in 120 s; "
        "look at Deployment mpi-operator in namespace mpi-operator, which `pulumi up` installs "
        "with the scheduler layer"
    )
    assert not world.server.objects["MPIJob"]


def test_a_job_that_somebody_deletes_has_ended() -> None:
    world = World()
    [job] = checks(1)
    world.server.pod_status = lambda _pod: {"phase": "Running"}

    def delete_later(_request: str) -> None:
        if world.clock.seconds:
            world.server.objects["Job"].clear()

    world.server.trouble = delete_later
    assert world.run(job)[job.name] == JobResult(None, "somebody has deleted it")
    assert world.clock.seconds == 1


def test_jobs_are_deleted_by_what_they_share_and_no_others() -> None:
    world = World(60)
    world.server.objects["Job"]["other"] = {
        "metadata": {
            "name": "other",
            "labels": {"trainyard.dev/run": "r2", "trainyard.dev/round": "n"},
        }
    }
    results = world.run(*checks(60), PAIR)
    assert [name for name, result in results.items() if result.problem] == []
    assert list(world.server.objects["Job"]) == ["other"]
    assert not world.server.objects["MPIJob"]
    assert not world.server.objects["Pod"]
    deletions = [request for request in world.server.requests if request.startswith("DELETE")]
    assert deletions == [
        "DELETE /apis/batch/v1/namespaces/trainyard-gate/jobs",
        "DELETE /apis/kubeflow.org/v2beta1/namespaces/trainyard-gate/mpijobs",
    ]


def test_an_error_in_creating_one_of_many_is_not_lost() -> None:
    world = World(60)
    seen: list[str] = []

    def refuse(request: str) -> httpx2.Response | None:
        if not request.startswith("POST"):
            return None
        seen.append(request)
        return status(403, "exceeded quota: jobs") if len(seen) == 30 else None

    world.server.trouble = refuse
    with pytest.raises(UsageError) as caught:
        world.run(*checks(60))
    assert "the Kubernetes API refuses: exceeded quota: jobs" in str(caught.value)


@pytest.mark.parametrize(
    ("jobs", "seconds"), [(1, 1.0), (50, 1.0), (100, 1.0), (300, 3.0), (512, 5.0), (1024, 5.0)]
)
def test_the_more_jobs_are_pending_the_less_often_they_are_looked_at(
    jobs: int, seconds: float
) -> None:
    assert pause(jobs) == seconds


def test_nobody_waits_beyond_the_time_of_a_run() -> None:
    world = World(100)
    world.server.pod_status = lambda _pod: {"phase": "Pending"}
    results = world.run(*checks(100), seconds=7)
    assert world.clock.seconds == 7
    assert {result.problem for result in results.values()} == {"it did not end in time: Pending"}


def checks(count: int) -> list[GateJob]:
    return [MAKER.node_check(f"n{index}", f"n{index}", 60) for index in range(count)]


def test_nobody_waits_for_a_job_whose_node_has_gone() -> None:
    world = World(4)
    world.server.pod_status = lambda _pod: {"phase": "Pending"}
    world.server.objects["Node"]["n1"]["status"]["conditions"] = [
        {"type": "Ready", "status": "Unknown"}
    ]
    results = world.run(PAIR, seconds=600)
    assert results == {PAIR.name: JobResult(None, "n1 not Ready for 60 s")}
    assert world.clock.seconds < 65
