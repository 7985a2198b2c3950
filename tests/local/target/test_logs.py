from pathlib import Path

import pytest

from components.catalog import instance_type
from scripts.gate.train import Attempt, TrainMaker
from scripts.local.answers import SimulatedNode, node_check_log
from scripts.local.target import faults
from scripts.local.target.faults import Fault
from scripts.local.target.logs import Logs, NodeIsDeadError, environment, simulated
from tests.local.target.support import FakeApi


def node(name: str, index: int = 0, life: str = "running") -> dict:
    labels = {
        "trainyard.dev/stand-in": life,
        "trainyard.dev/pool": "h100",
        "node.kubernetes.io/instance-type": "p5.48xlarge",
    }
    annotations = {"trainyard.dev/index": str(index)}
    return {"metadata": {"name": name, "labels": labels, "annotations": annotations}}


def pod(name: str, where: str | None, labels: dict[str, str], phase: str = "Succeeded") -> dict:
    variables = [{"name": "A", "value": "1"}, {"name": "B", "valueFrom": {}}]
    variables.append({"name": "GATE_NODES", "value": "1"})
    spec: dict = {"containers": [{"name": "other"}, {"name": "check", "env": variables}]}
    if where:
        spec["nodeName"] = where
    metadata = {"name": name, "namespace": "ns", "labels": labels}
    return {"metadata": metadata, "spec": spec, "status": {"phase": phase}}


def ranks(each: dict, count: int) -> dict:
    """Say that a pod's Job has so many ranks."""
    each["spec"]["containers"][1]["env"][-1]["value"] = str(count)
    return each


def indexed(number: int, where: str | None, count: int) -> dict:
    """Return a pod of an Indexed Job."""
    labels = {
        "trainyard.dev/check": "all-reduce",
        "batch.kubernetes.io/job-name": "run",
        "batch.kubernetes.io/job-completion-index": str(number),
    }
    return ranks(pod(f"rank-{number}", where, labels), count)


def mpi(role: str, rank: int | None, where: str | None, count: int) -> dict:
    """Return a pod of an MPIJob; the launcher's pod is of a Job of its own as well."""
    labels = {
        "trainyard.dev/check": "all-reduce",
        "training.kubeflow.org/job-name": "run",
        "training.kubeflow.org/job-role": role,
    }
    if rank is not None:
        labels["training.kubeflow.org/replica-index"] = str(rank)
    if role == "launcher":
        labels["batch.kubernetes.io/job-name"] = "run-launcher"
    phase = "Succeeded" if role == "launcher" else "Running"
    return ranks(pod(f"{role}-{rank}", where, labels, phase), count)


CHECK = {"trainyard.dev/check": "node"}


def read(tmp_path: Path, nodes: list[dict], pods: list[dict]) -> str | None:
    name = pods[0]["metadata"]["name"]
    return Logs(FakeApi(nodes, pods), tmp_path / "faults.json").read("ns", name, "check")


def test_a_container_that_is_no_check_says_that_it_runs_nothing(tmp_path: Path) -> None:
    log = read(tmp_path, [node("a")], [pod("web", "a", {}, "Running")])
    assert log == "simulated: container check of pod ns/web runs no program\n"


def test_a_node_check_answers_with_the_faults_of_its_node(tmp_path: Path) -> None:
    faults.add(tmp_path / "faults.json", Fault("gpu", pool="h100", index=0))
    log = read(tmp_path, [node("a")], [pod("check", "a", CHECK)])
    assert log == node_check_log(SimulatedNode("a", "p5.48xlarge", frozenset({"gpu"})))


def test_a_check_that_still_runs_has_written_nothing(tmp_path: Path) -> None:
    assert read(tmp_path, [node("a")], [pod("check", "a", CHECK, "Running")]) is None


def test_nobody_has_the_log_of_a_dead_node(tmp_path: Path) -> None:
    with pytest.raises(NodeIsDeadError) as caught:
        read(tmp_path, [node("a", life="dead")], [pod("check", "a", CHECK)])
    assert str(caught.value) == "node a does not answer: a fault of the target has killed it"


JOBS = {
    "of an Indexed Job": [indexed(0, "b", 3), indexed(10, "c", 3), indexed(2, "a", 3)],
    "of an MPIJob whose launcher has ranks": [
        mpi("launcher", 0, "b", 3),
        mpi("worker", 10, "c", 3),
        mpi("worker", 2, "a", 3),
    ],
    "of an MPIJob whose launcher has none": [
        mpi("launcher", None, "a", 3),
        mpi("worker", 10, "c", 3),
        mpi("worker", 0, "b", 3),
        mpi("worker", 2, "a", 3),
    ],
}


@pytest.mark.parametrize("kind", JOBS)
def test_one_pod_speaks_for_all_ranks_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(
        "scripts.local.answers.answer",
        lambda check, ranks, env: f"{check} {[each.name for each in ranks]} {env}",
    )
    log = read(tmp_path, [node("a"), node("b"), node("c")], JOBS[kind])
    assert log == "all-reduce ['b', 'a', 'c'] {'A': '1', 'B': '', 'GATE_NODES': '3'}"


def test_the_nodes_of_a_large_job_are_listed_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "scripts.local.answers.answer",
        lambda _check, ranks, _env: " ".join(each.name for each in ranks),
    )
    names = [f"n{number}" for number in range(20)]
    pods = [mpi("launcher", 0, "n0", 20)]
    pods += [mpi("worker", number, f"n{number}", 20) for number in range(1, 20)]
    assert read(tmp_path, [node(name) for name in names], pods) == " ".join(names)


@pytest.mark.parametrize(
    "pods",
    [
        [indexed(0, "a", 2), indexed(1, None, 2)],
        [mpi("launcher", 0, "a", 2), mpi("worker", 1, None, 2)],
    ],
    ids=["Job", "MPIJob"],
)
def test_who_launches_waits_until_all_ranks_have_a_node(tmp_path: Path, pods: list[dict]) -> None:
    log = read(tmp_path, [node("a")], pods)
    assert log == "simulated: 1 of 2 ranks have come; rank 0 waits\n"


def test_other_ranks_point_at_rank_0(tmp_path: Path) -> None:
    log = read(tmp_path, [node("a")], [indexed(3, "a", 4)])
    assert log == "simulated: rank 3; rank 0 prints the table\n"


@pytest.mark.parametrize(
    ("attempt", "last"),
    [
        ("whole", "small_train: pass: loss fell from "),
        ("killed", "small_train: killed after step "),
        ("resumed", "small_train: pass: loss fell from "),
    ],
)
def test_the_first_pod_of_a_small_training_speaks_for_it(
    tmp_path: Path, attempt: Attempt, last: str
) -> None:
    maker = TrainMaker(
        run="r1",
        pool="h100",
        namespace="ns",
        image=f"registry.example.com/training@sha256:{'1' * 64}",
        instance=instance_type("p5.48xlarge"),
        nodes=2,
        claim="shared",
        queue="gate",
    )
    template = maker.job(attempt, 600).manifest["spec"]["template"]
    pods: list[dict] = []
    for index, name in enumerate("ab"):
        known = {
            **template["metadata"]["labels"],
            "batch.kubernetes.io/job-name": "run",
            "batch.kubernetes.io/job-completion-index": str(index),
        }
        pods.append(
            {
                "metadata": {"name": f"rank-{index}", "namespace": "ns", "labels": known},
                "spec": {**template["spec"], "nodeName": name},
                "status": {"phase": "Succeeded"},
            }
        )
    log = read(tmp_path, [node("a"), node("b")], pods) or ""
    assert log.splitlines()[-1].startswith(last)


LACKS = "simulated: the container has no variable '{}', which the gate sets\n"


@pytest.mark.parametrize(
    ("check", "told"),
    [
        ("all-reduce", LACKS.format("GATE_JOB")),
        ("storage", LACKS.format("GATE_TYPE")),
        ("weather", "simulated: container check of pod ns/pod runs no program\n"),
    ],
)
def test_a_pod_that_the_gate_did_not_make_is_told_what_it_lacks(
    tmp_path: Path, check: str, told: str
) -> None:
    assert read(tmp_path, [node("a")], [pod("pod", "a", {"trainyard.dev/check": check})]) == told


def test_diagnostics_answer_with_what_they_alone_find(tmp_path: Path) -> None:
    faults.add(tmp_path / "faults.json", Fault("dcgm", pool="h100", index=0))
    asked = pod("diagnostics", "a", {"trainyard.dev/check": "dcgm"})
    asked["spec"]["containers"][1]["env"] += [
        {"name": "CHECK_ONLY", "value": "machine dcgm"},
        {"name": "CHECK_DCGM", "value": "2"},
    ]
    log = read(tmp_path, [node("a")], [asked])
    assert "#@ begin kernel-log" not in (log or "")
    assert "A memory mismatch was detected on GPU 0" in (log or "")


def test_a_node_is_known_by_its_type_and_faults() -> None:
    given = [Fault("link", pool="h100", index=1)]
    expected = SimulatedNode("a", "p5.48xlarge", frozenset({"link"}))
    assert simulated(node("a", index=1), given) == expected


@pytest.mark.parametrize(("kinds", "same"), [((), False), (("returns",), True)])
def test_a_replacement_has_other_gpus_unless_the_same_hardware_comes_back(
    kinds: tuple[str, ...],
    same: bool,  # noqa: FBT001 - a column of the table
) -> None:
    given = [Fault(kind, pool="h100", index=1) for kind in kinds]
    machines: list[str] = []
    for name in ("a", "b"):
        each = {**node(name, index=1), "spec": {"providerID": f"aws:///us-east-1a/i-{name}"}}
        machines.append(simulated(each, given).machine)
    assert (machines[0] == machines[1]) is same


def test_only_plain_variables_are_seen() -> None:
    assert environment(pod("p", "a", {}), "check") == {"A": "1", "B": "", "GATE_NODES": "1"}
