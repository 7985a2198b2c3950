"""What a run on given nodes must show, from the catalog and the accelerator profiles."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from typing import Final

from components.catalog import InstanceType
from components.catalog.floors import GIB, Floor, floor
from scripts.errors import UsageError
from scripts.node.profiles import profile

__all__ = ["GIVEN_FROM_BYTES", "Expectation", "Sweep", "expect", "sweep"]

GIVEN_FROM_BYTES: Final = 4 * GIB
"""Where the window of a floor given by hand begins for a type that has none of its own."""

SWEEP_LOW: Final = GIB
SWEEP_HIGH: Final = 16 * GIB
BUFFERS: Final = 3
"""nccl-tests holds a send, a receive and an expected buffer of the largest size while it checks."""

RESERVE: Final = 2 * GIB
"""Left for CUDA's and NCCL's own needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """The shape and the floor that a log is held against.

    ``nics`` is how many EFA devices each node must find; 0 where the type has none, and then no
    claim is made about the network. ``hosts`` names the hosts that must hold the ranks, if known.
    ``communicators`` is into how many groups of equal size the ranks were split on purpose.
    """

    instance_type: str
    accelerator: str
    nodes: int
    gpus: int
    nics: int
    gdrdma: bool
    nvls: bool
    floor: Floor | None
    collective: str = "all_reduce"
    hosts: frozenset[str] | None = None
    communicators: int = 1

    @property
    def ranks(self) -> int:
        """One rank a GPU."""
        return self.nodes * self.gpus

    @property
    def ranks_together(self) -> int:
        """Ranks of one communicator: bus bandwidth is reckoned with them."""
        return self.ranks // self.communicators


@dataclass(frozen=True, slots=True)
class Sweep:
    """Message sizes to run, bytes, doubled from ``low`` to ``high``."""

    low: int
    high: int


def sweep(instance: InstanceType) -> Sweep:
    """Return the sizes whose buffers fit one GPU of this type: 1 GiB up to 16 GiB at most."""
    if instance.accelerator is None:
        raise UsageError(f"{instance.name} has no accelerator: there is nothing to run on")
    room = instance.accelerator.memory_mib * 2**20 - RESERVE
    high = SWEEP_HIGH
    while high > SWEEP_LOW and high * BUFFERS > room:
        high //= 2
    return Sweep(SWEEP_LOW, high)


def expect(
    instance: InstanceType,
    nodes: int,
    *,
    collective: str = "all_reduce",
    floor_gbps: float | None = None,
    hosts: Collection[str] | None = None,
    communicators: int = 1,
) -> Expectation:
    """Return what ``nodes`` nodes of a type must show; ``floor_gbps`` replaces the catalog's floor.

    The catalog's floors between nodes hold over EFA; for a type taken without it there is none, and
    none for ranks that were split into several communicators.

    Raises
    ------
    UsageError
        If the type has no NVIDIA GPU: NCCL does not run there. If the ranks cannot be split so.
    """
    accelerator = instance.accelerator
    if accelerator is None or accelerator.vendor != "nvidia":
        raise UsageError(
            f"{instance.name} has no NVIDIA GPU, and NCCL runs on nothing else; "
            "name the type that the log was made on"
        )
    ranks = nodes * accelerator.count
    if ranks % communicators:
        raise UsageError(
            f"{ranks} ranks do not fall into {communicators} communicators of one size; give the "
            "number that NCCL_TESTS_SPLIT made"
        )
    gpu = profile(instance)
    over_efa = nodes == 1 or instance.efa_interfaces > 0
    whole = over_efa and communicators == 1
    known = floor(instance.name, nodes, collective) if whole else None
    if floor_gbps is not None:
        known = Floor(
            nodes=nodes,
            from_bytes=known.from_bytes if known else GIVEN_FROM_BYTES,
            busbw=floor_gbps,
            source="given with --floor",
            date=date.min,
            confidence="given",
        )
    return Expectation(
        instance_type=instance.name,
        accelerator=accelerator.name,
        nodes=nodes,
        gpus=accelerator.count,
        nics=instance.efa_interfaces,
        gdrdma=gpu.gdrdma,
        nvls=gpu.nvls,
        floor=known,
        collective=collective,
        hosts=None if hosts is None else frozenset(hosts),
        communicators=communicators,
    )
