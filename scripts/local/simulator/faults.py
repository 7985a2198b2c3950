"""Faults that a person asked for: API calls that are throttled or fail for a while."""

import random
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Literal, cast

from scripts.local.simulator.calls import AwsError

__all__ = ["Fault", "Faults", "parse_fault"]

SHAPE = 'a fault is an object such as {"kind": "throttle", "seconds": 30}'
KINDS = ("throttle", "error")


@dataclass(frozen=True)
class Fault:
    """One injected fault."""

    kind: Literal["throttle", "error"]
    service: str | None
    """The service's name in botocore; None hits every service."""

    probability: float
    until: float
    """When it ends, in seconds of the monotonic clock."""

    def error(self, service: str) -> AwsError:
        """Build the error that ``service`` answers under this fault."""
        if self.kind == "throttle":
            return _throttled(service)
        code = "ServiceUnavailable" if service in {"s3", "ec2"} else "InternalFailure"
        return AwsError(
            code, "The simulator was told to fail this call (fault: error).", status=500
        )


def _throttled(service: str) -> AwsError:
    """Codes as botocore's retry handlers know them: EC2 and S3 differ from the rest."""
    if service == "ec2":
        return AwsError("RequestLimitExceeded", "Request limit exceeded.", status=503)
    if service == "s3":
        return AwsError("SlowDown", "Please reduce your request rate.", status=503)
    code = "Throttling" if service in {"iam", "sns", "sts"} else "ThrottlingException"
    return AwsError(code, "Rate exceeded", status=400)


def parse_fault(raw: object, now: float) -> Fault:
    """Read a fault from JSON; raises ``ValueError`` naming every problem."""
    if not isinstance(raw, dict):
        raise ValueError(SHAPE)  # noqa: TRY004 - all that is wrong with JSON is a ValueError
    fields = cast("dict[str, Any]", raw)
    problems = [
        f"unknown field {name!r}; use kind, service, probability, seconds"
        for name in sorted(set(fields) - {"kind", "service", "probability", "seconds"})
    ]
    kind, service = fields.get("kind"), fields.get("service")
    probability, seconds = fields.get("probability", 1.0), fields.get("seconds", 30)
    if kind not in KINDS:
        problems.append(f"kind is {kind!r}; use one of {', '.join(KINDS)}")
    if not (service is None or isinstance(service, str)):
        problems.append(f"service is {service!r}; use a service's name such as 'eks', or null")
    if not isinstance(probability, (int, float)) or not 0 < probability <= 1:
        problems.append(f"probability is {probability!r}; use a number above 0, at most 1")
    if not isinstance(seconds, (int, float)) or seconds <= 0:
        problems.append(f"seconds is {seconds!r}; use a number above 0")
    if problems:
        raise ValueError("; ".join(problems))
    return Fault(
        cast("Literal['throttle', 'error']", kind),
        service,
        float(cast("float", probability)),
        now + float(cast("float", seconds)),
    )


class Faults:
    """The faults in force; each ends by itself."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._faults: list[Fault] = []

    def add(self, raw: object) -> None:
        """Start a fault given as JSON."""
        self._faults.append(parse_fault(raw, self._clock()))

    def clear(self) -> None:
        """End all faults."""
        self._faults.clear()

    def listed(self) -> list[dict[str, Any]]:
        """List the faults in force, with the seconds that each has left."""
        now = self._clock()
        self._faults = [fault for fault in self._faults if fault.until > now]
        return [
            {name: value for name, value in asdict(fault).items() if name != "until"}
            | {"seconds": round(fault.until - now, 3)}
            for fault in self._faults
        ]

    def strike(self, service: str) -> AwsError | None:
        """Return the error that a call of ``service`` shall meet now, if any."""
        now = self._clock()
        for fault in self._faults:
            if (
                fault.until > now
                and fault.service in {None, service}
                and random.random() < fault.probability  # noqa: S311 - no secret depends on it
            ):
                return fault.error(service)
        return None
