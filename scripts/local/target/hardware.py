"""What an instance type and its launch template give a node."""

from collections.abc import Mapping
from dataclasses import dataclass

from components.catalog import InstanceType
from scripts.local.target.launch import Launch

__all__ = ["Hardware", "hardware"]

ARCHITECTURES = {"x86_64": "amd64", "arm64": "arm64"}

DEVICES = {"nvidia": "nvidia.com/gpu", "neuron": "aws.amazon.com/neuron"}
"""The resource that each vendor's device plugin offers."""

PAGE_MIB = 2

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
    disk_gib: int
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


def hardware(kind: InstanceType, start: Launch) -> Hardware:
    """Give the capacity of a node of this type and launch template, once its plugins run."""
    devices: dict[str, str] = {}
    accelerator = kind.accelerator
    if accelerator:
        devices[DEVICES[accelerator.vendor]] = str(accelerator.count)
    if start.efa_interfaces:
        devices["vpc.amazonaws.com/efa"] = str(start.efa_interfaces)
    # Decimal gigabytes to binary ones.
    nvme_gib = kind.local_nvme_gb * 10**9 // 2**30
    return Hardware(
        architecture=ARCHITECTURES[kind.architecture],
        vcpus=kind.vcpus,
        memory_mib=kind.memory_gib * 1024,
        max_pods=kind.max_pods,
        disk_gib=nvme_gib if start.local_storage and nvme_gib else start.disk_gib,
        hugepages_mib=start.huge_pages * PAGE_MIB,
        accelerators=accelerator.count if accelerator else 0,
        devices=devices,
    )
