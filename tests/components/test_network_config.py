from typing import Any

import pytest

from components.network_config import NetworkConfig
from components.settings import SettingsError, parse

SETTINGS = {
    "management_cidr": "10.64.0.0/16",
    "zones": [{"id": "use1-az4", "compute_cidr": "10.65.0.0/16"}, {"id": "use1-az6"}],
}
ENTRY = {"domain": "train.example.com", "hosted_zone_id": "Z0123456789ABC"}


def problems(settings: dict[str, Any]) -> list[str]:
    with pytest.raises(SettingsError) as caught:
        parse(NetworkConfig, {**SETTINGS, **settings}, "test")
    return [str(problem) for problem in caught.value.problems]


def zones(*blocks: str | None) -> list[dict[str, str | None]]:
    """Return zones with these compute blocks, in order of their numbers."""
    return [
        {"id": f"use1-az{number}", "compute_cidr": block}
        for number, block in zip((1, 2, 4, 5, 6), blocks, strict=False)
    ]


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (
            {"zones": [{"id": "use1-az4"}, {"id": "usw2-az1"}]},
            (
                "zones.1.id: is usw2-az1, but zones.0.id is use1-az4 in another region; a site "
                "lies in one"
            ),
        ),
        (
            {"zones": [{"id": "use1-az4"}, {"id": "use1-az8"}]},
            (
                "zones.1.id: is use1-az8, but the address plan has places for az1 to az7; use one "
                "of these"
            ),
        ),
        (
            {"zones": [{"id": "use1-az4"}, {"id": "use1-az3"}]},
            "zones.1.id: is use1-az3, where EKS takes no subnet of a cluster; use another zone",
        ),
        (
            {"zones": [{"id": "use1-az4"}, {"id": "use1-az4"}]},
            "zones.1.id: is use1-az4 again; name each zone once",
        ),
        (
            {"management_cidr": "10.64.0.0/22"},
            (
                "management_cidr: is a /22, but a VPC block is at most a /16 and the plan for "
                "seven zones needs at least a /21; use a length from 16 to 21"
            ),
        ),
        (
            {"zones": zones("10.65.0.0/27", None)},
            (
                "zones.0.compute_cidr: is a /27, but a VPC block is at most a /16, and a quarter "
                "of less than a /26 holds no prefix for pods; use a length from 16 to 26"
            ),
        ),
        (
            {"zones": zones(*(f"10.{number}.0.0/16" for number in range(65, 70)))},
            (
                "zones: have 5 compute blocks, which with the management network are more than the "
                "5 that a VPC may have; use fewer, or have AWS raise the quota (to 50 at most) and "
                "write it in quotas.vpc_blocks"
            ),
        ),
        (
            {"quotas": {"vpc_blocks": 51}},
            "quotas.vpc_blocks: is the number 51; the most is 50",
        ),
        (
            {"zones": zones("172.16.0.0/16", None)},
            (
                "zones.0.compute_cidr: is 172.16.0.0/16, but AWS takes nothing of 172.16.0.0/12 "
                "beside the other blocks of this network (10.64.0.0/16); use addresses of "
                "100.64.0.0/10, or others of the management network's own range"
            ),
        ),
        (
            {"service_cidr": "100.64.0.0/16"},
            (
                "service_cidr: is 100.64.0.0/16, but EKS takes a /12 to a /24 inside 10.0.0.0/8 or "
                "172.16.0.0/12 or 192.168.0.0/16; use such a block"
            ),
        ),
        (
            {"service_cidr": "172.20.0.0/25"},
            (
                "service_cidr: is 172.20.0.0/25, but EKS takes a /12 to a /24 inside 10.0.0.0/8 or "
                "172.16.0.0/12 or 192.168.0.0/16; use such a block"
            ),
        ),
        (
            {"endpoints": ["sts", "sts"]},
            "endpoints.1: is sts again; name each service once",
        ),
        (
            {"nat": "none", "endpoints": ["ecr.dkr"]},
            (
                "endpoints: lacks ec2, ecr.api, eks, eks-auth, fsx, logs, sts, which nodes cannot "
                "do without when nat is none; add them, or choose another nat"
            ),
        ),
        (
            {"management_cidr": "10.64.0.0/21", "entry": ENTRY},
            (
                "management_cidr: is a /21 whose public subnets are /28s, but a load balancer at "
                "the entry wants a /27 at least; use a /20, or leave entry out"
            ),
        ),
        ({"headroom_percent": 5}, "headroom_percent: is the number 5; the least is 10"),
        (
            {"private_zone": "internal"},
            (
                "private_zone: is the text 'internal', which is not a domain; write it like "
                "train.example.com"
            ),
        ),
        (
            {"entry": {**ENTRY, "hosted_zone_id": "example.com"}},
            (
                "entry.hosted_zone_id: is the text 'example.com', which is not the id of a hosted "
                "zone; write it like Z0123456789ABCDEFGHIJ"
            ),
        ),
    ],
)
def test_a_network_that_aws_would_refuse_is_told_so_first(
    settings: dict[str, Any], problem: str
) -> None:
    assert problems(settings) == [problem]


def test_more_blocks_are_taken_when_the_quota_is_raised() -> None:
    settings = {
        **SETTINGS,
        "zones": zones(*(f"10.{number}.0.0/16" for number in range(65, 70))),
        "quotas": {"vpc_blocks": 6},
    }
    assert len(parse(NetworkConfig, settings, "test").zones) == 5


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        (
            {
                "management_cidr": "10.8.0.0/20",
                "service_cidr": "10.0.0.0/12",
                "zones": zones(None, None),
            },
            (
                "management_cidr: is 10.8.0.0/20, which shares addresses with service_cidr "
                "10.0.0.0/12; give one of them other addresses"
            ),
        ),
        (
            {"neighbours": [{"name": "hq", "kind": "office", "cidr": "10.65.4.0/22"}]},
            (
                "zones.0.compute_cidr: is 10.65.0.0/16, which shares addresses with "
                "neighbours.0.cidr 10.65.4.0/22 (neighbour hq, an office); give one of them other "
                "addresses"
            ),
        ),
        (
            {"neighbours": [{"name": "lab", "cidr": "172.16.0.0/12"}]},
            (
                "service_cidr: is 172.20.0.0/16, which shares addresses with neighbours.0.cidr "
                "172.16.0.0/12 (neighbour lab, a peered network); give one of them other addresses"
            ),
        ),
        (
            {
                "neighbours": [
                    {"name": "far", "kind": "on-premises", "cidr": "10.128.0.0/9"},
                    {"name": "near", "kind": "storage", "cidr": "10.64.0.0/10"},
                ],
                "zones": zones(None, None),
            },
            (
                "management_cidr: is 10.64.0.0/16, which shares addresses with neighbours.1.cidr "
                "10.64.0.0/10 (neighbour near, a storage network); give one of them other addresses"
            ),
        ),
    ],
)
def test_an_overlap_names_the_right_pair_in_either_direction(
    settings: dict[str, Any], problem: str
) -> None:
    assert problems(settings) == [problem]


def test_networks_that_only_touch_are_accepted() -> None:
    neighbours = [
        {"name": "below", "kind": "business", "cidr": "10.63.0.0/16"},
        {"name": "above", "cidr": "10.66.0.0/15"},
        {"name": "services", "cidr": "172.21.0.0/16"},
    ]
    assert len(parse(NetworkConfig, {**SETTINGS, "neighbours": neighbours}, "test").neighbours) == 3
    halves = {
        "management_cidr": "172.16.0.0/16",
        "service_cidr": "172.24.0.0/13",
        "zones": zones(None, None),
    }
    assert parse(NetworkConfig, halves, "test").service_cidr.prefixlen == 13


def test_neighbours_may_share_addresses_with_each_other() -> None:
    neighbours = [
        {"name": "company", "kind": "on-premises", "cidr": "10.0.0.0/12"},
        {"name": "hq", "kind": "office", "cidr": "10.8.0.0/16"},
    ]
    assert len(parse(NetworkConfig, {**SETTINGS, "neighbours": neighbours}, "test").neighbours) == 2
