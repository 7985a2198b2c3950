"""Facts about node images and about what the node monitoring agent reports of hardware."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any

import yaml

from components.catalog import DATA, Architecture, Confidence, InstanceType, Vendor

__all__ = ["ImageType", "Repair", "Repairs", "image_type", "image_types", "repairs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageType:
    """An EKS image type: for which accelerators and architecture, from which Kubernetes on."""

    type: str
    vendor: Vendor | None
    architecture: Architecture
    first_kubernetes: str
    source: str
    date: date
    confidence: Confidence


@dataclass(frozen=True, slots=True, kw_only=True)
class Repair:
    """What EKS does by default ``minutes`` after a condition has turned bad: one of ``actions``."""

    minutes: int
    actions: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """Every condition that EKS acts on; and reasons of one, ``condition``, with what each allows.

    Actions are Replace, Reboot and NoAction.
    """

    condition: str
    conditions: Mapping[str, Repair]
    reasons: Mapping[Vendor, Mapping[str, str]]
    source: str
    date: date
    confidence: Confidence


@cache
def image_types() -> tuple[ImageType, ...]:
    """Return every image type, the first that fits being the one to use."""
    return tuple(ImageType(**row) for row in _load("images.yaml"))


def image_type(kind: InstanceType, kubernetes: str) -> ImageType | None:
    """Return the image type for nodes of ``kind``, or None if there is none for ``kubernetes``."""
    vendor = kind.accelerator.vendor if kind.accelerator else None
    for each in image_types():
        if (each.vendor, each.architecture) == (vendor, kind.architecture):
            return each if _version(kubernetes) >= _version(each.first_kubernetes) else None
    return None


@cache
def repairs() -> Repairs:
    """Return what may be repaired, and how."""
    content = _load("repairs.yaml")
    conditions = {
        name: Repair(minutes=row["minutes"], actions=tuple(row["actions"]))
        for name, row in content.pop("conditions").items()
    }
    return Repairs(conditions=conditions, **content)


def _version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def _load(file: str) -> Any:  # noqa: ANN401 - data of any shape, typed by who asks
    content: Any = yaml.load((DATA / file).read_text(), yaml.CSafeLoader)
    return content
