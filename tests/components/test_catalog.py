from itertools import groupby

import pytest

from components.catalog import (
    InstanceType,
    UnknownInstanceTypeError,
    chart,
    fsx_tier,
    image,
    instance_type,
    instance_types,
    releases,
)
from components.layout import layout

WITH_EFA = [kind for kind in instance_types().values() if kind.efa_interfaces]


def by_name(kind: InstanceType) -> str:
    return kind.name


@pytest.mark.parametrize("name", sorted(instance_types()))
def test_every_row_has_a_source_and_makes_sense(name: str) -> None:
    kind = instance_type(name)
    assert kind.source
    assert kind.confidence in {"high", "medium", "low"}
    assert kind.usage_classes
    assert kind.efa_interfaces <= kind.network_cards
    assert kind.max_pods > 10
    assert kind.max_pods_with_prefixes in {110, 250}
    for region, zones in kind.offered_in.items():
        letters = "".join(part[0] for part in region.split("-")[1:-1])
        assert all(zone.startswith(region[:2] + letters[0]) for zone in zones)


@pytest.mark.parametrize("kind", instance_types().values(), ids=by_name)
def test_a_card_is_named_once_and_exists(kind: InstanceType) -> None:
    cards = range(kind.network_cards)
    for named in (kind.efa_cards, kind.address_cards):
        assert list(named) == sorted(set(named))
        assert set(named) <= set(cards)
    assert len(kind.efa_cards) == kind.efa_interfaces
    assert kind.address_cards[0] == 0


@pytest.mark.parametrize("wide", [False, True], ids=["lean", "wide"])
@pytest.mark.parametrize("kind", WITH_EFA, ids=by_name)
def test_no_layout_asks_a_card_for_more_than_it_holds(kind: InstanceType, *, wide: bool) -> None:
    made = layout(kind, efa=True, wide=wide)
    for _, held in groupby(made, key=lambda each: each.card):
        assert len(list(held)) <= kind.interfaces_per_card
    addresses = tuple(each.card for each in made if each.kind == "interface")
    assert addresses == (kind.address_cards if wide else (0,))


def test_not_every_first_card_takes_part_in_the_fabric() -> None:
    b300, gb200 = instance_type("p6-b300.48xlarge"), instance_type("p6e-gb200.36xlarge")
    assert b300.efa_cards == tuple(range(1, 17))
    assert gb200.efa_cards == tuple(range(1, 17, 2))
    assert gb200.address_cards == tuple(range(0, 17, 2))
    others = [kind for kind in WITH_EFA if kind not in (b300, gb200)]
    assert all(kind.efa_cards == tuple(range(kind.network_cards)) for kind in others)


@pytest.mark.parametrize(
    ("name", "pods"),
    [("p5.48xlarge", 51), ("p4d.24xlarge", 688), ("p6-b300.48xlarge", 198), ("m7i.xlarge", 58)],
)
def test_an_efa_interface_on_the_first_card_takes_the_place_of_one_for_pods(
    name: str, pods: int
) -> None:
    assert instance_type(name).max_pods == pods


def test_an_unknown_type_is_refused_with_the_nearest() -> None:
    with pytest.raises(UnknownInstanceTypeError) as caught:
        instance_type("p5.84xlarge")
    assert str(caught.value) == (
        "'p5.84xlarge' is not an instance type of the catalog; nearest: "
        "p5.4xlarge, p5.48xlarge, p5e.48xlarge"
    )


@pytest.mark.parametrize(
    ("gib", "efa", "sold", "nearest"),
    [
        (1200, None, True, (1200, 2400)),
        (2400, None, True, (2400, 4800)),
        (3600, None, False, (2400, 4800)),
        (100, None, False, (1200, 1200)),
        (4800, 1000, True, (4800, 9600)),
        (9600, 125, False, (38400, 38400)),
    ],
)
def test_fsx_sells_these_sizes(
    gib: int, efa: int | None, *, sold: bool, nearest: tuple[int, int]
) -> None:
    tier = fsx_tier("PERSISTENT_2")
    assert tier.sells(gib, efa_throughput=efa) is sold
    if not sold:
        assert tier.nearest(gib, efa_throughput=efa) == nearest


def test_only_types_with_a_known_fabric_have_its_layers() -> None:
    assert len(instance_type("p5.48xlarge").topology_labels) == 4
    assert instance_type("g6e.48xlarge").topology_labels == (
        "topology.kubernetes.io/zone",
        "kubernetes.io/hostname",
    )


def test_versions_and_images_are_pinned() -> None:
    for version, release in releases().items():
        assert release.ami_release.startswith(f"{version}.")
        assert set(release.addons) >= {"vpc-cni", "coredns", "kube-proxy"}
    assert chart("kueue")[1] == "0.17.0"
    assert "@sha256:" in image("nccl-tests", "us-east-1")
    assert ".us-west-2." in image("efa-device-plugin", "us-west-2")
