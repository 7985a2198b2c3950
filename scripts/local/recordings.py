"""The recordings that answers of simulated nodes are made from, and what such a node is."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

import yaml

from components.catalog import Accelerator, InstanceType

__all__ = ["SimulatedNode", "accelerator", "text", "values"]

RECORDED = Path(__file__).parent / "recorded"


@dataclass(frozen=True)
class SimulatedNode:
    """A node of the embedded target, by what its answers depend on."""

    name: str
    instance_type: str
    faults: frozenset[str]
    machine: str = ""
    """The instance behind the name, by which its GPUs are known; the name itself when left out."""


def accelerator(instance: InstanceType) -> Accelerator:
    """Return the GPUs of a type; one without has no answers."""
    if instance.accelerator is None:
        raise ValueError(f"{instance.name} has no accelerator, so it has no answers")
    return instance.accelerator


def text(name: str, filled: Mapping[str, object]) -> list[str]:
    """Return the lines of a recording, with its names filled in."""
    return Template(_read(name)).substitute(filled).splitlines()


@cache
def values() -> dict[str, Any]:
    """Return the values of ``platforms.yaml``."""
    return yaml.safe_load(_read("platforms.yaml"))


@cache
def _read(name: str) -> str:
    return (RECORDED / name).read_text(encoding="utf-8")
