"""The rules of the blacklist, read from ``policy.yaml``."""

from datetime import datetime, timedelta
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, PositiveInt

from scripts.node.profiles import Severity

__all__ = ["Cause", "Policy", "cause_of", "policy"]

DATA = Path(__file__).with_name("policy.yaml")


class Cause(StrEnum):
    """What put hardware on the blacklist: a check's severity, the fabric, or a person."""

    ISOLATE = "isolate"
    REBOOT = "reboot"
    RESET = "reset"
    LINK = "link"
    MANUAL = "manual"


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    confidence: Literal["high", "medium", "low"]
    source: str


class Term(_Data):
    """How long an entry holds, in days; None is for ever."""

    days: PositiveInt | None


class Repeats(_Data):
    """From how many entries in how many days the last one holds for ever."""

    times: PositiveInt
    within_days: PositiveInt


class Policy(BaseModel):
    """The whole of ``policy.yaml``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    causes: dict[Cause, Term]
    repeats: Repeats
    keep_days: PositiveInt
    hardware: frozenset[str]
    other: frozenset[str]

    def until(self, cause: Cause, at: datetime, earlier: int) -> datetime | None:
        """Return when an entry made ``at`` is over; None for never.

        ``earlier`` counts the entries about the same hardware within ``repeats.within_days``.
        """
        days = self.causes[cause].days
        if days is None or earlier + 1 >= self.repeats.times:
            return None
        return at + timedelta(days=days)


def cause_of(severity: Severity) -> Cause | None:
    """Return the cause for a check of this severity; None where nothing failed."""
    return {
        Severity.ISOLATE: Cause.ISOLATE,
        Severity.REBOOT: Cause.REBOOT,
        Severity.RESET: Cause.RESET,
    }.get(severity)


@cache
def policy() -> Policy:
    """Return the policy."""
    return Policy.model_validate(yaml.safe_load(DATA.read_text(encoding="utf-8")))
