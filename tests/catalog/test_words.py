import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.catalog import instance_type
from components.catalog.floors import floors
from components.layout import Interface, layout
from scripts.catalog.words import accelerators, in_words, nodes, picture, placement, ranges, usage


@pytest.mark.parametrize(
    ("cards", "text"),
    [
        ((), ""),
        ((0,), "0"),
        ((0, 1), "0-1"),
        (range(32), "0-31"),
        ((0, 4, 8), "0,4,8"),
        ((3, 0, 1, 5), "0-1,3,5"),
    ],
)
def test_cards_stand_as_the_data_writes_them(cards: tuple[int, ...], text: str) -> None:
    assert ranges(cards) == text


@given(st.sets(st.integers(0, 40)))
def test_ranges_name_exactly_the_cards(cards: set[int]) -> None:
    named: list[int] = []
    for part in filter(None, ranges(cards).split(",")):
        first, _, last = part.partition("-")
        named += range(int(first), int(last or first) + 1)
    assert named == sorted(cards)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p5.48xlarge", "8 x H100, 80 GiB"),
        ("p6-b300.48xlarge", "8 x B300, 268 GiB"),
        ("trn2.48xlarge", "16 x Trainium2, 96 GiB"),
        ("m7i.large", "-"),
    ],
)
def test_accelerators_in_words(name: str, text: str) -> None:
    assert accelerators(instance_type(name)) == text


@pytest.mark.parametrize(
    ("name", "wide", "text"),
    [
        (
            "p5.48xlarge",
            False,
            "card 0: address (device 0) and EFA-only (device 1); cards 1-31: EFA-only (device 0)",
        ),
        ("p6-b300.48xlarge", False, "card 0: address (device 0); cards 1-16: EFA-only (device 0)"),
        (
            "p6e-gb200.36xlarge",
            False,
            (
                "card 0: address (device 0); cards 1,3,5,7,9,11,13,15: EFA-only (device 0); "
                "cards 2,4,6,8,10,12,14,16: nothing"
            ),
        ),
        (
            "p5en.48xlarge",
            True,
            (
                "card 0: address (device 0) and EFA-only (device 1); "
                "cards 1-3,5-7,9-11,13-15: EFA-only (device 0); "
                "cards 4,8,12: EFA-only (device 0) and address (device 1)"
            ),
        ),
    ],
)
def test_cards_that_hold_the_same_are_named_together(name: str, text: str, *, wide: bool) -> None:
    kind = instance_type(name)
    assert in_words(kind, layout(kind, efa=True, wide=wide)) == text


def test_the_picture_has_a_line_for_every_card() -> None:
    made = (Interface(0, 0, "interface"), Interface(1, 1, "efa-only"))
    assert picture(instance_type("g6e.48xlarge"), made) == [
        (0, "address", "-"),
        (1, "-", "EFA-only"),
        (2, "-", "-"),
        (3, "-", "-"),
    ]


@pytest.mark.parametrize(
    ("name", "bought", "grouped"),
    [
        ("p5.48xlarge", "on demand, reservation, spot, capacity block", "on demand"),
        ("g6e.48xlarge", "on demand, reservation, spot", "on demand"),
        ("trn2u.48xlarge", "on demand, reservation, capacity block", "on demand"),
        ("p6e-gb200.36xlarge", "capacity block", "never"),
    ],
)
def test_a_placement_group_is_for_on_demand_only(name: str, bought: str, grouped: str) -> None:
    assert usage(instance_type(name)) == bought
    assert placement(instance_type(name)) == grouped


def test_a_floor_speaks_up_to_the_next_one() -> None:
    known = floors()
    assert [span for span, _ in nodes(known["all_reduce"]["p5.48xlarge"])] == [
        "1",
        "2",
        "3 and more",
    ]
    assert [span for span, _ in nodes(known["all_gather"]["p5.48xlarge"])] == [
        "1",
        "2 and more",
    ]
