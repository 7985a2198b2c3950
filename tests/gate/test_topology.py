import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.gate.topology import blocks_within, describe, halves, in_order
from tests.gate.world import World


def test_neighbours_in_the_network_are_neighbours_in_order() -> None:
    places = {"a": ("top", "s1"), "b": ("top", "s0"), "c": ("top", "s1"), "d": ()}
    assert in_order({"a", "b", "c", "d"}, places) == ("d", "b", "a", "c")


@pytest.mark.parametrize(
    ("count", "leaf", "spine", "cut"),
    [
        (8, 0, 0, 4),  # no places: the middle
        (9, 0, 0, 4),
        (40, 8, 32, 32),  # the border of the wide blocks, not the one nearest to the middle
        (32, 8, 32, 16),  # one wide block: its leaves
        (24, 8, 24, 8),
        (8, 8, 8, 4),  # one leaf
        (2, 1, 2, 1),
    ],
)
def test_a_cut_runs_along_the_widest_border(count: int, leaf: int, spine: int, cut: int) -> None:
    world = World(count, leaf, spine)
    left, right = halves(tuple(world.nodes), world.places)
    assert (len(left), len(right)) == (cut, count - cut)


@given(st.integers(2, 200), st.sampled_from([0, 1, 3, 8]), st.integers(1, 5))
def test_both_halves_hold_something_and_nothing_is_lost(count: int, leaf: int, wide: int) -> None:
    world = World(count, leaf, leaf * wide)
    left, right = halves(tuple(world.nodes), world.places)
    assert (*left, *right) == tuple(world.nodes)
    assert left
    assert right


def test_the_widest_blocks_that_lie_within_are_named_and_no_node_twice() -> None:
    world = World(64, 8, 32)
    some = [*world.below("nn-s0"), *world.below("nn-s1-l5"), "n0063"]
    found = blocks_within(some, world.nodes, world.places)
    assert [(block.network_node, len(block.nodes)) for block in found] == [
        ("nn-s0", 32),
        ("nn-s1-l5", 8),
    ]


def test_what_lies_above_all_is_no_block_and_two_nodes_are_none() -> None:
    world = World(16, 2, 16)
    assert blocks_within(world.nodes, world.nodes, world.places) == blocks_within(
        [], world.nodes, world.places
    )


def test_nodes_are_told_by_their_block_where_they_are_all_of_it() -> None:
    world = World(32, 8, 16)
    assert describe(world.below("nn-s0-l1"), world.nodes, world.places) == (
        "all 8 nodes below network node nn-s0-l1"
    )
    assert describe(["n0000", "n0001"], world.nodes, world.places) == "n0000, n0001"
