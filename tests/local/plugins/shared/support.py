"""Servers and processes for the tests of the plugins."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

import grpc
import psutil
from google.protobuf import empty_pb2
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc

from scripts.local.plugins.shared import serving

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


class EngineLog(engine_pb2_grpc.EngineServicer):
    """An engine that only keeps what is logged, as (severity, URN, message)."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, str]] = []
        self.times: list[float] = []

    def register(self, server: grpc.Server) -> None:
        engine_pb2_grpc.add_EngineServicer_to_server(self, server)

    def Log(  # noqa: N802 - the name is the protocol's
        self, request: engine_pb2.LogRequest, context: grpc.ServicerContext
    ) -> empty_pb2.Empty:
        del context
        severity = engine_pb2.LogSeverity.Name(request.severity).lower()
        if request.ephemeral:
            severity += " (status)"
        self.lines.append((severity, request.urn, request.message))
        self.times.append(time.monotonic())
        return empty_pb2.Empty()

    @property
    def messages(self) -> list[str]:
        return [message for _, _, message in self.lines]


@contextlib.contextmanager
def served(register: Callable[[grpc.Server], None]) -> Iterator[str]:
    """Serve for the length of the block and give the address."""
    server, port = serving.start(register)
    try:
        yield f"127.0.0.1:{port}"
    finally:
        server.stop(None).wait()


@contextlib.contextmanager
def channel_to(register: Callable[[grpc.Server], None]) -> Iterator[grpc.Channel]:
    with (
        served(register) as address,
        grpc.insecure_channel(address, options=serving.CHANNEL_OPTIONS) as channel,
    ):
        yield channel


def alive(pid: int) -> bool:
    """Tell whether a process runs; a dead one that nobody has buried does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def eventually(condition: Callable[[], bool], seconds: float = 10) -> bool:
    """Wait until ``condition`` holds, and tell whether it ever did."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True
