import json
from collections.abc import Callable

import pytest
from click.testing import CliRunner, Result
from lightkube import Client

from scripts.blacklist.cli import blacklist
from scripts.blacklist.store import SHELF, BlacklistStore
from scripts.errors import UsageError
from scripts.records import kubeconfig
from tests.blacklist.make import entry
from tests.records.api import KUBECONFIG, ConfigMapApi

HOST = "i-0123456789abcdef0"
UUID = "GPU-0a1b2c3d-0000-1111-2222-0123456789ab"

Run = Callable[..., Result]


@pytest.fixture
def api() -> ConfigMapApi:
    return ConfigMapApi()


@pytest.fixture
def run(api: ConfigMapApi, monkeypatch: pytest.MonkeyPatch) -> Run:
    def client(config: object, namespace: str) -> Client:
        assert (config is not None, namespace) == (True, "trainyard-gate")
        return api.client()

    monkeypatch.setattr(kubeconfig, "Client", client)
    monkeypatch.setenv("USER", "operator")

    def invoke(*words: str) -> Result:
        return CliRunner().invoke(blacklist, [*words, "--kubeconfig", "-"], input=KUBECONFIG)

    return invoke


def test_an_empty_list_says_so(run: Run) -> None:
    result = run("list")
    assert (result.output, result.exit_code) == ("the blacklist is empty\n", 0)
    assert json.loads(run("list", "--json").output) == []


def test_hardware_is_added_listed_and_cleared_by_hand(run: Run) -> None:
    added = run("add", "--gpu", "1651923012345", "--instance", HOST, "--reason", "loses steps")
    [made] = json.loads(run("list", "--json").output)
    since = made["at"][:10]
    assert added.output == (
        f"instance {HOST} with GPU 1651923012345 is on the blacklist since {since} until it is "
        f"cleared (entry {made['id']}): loses steps\n"
    )
    assert (made["by"], made["cause"], made["holds"]) == ("operator", "manual", True)
    assert made["gpus"] == [{"serial": "1651923012345", "uuid": ""}]
    lines = run("list").output.splitlines()
    assert lines[0].split() == [
        "Entry",
        "Hardware",
        "Node",
        "then",
        "Cause",
        "Since",
        "Until",
        "Reason",
    ]
    assert lines[1].split()[0] == made["id"]
    assert "it is cleared" in lines[1]
    cleared = run("clear", "1651923012345", "--reason", "host replaced", "--by", "somebody")
    assert cleared.output == (
        f"cleared {made['id']}: instance {HOST} with GPU 1651923012345: host replaced\n"
    )
    assert run("list").output == "the blacklist is empty\n"
    [kept] = json.loads(run("list", "--all", "--json").output)
    assert (kept["holds"], kept["cleared"]["by"], kept["cleared"]["reason"]) == (
        False,
        "somebody",
        "host replaced",
    )


@pytest.mark.parametrize("what", [HOST, UUID, UUID.lower(), "the entry"])
def test_an_entry_is_cleared_by_all_that_it_is_known_by(run: Run, what: str) -> None:
    added = run("add", "--gpu", UUID, "--instance", HOST, "--reason", "x", "--json")
    [made] = json.loads(added.output)
    result = run("clear", made["id"] if what == "the entry" else what, "--reason", "y", "--json")
    assert [each["id"] for each in json.loads(result.output)] == [made["id"]]


def test_an_entry_by_hand_may_end(run: Run) -> None:
    [made] = json.loads(run("add", "--gpu", UUID, "--days", "7", "--reason", "x", "--json").output)
    assert made["until"] is not None
    assert "until" in run("list").output.lower()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["add", "--reason", "x"],
            "nothing was named; give --gpu, --instance or both",
        ),
        (
            ["add", "--gpu", "node-7", "--instance", "node-7", "--reason", " "],
            (
                "--gpu 'node-7' is neither a serial number (8 to 20 digits or capitals) nor a UUID "
                "(GPU-01234567-…), as nvidia-smi --query-gpu=serial,uuid prints them; --instance "
                "'node-7' is no instance id (i-0123456789abcdef0); --reason is empty; say why, for "
                "whoever reads it in a year"
            ),
        ),
        (
            ["add", "--instance", HOST, "--reason", "x" * 1001],
            "--reason has 1001 characters; 1000 are kept",
        ),
        (
            ["clear", "i-0123456789abcdef1", "--reason", ""],
            "--reason is empty; say why, for whoever reads it in a year",
        ),
        (
            ["clear", "i-0123456789abcdef1", "--reason", "x"],
            (
                "'i-0123456789abcdef1' is no entry, GPU or instance on the blacklist (yard "
                f"blacklist list); nearest: {HOST}"
            ),
        ),
    ],
)
def test_bad_use_is_one_error_that_names_everything(
    run: Run, words: list[str], message: str
) -> None:
    run("add", "--instance", HOST, "--reason", "there")
    result = run(*words)
    assert isinstance(result.exception, UsageError)
    assert str(result.exception) == message


def test_what_was_cleared_before_is_no_longer_on_the_list(run: Run) -> None:
    run("add", "--instance", HOST, "--reason", "x")
    assert run("clear", HOST, "--reason", "y").exit_code == 0
    again = run("clear", HOST, "--reason", "y")
    assert str(again.exception) == (
        f"{HOST!r} is no entry, GPU or instance on the blacklist (yard blacklist list)"
    )


@pytest.mark.parametrize("command", ["add", "clear"])
def test_a_reason_and_a_name_are_needed(
    run: Run, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [HOST] if command == "clear" else ["--instance", HOST]
    assert "Missing option '--reason'" in run(command, *words).output
    monkeypatch.delenv("USER")
    assert "Missing option '--by'" in run(command, *words, "--reason", "x").output


def test_entries_of_gates_show_how_often_and_until_when(run: Run, api: ConfigMapApi) -> None:
    store = BlacklistStore(api.shelf(SHELF))
    for number in (1, 2):
        store.add(entry(1, instance=f"i-0000000{number}", run=f"r{number}"))
    output = run("list", "--all").output
    assert "link, time 2" in output
    assert "over since 2026-12-31" in output or "2026-12-31" in output
    assert "canary" not in output
