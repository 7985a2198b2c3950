"""The whole site: all settings with the rules between layers, and all layers in order."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

import pulumi
import pulumi_aws as aws
from pydantic import Field

from components.acceptance import Acceptance, AcceptanceConfig
from components.access import Tenant, TenantConfig
from components.addressing import demand, smallest, usable
from components.audit import Audit, AuditConfig
from components.catalog import instance_type, releases
from components.compute import AcceleratorPool, PoolConfig
from components.control_plane import ControlPlane, ControlPlaneConfig
from components.cost import Cost, CostConfig
from components.devices import Devices
from components.firewall import Firewall
from components.inference import Inference, InferenceConfig
from components.monitoring import Monitoring, MonitoringConfig
from components.naming import Names
from components.network import Network, NetworkConfig
from components.registry import Registry, RegistryConfig
from components.scheduler import Scheduler, SchedulerConfig
from components.settings import NEVER, AccountId, Problem, RegionName, Section, rule
from components.storage import SharedStorage, StorageConfig
from components.vault import Vault, VaultConfig

__all__ = ["Site", "SiteConfig"]


class SiteConfig(Section):
    """Everything that is decided for one stack."""

    environment: Annotated[Literal["local", "dev", "prod"], NEVER]
    """What is at stake: in prod, what holds data refuses to be deleted."""

    account: Annotated[AccountId, NEVER]
    """AWS account, in quotes; the program refuses to run in any other."""

    region: Annotated[RegionName, NEVER]
    """AWS region, as in us-east-1."""

    partition: Annotated[Literal["aws", "aws-us-gov", "aws-cn"], NEVER] = "aws"
    """AWS partition: the first part of every ARN."""

    owner: str = Field(min_length=1)
    """Team that answers for the stack."""

    cost_center: str = Field(min_length=1)
    """Whom the stack is charged to."""

    network: NetworkConfig
    """Addresses and exits."""

    control_plane: ControlPlaneConfig
    """The cluster and its own nodes."""

    pools: tuple[PoolConfig, ...] = Field(min_length=1)
    """Accelerator nodes."""

    storage: StorageConfig
    """The shared file system and its bucket."""

    scheduler: SchedulerConfig = SchedulerConfig()
    """Queues."""

    registry: RegistryConfig = RegistryConfig()
    """Image repositories."""

    vault: VaultConfig = VaultConfig()
    """Secrets, without their values."""

    monitoring: MonitoringConfig = MonitoringConfig()
    """Alarms."""

    audit: AuditConfig = AuditConfig()
    """The record of changes."""

    tenants: tuple[TenantConfig, ...] = ()
    """Teams that run jobs."""

    cost: CostConfig
    """The budget."""

    inference: InferenceConfig | None = None
    """A model service; none when left out."""

    acceptance: AcceptanceConfig = AcceptanceConfig()
    """How waves are judged."""

    def names(self, stack: str) -> Names:
        """Return the names of everything in ``stack``."""
        return Names(
            stack=stack,
            partition=self.partition,
            account=self.account,
            region=self.region,
            environment=self.environment,
            owner=self.owner,
            cost_center=self.cost_center,
        )

    def unchecked(self) -> list[str]:
        """Say what could not be judged, for lack of facts."""
        return [
            f"pools.{position}.zone: not checked, the catalog does not know where "
            f"{pool.instance_type} is sold in {self.region}"
            for position, pool in enumerate(self.pools)
            if self.region not in instance_type(pool.instance_type).offered_in
        ]

    @rule("network", "pools", "storage")
    def _zones_have_compute_subnets(self) -> Iterator[Problem]:
        ready = [zone.id for zone in self.network.zones if zone.compute_cidr]
        wanted = {f"pools.{n}.zone": pool.zone for n, pool in enumerate(self.pools)}
        for path, zone in {**wanted, "storage.zone": self.storage.zone}.items():
            if zone not in ready:
                yield Problem(
                    path,
                    f"is {zone}, which has no compute subnet; use {' or '.join(ready) or 'none'}, "
                    f"or give {zone} a compute_cidr under network.zones",
                )

    @rule("region", "pools")
    def _types_are_sold_in_their_zones(self) -> Iterator[Problem]:
        for position, pool in enumerate(self.pools):
            kind = instance_type(pool.instance_type)
            sold = kind.offered_in.get(self.region)
            if sold is not None and pool.zone not in sold:
                yield Problem(
                    f"pools.{position}.zone",
                    f"is {pool.zone}, where {kind.name} is not sold ({kind.source}, {kind.date}); "
                    f"use {' or '.join(sold)}",
                )

    @rule("network", "pools", "storage", "control_plane")
    def _pools_fit_their_subnets(self) -> Iterator[Problem]:
        for position, zone in enumerate(self.network.zones):
            pools = [pool for pool in self.pools if pool.zone == zone.id]
            if zone.compute_cidr is None or not pools:
                continue
            nodes = sum(pool.nodes for pool in pools)
            servers = self.storage.interfaces if self.storage.zone == zone.id else 0
            needed = demand(nodes, self.control_plane.pods_per_node, file_servers=servers)
            if needed > usable(zone.compute_cidr):
                length = smallest(needed)
                way = f"a /{length} would do" if length else "no VPC block is that large"
                yield Problem(
                    f"network.zones.{position}.compute_cidr",
                    f"is {zone.compute_cidr} with {usable(zone.compute_cidr)} addresses, but "
                    f"{nodes} nodes with {self.control_plane.pods_per_node} pods each need "
                    f"{needed}; {way}, or lower control_plane.pods_per_node",
                )

    @rule("environment", "vault")
    def _prod_can_recover(self) -> Iterator[Problem]:
        if self.environment == "prod" and not self.vault.recovery_days:
            yield Problem(
                "vault.recovery_days",
                "is 0 in prod, where a deleted secret must be had back; use 7 to 30",
            )

    @rule("pools")
    def _pool_names_differ(self) -> Iterator[Problem]:
        seen = {"system"}
        for position, pool in enumerate(self.pools):
            if pool.name in seen:
                yield Problem(
                    f"pools.{position}.name",
                    f"is {pool.name}, which is taken; give it another name",
                )
            seen.add(pool.name)

    @rule("tenants", "inference", "vault")
    def _tenants_are_known(self) -> Iterator[Problem]:
        names = [tenant.name for tenant in self.tenants]
        services = [self.inference.name] if self.inference else []
        taken = {"kube-system", "default", "kueue-system", "trainyard-gate", *services}
        for position, name in enumerate(names):
            if name in taken or name in names[:position]:
                yield Problem(
                    f"tenants.{position}.name",
                    f"is {name}, a namespace that is taken; give it another name",
                )
        for position, secret in enumerate(self.vault.secrets):
            if secret.tenant and secret.tenant not in names:
                yield Problem(
                    f"vault.secrets.{position}.tenant",
                    f"is {secret.tenant}, which is no tenant; use {' or '.join(names) or 'none'}",
                )

    @rule("pools", "tenants")
    def _tenants_fit(self) -> Iterator[Problem]:
        there = sum(self.gpus(pool.name) for pool in self.pools)
        for position, tenant in enumerate(self.tenants):
            if tenant.gpus > there:
                yield Problem(
                    f"tenants.{position}.gpus",
                    f"is {tenant.gpus}, but all pools have {there} GPUs; use at most that",
                )

    @rule("pools", "scheduler", "inference")
    def _service_fits(self) -> Iterator[Problem]:
        service = self.inference
        if service is None:
            return
        pools = [pool.name for pool in self.pools]
        if service.pool not in pools:
            yield Problem(
                "inference.pool", f"is {service.pool}, which is no pool; use {' or '.join(pools)}"
            )
        elif service.gpus > self.gpus_to_serve:
            yield Problem(
                "inference.replicas",
                f"is {service.replicas} with {service.gpus_each} GPUs each, but the queue serve "
                f"has {self.gpus_to_serve} GPUs of {service.pool}; serve with fewer, or raise its "
                "share",
            )

    @rule("control_plane", "pools")
    def _images_belong_to_the_version(self) -> Iterator[Problem]:
        version = self.control_plane.kubernetes
        for position, pool in enumerate(self.pools):
            if pool.ami_release and not pool.ami_release.startswith(f"{version}."):
                yield Problem(
                    f"pools.{position}.ami_release",
                    f"is {pool.ami_release}, but the cluster runs {version}; use a release that "
                    f"starts with {version}.",
                )

    @property
    def gpus_to_serve(self) -> int:
        """GPUs of the inference service's pool that belong to the queue serve."""
        if self.inference is None:
            return 0
        shares = {queue.name: queue.share for queue in self.scheduler.queues}
        return self.gpus(self.inference.pool) * shares.get("serve", 0) // 100

    def gpus(self, pool: str) -> int:
        """Return the GPUs of ``pool``."""
        return sum(
            each.nodes * accelerator.count
            for each in self.pools
            if each.name == pool and (accelerator := instance_type(each.instance_type).accelerator)
        )


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
        }
        self.register_outputs({})

    def _ground(self) -> None:
        config, names = self._config, self._names
        self._network = Network("network", config.network, names=names, opts=self._cloud)
        self._firewall = Firewall(
            "firewall",
            names=names,
            vpc_id=self._network.vpc_id,
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
            node_group_id=self._firewall.node_group_id,
            opts=self._cloud,
        )

    def _services(self) -> None:
        config, names = self._config, self._names
        self._storage = SharedStorage(
            "storage",
            config.storage,
            names=names,
            subnet_id=self._network.compute_subnet_ids[config.storage.zone],
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
            kubeconfig=self._control_plane.kubeconfig,
            pools=[pool.capacity_to_share for pool in config.pools],
            opts=self._inside,
        )
        self._acceptance = Acceptance(
            "acceptance",
            config.acceptance,
            names=names,
            kubeconfig=self._control_plane.kubeconfig,
            after=devices.ready,
            opts=self._inside,
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
                subnet_id=self._network.compute_subnet_ids[pool.zone],
                security_group_ids=[
                    self._control_plane.cluster_group_id,
                    self._firewall.node_group_id,
                    self._firewall.efa_group_id,
                ],
                node_role_arn=self._control_plane.node_role_arn,
                volume_key_arn=self._control_plane.volume_key_arn,
                gate=self._acceptance.prove,
                after=self._control_plane.ready,
                opts=self._cloud,
            )

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
