"""What a launch template says about the machines made from it."""

import base64
import re
from dataclasses import dataclass
from typing import Any

__all__ = ["Launch", "launch"]

Json = dict[str, Any]

DEFAULT_DISK_GIB = 20
"""Root volume of a managed node group whose template and settings name none."""

HUGE_PAGES = re.compile(r"vm\.nr_hugepages\s*=\s*(?P<pages>\d+)")
LOCAL_STORAGE = "localStorage:"
"""In a NodeConfig: makes the local NVMe drives the node's ephemeral storage."""

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
    local_storage: bool = False


def launch(data: Json) -> Launch:
    """Read the data of a launch template version; an empty one is a node group without."""
    user_data = base64.b64decode(data.get("UserData") or "").decode(errors="replace")
    pages = HUGE_PAGES.search(user_data)
    interfaces: list[Json] = data.get("NetworkInterfaces") or []
    volumes: list[Json] = data.get("BlockDeviceMappings") or []
    disks: list[Json] = [each["Ebs"] for each in volumes if each.get("Ebs")]
    sizes = [int(disk["VolumeSize"]) for disk in disks if "VolumeSize" in disk]
    return Launch(
        instance_type=data.get("InstanceType"),
        image=data.get("ImageId"),
        efa_interfaces=sum(each.get("InterfaceType") in EFA_KINDS for each in interfaces),
        huge_pages=int(pages["pages"]) if pages else 0,
        disk_gib=sizes[0] if sizes else DEFAULT_DISK_GIB,
        local_storage=LOCAL_STORAGE in user_data,
    )
