import pytest

from components.catalog import instance_types
from components.catalog.floors import GIB, floor, floors


@pytest.mark.parametrize(
    ("kind", "nodes", "gib", "busbw"),
    [
        ("p5.48xlarge", 1, 8, 450),
        ("p5.48xlarge", 2, 8, 430),
        ("p5.48xlarge", 2, 4, None),
        ("p5.48xlarge", 3, 4, 330),
        ("p5.48xlarge", 128, 16, 330),
        ("p4d.24xlarge", 2, 1, 70),
        ("p6-b300.48xlarge", 2, 8, None),
        ("g6.48xlarge", 2, 8, None),
    ],
)
def test_the_row_with_the_most_nodes_that_are_reached_speaks(
    kind: str, nodes: int, gib: int, busbw: float | None
) -> None:
    found = floor(kind, nodes, size_bytes=gib * GIB)
    assert (found.busbw if found else None) == busbw


def test_a_row_for_one_node_only_is_silent_beyond_it() -> None:
    known = floor("p5.48xlarge", 1, "all_gather")
    assert known is not None
    assert known.busbw == 325
    assert floor("p5.48xlarge", 2, "all_gather") is None


def test_every_floor_is_of_a_type_in_the_catalog_and_says_where_it_is_from() -> None:
    for types in floors().values():
        for name, rows in types.items():
            assert name in instance_types()
            assert all(row.source and row.confidence in {"high", "medium", "low"} for row in rows)
            assert [row.nodes for row in rows] == sorted({row.nodes for row in rows})
