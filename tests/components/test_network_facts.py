from ipaddress import IPv4Network
from typing import get_args

import pytest

from components.catalog import networks
from components.catalog.networks import (
    cluster_needs,
    endpoints,
    image_account,
    load_balancer_needs,
    quota,
    refused_beside,
    sizes,
    units,
    update_needs,
)
from components.endpoints import REQUIRED, Endpoint

QUOTAS = ("vpc_blocks", "address_units", "node_groups", "nodes_per_group", "nodes_per_cluster")


def test_every_fact_says_where_it_was_read_and_how_sure_we_are() -> None:
    facts = [
        *map(quota, QUOTAS),
        sizes(),
        units(),
        cluster_needs(),
        load_balancer_needs(),
        update_needs(),
        *endpoints().values(),
    ]
    assert all(fact.source and fact.date for fact in facts)
    assert {fact.confidence for fact in facts} <= {"high", "medium", "low"}
    assert set(networks._data()["quotas"]) == set(QUOTAS)


def test_the_settings_offer_the_endpoints_that_the_facts_know() -> None:
    assert set(get_args(Endpoint)) == set(endpoints())
    assert {"ec2", "ecr.api", "ecr.dkr", "eks", "eks-auth", "fsx", "logs", "sts"} == REQUIRED


def test_images_of_add_ons_lie_in_other_accounts_in_some_regions() -> None:
    assert image_account("us-east-1") == "602401143452"
    assert image_account("eu-south-2") == "455263428931"
    assert image_account("us-gov-west-1") == "013241004608"
    assert all(len(image_account(r)) == 12 for r in networks._data()["images"]["regions"])


@pytest.mark.parametrize(
    ("primary", "others", "added", "refused"),
    [
        ("10.64.0.0/16", [], "10.65.0.0/16", None),
        ("10.64.0.0/16", [], "100.64.0.0/16", None),
        ("10.64.0.0/16", ["100.64.0.0/16"], "10.65.0.0/16", None),
        ("10.64.0.0/16", [], "172.16.0.0/16", "172.16.0.0/12"),
        ("10.64.0.0/16", [], "192.168.0.0/20", "192.168.0.0/16"),
        ("10.64.0.0/16", [], "198.19.0.0/16", "198.19.0.0/16"),
        ("10.64.0.0/16", ["10.1.0.0/16"], "10.0.0.0/20", "10.0.0.0/16"),
        ("10.1.0.0/16", [], "10.0.128.0/17", "10.0.0.0/16"),
        ("10.0.0.0/16", [], "10.1.0.0/16", None),
        ("172.16.0.0/16", [], "172.18.0.0/16", None),
        ("172.16.0.0/16", [], "172.31.0.0/20", "172.31.0.0/16"),
        ("192.168.0.0/20", [], "10.0.0.0/16", "10.0.0.0/8"),
        ("100.64.0.0/16", [], "100.65.0.0/16", None),
        ("100.64.0.0/16", [], "10.0.0.0/16", "10.0.0.0/8"),
        ("100.64.0.0/16", [], "169.254.0.0/20", "169.254.0.0/16"),
    ],
)
def test_aws_refuses_some_ranges_beside_others(
    primary: str, others: list[str], added: str, refused: str | None
) -> None:
    found = refused_beside(
        IPv4Network(primary), tuple(map(IPv4Network, others)), IPv4Network(added)
    )
    assert (str(found) if found else None) == refused
