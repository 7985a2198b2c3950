"""What an instance type, its image and its launch template give a node."""

from collections.abc import Mapping
from dataclasses import dataclass

from components.catalog import InstanceType, Vendor
from scripts.local.target.launch import Launch

__all__ = ["Hardware", "hardware"]

ARCHITECTURES = {"x86_64": "amd64", "arm64": "arm64"}

DEVICES = {"nvidia": "nvidia.com/gpu", "neuron": "aws.amazon.com/neuron"}
"""The resource that each vendor's device plugin offers."""

DRIVERS: Mapping[Vendor, tuple[str, ...]] = {
    "nvidia": ("NVIDIA", "GPU", "CUSTOM"),
    "neuron": ("NEURON", "GPU", "CUSTOM"),
}
"""Words in the AMI types whose images have the vendor's driver; one of our own is trusted."""

PAGE_MIB = 2

POD_MIB, BASE_MIB = 11, 255
"""Memory that the kubelet of the EKS AMI keeps back: 255 MiB, and 11 MiB for each pod that would
get an address without prefixes, whatever it is told of pods."""

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
    reserved_mib: int
    """Memory that is not for pods."""

    reserved_millicpus: int
    """Thousandths of a core that are not for pods."""

    switches: bool
    """Whether EC2 tells which network nodes are above an instance."""

    devices: Mapping[str, str]
    """Extended resources with their number."""


def hardware(kind: InstanceType, image_type: str, start: Launch) -> Hardware:
    """Give the capacity of a node of this type, image and template, once its plugins run.

    The VPC CNI of the target runs with prefixes, so addresses bound the pods by those.
    """
    devices: dict[str, str] = {}
    accelerator = kind.accelerator
    if accelerator and any(word in image_type for word in DRIVERS[accelerator.vendor]):
        devices[DEVICES[accelerator.vendor]] = str(accelerator.count)
    if start.efa_interfaces:
        devices["vpc.amazonaws.com/efa"] = str(start.efa_interfaces)
    # Decimal gigabytes to binary ones.
    nvme_gib = kind.local_nvme_gb * 10**9 // 2**30
    told, most = start.config, kind.max_pods_with_prefixes
    pods = min(told.max_pods, most) if told.max_pods else most
    kube_mib, kube_millis = told.kube_memory_mib, told.kube_cpu_millis
    if kube_mib is None:
        kube_mib = BASE_MIB + POD_MIB * kind.max_pods
    if kube_millis is None:
        kube_millis = _cpu_of_image(kind.vcpus)
    return Hardware(
        architecture=ARCHITECTURES[kind.architecture],
        vcpus=kind.vcpus,
        memory_mib=kind.memory_gib * 1024,
        max_pods=pods,
        disk_gib=nvme_gib if told.local_storage and nvme_gib else start.disk_gib,
        hugepages_mib=start.huge_pages * PAGE_MIB,
        reserved_mib=kube_mib + told.system_memory_mib,
        reserved_millicpus=kube_millis + told.system_cpu_millis,
        switches=any("network-node" in label for label in kind.topology_labels),
        devices=devices,
    )


def _cpu_of_image(vcpus: int) -> int:
    left, reserved = vcpus, 0.0
    for cores, each in CPU_STEPS:
        taken = min(left, cores)
        reserved += taken * each
        left -= taken
    return int(reserved + left * 2.5)
