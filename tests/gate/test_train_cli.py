"""``yard gate train`` over HTTP, against an API in memory that runs Indexed Jobs."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from lightkube import Client

from scripts.errors import UnknownError, UsageError
from scripts.gate import train_cli
from scripts.gate.api import Api
from scripts.gate.cli import gate
from scripts.gate.objects import Manifest, items, labels
from scripts.gate.patience import Patience
from scripts.gate.request import Clock
from scripts.gate.train import ATTEMPT_LABEL
from scripts.local.train_answers import train_log
from scripts.records.config_maps import ConfigMapShelf
from tests.gate.api_server import ApiServer
from tests.gate.test_cli import KUBECONFIG
from tests.gate.test_train import IMAGE


class Trains(ApiServer):
    """Runs an Indexed Job as one pod a node, each of which has ended as soon as it is made."""

    def _start(self, job: Manifest) -> None:
        name, template = job["metadata"]["name"], job["spec"]["template"]
        for index, node in zip(range(job["spec"]["completions"]), "ba", strict=True):
            known = {
                "batch.kubernetes.io/job-name": name,
                "batch.kubernetes.io/job-completion-index": str(index),
            }
            self._pod(name, f"{name}-{index}-x", template, node, known)

    def _log(self, pod: Manifest) -> str:
        assert pod["metadata"]["name"].endswith("-0-x"), "only index 0 speaks"
        [container] = items(pod, "spec", "containers")
        nodes = [self._simulated(name) for name in "ba"]
        return train_log(nodes, labels(pod)[ATTEMPT_LABEL], container["args"])


def cluster(*faulty: str, fault: str = "") -> Trains:
    server = Trains()
    for name in "ab":
        server.add_node(name)
    server.faults = {name: frozenset({fault}) for name in faulty}
    return server


def invoke(
    tmp_path: Path, server: ApiServer, monkeypatch: pytest.MonkeyPatch, *more: str
) -> Result:
    def client(config: object, namespace: str) -> Client:
        assert (config is not None, namespace) == (True, "trainyard-gate")
        return server.client()

    monkeypatch.setattr(train_cli, "Client", client)
    words = ["train", "--pool", "train", "--type", "p5.48xlarge", "--image", IMAGE]
    words += ["--kubeconfig", "-", "--report-dir", str(tmp_path / "reports"), *more]
    return CliRunner().invoke(gate, words, input=KUBECONFIG)


def test_a_good_training_is_one_line_on_stdout_and_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = cluster()
    result = invoke(tmp_path, server, monkeypatch)
    assert result.stdout == (
        "pass: training on pool train: 16 ranks on 2 nodes: loss fell from 2.9951 to 0.0252; "
        "killed after step 30, it went on from step 20 and ended with a loss of 0.0252\n"
    )
    assert result.exit_code == 0
    report = json.loads((tmp_path / "reports/train-train.json").read_text())
    assert (report["verdict"], report["nodes"], report["image"]) == ("pass", 2, IMAGE)
    assert list(report["attempts"]) == ["whole", "killed", "resumed"]
    assert server.objects["Job"] == server.objects["Pod"] == {}
    assert list(server.objects["Service"]) == ["small-train"]


def test_only_who_has_the_pools_lease_trains_and_it_is_given_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = cluster()
    held: list[list[str]] = []

    def look(request: str) -> None:
        if request.startswith(("DELETE", "POST")) and request.endswith("/jobs"):
            held.append(sorted(server.objects["ConfigMap"]))

    server.trouble = look
    assert invoke(tmp_path, server, monkeypatch).exit_code == 0
    assert held
    assert all(each == ["train-lease-train"] for each in held)
    assert server.objects["ConfigMap"] == {}


def test_who_finds_the_pool_with_another_training_removes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = cluster()
    words = iter(range(1_000))

    def speaks(_seconds: float) -> None:
        told = {"run": "r1", "host": "h", "process": 1, "words": next(words)}
        other = server.objects["ConfigMap"]["train-lease-train"]
        other["data"]["record.json"] = json.dumps(told)

    shelf = ConfigMapShelf(
        Api(server.client(), "trainyard-gate", Patience()), "trainyard-gate", "train-lease"
    )
    shelf.add("train", "")
    speaks(0)
    monkeypatch.setattr(train_cli, "Clock", lambda: Clock(sleep=speaks))
    result = invoke(tmp_path, server, monkeypatch)
    assert isinstance(result.exception, UnknownError)
    assert str(result.exception) == (
        "run r1 (process 1 on h) works on the training of pool train; let it end, or stop it and "
        "run this again"
    )
    assert not any(each.startswith("DELETE") for each in server.requests)


def test_a_training_over_sockets_fails_and_is_printed_whole_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = invoke(tmp_path, cluster("a", fault="socket"), monkeypatch, "--json")
    assert result.exit_code == 1
    verdict = json.loads(result.stdout)
    assert verdict["message"].startswith("whole: transport is not EFA: NCCL used ")
    assert list(verdict["attempts"]) == ["whole", "killed", "resumed"]


def test_a_training_without_a_report_is_unknown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = invoke(tmp_path, cluster("b", fault="dead"), monkeypatch)
    assert result.exit_code == 3
    assert result.stdout == (
        "unknown: training on pool train: whole: rank 0 made no report: its log is empty; next: "
        "look at the log of the attempt, and run it again\n"
    )


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (
            ("--image", "registry.example.com/training:1"),
            (
                "image 'registry.example.com/training:1' is not pinned; give it as "
                "NAME@sha256:DIGEST (64 hex digits), so that every node is proved by the same "
                "program"
            ),
        ),
        (
            ("--type", "m7i.xlarge"),
            "m7i.xlarge has no NVIDIA GPU; the gate proves NVIDIA nodes only",
        ),
    ],
)
def test_bad_use_is_told_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...], message: str
) -> None:
    server = cluster()
    result = invoke(tmp_path, server, monkeypatch, *more)
    assert isinstance(result.exception, UsageError)
    assert str(result.exception) == message
    assert server.requests == []
