import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules import types
from rules.documents import Condition, Statement, parse
from rules.iam_documents import VERIFIABLE, unverifiable
from rules.plain import to_plain
from tests.policies.bags import PERMISSION, document
from tests.policies.support import UNKNOWN, analyze, messages, subject

EXPECTED = Statement(
    label="One",
    allows=True,
    actions=("s3:GetObject",),
    resources=("arn:aws:s3:::data/*",),
    principals=(("aws", "*"), ("service", "fsx.amazonaws.com")),
    excluded=(),
    conditions=(Condition("bool", "aws:securetransport", ("true",)),),
)


@st.composite
def spellings(draw: st.DrawFn) -> object:
    """One statement in any of the ways that mean the same."""

    def key(name: str) -> str:
        return draw(st.sampled_from([name, name.lower(), name.upper()]))

    def one_or_list(value: str) -> object:
        return draw(st.sampled_from([value, [value]]))

    statement = {
        key("Sid"): "One",
        key("Effect"): "Allow",
        key("Action"): one_or_list("s3:GetObject"),
        key("Resource"): one_or_list("arn:aws:s3:::data/*"),
        key("Principal"): {"AWS": one_or_list("*"), "Service": one_or_list("fsx.amazonaws.com")},
        key("Condition"): {
            draw(st.sampled_from(["Bool", "bool"])): {
                draw(st.sampled_from(["aws:SecureTransport", "AWS:securetransport"])): draw(
                    st.sampled_from([True, "true", ["true"]])
                )
            }
        },
    }
    whole = {key("Statement"): draw(st.sampled_from([statement, [statement]]))}
    return draw(st.sampled_from([whole, json.dumps(whole)]))


@settings(max_examples=50)
@given(spellings())
def test_every_spelling_of_a_statement_reads_the_same(raw: object) -> None:
    read = parse("policy", to_plain(raw))
    assert read.statements == (EXPECTED,)
    assert not read.unknown
    assert not read.broken


@pytest.mark.parametrize(
    ("raw", "statements"),
    [
        ({"Statement": []}, 0),
        ({}, 0),
        ({"Statement": [{"Effect": "Allow", "Action": []}]}, 1),
        ({"Statement": "nonsense"}, 0),
        ({"Statement": [{"Condition": "nonsense", "Principal": 5}]}, 1),
    ],
)
def test_odd_documents_are_read_without_a_crash_or_a_phantom(raw: object, statements: int) -> None:
    read = parse("policy", to_plain(raw))
    assert len(read.statements) == statements
    assert all(statement.actions == () for statement in read.statements)


@pytest.mark.parametrize(
    ("effect", "allows"),
    [("Allow", True), ("ALLOW", True), ("Deny", False), ("deny", False), (None, True), (1, True)],
)
def test_only_a_plain_deny_does_not_allow(effect: object, *, allows: bool) -> None:
    [statement] = parse("policy", {"Statement": {"Effect": to_plain(effect)}}).statements
    assert statement.allows is allows


NOT_KNOWN = (
    " is not yet checked, because part of it is known only after the update; "
    "build its ARNs and account ids from settings instead of outputs"
)


@pytest.mark.parametrize(
    ("kind", "props", "findings"),
    [
        (types.IAM_POLICY, {"policy": document(PERMISSION)}, []),
        (types.IAM_POLICY, {}, []),
        (types.IAM_POLICY, {"policy": UNKNOWN}, [f"policy{NOT_KNOWN}"]),
        (
            types.IAM_POLICY,
            {"policy": document({**PERMISSION, "Resource": f"{UNKNOWN}/*"})},
            [f"policy{NOT_KNOWN}"],
        ),
        (
            types.IAM_ROLE,
            {
                "assumeRolePolicy": UNKNOWN,
                "inlinePolicies": [{"policy": document(PERMISSION)}, {"policy": UNKNOWN}],
            },
            [f"inlinePolicies[1].policy{NOT_KNOWN}", f"assumeRolePolicy{NOT_KNOWN}"],
        ),
        (types.IAM_ROLE, {"inlinePolicies": UNKNOWN}, [f"inlinePolicies[0].policy{NOT_KNOWN}"]),
        (types.S3_BUCKET_POLICY, {"policy": UNKNOWN}, [f"policy{NOT_KNOWN}"]),
        (
            types.IAM_POLICY,
            {"policy": "{"},
            [
                (
                    "policy is no readable IAM document: it is not JSON; "
                    "write one JSON object, with each key once"
                )
            ],
        ),
        (
            types.IAM_POLICY,
            {"policy": "[]"},
            [
                (
                    "policy is no readable IAM document: it is not an object; "
                    "write one JSON object, with each key once"
                )
            ],
        ),
        (
            types.IAM_POLICY,
            {"policy": '{"Statement": {"Action": "a:B", "action": "*"}}'},
            [
                (
                    "policy is no readable IAM document: it repeats a key; "
                    "write one JSON object, with each key once"
                )
            ],
        ),
    ],
)
def test_a_document_that_cannot_be_judged_is_named(
    kind: str, props: dict[str, Any], findings: list[str]
) -> None:
    assert list(unverifiable(subject(kind, props))) == findings


@pytest.mark.parametrize("kind", sorted(VERIFIABLE.kinds - {types.IAM_ROLE}))
def test_the_policy_fires_on_an_unknown_document_of_each_kind(kind: str) -> None:
    [violation] = analyze(kind, {"policy": UNKNOWN}, policies=[VERIFIABLE])
    assert violation.level == "MANDATORY"
    assert messages([violation]) == [f"it ({kind}): policy{NOT_KNOWN}"]


def test_the_policy_fires_on_both_documents_of_a_role() -> None:
    bag = {"assumeRolePolicy": UNKNOWN, "inlinePolicies": [{"policy": UNKNOWN}]}
    assert messages(analyze(types.IAM_ROLE, bag, policies=[VERIFIABLE])) == [
        f"it (aws:iam/role:Role): inlinePolicies[0].policy{NOT_KNOWN}",
        f"it (aws:iam/role:Role): assumeRolePolicy{NOT_KNOWN}",
    ]
