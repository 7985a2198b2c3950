import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from click.testing import CliRunner
from rich.console import Console

from scripts.gate import cli
from scripts.gate.going import IDLE, Going, Movement
from scripts.gate.ports import Mark
from scripts.gate.status import OutNode, shown, wave_statuses, worst
from scripts.verdicts import Verdict
from tests.gate.api_server import ApiServer

NOW = datetime(2026, 12, 1, 9, 30, tzinfo=UTC)
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


def record(kind: str, name: str, text: str, written: datetime | None = None) -> dict[str, Any]:
    """Return a ConfigMap as a shelf writes it, and as the API server stamps it."""
    meta: dict[str, Any] = {
        "name": f"{kind}-{name}",
        "labels": {"trainyard.dev/record": kind, "trainyard.dev/record-name": name},
        "creationTimestamp": "2026-12-01T08:00:00Z",
    }
    if written:
        meta["managedFields"] = [{"time": "2026-12-01T08:00:00Z"}, {"time": written.isoformat()}]
    return {"metadata": meta, "data": {"record.json": text}}


def lease(silent: float, place: str = "train-1") -> dict[str, Any]:
    text = json.dumps({"run": "r-2", "host": "ci-7", "process": 41, "words": 9})
    return record("lease", place, text, NOW - timedelta(seconds=silent))


def journal(wave: str = "1") -> dict[str, Any]:
    request = {"run": "r-2", "pool": "train", "wave": wave, "nodes": 3}
    began = {"schema": 1, "request": request, "started": "2026-12-01T08:15:00+00:00"}
    return record("journal", f"train-{wave}", json.dumps(began))


RUNNING = Going(
    state=Movement.RUNNING,
    run="r-2",
    since="2026-12-01T08:15:00+00:00",
    holder="process 41 on ci-7",
    pool="train",
    wave="1",
)
INTERRUPTED = Going(
    state=Movement.INTERRUPTED,
    run="r-2",
    since="2026-12-01T08:15:00+00:00",
    pool="train",
    wave="1",
)
UNBEGUN = Going(state=Movement.INTERRUPTED, run="r-2", since="2026-12-01T09:28:00+00:00")
RESUME = (
    "train wave 1: run r-2, which began 1 hour 15 minutes ago, was interrupted; "
    "resume with `yard gate resume --pool train --wave 1 …`"
)


@pytest.mark.parametrize(
    ("kept", "going", "line"),
    [
        ([], IDLE, None),
        ([record("baseline", "train-1", "{}"), journal("2")], IDLE, None),
        (
            [lease(10), journal()],
            RUNNING,
            ("train wave 1: run r-2 has been running for 1 hour 15 minutes (process 41 on ci-7)"),
        ),
        ([lease(45), journal()], INTERRUPTED, RESUME),
        ([journal(), record("journal", "r-2.n1.0", "1:eJw=")], INTERRUPTED, RESUME),
        (
            [lease(120)],
            UNBEGUN,
            (
                "train wave 1: run r-2, which began 2 minutes ago, was interrupted before it kept "
                "anything; begin anew with yard gate run"
            ),
        ),
    ],
    ids=["nothing", "others", "lives", "silent", "gave its lease back", "kept nothing"],
)
def test_a_gate_that_has_not_ended_runs_as_long_as_its_lease_is_renewed(
    kept: list[dict[str, Any]], going: Going, line: str | None
) -> None:
    wave = wave_statuses([node("a")], kept, NOW)[0]
    assert wave.going == going
    lines = [str(part) for part in list(shown([wave], NOW))[1:]]
    assert [each for each in lines if " is out " not in each] == ([line] if line else [])


def test_what_cannot_be_read_of_a_gate_is_left_to_the_gate_to_say() -> None:
    broken = [record("lease", "train-1", "{"), record("journal", "train-1", "[]")]
    [wave] = wave_statuses([node("a")], broken, NOW)
    assert wave.going.state is Movement.INTERRUPTED
    assert wave.going.run == ""


def test_a_gate_that_waits_for_the_first_node_of_its_wave_is_told() -> None:
    [wave] = wave_statuses([], [lease(1), journal()], NOW)
    assert (wave.pool, wave.wave, wave.nodes, wave.going) == ("train", "1", 0, RUNNING)


@pytest.mark.parametrize(("said", "expected"), [("pass", Verdict.UNKNOWN), ("fail", Verdict.FAIL)])
def test_a_wave_that_is_tested_again_is_not_known_to_be_good(said: str, expected: Verdict) -> None:
    waves = wave_statuses(
        [node("a", labels=OPEN, tainted=False)], [verdict(said=said), journal()], NOW
    )
    assert worst(waves) is expected


def test_the_table_has_a_row_for_each_wave() -> None:
    nodes = [node("a", labels=OPEN, tainted=False), node("b", "2")]
    console = Console(width=100, color_system=None)
    with console.capture() as shows:
        for part in shown(wave_statuses(nodes, [verdict(), lease(3, "train-2")], NOW), NOW):
            console.print(part, soft_wrap=True)
    assert [line.rstrip() for line in shows.get().splitlines()] == [
        "",
        " pool    wave   nodes   ready   open   verdict    ended              run   now",
        f" {'─' * 81}",
        " train   1      1       1       1      pass       2026-12-01 08:00   r-1",
        " train   2      1       1       0      none yet                            running",
        "",
        "train wave 2: run r-2 has been running for 3 seconds (process 41 on ci-7)",
        "train wave 2: b is out (untested): not tested yet",
    ]


def test_nodes_that_are_out_for_one_reason_share_a_line_and_bad_ones_come_first() -> None:
    many = [node(f"n{index}") for index in range(1000)]
    marks = {"trainyard.dev/gate": Mark.REFUSE.value}
    bad = node("z", labels=marks, annotations={"trainyard.dev/gate-reason": "a GPU is lost"})
    console = Console(width=100, color_system=None)
    with console.capture() as shows:
        for part in shown(wave_statuses([*many, bad], [], NOW), NOW):
            console.print(part, soft_wrap=True)
    assert shows.get().splitlines()[-2:] == [
        "train wave 1: z is out (failed): a GPU is lost",
        (
            "train wave 1: n0, n1, n10, n100, n101, n102 and 994 more are out (untested): "
            "not tested yet"
        ),
    ]


def test_a_wave_is_told_by_its_nodes_now_and_its_last_verdict() -> None:
    bad = node(
        "b",
        labels={"trainyard.dev/gate": Mark.REFUSE.value},
        annotations={"trainyard.dev/gate-reason": "failed: a GPU is lost"},
    )
    [wave] = wave_statuses(
        [bad, node("a", labels=OPEN, tainted=False), node("c", ready="False")], [verdict()], NOW
    )
    assert (wave.nodes, wave.ready, wave.open) == (3, 2, 1)
    assert (wave.verdict, wave.run) == ("pass", "r-1")
    assert wave.out == (
        OutNode("b", "failed", "failed: a GPU is lost"),
        OutNode("c", "untested", "not tested yet"),
    )


def test_a_node_that_somebody_tainted_after_it_passed_says_so() -> None:
    [wave] = wave_statuses([node("a", labels=OPEN)], [], NOW)
    assert wave.out == (OutNode("a", "passed", "passed, and was tainted again by somebody else"),)


def test_waves_are_in_order_of_their_numbers_and_system_nodes_are_none() -> None:
    plain = {"metadata": {"name": "x"}, "spec": {}, "status": {}}
    nodes = [node("a", "10"), node("b", "2"), node("c", "1", pool="system"), plain]
    assert [wave.wave for wave in wave_statuses(nodes, [], NOW)] == ["2", "10"]


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
    assert worst(wave_statuses(nodes, kept, NOW)) is expected


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
