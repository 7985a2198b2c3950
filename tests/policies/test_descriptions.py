import pytest

from rules import types
from rules.descriptions import DESCRIBED as RULE
from tests.policies.bags import GOOD
from tests.policies.support import UNKNOWN, analyze, messages

MISSING = "description is missing; say in a few words what the door is for"
NOT_KNOWN = "description is not known at preview; write it out"
REFUSED = (
    "description is refused by EC2; use at most 255 letters, digits, spaces and "
    ". _-:/()#,@[]+=&;{}!$* only"
)
GROUP = types.EC2_SECURITY_GROUP


@pytest.mark.parametrize("kind", sorted(RULE.kinds - {GROUP}))
@pytest.mark.parametrize(
    ("description", "expected"),
    [
        ("Lustre ports 1018-1023, to servers (both ways)", []),
        ("x" * 255, []),
        (None, [MISSING]),
        ("", [MISSING]),
        ("The controller's webhooks", [REFUSED]),
        ("für Knoten", [REFUSED]),
        ("two\nlines", [REFUSED]),
        ("x" * 256, [REFUSED]),
        (UNKNOWN, [NOT_KNOWN]),
    ],
)
def test_a_rule_says_why_in_words_that_ec2_takes(
    kind: str, description: str | None, expected: list[str]
) -> None:
    bag = {**GOOD[kind], "description": description}
    violations = analyze(kind, bag, policies=[RULE])
    assert messages(violations) == [f"it ({kind}): {text}" for text in expected]
    assert {violation.level for violation in violations} <= {"MANDATORY"}


@pytest.mark.parametrize("direction", ["ingress", "egress"])
def test_a_rule_inside_a_group_says_why_too(direction: str) -> None:
    blocks = [{"description": "Among nodes"}, {"self": True}, {"description": "node's own"}]
    assert messages(analyze(GROUP, {direction: blocks}, policies=[RULE])) == [
        f"it ({GROUP}): {direction}[1].{MISSING}",
        f"it ({GROUP}): {direction}[2].{REFUSED}",
    ]


def test_a_group_may_leave_its_description_to_the_provider_but_not_write_a_wrong_one() -> None:
    assert analyze(GROUP, {}, policies=[RULE]) == []
    assert messages(analyze(GROUP, {"description": "it's open"}, policies=[RULE])) == [
        f"it ({GROUP}): {REFUSED}"
    ]
