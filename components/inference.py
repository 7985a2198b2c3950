"""The inference layer: a model service beside the training jobs."""

from typing import Annotated

import pulumi
from pulumi_kubernetes import apps, core
from pydantic import Field

from components.namespaces import closed_namespace
from components.settings import Dns, PinnedImage, Section, UrlPath
from components.waves import GPU

__all__ = ["Inference", "InferenceConfig", "rollout"]


class InferenceConfig(Section):
    """A model service."""

    name: Dns
    """What clients call it; also its namespace."""

    image: PinnedImage
    """Image by digest, so that a restart cannot serve another model."""

    pool: Dns
    """Pool whose GPUs it uses."""

    replicas: Annotated[int, Field(ge=1)] = 1
    """Pods that serve."""

    gpus_each: Annotated[int, Field(ge=1, le=16)] = 1
    """GPUs of one pod."""

    port: Annotated[int, Field(ge=1024, le=65535)] = 8000
    """Port of the service inside the pod."""

    health_path: UrlPath = "/health"
    """Path that answers 200 when requests can come."""

    start_seconds: Annotated[int, Field(ge=30, le=3600)] = 900
    """Longest time to load the model; a restart before that would never end."""

    @property
    def gpus(self) -> int:
        """GPUs of all pods."""
        return self.replicas * self.gpus_each


class Inference(pulumi.ComponentResource):
    """A deployment with probes and a rollout that fits its GPUs, and the service in front of it."""

    address: pulumi.Output[str]

    def __init__(
        self,
        name: str,
        config: InferenceConfig,
        *,
        gpus_to_serve: int,
        after: list[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("trainyard:inference:Inference", name, None, opts)
        own = pulumi.ResourceOptions(parent=self)
        namespace = closed_namespace(name, config.name, own, level="restricted")
        labels = {"app.kubernetes.io/name": config.name}
        core.v1.ResourceQuota(
            name,
            metadata={"name": "gpus", "namespace": namespace},
            spec={"hard": {f"requests.{GPU}": str(max(gpus_to_serve, config.gpus))}},
            opts=own,
        )
        core.v1.ServiceAccount(
            name,
            metadata={"name": config.name, "namespace": namespace},
            automount_service_account_token=False,
            opts=own,
        )
        apps.v1.Deployment(
            name,
            metadata={"name": config.name, "namespace": namespace, "labels": labels},
            spec={
                "replicas": config.replicas,
                "selector": {"match_labels": labels},
                "strategy": rollout(config, gpus_to_serve),
                "progress_deadline_seconds": config.start_seconds + 300,
                "template": {"metadata": {"labels": labels}, "spec": _pod(config)},
            },
            opts=pulumi.ResourceOptions(parent=self, depends_on=after),
        )
        core.v1.Service(
            name,
            metadata={"name": config.name, "namespace": namespace, "labels": labels},
            spec={
                "type": "ClusterIP",
                "selector": labels,
                "ports": [{"name": "http", "port": 80, "target_port": "http"}],
            },
            opts=pulumi.ResourceOptions(parent=self, depends_on=after),
        )
        self.address = pulumi.Output.concat("http://", config.name, ".", namespace, ".svc")
        self.register_outputs({"address": self.address})


def rollout(config: InferenceConfig, gpus_to_serve: int) -> "apps.v1.DeploymentStrategyArgsDict":
    """Return how a new version takes over.

    The usual way starts a new pod first. With no GPU to spare, that pod would wait for ever for the
    GPUs of the old one.
    """
    spare = gpus_to_serve - config.gpus >= config.gpus_each
    surge, missing = (1, 0) if spare else (0, 1)
    return {
        "type": "RollingUpdate",
        "rolling_update": {"max_surge": surge, "max_unavailable": missing},
    }


def _pod(config: InferenceConfig) -> "core.v1.PodSpecArgsDict":
    probe: core.v1.ProbeArgsDict = {
        "http_get": {"path": config.health_path, "port": "http"},
        "period_seconds": 10,
        "timeout_seconds": 5,
    }
    container: core.v1.ContainerArgsDict = {
        "name": "model",
        "image": config.image,
        "ports": [{"name": "http", "container_port": config.port}],
        "startup_probe": {**probe, "failure_threshold": config.start_seconds // 10},
        "readiness_probe": {**probe, "failure_threshold": 3},
        "liveness_probe": {**probe, "failure_threshold": 6},
        "resources": {
            "requests": {"cpu": "4", "memory": "32Gi", GPU: str(config.gpus_each)},
            "limits": {"memory": "128Gi", GPU: str(config.gpus_each)},
        },
        "security_context": {
            "allow_privilege_escalation": False,
            "read_only_root_filesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "volume_mounts": [{"name": "scratch", "mount_path": "/tmp"}],  # noqa: S108 - a volume of the pod, not the host's folder
    }
    return {
        "service_account_name": config.name,
        "automount_service_account_token": False,
        "security_context": {
            "run_as_non_root": True,
            "run_as_user": 65532,
            "seccomp_profile": {"type": "RuntimeDefault"},
        },
        "node_selector": {"trainyard.dev/pool": config.pool, "trainyard.dev/gate": "passed"},
        "tolerations": [{"key": GPU, "operator": "Exists", "effect": "NoSchedule"}],
        "termination_grace_period_seconds": 60,
        "containers": [container],
        "volumes": [{"name": "scratch", "empty_dir": {}}],
    }
