"""No security group lets the public in."""

from collections.abc import Iterator, Mapping

from pulumi_policy import Severity

from rules import types
from rules.base import About, ResourceRule, Subject
from rules.networks import NARROWEST_OPEN, open_range
from rules.plain import UNKNOWN, Plain, many, sections, text

_INLINE = frozenset({types.EC2_SECURITY_GROUP, types.EC2_DEFAULT_SECURITY_GROUP})
_SEPARATE = frozenset({types.EC2_SECURITY_GROUP_RULE, types.VPC_INGRESS_RULE})
_UNKNOWN_RANGE = "a range that is not known at preview; take it from settings"
_RANGES = ("cidrBlocks", "ipv6CidrBlocks", "cidrIpv4", "cidrIpv6")


def open_ingress(subject: Subject) -> Iterator[str]:
    """Name ranges that a security group lets in and that are wider than one site's."""
    if subject.kind in _INLINE and UNKNOWN in many(subject.props.get("ingress")):
        yield f"ingress lets in {_UNKNOWN_RANGE}"
    for path, rule in _ingress(subject):
        for key in _RANGES:
            for value in many(rule.get(key)):
                problem = _problem(value)
                if problem:
                    yield f"{path}{key} lets in {problem}"


def _ingress(subject: Subject) -> Iterator[tuple[str, Mapping[str, Plain]]]:
    if subject.kind in _INLINE:
        for index, rule in enumerate(sections(subject.props.get("ingress"))):
            yield f"ingress[{index}].", rule
    elif subject.kind == types.VPC_INGRESS_RULE or text(subject.props.get("type")) != "egress":
        yield "", subject.props


def _problem(value: Plain) -> str | None:
    if value is UNKNOWN:
        return _UNKNOWN_RANGE
    reason = open_range(text(value))
    if reason is None:
        return None
    return (
        f"{reason}; name the sites that need it, public ranges no wider than "
        f"/{NARROWEST_OPEN[4] + 1} for IPv4 and /{NARROWEST_OPEN[6] + 1} for IPv6"
    )


INGRESS = ResourceRule(
    About(
        name="network-no-public-ingress",
        description="No security group lets in the internet, nor a large part of it",
        remedy="Name the ranges of the sites, or a security group.",
        rows="24",
        sources=(
            "CKV_AWS_24",
            "CKV_AWS_25",
            "CKV_AWS_260",
            "CKV_AWS_277",
            "AWS-0107",
            "CIS-AWS 5.2",
        ),
        severity=Severity.CRITICAL,
    ),
    {open_ingress: _INLINE | _SEPARATE},
)
RULES = (INGRESS,)
