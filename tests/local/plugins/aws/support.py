"""An engine in a few lines: it drives the provider as Pulumi's would, in this process."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

import grpc
from pulumi.runtime.proto import provider_pb2, status_pb2
from typing_extensions import override

from scripts.local.plugins.aws.provider import AwsProvider
from scripts.local.plugins.shared.wire import from_struct, to_struct

if TYPE_CHECKING:
    from collections.abc import Mapping

Values = dict[str, Any]

ACCOUNT = "111122223333"
REGION = "us-east-1"


def token_of(kind: str) -> str:
    """``ec2.Subnet`` is ``aws:ec2/subnet:Subnet``."""
    module, name = kind.split(".")
    return f"aws:{module}/{name[0].lower()}{name[1:]}:{name}"


class AbortedError(Exception):
    """The provider ended a call with an error."""

    def __init__(self, message: str, metadata: tuple[tuple[str, bytes], ...] = ()) -> None:
        super().__init__(message)
        self.details: list[Any] = []
        for _, text in metadata:
            self.details += status_pb2.Status.FromString(text).details


class Context(grpc.ServicerContext):
    """Only what the provider uses of a call's context."""

    metadata: Any = ()

    @override
    def abort(self, code: Any, details: str) -> NoReturn:
        raise AbortedError(details, self.metadata)

    @override
    def set_trailing_metadata(self, trailing_metadata: Any) -> None:
        self.metadata = trailing_metadata


for _name in list(Context.__abstractmethods__):
    setattr(Context, _name, None)
Context.__abstractmethods__ = frozenset()


@dataclass
class Made:
    """A resource as the engine remembers it."""

    kind: str
    name: str
    id: str
    inputs: Values
    state: Values
    urn: str


@dataclass
class Engine:
    """Keeps nothing but the provider; tests hold what it gives back."""

    provider: AwsProvider
    made: dict[str, Made] = field(default_factory=dict)

    def urn(self, kind: str, name: str) -> str:
        return f"urn:pulumi:local::trainyard::{token_of(kind)}::{name}"

    def check(
        self, kind: str, name: str, news: Values, olds: Values | None = None
    ) -> tuple[Values, list[str]]:
        response = self.provider.Check(
            provider_pb2.CheckRequest(
                urn=self.urn(kind, name),
                olds=to_struct(olds or {}),
                news=to_struct(news),
                randomSeed=hashlib.sha256(name.encode()).digest(),
            ),
            Context(),
        )
        failures = [f"{it.property}: {it.reason}" for it in response.failures]
        return from_struct(response.inputs), failures

    def inputs(self, kind: str, name: str, news: Values, olds: Values | None = None) -> Values:
        inputs, failures = self.check(kind, name, news, olds)
        assert failures == []
        return inputs

    def create(self, kind: str, name: str, news: Values) -> Made:
        inputs = self.inputs(kind, name, news)
        urn = self.urn(kind, name)
        response = self.provider.Create(
            provider_pb2.CreateRequest(urn=urn, properties=to_struct(inputs)), Context()
        )
        return Made(kind, name, response.id, inputs, from_struct(response.properties), urn)

    def preview(self, kind: str, name: str, news: Values) -> Values:
        inputs = self.inputs(kind, name, news)
        response = self.provider.Create(
            provider_pb2.CreateRequest(
                urn=self.urn(kind, name), properties=to_struct(inputs), preview=True
            ),
            Context(),
        )
        return from_struct(response.properties)

    def diff(self, made: Made, news: Values) -> provider_pb2.DiffResponse:
        inputs = self.inputs(made.kind, made.name, news, made.inputs)
        return self.diff_inputs(made, inputs)

    def diff_inputs(self, made: Made, inputs: Values) -> provider_pb2.DiffResponse:
        return self.provider.Diff(
            provider_pb2.DiffRequest(
                id=made.id,
                urn=made.urn,
                olds=to_struct(made.state),
                old_inputs=to_struct(made.inputs),
                news=to_struct(inputs),
            ),
            Context(),
        )

    def update(self, made: Made, news: Values, *, preview: bool = False) -> Made:
        inputs = self.inputs(made.kind, made.name, news, made.inputs)
        response = self.provider.Update(
            provider_pb2.UpdateRequest(
                id=made.id,
                urn=made.urn,
                olds=to_struct(made.state),
                old_inputs=to_struct(made.inputs),
                news=to_struct(inputs),
                preview=preview,
            ),
            Context(),
        )
        state = from_struct(response.properties)
        return Made(made.kind, made.name, made.id, inputs, state, made.urn)

    def refresh(self, made: Made) -> Made | None:
        response = self.provider.Read(
            provider_pb2.ReadRequest(
                id=made.id,
                urn=made.urn,
                properties=to_struct(made.state),
                inputs=to_struct(made.inputs),
            ),
            Context(),
        )
        return self._read(made.kind, made.name, response)

    def import_(self, kind: str, name: str, resource_id: str) -> Made | None:
        response = self.provider.Read(
            provider_pb2.ReadRequest(id=resource_id, urn=self.urn(kind, name)), Context()
        )
        return self._read(kind, name, response)

    def _read(self, kind: str, name: str, response: provider_pb2.ReadResponse) -> Made | None:
        if not response.id:
            return None
        inputs, state = from_struct(response.inputs), from_struct(response.properties)
        return Made(kind, name, response.id, inputs, state, self.urn(kind, name))

    def delete(self, made: Made) -> None:
        self.provider.Delete(
            provider_pb2.DeleteRequest(
                id=made.id,
                urn=made.urn,
                properties=to_struct(made.state),
                old_inputs=to_struct(made.inputs),
            ),
            Context(),
        )

    def invoke(self, token: str, args: Values | None = None) -> Values:
        response = self.provider.Invoke(
            provider_pb2.InvokeRequest(tok=token, args=to_struct(args or {})), Context()
        )
        return from_struct(getattr(response, "return"))


def configured(environment: Mapping[str, str], settings: Values | None = None) -> Engine:
    """Make an engine with a provider of these settings."""
    provider = AwsProvider(environment)
    args = to_struct({"region": REGION, **(settings or {})})
    provider.Configure(provider_pb2.ConfigureRequest(args=args), Context())
    return Engine(provider)


def plain(values: Values) -> Values:
    """Without the engine's own keys."""
    return {name: value for name, value in values.items() if not name.startswith("__")}
