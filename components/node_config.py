"""What an accelerator node is told before its kubelet starts: user data of the EKS images.

A NodeConfig for nodeadm, and a script that writes files only, so that a reboot changes nothing.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import yaml

from components.catalog import InstanceType

__all__ = ["HUGE_PAGES", "Join", "node_config", "user_data"]

HUGE_PAGES = 5128
"""Pages of 2 MiB for EFA's buffers: 5 GiB and a little (what the EFA installer sets)."""

HOST_NETWORK_PODS = 12
"""Pods of a node that use its own address: CNI, kube-proxy, agents, plugins and exporters."""

SYSTEM_CPU = "1"
SYSTEM_MEMORY = "4Gi"
SYSTEM_DISK = "2Gi"
"""Kept for what runs beside Kubernetes: EFA's buffers in the kernel, Lustre's client, chrony."""

PULLS_AT_ONCE = 6
"""Images pulled side by side. An image of training jobs has some 20 GB; one by one, small agents
would wait behind it, and with more the disk is the limit."""

KERNEL: Mapping[str, int] = {
    "fs.inotify.max_user_instances": 8192,
    "fs.inotify.max_user_watches": 524288,
    "kernel.numa_balancing": 0,
    "net.core.somaxconn": 4096,
    "net.ipv4.neigh.default.gc_thresh1": 8192,
    "net.ipv4.neigh.default.gc_thresh2": 32768,
    "net.ipv4.neigh.default.gc_thresh3": 65536,
    "vm.max_map_count": 1048576,
    "vm.swappiness": 0,
}
"""Kernel parameters: thousands of neighbours and watches, no memory moved under a running job."""

BOUNDARY = "trainyard"


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """What a node of an image of our own must know to join; EKS tells it to its own images."""

    cluster: str
    endpoint: str
    authority: str
    service_cidr: str
    taints: tuple[str, ...]


def node_config(
    kind: InstanceType, *, pods_per_node: int, join: Join | None = None
) -> dict[str, Any]:
    """Return the NodeConfig of a node of ``kind``.

    Parameters
    ----------
    kind
        A row of the catalog.
    pods_per_node
        Pods that need an address; the address plan counts on no more.
    join
        Only for an image of our own.
    """
    most = min(kind.max_pods_with_prefixes, pods_per_node + HOST_NETWORK_PODS)
    kubelet: dict[str, Any] = {
        "config": {
            "maxPods": most,
            "serializeImagePulls": False,
            "maxParallelImagePulls": PULLS_AT_ONCE,
            "registryPullQPS": 20,
            "registryBurst": 40,
            "systemReserved": {
                "cpu": SYSTEM_CPU,
                "memory": SYSTEM_MEMORY,
                "ephemeral-storage": SYSTEM_DISK,
            },
        }
    }
    spec: dict[str, Any] = {"kubelet": kubelet}
    if join:
        kubelet["flags"] = [f"--register-with-taints={','.join(join.taints)}"]
        spec["cluster"] = {
            "name": join.cluster,
            "apiServerEndpoint": join.endpoint,
            "certificateAuthority": join.authority,
            "cidr": join.service_cidr,
        }
    if kind.local_nvme_gb:
        spec["instance"] = {"localStorage": {"strategy": "RAID0"}}
    return {"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec}


def user_data(
    kind: InstanceType, *, efa: bool, pods_per_node: int, join: Join | None = None
) -> str:
    """Return the user data of a node as MIME text, not encoded.

    Huge pages are set only where the fabric uses them. Memory locked by a container has no bound,
    because EFA registers its buffers (libfabric aborts at a bound of 64 KiB).
    """
    content = node_config(kind, pods_per_node=pods_per_node, join=join)
    config: str = cast("Any", yaml).safe_dump(content, sort_keys=False)
    return "\n".join(
        [
            "MIME-Version: 1.0",
            f'Content-Type: multipart/mixed; boundary="{BOUNDARY}"',
            "",
            f"--{BOUNDARY}",
            "Content-Type: application/node.eks.aws",
            "",
            config,
            f"--{BOUNDARY}",
            'Content-Type: text/x-shellscript; charset="us-ascii"',
            "",
            _script(efa=efa),
            f"--{BOUNDARY}--",
            "",
        ]
    )


def _script(*, efa: bool) -> str:
    settings = dict(KERNEL)
    if efa:
        settings["vm.nr_hugepages"] = HUGE_PAGES
    return "\n".join(
        [
            "#!/bin/bash",
            "set -o errexit -o nounset -o pipefail",
            "cat >/etc/sysctl.d/90-trainyard.conf <<'END'",
            *(f"{name} = {value}" for name, value in sorted(settings.items())),
            "END",
            "sysctl --load /etc/sysctl.d/90-trainyard.conf",
            "mkdir -p /etc/systemd/system/containerd.service.d",
            "cat >/etc/systemd/system/containerd.service.d/90-trainyard.conf <<'END'",
            "[Service]",
            "LimitMEMLOCK=infinity",
            "END",
            "systemctl daemon-reload",
            "# The image's chrony asks the clock of the host beneath, 169.254.169.123.",
            "systemctl enable --now chronyd",
            "",
        ]
    )
