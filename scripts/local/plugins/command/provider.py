"""The resource provider: what the engine calls."""

from __future__ import annotations

import contextlib
import secrets
import threading
from typing import TYPE_CHECKING, Final

import grpc
from google.protobuf import empty_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc
from typing_extensions import override

from scripts.local.plugins.command import VERSION, checking, diffing, lifecycle, local
from scripts.local.plugins.command.job import CommandError, Job
from scripts.local.plugins.command.properties import FUNCTIONS, RESOURCES
from scripts.local.plugins.command.schema import schema
from scripts.local.plugins.command.values import Mask, text
from scripts.local.plugins.shared import serving
from scripts.local.plugins.shared.children import Running
from scripts.local.plugins.shared.differences import DIFFERENCE_KINDS
from scripts.local.plugins.shared.engine import Engine
from scripts.local.plugins.shared.wire import from_struct, plain_props, to_struct

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping, Sequence

    from scripts.local.plugins.command.checking import Failure
    from scripts.local.plugins.command.properties import Shape
    from scripts.local.plugins.shared.wire import Props

_ID_BYTES: Final = 4


class CommandProvider(provider_pb2_grpc.ResourceProviderServicer):
    """Runs commands for the engine at ``engine``, an address that a handshake may replace."""

    def __init__(self, engine: str) -> None:
        self._engine = Engine(engine)
        self._running = Running()

    def register(self, server: grpc.Server) -> None:
        """Add this provider to ``server``."""
        provider_pb2_grpc.add_ResourceProviderServicer_to_server(self, server)

    def stop(self) -> None:
        """Stop every command that runs, and every one that would start later."""
        self._running.stop()

    @override
    def Handshake(
        self, request: provider_pb2.ProviderHandshakeRequest, context: grpc.ServicerContext
    ) -> provider_pb2.ProviderHandshakeResponse:
        self._engine = Engine(request.engine_address)
        return provider_pb2.ProviderHandshakeResponse(accept_secrets=True)

    @override
    def Attach(
        self, request: plugin_pb2.PluginAttach, context: grpc.ServicerContext
    ) -> empty_pb2.Empty:
        self._engine = Engine(request.address)
        return empty_pb2.Empty()

    @override
    def GetPluginInfo(
        self, request: empty_pb2.Empty, context: grpc.ServicerContext
    ) -> plugin_pb2.PluginInfo:
        return plugin_pb2.PluginInfo(version=VERSION)

    @override
    def GetSchema(
        self, request: provider_pb2.GetSchemaRequest, context: grpc.ServicerContext
    ) -> provider_pb2.GetSchemaResponse:
        return provider_pb2.GetSchemaResponse(schema=schema())

    @override
    def CheckConfig(
        self, request: provider_pb2.CheckRequest, context: grpc.ServicerContext
    ) -> provider_pb2.CheckResponse:
        """Take any configuration: the provider has none of its own."""
        return provider_pb2.CheckResponse(inputs=request.news)

    @override
    def DiffConfig(
        self, request: provider_pb2.DiffRequest, context: grpc.ServicerContext
    ) -> provider_pb2.DiffResponse:
        return provider_pb2.DiffResponse(changes=provider_pb2.DiffResponse.DIFF_NONE)

    @override
    def Configure(
        self, request: provider_pb2.ConfigureRequest, context: grpc.ServicerContext
    ) -> provider_pb2.ConfigureResponse:
        return provider_pb2.ConfigureResponse(acceptSecrets=True, supportsPreview=True)

    @override
    def Check(
        self, request: provider_pb2.CheckRequest, context: grpc.ServicerContext
    ) -> provider_pb2.CheckResponse:
        token = _token(request.urn)
        shape = _shape(RESOURCES, token, context)
        inputs, failures = checking.check(token, shape, from_struct(request.news))
        return provider_pb2.CheckResponse(inputs=to_struct(inputs), failures=_failures(failures))

    @override
    def Diff(
        self, request: provider_pb2.DiffRequest, context: grpc.ServicerContext
    ) -> provider_pb2.DiffResponse:
        shape = _shape(RESOURCES, _token(request.urn), context)
        olds, news = from_struct(request.olds), from_struct(request.news)
        changes = diffing.diff(shape, olds, news, request.ignoreChanges)
        return provider_pb2.DiffResponse(
            changes=(
                provider_pb2.DiffResponse.DIFF_SOME
                if changes
                else provider_pb2.DiffResponse.DIFF_NONE
            ),
            diffs=list(changes),
            replaces=[name for name, change in changes.items() if change.replaces],
            hasDetailedDiff=True,
            detailedDiff={
                name: provider_pb2.PropertyDiff(
                    kind=DIFFERENCE_KINDS[change.how, change.replaces], inputDiff=True
                )
                for name, change in changes.items()
            },
        )

    @override
    def Create(
        self, request: provider_pb2.CreateRequest, context: grpc.ServicerContext
    ) -> provider_pb2.CreateResponse:
        token, inputs = _token(request.urn), from_struct(request.properties)
        shape = _shape(RESOURCES, token, context)
        if request.preview:
            outputs = lifecycle.foreseen(shape, inputs, {})
            return provider_pb2.CreateResponse(properties=to_struct(inputs | outputs))
        with self._job(context, request.urn, [inputs], request.timeout) as job:
            outputs = lifecycle.create(token, plain_props(inputs), job)
        return provider_pb2.CreateResponse(
            id=_name(request.urn) + secrets.token_hex(_ID_BYTES),
            properties=to_struct(inputs | outputs),
        )

    @override
    def Update(
        self, request: provider_pb2.UpdateRequest, context: grpc.ServicerContext
    ) -> provider_pb2.UpdateResponse:
        token = _token(request.urn)
        olds, news = from_struct(request.olds), from_struct(request.news)
        shape = _shape(RESOURCES, token, context)
        for name in request.ignoreChanges:
            news[name] = olds.get(name)
        if request.preview:
            outputs = lifecycle.foreseen(shape, news, olds)
        else:
            with self._job(context, request.urn, [olds, news], request.timeout) as job:
                outputs = lifecycle.update(token, shape, plain_props(olds), plain_props(news), job)
        return provider_pb2.UpdateResponse(properties=to_struct(news | outputs))

    @override
    def Delete(
        self, request: provider_pb2.DeleteRequest, context: grpc.ServicerContext
    ) -> empty_pb2.Empty:
        state = from_struct(request.properties)
        with self._job(context, request.urn, [state], request.timeout) as job:
            lifecycle.delete(_token(request.urn), plain_props(state), job)
        return empty_pb2.Empty()

    @override
    def Read(
        self, request: provider_pb2.ReadRequest, context: grpc.ServicerContext
    ) -> provider_pb2.ReadResponse:
        """Give back what the engine knows: a command that ran has no state of its own."""
        return provider_pb2.ReadResponse(
            id=request.id, properties=request.properties, inputs=request.inputs
        )

    @override
    def Invoke(
        self, request: provider_pb2.InvokeRequest, context: grpc.ServicerContext
    ) -> provider_pb2.InvokeResponse:
        shape = _shape(FUNCTIONS, request.tok, context)
        inputs, failures = checking.check(request.tok, shape, from_struct(request.args))
        if failures:
            return provider_pb2.InvokeResponse(failures=_failures(failures))
        with self._job(context, "", [inputs]) as job:
            plain = plain_props(inputs)
            outputs = local.run(text(plain, "command") or "", plain, {}, job)
        response = provider_pb2.InvokeResponse()
        # The field's name is a keyword of Python.
        getattr(response, "return").CopyFrom(to_struct(inputs | outputs))
        return response

    @override
    def Cancel(self, request: empty_pb2.Empty, context: grpc.ServicerContext) -> empty_pb2.Empty:
        self.stop()
        return empty_pb2.Empty()

    @contextlib.contextmanager
    def _job(
        self,
        context: grpc.ServicerContext,
        urn: str,
        values: Sequence[Props],
        seconds: float = 0,
    ) -> Generator[Job]:
        """Run a command for a call: stopped with it, timed, and its failure told to the engine.

        Parameters
        ----------
        values
            Properties whose secrets must not be shown.
        seconds
            The longest time the command may take; 0 sets no limit.
        """
        mask, engine = Mask(values), self._engine
        job = Job(lambda line: engine.status(mask(line), urn))
        serving.stop_with(context, job.stop)
        timer = threading.Timer(seconds, job.stop) if seconds else None
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            with self._running.hold(job):
                yield job
        except CommandError as error:
            context.abort(grpc.StatusCode.UNKNOWN, mask(str(error)))
        finally:
            if timer is not None:
                timer.cancel()


def _token(urn: str) -> str:
    """Give the type in a URN, without the types of its parents."""
    return urn.split("::")[2].rpartition("$")[2]


def _name(urn: str) -> str:
    return urn.split("::", 3)[3]


def _shape(shapes: Mapping[str, Shape], token: str, context: grpc.ServicerContext) -> Shape:
    if token not in shapes:
        known = ", ".join(sorted(shapes))
        context.abort(grpc.StatusCode.NOT_FOUND, f"this plugin has no {token}; it has {known}")
    return shapes[token]


def _failures(failures: Sequence[Failure]) -> list[provider_pb2.CheckFailure]:
    return [
        provider_pb2.CheckFailure(property=failure.property, reason=failure.reason)
        for failure in failures
    ]
