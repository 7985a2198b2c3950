"""Commands that really run, asked for through the provider."""

from __future__ import annotations

import hashlib
import threading
import time
from typing import TYPE_CHECKING

import grpc
import pytest
from google.protobuf import empty_pb2

from scripts.local.plugins.shared.wire import Archive, Asset, Props, Secret, plain_props
from tests.local.plugins.command.support import Client, error, urn
from tests.local.plugins.shared.support import alive, eventually

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow

CANARY = "canary-that-must-not-sing"
URN = urn("command:local:Command")


def outputs(client: Client, inputs: Props) -> tuple[object, object]:
    _, properties = client.create(inputs)
    return properties["stdout"], properties["stderr"]


def failure(call: Callable[[], object]) -> str:
    with pytest.raises(grpc.RpcError) as caught:
        call()
    return error(caught.value)


def test_a_command_gives_what_it_wrote_and_keeps_its_inputs(client: Client) -> None:
    made, properties = client.create({"create": "echo out; echo err >&2", "dir": "/"})
    assert made.startswith("demo")
    assert properties == {
        "create": "echo out; echo err >&2",
        "dir": "/",
        "stdout": "out",
        "stderr": "err",
    }


@pytest.mark.parametrize(
    ("inputs", "stdout"),
    [
        ({"create": "pwd", "dir": "/usr"}, "/usr"),
        ({"create": "echo $A $B", "environment": {"A": "1", "B": "2"}}, "1 2"),
        ({"create": "cat", "stdin": "a\nb"}, "a\nb"),
        ({"create": "cat", "stdin": ""}, ""),
        ({"create": "print(1 + 1)", "interpreter": ["python3", "-c"]}, "2"),
        ({"create": "echo $0", "interpreter": []}, "/bin/sh"),
    ],
)
def test_each_input_reaches_the_command(client: Client, inputs: Props, stdout: str) -> None:
    assert outputs(client, inputs) == (stdout, "")


def test_noise_on_stderr_is_no_failure(client: Client) -> None:
    assert outputs(client, {"create": "echo warning >&2; echo ok"}) == ("ok", "warning")


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (
            {"create": "echo one; sleep 0.1; echo 'two' >&2; exit 3"},
            "exit status 3: running \"echo one; sleep 0.1; echo 'two' >&2; exit 3\":\none\ntwo\n",
        ),
        ({"create": "kill -9 $$"}, 'signal: killed: running "kill -9 $$":\n'),
        (
            {"create": "true", "dir": "/no/such"},
            'chdir /no/such: no such file or directory: running "true":\n',
        ),
        (
            {"create": "true", "interpreter": ["no-such-shell"]},
            'exec: "no-such-shell": executable file not found in $PATH: running "true":\n',
        ),
        (
            {"create": "true", "assetPaths": ["a{"]},
            "the files of the command cannot be collected: the pattern 'a{' lacks a closing brace",
        ),
    ],
)
def test_a_failure_tells_the_command_and_what_it_wrote(
    client: Client, inputs: Props, message: str
) -> None:
    assert failure(lambda: client.create(inputs)) == message


def test_lines_are_logged_for_the_resource_while_the_command_runs(client: Client) -> None:
    client.create({"create": "echo first; sleep 0.5; echo second >&2"})
    assert client.log.lines == [
        ("info (status)", URN, "first"),
        ("info (status)", URN, "second"),
    ]
    assert client.log.times[1] - client.log.times[0] > 0.3


def test_an_update_runs_update_and_sees_what_was_written_before(client: Client) -> None:
    olds: Props = {"create": "x", "stdout": "was out", "stderr": "was err"}
    seen = 'echo "$PULUMI_COMMAND_STDOUT, $PULUMI_COMMAND_STDERR"'
    news: Props = {"create": "echo wrong", "update": seen}
    assert client.update(olds, news)["stdout"] == "was out, was err"
    assert client.update(olds, {"create": seen})["stdout"] == "was out, was err"
    silent: Props = {"create": seen, "addPreviousOutputInEnv": False}
    assert client.update(olds, silent)["stdout"] == ", "


def test_a_deletion_runs_delete_and_its_failure_is_one(client: Client, tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    state: Props = {"delete": f"echo $PULUMI_COMMAND_STDOUT > {gone}", "stdout": "was"}
    client.delete(state)
    assert gone.read_text() == "was\n"
    assert failure(lambda: client.delete({"delete": "exit 1"})) == (
        'exit status 1: running "exit 1":\n'
    )


def test_files_are_collected_after_the_command(client: Client, tmp_path: Path) -> None:
    inputs: Props = {
        "create": "mkdir out; echo 1 > out/a.txt; echo 2 > out/secret.txt",
        "dir": str(tmp_path),
        "assetPaths": ["out/**", "!**secret.*"],
        "archivePaths": ["out/*"],
    }
    _, properties = client.create(inputs)
    digest = hashlib.sha256(b"1\n").hexdigest()
    asset = properties["assets"]["out/a.txt"]
    assert list(properties["assets"]) == ["out/a.txt"]
    assert (asset.hash, asset.path) == (digest, str(tmp_path / "out" / "a.txt"))
    assert isinstance(properties["archive"], Archive)
    assert set(properties["archive"].assets) == {"out/a.txt", "out/secret.txt"}
    kept = client.update(properties, {"create": "true"})
    assert kept["assets"] == {"out/a.txt": Asset(hash=digest)}


def test_run_gives_what_it_wrote(client: Client) -> None:
    given, failures = client.invoke(
        {"command": "echo $A; cat", "stdin": "in", "environment": {"A": "b"}}
    )
    assert failures == []
    assert given == {
        "command": "echo $A; cat",
        "stdin": "in",
        "environment": {"A": "b"},
        "addPreviousOutputInEnv": True,
        "stdout": "b\nin",
        "stderr": "",
    }


def test_a_secret_input_stays_secret_and_is_never_shown(client: Client) -> None:
    inputs: Props = {
        "create": "echo $A; echo $A >&2",
        "update": "echo $A; exit 1",
        "environment": {"A": Secret(CANARY)},
    }
    _, properties = client.create(inputs)
    assert properties["environment"] == {"A": Secret(CANARY)}
    assert client.log.messages == ["[secret]", "[secret]"]
    assert failure(lambda: client.update(properties, inputs)) == (
        'exit status 1: running "echo $A; exit 1":\n[secret]\n'
    )


def test_nothing_is_logged_when_logging_is_none(client: Client) -> None:
    inputs: Props = {
        "create": "echo $A",
        "environment": Secret({"A": CANARY}),
        "logging": "none",
    }
    _, properties = client.create(inputs)
    assert client.log.lines == []
    assert plain_props(properties)["stdout"] == CANARY


@pytest.mark.parametrize("how", ["cancel all", "cancel the call", "timeout"])
def test_a_stopped_command_dies_with_its_family(client: Client, tmp_path: Path, how: str) -> None:
    pids = tmp_path / "pids"
    script = f"sleep 1000 & echo $$ $! > {pids}.new; mv {pids}.new {pids}; wait"
    problems: list[str] = []

    def create() -> None:
        timeout = 1 if how == "timeout" else 0
        problems.append(failure(lambda: client.create({"create": script}, timeout=timeout)))

    caller = threading.Thread(target=create, daemon=True)
    caller.start()
    assert eventually(pids.exists)
    family = [int(pid) for pid in pids.read_text().split()]
    if how == "cancel all":
        client.stub.Cancel(empty_pb2.Empty())
    elif how == "cancel the call":
        time.sleep(0.1)
        client.channel.close()
    assert eventually(lambda: not any(map(alive, family)))
    caller.join(10)
    if how != "cancel the call":
        assert problems == [f'signal: killed: running "{script}":\n']
