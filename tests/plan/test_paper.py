from dataclasses import replace
from ipaddress import IPv4Network

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.addressing import overlaps, room
from components.catalog import instance_type
from scripts.plan.paper import Wish, answer, plan, waves

TEN = IPv4Network("10.0.0.0/8")


def wish(accelerators: int = 100_000, type_name: str = "p5.48xlarge", **more: object) -> Wish:
    kind = instance_type(type_name)
    assert kind.accelerator
    terms = {
        "pods_per_node": 24,
        "block": 16,
        "zones": 1,
        "headroom": 15,
        "system_nodes": 6,
        "wide": False,
        "raised": False,
        **more,
    }
    return Wish(accelerators=accelerators, kind=kind, accelerator=kind.accelerator, **terms)  # pyright: ignore[reportArgumentType] - the terms are checked by what comes of them


def limits(wanted: Wish) -> dict[str, int]:
    return {limit.what: limit.nodes for limit in plan(wanted).limits}


def test_a_hundred_thousand_accelerators_are_ten_clusters_for_want_of_prefixes() -> None:
    paper = plan(wish())
    assert paper.wish.nodes == 12_500
    assert limits(wish()) == {
        "nodes of a cluster": 4_994,
        "node groups of a cluster": 13_050,
        "addresses of compute subnets": 1_290,
        "blocks of a VPC": 5_160,
        "network address usage of a VPC": 1_776,
    }
    assert paper.binding.what == "addresses of compute subnets"
    assert paper.sizes == (1_250,) * 10
    assert (paper.needed.addresses, paper.needed.prefixes) == (1_490, 2_979)


@pytest.mark.parametrize(
    ("terms", "clusters", "binding"),
    [
        ({"zones": 4}, 8, "network address usage of a VPC"),
        ({"zones": 4, "raised": True}, 3, "nodes of a cluster"),
        ({"pods_per_node": 14}, 7, "network address usage of a VPC"),
        ({"pods_per_node": 110, "zones": 4, "raised": True}, 10, "addresses of compute subnets"),
        ({"type_name": "p6-b300.48xlarge", "raised": True}, 10, "addresses of compute subnets"),
        ({"type_name": "g6e.48xlarge", "zones": 4}, 3, "nodes of a cluster"),
        ({"block": 20}, 165, "addresses of compute subnets"),
        ({"accelerators": 8}, 1, "addresses of compute subnets"),
    ],
)
def test_the_limit_that_binds_depends_on_the_terms(
    terms: dict[str, object], clusters: int, binding: str
) -> None:
    paper = plan(wish(**terms))  # pyright: ignore[reportArgumentType] - the terms are checked by what comes of them
    assert (len(paper.sizes), paper.binding.what) == (clusters, binding)


def test_a_wide_layout_takes_more_addresses_of_each_node() -> None:
    lean, wide = plan(wish(8_000)), plan(wish(8_000, wide=True))
    assert wide.needed.addresses > 7 * lean.needed.addresses
    assert wide.needed.prefixes == lean.needed.prefixes


@pytest.mark.parametrize(
    ("nodes", "groups"),
    [
        (1, (1,)),
        (2, (2,)),
        (16, (2, 14)),
        (1024, (102, 308, 307, 307)),
        (1250, (125, 375, 375, 375)),
        (5000, (450, *[414] * 7, *[413] * 4)),
    ],
)
def test_a_pool_is_a_small_first_wave_and_few_equal_ones(
    nodes: int, groups: tuple[int, ...]
) -> None:
    assert waves(nodes, 450) == groups


@given(st.integers(1, 20_000), st.integers(1, 450))
def test_waves_hold_every_node_and_none_is_too_large(nodes: int, most: int) -> None:
    found = waves(nodes, most)
    assert sum(found) == nodes
    assert max(found) <= most
    assert min(found) >= 1
    assert found[0] <= max(2, nodes // 10)


@settings(max_examples=60, deadline=None)
@given(
    st.integers(1, 300_000),
    st.sampled_from(["p5.48xlarge", "p6-b200.48xlarge", "g6e.48xlarge", "trn2.48xlarge"]),
    st.integers(8, 110),
    st.integers(16, 22),
    st.integers(1, 4),
    st.integers(10, 20),
    st.booleans(),
)
def test_every_cluster_keeps_every_limit_and_one_fewer_would_not_do(
    accelerators: int,
    kind: str,
    pods: int,
    block: int,
    zones: int,
    headroom: int,
    raised: bool,  # noqa: FBT001 - hypothesis hands over values by place
) -> None:
    paper = plan(
        wish(
            accelerators,
            kind,
            pods_per_node=pods,
            block=block,
            zones=zones,
            headroom=headroom,
            raised=raised,
        )
    )
    assert sum(paper.sizes) == paper.wish.nodes
    assert max(paper.sizes) - min(paper.sizes) <= 1
    assert max(paper.sizes) <= paper.binding.nodes
    assert (len(paper.sizes) - 1) * paper.binding.nodes < paper.wish.nodes
    assert paper.needed.within(room(block, nodes=True))
    assert paper.units <= paper.wish.most("address_units")


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 60_000), st.integers(0, 60_000), st.integers(8, 100), st.integers(0, 10))
def test_more_accelerators_or_pods_never_need_fewer_clusters(
    accelerators: int, more: int, pods: int, further: int
) -> None:
    less = wish(accelerators, pods_per_node=pods)
    count = len(plan(less).sizes)
    assert count <= len(plan(replace(less, accelerators=accelerators + more)).sizes)
    assert count <= len(plan(replace(less, pods_per_node=pods + further)).sizes)


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 60_000), st.integers(16, 20), st.integers(1, 4))
def test_suggested_blocks_share_no_address_with_each_other_or_a_neighbour(
    accelerators: int, block: int, zones: int
) -> None:
    office = IPv4Network("10.0.0.0/12")
    wanted = wish(accelerators, block=block, zones=zones)
    found = answer(wanted, within=TEN, avoid={"office": office})
    networks = {"office": office}
    for number, cluster in enumerate(found.blocks):
        networks |= {f"{number} management": cluster.management}
        networks |= {f"{number} compute {zone}": each for zone, each in enumerate(cluster.compute)}
        assert len(cluster.compute) == zones
        assert all(each.prefixlen == block for each in cluster.compute)
        assert 16 <= cluster.management.prefixlen <= 21
    assert list(overlaps(networks)) == []
    assert all(each.subnet_of(TEN) for each in networks.values())
    assert bool(found.problem) == (len(found.blocks) < len(found.paper.sizes))


def test_another_cluster_moves_no_block_of_the_earlier_ones() -> None:
    few = answer(wish(20_000), within=TEN, avoid={})
    many = answer(wish(40_000), within=TEN, avoid={})
    assert few.paper.management == many.paper.management
    assert many.blocks[: len(few.blocks)] == few.blocks


def test_blocks_that_aws_refuses_together_are_not_suggested() -> None:
    found = answer(wish(8, block=20), within=IPv4Network("10.0.0.0/14"), avoid={})
    [cluster] = found.blocks
    assert str(cluster.management) == "10.0.0.0/19"
    assert not cluster.compute[0].subnet_of(IPv4Network("10.0.0.0/16"))


def test_what_does_not_fit_says_why_and_what_would_help() -> None:
    small = answer(wish(8, block=26), within=TEN, avoid={})
    assert small.problem == "addresses of compute subnets leave room for no node at all"
    assert (small.paper.sizes, small.blocks) == ((), ())
    narrow = answer(wish(), within=IPv4Network("10.0.0.0/13"), avoid={})
    assert narrow.problem == (
        "10.0.0.0/13 has free blocks for 7 of 10 clusters; give more addresses with --within, or "
        "smaller ones with --block"
    )
    assert narrow.helps == {"--zones 2": 8, "--pods-per-node 14": 7}
