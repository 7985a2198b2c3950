"""Facts about node images and about what the node monitoring agent reports of hardware."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any

import yaml

from components.catalog import DATA, Architecture, Confidence, InstanceType, Vendor

__all__ = ["ImageType", "Repairs", "image_type", "image_types", "repairs"]


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
class Repairs:
    """Reasons of a condition and the action (Replace, Reboot, NoAction) that each allows."""

    condition: str
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
    return Repairs(**_load("repairs.yaml"))


def _version(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def _load(file: str) -> Any:  # noqa: ANN401 - data of any shape, typed by who asks
    content: Any = yaml.load((DATA / file).read_text(), yaml.CSafeLoader)
    return content
