import json
import re
import signal
from collections.abc import Sequence
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from lightkube import Client

from scripts.errors import UsageError
from scripts.gate import cli, lease, session
from scripts.gate.ports import NodeState
from scripts.gate.replace import Replaced
from tests.gate.api_server import ApiServer
from tests.gate.fake import IMAGE

KUBECONFIG = json.dumps(
    {
        "clusters": [{"name": "c", "cluster": {"server": "http://api.test"}}],
        "users": [{"name": "u", "user": {"token": "canary-token"}}],
        "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "x",
    }
)


def options(**changed: str) -> list[str]:
    known = {
        "pool": "train",
        "wave": "1",
        "nodes": "2",
        "type": "p5.48xlarge",
        "image": IMAGE,
        "kubeconfig": "-",
        **changed,
    }
    return ["run", *(word for key, value in known.items() for word in (f"--{key}", value))]


def invoke(
    tmp_path: Path, server: ApiServer, monkeypatch: pytest.MonkeyPatch, *more: str
) -> Result:
    def client(config: object, namespace: str) -> Client:
        assert (config is not None, namespace) == (True, "trainyard-gate")
        return server.client()

    monkeypatch.setattr(cli, "Client", client)
    words = [*options(), "--report-dir", str(tmp_path / "reports"), *more]
    return CliRunner().invoke(cli.gate, words, input=KUBECONFIG)


def wave(*faulty: str) -> ApiServer:
    server = ApiServer()
    for name in ("n0", "n1"):
        server.add_node(name)
    server.faults = {name: frozenset({"link"}) for name in faulty}
    return server


def test_a_good_wave_is_one_line_on_stdout_and_a_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = invoke(tmp_path, wave(), monkeypatch)
    assert result.stdout == "pass: pool train wave 1: 2 of 2 nodes open\n"
    assert result.exit_code == 0
    progress = [line.split(maxsplit=1)[1] for line in result.stderr.splitlines()]
    assert progress[:2] == ["2 of 2 nodes Ready", "static: checking 2 nodes"]
    files = sorted(path.name for path in (tmp_path / "reports").glob("gate-*"))
    assert files == ["gate-train-1-pairs.svg", "gate-train-1.html", "gate-train-1.json"]
    report = json.loads((tmp_path / "reports" / "gate-train-1.json").read_text())
    assert (report["verdict"], len(report["nodes"])) == ("pass", 2)
    assert "canary" not in result.output + json.dumps(report)


def test_a_wave_that_fails_exits_with_1_and_still_reports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = invoke(tmp_path, wave("n0"), monkeypatch, "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["verdict"] == "fail"
    assert (tmp_path / "reports" / "gate-train-1.json").exists()


def test_a_wave_that_is_not_there_exits_with_3(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = invoke(tmp_path, ApiServer(), monkeypatch, "--timeout", "1")
    assert result.exit_code == 3
    assert result.stdout.startswith("unknown: pool train wave 1: 0 of 2 nodes were Ready after 1 s")


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGINT])
def test_who_stops_a_gate_between_two_marks_gets_a_report_and_can_go_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: signal.Signals
) -> None:
    server, marked = wave(), list[str]()
    before = signal.getsignal(sent)

    def trouble(request: str) -> None:
        if request.startswith("PATCH") and "/nodes/" in request:
            marked.append(request)
            if len(marked) == 2:
                signal.raise_signal(sent)

    server.trouble = trouble
    result = invoke(tmp_path, server, monkeypatch)
    assert result.exit_code == 3
    assert (tmp_path / "reports" / "gate-train-1.json").exists()
    assert signal.getsignal(sent) == before
    assert not [name for name in server.objects["ConfigMap"] if name.startswith("lease-")]
    server.requests.clear()

    result = invoke(tmp_path, server, monkeypatch)
    assert result.stdout == "pass: pool train wave 1: 2 of 2 nodes open\n"
    nodes = server.objects["Node"].values()
    assert {node["metadata"]["labels"]["trainyard.dev/gate"] for node in nodes} == {"passed"}
    made = [each for each in server.requests if each.startswith("POST") and "jobs" in each]
    assert made == [], "nothing is measured again"


def test_a_stopped_gate_is_given_up_by_who_asks_for_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = wave()
    server.trouble = lambda request: (
        signal.raise_signal(signal.SIGTERM) if request.startswith("PATCH") else None
    )
    assert invoke(tmp_path, server, monkeypatch).exit_code == 3
    server.trouble = lambda _request: None
    result = invoke(tmp_path, server, monkeypatch, "--collective", "all_reduce")
    assert result.stdout == "pass: pool train wave 1: 2 of 2 nodes open\n"
    assert re.search(
        r"run \S+ of \d{4}-\d\d-\d\d \d\d:\d\d has not ended and is given up: it is too old, or "
        r"was asked for something else\n",
        result.stderr,
    )


def test_who_lost_the_wave_while_it_marked_nodes_opens_and_ends_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "STALE_SECONDS", 0)
    server, marked = wave(), list[str]()
    for name in ("n2", "n3", "n4"):
        server.add_node(name)
    server.faults = {"n0": frozenset({"gpu"})}

    def trouble(request: str) -> None:
        if request.startswith("PATCH") and "/nodes/" in request:
            marked.append(request)
            held = server.objects["ConfigMap"]["lease-train-1"]
            told = {"run": "r2", "host": "h", "process": 2, "words": 0}
            held["data"]["record.json"] = json.dumps(told)

    server.trouble = trouble
    more = ["--nodes", "5", "--replace", "1", "--no-repair"]
    result = invoke(tmp_path, server, monkeypatch, *more)
    assert result.stdout == (
        "unknown: pool train wave 1: the gate could not go on: wave train-1 is held by run r2 "
        "(process 2 on h), so this run stops without a verdict (1 warning in the report); next: "
        "run it again: it goes on where it stopped\n"
    )
    assert marked == ["PATCH /api/v1/nodes/n0"]
    assert "lease-train-1" in server.objects["ConfigMap"]
    assert "gate-train-1" not in server.objects["ConfigMap"]
    report = json.loads((tmp_path / "reports" / "gate-train-1.json").read_text())
    assert (report["replaced"], report["warnings"]) == (
        [],
        [
            (
                "n0 is not replaced: it could not be decided: wave train-1 is held by run r2 "
                "(process 2 on h), so this run stops without a verdict"
            )
        ],
    )


def test_a_gate_that_is_stopped_while_it_waits_for_replacements_still_knows_what_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = wave()
    for name in ("n2", "n3", "n4"):
        server.add_node(name)
    server.faults = {"n0": frozenset({"gpu"})}

    class Ends:
        """Ends instances in whose place none comes."""

        def replace(self, nodes: Sequence[NodeState]) -> Replaced:
            for node in nodes:
                del server.objects["Node"][node.name]
            server.trouble = stop
            return Replaced(ordered={node.name: node.provider_id for node in nodes})

        def trouble(self) -> str:
            return "no capacity"

    def stop(request: str) -> None:
        if request == "GET /api/v1/nodes":
            server.trouble = lambda _request: None
            signal.raise_signal(signal.SIGTERM)

    monkeypatch.setattr(session, "AutoScaling", Ends)
    monkeypatch.setattr(session, "ARRIVAL_SECONDS", 0.0)
    more = ["--nodes", "5", "--replace", "1", "--no-repair"]
    assert invoke(tmp_path, server, monkeypatch, *more).exit_code == 3
    result = invoke(tmp_path, server, monkeypatch, *more)
    assert result.stdout == (
        "pass: pool train wave 1: 4 of 5 nodes open; out: n0: gpus: a GPU is lost: Unable to "
        "determine the device handle for GPU0: 0000:53:00.0: Unknown Error [ISOLATE]; n0 left for "
        "replacement, which is not proved: 4 of 5 nodes were Ready after 0 s, so none was tested; "
        "1 node never joined; no capacity; next: look at the node group's health and at these "
        "instances, then run the gate again\n"
    )
    assert result.exit_code == 0
    kept = server.objects["ConfigMap"]["gate-train-1"]["data"]["verdict.json"]
    report = json.loads((tmp_path / "reports" / "gate-train-1.json").read_text())
    for told in (json.loads(kept), report):
        assert [each["name"] for each in told["replaced"]] == ["n0"]
        assert {each["name"]: each["verdict"] for each in told["nodes"]} == dict.fromkeys(
            ("n1", "n2", "n3", "n4"), "pass"
        )


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"type": "trn2.48xlarge"},
            "trn2.48xlarge has no NVIDIA GPU; the gate proves NVIDIA nodes only",
        ),
        (
            {"kubeconfig": "/nowhere/config"},
            (
                "kubeconfig '/nowhere/config' cannot be read: [Errno 2] No such file or directory: "
                "'/nowhere/config'"
            ),
        ),
    ],
)
def test_bad_use_is_refused_before_anything_runs(changed: dict[str, str], message: str) -> None:
    result = CliRunner().invoke(cli.gate, options(**changed))
    assert isinstance(result.exception, UsageError)
    assert str(result.exception) == message


@pytest.mark.parametrize("text", ["", "[]", "a: [", "canary-token", '{"clusters": []}'])
def test_what_is_no_kubeconfig_is_refused_without_quoting_it(text: str) -> None:
    result = CliRunner().invoke(cli.gate, options(), input=text)
    assert isinstance(result.exception, UsageError)
    assert str(result.exception).startswith("kubeconfig '-' ")
    assert "canary" not in str(result.exception)
