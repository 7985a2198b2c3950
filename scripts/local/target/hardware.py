"""What an instance type gives a node, from the catalog."""

from collections.abc import Mapping
from dataclasses import dataclass

from components.catalog import InstanceType

__all__ = ["Hardware", "hardware"]

ARCHITECTURES = {"x86_64": "amd64", "arm64": "arm64"}

DEVICES = {"nvidia": "nvidia.com/gpu", "neuron": "aws.amazon.com/neuron"}
"""The resource that each vendor's device plugin offers."""

EFA_HUGEPAGES_MIB = 5128 * 2
"""5,128 pages of 2 MiB: what the EFA installer reserves on a node with EFA."""

POD_MIB, BASE_MIB = 11, 255
"""Memory that the kubelet of the EKS AMI keeps back: 255 MiB and 11 MiB for each pod."""

CPU_STEPS = ((1, 60), (1, 10), (2, 5))
"""Cores and the thousandths of each that it keeps back; of every further core 2.5."""


@dataclass(frozen=True)
class Hardware:
    """Capacity of a node of one instance type."""

    architecture: str
    vcpus: int
    memory_mib: int
    max_pods: int
    local_nvme_gib: int
    hugepages_mib: int
    accelerators: int
    devices: Mapping[str, str]
    """Extended resources with their number."""

    @property
    def reserved_mib(self) -> int:
        """Memory that is not for pods."""
        return BASE_MIB + POD_MIB * self.max_pods

    @property
    def reserved_millicpus(self) -> int:
        """Thousandths of a core that are not for pods."""
        left, reserved = self.vcpus, 0.0
        for cores, each in CPU_STEPS:
            taken = min(left, cores)
            reserved += taken * each
            left -= taken
        return int(reserved + left * 2.5)


def hardware(kind: InstanceType) -> Hardware:
    """Give the capacity of a node of this type, once its device plugins run."""
    devices: dict[str, str] = {}
    accelerator = kind.accelerator
    if accelerator:
        devices[DEVICES[accelerator.vendor]] = str(accelerator.count)
    if kind.efa_interfaces:
        devices["vpc.amazonaws.com/efa"] = str(kind.efa_interfaces)
    return Hardware(
        architecture=ARCHITECTURES[kind.architecture],
        vcpus=kind.vcpus,
        memory_mib=kind.memory_gib * 1024,
        max_pods=kind.max_pods,
        # Decimal gigabytes to binary ones.
        local_nvme_gib=kind.local_nvme_gb * 10**9 // 2**30,
        hugepages_mib=EFA_HUGEPAGES_MIB if kind.efa_interfaces and accelerator else 0,
        accelerators=accelerator.count if accelerator else 0,
        devices=devices,
    )
