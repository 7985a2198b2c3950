from pathlib import Path

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


def test_a_row_with_an_end_is_silent_beyond_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = "{nodes: 1, from_gib: 8, busbw: 325, until_nodes: 2, confidence: low, date: 2026-12-01,"
    (tmp_path / "floors.yaml").write_text(f"all_gather: {{p5.48xlarge: [{rows} source: a}}]}}")
    monkeypatch.setattr("components.catalog.floors.DATA", tmp_path / "floors.yaml")
    floors.cache_clear()
    try:
        known = [floor("p5.48xlarge", nodes, "all_gather") for nodes in (1, 2, 3)]
    finally:
        floors.cache_clear()
    assert [found.busbw if found else None for found in known] == [325, 325, None]


@pytest.mark.parametrize(
    ("collective", "nodes", "busbw"),
    [
        ("all_reduce", 4, 330),
        ("all_gather", 1, 325),
        ("all_gather", 4, 290),
        ("reduce_scatter", 4, 290),
        ("alltoall", 2, 65),
        ("alltoall", 4, 37),
        ("alltoall", 8, 35),
        ("alltoall", 128, 20),
        ("broadcast", 4, None),
    ],
)
def test_every_collective_of_a_sweep_has_floors_of_its_own(
    collective: str, nodes: int, busbw: float | None
) -> None:
    found = floor("p5.48xlarge", nodes, collective)
    assert (found.busbw if found else None) == busbw


def test_a_type_with_a_floor_has_one_for_each_collective_of_a_sweep() -> None:
    types = {frozenset(of) for of in floors().values()}
    assert set(floors()) == {"all_reduce", "all_gather", "reduce_scatter", "alltoall"}
    assert len(types) == 1


def test_every_floor_is_of_a_type_in_the_catalog_and_says_where_it_is_from() -> None:
    for types in floors().values():
        for name, rows in types.items():
            assert name in instance_types()
            assert all(row.source and row.confidence in {"high", "medium", "low"} for row in rows)
            assert [row.nodes for row in rows] == sorted({row.nodes for row in rows})
