"""Managed add-ons of EKS: when each is installed and what it may do, read from ``addons.yaml``."""

from collections.abc import Mapping
from datetime import date
from functools import cache
from pathlib import Path
from typing import Literal, Self

import yaml
from pydantic import BaseModel, ConfigDict, TypeAdapter, model_validator

__all__ = ["Addon", "Rights", "addons", "read"]

DATA = Path(__file__).with_name("addons.yaml")


class Rights(BaseModel):
    """What the pods of one service account of an add-on may do in AWS."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    service_account: str
    pod_identity: bool
    managed_policy: str | None = None
    actions: tuple[str, ...] = ()

    @model_validator(mode="after")
    def _can_be_given(self) -> Self:
        if (self.managed_policy is None) == (not self.actions):
            raise ValueError("name either a managed_policy or actions")
        if not self.pod_identity:
            raise ValueError("its software takes no rights from Pod Identity, and we give no other")
        return self


class Addon(BaseModel):
    """One add-on; ``rights`` is None when it calls no AWS API."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    before_nodes: bool
    rights: Rights | None = None
    source: str
    date: date
    confidence: Literal["high", "medium", "low"]


def read(text: str) -> Mapping[str, Addon]:
    """Read add-ons as the data file writes them, by name."""
    return TypeAdapter(dict[str, Addon]).validate_python(yaml.safe_load(text))


@cache
def addons() -> Mapping[str, Addon]:
    """Return every add-on that the program installs, by the name that EKS gives it."""
    return read(DATA.read_text(encoding="utf-8"))
