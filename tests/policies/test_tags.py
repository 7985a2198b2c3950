from typing import Any

import pytest

from rules import types
from rules.taggable import taggable
from rules.tags import TAGGED
from tests.policies.bags import TEMPLATE
from tests.policies.support import OWNED, PROVIDER, UNKNOWN, analyze, messages

VPC = "aws:ec2/vpc:Vpc"
WAY_OUT = "; set them in the provider's defaultTags or on the resource"


@pytest.mark.parametrize(
    ("props", "provider", "finding"),
    [
        ({}, PROVIDER, None),
        ({"tags": OWNED}, {}, None),
        ({"tags": OWNED}, None, None),
        ({"tagsAll": OWNED}, {}, None),
        ({"tags": {"owner": "a"}}, {"defaultTags": '{"tags": {"cost-center": "c"}}'}, None),
        ({"tags": {"owner": UNKNOWN, "cost-center": "c"}}, {}, None),
        ({}, {}, f"lacks the tags 'owner' and 'cost-center'{WAY_OUT}"),
        ({"tags": {"owner": "a"}}, {}, f"lacks the tags 'cost-center'{WAY_OUT}"),
        ({"tags": {"owner": "", "cost-center": "c"}}, {}, f"lacks the tags 'owner'{WAY_OUT}"),
        ({"tags": {"Owner": "a", "cost-center": "c"}}, {}, f"lacks the tags 'owner'{WAY_OUT}"),
        ({}, {"defaultTags": "nonsense"}, f"lacks the tags 'owner' and 'cost-center'{WAY_OUT}"),
        ({}, {"defaultTags": UNKNOWN}, f"lacks the tags 'owner' and 'cost-center'{WAY_OUT}"),
        ({"tags": UNKNOWN}, {}, "its tags are not known at preview; take them from settings"),
    ],
)
def test_whose_a_resource_is(
    props: dict[str, Any], provider: dict[str, Any] | None, finding: str | None
) -> None:
    violations = analyze(VPC, props, policies=[TAGGED], provider=provider)
    assert messages(violations) == ([f"it ({VPC}): {finding}"] if finding else [])
    assert {violation.level for violation in violations} <= {"MANDATORY"}


def test_the_policy_fires_on_every_taggable_kind() -> None:
    silent = [
        kind
        for kind in sorted(taggable())
        if messages(analyze(kind, {}, policies=[TAGGED], provider={}))[:1]
        != [f"it ({kind}): lacks the tags 'owner' and 'cost-center'{WAY_OUT}"]
    ]
    assert silent == []


def test_what_a_template_starts_is_tagged_by_the_template() -> None:
    kind = types.EC2_LAUNCH_TEMPLATE
    bag = {**TEMPLATE, "tagSpecifications": [{"resourceType": "instance", "tags": {"owner": "a"}}]}
    assert messages(analyze(kind, bag, policies=[TAGGED])) == [
        (
            f"it ({kind}): tagSpecifications gives each instance no tags 'cost-center'; add them, "
            "default tags do not reach what a template starts"
        ),
        (
            f"it ({kind}): tagSpecifications gives each volume no tags 'owner' and 'cost-center'; "
            "add them, default tags do not reach what a template starts"
        ),
    ]
    assert analyze(kind, TEMPLATE, policies=[TAGGED]) == []
