import socket

import pytest
from botocore.client import BaseClient
from botocore.exceptions import ClientError

from scripts.catalog.ec2 import NotAskedError, ask

P5 = "p5.48xlarge"


def closed_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


@pytest.mark.usefixtures("signed_in")
def test_one_question_answers_for_all_and_leaves_out_what_is_not_known() -> None:
    answer = ask([P5, "p6-b300.48xlarge", "p6e-gb200.36xlarge"], "us-west-2")
    assert answer.region == "us-west-2"
    assert set(answer.types) == {P5, "p6-b300.48xlarge"}
    assert answer.zones["p6-b300.48xlarge"] == ("usw2-az1", "usw2-az2")


@pytest.mark.usefixtures("signed_in")
def test_the_region_of_the_environment_is_asked_when_none_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-2")
    assert ask([P5], None).region == "us-east-2"


def test_without_credentials_nothing_is_asked() -> None:
    with pytest.raises(NotAskedError) as caught:
        ask([P5], "us-east-1")
    assert str(caught.value) == (
        "there are no AWS credentials here; sign in (AWS_PROFILE, or `aws sso login`), or take "
        'the embedded target\'s with `eval "$(yard local env)"`'
    )


@pytest.mark.usefixtures("credentials")
def test_without_a_region_nothing_is_asked() -> None:
    with pytest.raises(NotAskedError, match=r"^no region is set; name one with --region$"):
        ask([P5], None)


def test_a_profile_that_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")
    with pytest.raises(NotAskedError) as caught:
        ask([P5], "us-east-1")
    assert str(caught.value) == (
        "EC2 did not answer: The config profile (nobody) could not be found; look at --region, "
        "AWS_PROFILE and AWS_ENDPOINT_URL, then ask again"
    )


@pytest.mark.usefixtures("credentials")
def test_an_identity_that_may_not_ask_is_told_what_it_lacks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(_client: BaseClient, operation: str, _params: object) -> None:
        error = {"Code": "UnauthorizedOperation", "Message": "You are not authorized"}
        raise ClientError({"Error": error}, operation)

    monkeypatch.setattr(BaseClient, "_make_api_call", refuse)
    with pytest.raises(NotAskedError) as caught:
        ask([P5], "us-east-1")
    assert str(caught.value) == (
        "EC2 refused: An error occurred (UnauthorizedOperation) when calling the "
        "DescribeInstanceTypes operation: You are not authorized; sign in anew, or let this "
        "identity do ec2:DescribeInstanceTypes and ec2:DescribeInstanceTypeOfferings"
    )


@pytest.mark.usefixtures("credentials")
def test_an_endpoint_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    endpoint = f"http://127.0.0.1:{closed_port()}"
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(NotAskedError) as caught:
        ask([P5], "us-east-1")
    assert str(caught.value) == (
        f'EC2 did not answer: Could not connect to the endpoint URL: "{endpoint}/"; look at '
        "--region, AWS_PROFILE and AWS_ENDPOINT_URL, then ask again"
    )
