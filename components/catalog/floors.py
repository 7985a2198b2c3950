"""Bandwidth floors: what a healthy set of nodes reaches at least, read from ``floors.yaml``."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, PositiveFloat, PositiveInt, TypeAdapter

__all__ = ["GIB", "Floor", "floor", "floors"]

DATA = Path(__file__).with_name("floors.yaml")

GIB = 2**30
"""nccl-tests sizes are powers of two, while its GB/s are decimal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Floor:
    """The lowest good ``busbw`` (GB/s), for ``nodes`` nodes and more, from ``from_bytes`` on.

    ``until_nodes`` is the last node count the row speaks for; None where there is no last one.
    """

    nodes: int
    from_bytes: int
    busbw: float
    source: str
    date: date
    confidence: Literal["high", "medium", "low", "given"]
    until_nodes: int | None = None


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    nodes: PositiveInt
    from_gib: PositiveInt
    busbw: PositiveFloat
    confidence: Literal["high", "medium", "low"]
    date: date
    source: str
    until_nodes: PositiveInt | None = None


@cache
def floors() -> Mapping[str, Mapping[str, tuple[Floor, ...]]]:
    """Return every floor by collective and instance type, in ascending order of nodes."""
    rows = TypeAdapter(dict[str, dict[str, list[_Row]]]).validate_python(
        yaml.safe_load(DATA.read_text(encoding="utf-8"))
    )
    return {
        collective: {
            name: tuple(_floor(row) for row in sorted(types[name], key=lambda row: row.nodes))
            for name in types
        }
        for collective, types in rows.items()
    }


def floor(
    instance_type: str, nodes: int, collective: str = "all_reduce", size_bytes: int | None = None
) -> Floor | None:
    """Return the floor for ``size_bytes`` on ``nodes`` nodes, or None where there is none.

    The row with the most nodes that are not more than ``nodes`` speaks; a size below its window has
    no floor. Without a size the row is returned whatever its window.
    """
    rows = floors().get(collective, {}).get(instance_type, ())
    reached = [row for row in rows if row.nodes <= nodes]
    if not reached:
        return None
    nearest = reached[-1]
    if nearest.until_nodes is not None and nodes > nearest.until_nodes:
        return None
    if size_bytes is not None and size_bytes < nearest.from_bytes:
        return None
    return nearest


def _floor(row: _Row) -> Floor:
    return Floor(
        nodes=row.nodes,
        from_bytes=row.from_gib * GIB,
        busbw=row.busbw,
        source=row.source,
        date=row.date,
        confidence=row.confidence,
        until_nodes=row.until_nodes,
    )
