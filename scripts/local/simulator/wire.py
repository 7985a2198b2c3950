"""AWS protocols: read a request into plain data, write an answer, and pass calls on to moto.

The only module that touches moto's and botocore's parsers and serializers. Both are untyped
where they are used here, hence the ``Any``.
"""
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false
# botocore's and moto's protocol code carries no types; this module is the typed face of it.

import importlib
import io
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import parse_qs, urlencode

from botocore.exceptions import UnknownServiceError
from botocore.parsers import create_parser
from botocore.serialize import create_serializer
from moto.core import responses
from moto.core.errors import COMMON_ERROR_CODES
from moto.core.exceptions import ServiceException
from moto.core.model import OperationModel
from moto.core.parse import PROTOCOL_PARSERS
from moto.core.request import Request, determine_request_protocol
from moto.core.routing import get_service_router
from moto.core.serialize import get_serializer_class
from moto.core.utils import get_service_model, method_names_from_class
from moto.moto_server.werkzeug_app import (  # pyright: ignore[reportMissingTypeStubs] - moto's server is untyped
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from typing_extensions import override
from werkzeug.exceptions import HTTPException
from werkzeug.test import EnvironBuilder, run_wsgi_app

from scripts.local.simulator.calls import Answer, AwsError

__all__ = [
    "Body",
    "Inbound",
    "Moto",
    "MotoRequestHandler",
    "Signer",
    "prepare",
    "read_signer",
    "rendered",
    "rendered_error",
]

Environ = dict[str, Any]

SERVICE_OF_SIGNING_NAME = {"aps": "amp", "monitoring": "cloudwatch"}
"""Services whose signing name is not their name in botocore."""

SIGNING_NAME = {service: name for name, service in SERVICE_OF_SIGNING_NAME.items()}

MOTO_SETTINGS = {"MOTO_EC2_LOAD_DEFAULT_AMIS": "false"}
"""moto's list of old AMIs would only make each account slow to start and its state large."""

EC2_TEXTS = {
    "InvalidVPCIdError": ("InvalidVpcID.NotFound", "The vpc ID '{}' does not exist"),
    "InvalidSecurityGroupNotFoundError": (
        "InvalidGroup.NotFound",
        "The security group '{}' does not exist",
    ),
}
"""AWS's words where moto has its own: exception class, code, text."""

TAGGED_HERE = {"placement-group": "pg", "capacity-reservation": "cr"}
"""Resources of EC2 that this package holds, while moto holds their tags."""

NOT_FOUND = 404

CREDENTIAL = re.compile(r"Credential=(?P<scope>[^,\s]+)")


@dataclass(frozen=True)
class Signer:
    """The credential scope of a signed request."""

    access_key: str
    region: str
    service: str
    """The service's name in botocore."""


@dataclass(frozen=True)
class Body:
    """A rendered response."""

    status: int
    headers: list[tuple[str, str]]
    content: bytes


@dataclass(frozen=True)
class Inbound:
    """A request whose operation is known, with its parameters as the API names them."""

    operation: OperationModel
    protocol: str
    request: Request
    uri_params: dict[str, Any]

    @classmethod
    def of(cls, environ: Environ, service: str) -> "Inbound | None":
        """Find the operation; None when the service's model has no such request."""
        if not is_service(service):
            return None
        own_body = io.BytesIO(environ["wsgi.input"].getvalue())
        request = Request({**environ, "wsgi.input": own_body})
        try:
            operation, uri_params = get_service_router(service).match(request)
            protocol = determine_request_protocol(operation.service_model, request.content_type)
        except (HTTPException, NotImplementedError):
            return None
        return cls(operation, protocol, request, uri_params)

    @property
    def name(self) -> str:
        """The operation's name, such as ``CreateVpc``."""
        return str(self.operation.name)

    def params(self) -> Answer:
        """Parse the parameters, keyed as in the API."""
        parser = PROTOCOL_PARSERS[self.protocol](self.operation, map_type=dict)
        parsed: Answer = parser.parse(
            {
                "method": self.request.method,
                "values": self.request.values,
                "headers": self.request.headers,
                "body": self.request.data,
                "url_path": self.request.path,
                "url_params": self.uri_params,
            }
        )
        return {name: value for name, value in parsed.items() if value is not None}


@cache
def is_service(name: str) -> bool:
    """Tell whether botocore has a model of the service; some signing names are none."""
    try:
        get_service_model(name)
    except UnknownServiceError:
        return False
    return True


def read_signer(environ: Environ) -> Signer | None:
    """Read who signed the request, from its header or its presigned URL."""
    match = CREDENTIAL.search(environ.get("HTTP_AUTHORIZATION", ""))
    scope = match["scope"] if match else _presigned_scope(environ.get("QUERY_STRING", ""))
    parts = scope.split("/")
    if len(parts) != 5:  # noqa: PLR2004 - key, date, region, service, "aws4_request"
        return None
    access_key, _, region, name, _ = parts
    return Signer(access_key, region, SERVICE_OF_SIGNING_NAME.get(name, name))


def _presigned_scope(query: str) -> str:
    return parse_qs(query).get("X-Amz-Credential", [""])[0]


def rendered(inbound: Inbound, result: Answer) -> Body:
    """Render an operation's output in the request's protocol."""
    return _serialized(inbound.operation, inbound.protocol, result)


def rendered_error(
    environ: Environ, service: str, error: AwsError, inbound: Inbound | None = None
) -> Body:
    """Render an error in the service's protocol."""
    model = get_service_model(service if is_service(service) else "sts")
    if inbound is None:
        operation = OperationModel({}, model)
        protocol = determine_request_protocol(model, environ.get("CONTENT_TYPE"))
    else:
        operation, protocol = inbound.operation, inbound.protocol
    if error.code not in COMMON_ERROR_CODES:
        COMMON_ERROR_CODES.append(error.code)  # else moto warns of codes that no model lists
    body = _serialized(operation, protocol, Refusal(error.code, error.message))
    return Body(error.status or body.status, body.headers, body.content)


def _serialized(operation: OperationModel, protocol: str, result: object) -> Body:
    name = operation.service_model.service_name
    serializer = get_serializer_class(name, protocol)(operation_model=operation)
    response: Any = serializer.serialize(result)
    content = response["body"]
    return Body(
        int(response["status_code"]),
        [(key, str(value)) for key, value in response["headers"].items()],
        content.encode() if isinstance(content, str) else bytes(content),
    )


@cache
def prepare(service: str) -> None:
    """Teach moto what a service of this package needs of it, once, when it is first used."""
    if service == "ec2":
        importlib.import_module("scripts.local.simulator.ec2.moto_addresses").teach()
        prefixes = importlib.import_module("moto.ec2.utils")
        prefixes.EC2_RESOURCE_TO_PREFIX.update(TAGGED_HERE)
        prefixes.EC2_PREFIX_TO_RESOURCE.update(
            {prefix: kind for kind, prefix in TAGGED_HERE.items()}
        )
        errors = importlib.import_module("moto.ec2.exceptions")
        for name, (code, text) in EC2_TEXTS.items():
            _reword(getattr(errors, name), code, text)


def _reword(error: type[Any], code: str, text: str) -> None:
    """Give an exception of moto's AWS's text; moto sometimes hands it a set of one id."""
    base: Any = error.__base__
    exception: Any = error

    def start(self: object, identity: str | Iterable[str]) -> None:
        one = identity if isinstance(identity, str) else min(identity)
        base.__init__(self, code, text.format(one))

    exception.__init__ = start


class Refusal(ServiceException):
    """An error of ours; moto looks up the model of its own ones by their module."""


class Dispatcher(DomainDispatcherApplication):
    """moto's choice of an application by host name, remembered: it lists folders each time."""

    def __init__(self) -> None:
        super().__init__(create_backend_app)
        self._known: dict[str | None, Any] = {}

    @override
    def get_backend_for_host(self, host: str | None) -> Any:
        if host not in self._known:
            self._known[host] = super().get_backend_for_host(host)
        return self._known[host]


class Moto:
    """moto's own application: one backend per service, loaded on its first request."""

    def __init__(self) -> None:
        os.environ.update(MOTO_SETTINGS)
        inspected: Any = responses
        inspected.method_names_from_class = cache(method_names_from_class)
        self._application = Dispatcher()

    def pass_on(self, environ: Environ, account: str) -> Body:
        """Let moto answer a request as it came in."""
        environ["HTTP_X_MOTO_ACCOUNT_ID"] = account
        chunks, line, headers = run_wsgi_app(self._application, environ)
        status = int(line.split()[0])
        content = _joined(chunks)
        if status == NOT_FOUND and content.startswith(b"<!doctype html>"):
            raise NotImplementedError(environ["PATH_INFO"])  # Flask's page: moto has no such route
        return Body(status, list(headers), content)

    def ask(self, service: str, operation: str, params: Answer, *, signer: Signer) -> Answer:
        """Ask moto one operation; raises ``AwsError`` with what moto refused it with."""
        model = get_service_model(service)
        shape = model.operation_model(operation)
        protocol = str(model.resolved_protocol)
        request: Any = create_serializer(protocol, False).serialize_to_request(params, shape)
        body = self.pass_on(_environ(request, signer), signer_account(signer))
        parser: Any = create_parser(protocol)
        parsed: Answer = parser.parse(
            {
                "body": body.content,
                "headers": {key.lower(): value for key, value in body.headers},
                "status_code": body.status,
                "context": {"operation_name": operation},
            },
            shape.output_shape,
        )
        error = parsed.get("Error")
        if body.status >= 300 or error:  # noqa: PLR2004 - anything but success
            error = error or {}
            raise AwsError(
                error.get("Code", str(body.status)), error.get("Message", ""), status=body.status
            )
        parsed.pop("ResponseMetadata", None)
        return parsed


def signer_account(signer: Signer) -> str:
    """Account that the signer's access key id names."""
    return signer.access_key.removeprefix("EMBEDDED")


def _joined(chunks: Iterable[bytes]) -> bytes:
    try:
        return b"".join(chunks)
    finally:
        close = getattr(chunks, "close", None)
        if close is not None:
            close()


def _environ(request: dict[str, Any], signer: Signer) -> Environ:
    """Make of botocore's unsigned request one that moto takes for a signed one."""
    service = SIGNING_NAME.get(signer.service, signer.service)
    scope = f"{signer.access_key}/20260101/{signer.region}/{service}/aws4_request"
    body = request["body"]
    if isinstance(body, dict):
        body = urlencode(body)
    query = request["query_string"]
    path = request["url_path"]
    authorization = f"AWS4-HMAC-SHA256 Credential={scope}, SignedHeaders=host, Signature=0"
    headers: dict[str, str] = {**request["headers"], "Authorization": authorization}
    builder = EnvironBuilder(
        path=path,
        method=request["method"],
        query_string=query or None,
        headers=list(headers.items()),
        input_stream=io.BytesIO(body.encode() if isinstance(body, str) else bytes(body or b"")),
    )
    environ: Environ = builder.get_environ()
    size = environ["wsgi.input"].seek(0, io.SEEK_END)
    environ["wsgi.input"].seek(0)
    environ["CONTENT_LENGTH"] = str(size)
    return environ
