from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rules import types
from rules.ingress import INGRESS
from rules.networks import open_range
from tests.policies.support import UNKNOWN, analyze, messages


@pytest.mark.parametrize(
    ("cidr", "reason"),
    [
        ("0.0.0.0/0", "the public range 0.0.0.0/0"),
        ("0.0.0.0/1", "the public range 0.0.0.0/1"),
        ("128.0.0.0/1", "the public range 128.0.0.0/1"),
        ("::/0", "the public range ::/0"),
        ("0:0::/0", "the public range ::/0"),
        ("2000::/3", "the public range 2000::/3"),
        ("8000::/1", "the public range 8000::/1"),
        ("10.0.0.0/7", "the public range 10.0.0.0/7"),
        ("172.0.0.0/8", "the public range 172.0.0.0/8"),
        ("52.0.0.0/23", "the public range 52.0.0.0/23"),
        ("10.1.2.3/4", "the public range 0.0.0.0/4"),
        ("52.1.2.0/24", None),
        ("52.1.2.3", None),
        ("10.0.0.0/8", None),
        ("172.16.0.0/12", None),
        ("100.64.0.0/10", None),
        ("fd00::/8", None),
        ("2600:1f18::/48", None),
        ("everywhere", "a range that cannot be read"),
        ("", "a range that cannot be read"),
    ],
)
def test_which_ranges_are_open(cidr: str, reason: str | None) -> None:
    assert open_range(cidr) == reason


@settings(max_examples=50)
@given(st.integers(0, 7), st.ip_addresses(v=4))
def test_no_range_wider_than_the_widest_private_one_is_closed(prefix: int, address: object) -> None:
    assert open_range(f"{address}/{prefix}") is not None


ADVICE = "name the sites that need it, public ranges no wider than /24 for IPv4 and /48 for IPv6"
UNSEEN = "lets in a range that is not known at preview; take it from settings"
WORLD = {"cidrBlocks": ["10.0.0.0/8", "0.0.0.0/0"], "ipv6CidrBlocks": ["::/0"]}
HALVES = {"cidrBlocks": ["0.0.0.0/1", "128.0.0.0/1"], "self": True, "prefixListIds": ["pl-1"]}


@pytest.mark.parametrize(
    ("kind", "props", "expected"),
    [
        (
            types.EC2_SECURITY_GROUP,
            {"ingress": [{"self": True}, {"fromPort": 443.0, "protocol": "tcp", **WORLD}]},
            [
                f"ingress[1].cidrBlocks lets in the public range 0.0.0.0/0; {ADVICE}",
                f"ingress[1].ipv6CidrBlocks lets in the public range ::/0; {ADVICE}",
            ],
        ),
        (
            types.EC2_DEFAULT_SECURITY_GROUP,
            {"ingress": [HALVES]},
            [
                f"ingress[0].cidrBlocks lets in the public range 0.0.0.0/1; {ADVICE}",
                f"ingress[0].cidrBlocks lets in the public range 128.0.0.0/1; {ADVICE}",
            ],
        ),
        (
            types.EC2_SECURITY_GROUP_RULE,
            {"type": "ingress", "protocol": "-1", "cidrBlocks": ["0.0.0.0/0"]},
            [f"cidrBlocks lets in the public range 0.0.0.0/0; {ADVICE}"],
        ),
        (types.EC2_SECURITY_GROUP_RULE, {"type": "egress", "cidrBlocks": ["0.0.0.0/0"]}, []),
        (
            types.VPC_INGRESS_RULE,
            {"cidrIpv4": "0.0.0.0/0"},
            [f"cidrIpv4 lets in the public range 0.0.0.0/0; {ADVICE}"],
        ),
        (
            types.VPC_INGRESS_RULE,
            {"cidrIpv6": "::/0"},
            [f"cidrIpv6 lets in the public range ::/0; {ADVICE}"],
        ),
        (types.VPC_EGRESS_RULE, {"cidrIpv4": "0.0.0.0/0"}, []),
        (types.EC2_SECURITY_GROUP, {"egress": [WORLD]}, []),
        (types.EC2_SECURITY_GROUP, {"ingress": UNKNOWN}, [f"ingress {UNSEEN}"]),
        (
            types.EC2_SECURITY_GROUP,
            {"ingress": [{"cidrBlocks": UNKNOWN}, {"cidrBlocks": ["0.0.0.0/0"]}]},
            [
                f"ingress[0].cidrBlocks {UNSEEN}",
                f"ingress[1].cidrBlocks lets in the public range 0.0.0.0/0; {ADVICE}",
            ],
        ),
        (types.VPC_INGRESS_RULE, {"cidrIpv4": UNKNOWN}, [f"cidrIpv4 {UNSEEN}"]),
        (types.VPC_INGRESS_RULE, {"referencedSecurityGroupId": UNKNOWN}, []),
    ],
)
def test_what_a_security_group_lets_in(
    kind: str, props: dict[str, Any], expected: list[str]
) -> None:
    violations = analyze(kind, props, policies=[INGRESS])
    assert messages(violations) == [f"it ({kind}): {finding}" for finding in expected]
    assert {violation.level for violation in violations} <= {"MANDATORY"}
