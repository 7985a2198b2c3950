"""The plugin as a process, as the engine starts it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import grpc
import pytest
from google.protobuf import empty_pb2
from pulumi.runtime.proto import provider_pb2_grpc

from tests.local.plugins.command.support import Client
from tests.local.plugins.shared.support import EngineLog, alive, eventually, served

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow


@pytest.fixture
def engine() -> Iterator[tuple[str, EngineLog]]:
    log = EngineLog()
    with served(log.register) as address:
        yield address, log


def plugin(*arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "scripts.local.plugins.command", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("how", ["SIGKILL", "SIGTERM", "SIGINT", "the engine dies"])
def test_no_process_of_a_command_outlives_the_plugin(
    engine: tuple[str, EngineLog], tmp_path: Path, how: str
) -> None:
    address, _ = engine
    pids = tmp_path / "pids"
    script = (
        f"sleep 1000 & a=$!; setsid sleep 1000 & echo $$ $a $! > {pids}.new; "
        f"mv {pids}.new {pids}; wait"
    )
    with plugin(address) as process:
        port = int(process.stdout.readline())
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            caller = threading.Thread(target=_ignore, args=(Client(channel, engine[1]), script))
            caller.start()
            assert eventually(pids.exists)
            family = [int(pid) for pid in pids.read_text().split()]
            assert all(map(alive, family))
            if how == "the engine dies":
                process.stdin.close()
            else:
                process.send_signal(signal.Signals[how])
            assert eventually(lambda: not any(map(alive, family)))
            caller.join(10)


def _ignore(client: Client, script: str) -> None:
    with pytest.raises(grpc.RpcError):
        client.create({"create": script})


def test_flags_of_the_engine_are_taken_and_its_address_is_used(
    engine: tuple[str, EngineLog],
) -> None:
    address, log = engine
    with plugin("--logtostderr", "-v=9", "--tracing", "tcp://127.0.0.1:1", address) as process:
        port = int(process.stdout.readline())
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            client = Client(channel, log)
            assert isinstance(client.stub, provider_pb2_grpc.ResourceProviderStub)
            assert client.stub.GetPluginInfo(empty_pb2.Empty()).version == "1.2.1"
            client.create({"create": "echo here"})
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(10) == 0
    assert log.messages == ["here"]
