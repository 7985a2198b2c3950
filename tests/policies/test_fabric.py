from dataclasses import replace
from typing import Any

import pytest

from rules import types
from rules.fabric import FABRIC as RULE
from tests.policies.bags import FABRIC
from tests.policies.support import UNKNOWN, Declared, analyze_stack, messages, urn

GROUP, IN, OUT, TEMPLATE = FABRIC
OUT_TO_ALL = Declared(
    types.VPC_EGRESS_RULE,
    "out",
    {"ipProtocol": "-1", "cidrIpv4": "0.0.0.0/0"},
    {"securityGroupId": ["efa"]},
)
LT = types.EC2_LAUNCH_TEMPLATE


def lacking(directions: str) -> str:
    return (
        f"networkInterfaces[0]: EFA, but no security group beside it admits itself in and out "
        f"('efa' lacks {directions}); "
        "add rules of protocol -1 whose other side is the same group"
    )


def only(declared: Declared, **props: Any) -> Declared:  # noqa: ANN401 - properties are JSON
    return replace(declared, props={**declared.props, **props})


@pytest.mark.parametrize(
    ("stack", "expected"),
    [
        ([GROUP, IN, OUT, TEMPLATE], []),
        ([GROUP, TEMPLATE], lacking("egress and ingress")),
        ([GROUP, IN, TEMPLATE], lacking("egress")),
        ([GROUP, OUT, TEMPLATE], lacking("ingress")),
        ([GROUP, IN, OUT_TO_ALL, TEMPLATE], lacking("egress")),
        ([GROUP, IN, only(OUT, ipProtocol="tcp"), TEMPLATE], lacking("egress")),
        ([GROUP, IN, only(OUT, ipProtocol=UNKNOWN), TEMPLATE], lacking("egress")),
        (
            [GROUP, IN, replace(OUT, links={"securityGroupId": ["efa"]}), TEMPLATE],
            lacking("egress"),
        ),
        ([GROUP, only(TEMPLATE, networkInterfaces=[{"interfaceType": "interface"}])], None),
        ([GROUP, only(TEMPLATE, networkInterfaces=UNKNOWN)], None),
    ],
)
def test_the_group_of_efa_interfaces_admits_itself(
    stack: list[Declared], expected: str | None
) -> None:
    violations = analyze_stack(stack, policies=[RULE])
    assert messages(violations) == ([f"template ({LT}): {expected}"] if expected else [])
    assert {violation.urn for violation in violations} <= {urn(LT, "template")}


@pytest.mark.parametrize(
    "rules",
    [
        [
            only(
                GROUP,
                ingress=[{"protocol": "-1", "self": True}],
                egress=[{"protocol": "all", "self": True}],
            )
        ],
        [
            GROUP,
            Declared(
                types.EC2_SECURITY_GROUP_RULE,
                "in",
                {"type": "ingress", "protocol": "-1", "self": True},
                {"securityGroupId": ["efa"]},
            ),
            Declared(
                types.EC2_SECURITY_GROUP_RULE,
                "out",
                {"type": "egress", "protocol": "-1"},
                {"securityGroupId": ["efa"], "sourceSecurityGroupId": ["efa"]},
            ),
        ],
        [
            only(GROUP, id="sg-1"),
            Declared(
                types.VPC_INGRESS_RULE,
                "in",
                {
                    "ipProtocol": "-1",
                    "securityGroupId": "sg-1",
                    "referencedSecurityGroupId": "sg-1",
                },
            ),
            Declared(
                types.VPC_EGRESS_RULE,
                "out",
                {
                    "ipProtocol": "-1",
                    "securityGroupId": "sg-1",
                    "referencedSecurityGroupId": "sg-1",
                },
            ),
        ],
    ],
)
def test_self_rules_may_be_written_in_any_form(rules: list[Declared]) -> None:
    block = {"interfaceType": "efa-only", "securityGroups": ["sg-1"]}
    template = only(TEMPLATE, networkInterfaces=[block])
    assert analyze_stack([*rules, template], policies=[RULE]) == []


def test_a_second_group_beside_the_efa_group_needs_no_self_rules() -> None:
    other = Declared(types.EC2_SECURITY_GROUP, "other", {})
    template = replace(TEMPLATE, links={"networkInterfaces": ["efa", "other"]})
    assert analyze_stack([GROUP, IN, OUT, other, template], policies=[RULE]) == []


def test_an_efa_group_from_elsewhere_cannot_be_checked_and_does_not_pass() -> None:
    block = {"interfaceType": "efa", "securityGroups": ["sg-elsewhere"]}
    template = Declared(LT, "template", {"networkInterfaces": [block]})
    assert messages(analyze_stack([GROUP, IN, OUT, template], policies=[RULE])) == [
        (
            f"template ({LT}): networkInterfaces[0]: EFA with no security group of this stack, "
            "so its rules cannot be checked; give it the EFA group that the stack declares"
        )
    ]


def test_interfaces_with_the_same_problem_make_one_finding() -> None:
    cards = [{"interfaceType": "interface"}, *[{"interfaceType": "efa-only"}] * 32]
    template = only(TEMPLATE, networkInterfaces=cards)
    expected = lacking("egress").replace("networkInterfaces[0]", "networkInterfaces[1] and 31 more")
    assert messages(analyze_stack([GROUP, IN, template], policies=[RULE])) == [
        f"template ({LT}): {expected}"
    ]


def test_a_single_network_interface_is_checked_too() -> None:
    kind = types.EC2_NETWORK_INTERFACE
    card = Declared(kind, "card", {"interfaceType": "efa"}, {"securityGroups": ["efa"]})
    assert messages(analyze_stack([GROUP, IN, card], policies=[RULE])) == [
        (
            f"card ({kind}): interfaceType: EFA, but no security group beside it admits itself "
            "in and out ('efa' lacks egress); "
            "add rules of protocol -1 whose other side is the same group"
        )
    ]
    assert analyze_stack([GROUP, IN, OUT, card], policies=[RULE]) == []
