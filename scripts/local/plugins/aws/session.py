"""Calls to the AWS API of the embedded target, with clients and answers that fit many threads."""

from __future__ import annotations

import ipaddress
import re
import threading
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar
from urllib.parse import urlsplit

import botocore.session
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectTimeoutError,
    EndpointConnectionError,
    HTTPClientError,
    ParamValidationError,
    ReadTimeoutError,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scripts.local.plugins.aws.convert import Api
    from scripts.local.plugins.shared.wire import Props

T = TypeVar("T")

ATTEMPTS: Final = 8
"""Tries of one call; with standard back-off about half a minute of throttling is sat out."""

PATIENCE_SECONDS: Final = 60.0
"""How long a wait or a dependency violation is sat out; the simulator settles within seconds."""

_POLL_SECONDS: Final = 0.2
_SERVER_ERRORS: Final = frozenset({500, 502, 503, 504})
"""Those that botocore tries again; 501 says that the simulator does not know the operation."""

_GONE: Final = re.compile(r"NotFound|NoSuch|DoesNotExist|\.Unknown$")
_BUSY: Final = re.compile(
    r"DependencyViolation|ResourceInUse|InUse$|DeleteConflict|OperationAborted|ConcurrentModification"
)
_DOWN: Final = (ConnectTimeoutError, EndpointConnectionError, HTTPClientError, ReadTimeoutError)
_THROTTLED: Final = re.compile(r"Throttl|RequestLimitExceeded|TooManyRequests|SlowDown")


class AwsError(Exception):
    """The API refused a call, in its own words."""

    def __init__(self, operation: str, code: str, message: str) -> None:
        super().__init__(f"{operation}: api error {code}: {message}")
        self.code = code

    @property
    def gone(self) -> bool:
        """Whether the API says that the thing does not exist."""
        return bool(_GONE.search(self.code))

    @property
    def busy(self) -> bool:
        """Whether something else still holds the thing."""
        return bool(_BUSY.search(self.code))


class NotAStandInError(Exception):
    """The plugin was pointed at something that is not the simulator of this machine."""

    def __init__(self, endpoint: str | None) -> None:
        seen = f"AWS_ENDPOINT_URL is {endpoint}" if endpoint else "AWS_ENDPOINT_URL is not set"
        super().__init__(
            f"{seen}, but this pulumi-resource-aws is the embedded target's stand-in and speaks "
            "only to a simulator on this machine; run it through `yard local`, or take it off PATH "
            "to use the real AWS provider"
        )


class ApiDownError(Exception):
    """The endpoint does not answer, or only with refusals to serve."""

    def __init__(self, endpoint: str, seen: str) -> None:
        super().__init__(
            f"the AWS API simulator at {endpoint} {seen}; nothing more was changed. "
            "See `yard local status`, then run the command again"
        )


def check_endpoint(endpoint: str | None) -> str:
    """Give the endpoint back when it is on this machine.

    Raises
    ------
    NotAStandInError
        If there is none, or it is elsewhere.
    """
    host = urlsplit(endpoint).hostname if endpoint else None
    if endpoint is None or host is None:
        raise NotAStandInError(endpoint)
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = host == "localhost"
    if not loopback:
        raise NotAStandInError(endpoint)
    return endpoint


@dataclass
class Session:
    """Who we are to the API, and how long we wait for it."""

    endpoint: str
    region: str
    account: str = ""
    default_tags: Mapping[str, str] = field(default_factory=dict[str, str])
    ignored_tags: Callable[[str], bool] = lambda key: key.startswith("aws:")
    endpoints: Mapping[str, str] = field(default_factory=dict[str, str])
    credentials: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    """Arguments of botocore's clients; what is not here, botocore looks for itself."""

    patience: float = PATIENCE_SECONDS
    partition: str = "aws"
    _clients: dict[tuple[str, str], Any] = field(default_factory=dict[tuple[str, str], Any])
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _core: Any = None

    def client(self, service: str, region: str = "") -> Any:  # noqa: ANN401 - botocore makes its class at run time
        """Keep one client for each service and region; botocore makes them slowly."""
        key = (service, region or self.region)
        with self._lock:
            if key not in self._clients:
                self._core = self._core or botocore.session.get_session()
                self._clients[key] = self._core.create_client(
                    service,
                    region_name=key[1],
                    endpoint_url=self.endpoints.get(service, self.endpoint),
                    **self.credentials,
                    config=Config(
                        retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
                        max_pool_connections=64,
                        connect_timeout=5,
                        s3={"addressing_style": "path"},
                    ),
                )
            return self._clients[key]

    def call(
        self, service: str, operation: str, params: Mapping[str, Api], region: str = ""
    ) -> Api:
        """Call the API once, with botocore's retries.

        Raises
        ------
        AwsError
            The API refused, or botocore found the request malformed.
        ApiDownError
            Nobody answers, or every answer was a refusal to serve.
        """
        client = self.client(service, region)
        try:
            return client._make_api_call(operation, dict(params))  # noqa: SLF001 - by AWS's name
        except ClientError as error:
            self._refused(operation, error)
        except ParamValidationError as error:
            raise AwsError(operation, "ValidationError", str(error)) from error
        except _DOWN as error:
            raise ApiDownError(self.endpoint, "does not answer") from error
        except BotoCoreError as error:
            raise AwsError(operation, type(error).__name__, str(error)) from error

    def _refused(self, operation: str, error: ClientError) -> NoReturn:
        detail = error.response.get("Error", {})
        code, message = detail.get("Code", "Unknown"), detail.get("Message", "")
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        server_error = status in _SERVER_ERRORS
        if _THROTTLED.search(code) or server_error:
            seen = f"answered {operation} with {code} ({message}) {ATTEMPTS} times"
            raise ApiDownError(self.endpoint, seen) from error
        raise AwsError(operation, code, message) from error

    def until(self, done: Callable[[], T | None], patience: float) -> T | None:
        """Ask again and again; None when ``patience`` seconds were not enough."""
        end = time.monotonic() + patience
        while True:
            answer = done()
            if answer is not None or time.monotonic() >= end:
                return answer
            time.sleep(_POLL_SECONDS)


@dataclass(frozen=True)
class Item:
    """One resource in the course of one request, in plain values."""

    session: Session
    service: str
    id: str = ""
    name: str = ""
    """The logical name, only for messages."""

    props: Props = field(default_factory=dict[str, Any])
    """The inputs to reach; after a failed read of an import, only what the id says."""

    prior: Props = field(default_factory=dict[str, Any])
    """The state before."""

    patience: float = PATIENCE_SECONDS

    @property
    def region(self) -> str:
        """Where the resource lives."""
        own = self.props.get("region") or self.prior.get("region")
        return own if isinstance(own, str) else self.session.region

    def call(self, operation: str, service: str = "", /, **params: Api) -> Api:
        """Call an operation of the resource's service, or of ``service``, where it lives."""
        return self.session.call(service or self.service, operation, params, self.region)

    def scope(self) -> dict[str, Api]:
        """Give what the templates of a row may name."""
        return {
            **self.prior,
            **self.props,
            "id": self.id,
            "region": self.region,
            "account": self.session.account,
            "partition": self.session.partition,
        }
