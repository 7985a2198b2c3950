"""The matrix of pairs: readable at any size, and no bad node is lost in it."""

import random
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.pictures.bins import MOST_ALONE, MOST_ROWS, bins
from scripts.pictures.gate import pair_map
from scripts.pictures.pairs import Pair, pairs
from tests.gate.fake import FakeCluster, run_gate
from tests.pictures.drawn import read
from tests.support.golden import Golden

Place = tuple[str, ...]


def wave(count: int) -> tuple[list[str], Mapping[str, Place]]:
    """Make nodes in blocks of sixteen, four blocks to a spine."""
    nodes = [f"n{index:04d}" for index in range(count)]
    return nodes, {
        name: (f"spine-{index // 64}", f"block-{index // 16}") for index, name in enumerate(nodes)
    }


def good(nodes: list[str]) -> list[Pair]:
    return [Pair(*pair, 480) for pair in zip(nodes[::2], nodes[1::2], strict=True)]


def test_the_picture_of_pairs_is_the_one_that_was_reviewed(golden: Golden) -> None:
    nodes, places = wave(4)
    measured = [*good(nodes), Pair("n0000", "n0002", 263), Pair("n0000", "n0003", None)]
    svg = pairs("pool train wave 1", nodes, measured, reference=430, bad={"n0000"}, places=places)
    drawn = read(svg)
    assert drawn.title == "Pairs of nodes: pool train wave 1"
    assert drawn.description == (
        "4 measurements of pairs among 4 nodes; 1 below 430 GB/s; 1 without a number; from 263 to "
        "480 GB/s; bad: n0000."
    )
    golden.check("pictures/pairs.yaml", list(map(str, drawn.marks)))


def test_a_thousand_nodes_fit_a_screen_and_every_bad_one_has_a_row_with_its_name() -> None:
    nodes, places = wave(1024)
    bad = {nodes[index] for index in range(5, 1024, 64)}
    measured = [
        Pair(each.left, each.right, 263 if {each.left, each.right} & bad else 480)
        for each in good(nodes)
    ]
    svg = pairs("wave", nodes, measured, reference=430, bad=bad, places=places)
    drawn = read(svg)
    assert len(svg) < 120_000
    labels = [text for text in drawn.texts() if text.startswith("bad: ")]
    assert sorted(labels) == sorted([f"bad: {name}" for name in bad] * 2), "on both axes"
    cells = [mark for mark in drawn.marks if mark.element == "rect" and mark.words]
    assert len([mark for mark in cells if mark.style == "h0"]) == 2 * len(bad)
    for name in bad:
        assert any(name in mark.words and "263 GB/s (61%)" in mark.words for mark in cells)
    frames = drawn.of("polyline", "bad")
    assert len(frames) == 2 * len(bad)


def test_one_bad_pair_is_seen_among_those_that_share_its_cell() -> None:
    nodes, places = wave(512)
    measured = good(nodes)
    measured[100] = Pair(measured[100].left, measured[100].right, 100)
    drawn = read(pairs("wave", nodes, measured, reference=430, places=places))
    [cell] = [mark for mark in drawn.of("rect", "h0") if mark.words]
    assert cell.words.endswith("the lowest: n0200 with n0201: 100 GB/s (23%)")


@pytest.mark.parametrize(
    ("gbps", "style"),
    [
        (343, "h0"),
        (344, "h1"),
        (408, "h1"),
        (409, "h2"),
        (429, "h2"),
        (430, "h3"),
        (472, "h3"),
        (474, "h4"),
        (None, "hx"),
    ],
)
def test_a_cell_shows_the_share_of_the_floor(gbps: float | None, style: str) -> None:
    drawn = read(pairs("x", ["a", "b"], [Pair("a", "b", gbps)], reference=430))
    assert {m.style for m in drawn.marks if m.words.startswith("a with b")} == {style}


def test_names_lose_their_domain_only_where_they_stay_different() -> None:
    equal = ["n1.one.internal", "n2.one.internal"]
    assert "n1" in read(pairs("x", equal, [], reference=1)).texts()
    different = ["n1.one.internal", "n1.two.internal"]
    assert "n1.one.internal" in read(pairs("x", different, [], reference=1)).texts()


def test_partners_from_elsewhere_are_shown_too() -> None:
    drawn = read(pairs("x", ["a"], [Pair("a", "z-of-another-wave", 480)], reference=430))
    assert "z-of-another-wave" in drawn.texts()


def test_a_gate_that_measured_pairs_leaves_their_picture() -> None:
    cluster = FakeCluster(faults={"node-05": {"link"}})
    cluster.add(14)
    svg = pair_map(run_gate(cluster, 14))
    assert svg is not None
    drawn = read(svg)
    assert drawn.title.startswith("Pairs of nodes: pool train wave 1 of p5.48xlarge, run ")
    assert "bad: node-05" in drawn.texts()
    assert "bad: node-05." in drawn.description


def test_a_gate_without_pairs_leaves_none() -> None:
    cluster = FakeCluster()
    cluster.add(4, passed=True)
    assert pair_map(run_gate(cluster, 4)) is None


def test_rows_follow_the_blocks_of_the_network() -> None:
    nodes, places = wave(256)
    rows = bins(nodes, places)
    assert [(len(row.nodes), row.place) for row in rows][:3] == [
        (6, "block-0"),
        (6, "block-0"),
        (4, "block-0"),
    ]
    assert all(len({places[name] for name in row.nodes}) == 1 for row in rows)


def test_where_blocks_are_too_many_rows_follow_what_is_above_them() -> None:
    nodes, places = wave(4096)
    rows = bins(nodes, places)
    assert len(rows) <= MOST_ROWS
    assert rows[0].place == ""
    nodes, places = wave(1024)
    assert [row.place for row in bins(nodes, places)][:4] == [
        "spine-0",
        "spine-0",
        "spine-0",
        "spine-1",
    ]


quick = settings(max_examples=60, deadline=None)


@quick
@given(
    st.integers(1, 300),
    st.sets(st.integers(0, 299), max_size=40),
    st.integers(0, 3),
    st.randoms(use_true_random=False),
)
def test_every_node_stands_in_exactly_one_row_and_the_rows_are_few(
    count: int, alone: set[int], depth: int, chance: random.Random
) -> None:
    nodes = [f"n{index}" for index in range(count)]
    places = {
        name: tuple(f"{chance.choice('abc')}{level}" for level in range(depth)) for name in nodes
    }
    single = {f"n{index}" for index in alone if index < count}
    rows = bins(nodes, places, single)
    assert sorted(name for row in rows for name in row.nodes) == sorted(nodes)
    assert len(rows) <= MOST_ROWS
    if len(single) <= MOST_ALONE:
        assert {row.nodes[0] for row in rows if row.alone} == single
        assert all(len(row.nodes) == 1 for row in rows if row.alone)
