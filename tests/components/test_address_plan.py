from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.address_plan import FileServers, Needs, address_plan, misfits
from components.addressing import Amount
from components.capacity import OpenReservation
from components.network_config import NetworkConfig
from components.pools import PoolConfig

ZONES = {"use1-az4": "10.65.0.0/20", "use1-az6": "10.66.0.0/20", "use1-az2": None}


def network(zones: dict[str, str | None] | None = None, **more: object) -> NetworkConfig:
    """Build settings without their rules, which have tests of their own."""
    given_zones = ZONES if zones is None else zones
    fields: dict[str, Any] = {
        "management_cidr": "10.64.0.0/16",
        "zones": [{"id": zone, "compute_cidr": block} for zone, block in given_zones.items()],
        **more,
    }
    return NetworkConfig.model_validate(fields, strict=False)


def pool(
    *waves: int, zone: str = "use1-az4", kind: str = "p5.48xlarge", **more: object
) -> PoolConfig:
    return PoolConfig.model_construct(
        name="train", instance_type=kind, zone=zone, waves=waves, **more
    )


def needs(
    *pools: PoolConfig,
    pods: int = 24,
    system: int = 3,
    servers: int = 0,
    fabric: bool = False,
    zone: str = "use1-az4",
) -> Needs:
    return Needs(
        pools=pools,
        pods_per_node=pods,
        system_nodes=system,
        file_servers=FileServers(zone=zone, count=servers, fabric=fabric),
    )


def demand(config: NetworkConfig, wanted: Needs) -> dict[tuple[str, str], Amount]:
    plan = address_plan(config, wanted)
    return {(subnet.zone, subnet.purpose): subnet.demand for subnet in plan.subnets}


def problems(config: NetworkConfig, wanted: Needs) -> list[str]:
    return [str(problem) for problem in misfits(config, wanted)]


def test_everything_is_counted_in_the_subnet_where_it_lands() -> None:
    config = network(endpoints=["sts", "logs"])
    wanted = needs(pool(2, 14), pool(1, 1, zone="use1-az6"), servers=10)
    assert demand(config, wanted) == {
        # A third of the system nodes and two more during updates, 16 for the control plane.
        ("use1-az4", "management"): Amount(1 + 2 + 16, 6),
        ("use1-az4", "public"): Amount(1),
        ("use1-az4", "storage"): Amount(10 + 2),
        ("use1-az4", "compute"): Amount(16 + 2, 36),
        ("use1-az6", "management"): Amount(1 + 2 + 16, 6),
        ("use1-az6", "public"): Amount(1),
        ("use1-az6", "storage"): Amount(2),
        ("use1-az6", "compute"): Amount(2 + 2, 8),
        # No storage subnet here, so that endpoints are beside the control plane.
        ("use1-az2", "management"): Amount(1 + 2 + 16 + 2, 6),
        ("use1-az2", "public"): Amount(1),
    }


def test_file_servers_on_the_fabric_live_beside_the_nodes() -> None:
    found = demand(network(), needs(pool(2), servers=82, fabric=True))
    assert found["use1-az4", "compute"] == Amount(2 + 2 + 82, 8)
    assert found["use1-az4", "storage"] == Amount(0)


@pytest.mark.parametrize(
    ("waves", "more"), [((1, 1), 2), ((2, 14), 2), ((30, 270), 27), ((100, 1500), 100)]
)
def test_an_update_brings_new_nodes_of_one_wave_at_a_time(
    waves: tuple[int, ...], more: int
) -> None:
    [compute] = [
        subnet
        for subnet in address_plan(network(), needs(pool(*waves))).subnets
        if (subnet.zone, subnet.purpose) == ("use1-az4", "compute")
    ]
    assert (compute.nodes, compute.surge) == (sum(waves), more)
    assert compute.demand == Amount(sum(waves) + more, 2 * (sum(waves) + more))


def test_capacity_that_is_held_has_no_node_beside_its_own() -> None:
    held = OpenReservation(source="open-reservation")
    found = demand(network(), needs(pool(30, 270, capacity=held)))
    assert found["use1-az4", "compute"] == Amount(300, 600)
    [problem] = problems(network(), needs(pool(30, 270, capacity=held)))
    assert (
        "but 300 nodes with 24 pods each need 345 addresses and 690 prefixes (with 15 percent "
        in (problem)
    )


def test_efa_only_interfaces_cost_no_address() -> None:
    lean = demand(network(), needs(pool(8)))["use1-az4", "compute"]
    assert lean == demand(network(), needs(pool(8, efa=False)))["use1-az4", "compute"]
    assert lean.addresses == 8 + 2
    wide = demand(network(), needs(pool(8, layout="wide")))["use1-az4", "compute"]
    assert wide.addresses == (8 + 2) * 8


@pytest.mark.parametrize(
    ("nat", "entry", "there"),
    [
        ("per-zone", False, {"use1-az4": 1, "use1-az6": 1, "use1-az2": 1}),
        ("one", False, {"use1-az4": 1}),
        ("one", True, {"use1-az4": 9, "use1-az6": 9, "use1-az2": 9}),
        ("none", False, {}),
    ],
)
def test_a_public_subnet_has_a_gateway_and_the_load_balancer_of_the_entry(
    nat: str, there: dict[str, int], *, entry: bool
) -> None:
    where = {"domain": "train.example.com", "hosted_zone_id": "Z0123456789"} if entry else None
    endpoints = ["ec2", "ecr.api", "ecr.dkr", "eks", "eks-auth", "fsx", "logs", "sts"]
    config = network(nat=nat, entry=where, endpoints=endpoints)
    found = demand(config, needs(pool(2)))
    public = {zone: each.addresses for (zone, use), each in found.items() if use == "public"}
    assert public == there


def test_eight_gpu_nodes_do_not_fit_a_twenty_six() -> None:
    tight = network({"use1-az4": "10.65.0.0/26", "use1-az6": None})
    assert problems(tight, needs(pool(2, 6))) == [
        (
            "network.zones.0.compute_cidr: is 10.65.0.0/26, which has 12 addresses and 2 prefixes, "
            "but 8 nodes with 24 pods each need 12 addresses and 23 prefixes (with 2 more nodes "
            "during updates, 15 percent headroom); a /23 would do, or lower "
            "control_plane.pods_per_node"
        )
    ]
    for length in (20, 23):
        fits = network({"use1-az4": f"10.65.0.0/{length}", "use1-az6": None})
        assert problems(fits, needs(pool(2, 6))) == []


def test_a_pool_that_no_block_holds_is_told_to_split() -> None:
    full = network({"use1-az4": "10.65.0.0/16", "use1-az6": None})
    assert problems(full, needs(pool(100, 450, 450, 400), servers=12, fabric=True)) == [
        (
            "network.zones.0.compute_cidr: is 10.65.0.0/16, which has 16380 addresses and 3071 "
            "prefixes, but 1400 nodes with 24 pods each need 1676 addresses and 3324 prefixes "
            "(with 45 more nodes during updates, 12 file servers, 15 percent headroom); no VPC "
            "block is that large, so split the pools over zones or clusters, or lower "
            "control_plane.pods_per_node"
        )
    ]
    assert problems(full, needs(pool(100, 450, 450, 400), pods=14)) == []


def test_a_management_network_that_is_too_small_is_told_by_its_first_tight_subnet() -> None:
    small = network(management_cidr="10.64.0.0/21")
    assert problems(small, needs(pool(2), system=6)) == [
        (
            "network.management_cidr: is 10.64.0.0/21, whose management subnet in use1-az4 is "
            "10.64.4.0/25 with 28 addresses and 5 prefixes, but 23 addresses and 10 prefixes are "
            "needed there (with 15 percent headroom); a /20 would do"
        )
    ]
    assert problems(network(management_cidr="10.64.0.0/20"), needs(pool(2), system=6)) == []
    [storage] = problems(network(management_cidr="10.64.0.0/20"), needs(pool(2), servers=300))
    assert storage.endswith(
        "whose storage subnet in use1-az4 is 10.64.9.128/25 with 123 addresses, but 345 addresses "
        "are needed there (with 15 percent headroom); a /18 would do"
    )


def test_nothing_is_large_enough_for_so_many_file_servers() -> None:
    [problem] = problems(network(), needs(pool(2), servers=3000))
    assert problem == (
        "network.management_cidr: is 10.64.0.0/16, whose storage subnet in use1-az4 is "
        "10.64.152.0/21 with 2043 addresses, but 3450 addresses are needed there (with 15 percent "
        "headroom); no VPC block is that large, so use fewer system nodes, file servers or "
        "endpoints"
    )


def test_a_vpc_that_would_be_too_full_needs_a_raised_quota() -> None:
    large = {"use1-az4": "10.65.0.0/16", "use1-az6": "10.66.0.0/16"}
    wanted = needs(pool(100, 450, 450), pool(100, 450, 450, zone="use1-az6"))
    assert problems(network(large), wanted) == [
        (
            "network.quotas.address_units: is 64000, but interfaces, prefixes, endpoints and "
            "gateways come to 73183 units of network address usage of a VPC; ask AWS for a quota "
            "of 73183 or more and write it here"
        )
    ]
    assert problems(network(large, quotas={"address_units": 80000}), wanted) == []


def test_settings_that_no_plan_can_be_made_of_are_left_to_their_own_rules() -> None:
    broken = NetworkConfig.model_construct(
        management_cidr=network().management_cidr.supernet(new_prefix=8), zones=network().zones
    )
    assert problems(broken, needs(pool(2))) == []


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.sampled_from(list(ZONES)), unique=True, min_size=2),
    st.lists(st.integers(1, 450), min_size=1, max_size=3),
    st.lists(st.integers(1, 450), max_size=3),
)
def test_what_exists_never_moves_and_never_needs_less_when_a_zone_or_a_pool_joins(
    zones: list[str], waves: list[int], further: list[int]
) -> None:
    fewer = network({zone: ZONES[zone] for zone in zones})
    before = address_plan(fewer, needs(pool(*waves), servers=4)).subnets
    grown = needs(pool(*waves), *(pool(n) for n in further), servers=4)
    after = {
        (subnet.zone, subnet.purpose): subnet for subnet in address_plan(network(), grown).subnets
    }
    for subnet in before:
        now = after[subnet.zone, subnet.purpose]
        assert (now.block, now.parts) == (subnet.block, subnet.parts)
        if subnet.purpose == "compute":
            assert subnet.needed.within(now.needed)
