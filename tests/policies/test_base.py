from collections.abc import Iterator
from datetime import date

import pytest

from rules import types
from rules.base import About, ResourceRule, Stack, StackRule, Subject
from rules.compute import NODES
from rules.exceptions import Exceptions
from rules.providers import PROVIDERS
from tests.policies.bags import TEMPLATE
from tests.policies.support import (
    UNKNOWN,
    Declared,
    Violation,
    analyze,
    analyze_stack,
    messages,
    secret,
    urn,
)

ABOUT = About("test-rule", "A rule of the test", "Mend it.", "0", ("test",))
BUCKET = types.S3_BUCKET


def finds_then_crashes(subject: Subject) -> Iterator[str]:
    yield "is bad"
    raise KeyError(subject.props["password"])


def finds(subject: Subject) -> Iterator[str]:
    yield f"has {sorted(subject.props)}"


def test_a_crash_is_a_violation_without_values_and_keeps_what_was_found() -> None:
    rule = ResourceRule(ABOUT, {finds_then_crashes: {BUCKET}, finds: {BUCKET}})
    assert analyze(BUCKET, {"password": secret("canary")}, policies=[rule]) == [
        Violation(
            "test-rule",
            "MANDATORY",
            urn(BUCKET, "it"),
            f"A rule of the test\nit ({BUCKET}): is bad",
        ),
        Violation(
            "test-rule",
            "MANDATORY",
            "",
            "A rule of the test\n"
            f"policy test-rule crashed on it ({BUCKET}) (KeyError), so this was not fully "
            "checked; mend the rule, nothing passes unchecked",
        ),
        Violation(
            "test-rule",
            "MANDATORY",
            urn(BUCKET, "it"),
            f"A rule of the test\nit ({BUCKET}): has ['password']",
        ),
    ]


def test_a_crash_in_a_stack_rule_is_a_violation_too() -> None:
    def crashes(stack: Stack) -> Iterator[tuple[Subject, str]]:
        for bucket in stack.of(BUCKET):
            yield bucket, "is bad"
        raise RuntimeError("canary")

    rule = StackRule(ABOUT, {BUCKET}, crashes)
    assert analyze_stack([Declared(BUCKET, "data", {})], policies=[rule]) == [
        Violation(
            "test-rule",
            "MANDATORY",
            urn(BUCKET, "data"),
            f"A rule of the test\ndata ({BUCKET}): is bad",
        ),
        Violation(
            "test-rule",
            "MANDATORY",
            "",
            "A rule of the test\n"
            "policy test-rule crashed (RuntimeError), so this was not fully checked; "
            "mend the rule, nothing passes unchecked",
        ),
    ]


def test_a_rule_does_not_look_at_kinds_it_does_not_govern() -> None:
    rule = ResourceRule(ABOUT, {finds_then_crashes: {BUCKET}})
    assert analyze(types.EKS_CLUSTER, {}, policies=[rule]) == []


def test_a_known_finding_is_reported_beside_an_unknown_property() -> None:
    bag = {**TEMPLATE, "keyName": "mine", "blockDeviceMappings": UNKNOWN}
    assert messages(analyze(types.EC2_LAUNCH_TEMPLATE, bag, policies=[NODES])) == [
        (
            "it (aws:ec2/launchTemplate:LaunchTemplate): blockDeviceMappings declares no volume, "
            "so the root volume is as the image left it; declare it with ebs.encrypted"
        ),
        (
            "it (aws:ec2/launchTemplate:LaunchTemplate): keyName opens SSH to the nodes; "
            "leave it out and use Session Manager"
        ),
    ]


def exception(resource: str, expires: str) -> dict[str, dict[str, list[dict[str, str]]]]:
    entry = {"resource": resource, "reason": "a debug session", "expires": expires}
    return {NODES.name: {"exceptions": [entry]}}


@pytest.mark.parametrize("resource", ["it", "i?", "*::aws:ec2/launchTemplate:*"])
def test_an_exception_covers_a_resource_by_name_or_urn(resource: str) -> None:
    bag = {**TEMPLATE, "keyName": "mine"}
    config = exception(resource, "9999-12-31")
    assert analyze(types.EC2_LAUNCH_TEMPLATE, bag, policies=[NODES], config=config) == []


def test_an_exception_for_another_resource_or_one_that_ran_out_covers_nothing() -> None:
    bag = {**TEMPLATE, "keyName": "mine"}
    found = "it (aws:ec2/launchTemplate:LaunchTemplate): keyName opens SSH to the nodes; "
    for resource, expires, end in [
        ("other", "9999-12-31", "leave it out and use Session Manager"),
        (
            "it",
            "2026-01-31",
            "leave it out and use Session Manager (its exception ran out on 2026-01-31)",
        ),
    ]:
        config = exception(resource, expires)
        violations = analyze(types.EC2_LAUNCH_TEMPLATE, bag, policies=[NODES], config=config)
        assert messages(violations) == [found + end]


def test_an_exception_holds_through_its_last_day() -> None:
    granted = Exceptions([{"resource": "it", "reason": "r", "expires": "2026-01-31"}])
    assert granted.judge("it", "urn", "is bad", lambda: date(2026, 1, 31)) is None
    assert granted.judge("it", "urn", "is bad", lambda: date(2026, 2, 1)) == (
        "is bad (its exception ran out on 2026-01-31)"
    )


def test_an_exception_without_a_real_date_is_no_way_past_a_rule() -> None:
    bag = {**TEMPLATE, "keyName": "mine"}
    config = exception("it", "soon")
    violations = analyze(types.EC2_LAUNCH_TEMPLATE, bag, policies=[NODES], config=config)
    assert messages(violations) == [
        (
            "policy compute-nodes-hardened crashed on it (aws:ec2/launchTemplate:LaunchTemplate) "
            "(ValueError), so this was not fully checked; mend the rule, nothing passes unchecked"
        )
    ]


def test_no_message_quotes_a_credential() -> None:
    provider = {"accessKey": secret("canary-1"), "secretKey": "canary-2", "token": UNKNOWN}
    kubeconfig = "users: [{user: {token: canary-3, client-key-data: canary-4}}]"
    found = [
        *analyze(types.AWS_PROVIDER, provider, policies=[PROVIDERS]),
        *analyze(types.KUBERNETES_PROVIDER, {"kubeconfig": kubeconfig}, policies=[PROVIDERS]),
        *analyze(types.IAM_POLICY, {"policy": "canary-5"}),
        *analyze(types.VPC_INGRESS_RULE, {"cidrIpv4": "canary-6", "description": "AWS APIs"}),
    ]
    assert len(found) == 7
    assert "canary" not in str(found)
