"""What makes two measurements comparable: the shape of the run, and the stack that it ran on. Pure.

Only measurements of equal settings are compared. The same shape on another stack is a changed
stack: that is said, and it blames nobody.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from pydantic import BaseModel, ConfigDict, PositiveInt

from components.catalog import InstanceType
from scripts.baseline.sample import Sample

__all__ = ["NONE", "Place", "Setting", "Stack", "place", "setting_of", "zone_of"]

NONE: Final = "none"
"""What a type without EFA has of EFA: known, and nothing."""

MIXED: Final = "mixed: "


class _Data(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Place(_Data):
    """Where the nodes stood: their zone, and whether one part of the network held them all."""

    zone: str = ""
    closeness: str = ""


class Stack(_Data):
    """Versions of all that moves the bytes; an empty one is not known."""

    image: str = ""
    nccl: str = ""
    nccl_tests: str = ""
    ofi: str = ""
    libfabric: str = ""
    efa: str = ""
    driver: str = ""
    kernel: str = ""


class Setting(_Data):
    """Everything but the message size and the placement of buffers, which each point has."""

    instance_type: str
    nodes: PositiveInt
    ranks_per_node: PositiveInt
    collective: str
    dtype: str
    flags: tuple[str, ...]
    place: Place
    stack: Stack

    @property
    def id(self) -> str:
        """Return its name; equal settings have the same."""
        return _digest(self.model_dump())

    @property
    def shape(self) -> str:
        """Return the name of its shape: what stays when the stack changes."""
        return _digest(self.model_dump(exclude={"stack"}))

    @property
    def gaps(self) -> tuple[str, ...]:
        """Return what is not known, or not the same on all nodes: with a gap nothing is equal."""
        values = {
            "collective": self.collective,
            "dtype": self.dtype,
            "zone": self.place.zone,
            **_stack(self.stack),
        }
        unknown = [f"{name} is not known" for name, value in values.items() if not value]
        mixed = [
            f"{name} differs between nodes: {value.removeprefix(MIXED)}"
            for name, value in values.items()
            if value.startswith(MIXED)
        ]
        return (*unknown, *mixed)

    def changes(self, since: "Setting") -> tuple[str, ...]:
        """Return how the stack differs from an earlier one: ``nccl 2.30.4 -> 2.31.0``."""
        before, now = _stack(since.stack), _stack(self.stack)
        return tuple(
            f"{name} {before[name] or '?'} -> {now[name] or '?'}"
            for name in now
            if now[name] != before[name]
        )

    def __str__(self) -> str:
        nodes = "node" if self.nodes == 1 else "nodes"
        where = f" in {self.place.zone}" if self.place.zone else ""
        close = f" ({self.place.closeness})" if self.place.closeness else ""
        return (
            f"{self.collective} {self.dtype} on {self.nodes} {nodes} x {self.ranks_per_node} of "
            f"{self.instance_type}{where}{close}"
        )


def setting_of(
    instance: InstanceType,
    nodes: int,
    sample: Sample,
    *,
    image: str,
    where: Place,
    facts: Sequence[Mapping[str, str]],
) -> Setting:
    """Return the setting of a measurement.

    Parameters
    ----------
    instance
        Type of the nodes.
    nodes
        How many ran.
    sample
        What was read from the log.
    image
        Image of the run; its digest counts, not the registry that it was pulled from.
    where
        See :func:`place`.
    facts
        What the check of each of these nodes recorded: kernel, driver, efa_driver.
    """
    efa = instance.efa_interfaces > 0 and nodes > 1
    stack = Stack(
        image=image.rpartition("@")[2],
        nccl=_one(sample.nccl),
        nccl_tests=_one(sample.nccl_tests),
        ofi=_one(sample.ofi) if efa else NONE,
        libfabric=_one(sample.libfabric) if efa else NONE,
        efa=_one(each.get("efa_driver", "") for each in facts) if efa else NONE,
        driver=_one(each.get("driver", "") for each in facts),
        kernel=_one(each.get("kernel", "") for each in facts),
    )
    return Setting(
        instance_type=instance.name,
        nodes=nodes,
        ranks_per_node=instance.accelerator.count if instance.accelerator else 1,
        collective=sample.collective,
        dtype=sample.dtype,
        flags=sample.flags,
        place=where,
        stack=stack,
    )


def place(provider_ids: Iterable[str], layers: Iterable[Sequence[str]] = ()) -> Place:
    """Return where nodes stand.

    Parameters
    ----------
    provider_ids
        Of each node: aws:///ZONE/INSTANCE.
    layers
        Of each node, the parts of the network above it from the widest to the narrowest, as EC2's
        topology labels name them; empty where EC2 does not tell.
    """
    zones = sorted({zone_of(each) for each in provider_ids})
    paths = [tuple(each) for each in layers]
    depth = min(map(len, paths), default=0)
    # Equal names count from the top only: a name below another parent is another place.
    same = next(
        (level for level in range(depth, 0, -1) if len({path[:level] for path in paths}) == 1), 0
    )
    known = bool(paths) and depth > 0
    closeness = (f"one layer {same}" if same else "several layers 1") if known else ""
    return Place(zone=" + ".join(filter(None, zones)), closeness=closeness)


def zone_of(provider_id: str) -> str:
    """Return the zone in a provider id, or nothing."""
    scheme, _, path = provider_id.partition(":///")
    return path.partition("/")[0] if scheme == "aws" else ""


def _one(values: Iterable[str]) -> str:
    """Return what all say; nothing where one does not know, and all words where they differ."""
    found: Collection[str] = sorted(set(values))
    if not found or "" in found:
        return ""
    return next(iter(found)) if len(found) == 1 else f"{MIXED}{', '.join(found)}"


def _stack(stack: Stack) -> dict[str, str]:
    return stack.model_dump()


def _digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:12]
