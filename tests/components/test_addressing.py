from ipaddress import IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.addressing import demand, overlaps, smallest, usable, zone_plan

LENGTHS = st.integers(min_value=16, max_value=21)
NUMBERS = st.integers(min_value=1, max_value=7)


@st.composite
def networks(draw: st.DrawFn) -> IPv4Network:
    length = draw(LENGTHS)
    start = draw(st.integers(min_value=0, max_value=2**length - 1))
    return IPv4Network((start << (32 - length), length))


def test_the_plan_of_a_sixteen_is_this() -> None:
    plan = zone_plan(IPv4Network("10.64.0.0/16"), 4)
    assert (str(plan.private), str(plan.public)) == ("10.64.128.0/20", "10.64.144.0/23")


@given(networks(), NUMBERS)
def test_subnets_of_a_zone_lie_in_the_network_and_apart(network: IPv4Network, number: int) -> None:
    plan = zone_plan(network, number)
    assert plan.private.subnet_of(network)
    assert plan.public.subnet_of(network)
    assert not plan.private.overlaps(plan.public)


@given(networks(), NUMBERS, NUMBERS)
def test_subnets_of_two_zones_lie_apart(network: IPv4Network, one: int, other: int) -> None:
    if one == other:
        return
    first, second = zone_plan(network, one), zone_plan(network, other)
    for mine in (first.private, first.public):
        assert not mine.overlaps(second.private)
        assert not mine.overlaps(second.public)


@given(networks(), NUMBERS)
def test_every_subnet_is_one_that_aws_sells(network: IPv4Network, number: int) -> None:
    plan = zone_plan(network, number)
    assert 16 <= plan.private.prefixlen <= 28
    assert 16 <= plan.public.prefixlen <= 28


@pytest.mark.parametrize("number", [0, 8])
def test_a_zone_beyond_the_plan_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match=f"zone number {number} has no place; there are 1 to 7"):
        zone_plan(IPv4Network("10.0.0.0/16"), number)


@pytest.mark.parametrize(
    ("nodes", "pods", "servers", "expected"),
    [(16, 24, 4, 436), (1024, 24, 0, 27648), (1, 0, 0, 3), (0, 24, 5, 5)],
)
def test_a_node_needs_an_address_its_pods_and_two_spare(
    nodes: int, pods: int, servers: int, expected: int
) -> None:
    assert demand(nodes, pods, file_servers=servers) == expected


@given(st.integers(min_value=1, max_value=65531))
def test_the_smallest_subnet_holds_what_is_needed_and_no_smaller_one_does(addresses: int) -> None:
    length = smallest(addresses)
    assert length is not None
    assert usable(IPv4Network((0, length))) >= addresses
    assert length == 28 or usable(IPv4Network((0, length + 1))) < addresses


def test_no_subnet_holds_more_than_a_sixteen() -> None:
    assert smallest(65532) is None


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("10.8.4.0/22", "10.0.0.0/12", True),
        ("10.0.0.0/12", "10.8.4.0/22", True),
        ("10.0.0.0/16", "10.0.0.0/16", True),
        ("172.16.0.0/13", "172.24.0.0/13", False),
        ("10.0.0.0/16", "10.1.0.0/16", False),
    ],
)
def test_overlap_is_seen_whichever_network_holds_the_other(
    one: str, other: str, *, together: bool
) -> None:
    found = list(overlaps({"a": IPv4Network(one), "b": IPv4Network(other)}))
    assert found == ([("a", "b")] if together else [])
