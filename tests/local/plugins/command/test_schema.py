"""The table of properties must be what the Python SDK of pulumi-command offers."""

from __future__ import annotations

import inspect
import json
import warnings
from importlib import metadata
from typing import TYPE_CHECKING

import pytest
from pulumi import _types as pulumi_types

from scripts.local.plugins.command import VERSION
from scripts.local.plugins.command.properties import CONNECTION, LOGGING, PROXY, RESOURCES
from scripts.local.plugins.command.schema import schema

with warnings.catch_warnings(category=DeprecationWarning, action="ignore"):
    # The SDK warns of CopyFile as soon as its module is loaded.
    from pulumi_command import local, remote

    assert remote.CopyFile

if TYPE_CHECKING:
    from collections.abc import Collection

SCHEMA = json.loads(schema())


def names(kind: type) -> set[str]:
    return set(pulumi_types.input_type_py_to_pulumi_names(kind).values())


@pytest.mark.parametrize(
    ("kind", "known"),
    [
        (local.CommandArgs, RESOURCES["command:local:Command"].inputs),
        (remote.CommandArgs, RESOURCES["command:remote:Command"].inputs),
        (remote.CopyToRemoteArgs, RESOURCES["command:remote:CopyToRemote"].inputs),
        (remote.CopyFileArgs, RESOURCES["command:remote:CopyFile"].inputs),
        (remote.ConnectionArgs, CONNECTION),
        (remote.ProxyConnectionArgs, PROXY),
    ],
)
def test_the_inputs_are_those_of_the_sdk(kind: type, known: Collection[str]) -> None:
    assert set(known) == names(kind)


def test_the_arguments_of_run_are_those_of_the_sdk() -> None:
    arguments = set(inspect.signature(local.run).parameters) - {"opts"}
    known = SCHEMA["functions"]["command:local:run"]["inputs"]["properties"]
    assert {name.lower() for name in known} == {name.replace("_", "") for name in arguments}


@pytest.mark.parametrize("module", [local, remote])
def test_the_ways_of_logging_are_those_of_the_sdk(module: object) -> None:
    assert set(LOGGING) == {each.value for each in module.Logging}


def test_the_version_is_that_of_the_sdk() -> None:
    assert metadata.version("pulumi-command") == VERSION == SCHEMA["version"]


def test_the_schema_says_what_is_required_secret_and_replacing() -> None:
    command = SCHEMA["resources"]["command:remote:Command"]
    assert command["requiredInputs"] == ["connection"]
    assert command["required"] == ["connection", "stdout", "stderr"]
    assert command["inputProperties"]["connection"] == {
        "$ref": "#/types/command:remote:Connection",
        "secret": True,
    }
    assert command["inputProperties"]["triggers"]["replaceOnChanges"] is True
    assert SCHEMA["types"]["command:remote:Connection"]["properties"]["port"] == {
        "type": "number",
        "default": 22,
    }
