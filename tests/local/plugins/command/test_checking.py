from __future__ import annotations

import pytest

from scripts.local.plugins.command import checking
from scripts.local.plugins.command.checking import Failure
from scripts.local.plugins.command.properties import (
    COPY_FILE,
    COPY_TO_REMOTE,
    FUNCTIONS,
    LOCAL_COMMAND,
    LOCAL_RUN,
    REMOTE_COMMAND,
    RESOURCES,
)
from scripts.local.plugins.shared.wire import UNKNOWN, Archive, Asset, Props, Secret

SHAPES = {**RESOURCES, **FUNCTIONS}
HOST: Props = {"host": "h"}
FULL: Props = {
    "host": "h",
    "port": 22,
    "user": "root",
    "dialErrorLimit": 10,
    "perDialTimeout": 15,
}


def failures(token: str, news: Props) -> list[Failure]:
    return checking.check(token, SHAPES[token], news)[1]


def inputs(token: str, news: Props) -> Props:
    return checking.check(token, SHAPES[token], news)[0]


@pytest.mark.parametrize(
    ("token", "news"),
    [
        (LOCAL_COMMAND, {}),
        (LOCAL_COMMAND, {"create": UNKNOWN, "environment": UNKNOWN, "logging": UNKNOWN}),
        (LOCAL_COMMAND, {"environment": Secret({"A": Secret("b"), "B": UNKNOWN})}),
        (LOCAL_COMMAND, {"triggers": [1, None, UNKNOWN, {"a": [Asset(hash="h")]}]}),
        (LOCAL_COMMAND, {"dir": None, "__defaults": []}),
        (LOCAL_COMMAND, {"logging": "stdoutAndStderr", "interpreter": ["/bin/bash", "-c"]}),
        (LOCAL_RUN, {"command": "true"}),
        (REMOTE_COMMAND, {"connection": Secret({"host": UNKNOWN, "proxy": {"host": "p"}})}),
        (COPY_TO_REMOTE, {"connection": HOST, "source": Asset(path="a"), "remotePath": "b"}),
        (COPY_TO_REMOTE, {"connection": HOST, "source": UNKNOWN, "remotePath": "b"}),
    ],
)
def test_good_inputs_pass(token: str, news: Props) -> None:
    assert failures(token, news) == []


@pytest.mark.parametrize(
    ("token", "news", "expected"),
    [
        (
            LOCAL_COMMAND,
            {"craete": "x"},
            [Failure("craete", "unknown property 'craete'; did you mean 'create'?")],
        ),
        (
            COPY_FILE,
            {"connection": HOST, "localPath": "a", "remotePath": "b", "zzz": "x"},
            [
                Failure(
                    "zzz",
                    "unknown property 'zzz'; use one of connection, localPath, remotePath, "
                    "triggers",
                )
            ],
        ),
        (
            LOCAL_COMMAND,
            {
                "create": 1,
                "environment": {"A": True},
                "interpreter": ["sh", []],
                "addPreviousOutputInEnv": "yes",
                "assetPaths": "*",
            },
            [
                Failure("create", "expected a string, got a number"),
                Failure("environment.A", "expected a string, got a boolean"),
                Failure("interpreter[1]", "expected a string, got a list"),
                Failure("addPreviousOutputInEnv", "expected a boolean, got a string"),
                Failure("assetPaths", "expected a list of strings, got a string"),
            ],
        ),
        (
            LOCAL_COMMAND,
            {"logging": "loud"},
            [
                Failure(
                    "logging",
                    "'loud' is no way of logging; use one of stdout, stderr, stdoutAndStderr, none",
                )
            ],
        ),
        (
            LOCAL_COMMAND,
            {"logging": Secret("canary")},
            [
                Failure(
                    "logging",
                    "the value is no way of logging; use one of stdout, stderr, stdoutAndStderr, "
                    "none",
                )
            ],
        ),
        (LOCAL_RUN, {}, [Failure("command", "missing required property 'command'")]),
        (REMOTE_COMMAND, {}, [Failure("connection", "missing required property 'connection'")]),
        (
            REMOTE_COMMAND,
            {"connection": Secret({"hots": "h", "port": "22", "proxy": {"dialErrorLimit": 1.5}})},
            [
                Failure("connection.hots", "unknown property 'hots'; did you mean 'host'?"),
                Failure("connection.port", "expected a number, got a string"),
                Failure("connection.proxy.dialErrorLimit", "expected a whole number, got a number"),
                Failure("connection.proxy.host", "missing required property 'host'"),
                Failure("connection.host", "missing required property 'host'"),
            ],
        ),
        (
            COPY_TO_REMOTE,
            {"connection": HOST, "source": Asset(text="t"), "remotePath": "b"},
            [Failure("source", "asset must be a path-based file asset")],
        ),
        (
            COPY_TO_REMOTE,
            {"connection": HOST, "source": Archive(uri="u"), "remotePath": "b"},
            [Failure("source", "archive must be a path to a file or directory")],
        ),
        (
            COPY_TO_REMOTE,
            {"connection": HOST, "source": "path", "remotePath": "b"},
            [Failure("source", "expected an asset or an archive, got a string")],
        ),
    ],
)
def test_everything_that_is_wrong_is_named(
    token: str, news: Props, expected: list[Failure]
) -> None:
    assert failures(token, news) == expected


def test_defaults_are_filled_in() -> None:
    assert inputs(LOCAL_COMMAND, {"create": "c"}) == {
        "create": "c",
        "addPreviousOutputInEnv": True,
    }
    assert inputs(LOCAL_COMMAND, {"addPreviousOutputInEnv": False}) == {
        "addPreviousOutputInEnv": False
    }


@pytest.mark.parametrize("connection", [HOST, Secret(HOST)])
def test_a_connection_becomes_a_secret_with_its_defaults(connection: Props | Secret) -> None:
    assert inputs(REMOTE_COMMAND, {"connection": connection})["connection"] == Secret(FULL)


def test_a_proxy_gets_its_defaults_too() -> None:
    connection: Props = {**HOST, "proxy": Secret({"host": "p", "port": 2222})}
    assert inputs(REMOTE_COMMAND, {"connection": connection})["connection"] == Secret(
        FULL | {"proxy": Secret(FULL | {"host": "p", "port": 2222})}
    )
