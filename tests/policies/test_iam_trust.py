from typing import Any

import pytest

from rules import types
from rules.base import Finder
from rules.iam_trust import (
    POD_CLUSTER,
    TRUST,
    loose_pod_identity,
    open_principals,
    pod_identity_of_any_cluster,
    unbound_accounts,
    unbound_web_identity,
)
from tests.policies.bags import ACCOUNT, CLUSTER_ARN, POD_TRUST, document
from tests.policies.support import Violation, analyze, messages, subject, urn

OTHER = "999988887777"
ISSUER = "oidc.eks.us-east-1.amazonaws.com/id/ABC"
PROVIDER_ARN = f"arn:aws:iam::{ACCOUNT}:oidc-provider/{ISSUER}"
GITHUB = f"arn:aws:iam::{ACCOUNT}:oidc-provider/token.actions.githubusercontent.com"
WHERE = "assumeRolePolicy statement #1"


def findings(finder: Finder, **statement: object) -> list[str]:
    raw = document({"Effect": "Allow", "Action": "sts:AssumeRole", **statement})
    provider = {"allowedAccountIds": f'["{ACCOUNT}"]'}
    return list(finder(subject(types.IAM_ROLE, {"assumeRolePolicy": raw}, provider)))


def anyone(kind: str, principal: str) -> str:
    return (
        f"{WHERE} trusts the {kind} principal '{principal}', which is open to others; "
        "name the role, the service or the provider"
    )


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ({"Principal": {"Service": "ec2.amazonaws.com"}}, []),
        ({"Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:role/deploy"}}, []),
        ({"Principal": "*"}, [anyone("AWS", "*")]),
        ({"Principal": ["*"]}, [anyone("AWS", "*")]),
        ({"Principal": {"AWS": "*"}}, [anyone("AWS", "*")]),
        ({"Principal": {"AWS": ["*"]}}, [anyone("AWS", "*")]),
        ({"Principal": {"aws": "*"}}, [anyone("AWS", "*")]),
        ({"Principal": {"Federated": "*"}}, [anyone("FEDERATED", "*")]),
        (
            {"Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:*"}},
            [anyone("AWS", f"arn:aws:iam::{ACCOUNT}:*")],
        ),
        (
            {"Principal": {"AWS": "*"}, "Condition": {"Bool": {"aws:SecureTransport": "true"}}},
            [anyone("AWS", "*")],
        ),
        (
            {"NotPrincipal": {"AWS": f"arn:aws:iam::{ACCOUNT}:role/deploy"}},
            [f"{WHERE} trusts all but NotPrincipal; list who may assume the role"],
        ),
        (
            {"Principal": {"Service": "ec2.amazonaws.com"}, "NotAction": "sts:TagSession"},
            [f"{WHERE} allows by NotAction; list the sts calls"],
        ),
        (
            {"Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:*"},
            [f"{WHERE} allows 'sts:*'; name the sts calls, such as sts:AssumeRole"],
        ),
        ({"Effect": "Deny", "Principal": "*"}, []),
    ],
)
def test_who_a_role_trusts(statement: dict[str, Any], expected: list[str]) -> None:
    assert findings(open_principals, **statement) == expected


def whole(account: str) -> str:
    return (
        f"{WHERE} trusts every identity of account {account}; name a role, or add a condition on "
        "aws:PrincipalArn, sts:ExternalId or aws:PrincipalOrgID"
    )


FOREIGN = (
    f"{WHERE} trusts account {OTHER}, which the provider does not deploy to; "
    "add a condition on sts:ExternalId or aws:PrincipalOrgID"
)


@pytest.mark.parametrize(
    ("principal", "condition", "expected"),
    [
        (f"arn:aws:iam::{ACCOUNT}:role/deploy", {}, []),
        (f"arn:aws:iam::{ACCOUNT}:root", {}, [whole(ACCOUNT)]),
        (ACCOUNT, {}, [whole(ACCOUNT)]),
        (f"arn:aws-us-gov:iam::{ACCOUNT}:root", {}, [whole(ACCOUNT)]),
        (ACCOUNT, {"StringEquals": {"aws:PrincipalOrgID": "o-1"}}, []),
        (ACCOUNT, {"ArnLike": {"aws:PrincipalArn": f"arn:aws:iam::{ACCOUNT}:role/deploy"}}, []),
        (ACCOUNT, {"ArnLike": {"aws:PrincipalArn": "*"}}, [whole(ACCOUNT)]),
        (ACCOUNT, {"StringEquals": {"aws:RequestedRegion": "us-east-1"}}, [whole(ACCOUNT)]),
        (OTHER, {}, [whole(OTHER)]),
        (OTHER, {"StringEquals": {"sts:ExternalId": "trainyard"}}, []),
        (f"arn:aws:iam::{OTHER}:role/ci", {}, [FOREIGN]),
        (f"arn:aws:iam::{OTHER}:role/ci", {"StringEquals": {"sts:ExternalId": "trainyard"}}, []),
        ("AIDAEXAMPLE", {}, []),
    ],
)
def test_how_accounts_are_bound(
    principal: str, condition: dict[str, Any], expected: list[str]
) -> None:
    statement = {"Principal": {"AWS": [principal]}, "Condition": condition}
    assert findings(unbound_accounts, **statement) == expected


@pytest.mark.parametrize("accounts", [None, "nonsense", "{}", "[]"])
def test_without_the_providers_accounts_a_named_role_of_any_account_passes(
    accounts: str | None,
) -> None:
    raw = document({"Effect": "Allow", "Principal": {"AWS": f"arn:aws:iam::{OTHER}:role/ci"}})
    role = subject(types.IAM_ROLE, {"assumeRolePolicy": raw}, {"allowedAccountIds": accounts})
    assert list(unbound_accounts(role)) == []


def unbound(provider: str, keys: str) -> list[str]:
    return [
        (
            f"{WHERE} trusts tokens of '{provider}' without holding them to {keys}; "
            "add StringEquals conditions with whole values, without wildcards"
        )
    ]


SUB, AUD = f"{ISSUER}:sub", f"{ISSUER}:aud"
POD = "system:serviceaccount:kube-system:fsx-csi"


@pytest.mark.parametrize(
    ("provider", "condition", "expected"),
    [
        (PROVIDER_ARN, {"StringEquals": {SUB: POD, AUD: "sts.amazonaws.com"}}, []),
        (PROVIDER_ARN, {}, unbound(PROVIDER_ARN, f"{SUB} and {AUD}")),
        (PROVIDER_ARN, {"StringEquals": {SUB: POD}}, unbound(PROVIDER_ARN, AUD)),
        (PROVIDER_ARN, {"StringEquals": {AUD: "sts.amazonaws.com"}}, unbound(PROVIDER_ARN, SUB)),
        (
            PROVIDER_ARN,
            {
                "StringLike": {SUB: "system:serviceaccount:*:*"},
                "StringEquals": {AUD: "sts.amazonaws.com"},
            },
            unbound(PROVIDER_ARN, SUB),
        ),
        (
            PROVIDER_ARN,
            {"ForAllValues:StringEquals": {SUB: POD, AUD: "sts.amazonaws.com"}},
            unbound(PROVIDER_ARN, f"{SUB} and {AUD}"),
        ),
        (
            PROVIDER_ARN,
            {"StringEquals": {"other.example/id/X:sub": POD, "other.example/id/X:aud": "sts"}},
            unbound(PROVIDER_ARN, f"{SUB} and {AUD}"),
        ),
        (
            GITHUB,
            {
                "StringEquals": {"token.actions.githubusercontent.com:aud": "sts.amazonaws.com"},
                "StringLike": {"token.actions.githubusercontent.com:sub": "repo:org/*"},
            },
            unbound(GITHUB, "token.actions.githubusercontent.com:sub"),
        ),
        (
            "accounts.google.com",
            {"StringEquals": {"accounts.google.com:aud": "app"}},
            unbound("accounts.google.com", "accounts.google.com:sub"),
        ),
        (
            f"arn:aws:iam::{ACCOUNT}:saml-provider/sso",
            {"StringEquals": {"SAML:aud": "https://signin.aws.amazon.com/saml"}},
            [],
        ),
        (
            f"arn:aws:iam::{ACCOUNT}:saml-provider/sso",
            {},
            unbound(f"arn:aws:iam::{ACCOUNT}:saml-provider/sso", "SAML:aud"),
        ),
    ],
)
def test_how_tokens_are_bound(
    provider: str, condition: dict[str, Any], expected: list[str]
) -> None:
    statement = {"Principal": {"Federated": provider}, "Condition": condition}
    assert findings(unbound_web_identity, **statement) == expected


EXACT = (
    f"{WHERE} must allow pods.eks.amazonaws.com exactly sts:AssumeRole and sts:TagSession; "
    "give other principals a statement of their own"
)
ANY_ACCOUNT = (
    f"{WHERE} lets pods.eks.amazonaws.com act for any account; "
    "add a StringEquals condition on aws:SourceAccount"
)
ANY_CLUSTER = (
    f"{WHERE} lets pods.eks.amazonaws.com act for any cluster of the account; "
    "add a condition on aws:SourceArn or on aws:RequestTag/eks-cluster-name"
)
IN_ACCOUNT = {"StringEquals": {"aws:SourceAccount": ACCOUNT}}


@pytest.mark.parametrize(
    ("change", "expected", "advice"),
    [
        ({}, [], []),
        ({"Action": ["STS:assumerole", "sts:tagsession"]}, [], []),
        ({"Action": "sts:AssumeRole"}, [EXACT], []),
        ({"Action": ["sts:AssumeRole", "sts:TagSession", "sts:SetSourceIdentity"]}, [EXACT], []),
        ({"Condition": {}}, [ANY_ACCOUNT], [ANY_CLUSTER]),
        ({"Condition": IN_ACCOUNT}, [], [ANY_CLUSTER]),
        (
            {
                "Condition": {
                    "StringEquals": {
                        "aws:SourceAccount": ACCOUNT,
                        "aws:RequestTag/eks-cluster-name": "trainyard-dev",
                    }
                }
            },
            [],
            [],
        ),
        (
            {"Condition": {"ArnEquals": {"aws:SourceArn": CLUSTER_ARN}}},
            [ANY_ACCOUNT],
            [],
        ),
        (
            {"Principal": {"Service": ["PODS.eks.amazonaws.com"]}, "Action": "sts:AssumeRole"},
            [EXACT],
            [],
        ),
        ({"Principal": {"Service": "ec2.amazonaws.com"}, "Condition": {}}, [], []),
    ],
)
def test_how_pod_identity_is_bound(
    change: dict[str, Any], expected: list[str], advice: list[str]
) -> None:
    assert findings(loose_pod_identity, **{**POD_TRUST, **change}) == expected
    assert findings(pod_identity_of_any_cluster, **{**POD_TRUST, **change}) == advice


def test_the_policies_fire_on_a_role() -> None:
    bag = {"assumeRolePolicy": document({**POD_TRUST, "Condition": {}})}
    kind = types.IAM_ROLE
    assert analyze(kind, bag, policies=[TRUST, POD_CLUSTER]) == [
        Violation(
            "iam-trust-bound",
            "MANDATORY",
            urn(kind, "it"),
            f"{TRUST.description}\nit ({kind}): {ANY_ACCOUNT}",
        ),
        Violation(
            "iam-trust-pod-identity-cluster",
            "ADVISORY",
            urn(kind, "it"),
            f"{POD_CLUSTER.description}\nit ({kind}): {ANY_CLUSTER}",
        ),
    ]
    public = {"assumeRolePolicy": {"Statement": {"Effect": "Allow", "Principal": "*"}}}
    assert messages(analyze(kind, public, policies=[TRUST])) == [
        f"it ({kind}): {anyone('AWS', '*')}"
    ]
