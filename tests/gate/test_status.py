import json
from typing import Any

import pytest
from click.testing import CliRunner

from scripts.gate import cli
from scripts.gate.ports import Mark
from scripts.gate.status import OutNode, wave_statuses, worst
from scripts.verdicts import Verdict
from tests.gate.api_server import ApiServer

OPEN = {"trainyard.dev/gate": Mark.OPEN.value}


def node(name: str, wave: str = "1", pool: str = "train", **more: Any) -> dict[str, Any]:  # noqa: ANN401 - parts of a Node
    known = {"trainyard.dev/pool": pool, "trainyard.dev/wave": wave, **more.get("labels", {})}
    tainted = more.get("tainted", True)
    return {
        "metadata": {"name": name, "labels": known, "annotations": more.get("annotations", {})},
        "spec": {"taints": [{"key": "trainyard.dev/unproved"}] if tainted else []},
        "status": {"conditions": [{"type": "Ready", "status": more.get("ready", "True")}]},
    }


def verdict(wave: str = "1", said: str = "pass") -> dict[str, Any]:
    content = {
        "pool": "train",
        "wave": wave,
        "verdict": said,
        "message": "13 of 14 nodes open",
        "run": "r-1",
        "ended": "2026-12-01T08:00:00+00:00",
    }
    return {
        "metadata": {"name": f"gate-train-{wave}"},
        "data": {"verdict.json": json.dumps(content)},
    }


def test_a_wave_is_told_by_its_nodes_now_and_its_last_verdict() -> None:
    bad = node(
        "b",
        labels={"trainyard.dev/gate": Mark.REFUSE.value},
        annotations={"trainyard.dev/gate-reason": "failed: a GPU is lost"},
    )
    [wave] = wave_statuses(
        [bad, node("a", labels=OPEN, tainted=False), node("c", ready="False")], [verdict()]
    )
    assert (wave.nodes, wave.ready, wave.open) == (3, 2, 1)
    assert (wave.verdict, wave.run) == ("pass", "r-1")
    assert wave.out == (
        OutNode("b", "failed", "failed: a GPU is lost"),
        OutNode("c", "untested", "not tested yet"),
    )


def test_a_node_that_somebody_tainted_after_it_passed_says_so() -> None:
    [wave] = wave_statuses([node("a", labels=OPEN)], [])
    assert wave.out == (OutNode("a", "passed", "passed, and was tainted again by somebody else"),)


def test_waves_are_in_order_of_their_numbers_and_system_nodes_are_none() -> None:
    plain = {"metadata": {"name": "x"}, "spec": {}, "status": {}}
    nodes = [node("a", "10"), node("b", "2"), node("c", "1", pool="system"), plain]
    assert [wave.wave for wave in wave_statuses(nodes, [])] == ["2", "10"]


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([], Verdict.UNKNOWN),
        (["pass"], Verdict.PASS),
        (["pass", "unknown"], Verdict.UNKNOWN),
        (["pass", ""], Verdict.UNKNOWN),
        (["unknown", "fail"], Verdict.FAIL),
    ],
)
def test_the_worst_wave_decides_and_unknown_is_no_pass(
    verdicts: list[str], expected: Verdict
) -> None:
    nodes = [node(f"n{n}", str(n), labels=OPEN, tainted=False) for n in range(len(verdicts))]
    kept = [verdict(str(n), said) for n, said in enumerate(verdicts) if said]
    assert worst(wave_statuses(nodes, kept)) is expected


def test_the_command_shows_a_table_and_why_nodes_are_out(monkeypatch: pytest.MonkeyPatch) -> None:
    server = ApiServer()
    server.add_node("n0")
    monkeypatch.setattr(cli, "Client", lambda **_known: server.client())
    kubeconfig = json.dumps(
        {
            "clusters": [{"name": "c", "cluster": {"server": "https://c.example"}}],
            "users": [{"name": "u", "user": {}}],
            "contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}],
            "current-context": "x",
        }
    )
    done = CliRunner().invoke(cli.gate, ["status", "--kubeconfig", "-"], input=kubeconfig)
    assert done.exit_code == 3
    assert "none yet" in done.stdout
    assert "train wave 1: n0 is out (untested): not tested yet" in done.stdout
    plain = CliRunner().invoke(
        cli.gate, ["status", "--kubeconfig", "-", "--json"], input=kubeconfig
    )
    assert [wave["nodes"] for wave in json.loads(plain.stdout)] == [1]
