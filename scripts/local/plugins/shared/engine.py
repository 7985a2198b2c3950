"""The engine's log, seen from a plugin."""

from __future__ import annotations

import contextlib

import grpc
from pulumi.runtime.proto import engine_pb2, engine_pb2_grpc


class Engine:
    """Writes to the log of the engine at ``address``; without an address, nowhere.

    A line that cannot be delivered is dropped: the engine is gone then, and with it the reader.
    """

    def __init__(self, address: str) -> None:
        self.address = address
        self._stub: engine_pb2_grpc.EngineStub | None = None
        if address:
            self._stub = engine_pb2_grpc.EngineStub(grpc.insecure_channel(address))

    def debug(self, message: str, urn: str = "") -> None:
        """Write a line that is shown with ``--debug``."""
        self._log(engine_pb2.DEBUG, message, urn)

    def info(self, message: str, urn: str = "") -> None:
        """Write a line about the resource ``urn``, or about the whole update."""
        self._log(engine_pb2.INFO, message, urn)

    def status(self, message: str, urn: str = "") -> None:
        """Write a line that the next one about the same resource may replace on the screen."""
        self._log(engine_pb2.INFO, message, urn, ephemeral=True)

    def warning(self, message: str, urn: str = "") -> None:
        """Write a warning."""
        self._log(engine_pb2.WARNING, message, urn)

    def error(self, message: str, urn: str = "") -> None:
        """Write an error, which makes the update fail."""
        self._log(engine_pb2.ERROR, message, urn)

    def _log(
        self,
        severity: engine_pb2.LogSeverity.ValueType,
        message: str,
        urn: str,
        *,
        ephemeral: bool = False,
    ) -> None:
        if self._stub is None:
            return
        request = engine_pb2.LogRequest(
            severity=severity, message=message, urn=urn, ephemeral=ephemeral
        )
        with contextlib.suppress(grpc.RpcError):
            self._stub.Log(request)  # pyright: ignore[reportUnknownMemberType] - its stub names no type
