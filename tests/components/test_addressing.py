from ipaddress import IPv4Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.addressing import (
    Amount,
    Nodes,
    fewer_pods,
    longest_that_holds,
    node_units,
    overlaps,
    parts,
    prefixes_for,
    room,
    surge,
    updated_at_once,
    zone_plan,
)

NUMBERS = st.integers(min_value=1, max_value=7)
AMOUNTS = st.builds(Amount, st.integers(0, 20_000), st.integers(0, 3_500))


@st.composite
def networks(draw: st.DrawFn, shortest: int = 16, longest: int = 21) -> IPv4Network:
    length = draw(st.integers(shortest, longest))
    start = draw(st.integers(min_value=0, max_value=2**length - 1))
    return IPv4Network((start << (32 - length), length))


def of_zone(network: IPv4Network, number: int) -> list[IPv4Network]:
    plan = zone_plan(network, number)
    return [plan.private, plan.public, plan.storage]


def apart(blocks: list[IPv4Network]) -> bool:
    return not list(overlaps({str(number): block for number, block in enumerate(blocks)}))


def test_the_plan_of_a_sixteen_is_this() -> None:
    assert [str(block) for block in of_zone(IPv4Network("10.64.0.0/16"), 4)] == [
        "10.64.128.0/20",
        "10.64.144.0/23",
        "10.64.152.0/21",
    ]


def test_the_parts_of_a_compute_subnet_are_these() -> None:
    found = parts(IPv4Network("10.65.0.0/16"))
    assert str(found.hosts) == "10.65.0.0/18"
    assert [str(block) for block in found.pods] == ["10.65.64.0/18", "10.65.128.0/17"]


@given(networks(), st.sets(NUMBERS, min_size=1))
def test_subnets_of_all_zones_lie_in_the_network_and_apart(
    network: IPv4Network, numbers: set[int]
) -> None:
    blocks = [block for number in numbers for block in of_zone(network, number)]
    assert all(block.subnet_of(network) for block in blocks)
    assert apart(blocks)


@given(networks(), NUMBERS)
def test_every_subnet_is_one_that_aws_sells(network: IPv4Network, number: int) -> None:
    for block in of_zone(network, number):
        assert 16 <= block.prefixlen <= 28
        assert int(block.network_address) % block.num_addresses == 0


@given(networks(16, 26))
def test_the_parts_of_a_subnet_are_all_of_it_and_whole_prefixes(subnet: IPv4Network) -> None:
    found = parts(subnet)
    blocks = [found.hosts, *found.pods]
    assert apart(blocks)
    assert all(block.subnet_of(subnet) for block in blocks)
    assert sum(block.num_addresses for block in blocks) == subnet.num_addresses
    assert all(block.prefixlen <= 28 for block in found.pods)


@pytest.mark.parametrize("number", [0, 8])
def test_a_zone_beyond_the_plan_is_refused(number: int) -> None:
    with pytest.raises(ValueError, match=f"zone number {number} has no place; there are 1 to 7"):
        zone_plan(IPv4Network("10.0.0.0/16"), number)


@pytest.mark.parametrize(
    ("length", "nodes", "there"),
    [
        (16, True, Amount(16380, 3071)),
        (20, True, Amount(1020, 191)),
        (26, True, Amount(12, 2)),
        (27, True, Amount(4, 0)),
        (28, True, Amount(0, 0)),
        (28, False, Amount(11)),
        (16, False, Amount(65531)),
    ],
)
def test_aws_keeps_four_addresses_at_the_start_and_one_at_the_end(
    length: int, there: Amount, *, nodes: bool
) -> None:
    assert room(length, nodes=nodes) == there


@pytest.mark.parametrize(
    ("pods", "prefixes"), [(8, 1), (14, 1), (15, 2), (24, 2), (30, 2), (31, 3), (110, 7)]
)
def test_pods_and_two_warm_addresses_take_whole_prefixes(pods: int, prefixes: int) -> None:
    assert prefixes_for(pods) == prefixes
    fewer = fewer_pods(pods)
    assert prefixes == 1 if fewer == 0 else prefixes_for(fewer) == prefixes - 1
    assert prefixes_for(fewer + 1) == prefixes


def test_a_node_takes_its_addresses_and_the_prefixes_of_its_pods() -> None:
    nodes = Nodes(count=8, surge=2, addresses=3, prefixes=2)
    assert nodes.demand == Amount(30, 20)
    assert Nodes(count=8).demand == Amount(8, 0)


@pytest.mark.parametrize(
    ("nodes", "at_once", "more"), [(1, 1, 2), (14, 1, 2), (450, 45, 45), (1500, 100, 100)]
)
def test_an_update_takes_a_tenth_out_and_brings_at_least_two(
    nodes: int, at_once: int, more: int
) -> None:
    assert (updated_at_once(nodes), surge(nodes)) == (at_once, more)


def test_efa_only_interfaces_take_no_address_but_count_for_the_vpc() -> None:
    assert node_units(1, 0, 2) == 3
    assert node_units(1, 32, 2) == 35
    assert node_units(8, 32, 2) == 49


@pytest.mark.parametrize(
    ("amount", "percent", "more"),
    [
        (Amount(100, 10), 15, Amount(115, 12)),
        (Amount(1, 0), 10, Amount(2, 0)),
        (Amount(), 20, Amount()),
    ],
)
def test_headroom_is_rounded_up(amount: Amount, percent: int, more: Amount) -> None:
    assert amount.with_headroom(percent) == more


@given(
    st.integers(0, 5000),
    st.integers(0, 30),
    st.integers(1, 8),
    st.integers(1, 7),
    st.integers(10, 20),
    st.integers(0, 100),
)
def test_more_nodes_pods_or_headroom_never_need_less(
    count: int, besides: int, addresses: int, prefixes: int, percent: int, more: int
) -> None:
    less = Nodes(count=count, surge=besides, addresses=addresses, prefixes=prefixes)
    needed = less.demand.with_headroom(percent)
    for other in (
        Nodes(count=count + more, surge=besides, addresses=addresses, prefixes=prefixes),
        Nodes(count=count, surge=besides + more, addresses=addresses, prefixes=prefixes),
        Nodes(count=count, surge=besides, addresses=addresses + more, prefixes=prefixes + more),
    ):
        assert needed.within(other.demand.with_headroom(percent))
    assert needed.within(less.demand.with_headroom(percent + more))
    assert less.demand.within(needed)


@given(AMOUNTS, st.booleans())
def test_the_length_that_would_do_does_and_one_longer_does_not(
    amount: Amount,
    nodes: bool,  # noqa: FBT001 - hypothesis hands over values by place
) -> None:
    amount = amount if nodes else Amount(amount.addresses)
    length = longest_that_holds(amount, nodes=nodes)
    if length is None:
        assert not amount.within(room(16, nodes=nodes))
        return
    assert amount.within(room(length, nodes=nodes))
    longest = 26 if nodes else 28
    assert length == longest or not amount.within(room(length + 1, nodes=nodes))


def test_no_subnet_holds_more_than_a_sixteen() -> None:
    assert longest_that_holds(Amount(65531), nodes=False) == 16
    assert longest_that_holds(Amount(65532), nodes=False) is None
    assert longest_that_holds(Amount(1, 3071), nodes=True) == 16
    assert longest_that_holds(Amount(1, 3072), nodes=True) is None


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
