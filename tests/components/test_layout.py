import pytest

from components.catalog import InstanceType, instance_type, instance_types
from components.layout import Interface, layout

FABRIC = [kind for kind in instance_types().values() if kind.efa_interfaces]


def places(kind: InstanceType, **how: bool) -> list[tuple[int, int, str]]:
    chosen = {"efa": True, "wide": False, **how}
    return [
        (each.card, each.device, each.kind)
        for each in layout(kind, efa=chosen["efa"], wide=chosen["wide"])
    ]


@pytest.mark.parametrize(
    ("name", "first", "count"),
    [
        ("p5.48xlarge", [(0, 0, "interface"), (0, 1, "efa-only"), (1, 0, "efa-only")], 33),
        ("p4d.24xlarge", [(0, 0, "interface"), (0, 1, "efa-only"), (1, 0, "efa-only")], 5),
        ("p6-b300.48xlarge", [(0, 0, "interface"), (1, 0, "efa-only"), (2, 0, "efa-only")], 17),
        ("p6e-gb200.36xlarge", [(0, 0, "interface"), (1, 0, "efa-only"), (3, 0, "efa-only")], 9),
        ("g6.48xlarge", [(0, 0, "interface"), (0, 1, "efa-only")], 2),
    ],
)
def test_the_lean_layout_has_one_address_and_an_efa_interface_on_each_card_that_can(
    name: str, first: list[tuple[int, int, str]], count: int
) -> None:
    found = places(instance_type(name))
    assert found[: len(first)] == first
    assert len(found) == count


def test_the_wide_layout_puts_addresses_beside_the_fabric_where_the_catalog_says() -> None:
    found = places(instance_type("p5.48xlarge"), wide=True)
    assert [card for card, _, kind in found if kind == "interface"] == [0, 4, 8, 12, 16, 20, 24, 28]
    assert [place for place in found if place[0] == 4] == [(4, 0, "efa-only"), (4, 1, "interface")]
    gb200 = places(instance_type("p6e-gb200.36xlarge"), wide=True)
    assert [place for place in gb200 if place[0] in {1, 2}] == [
        (1, 0, "efa-only"),
        (2, 0, "interface"),
    ]


@pytest.mark.parametrize("further", [0, 1])
@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("kind", FABRIC, ids=lambda kind: kind.name)
def test_every_layout_is_one_that_ec2_takes(
    kind: InstanceType, *, wide: bool, further: int
) -> None:
    made = layout(kind, efa=True, wide=wide, further_device_index=further)
    spots = [(each.card, each.device) for each in made]
    assert made[0] == Interface(0, 0, "interface")
    assert len(set(spots)) == len(spots)
    assert max(device for _, device in spots) <= 1
    assert max(card for card, _ in spots) < kind.network_cards
    fabric = [each.card for each in made if each.kind == "efa-only"]
    assert fabric == list(kind.efa_cards)
    assert len(fabric) == kind.efa_interfaces
    for card in range(kind.network_cards):
        assert sum(each.card == card for each in made) <= kind.interfaces_per_card


def test_without_efa_a_node_has_one_plain_interface() -> None:
    assert places(instance_type("p5.48xlarge"), efa=False) == [(0, 0, "interface")]
