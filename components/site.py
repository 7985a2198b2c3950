"""The whole site: all layers in order, and the wires between them."""

from collections.abc import Mapping

import pulumi
import pulumi_aws as aws

from components.acceptance import Acceptance
from components.access import Tenant
from components.audit import Audit
from components.catalog import releases
from components.compute import AcceleratorPool
from components.control_plane import ControlPlane
from components.cost import Cost
from components.devices import Devices
from components.firewall import Firewall
from components.inference import Inference
from components.monitoring import Monitoring
from components.network import Network
from components.registry import Registry
from components.scheduler import Scheduler
from components.site_config import SiteConfig
from components.storage import SharedStorage
from components.vault import Vault

__all__ = ["Site"]


class Site(pulumi.ComponentResource):
    """The site's table of contents: every layer in order, and every wire between them."""

    outputs: Mapping[str, pulumi.Input[object]]

    def __init__(self, config: SiteConfig, *, stack: str) -> None:
        super().__init__("trainyard:site:Site", stack)
        self._config, self._names = config, config.names(stack)
        cloud = aws.Provider(
            "aws",
            region=config.region,
            allowed_account_ids=[config.account],
            default_tags={"tags": self._names.tags},
            opts=pulumi.ResourceOptions(parent=self),
        )
        self._cloud = pulumi.ResourceOptions(parent=self, providers=[cloud])
        self._ground()
        self._cluster()
        self._inside = pulumi.ResourceOptions(
            parent=self, providers=[cloud, self._control_plane.provider]
        )
        self._services()
        self._queues()
        self._pools()
        self._tenants()
        self._inference()
        for gap in config.unchecked():
            pulumi.log.warn(gap)
        self.outputs = {
            "cluster": self._control_plane.cluster_name,
            "kubeconfig": self._control_plane.kubeconfig,
            "bucket": self._storage.bucket_name,
            "repositories": self._registry.urls,
            "verdicts": self._acceptance.verdicts,
            "trainings": self._acceptance.trainings,
        }
        self.register_outputs({})

    def _ground(self) -> None:
        config, names = self._config, self._names
        self._network = Network("network", config.network, names=names, opts=self._cloud)
        self._firewall = Firewall(
            "firewall",
            names=names,
            vpc_id=self._network.vpc_id,
            api_clients=config.api_clients,
            efa_to_lustre=config.storage.efa,
            opts=self._cloud,
        )
        Audit("audit", config.audit, names=names, opts=self._cloud)
        self._registry = Registry("registry", config.registry, names=names, opts=self._cloud)
        self._vault = Vault("vault", config.vault, names=names, opts=self._cloud)

    def _cluster(self) -> None:
        self._control_plane = ControlPlane(
            "control-plane",
            self._config.control_plane,
            names=self._names,
            service_cidr=str(self._config.network.service_cidr),
            subnet_ids=list(self._network.management_subnet_ids.values()),
            api_group_id=self._firewall.api_group_id,
            node_group_id=self._firewall.node_group_id,
            gpu_pools=self._config.gpu_pools,
            after=self._network.ready,
            opts=self._cloud,
        )

    def _services(self) -> None:
        config, names, network = self._config, self._names, self._network
        # EFA does not leave a subnet, so file servers on the fabric live among the nodes.
        subnets = network.compute_subnet_ids if config.storage.efa else network.storage_subnet_ids
        self._storage = SharedStorage(
            "storage",
            config.storage,
            names=names,
            subnet_id=subnets[config.storage.zone],
            security_group_id=self._firewall.lustre_group_id,
            opts=self._inside,
        )
        monitoring = Monitoring(
            "monitoring",
            config.monitoring,
            names=names,
            file_system_id=self._storage.file_system_id,
            file_system_gib=config.storage.capacity_gib,
            opts=self._cloud,
        )
        Cost("cost", config.cost, names=names, topic_arn=monitoring.topic_arn, opts=self._cloud)

    def _queues(self) -> None:
        config, names = self._config, self._names
        devices = Devices(
            "devices",
            names=names,
            pools=[pool.name for pool in config.pools],
            efa_pools=[pool.name for pool in config.pools if pool.efa],
            opts=self._inside,
        )
        self._scheduler = Scheduler(
            "scheduler",
            config.scheduler,
            region=config.region,
            kubeconfig=self._control_plane.kubeconfig,
            pools=[pool.capacity_to_share for pool in config.pools],
            opts=self._inside,
        )
        self._acceptance = Acceptance(
            "acceptance",
            config.acceptance,
            names=names,
            kubeconfig=self._control_plane.kubeconfig,
            cluster_name=self._control_plane.cluster_name,
            storage_mbps=config.storage.sold_mbps,
            after=devices.ready,
            opts=self._inside,
        )
        gates = self._acceptance.namespace
        self._acceptance.needs(
            # No tenant may have the name of this namespace, so the label is free.
            self._storage.claim("trainyard-gate", gates),
            self._scheduler.open_gate(gates),
            *self._scheduler.gate_ready,
        )

    def _pools(self) -> None:
        version = self._config.control_plane.kubernetes
        for pool in self._config.pools:
            AcceleratorPool(
                f"pool-{pool.name}",
                pool,
                names=self._names,
                kubernetes=version,
                image_release=releases()[version].ami_release,
                pods_per_node=self._config.control_plane.pods_per_node,
                cluster_endpoint=self._control_plane.cluster_endpoint,
                cluster_authority=self._control_plane.cluster_authority,
                service_cidr=str(self._config.network.service_cidr),
                subnet_id=self._network.compute_subnet_ids[pool.zone],
                security_group_ids=[
                    self._control_plane.cluster_group_id,
                    self._firewall.node_group_id,
                    self._firewall.efa_group_id,
                ],
                node_role_arn=self._control_plane.node_role_arn,
                volume_key_arn=self._control_plane.volume_key_arn,
                gate=self._acceptance.prove,
                after=[*self._control_plane.ready, *self._network.ready],
                opts=self._cloud,
            )
        self._acceptance.finish()

    def _tenants(self) -> None:
        for tenant in self._config.tenants:
            home = Tenant(
                f"tenant-{tenant.name}",
                tenant,
                names=self._names,
                cluster_name=self._control_plane.cluster_name,
                opts=self._inside,
            )
            self._storage.claim(tenant.name, home.namespace)
            self._storage.grant_write(tenant.name, home.role_name)
            self._vault.grant_read(tenant.name, home.role_name)
            self._scheduler.open_to(tenant.name, home.namespace)

    def _inference(self) -> None:
        if self._config.inference:
            Inference(
                "inference",
                self._config.inference,
                gpus_to_serve=self._config.gpus_to_serve,
                after=self._acceptance.gates,
                opts=self._inside,
            )
