"""Whatever costs money says whose it is."""

import json
from collections.abc import Iterator, Mapping
from typing import cast

from pulumi_policy import Severity

from rules import types
from rules.base import About, ResourceRule, Subject
from rules.plain import UNKNOWN, Plain, section, sections, text, to_plain
from rules.taggable import taggable

REQUIRED = ("owner", "cost-center")
"""Tags by which the bill is split; ``components/naming.py`` sets them on everything."""
_LAUNCHED = ("instance", "volume")


def missing_tags(subject: Subject) -> Iterator[str]:
    """Name required tags that neither the resource nor its provider sets, or sets empty."""
    tags = {
        **_default_tags(subject.provider),
        **section(subject.props.get("tags")),
        **section(subject.props.get("tagsAll")),
    }
    given = (subject.props.get("tags"), subject.props.get("tagsAll"))
    if UNKNOWN in given:
        yield "its tags are not known at preview; take them from settings"
        return
    missing = _lacking(tags)
    if missing:
        yield f"lacks the tags {missing}; set them in the provider's defaultTags or on the resource"


def untagged_machines(subject: Subject) -> Iterator[str]:
    """Name what a launch template starts without the tags; default tags do not reach it."""
    specified = {
        text(block.get("resourceType")): section(block.get("tags"))
        for block in sections(subject.props.get("tagSpecifications"))
    }
    for kind in _LAUNCHED:
        missing = _lacking(specified.get(kind, {}))
        if missing:
            yield (
                f"tagSpecifications gives each {kind} no tags {missing}; add them, "
                "default tags do not reach what a template starts"
            )


def _lacking(tags: Mapping[str, Plain]) -> str:
    return " and ".join(f"'{key}'" for key in REQUIRED if not tags.get(key))


def _default_tags(provider: Mapping[str, Plain]) -> dict[str, Plain]:
    """Read the provider's default tags; providers get structured properties as JSON texts."""
    raw = provider.get("defaultTags")
    try:
        value = cast("object", json.loads(raw)) if isinstance(raw, str) else raw
    except ValueError:
        return {}
    return section(section(to_plain(value)).get("tags"))


TAGGED = ResourceRule(
    About(
        name="tags-owner-and-cost-center",
        description="Each taggable resource names its owner and its cost center",
        remedy="Set the tags in the provider's defaultTags and in tagSpecifications of templates.",
        rows="56",
        sources=("pulumi-aws#5633", "AWS Config required-tags"),
        severity=Severity.MEDIUM,
    ),
    {missing_tags: taggable(), untagged_machines: frozenset({types.EC2_LAUNCH_TEMPLATE})},
)
RULES = (TAGGED,)
