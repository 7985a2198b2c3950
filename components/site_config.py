"""Everything that is decided for one stack, and the rules between its layers. Pure."""

from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import Field

from components.acceptance import AcceptanceConfig
from components.access import TenantConfig
from components.access_entries import deployer, repeated, strangers
from components.address_plan import FileServers, Needs, misfits
from components.audit import AuditConfig
from components.catalog import instance_type, releases
from components.catalog.nodes import image_type
from components.control_plane import ControlPlaneConfig
from components.cost import CostConfig
from components.inference import InferenceConfig
from components.monitoring import MonitoringConfig
from components.naming import Names
from components.network import NetworkConfig
from components.pools import PoolConfig
from components.registry import RegistryConfig
from components.scheduler import SchedulerConfig
from components.settings import NEVER, AccountId, Problem, RegionName, Section, rule
from components.storage import StorageConfig
from components.vault import VaultConfig

__all__ = ["SiteConfig"]


SECRETS = "secretsmanager"
"""Endpoint of Secrets Manager, as network.endpoints names it."""


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
            text for position, pool in enumerate(self.pools) for text in self._gaps(position, pool)
        ]

    def _gaps(self, position: int, pool: PoolConfig) -> Iterator[str]:
        """Say what only AWS or time can tell of a pool."""
        where = f"pools.{position}"
        if self.region not in instance_type(pool.instance_type).offered_in:
            yield (
                f"{where}.zone: not checked, the catalog does not know where {pool.instance_type} "
                f"is sold in {self.region}; `yard catalog verify` asks EC2"
            )
        if pool.ami:
            yield (
                f"{where}.ami: not checked, {pool.ami} must bring driver, EFA and nodeadm for "
                f"Kubernetes {self.control_plane.kubernetes} by itself"
            )
        if pool.capacity.held:
            yield (
                f"{where}.capacity: not checked, whether the reservation is in {pool.zone} and "
                f"holds {pool.nodes} {pool.instance_type}"
            )
        if pool.capacity.term and pool.capacity.term.starts:
            yield (
                f"{where}.capacity: its nodes come at {pool.capacity.term.starts:%Y-%m-%d %H:%M} "
                "UTC, so no gate runs in this update; take `starts` out after that and update again"
            )

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
        servers = FileServers(
            zone=self.storage.zone, count=self.storage.interfaces, fabric=self.storage.efa
        )
        yield from misfits(
            self.network,
            Needs(
                pools=self.pools,
                pods_per_node=self.control_plane.pods_per_node,
                system_nodes=self.control_plane.system_nodes,
                file_servers=servers,
            ),
        )

    @rule("network", "control_plane")
    def _clients_of_the_api_are_neighbours(self) -> Iterator[Problem]:
        names = [neighbour.name for neighbour in self.network.neighbours]
        for problem in strangers(self.control_plane.api_clients, names):
            yield problem.under("control_plane")

    @rule("partition", "account", "control_plane", "tenants")
    def _roles_enter_once(self) -> Iterator[Problem]:
        yield from repeated(
            [
                ("the deployment", deployer(self.partition, self.account)),
                *((f"control_plane.{path}", role) for path, role in self.control_plane.roles()),
                *(
                    (f"tenants.{position}.submitters.{number}", role)
                    for position, tenant in enumerate(self.tenants)
                    for number, role in enumerate(tenant.submitters)
                ),
            ]
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
        taken = {
            "kube-system",
            "default",
            "kueue-system",
            "mpi-operator",
            "trainyard-gate",
            *services,
        }
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

    @rule("network", "vault")
    def _secrets_can_be_reached(self) -> Iterator[Problem]:
        network = self.network
        if network.nat == "none" and self.vault.secrets and SECRETS not in network.endpoints:
            yield Problem(
                "network.endpoints",
                f"lacks {SECRETS}, without which nothing can read the {len(self.vault.secrets)} "
                "secrets of vault when nat is none; add it, or choose another nat",
            )

    @rule("control_plane", "pools")
    def _waves_fit_the_quotas(self) -> Iterator[Problem]:
        quotas, settings = self.control_plane.quotas, "control_plane.quotas"
        for position, pool in enumerate(self.pools):
            for number, nodes in enumerate(pool.waves):
                if nodes > quotas.nodes_per_group:
                    yield Problem(
                        f"pools.{position}.waves.{number}",
                        f"is {nodes}, but a node group holds {quotas.nodes_per_group} nodes; make "
                        f"more waves of it, or write a raised quota in {settings}.nodes_per_group",
                    )
        groups = 1 + sum(len(pool.waves) for pool in self.pools)
        if groups > quotas.node_groups:
            yield Problem(
                "pools",
                f"make {groups} node groups, the system group among them, but a cluster has "
                f"{quotas.node_groups} at most; use fewer and larger waves, or write a raised "
                f"quota in {settings}.node_groups",
            )
        nodes = self.control_plane.system_nodes + sum(pool.nodes for pool in self.pools)
        if nodes > quotas.nodes:
            yield Problem(
                "pools",
                f"make {nodes} nodes, but a cluster is planned for {quotas.nodes} at most; use "
                f"several clusters (`yard plan network` counts them), or raise {settings}.nodes",
            )

    @rule("pools")
    def _pools_can_be_proved(self) -> Iterator[Problem]:
        for position, pool in enumerate(self.pools):
            accelerator = instance_type(pool.instance_type).accelerator
            if accelerator and accelerator.vendor != "nvidia":
                yield Problem(
                    f"pools.{position}.instance_type",
                    f"is {pool.instance_type} with {accelerator.name}, for which this program has "
                    "no device plugin and no gate; use a type with NVIDIA GPUs",
                )

    @rule("acceptance", "pools")
    def _tests_name_known_pools(self) -> Iterator[Problem]:
        for problem in self.acceptance.strangers([pool.name for pool in self.pools]):
            yield problem.under("acceptance")

    @rule("control_plane", "pools")
    def _types_have_images(self) -> Iterator[Problem]:
        version = self.control_plane.kubernetes
        for position, pool in enumerate(self.pools):
            kind = instance_type(pool.instance_type)
            if version in releases() and not pool.ami and image_type(kind, version) is None:
                yield Problem(
                    f"pools.{position}.instance_type",
                    f"is {kind.name} ({kind.architecture}), for which EKS has no image of "
                    f"Kubernetes {version}; use a later version, or an ami of your own",
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
    def api_clients(self) -> dict[str, str]:
        """Addresses of the neighbours that may reach the Kubernetes API."""
        wanted = self.control_plane.api_clients
        return {
            each.name: str(each.cidr) for each in self.network.neighbours if each.name in wanted
        }

    @property
    def gpu_pools(self) -> list[str]:
        """Pools whose nodes have NVIDIA GPUs."""
        return [
            pool.name
            for pool in self.pools
            if (accelerator := instance_type(pool.instance_type).accelerator)
            and accelerator.vendor == "nvidia"
        ]

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
