"""How long a collective may be silent before it counts as hung, read from ``silence.yaml``."""

from datetime import date
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, PositiveInt, TypeAdapter

__all__ = ["silent_seconds"]

DATA = Path(__file__).with_name("silence.yaml")


class _Row(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    until_nodes: PositiveInt | None
    seconds: PositiveInt
    source: str
    date: date
    confidence: Literal["high", "medium", "low"]


@cache
def _rows() -> tuple[_Row, ...]:
    text = DATA.read_text(encoding="utf-8")
    return TypeAdapter(tuple[_Row, ...]).validate_python(yaml.safe_load(text))


def silent_seconds(nodes: int) -> int:
    """Return after how many seconds without output a run over ``nodes`` nodes is stopped."""
    return next(
        row.seconds for row in _rows() if row.until_nodes is None or nodes <= row.until_nodes
    )
