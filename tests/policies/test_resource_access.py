from typing import Any

import pytest

from rules import types
from rules.resource_access import RESOURCE_ACCESS, public_access
from tests.policies.bags import document
from tests.policies.support import analyze, messages, subject

OPEN = (
    "policy statement #1 allows every principal; name the principals, or add a condition with "
    "whole values on aws:PrincipalOrgID, aws:SourceAccount or aws:SourceArn"
)
STAR: dict[str, Any] = {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject"}


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, [OPEN]),
        ({"Principal": {"AWS": "*"}}, [OPEN]),
        ({"Principal": {"AWS": ["arn:aws:iam::111122223333:root", "*"]}}, [OPEN]),
        ({"Principal": {"Service": "*"}}, [OPEN]),
        ({"Principal": {"AWS": "arn:aws:iam::111122223333:root"}}, []),
        ({"Principal": {"CanonicalUser": "abc"}}, []),
        ({"Effect": "Deny"}, []),
        ({"Condition": {"Bool": {"aws:SecureTransport": "true"}}}, [OPEN]),
        ({"Condition": {"StringEquals": {"aws:PrincipalOrgID": "o-1"}}}, []),
        ({"Condition": {"StringLike": {"aws:PrincipalOrgID": "*"}}}, [OPEN]),
        ({"Condition": {"StringEqualsIfExists": {"aws:SourceAccount": "1"}}}, [OPEN]),
        (
            {
                "Condition": {
                    "StringEquals": {"kms:CallerAccount": "1", "kms:ViaService": "fsx.x.y"}
                }
            },
            [],
        ),
        ({"Condition": {"StringEquals": {"kms:ViaService": "fsx.x.y"}}}, [OPEN]),
        ({"Condition": {"ArnLike": {"aws:SourceArn": "arn:aws:s3:::*"}}}, [OPEN]),
    ],
)
def test_who_a_resource_lets_in(change: dict[str, Any], expected: list[str]) -> None:
    policy = subject(types.S3_BUCKET_POLICY, {"policy": document({**STAR, **change})})
    assert list(public_access(policy)) == expected


def test_leaving_out_principals_lets_in_the_rest() -> None:
    statement = {"Effect": "Allow", "NotPrincipal": {"AWS": "1"}, "Action": "s3:GetObject"}
    policy = subject(types.S3_BUCKET_POLICY, {"policy": document(statement)})
    assert list(public_access(policy)) == [
        "policy statement #1 allows all but NotPrincipal; list the principals"
    ]


@pytest.mark.parametrize("kind", sorted(RESOURCE_ACCESS.kinds))
def test_the_policy_fires_on_each_kind_with_a_document(kind: str) -> None:
    [violation] = analyze(kind, {"policy": document(STAR)}, policies=[RESOURCE_ACCESS])
    assert violation.level == "MANDATORY"
    assert messages([violation]) == [f"it ({kind}): {OPEN}"]
