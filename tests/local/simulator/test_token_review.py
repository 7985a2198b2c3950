"""The token-review webhook judges tokens as EKS does."""

import base64
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.auth import SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from scripts.local.simulator.records import Records
from scripts.local.simulator.token_review import CLUSTER_ADMIN, review

ACCOUNT = "000000000000"
ROLE = f"arn:aws:iam::{ACCOUNT}:role/trainyard-deploy"
URL = "http://127.0.0.1:4566/?Action=GetCallerIdentity&Version=2011-06-15"


def token(
    cluster: str = "train",
    *,
    url: str = URL,
    key: str = f"EMBEDDED{ACCOUNT}",
    secret: str = "embedded",  # noqa: S107 - the word that all callers sign with
) -> str:
    """Make a token as ``aws eks get-token`` does."""
    request = AWSRequest("GET", url, headers={"x-k8s-aws-id": cluster})
    SigV4QueryAuth(Credentials(key, secret), "sts", "us-east-1", expires=60).add_auth(request)
    encoded = base64.urlsafe_b64encode(str(request.url).encode()).decode().rstrip("=")
    return f"k8s-aws-v1.{encoded}"


@pytest.fixture
def records() -> Records:
    records = Records()
    records.table(ACCOUNT, "us-east-1", "eks:cluster")["train"] = {"name": "train"}
    records.table(ACCOUNT, "us-east-1", "eks:access-entry")[f"train|{ROLE}"] = {
        "principalArn": ROLE,
        "username": f"arn:aws:sts::{ACCOUNT}:assumed-role/trainyard-deploy/{{{{SessionName}}}}",
        "kubernetesGroups": ["operators"],
        "associatedAccessPolicies": [
            {"policyArn": CLUSTER_ADMIN, "accessScope": {"type": "cluster", "namespaces": []}}
        ],
    }
    return records


def status(text: str, records: Records, now: datetime | None = None) -> dict[str, Any]:
    answer = review({"kind": "TokenReview", "spec": {"token": text}}, records, now)
    found: dict[str, Any] = answer["status"]
    return found


def test_a_caller_with_an_entry_is_let_in_with_its_groups(records: Records) -> None:
    assert status(token(), records) == {
        "authenticated": True,
        "user": {
            "username": ROLE,
            "uid": f"aws-iam-authenticator:{ACCOUNT}:trainyard-deploy",
            "groups": ["operators", "system:masters"],
            "extra": {"arn": [ROLE], "accessKeyId": [f"EMBEDDED{ACCOUNT}"]},
        },
    }


def test_a_policy_of_one_namespace_gives_no_masters(records: Records) -> None:
    [entry] = records.table(ACCOUNT, "us-east-1", "eks:access-entry").values()
    entry["associatedAccessPolicies"][0]["accessScope"] = {"type": "namespace"}
    assert status(token(), records)["user"]["groups"] == ["operators"]


def test_a_username_of_its_own_is_given(records: Records) -> None:
    [entry] = records.table(ACCOUNT, "us-east-1", "eks:access-entry").values()
    entry["username"] = "deployer"
    assert status(token(), records)["user"]["username"] == "deployer"


@pytest.mark.parametrize(
    ("wrong", "error"),
    [
        ({"cluster": "other"}, "the token was not made for cluster train"),
        ({"secret": "guess"}, "the token was not made for cluster train"),
        (
            {"key": "AKIAIOSFODNN7EXAMPLE"},
            "the token is not signed by a caller of the embedded target",
        ),
        (
            {"url": URL.replace("GetCallerIdentity", "AssumeRole")},
            "the token's request is not GetCallerIdentity",
        ),
        (
            {"key": "EMBEDDED111122223333"},
            "arn:aws:iam::111122223333:role/trainyard-deploy has no access entry in cluster train",
        ),
    ],
)
def test_a_token_that_proves_nothing_is_refused(
    records: Records, wrong: dict[str, str], error: str
) -> None:
    assert status(token(**wrong), records) == {"authenticated": False, "error": error}


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("abc", "the token does not begin with k8s-aws-v1."),
        ("k8s-aws-v1.%%%", "the token is not base64 of a URL"),
        ("k8s-aws-v1.aHR0cDovLw", "the token's request is not GetCallerIdentity"),
    ],
)
def test_what_is_no_token_is_refused(records: Records, text: str, error: str) -> None:
    assert status(text, records) == {"authenticated": False, "error": error}


@pytest.mark.parametrize(
    ("age", "error"),
    [
        (timedelta(minutes=16), "the token has expired (15 minutes)"),
        (timedelta(minutes=-6), "the token is dated in the future"),
    ],
)
def test_a_token_is_good_for_fifteen_minutes(records: Records, age: timedelta, error: str) -> None:
    assert status(token(), records, datetime.now(UTC) + age) == {
        "authenticated": False,
        "error": error,
    }
    assert status(token(), records, datetime.now(UTC) + timedelta(minutes=14))["authenticated"]


def test_nobody_is_let_in_without_a_cluster() -> None:
    assert status(token(), Records()) == {
        "authenticated": False,
        "error": "there is no EKS cluster",
    }


@pytest.mark.parametrize("request_", [[], {}, {"spec": {}}])
def test_what_is_no_token_review_is_refused(request_: object) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole message is compared
        review(request_, Records())
    assert str(caught.value) == "a TokenReview is an object with spec.token"
