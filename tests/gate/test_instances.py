"""What is told when AWS refuses, and where it is asked. The simulator's tests have what works."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import (
    ClientError,
    EndpointConnectionError,
    NoCredentialsError,
    ReadTimeoutError,
)

from scripts.gate.instances import ATTEMPTS, AutoScaling, client, region_of
from scripts.gate.ports import NodeState
from scripts.gate.replace import Replaced

NOW = datetime(2026, 12, 1, 8, tzinfo=UTC)
SOMEBODY = "arn:aws:sts::111122223333:assumed-role/deployer/somebody"
UNMANAGED = "Instance Id not found - No managed instance found for instance ID i-1"


def refused(code: str, message: str = SOMEBODY) -> ClientError:
    response: Any = {"Error": {"Code": code, "Message": message}, "ResponseMetadata": {}}
    return ClientError(response, "Operation")


@dataclass
class Aws:
    """Both services at once: each call answers, or raises what it is told to."""

    ends: Any = field(default_factory=lambda: {"Activity": {"AutoScalingGroupName": "eks-train-1"}})
    describes: Any = None
    activities: Any = field(default_factory=lambda: {"Activities": []})
    asked: list[tuple[Any, ...]] = field(default_factory=list)

    def make(self, service: str, region: str) -> "Aws":
        self.asked.append((service, region))
        return self

    def terminate_instance_in_auto_scaling_group(self, **asked: object) -> Any:  # noqa: ANN401 - as AWS
        self.asked.append(tuple(asked.items()))
        return answered(self.ends)

    def describe_instances(self, **_asked: object) -> Any:  # noqa: ANN401 - as AWS
        return answered(self.describes)

    def describe_scaling_activities(self, **_asked: object) -> Any:  # noqa: ANN401 - as AWS
        return answered(self.activities)


def answered(answer: Any) -> Any:  # noqa: ANN401 - as AWS
    if isinstance(answer, Exception):
        raise answer
    return answer


def node(provider_id: str = "aws:///us-east-1a/i-1") -> NodeState:
    return NodeState(
        name="a",
        instance_type="p5.48xlarge",
        provider_id=provider_id,
        wave="1",
        ready=True,
        passed=False,
        devices={},
    )


def replaced(aws: Aws, *nodes: NodeState) -> Replaced:
    return AutoScaling(aws.make, lambda: NOW).replace(nodes or [node()])


@pytest.mark.parametrize(
    ("provider_id", "region"),
    [
        ("aws:///us-east-1a/i-1", "us-east-1"),
        ("aws:///us-gov-west-1b/i-1", "us-gov-west-1"),
        ("aws:///us-east-1-dfw-2a/i-1", "us-east-1"),
        ("aws:///ap-southeast-2c/i-1", "ap-southeast-2"),
        ("aws:///use1-az4/i-1", ""),
        ("gce://project/us-east1-b/vm", ""),
        ("", ""),
    ],
)
def test_the_region_stands_in_the_provider_id(provider_id: str, region: str) -> None:
    assert region_of(provider_id) == region


def test_a_group_stays_as_large_and_one_client_does_for_all_nodes_of_a_region() -> None:
    aws = Aws()
    assert replaced(aws, node(), node("aws:///us-east-1b/i-2")).left == {}
    kept = ("ShouldDecrementDesiredCapacity", False)
    assert aws.asked == [
        ("autoscaling", "us-east-1"),
        (("InstanceId", "i-1"), kept),
        (("InstanceId", "i-2"), kept),
    ]


DENIED = "AWS refused it (AccessDenied): the identity that runs the gate needs"


@pytest.mark.parametrize(
    ("aws", "why"),
    [
        (
            Aws(refused("AccessDenied")),
            f"{DENIED} autoscaling:TerminateInstanceInAutoScalingGroup",
        ),
        (
            Aws(refused("ScalingActivityInProgress")),
            "AWS refused it: ScalingActivityInProgress",
        ),
        (
            Aws(EndpointConnectionError(endpoint_url="https://secret.example")),
            "AWS could not be asked: EndpointConnectionError",
        ),
        (Aws(NoCredentialsError()), "AWS could not be asked: NoCredentialsError"),
        (
            Aws(refused("ValidationError", UNMANAGED), refused("UnauthorizedOperation")),
            (
                "Auto Scaling knows no i-1, and AWS refused it (UnauthorizedOperation): the "
                "identity that runs the gate needs ec2:DescribeInstances"
            ),
        ),
    ],
    ids=["denied", "busy", "unreachable", "without credentials", "half denied"],
)
def test_an_error_leaves_the_node_and_tells_nothing_secret(aws: Aws, why: str) -> None:
    assert replaced(aws) == Replaced({}, {"a": why})


def broken() -> ClientError:
    error = refused("InternalFailure")
    error.response["ResponseMetadata"]["HTTPStatusCode"] = 500
    return error


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (
            ReadTimeoutError(endpoint_url="https://secret.example"),
            "AWS could not be asked: ReadTimeoutError",
        ),
        (broken(), "AWS refused it: InternalFailure"),
    ],
    ids=["no answer", "a fault of AWS"],
)
def test_an_order_without_a_clear_answer_may_have_been_heard(error: Exception, why: str) -> None:
    assert replaced(Aws(error)) == Replaced({}, {"a": why}, frozenset({"a"}))


@pytest.mark.parametrize("state", ["shutting-down", "terminated"])
def test_an_instance_on_its_way_out_is_no_error(state: str) -> None:
    told = {"Reservations": [{"Instances": [{"State": {"Name": state}}]}]}
    assert replaced(Aws(refused("ValidationError", UNMANAGED), told)).left == {}


def test_a_node_that_is_no_instance_is_left_without_asking_aws() -> None:
    aws = Aws()
    why = "its provider id names no EC2 instance in a zone"
    assert replaced(aws, node("kind://docker/a")).left == {"a": why}
    assert aws.asked == []


def test_one_error_does_not_keep_the_others() -> None:
    aws = Aws()
    found = replaced(aws, node("kind://docker/a"), node())
    assert found.ordered == {"a": "aws:///us-east-1a/i-1"}


def activity(minutes: float, code: str, message: str) -> dict[str, Any]:
    start = NOW + timedelta(minutes=minutes)
    return {"StartTime": start, "StatusCode": code, "StatusMessage": message}


def test_why_no_other_instance_came_is_the_last_failure_since() -> None:
    aws = Aws(
        activities={
            "Activities": [
                activity(9, "Successful", ""),
                activity(8, "Failed", "We currently do not have\n sufficient p5.48xlarge capacity"),
                activity(4, "Failed", "Over a quota"),
                activity(-60, "Failed", "Another day's"),
            ]
        }
    )
    replacing = AutoScaling(aws.make, lambda: NOW)
    assert replacing.trouble() == ""
    replacing.replace([node()])
    assert replacing.trouble() == (
        "Auto Scaling could not start another instance: We currently do not have sufficient "
        "p5.48xlarge capacity"
    )


def test_why_no_other_instance_came_names_no_account() -> None:
    aws = Aws(activities={"Activities": [activity(8, "Failed", f"{SOMEBODY} may not use the key")]})
    replacing = AutoScaling(aws.make, lambda: NOW)
    replacing.replace([node()])
    assert replacing.trouble() == (
        "Auto Scaling could not start another instance: (an ARN) may not use the key"
    )


def test_why_no_other_instance_came_may_not_be_told_to_us() -> None:
    replacing = AutoScaling(Aws(activities=refused("AccessDenied")).make, lambda: NOW)
    replacing.replace([node()])
    assert replacing.trouble() == f"{DENIED} autoscaling:DescribeScalingActivities"


def test_clients_retry_in_the_standard_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    made = client("autoscaling", "eu-west-1").meta
    retries = {"mode": "standard", "total_max_attempts": ATTEMPTS}
    assert (made.region_name, made.endpoint_url) == ("eu-west-1", "http://127.0.0.1:1")
    assert made.config.retries == retries
