"""When a measurement is a regression: the rules of ``components/catalog/regression.yaml``."""

from datetime import date as day
from functools import cache
from itertools import pairwise
from typing import Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, Field, NegativeFloat, PositiveInt, model_validator

from components.catalog import DATA

__all__ = ["Rules", "SizeClass", "WaveRules", "rules"]

Share = float
"""A part of the baseline: 0.05 is 5 %."""


class _Sourced(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str
    date: day
    confidence: Literal["high", "medium", "low"]


class SizeClass(_Sourced):
    """Message sizes that are judged alike; ``fail`` None never fails."""

    name: str
    until_bytes: PositiveInt | None
    measure: Literal["busbw", "time"]
    warn: Share = Field(gt=0, lt=1)
    fail: Share | None = Field(gt=0, lt=1)


class Suspicious(_Sourced):
    """By how much a measurement may be better before it is rather another one."""

    above: Share = Field(gt=0)


class Confirmations(_Sourced):
    """How many runs must fail at the same size."""

    runs: int = Field(ge=2)


class WaveRules(_Sourced):
    """When a node stands out among the others of its wave."""

    enough: PositiveInt
    z: NegativeFloat
    below: Share = Field(gt=0, lt=1)
    few_below: Share = Field(gt=0, lt=1)
    least_mad: Share = Field(gt=0, lt=1)


class BaselineRules(_Sourced):
    """What a baseline must rest on."""

    runs: int = Field(ge=2)
    latest: PositiveInt
    spread: Share = Field(gt=0, lt=1)


class Rules(BaseModel):
    """The whole of ``regression.yaml``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sizes: tuple[SizeClass, ...]
    suspicious: Suspicious
    confirmations: Confirmations
    wave: WaveRules
    baseline: BaselineRules

    @model_validator(mode="after")
    def _covers_every_size_once(self) -> Self:
        ends = [each.until_bytes for each in self.sizes]
        if not ends or ends[-1] is not None or None in ends[:-1]:
            raise ValueError("the last class of sizes, and only it, goes on without end")
        if any(first >= second for first, second in pairwise(filter(None, ends))):
            raise ValueError("classes of sizes must be in rising order")
        return self

    def of(self, size: int) -> SizeClass:
        """Return the class of a message size (bytes)."""
        return next(
            each for each in self.sizes if each.until_bytes is None or size <= each.until_bytes
        )


@cache
def rules() -> Rules:
    """Return the rules."""
    return Rules.model_validate(
        yaml.safe_load((DATA / "regression.yaml").read_text(encoding="utf-8"))
    )
