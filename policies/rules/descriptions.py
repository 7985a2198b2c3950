"""Each door of a security group says why it is open, in words that EC2 takes."""

import re
from collections.abc import Iterator, Mapping

from rules import types
from rules.base import About, ResourceRule, Subject
from rules.plain import UNKNOWN, Plain, sections, text

_GROUPS = frozenset({types.EC2_SECURITY_GROUP})
_RULES = frozenset({types.EC2_SECURITY_GROUP_RULE, types.VPC_EGRESS_RULE, types.VPC_INGRESS_RULE})
_LONGEST = 255
_TAKEN = re.compile(rf"[a-zA-Z0-9. _\-:/()#,@\[\]+=&;{{}}!$*]{{0,{_LONGEST}}}")
"""What EC2 accepts (AuthorizeSecurityGroupIngress, IpRange.Description)."""


def silent_rules(subject: Subject) -> Iterator[str]:
    """Name rules without a reason."""
    if subject.kind in _RULES:
        yield from _problems("", subject.props)
    for direction in ("ingress", "egress"):
        if subject.kind in _GROUPS:
            for index, block in enumerate(sections(subject.props.get(direction))):
                yield from _problems(f"{direction}[{index}].", block)


def refused_words(subject: Subject) -> Iterator[str]:
    """Name descriptions of groups that EC2 refuses."""
    yield from _words("", subject.props.get("description"))


def _problems(path: str, block: Mapping[str, Plain]) -> Iterator[str]:
    if not block.get("description"):
        yield f"{path}description is missing; say in a few words what the door is for"
    yield from _words(path, block.get("description"))


def _words(path: str, value: Plain) -> Iterator[str]:
    if value is UNKNOWN:
        yield f"{path}description is not known at preview; write it out"
    elif not _TAKEN.fullmatch(text(value)):
        yield (
            f"{path}description is refused by EC2; use at most {_LONGEST} letters, digits, "
            "spaces and . _-:/()#,@[]+=&;{}!$* only"
        )


DESCRIBED = ResourceRule(
    About(
        name="network-rules-described",
        description="Every rule of a security group says what it is for",
        remedy="Describe the rule in a few plain words.",
        rows="27",
        sources=("CKV_AWS_23",),
    ),
    {silent_rules: _GROUPS | _RULES, refused_words: _GROUPS},
)
RULES = (DESCRIBED,)
