"""The control plane layer: the EKS cluster, who may reach it, its add-ons and its own nodes."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Literal

import pulumi
import pulumi_kubernetes as kubernetes
from pulumi_aws import cloudwatch, ec2, eks, iam
from pydantic import Field

from components.access_entries import ADMINISTRATOR, AccessConfig, Entry, admit, deployer
from components.addons import AddonConfig, Installer, told
from components.catalog import instance_type, releases
from components.catalog.networks import quota
from components.documents import service_trust
from components.keys import CustomerKey, through, to_log_group
from components.naming import Names
from components.nodes import METADATA, node_role, root_volume, tag_specifications
from components.settings import Cidr, Dns, InstanceName, Problem, RoleArn, Section, rule

__all__ = ["ControlPlane", "ControlPlaneConfig"]

LOG_TYPES = ("api", "audit", "authenticator", "controllerManager", "scheduler")

NARROWEST_OPEN = 24
"""Longest address range that may reach a public endpoint: one office, not one provider."""

ROOT_GIB = 100
"""Root disk of a system node: images of add-ons and operators."""


class ClusterQuotasConfig(Section):
    """Quotas of the account that AWS has raised; the defaults are what an account has at first."""

    node_groups: Annotated[int, Field(ge=2)] = quota("node_groups").value
    """Managed node groups of the cluster: one for each wave, and the system group."""

    nodes_per_group: Annotated[int, Field(ge=1)] = quota("nodes_per_group").value
    """Nodes of a wave at most."""

    nodes: Annotated[int, Field(ge=1)] = quota("nodes_per_cluster").value
    """Nodes of the cluster, as a ceiling to plan with."""


class ControlPlaneConfig(Section):
    """The cluster and the nodes that run its own parts."""

    kubernetes: str
    """Version of Kubernetes, as in 1.35; the catalog knows what goes with it."""

    administrators: tuple[RoleArn, ...] = ()
    """Roles with all rights in the cluster, besides the one that deploys."""

    access: tuple[AccessConfig, ...] = ()
    """Other roles that enter the cluster, each with what it may do where."""

    public_access: tuple[Cidr, ...] = ()
    """Addresses that may reach the API from outside; when empty, it is private."""

    api_clients: tuple[Dns, ...] = ()
    """Neighbours, as named under network.neighbours, that may reach the private API."""

    system_type: InstanceName = "m7i.xlarge"
    """Instance type of the nodes that run DNS, controllers and exporters."""

    system_nodes: Annotated[int, Field(ge=2, le=20)] = 3
    """How many of them: two survive the loss of a zone."""

    pods_per_node: Annotated[int, Field(ge=8, le=110)] = 24
    """Pods on one node that need an address; each costs one in the subnet."""

    addons: tuple[AddonConfig, ...] = ()
    """Versions of add-ons that differ from the catalog's."""

    log_days: Literal[30, 90, 180, 365, 400, 545, 731] = 365
    """Days for which the control plane's logs are kept."""

    quotas: ClusterQuotasConfig = ClusterQuotasConfig()
    """Quotas that AWS has raised."""

    support: Literal["standard", "extended"] = "standard"
    """After a version's time: upgraded by EKS (standard), or kept for a fee (extended)."""

    zonal_shift: bool = True
    """Whether traffic to the cluster may be moved away from a zone that is impaired."""

    @rule("kubernetes")
    def _version_is_known(self) -> Iterator[Problem]:
        if self.kubernetes not in releases():
            yield Problem(
                "kubernetes",
                f"is {self.kubernetes!r}, which the catalog does not know; use "
                f"{', '.join(releases())}, or add it to components/catalog/versions.yaml",
            )

    @rule("public_access")
    def _narrow_access(self) -> Iterator[Problem]:
        for position, block in enumerate(self.public_access):
            if not block.is_global:
                yield Problem(
                    f"public_access.{position}",
                    f"is {block}, which is no public range, so EKS refuses it; name its network "
                    "under network.neighbours and in api_clients instead",
                )
            elif block.prefixlen < NARROWEST_OPEN:
                yield Problem(
                    f"public_access.{position}",
                    f"is {block}, a wide range for a cluster's API; use /{NARROWEST_OPEN} or "
                    "narrower, or leave the list empty and come through the network",
                )

    @rule("api_clients")
    def _clients_differ(self) -> Iterator[Problem]:
        for position, name in enumerate(self.api_clients):
            if name in self.api_clients[:position]:
                yield Problem(f"api_clients.{position}", f"is {name} again; name it once")

    @rule("addons")
    def _addons_differ(self) -> Iterator[Problem]:
        names = [addon.name for addon in self.addons]
        for position, name in enumerate(names):
            if name in names[:position]:
                yield Problem(f"addons.{position}.name", f"is {name} again; name it once")

    @rule("system_type")
    def _system_nodes_are_plain(self) -> Iterator[Problem]:
        accelerator = instance_type(self.system_type).accelerator
        if accelerator:
            yield Problem(
                "system_type",
                f"is {self.system_type}, which carries {accelerator.count} {accelerator.name}; "
                "system nodes need none, so use a type like m7i.xlarge",
            )

    def addon_versions(self) -> dict[str, str]:
        """Return the version of every add-on."""
        pins = {name: pin.version for name, pin in releases()[self.kubernetes].addons.items()}
        return {**pins, **{addon.name: addon.version for addon in self.addons}}

    def roles(self) -> Iterator[tuple[str, str]]:
        """Yield every role that is let in, with the path of the setting that names it."""
        for position, role in enumerate(self.administrators):
            yield f"administrators.{position}", role
        for position, access in enumerate(self.access):
            yield f"access.{position}.role", access.role


class ControlPlane(pulumi.ComponentResource):
    """An EKS cluster that only named roles reach, and the Kubernetes provider that speaks to it."""

    cluster_name: pulumi.Output[str]
    cluster_endpoint: pulumi.Output[str]
    cluster_authority: pulumi.Output[str | None]
    cluster_group_id: pulumi.Output[str]
    kubeconfig: pulumi.Output[str]
    node_role_arn: pulumi.Output[str]
    volume_key_arn: pulumi.Output[str]
    provider: "kubernetes.Provider"
    ready: list[pulumi.Resource]

    def __init__(  # noqa: PLR0913 - the caller names every wire
        self,
        name: str,
        config: ControlPlaneConfig,
        *,
        names: Names,
        service_cidr: str,
        subnet_ids: list[pulumi.Output[str]],
        api_group_id: pulumi.Input[str],
        node_group_id: pulumi.Input[str],
        gpu_pools: Sequence[str],
        after: Sequence[pulumi.Resource] = (),
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("trainyard:control_plane:ControlPlane", name, None, opts)
        self._name, self._config, self._names = name, config, names
        self._own = pulumi.ResourceOptions(parent=self)
        key_arn, logs = self._key_and_logs()
        self.volume_key_arn = key_arn
        cluster = self._cluster(key_arn, service_cidr, subnet_ids, api_group_id, logs)
        self.cluster_name = cluster.name
        self.cluster_endpoint = cluster.endpoint
        self.cluster_authority = cluster.certificate_authority.data
        self.cluster_group_id = cluster.vpc_config.cluster_security_group_id
        self.kubeconfig = pulumi.Output.json_dumps(
            _kubeconfig(names, cluster.endpoint, cluster.certificate_authority.data)
        )
        admitted = [
            admit(name, entry, names=names, cluster_name=cluster.name, parent=self)
            for entry in self._entries()
        ]
        installer = Installer(
            parent=self,
            label=name,
            names=names,
            cluster_name=cluster.name,
            versions=config.addon_versions(),
            settings=told(
                pods_per_node=config.pods_per_node,
                system_nodes=config.system_nodes,
                gpu_pools=gpu_pools,
            ),
        )
        self.node_role_arn, rights = node_role(f"{name}-node", names, self._own)
        first = [*installer.before_nodes(), *rights]
        system = self._system_nodes(cluster, subnet_ids, node_group_id, [*first, *after])
        self.ready = [*admitted, *rights, *installer.on_nodes(system)]
        self.provider = kubernetes.Provider(
            f"{name}-kubernetes",
            kubeconfig=self.kubeconfig,
            # What the cluster is, whatever its address: a new one is no other cluster.
            cluster_identifier=names.cluster_arn(),
            enable_server_side_apply=True,
            delete_unreachable=False,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[*admitted, system]),
        )
        self.register_outputs({"kubeconfig": self.kubeconfig})

    def _key_and_logs(self) -> tuple[pulumi.Output[str], pulumi.Resource]:
        """Make the cluster's key, and the log group that EKS would make without retention."""
        name, names = self._name, self._names
        log_group = f"/aws/eks/{names.cluster}/cluster"
        key = CustomerKey(
            f"{name}-key",
            names,
            statements=[to_log_group(log_group, names), through(["ec2"], names, grants=True)],
            opts=self._own,
        )
        logs = cloudwatch.LogGroup(
            f"{name}-logs",
            name=log_group,
            retention_in_days=self._config.log_days,
            kms_key_id=key.arn,
            tags=names.called(log_group),
            opts=self._own,
        )
        return key.arn, logs

    def _entries(self) -> Iterator[Entry]:
        """Yield who is let in: the deployer and administrators everywhere, others where named."""
        yield Entry(deployer(self._names.partition, self._names.account), ADMINISTRATOR)
        for role in self._config.administrators:
            yield Entry(role, ADMINISTRATOR)
        for access in self._config.access:
            yield access.entry

    def _cluster(
        self,
        key_arn: pulumi.Input[str],
        service_cidr: str,
        subnet_ids: list[pulumi.Output[str]],
        api_group_id: pulumi.Input[str],
        logs: pulumi.Resource,
    ) -> "eks.Cluster":
        name, names, config = self._name, self._names, self._config
        role = iam.Role(
            name,
            name=names.physical("cluster"),
            assume_role_policy=service_trust("eks", names, source_arn=names.cluster_arn()),
            tags=names.called(names.physical("cluster")),
            opts=self._own,
        )
        rights = iam.RolePolicyAttachment(
            name,
            role=role.name,
            policy_arn=names.managed_policy("AmazonEKSClusterPolicy"),
            opts=self._own,
        )
        return eks.Cluster(
            name,
            name=names.cluster,
            version=config.kubernetes,
            role_arn=role.arn,
            access_config={
                "authentication_mode": "API",
                "bootstrap_cluster_creator_admin_permissions": False,
            },
            bootstrap_self_managed_addons=False,
            deletion_protection=names.protect,
            enabled_cluster_log_types=list(LOG_TYPES),
            encryption_config={"provider": {"key_arn": key_arn}, "resources": ["secrets"]},
            kubernetes_network_config={"service_ipv4_cidr": service_cidr},
            upgrade_policy={"support_type": config.support.upper()},
            zonal_shift_config={"enabled": config.zonal_shift},
            vpc_config={
                "subnet_ids": subnet_ids,
                "security_group_ids": [api_group_id],
                "endpoint_private_access": True,
                "endpoint_public_access": bool(config.public_access),
                "public_access_cidrs": [str(block) for block in config.public_access] or None,
            },
            tags=names.called(names.cluster),
            opts=pulumi.ResourceOptions(
                parent=self, depends_on=[logs, rights], protect=names.protect
            ),
        )

    def _system_nodes(
        self,
        cluster: "eks.Cluster",
        subnet_ids: list[pulumi.Output[str]],
        node_group_id: pulumi.Input[str],
        after: list[pulumi.Resource],
    ) -> "eks.NodeGroup":
        name, names, config = self._name, self._names, self._config
        label = f"{name}-system"
        template = ec2.LaunchTemplate(
            label,
            name=names.physical("system"),
            block_device_mappings=[root_volume(ROOT_GIB, self.volume_key_arn)],
            metadata_options=METADATA,
            vpc_security_group_ids=[self.cluster_group_id, node_group_id],
            tag_specifications=tag_specifications(names, names.physical("system")),
            update_default_version=True,
            tags=names.called(names.physical("system")),
            opts=self._own,
        )
        arm = instance_type(config.system_type).architecture == "arm64"
        return eks.NodeGroup(
            label,
            cluster_name=cluster.name,
            node_group_name="system",
            node_role_arn=self.node_role_arn,
            subnet_ids=subnet_ids,
            ami_type="AL2023_ARM_64_STANDARD" if arm else "AL2023_x86_64_STANDARD",
            version=config.kubernetes,
            release_version=releases()[config.kubernetes].ami_release,
            instance_types=[config.system_type],
            launch_template={
                "id": template.id,
                "version": template.latest_version.apply(str),
            },
            scaling_config={
                "min_size": config.system_nodes,
                "desired_size": config.system_nodes,
                "max_size": config.system_nodes,
            },
            update_config={"max_unavailable": 1},
            labels={"trainyard.dev/pool": "system"},
            tags=names.called(names.physical("system")),
            opts=pulumi.ResourceOptions(parent=self, depends_on=after),
        )


def _kubeconfig(
    names: Names, endpoint: pulumi.Input[str], authority: pulumi.Input[str | None]
) -> Mapping[str, object]:
    """Return a kubeconfig that holds no token: the AWS command gets one for each use."""
    cluster, here = names.cluster, [{"name": names.cluster}]
    command = ["eks", "get-token", "--cluster-name", cluster, "--region", names.region]
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": cluster,
        "clusters": [
            {
                **here[0],
                "cluster": {"server": endpoint, "certificate-authority-data": authority},
            }
        ],
        "contexts": [{**here[0], "context": {"cluster": cluster, "user": cluster}}],
        "users": [
            {
                **here[0],
                "user": {
                    "exec": {
                        "apiVersion": "client.authentication.k8s.io/v1beta1",
                        "command": "aws",
                        "args": [*command, "--output", "json"],
                        "interactiveMode": "Never",
                    }
                },
            }
        ],
    }
