"""One AWS call, and the table of the operations that this package answers itself.

A handler takes a :class:`Call` and returns the operation's output as plain data in the shapes of
the AWS API. It may raise :class:`AwsError`, ask another operation (:meth:`Call.ask`), or let moto
answer its own one (:meth:`Call.forward`) and mend what comes back. One that only checks returns
None: moto then answers the request as it came in, which is faster where answers are large.
Operations without a handler go to moto unseen.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from typing_extensions import override

from scripts.local.simulator.records import Records

__all__ = ["HANDLERS", "Answer", "AwsError", "Call", "Handler", "Settings", "answers", "tag_map"]

Answer = dict[str, Any]
"""The input or output of an operation, keyed as in the AWS API."""


class AwsError(Exception):
    """An error as AWS would answer it.

    Parameters
    ----------
    code
        The service's error code, such as ``ResourceNotFoundException``.
    message
        The text that AWS gives with it.
    status
        HTTP status, when the service's model does not say it.
    """

    def __init__(self, code: str, message: str, *, status: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status

    @override
    def __str__(self) -> str:
        return f"{self.code}: {self.message}"


@dataclass(frozen=True)
class Settings:
    """What the embedded target tells the simulator about its Kubernetes API server."""

    kube_endpoint: str
    kube_ca: str
    """PEM text of the API server's certificate authority."""


class Ask(Protocol):
    """Answer one operation of another or the same service, as if it came from outside."""

    def __call__(self, call: "Call", *, native: bool) -> Answer: ...


@dataclass(frozen=True)
class Call:
    """One request: who asks what of which service, and the means to answer it."""

    service: str
    """The service's name in botocore, such as ``ec2``."""

    operation: str
    account: str
    region: str
    params: Answer
    records: Records
    settings: Settings
    answer: Ask = field(repr=False)

    def ask(self, service: str, operation: str, **params: Any) -> Answer:  # noqa: ANN401 - shapes of the AWS API
        """Ask another operation in the same account and region; raises its ``AwsError``."""
        return self.answer(self._other(service, operation, params), native=False)

    def forward(self, **changes: Any) -> Answer:  # noqa: ANN401 - shapes of the AWS API
        """Let moto answer this call, with ``changes`` over its parameters."""
        return self.ask_moto(self.service, self.operation, **{**self.params, **changes})

    def ask_moto(self, service: str, operation: str, **params: Any) -> Answer:  # noqa: ANN401 - shapes of the AWS API
        """Ask moto directly, past the handlers of this package."""
        return self.answer(self._other(service, operation, params), native=True)

    def table(self, kind: str) -> dict[str, Answer]:
        """Return the records of one kind in the caller's account and region."""
        return self.records.table(self.account, self.region, kind)

    def arn(self, service: str, resource: str) -> str:
        """Build the ARN of a regional resource of the caller's account."""
        return f"arn:aws:{service}:{self.region}:{self.account}:{resource}"

    def _other(self, service: str, operation: str, params: Answer) -> "Call":
        return Call(
            service,
            operation,
            self.account,
            self.region,
            {name: value for name, value in params.items() if value is not None},
            self.records,
            self.settings,
            self.answer,
        )


Handler = Callable[[Call], Answer | None]

HANDLERS: dict[tuple[str, str], Handler] = {}
"""Who answers (service, operation); filled when the modules of this package are imported."""


def answers(service: str, *operations: str) -> Callable[[Handler], Handler]:
    """Register a function as the one that answers these operations."""

    def register(handler: Handler) -> Handler:
        for operation in operations:
            if (service, operation) in HANDLERS:
                raise ValueError(f"{service}:{operation} has two handlers")
            HANDLERS[service, operation] = handler
        return handler

    return register


def tag_map(tags: list[dict[str, str]] | None) -> dict[str, str]:
    """Turn a list of Key/Value pairs into a dictionary."""
    return {tag["Key"]: tag.get("Value", "") for tag in tags or []}
