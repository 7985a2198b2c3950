from typing import Any

import pytest

from rules import types
from rules.access_entries import ENTRIES as RULE
from tests.policies.bags import ACCOUNT, GOOD
from tests.policies.support import UNKNOWN, analyze, messages

ASSOCIATION = types.EKS_ACCESS_POLICY_ASSOCIATION
POLICY = "arn:aws:eks::aws:cluster-access-policy/"
CLUSTER = {"type": "cluster"}
NOT_KNOWN = "policyArn or accessScope is not known at preview; take them from settings"
USER = "principalArn is a user; let in a role, whose credentials end"


def everywhere(policy: str) -> str:
    return (
        f"{policy} holds in every namespace, which is as good as administrator; "
        "name namespaces in accessScope"
    )


def within(*namespaces: str) -> dict[str, Any]:
    return {"type": "namespace", "namespaces": list(namespaces)}


@pytest.mark.parametrize(
    ("policy", "scope", "expected"),
    [
        ("AmazonEKSClusterAdminPolicy", CLUSTER, []),
        ("AmazonEKSViewPolicy", CLUSTER, []),
        ("AmazonEKSViewPolicy", within("kube-system"), []),
        ("AmazonEKSAdminPolicy", within("research"), []),
        ("AmazonEKSEditPolicy", CLUSTER, [everywhere("AmazonEKSEditPolicy")]),
        ("AmazonEKSAdminPolicy", CLUSTER, [everywhere("AmazonEKSAdminPolicy")]),
        ("AmazonEKSAdminPolicy", {}, [everywhere("AmazonEKSAdminPolicy")]),
        ("AmazonEKSAdminPolicy", None, [everywhere("AmazonEKSAdminPolicy")]),
        (
            "AmazonEKSEditPolicy",
            within("research", "kube-system"),
            [
                (
                    "accessScope.namespaces[1] is kube-system, where AmazonEKSEditPolicy reaches "
                    "the rights of the cluster's agents"
                )
            ],
        ),
        (
            "AmazonEKSViewPolicy",
            within("team-*"),
            [
                (
                    "accessScope.namespaces[0] is a pattern, which takes in namespaces to come; "
                    "name whole ones"
                )
            ],
        ),
        ("AmazonEKSViewPolicy", UNKNOWN, [NOT_KNOWN]),
        ("AmazonEKSViewPolicy", within(UNKNOWN), [NOT_KNOWN]),
    ],
)
def test_rights_to_change_things_have_a_place(
    policy: str, scope: object, expected: list[str]
) -> None:
    bag = {**GOOD[ASSOCIATION], "policyArn": POLICY + policy, "accessScope": scope}
    violations = analyze(ASSOCIATION, bag, policies=[RULE])
    assert messages(violations) == [f"it ({ASSOCIATION}): {text}" for text in expected]
    assert {violation.level for violation in violations} <= {"MANDATORY"}


def test_a_policy_that_is_not_known_is_said_to_be() -> None:
    bag = {**GOOD[ASSOCIATION], "policyArn": UNKNOWN}
    assert messages(analyze(ASSOCIATION, bag, policies=[RULE])) == [
        f"it ({ASSOCIATION}): {NOT_KNOWN}"
    ]


@pytest.mark.parametrize("group", ["system:masters", "system:nodes"])
def test_groups_of_kubernetes_itself_are_refused(group: str) -> None:
    kind = types.EKS_ACCESS_ENTRY
    bag = {**GOOD[kind], "kubernetesGroups": ["research:submitters", group, UNKNOWN]}
    assert messages(analyze(kind, bag, policies=[RULE])) == [
        (
            f"it ({kind}): kubernetesGroups[1] is a group of Kubernetes itself, which EKS refuses; "
            "bind a group of your own, or associate an access policy"
        )
    ]


@pytest.mark.parametrize("kind", sorted(RULE.kinds))
def test_a_user_is_not_let_in(kind: str) -> None:
    bag = {**GOOD[kind], "principalArn": f"arn:aws:iam::{ACCOUNT}:user/jane"}
    assert messages(analyze(kind, bag, policies=[RULE])) == [f"it ({kind}): {USER}"]
