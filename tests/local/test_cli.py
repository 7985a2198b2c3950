import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from scripts.errors import FailedError, UnknownError
from scripts.local import cli
from scripts.local.target import lifecycle, status
from scripts.local.target.status import Line


def line(part: str, health: str) -> Line:
    return Line(part, "real", "v1", "127.0.0.1:1", 1, health, "", 5, "what it is")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRAINYARD_HOME", str(tmp_path))
    return tmp_path


def run(*arguments: str) -> Result:
    return CliRunner().invoke(cli.local, arguments, catch_exceptions=False)


def show(monkeypatch: pytest.MonkeyPatch, home: Path, *lines: Line) -> None:
    """Let ``status`` see these lines instead of processes."""
    (home / "ports.json").write_text("{}")

    class Prepared:
        parts = ()

    monkeypatch.setattr(cli, "ensure", lambda: None)
    monkeypatch.setattr(lifecycle, "prepare", lambda _home, _tools: Prepared)
    monkeypatch.setattr(status, "lines", lambda _home, _parts: list(lines))


def test_all_commands_are_there_with_help() -> None:
    commands = ["down", "env", "fault", "logs", "status", "toolchain", "up"]
    shown = run("--help").output
    assert [name for name in commands if f"\n  {name} " in shown] == commands


def test_a_target_that_is_well_passes(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    show(monkeypatch, home, line("etcd", "pass"))
    result = run("status", "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout) == [
        {
            "part": "etcd",
            "kind": "real",
            "version": "v1",
            "address": "127.0.0.1:1",
            "pid": 1,
            "health": "pass",
            "detail": "",
            "uptime_seconds": 5,
            "about": "what it is",
        }
    ]


def test_a_part_that_is_down_fails(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    show(monkeypatch, home, line("etcd", "fail"), line("kwok", "pass"), line("kueue", "unknown"))
    with pytest.raises(FailedError) as caught:
        run("status")
    assert str(caught.value) == (
        "not well: etcd, kueue; start what is missing with `yard local up`"
    )


def test_a_part_that_does_not_answer_is_unknown(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    show(monkeypatch, home, line("etcd", "pass"), line("kueue", "unknown"))
    with pytest.raises(UnknownError) as caught:
        run("status")
    assert str(caught.value) == ("no answer in time: kueue; look again, or see `yard local logs`")


def test_a_target_that_was_never_made_fails(home: Path) -> None:
    with pytest.raises(FailedError) as caught:
        run("status")
    assert str(caught.value) == f"there is no target in {home}; make one with `yard local up`"


def test_logs_are_named_and_shown_from_their_end(home: Path) -> None:
    (home / "logs").mkdir()
    log = home / "logs" / "etcd.log"
    log.write_text("one\ntwo\nthree\n")
    assert run("logs").output == f"{log}\n"
    assert run("logs", "etcd", "--lines", "2").output == "two\nthree\n"
    result = run("logs", "etdc")
    assert result.exit_code == 2
    assert result.output.splitlines()[-1] == (
        f"Error: there is no log of 'etdc' in {home}/logs; there are: etcd"
    )
