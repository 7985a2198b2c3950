"""What shall go wrong: faults of nodes, kept in a file, also for nodes that are still to come."""

import dataclasses
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripts.errors import UsageError
from scripts.local.target.files import write_json

__all__ = ["NODE_FAULTS", "Fault", "Spot", "add", "clear", "faults_at", "load", "spot"]

NODE_FAULTS: Mapping[str, str] = {
    "devices": "its device plugin offers one GPU fewer",
    "agent": "the node monitoring agent reports uncorrectable memory errors of a GPU",
    "dead": "it is down: not Ready, and pods there never finish",
    "gpu": "a GPU has fallen off the bus",
    "ecc": "a GPU had an uncorrectable memory error and cannot remap the row",
    "xid": "the kernel log has an Xid that asks for another instance",
    "throttle": "the hardware slows a GPU's clocks down",
    "pcie": "a GPU's PCIe link has half its lanes",
    "nvlink": "an NVLink is inactive",
    "dcgm": "DCGM's memory test finds a mismatch, and nothing else does",
    "nvlink-slow": "its NVLinks are active and slow: only a run on it alone shows that",
    "wrong": "results of collectives are wrong",
    "nic": "NCCL finds one EFA device fewer than there are",
    "link": "an EFA link is slow",
    "socket": "NCCL finds no EFA and uses sockets",
    "hang": "collectives with other nodes stop in the middle",
    "scale": "it is slow among eight nodes and more, and fast with fewer",
    "storage": "the shared file system is slow there",
    "mount": "the shared file system is not mounted there",
    "returns": "nothing is wrong, but when it is replaced the same GPUs come back",
}
"""Kinds of faults, from the cheapest check that shows one to the dearest."""

POOL_LABEL = "trainyard.dev/pool"
WAVE_LABEL = "trainyard.dev/wave"
INDEX_ANNOTATION = "trainyard.dev/index"


@dataclass(frozen=True)
class Spot:
    """Where a node stands: what selectors look at."""

    name: str
    pool: str | None
    wave: str | None
    index: int | None
    """Position in its node group, from 0; a replacement takes the position it replaces."""


@dataclass(frozen=True)
class Fault:
    """A kind of fault and the nodes it hits: one by name, or all at a place.

    Of pool, wave and index each that is None hits them all; a node that does not exist yet is hit
    as soon as it does.
    """

    kind: str
    node: str | None = None
    pool: str | None = None
    wave: str | None = None
    index: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in NODE_FAULTS:
            raise UsageError(
                f"{self.kind!r} is no fault of a node; there are {', '.join(NODE_FAULTS)}"
            )
        if (self.node is None) == (self.pool is None):
            raise UsageError(
                f"which node shall have the fault {self.kind!r}? give either --node NAME, or"
                " --pool P with --wave W and --index I to narrow it"
            )
        if self.node is not None and (self.wave is not None or self.index is not None):
            raise UsageError("--wave and --index narrow a --pool; a --node is one node already")

    def hits(self, where: Spot) -> bool:
        """Say whether a node has this fault."""
        if self.node is not None:
            return self.node == where.name
        return (
            self.pool == where.pool
            and self.wave in (None, where.wave)
            and self.index in (None, where.index)
        )

    def __str__(self) -> str:
        if self.node is not None:
            return f"{self.kind} on node {self.node}"
        wave = "every wave" if self.wave is None else f"wave {self.wave}"
        index = "every node" if self.index is None else f"node {self.index}"
        return f"{self.kind} on {index} of {wave} of pool {self.pool}"


def spot(name: str, labels: Mapping[str, str], annotations: Mapping[str, str]) -> Spot:
    """Give the place of a node by its labels and annotations."""
    index = annotations.get(INDEX_ANNOTATION)
    return Spot(
        name, labels.get(POOL_LABEL), labels.get(WAVE_LABEL), None if index is None else int(index)
    )


def faults_at(faults: Iterable[Fault], where: Spot) -> frozenset[str]:
    """Give the kinds of fault that a node has."""
    return frozenset(fault.kind for fault in faults if fault.hits(where))


def load(path: Path) -> tuple[Fault, ...]:
    """Read the faults that are set; none when there is no file."""
    if not path.exists():
        return ()
    entries: list[dict[str, Any]] = json.loads(path.read_bytes())
    return tuple(Fault(**entry) for entry in entries)


def add(path: Path, fault: Fault) -> None:
    """Set a fault; one that is set already stays as it is."""
    faults = load(path)
    if fault not in faults:
        _save(path, (*faults, fault))


def clear(path: Path, matches: Mapping[str, object]) -> tuple[Fault, ...]:
    """Take back the faults whose fields are as given, all when none is given; gives these."""

    def chosen(fault: Fault) -> bool:
        return all(getattr(fault, name) == value for name, value in matches.items())

    faults = load(path)
    _save(path, tuple(fault for fault in faults if not chosen(fault)))
    return tuple(fault for fault in faults if chosen(fault))


def _save(path: Path, faults: Iterable[Fault]) -> None:
    write_json(path, [dataclasses.asdict(fault) for fault in faults])
