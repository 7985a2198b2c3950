"""The control plane layer: the EKS cluster, who may reach it, its add-ons and its own nodes."""

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Literal

import pulumi
import pulumi_kubernetes as kubernetes
from pulumi_aws import cloudwatch, ec2, eks, iam
from pydantic import Field

from components.addressing import WARM_ADDRESSES
from components.catalog import instance_type, releases
from components.documents import allow, document, pod_trust, service_trust
from components.keys import CustomerKey, through, to_log_group
from components.naming import Names
from components.nodes import METADATA, node_role, root_volume, tag_specifications
from components.settings import AddonVersion, Cidr, InstanceName, Problem, RoleArn, Section, rule

__all__ = ["ControlPlane", "ControlPlaneConfig"]

LOG_TYPES = ("api", "audit", "authenticator", "controllerManager", "scheduler")

NARROWEST_OPEN = 24
"""Longest address range that may reach a public endpoint: one office, not one provider."""

ROOT_GIB = 100
"""Root disk of a system node: images of add-ons and operators."""

IDENTITIES: Mapping[str, tuple[str, str | None]] = {
    "vpc-cni": ("aws-node", "AmazonEKS_CNI_Policy"),
    "aws-ebs-csi-driver": ("ebs-csi-controller-sa", "service-role/AmazonEBSCSIDriverPolicy"),
    "aws-fsx-csi-driver": ("fsx-csi-controller-sa", None),
}
"""Add-on -> its service account and the policy that AWS keeps for it; ours when there is none."""

BEFORE_NODES = ("vpc-cni", "kube-proxy", "eks-pod-identity-agent")
"""Add-ons that nodes need to become ready; the others need nodes to run on."""

AddonName = Literal[
    "aws-ebs-csi-driver",
    "aws-fsx-csi-driver",
    "coredns",
    "eks-pod-identity-agent",
    "kube-proxy",
    "vpc-cni",
]


class AddonConfig(Section):
    """Another version of an add-on than the catalog's."""

    name: AddonName
    """Name that EKS gives the add-on."""

    version: AddonVersion
    """Exact version, as `aws eks describe-addon-versions` prints it."""


class ControlPlaneConfig(Section):
    """The cluster and the nodes that run its own parts."""

    kubernetes: str
    """Version of Kubernetes, as in 1.35; the catalog knows what goes with it."""

    administrators: tuple[RoleArn, ...] = ()
    """Roles with all rights in the cluster, besides the one that deploys."""

    public_access: tuple[Cidr, ...] = ()
    """Addresses that may reach the API from outside; when empty, it is private."""

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
            if block.prefixlen < NARROWEST_OPEN:
                yield Problem(
                    f"public_access.{position}",
                    f"is {block}, a wide range for a cluster's API; use /{NARROWEST_OPEN} or "
                    "narrower, or leave the list empty and come through the network",
                )

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
        ours = {addon.name: addon.version for addon in self.addons}
        return {**releases()[self.kubernetes].addons, **ours}


class ControlPlane(pulumi.ComponentResource):
    """An EKS cluster that only named roles reach, and the Kubernetes provider that speaks to it."""

    cluster_name: pulumi.Output[str]
    cluster_group_id: pulumi.Output[str]
    kubeconfig: pulumi.Output[str]
    node_role_arn: pulumi.Output[str]
    volume_key_arn: pulumi.Output[str]
    provider: "kubernetes.Provider"
    ready: list[pulumi.Resource]

    def __init__(
        self,
        name: str,
        config: ControlPlaneConfig,
        *,
        names: Names,
        service_cidr: str,
        subnet_ids: list[pulumi.Output[str]],
        node_group_id: pulumi.Input[str],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("trainyard:control_plane:ControlPlane", name, None, opts)
        self._name, self._config, self._names = name, config, names
        self._own = pulumi.ResourceOptions(parent=self)
        log_group = f"/aws/eks/{names.cluster}/cluster"
        key = CustomerKey(
            f"{name}-key",
            names,
            statements=[to_log_group(log_group, names), through(["ec2"], names, grants=True)],
            opts=self._own,
        )
        self.volume_key_arn = key.arn
        logs = cloudwatch.LogGroup(
            f"{name}-logs",
            name=log_group,
            retention_in_days=config.log_days,
            kms_key_id=key.arn,
            tags=names.called(log_group),
            opts=self._own,
        )
        cluster = self._cluster(key.arn, service_cidr, subnet_ids, logs)
        self.cluster_name = cluster.name
        self.cluster_group_id = cluster.vpc_config.cluster_security_group_id
        self.kubeconfig = pulumi.Output.json_dumps(
            _kubeconfig(names, cluster.endpoint, cluster.certificate_authority.data)
        )
        admitted = self._administrators(cluster)
        first = [self._addon(addon, cluster, []) for addon in BEFORE_NODES]
        system = self._system_nodes(cluster, subnet_ids, node_group_id, first)
        later = sorted(config.addon_versions().keys() - set(BEFORE_NODES))
        self.ready = [*admitted, *(self._addon(addon, cluster, [system]) for addon in later)]
        self.provider = kubernetes.Provider(
            f"{name}-kubernetes",
            kubeconfig=self.kubeconfig,
            cluster_identifier=names.cluster_arn(),
            enable_server_side_apply=True,
            delete_unreachable=False,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[*admitted, system]),
        )
        self.register_outputs({"kubeconfig": self.kubeconfig})

    def _cluster(
        self,
        key_arn: pulumi.Input[str],
        service_cidr: str,
        subnet_ids: list[pulumi.Output[str]],
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
            upgrade_policy={"support_type": "STANDARD"},
            vpc_config={
                "subnet_ids": subnet_ids,
                "endpoint_private_access": True,
                "endpoint_public_access": bool(config.public_access),
                "public_access_cidrs": [str(block) for block in config.public_access] or None,
            },
            tags=names.called(names.cluster),
            opts=pulumi.ResourceOptions(
                parent=self, depends_on=[logs, rights], protect=names.protect
            ),
        )

    def _administrators(self, cluster: "eks.Cluster") -> list[pulumi.Resource]:
        """Admit the deployer and the administrators; nobody is in the cluster by birth."""
        deployer = self._names.arn("iam", "role/trainyard-deploy", region="")
        admitted: list[pulumi.Resource] = []
        for arn in dict.fromkeys([deployer, *self._config.administrators]):
            label = f"{self._name}-{arn.rpartition('/')[2]}"
            entry = eks.AccessEntry(
                label,
                cluster_name=cluster.name,
                principal_arn=arn,
                type="STANDARD",
                tags=self._names.called(label),
                opts=self._own,
            )
            admitted.append(
                eks.AccessPolicyAssociation(
                    label,
                    cluster_name=cluster.name,
                    principal_arn=arn,
                    policy_arn=f"arn:{self._names.partition}:eks::aws:cluster-access-policy/"
                    "AmazonEKSClusterAdminPolicy",
                    access_scope={"type": "cluster"},
                    opts=pulumi.ResourceOptions(parent=self, depends_on=[entry]),
                )
            )
        return admitted

    def _addon(
        self, addon: str, cluster: "eks.Cluster", after: list[pulumi.Resource]
    ) -> pulumi.Resource:
        identity = self._identity(addon, cluster) if addon in IDENTITIES else []
        settings = _addon_settings(addon, self._config.pods_per_node)
        return eks.Addon(
            f"{self._name}-{addon}",
            cluster_name=cluster.name,
            addon_name=addon,
            addon_version=self._config.addon_versions()[addon],
            configuration_values=json.dumps(settings) if settings else None,
            resolve_conflicts_on_create="OVERWRITE",
            resolve_conflicts_on_update="PRESERVE",
            tags=self._names.called(addon),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[*identity, *after]),
        )

    def _identity(self, addon: str, cluster: "eks.Cluster") -> list[pulumi.Resource]:
        """Give an add-on a role of its own through Pod Identity."""
        account, managed = IDENTITIES[addon]
        label = f"{self._name}-{addon}"
        role = iam.Role(
            label,
            name=self._names.physical(addon),
            assume_role_policy=pod_trust(self._names),
            tags=self._names.called(self._names.physical(addon)),
            opts=self._own,
        )
        if managed:
            rights: pulumi.Resource = iam.RolePolicyAttachment(
                label,
                role=role.name,
                policy_arn=self._names.managed_policy(managed),
                opts=self._own,
            )
        else:
            rights = iam.RolePolicy(
                label,
                name="describe",
                role=role.name,
                policy=document(allow("Describe", ["fsx:DescribeFileSystems"], ["*"])),
                opts=self._own,
            )
        association = eks.PodIdentityAssociation(
            label,
            cluster_name=cluster.name,
            namespace="kube-system",
            service_account=account,
            role_arn=role.arn,
            tags=self._names.called(label),
            opts=self._own,
        )
        return [rights, association]

    def _system_nodes(
        self,
        cluster: "eks.Cluster",
        subnet_ids: list[pulumi.Output[str]],
        node_group_id: pulumi.Input[str],
        after: list[pulumi.Resource],
    ) -> "eks.NodeGroup":
        name, names, config = self._name, self._names, self._config
        label = f"{name}-system"
        role = node_role(f"{name}-node", names, self._own)
        self.node_role_arn = role.arn
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
            node_role_arn=role.arn,
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


def _addon_settings(addon: str, pods_per_node: int) -> Mapping[str, object]:
    """Return what an add-on is told: the CNI to hold few spare addresses, and to judge policies."""
    if addon != "vpc-cni":
        return {}
    return {
        "enableNetworkPolicy": "true",
        "env": {
            "MINIMUM_IP_TARGET": str(pods_per_node),
            "WARM_IP_TARGET": str(WARM_ADDRESSES),
        },
    }


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
