"""Who calls is told from the access key id."""

import pytest

from scripts.local.simulator.app import Simulator

from .conftest import SESSION, Account, refusal


def test_the_caller_is_a_session_of_the_deploy_role_of_the_account_in_the_key(
    account: Account,
) -> None:
    identity = account.client("sts").get_caller_identity()
    assert {key: identity[key] for key in ("Account", "Arn", "UserId")} == {
        "Account": account.number,
        "Arn": f"arn:aws:sts::{account.number}:assumed-role/trainyard-deploy/embedded",
        "UserId": "AROAEMBEDDEDTRAINYARD:embedded",
    }


def test_accounts_do_not_see_each_other(account: Account, other_account: Account) -> None:
    account.client("ecr").create_repository(repositoryName="train")
    [mine] = account.client("ecr").describe_repositories()["repositories"]
    assert mine["registryId"] == account.number
    assert other_account.client("ecr").describe_repositories()["repositories"] == []


@pytest.mark.parametrize(
    ("service", "operation", "expected"),
    [
        (
            "ec2",
            "describe_vpcs",
            ("AuthFailure", "AWS was not able to validate the provided access credentials"),
        ),
        (
            "s3",
            "list_buckets",
            (
                "InvalidAccessKeyId",
                "The AWS Access Key Id you provided does not exist in our records.",
            ),
        ),
        (
            "eks",
            "list_clusters",
            ("InvalidClientTokenId", "The security token included in the request is invalid."),
        ),
    ],
)
def test_a_key_that_is_not_of_the_target_is_refused(
    url: str, service: str, operation: str, expected: tuple[str, str]
) -> None:
    client = SESSION.create_client(
        service,
        region_name="us-east-1",
        endpoint_url=url,
        aws_access_key_id="AKIAIOSFODNN7EXAMPLE",
        aws_secret_access_key="example",  # noqa: S106 - no secret
    )
    assert refusal(getattr(client, operation)) == expected


def test_an_operation_that_nobody_answers_says_so(account: Account) -> None:
    assert refusal(account.client("eks").describe_insight, clusterName="a", id="b") == (
        "NotImplemented",
        "The simulator does not answer eks:DescribeInsight.",
    )
    assert refusal(account.client("ec2").describe_verified_access_groups) == (
        "NotImplemented",
        "The simulator does not answer ec2:DescribeVerifiedAccessGroups.",
    )


def test_the_request_log_names_caller_and_operation_and_no_body(
    account: Account, simulator: Simulator
) -> None:
    account.client("secretsmanager").create_secret(Name="s", SecretString="not for the log")
    assert simulator._log is not None
    line = simulator._log.read_text(encoding="utf-8").splitlines()[-1]
    stamp, who, what, status, took = line.split()
    assert (who, what, status) == (
        f"EMBEDDED{account.number}",
        "secretsmanager:CreateSecret",
        "200",
    )
    assert stamp.endswith("Z")
    assert took.endswith("ms")


def test_a_signing_name_that_is_no_service_is_refused_not_a_crash(account: Account) -> None:
    client = SESSION.create_client(
        "sts",
        region_name="us-east-1",
        endpoint_url=account.url,
        aws_access_key_id="AKIAIOSFODNN7EXAMPLE",
        aws_secret_access_key="example",  # noqa: S106 - no secret
    )
    client.meta.events.register(
        "choose-signer.sts.GetCallerIdentity",
        lambda context, **_: context.update(signing={"signing_name": "no-service"}),
    )
    assert refusal(client.get_caller_identity)[0] == "InvalidClientTokenId"
