"""The resource provider: what the engine calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn, TypeVar

import grpc
from google.protobuf import empty_pb2, struct_pb2
from pulumi.runtime.proto import plugin_pb2, provider_pb2, provider_pb2_grpc, status_pb2
from typing_extensions import override

from scripts.local.plugins.aws import checking, diffing, resources, settings, states
from scripts.local.plugins.aws.lookups import look_up
from scripts.local.plugins.aws.package import package_schema
from scripts.local.plugins.aws.rows import ROWS
from scripts.local.plugins.aws.schema import schema
from scripts.local.plugins.aws.session import (
    ApiDownError,
    AwsError,
    Item,
    NotAStandInError,
    Session,
)
from scripts.local.plugins.shared.differences import DIFFERENCE_KINDS
from scripts.local.plugins.shared.wire import from_struct, plain_props, to_struct

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from scripts.local.plugins.aws.checking import Failure
    from scripts.local.plugins.aws.row import Row
    from scripts.local.plugins.shared.wire import Props

T = TypeVar("T")

_NOTHING: Final = Session(endpoint="", region="")
"""Stands in for the session while the provider's settings are unknown."""


class AwsProvider(provider_pb2_grpc.ResourceProviderServicer):
    """The stand-in of the AWS provider, over the simulator of the embedded target."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self._session: Session | None = None

    def register(self, server: grpc.Server) -> None:
        """Add this provider to ``server``."""
        provider_pb2_grpc.add_ResourceProviderServicer_to_server(self, server)

    @override
    def Handshake(
        self, request: provider_pb2.ProviderHandshakeRequest, context: grpc.ServicerContext
    ) -> provider_pb2.ProviderHandshakeResponse:
        return provider_pb2.ProviderHandshakeResponse(
            accept_secrets=True, supports_autonaming_configuration=True
        )

    @override
    def Attach(
        self, request: plugin_pb2.PluginAttach, context: grpc.ServicerContext
    ) -> empty_pb2.Empty:
        return empty_pb2.Empty()

    @override
    def Cancel(self, request: empty_pb2.Empty, context: grpc.ServicerContext) -> empty_pb2.Empty:
        """Nothing to stop: every call ends within its patience."""
        return empty_pb2.Empty()

    @override
    def GetPluginInfo(
        self, request: empty_pb2.Empty, context: grpc.ServicerContext
    ) -> plugin_pb2.PluginInfo:
        return plugin_pb2.PluginInfo(version=schema().version)

    @override
    def GetSchema(
        self, request: provider_pb2.GetSchemaRequest, context: grpc.ServicerContext
    ) -> provider_pb2.GetSchemaResponse:
        return provider_pb2.GetSchemaResponse(schema=package_schema())

    @override
    def GetMapping(
        self, request: provider_pb2.GetMappingRequest, context: grpc.ServicerContext
    ) -> provider_pb2.GetMappingResponse:
        return provider_pb2.GetMappingResponse()

    @override
    def CheckConfig(
        self, request: provider_pb2.CheckRequest, context: grpc.ServicerContext
    ) -> provider_pb2.CheckResponse:
        failures = settings.check(from_struct(request.news))
        return provider_pb2.CheckResponse(inputs=request.news, failures=_failures(failures))

    @override
    def DiffConfig(
        self, request: provider_pb2.DiffRequest, context: grpc.ServicerContext
    ) -> provider_pb2.DiffResponse:
        """Another region means other resources."""
        old = plain_props(from_struct(request.old_inputs or request.olds))
        new = plain_props(from_struct(request.news))
        names = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
        return provider_pb2.DiffResponse(
            changes=_changes(names), diffs=names, replaces=[n for n in names if n == "region"]
        )

    @override
    def Configure(
        self, request: provider_pb2.ConfigureRequest, context: grpc.ServicerContext
    ) -> provider_pb2.ConfigureResponse:
        variables: Props = from_struct(request.args) or {
            name.removeprefix("aws:config:"): text for name, text in request.variables.items()
        }
        own = {k: v for k, v in variables.items() if k in schema().provider.properties}
        self._session = _guard(context, lambda: settings.configured(own, self._environment))
        return provider_pb2.ConfigureResponse(
            acceptSecrets=True, supportsPreview=True, supports_autonaming_configuration=True
        )

    @override
    def Check(
        self, request: provider_pb2.CheckRequest, context: grpc.ServicerContext
    ) -> provider_pb2.CheckResponse:
        row, token = _row(request.urn, context)
        options = request.autonaming
        naming = checking.Naming(
            logical=request.urn.rpartition("::")[2],
            seed=request.randomSeed,
            proposed=options.proposed_name,
            forbidden=options.mode == provider_pb2.CheckRequest.AutonamingOptions.DISABLE,
        )
        inputs, failures = checking.check(
            row,
            token,
            from_struct(request.olds),
            from_struct(request.news),
            naming,
            self._session or _NOTHING,
        )
        return provider_pb2.CheckResponse(inputs=to_struct(inputs), failures=_failures(failures))

    @override
    def Diff(
        self, request: provider_pb2.DiffRequest, context: grpc.ServicerContext
    ) -> provider_pb2.DiffResponse:
        row, token = _row(request.urn, context)
        plan = self._plan(row, token, request)
        replaces = sorted({it.name for it in plan.differences if it.replaces})
        return provider_pb2.DiffResponse(
            changes=_changes(plan.differences),
            diffs=sorted(plan.changed),
            replaces=replaces,
            deleteBeforeReplace=plan.delete_first,
            hasDetailedDiff=True,
            detailedDiff={
                it.path: provider_pb2.PropertyDiff(
                    kind=DIFFERENCE_KINDS[it.how, it.replaces], inputDiff=True
                )
                for it in plan.differences
            },
        )

    def _plan(
        self, row: Row, token: str, request: provider_pb2.DiffRequest | provider_pb2.UpdateRequest
    ) -> diffing.Plan:
        state, news = (plain_props(from_struct(it)) for it in (request.olds, request.news))
        olds = plain_props(from_struct(request.old_inputs)) or state
        here = (self._session or _NOTHING).region
        place = (str(state.get("region") or here), str(news.get("region") or here))
        return diffing.plan(
            row,
            token,
            olds,
            news,
            state=state,
            region=place,
            ignored=request.ignoreChanges,
        )

    @override
    def Create(
        self, request: provider_pb2.CreateRequest, context: grpc.ServicerContext
    ) -> provider_pb2.CreateResponse:
        row, token = _row(request.urn, context)
        inputs = from_struct(request.properties)
        if request.preview:
            region = (self._session or _NOTHING).region
            state = states.planned(row, token, plain_props(inputs), region)
            return provider_pb2.CreateResponse(properties=_struct(token, state, inputs))
        item = self._item(row, request.urn, context, timeout=request.timeout, props=inputs)
        try:
            made, state = _guard(context, lambda: resources.create(row, token, item))
        except resources.PartialError as error:
            _partial(context, token, error, inputs)
        return provider_pb2.CreateResponse(id=made, properties=_struct(token, state, inputs))

    @override
    def Read(
        self, request: provider_pb2.ReadRequest, context: grpc.ServicerContext
    ) -> provider_pb2.ReadResponse:
        row, token = _row(request.urn, context)
        old, inputs = from_struct(request.properties), from_struct(request.inputs)
        prior = {**plain_props(inputs), **plain_props(old)}
        item = self._item(row, request.urn, context, prior=prior, resource_id=request.id)

        def look() -> tuple[str, Props] | None:
            known = resources.identify(row, item)
            state = resources.read(row, token, known)
            return None if state is None else (known.id, state)

        found = _guard(context, look)
        if found is None:
            return provider_pb2.ReadResponse()
        resource_id, state = found
        if inputs:
            refreshed = states.refreshed(row, token, inputs, state)
        else:
            refreshed = states.imported(row, token, state)
        return provider_pb2.ReadResponse(
            id=resource_id,
            properties=_struct(token, state, {**old, **inputs}),
            inputs=to_struct(refreshed),
        )

    @override
    def Update(
        self, request: provider_pb2.UpdateRequest, context: grpc.ServicerContext
    ) -> provider_pb2.UpdateResponse:
        row, token = _row(request.urn, context)
        inputs, old = from_struct(request.news), from_struct(request.olds)
        changed = self._plan(row, token, request).changed
        if request.preview:
            state = states.planned_update(
                row, token, plain_props(old), plain_props(inputs), changed
            )
            return provider_pb2.UpdateResponse(properties=_struct(token, state, inputs))
        item = self._item(
            row,
            request.urn,
            context,
            timeout=request.timeout,
            props=inputs,
            prior=old,
            resource_id=request.id,
        )
        state = _guard(context, lambda: resources.update(row, token, item, changed))
        return provider_pb2.UpdateResponse(properties=_struct(token, state, inputs))

    @override
    def Delete(
        self, request: provider_pb2.DeleteRequest, context: grpc.ServicerContext
    ) -> empty_pb2.Empty:
        row, _ = _row(request.urn, context)
        item = self._item(
            row,
            request.urn,
            context,
            timeout=request.timeout,
            props=from_struct(request.old_inputs),
            prior=from_struct(request.properties),
            resource_id=request.id,
        )
        _guard(context, lambda: resources.delete(row, item))
        return empty_pb2.Empty()

    @override
    def Invoke(
        self, request: provider_pb2.InvokeRequest, context: grpc.ServicerContext
    ) -> provider_pb2.InvokeResponse:
        asked = plain_props(from_struct(request.args))
        session = self._ready(context)
        answer = _guard(context, lambda: look_up(session, request.tok, asked))
        response = provider_pb2.InvokeResponse()
        # The field's name is a word of Python's own.
        getattr(response, "return").CopyFrom(to_struct(answer))
        return response

    def _ready(self, context: grpc.ServicerContext) -> Session:
        if self._session is None:
            _abort(context, "the AWS provider's settings are not known yet; this needs them")
        return self._session

    def _item(
        self,
        row: Row,
        urn: str,
        context: grpc.ServicerContext,
        *,
        timeout: float = 0,
        props: Props | None = None,
        prior: Props | None = None,
        resource_id: str = "",
    ) -> Item:
        session = self._ready(context)
        before = plain_props(prior or {})
        return Item(
            session=session,
            service=row.service,
            id=resource_id,
            name=urn.rpartition("::")[2],
            props=_prefixed(row, plain_props(props or {}), before),
            prior=before,
            patience=timeout or session.patience,
        )


def _prefixed(row: Row, props: Props, prior: Props) -> Props:
    """Name a resource that has only a prefix: as it is called, or as unique as may be."""
    props = {name: value for name, value in props.items() if not name.startswith("__")}
    prefix = props.get(f"{row.autoname}Prefix")
    if prefix and not props.get(row.autoname):
        fresh = f"{prefix}{checking.Naming('').name()[1:]}"
        props[row.autoname] = prior.get(row.autoname) or fresh
    return props


def _row(urn: str, context: grpc.ServicerContext) -> tuple[Row, str]:
    """Find the row of a resource's type; a child's type stands behind its parents'."""
    token = urn.split("::")[2].rpartition("$")[2]
    if token not in ROWS:
        _abort(
            context,
            f"the embedded target's stand-in has no resource type {token}; it has those that "
            "Trainyard uses: see scripts/local/plugins/aws/rows",
        )
    return ROWS[token], token


def _struct(token: str, state: Props, inputs: Props) -> struct_pb2.Struct:
    return to_struct(states.sealed(token, state, inputs))


def _failures(failures: Sequence[Failure]) -> list[provider_pb2.CheckFailure]:
    return [provider_pb2.CheckFailure(property=it.property, reason=it.reason) for it in failures]


def _changes(found: Sequence[object]) -> provider_pb2.DiffResponse.DiffChanges.ValueType:
    response = provider_pb2.DiffResponse
    return response.DIFF_SOME if found else response.DIFF_NONE


def _guard(context: grpc.ServicerContext, work: Callable[[], T]) -> T:
    """Tell the engine of an expected failure in its own words."""
    try:
        return work()
    except (
        ApiDownError,
        AwsError,
        LookupError,
        NotAStandInError,
        settings.SettingsError,
    ) as error:
        _abort(context, str(error))


def _abort(context: grpc.ServicerContext, message: str) -> NoReturn:
    context.abort(grpc.StatusCode.UNKNOWN, message)
    raise AssertionError("abort never returns")


def _partial(
    context: grpc.ServicerContext, token: str, error: resources.PartialError, inputs: Props
) -> NoReturn:
    """Tell the engine that the resource exists, so that it keeps it and repairs it later."""
    failed = provider_pb2.ErrorResourceInitFailed(
        id=error.id,
        properties=_struct(token, error.state, inputs),
        reasons=[error.reason],
        inputs=to_struct(inputs),
    )
    status = status_pb2.Status(code=grpc.StatusCode.UNKNOWN.value[0], message=error.reason)
    status.details.add().Pack(failed)
    context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
    _abort(context, error.reason)
