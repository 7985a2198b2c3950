"""What a launch template says about the machines made from it."""

from dataclasses import dataclass, field
from typing import Any

from scripts.local.target.user_data import NodeConfig, UserData, UserDataError, read

__all__ = ["Launch", "launch"]

Json = dict[str, Any]

DEFAULT_DISK_GIB = 20
"""Root volume of a managed node group whose template and settings name none."""

EFA_KINDS = ("efa", "efa-only")


@dataclass(frozen=True)
class Launch:
    """The parts of a launch template's data that a Node shows."""

    instance_type: str | None = None
    image: str | None = None
    efa_interfaces: int = 0
    huge_pages: int = 0
    """Pages of 2 MiB that the user data sets aside."""

    disk_gib: int = DEFAULT_DISK_GIB
    config: NodeConfig = field(default_factory=NodeConfig)
    defect: str | None = None
    """Why a machine of this template never becomes a node."""


def launch(data: Json) -> Launch:
    """Read the data of a launch template version; an empty one is a node group without."""
    told, defect = UserData(), None
    try:
        told = read(data.get("UserData"))
    except UserDataError as error:
        defect = str(error)
    missing = told.config.not_told
    if data.get("ImageId") and missing:
        defect = f"the NodeConfig for an image of one's own lacks spec.cluster.{missing[0]}"
    interfaces: list[Json] = data.get("NetworkInterfaces") or []
    volumes: list[Json] = data.get("BlockDeviceMappings") or []
    disks: list[Json] = [each["Ebs"] for each in volumes if each.get("Ebs")]
    sizes = [int(disk["VolumeSize"]) for disk in disks if "VolumeSize" in disk]
    return Launch(
        instance_type=data.get("InstanceType"),
        image=data.get("ImageId"),
        efa_interfaces=sum(each.get("InterfaceType") in EFA_KINDS for each in interfaces),
        huge_pages=told.huge_pages,
        disk_gib=sizes[0] if sizes else DEFAULT_DISK_GIB,
        config=told.config,
        defect=defect,
    )
