"""Faults on demand: what callers see, and how a fault ends."""

import json
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest

from scripts.local.simulator.app import Simulator
from scripts.local.simulator.faults import Faults

from .conftest import Account, refusal


def ask(method: str, url: str, body: object = None) -> Any:  # noqa: ANN401 - JSON
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, method=method)  # noqa: S310 - our own server
    with urllib.request.urlopen(request) as response:  # noqa: S310 - our own server
        return json.load(response)


@pytest.fixture
def faults(simulator: Simulator, url: str) -> Iterator[str]:
    yield f"{url}/trainyard/faults"
    simulator.faults.clear()


@pytest.mark.parametrize(
    ("service", "operation", "expected"),
    [
        ("ec2", "describe_vpcs", ("RequestLimitExceeded", "Request limit exceeded.")),
        ("s3", "list_buckets", ("SlowDown", "Please reduce your request rate.")),
        ("eks", "list_clusters", ("ThrottlingException", "Rate exceeded")),
        ("fsx", "describe_file_systems", ("ThrottlingException", "Rate exceeded")),
        ("kms", "list_keys", ("ThrottlingException", "Rate exceeded")),
        ("iam", "list_roles", ("Throttling", "Rate exceeded")),
        ("cloudwatch", "describe_alarms", ("ThrottlingException", "Rate exceeded")),
    ],
)
def test_a_throttled_service_answers_as_aws_does(
    account: Account, faults: str, service: str, operation: str, expected: tuple[str, str]
) -> None:
    ask("POST", faults, {"kind": "throttle", "service": service, "seconds": 30})
    assert refusal(getattr(account.client(service), operation)) == expected


def test_a_fault_of_one_service_leaves_the_others_alone(account: Account, faults: str) -> None:
    ask("POST", faults, {"kind": "error", "service": "eks"})
    assert refusal(account.client("eks").list_clusters) == (
        "InternalFailure",
        "The simulator was told to fail this call (fault: error).",
    )
    assert account.client("sts").get_caller_identity()["Account"] == account.number


def test_faults_are_listed_with_the_time_they_have_left_and_cleared(faults: str) -> None:
    [listed] = ask("POST", faults, {"kind": "throttle", "service": None, "seconds": 30})["faults"]
    assert 29 < listed.pop("seconds") <= 30
    assert listed == {"kind": "throttle", "service": None, "probability": 1.0}
    assert ask("GET", faults) != {"faults": []}
    assert ask("DELETE", faults) == {"faults": []}


def test_health_is_never_faulty(url: str, faults: str) -> None:
    ask("POST", faults, {"kind": "error", "service": None})
    assert ask("GET", f"{url}/trainyard/health") == {"status": "ok"}


def test_an_unknown_control_endpoint_names_the_known_ones(url: str) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        ask("GET", f"{url}/trainyard/nope")
    with caught.value as response:
        assert json.load(response) == {
            "error": "no GET /trainyard/nope; there are DELETE /trainyard/faults, "
            "GET /trainyard/faults, GET /trainyard/health, POST /trainyard/faults, "
            "POST /trainyard/save, POST /trainyard/token-review"
        }


def test_a_fault_ends_by_itself() -> None:
    now = 100.0
    faults = Faults(clock=lambda: now)
    faults.add({"kind": "throttle", "seconds": 10})
    assert faults.strike("eks") is not None
    now = 110.0
    assert faults.strike("eks") is None
    assert faults.listed() == []


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ([], 'a fault is an object such as {"kind": "throttle", "seconds": 30}'),
        ({"kind": "slow"}, "kind is 'slow'; use one of throttle, error"),
        (
            {"kind": "error", "probability": 2, "seconds": 0, "host": "a", "service": 1},
            (
                "unknown field 'host'; use kind, service, probability, seconds; "
                "service is 1; use a service's name such as 'eks', or null; "
                "probability is 2; use a number above 0, at most 1; "
                "seconds is 0; use a number above 0"
            ),
        ),
    ],
)
def test_a_wrong_fault_is_refused_with_every_problem(raw: object, message: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole message is compared
        Faults().add(raw)
    assert str(caught.value) == message
