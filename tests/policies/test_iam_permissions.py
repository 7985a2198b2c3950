import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules import types
from rules.actions import data_version
from rules.base import Finder
from rules.documents import PERMISSION_KINDS
from rules.iam_permissions import (
    LEAST_PRIVILEGE,
    inverted_elements,
    open_pass_role,
    wildcard_actions,
    wildcard_resources,
)
from tests.policies.bags import CLUSTER_ARN, PERMISSION, document
from tests.policies.support import UNKNOWN, analyze, messages, subject

ROLE = "arn:aws:iam::111122223333:role/trainyard-node"
BUCKET = "arn:aws:s3:::data/*"
TAGGED = {"StringEquals": {"aws:ResourceTag/stack": "dev"}}


def findings(finder: Finder, **statement: object) -> list[str]:
    raw = document({"Effect": "Allow", "Resource": BUCKET, **statement})
    return list(finder(subject(types.IAM_POLICY, {"policy": raw})))


@pytest.mark.parametrize(
    ("action", "problem"),
    [
        ("s3:GetObject", None),
        ("s3:Get*", None),
        ("S3:LIST*", None),
        ("s3:GetObj?ct", None),
        ([], None),
        ("*", "a whole service or more; name the calls it makes"),
        ("*:*", "a whole service or more; name the calls it makes"),
        ("s3:*", "a whole service or more; name the calls it makes"),
        ("s3:**", "a whole service or more; name the calls it makes"),
        ("s*:GetObject", "a whole service or more; name the calls it makes"),
        (
            "iam:Pass*",
            (
                "which covers iam:PassRole; "
                "name the calls it makes, a pattern may cover only calls that list or read"
            ),
        ),
        (
            "IAM:pa?srole",
            (
                "which covers iam:PassRole; "
                "name the calls it makes, a pattern may cover only calls that list or read"
            ),
        ),
        (
            "iam:Create*",
            (
                "which covers iam:CreateAccessKey, iam:CreateAccountAlias, "
                "iam:CreateDelegationRequest and 12 more; "
                "name the calls it makes, a pattern may cover only calls that list or read"
            ),
        ),
        (
            "s3:Gett*",
            f"which matches no action of {data_version()}; name the calls it makes",
        ),
        (
            "nosuch:Get*",
            f"which matches no action of {data_version()}; name the calls it makes",
        ),
    ],
)
def test_wildcards_in_allowed_actions(action: object, problem: str | None) -> None:
    expected = [f"policy statement #1 allows '{action}', {problem}"] if problem else []
    assert findings(wildcard_actions, Action=action) == expected
    assert findings(wildcard_actions, Action=action, Effect="Deny") == []


NARROW = "; name ARNs, or for a whole kind add a condition on a resource tag"


@pytest.mark.parametrize(
    ("action", "resource", "condition", "problem"),
    [
        ("ecr:GetAuthorizationToken", "*", None, None),
        ("secretsmanager:ListSecrets", "*", None, None),
        ("ec2:DescribeInstances", "*", None, None),
        ("s3:GetObject", BUCKET, None, None),
        ("eks:DescribeCluster", CLUSTER_ARN, None, None),
        (
            ["secretsmanager:GetSecretValue", "secretsmanager:ListSecrets"],
            "*",
            None,
            "secretsmanager:GetSecretValue act on every resource ('*')",
        ),
        ("S3:getobject", "*", None, "s3:GetObject act on every resource ('*')"),
        (
            "s3:GetObject",
            "arn:aws:s3:::*",
            None,
            "s3:GetObject act on every resource of its kind ('arn:aws:s3:::*')",
        ),
        ("eks:DescribeCluster", "*", TAGGED, "eks:DescribeCluster act on every resource ('*')"),
        ("ec2:TerminateInstances", "arn:aws:ec2:us-east-1:1:instance/*", TAGGED, None),
        (
            "cloudwatch:PutMetricData",
            "*",
            None,
            "cloudwatch:PutMetricData act on every resource ('*')",
        ),
        (
            "cloudwatch:PutMetricData",
            "*",
            {"StringEquals": {"cloudwatch:namespace": "trainyard"}},
            None,
        ),
        (
            "s3:GetObject",
            "*",
            {"StringEquals": {"s3:TlsVersion": "1.2"}},
            "s3:GetObject act on every resource ('*')",
        ),
        ("new:Call", "*", None, "new:Call act on every resource ('*')"),
        ("*", "*", None, "* act on every resource ('*')"),
    ],
)
def test_wildcards_in_allowed_resources(
    action: object, resource: str, condition: object, problem: str | None
) -> None:
    expected = [f"policy statement #1 lets {problem}{NARROW}"] if problem else []
    statement = {"Action": action, "Resource": resource, "Condition": condition or {}}
    assert findings(wildcard_resources, **statement) == expected
    assert findings(wildcard_resources, **statement, Effect="Deny") == []


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (
            {"NotAction": "iam:*"},
            [
                (
                    "policy statement #1 allows by NotAction, which grants all that it does not "
                    "name, now and in future; list Action instead"
                )
            ],
        ),
        (
            {"Action": "s3:GetObject", "NotResource": BUCKET, "Sid": "Odd"},
            [
                (
                    "policy statement Odd allows by NotResource, which grants all that it does not "
                    "name, now and in future; list Resource instead"
                )
            ],
        ),
        ({"NotAction": "iam:*", "Effect": "Deny"}, []),
        ({"Action": "s3:GetObject"}, []),
    ],
)
def test_lists_of_what_is_left_out(statement: dict[str, Any], expected: list[str]) -> None:
    assert findings(inverted_elements, **statement) == expected


NO_SERVICE = (
    "policy statement #1 allows iam:PassRole to any service; "
    "add a StringEquals condition on iam:PassedToService"
)
TO_EC2 = {"StringEquals": {"iam:PassedToService": "ec2.amazonaws.com"}}


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ({"Action": "iam:PassRole", "Resource": ROLE, "Condition": TO_EC2}, []),
        ({"Action": "iam:GetRole", "Resource": "*"}, []),
        ({"Action": "iam:PassRole", "Resource": ROLE}, [NO_SERVICE]),
        ({"Action": "IAM:passrole", "Resource": ROLE}, [NO_SERVICE]),
        ({"Action": "iam:Pass*", "Resource": ROLE}, [NO_SERVICE]),
        (
            {
                "Action": "iam:PassRole",
                "Resource": ROLE,
                "Condition": {"StringLike": {"iam:PassedToService": "*"}},
            },
            [NO_SERVICE],
        ),
        (
            {
                "Action": "iam:PassRole",
                "Resource": ["arn:aws:iam::111122223333:role/*", "*", ROLE],
                "Condition": TO_EC2,
            },
            [
                (
                    "policy statement #1 allows iam:PassRole on 'arn:aws:iam::111122223333:role/*'"
                    ", '*'; name whole role ARNs, without wildcards"
                )
            ],
        ),
        ({"Action": "iam:PassRole", "Resource": "*", "Effect": "Deny"}, []),
    ],
)
def test_roles_are_passed_by_name_to_a_named_service(
    statement: dict[str, Any], expected: list[str]
) -> None:
    assert findings(open_pass_role, **statement) == expected


@settings(max_examples=50)
@given(
    action=st.text("iamIAM", min_size=3, max_size=3).filter(lambda s: s.lower() == "iam").map(str)
    | st.just("iam"),
    call=st.sampled_from(["PassRole", "passrole", "PASSROLE", "Pass*", "P?ssRole", "*Role"]),
    listed=st.booleans(),
    wrapped=st.booleans(),
    as_text=st.booleans(),
)
def test_passing_any_role_is_found_however_it_is_written(
    *, action: str, call: str, listed: bool, wrapped: bool, as_text: bool
) -> None:
    pattern = f"{action}:{call}"
    statement = {
        "Effect": "Allow",
        "Action": [pattern] if listed else pattern,
        "Resource": ["*"] if listed else "*",
    }
    whole = {"Statement": [statement] if wrapped else statement}
    bag = {"policy": json.dumps(whole) if as_text else whole}
    found = messages(analyze(types.IAM_ROLE_POLICY, bag, policies=[LEAST_PRIVILEGE]))
    start = "it (aws:iam/rolePolicy:RolePolicy): policy statement #1 allows iam:PassRole "
    assert f"{start}on '*'; name whole role ARNs, without wildcards" in found
    assert f"{start}to any service; add a StringEquals condition on iam:PassedToService" in found


@pytest.mark.parametrize("kind", sorted(PERMISSION_KINDS))
def test_the_policy_fires_on_each_kind_that_holds_permissions(kind: str) -> None:
    wide = document({"Effect": "Allow", "Action": "s3:*", "Resource": BUCKET})
    role = kind == types.IAM_ROLE
    bag = {"inlinePolicies": [{"policy": wide}]} if role else {"policy": wide}
    path = "inlinePolicies[0].policy" if role else "policy"
    [violation] = analyze(kind, bag, policies=[LEAST_PRIVILEGE])
    assert violation.level == "MANDATORY"
    assert messages([violation]) == [
        (
            f"it ({kind}): {path} statement #1 allows 's3:*', "
            "a whole service or more; name the calls it makes"
        )
    ]


def test_the_known_part_of_an_unknown_document_is_judged() -> None:
    bag = {"policy": {"Statement": [{**PERMISSION, "Action": ["eks:*", UNKNOWN]}]}}
    assert messages(analyze(types.IAM_POLICY, bag, policies=[LEAST_PRIVILEGE])) == [
        (
            "it (aws:iam/policy:Policy): policy statement #1 allows 'eks:*', "
            "a whole service or more; name the calls it makes"
        )
    ]
