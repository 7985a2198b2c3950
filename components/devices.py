"""The devices layer: the plugins that tell Kubernetes of GPUs and EFA, and the GPU metrics."""

from collections.abc import Sequence
from dataclasses import dataclass

import pulumi
from pulumi_kubernetes import apps, core

from components.catalog import image
from components.naming import Names

__all__ = ["Devices"]

PLUGINS = "/var/lib/kubelet/device-plugins"
NAMESPACE = "kube-system"
METRICS_PORT = 9400

TOLERATIONS: "list[core.v1.TolerationArgsDict]" = [
    {"key": "nvidia.com/gpu", "operator": "Exists"},
    {"key": "trainyard.dev/unproved", "operator": "Exists"},
]
"""Devices must be there before a gate can look at them."""


@dataclass(frozen=True, slots=True)
class Folder:
    """A folder of the host, and where a container sees it."""

    volume: "core.v1.VolumeArgsDict"
    mount: "core.v1.VolumeMountArgsDict"


class Devices(pulumi.ComponentResource):
    """A DaemonSet for each kind of device, on the nodes of every pool.

    Nodes are chosen by the pool's label. A list of instance types, as the public charts have,
    leaves out new types without a word, and jobs then run without the fabric.
    """

    ready: list[pulumi.Resource]

    def __init__(
        self,
        name: str,
        *,
        names: Names,
        pools: Sequence[str],
        efa_pools: Sequence[str],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("trainyard:devices:Devices", name, None, opts)
        self._name = name
        self._own = pulumi.ResourceOptions(parent=self)
        plugins, devices = (
            _folder("device-plugins", PLUGINS),
            _folder("infiniband", "/dev/infiniband"),
        )
        self.ready = [
            self._daemon(
                "nvidia-device-plugin",
                image("nvidia-device-plugin", names.region),
                pools,
                [plugins],
                env={"FAIL_ON_INIT_ERROR": "false", "DEVICE_DISCOVERY_STRATEGY": "auto"},
            ),
            self._daemon(
                "dcgm-exporter",
                image("dcgm-exporter", names.region),
                pools,
                [_folder("pod-resources", "/var/lib/kubelet/pod-resources", read_only=True)],
                env={"DCGM_EXPORTER_KUBERNETES": "true"},
                capabilities=["SYS_ADMIN"],
                port=METRICS_PORT,
            ),
        ]
        if efa_pools:
            self.ready.append(
                self._daemon(
                    "aws-efa-k8s-device-plugin",
                    image("efa-device-plugin", names.region),
                    efa_pools,
                    [plugins, devices],
                    host_network=True,
                )
            )
        self.register_outputs({})

    def _daemon(
        self,
        role: str,
        reference: str,
        pools: Sequence[str],
        folders: Sequence[Folder],
        *,
        env: dict[str, str] | None = None,
        capabilities: Sequence[str] = (),
        port: int | None = None,
        host_network: bool = False,
    ) -> pulumi.Resource:
        labels = {"app.kubernetes.io/name": role}
        container: core.v1.ContainerArgsDict = {
            "name": role,
            "image": reference,
            "env": [{"name": key, "value": value} for key, value in (env or {}).items()],
            "security_context": {
                "allow_privilege_escalation": False,
                "read_only_root_filesystem": role != "dcgm-exporter",
                "capabilities": {"drop": ["ALL"], "add": list(capabilities)},
            },
            "volume_mounts": [folder.mount for folder in folders],
            "resources": {
                "requests": {"cpu": "50m", "memory": "64Mi"},
                "limits": {"memory": "1Gi"},
            },
        }
        if port is not None:
            container["ports"] = [{"name": "metrics", "container_port": port}]
        return apps.v1.DaemonSet(
            f"{self._name}-{role}",
            metadata={"name": role, "namespace": NAMESPACE, "labels": labels},
            spec={
                "selector": {"match_labels": labels},
                "update_strategy": {
                    "type": "RollingUpdate",
                    "rolling_update": {"max_unavailable": "10%"},
                },
                "template": {
                    "metadata": {"labels": labels},
                    "spec": {
                        "affinity": _on_pools(pools),
                        "automount_service_account_token": False,
                        "containers": [container],
                        "host_network": host_network,
                        "priority_class_name": "system-node-critical",
                        "security_context": {"seccomp_profile": {"type": "RuntimeDefault"}},
                        "tolerations": TOLERATIONS,
                        "volumes": [folder.volume for folder in folders],
                    },
                },
            },
            opts=self._own,
        )


def _folder(name: str, path: str, *, read_only: bool = False) -> Folder:
    """Return a host folder as a volume, and its mount at the same place."""
    return Folder(
        volume={"name": name, "host_path": {"path": path}},
        mount={"name": name, "mount_path": path, "read_only": read_only},
    )


def _on_pools(pools: Sequence[str]) -> "core.v1.AffinityArgsDict":
    return {
        "node_affinity": {
            "required_during_scheduling_ignored_during_execution": {
                "node_selector_terms": [
                    {
                        "match_expressions": [
                            {
                                "key": "trainyard.dev/pool",
                                "operator": "In",
                                "values": list(pools),
                            }
                        ]
                    }
                ]
            }
        }
    }
