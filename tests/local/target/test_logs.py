from pathlib import Path

import pytest

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
    spec: dict = {"containers": [{"name": "other"}, {"name": "check", "env": variables}]}
    if where:
        spec["nodeName"] = where
    metadata = {"name": name, "labels": labels}
    return {"metadata": metadata, "spec": spec, "status": {"phase": phase}}


def rank(number: int, where: str | None) -> dict:
    labels = {
        "trainyard.dev/check": "all-reduce",
        "batch.kubernetes.io/job-name": "run",
        "batch.kubernetes.io/job-completion-index": str(number),
    }
    return pod(f"rank-{number}", where, labels)


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


def test_rank_0_speaks_for_all_ranks_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "scripts.local.answers.all_reduce_log",
        lambda ranks, env: f"{[each.name for each in ranks]} {env}",
    )
    pods = [rank(0, "b"), rank(10, "c"), rank(2, "a")]
    log = read(tmp_path, [node("a"), node("b"), node("c")], pods)
    assert log == "['b', 'a', 'c'] {'A': '1', 'B': ''}"


def test_rank_0_waits_until_all_ranks_have_a_node(tmp_path: Path) -> None:
    log = read(tmp_path, [node("a")], [rank(0, "a"), rank(1, None)])
    assert log == "simulated: 1 of 2 ranks have come; rank 0 waits\n"


def test_other_ranks_point_at_rank_0(tmp_path: Path) -> None:
    log = read(tmp_path, [node("a")], [rank(3, "a")])
    assert log == "simulated: rank 3; rank 0 prints the table\n"


def test_a_pod_that_the_gate_did_not_make_is_told_what_it_lacks(tmp_path: Path) -> None:
    log = read(tmp_path, [node("a")], [rank(0, "a")])
    assert log == "simulated: the container has no variable 'GATE_JOB', which the gate sets\n"


def test_a_node_is_known_by_its_type_and_faults() -> None:
    given = [Fault("link", pool="h100", index=1)]
    expected = SimulatedNode("a", "p5.48xlarge", frozenset({"link"}))
    assert simulated(node("a", index=1), given) == expected


def test_only_plain_variables_are_seen() -> None:
    assert environment(pod("p", "a", {}), "check") == {"A": "1", "B": ""}
