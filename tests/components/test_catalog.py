import pytest

from components.catalog import (
    UnknownInstanceTypeError,
    chart,
    fsx_tier,
    image,
    instance_type,
    instance_types,
    releases,
)


@pytest.mark.parametrize("name", sorted(instance_types()))
def test_every_row_has_a_source_and_makes_sense(name: str) -> None:
    kind = instance_type(name)
    assert kind.source
    assert kind.confidence in {"high", "medium", "low"}
    assert kind.efa_interfaces <= kind.network_cards
    assert kind.max_pods > 10
    for region, zones in kind.offered_in.items():
        letters = "".join(part[0] for part in region.split("-")[1:-1])
        assert all(zone.startswith(region[:2] + letters[0]) for zone in zones)


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
