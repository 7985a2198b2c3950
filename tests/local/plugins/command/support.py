"""A provider behind a real channel, with plain Python instead of messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import grpc
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc

from scripts.local.plugins.command.properties import LOCAL_COMMAND
from scripts.local.plugins.shared.wire import from_struct, to_struct

if TYPE_CHECKING:
    from scripts.local.plugins.shared.wire import Props
    from tests.local.plugins.shared.support import EngineLog


def urn(token: str) -> str:
    return f"urn:pulumi:local::trainyard::trainyard:acceptance:Acceptance${token}::demo"


@dataclass
class Client:
    """Calls a provider; ``log`` is what it wrote to its engine."""

    channel: grpc.Channel
    log: EngineLog

    def __post_init__(self) -> None:
        self.stub = provider_pb2_grpc.ResourceProviderStub(self.channel)

    def check(self, news: Props, token: str = LOCAL_COMMAND) -> tuple[Props, list[tuple[str, str]]]:
        response = self.stub.Check(provider_pb2.CheckRequest(urn=urn(token), news=to_struct(news)))
        failures = [(failure.property, failure.reason) for failure in response.failures]
        return from_struct(response.inputs), failures

    def create(
        self,
        inputs: Props,
        token: str = LOCAL_COMMAND,
        *,
        preview: bool = False,
        timeout: float = 0,
    ) -> tuple[str, Props]:
        request = provider_pb2.CreateRequest(
            urn=urn(token), properties=to_struct(inputs), preview=preview, timeout=timeout
        )
        response = self.stub.Create(request)
        return response.id, from_struct(response.properties)

    def update(
        self, olds: Props, news: Props, token: str = LOCAL_COMMAND, *, preview: bool = False
    ) -> Props:
        request = provider_pb2.UpdateRequest(
            id="demo1", urn=urn(token), olds=to_struct(olds), news=to_struct(news), preview=preview
        )
        return from_struct(self.stub.Update(request).properties)

    def delete(self, state: Props, token: str = LOCAL_COMMAND) -> None:
        self.stub.Delete(
            provider_pb2.DeleteRequest(id="demo1", urn=urn(token), properties=to_struct(state))
        )

    def diff(
        self, olds: Props, news: Props, token: str = LOCAL_COMMAND
    ) -> provider_pb2.DiffResponse:
        return self.stub.Diff(
            provider_pb2.DiffRequest(
                id="demo1", urn=urn(token), olds=to_struct(olds), news=to_struct(news)
            )
        )

    def invoke(self, args: Props) -> tuple[Props, list[tuple[str, str]]]:
        response = self.stub.Invoke(
            provider_pb2.InvokeRequest(tok="command:local:run", args=to_struct(args))
        )
        failures = [(failure.property, failure.reason) for failure in response.failures]
        return from_struct(getattr(response, "return")), failures


def error(caught: object) -> str:
    """Give the text of a failed call."""
    assert isinstance(caught, grpc.RpcError)
    return caught.details()
