"""Whether bad instances can be replaced, and how far that may go; from ``replacement.yaml``."""

from collections.abc import Mapping
from datetime import date, timedelta
from functools import cache

import yaml
from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from components.catalog import DATA, Confidence

__all__ = ["Limits", "Replacement", "budget", "obstacle", "replacement"]


class _Fact(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    source: str
    date: date
    confidence: Confidence


class Source(_Fact):
    """Whether ``another`` instance can be had for one that was terminated."""

    another: bool


class UltraServers(_Fact):
    """Types of which several instances make one machine."""

    types: frozenset[str]


class Repaired(_Fact):
    """Conditions of a node about which EKS does something by itself."""

    conditions: frozenset[str]


class Limits(_Fact):
    """How far replacing goes: a share of a wave, times, and spans of time."""

    share: float = Field(gt=0, le=1)
    times: PositiveInt
    budget_days: PositiveInt
    keep_days: PositiveInt

    @property
    def budget_span(self) -> timedelta:
        """How far back a budget counts."""
        return timedelta(days=self.budget_days)

    @property
    def kept(self) -> timedelta:
        """How long it is remembered which hardware was sent back."""
        return timedelta(days=self.keep_days)


class Replacement(BaseModel):
    """The whole of the file; sources by their name in a pool's ``capacity``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sources: Mapping[str, Source]
    ultraservers: UltraServers
    repaired: Repaired
    limits: Limits


@cache
def replacement() -> Replacement:
    """Return what is known about replacing instances."""
    text = (DATA / "replacement.yaml").read_text(encoding="utf-8")
    return Replacement.model_validate(yaml.safe_load(text))


def obstacle(instance: str, source: str) -> str:
    """Return why no other instance can be had for a bad one; empty where one can.

    ``instance`` is the name of a type, ``source`` of a way of buying.
    """
    known = replacement()
    if instance in known.ultraservers.types:
        return f"one {instance} cannot be replaced by itself: it is part of an UltraServer"
    if not known.sources[source].another:
        return f"{source} capacity gives no other instance for one that is terminated"
    return ""


def budget(nodes: int) -> int:
    """Return how many of a wave of ``nodes`` may be replaced where nobody said."""
    return max(1, int(nodes * replacement().limits.share))
