"""What the layers tell each other about nodes: a pool's capacity, and a wave that wants proof."""

from collections.abc import Callable
from dataclasses import dataclass

import pulumi

from components.catalog import InstanceType

__all__ = ["EFA", "GPU", "NEURON", "UNPROVED", "Capacity", "Gate", "Wave", "capacity"]

GPU = "nvidia.com/gpu"
NEURON = "aws.amazon.com/neuron"
EFA = "vpc.amazonaws.com/efa"
UNPROVED = "trainyard.dev/unproved"
"""Start-up taint; only a passed gate takes it from a node."""

HUGE_PAGES = "hugepages-2Mi"

HUGE_PAGES_MIB = 10240
"""Huge pages of a node that jobs may ask for: 5,120 pages of 2 MiB."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """What a pool has to share: amounts of each resource over all its nodes.

    CPUs are whole, memory and huge pages are MiB, GPUs and EFA devices are counted.
    """

    pool: str
    topology: tuple[str, ...]
    amounts: dict[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wave:
    """What a gate must know of a wave of nodes.

    ``replace`` is how many bad nodes it may replace, 0 for none; ``repaired`` tells whether EKS
    repairs nodes of the wave by itself, so that the gate leaves those alone.
    """

    pool: str
    number: int
    nodes: int
    instance_type: str
    efa: bool
    floor_gbps: float | None
    replace: int
    repaired: bool
    image_release: str
    template_version: pulumi.Output[str]
    group: pulumi.Resource
    group_id: pulumi.Output[str]


Gate = Callable[[Wave], pulumi.Resource]
"""Proves a wave, and returns the resource that the next wave waits for."""


def capacity(pool: str, kind: InstanceType, nodes: int, *, efa: bool) -> Capacity:
    """Return what ``nodes`` of ``kind`` have to share."""
    each = {
        "cpu": kind.vcpus,
        "memory": kind.memory_gib * 1024,
        GPU: kind.accelerator.count if kind.accelerator else 0,
    }
    if efa:
        each |= {EFA: kind.efa_interfaces, HUGE_PAGES: HUGE_PAGES_MIB}
    return Capacity(
        pool=pool,
        topology=kind.topology_labels,
        amounts={resource: amount * nodes for resource, amount in each.items()},
    )
