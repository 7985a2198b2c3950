from __future__ import annotations

import grpc
import pytest
from google.protobuf import empty_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2

from scripts.local.plugins.command.properties import COPY_FILE, COPY_TO_REMOTE, REMOTE_COMMAND
from scripts.local.plugins.command.schema import schema
from scripts.local.plugins.shared.wire import UNKNOWN, Archive, Props, Secret, to_struct
from tests.local.plugins.command.support import Client, error

Kind = provider_pb2.PropertyDiff


def test_the_plugin_tells_its_version_and_its_schema(client: Client) -> None:
    assert client.stub.GetPluginInfo(empty_pb2.Empty()).version == "1.2.1"
    assert client.stub.GetSchema(provider_pb2.GetSchemaRequest()).schema == schema()


def test_the_plugin_takes_secrets_and_previews(client: Client) -> None:
    configured = client.stub.Configure(provider_pb2.ConfigureRequest())
    assert configured == provider_pb2.ConfigureResponse(acceptSecrets=True, supportsPreview=True)
    shaken = client.stub.Handshake(provider_pb2.ProviderHandshakeRequest())
    assert shaken == provider_pb2.ProviderHandshakeResponse(accept_secrets=True)
    assert client.stub.Attach(plugin_pb2.PluginAttach()) == empty_pb2.Empty()


def test_any_configuration_is_taken_and_never_changes_a_thing(client: Client) -> None:
    news = to_struct({"version": "1.2.1"})
    checked = client.stub.CheckConfig(provider_pb2.CheckRequest(news=news))
    assert checked == provider_pb2.CheckResponse(inputs=news)
    compared = client.stub.DiffConfig(provider_pb2.DiffRequest(news=news))
    assert compared.changes == provider_pb2.DiffResponse.DIFF_NONE


def test_check_fills_in_defaults_and_names_what_is_wrong(client: Client) -> None:
    assert client.check({"create": UNKNOWN, "dirr": "x"}) == (
        {"create": UNKNOWN, "dirr": "x", "addPreviousOutputInEnv": True},
        [("dirr", "unknown property 'dirr'; did you mean 'dir'?")],
    )


def test_a_type_that_is_missing_is_an_error(client: Client) -> None:
    with pytest.raises(grpc.RpcError) as caught:
        client.check({}, "command:local:Comand")
    assert error(caught.value) == (
        "this plugin has no command:local:Comand; it has command:local:Command, "
        "command:remote:Command, command:remote:CopyFile, command:remote:CopyToRemote"
    )


def test_diff_tells_updates_from_replacements(client: Client) -> None:
    olds: Props = {"create": "c", "triggers": [1], "dir": "/", "stdout": "s"}
    news: Props = {"create": Secret("d"), "triggers": [2], "delete": "x"}
    diff = client.diff(olds, news)
    assert diff.changes == provider_pb2.DiffResponse.DIFF_SOME
    assert (sorted(diff.diffs), list(diff.replaces)) == (
        ["create", "delete", "dir", "triggers"],
        ["triggers"],
    )
    assert {name: each.kind for name, each in diff.detailedDiff.items()} == {
        "create": Kind.UPDATE,
        "delete": Kind.ADD,
        "dir": Kind.DELETE,
        "triggers": Kind.UPDATE_REPLACE,
    }


def test_inputs_that_stay_are_no_change(client: Client) -> None:
    diff = client.diff({"create": Secret("c"), "stdout": "s"}, {"create": "c"})
    assert (diff.changes, list(diff.diffs)) == (provider_pb2.DiffResponse.DIFF_NONE, [])


def test_a_preview_of_a_creation_runs_nothing_and_knows_no_output(client: Client) -> None:
    inputs: Props = {"create": "touch /no/such/file", "environment": {"A": UNKNOWN}}
    assert client.create(inputs, preview=True) == (
        "",
        {**inputs, "stdout": UNKNOWN, "stderr": UNKNOWN},
    )


def test_a_preview_foresees_the_files_that_are_asked_for(client: Client) -> None:
    inputs: Props = {"create": "true", "assetPaths": ["*"], "archivePaths": ["*"]}
    _, outputs = client.create(inputs, preview=True)
    assert outputs["assets"] is outputs["archive"] is UNKNOWN


def test_a_preview_of_an_update_runs_nothing_and_knows_no_output(client: Client) -> None:
    olds: Props = {"create": "a", "stdout": "old", "stderr": "", "archive": Archive(hash="h")}
    assert client.update(olds, {"create": Secret(UNKNOWN)}, preview=True) == {
        "create": Secret(UNKNOWN),
        "stdout": UNKNOWN,
        "stderr": UNKNOWN,
        "archive": UNKNOWN,
    }


@pytest.mark.parametrize("token", [COPY_TO_REMOTE, COPY_FILE])
def test_a_preview_of_a_copy_gives_back_its_inputs(client: Client, token: str) -> None:
    inputs: Props = {"remotePath": "/x", "connection": Secret({"host": UNKNOWN})}
    assert client.create(inputs, token, preview=True) == ("", inputs)


@pytest.mark.parametrize("token", ["command:local:Command", REMOTE_COMMAND])
def test_without_a_command_nothing_runs(client: Client, token: str) -> None:
    made, outputs = client.create({"delete": "d"}, token)
    assert made.startswith("demo")
    assert len(made) == len("demo") + 8
    assert outputs == {"delete": "d", "stdout": "", "stderr": ""}
    assert client.update(outputs, {"triggers": [1]}, token) == {
        "triggers": [1],
        "stdout": "",
        "stderr": "",
    }
    client.delete({"create": "c"}, token)


def test_read_gives_back_what_the_engine_knows(client: Client) -> None:
    state = to_struct({"create": "c", "stdout": Secret("s")})
    inputs = to_struct({"create": "c"})
    read = client.stub.Read(provider_pb2.ReadRequest(id="i", properties=state, inputs=inputs))
    assert read == provider_pb2.ReadResponse(id="i", properties=state, inputs=inputs)


def test_run_checks_its_arguments(client: Client) -> None:
    assert client.invoke({"comand": "true"}) == (
        {},
        [
            ("comand", "unknown property 'comand'; did you mean 'command'?"),
            ("command", "missing required property 'command'"),
        ],
    )
