"""Managed add-ons of EKS: their versions, what each is told, and the identity it acts under."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pulumi
from pulumi_aws import eks, iam

from components.addressing import WARM_ADDRESSES
from components.catalog.addons import Rights, addons
from components.documents import allow, document, pod_trust
from components.naming import Names
from components.settings import AddonVersion, Section

__all__ = ["AddonConfig", "AddonName", "Installer", "told"]

NAMESPACE = "kube-system"

EVERY_TAINT = [{"operator": "Exists"}]
"""Agents of a node belong on every node, above all on one that nothing else may use yet."""

LEAST_DNS = 3
DNS_ON_A_NODE = 4
"""DNS servers: more than two (EKS guide), and as many as the system nodes carry beside the rest.

Without an upper bound EKS would make one for each 256 cores: hundreds for a training cluster.
"""

AddonName = Literal[
    "aws-ebs-csi-driver",
    "aws-fsx-csi-driver",
    "coredns",
    "eks-node-monitoring-agent",
    "eks-pod-identity-agent",
    "kube-proxy",
    "metrics-server",
    "vpc-cni",
]


class AddonConfig(Section):
    """Another version of an add-on than the catalog's."""

    name: AddonName
    """Name that EKS gives the add-on."""

    version: AddonVersion
    """Exact version, as `aws eks describe-addon-versions` prints it."""


def told(
    *, pods_per_node: int, system_nodes: int, gpu_pools: Sequence[str]
) -> Mapping[str, Mapping[str, object]]:
    """Return what each add-on is told beside its defaults.

    Nothing here counts nodes of pools, so that a pool can grow without a change to any add-on.

    Parameters
    ----------
    pods_per_node
        Pods that need an address.
    system_nodes
        Nodes that carry the cluster's own parts.
    gpu_pools
        Pools whose nodes have NVIDIA GPUs.
    """
    return {
        "vpc-cni": _network(pods_per_node),
        "coredns": {
            "autoScaling": {
                "enabled": True,
                "minReplicas": LEAST_DNS,
                "maxReplicas": DNS_ON_A_NODE * system_nodes,
            }
        },
        "aws-ebs-csi-driver": {"node": {"tolerateAllTaints": True}},
        "eks-node-monitoring-agent": _monitoring(gpu_pools),
    }


def _network(pods_per_node: int) -> Mapping[str, object]:
    """Let the CNI judge network policies, and take all prefixes of a node at once.

    It rounds the least number of addresses up to whole prefixes, so a node holds as many as the
    address plan counts from its first pod to its last, and never asks EC2 again.
    """
    return {
        "enableNetworkPolicy": "true",
        "env": {
            "ENABLE_PREFIX_DELEGATION": "true",
            "MINIMUM_IP_TARGET": str(pods_per_node + WARM_ADDRESSES),
            "WARM_IP_TARGET": str(WARM_ADDRESSES),
        },
    }


def _monitoring(gpu_pools: Sequence[str]) -> Mapping[str, object]:
    """Put the node monitoring agent everywhere, and its DCGM server on every node with GPUs.

    By default the server stays off tainted nodes and off types that its list does not know. Without
    it the agent calls a good node's GPUs unhealthy, and the node is replaced.
    """
    agent = {"nodeAgent": {"tolerations": EVERY_TAINT}}
    if not gpu_pools:
        return agent
    wanted = [
        {"key": "trainyard.dev/pool", "operator": "In", "values": list(gpu_pools)},
        # The server's image is built for no other architecture.
        {"key": "kubernetes.io/arch", "operator": "In", "values": ["amd64"]},
    ]
    nodes = {"nodeSelectorTerms": [{"matchExpressions": wanted}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": nodes}}
    return {**agent, "dcgmAgent": {"tolerations": EVERY_TAINT, "affinity": affinity}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Installer:
    """Installs add-ons in one cluster."""

    parent: pulumi.Resource
    label: str
    names: Names
    cluster_name: pulumi.Input[str]
    versions: Mapping[str, str]
    settings: Mapping[str, Mapping[str, object]]

    def before_nodes(self) -> list[pulumi.Resource]:
        """Install what nodes need to become ready."""
        return [self._install(name, []) for name, kind in addons().items() if kind.before_nodes]

    def on_nodes(self, nodes: pulumi.Resource) -> list[pulumi.Resource]:
        """Install what needs ``nodes`` to run on; EKS waits for its pods, and in vain without."""
        return [
            self._install(name, [nodes]) for name, kind in addons().items() if not kind.before_nodes
        ]

    def _install(self, addon: str, after: Sequence[pulumi.Resource]) -> pulumi.Resource:
        rights = addons()[addon].rights
        identity = self._identity(addon, rights) if rights else []
        settings = self.settings.get(addon)
        return eks.Addon(
            f"{self.label}-{addon}",
            cluster_name=self.cluster_name,
            addon_name=addon,
            addon_version=self.versions[addon],
            configuration_values=json.dumps(settings) if settings else None,
            resolve_conflicts_on_create="OVERWRITE",
            resolve_conflicts_on_update="PRESERVE",
            tags=self.names.called(addon),
            opts=pulumi.ResourceOptions(parent=self.parent, depends_on=[*identity, *after]),
        )

    def _identity(self, addon: str, rights: Rights) -> list[pulumi.Resource]:
        """Give an add-on a role of its own through Pod Identity.

        The association is made before the add-on, because a pod gets its credentials when it
        starts, and not made by the add-on, because EKS takes that for some add-ons only.
        """
        label, own = f"{self.label}-{addon}", pulumi.ResourceOptions(parent=self.parent)
        role = iam.Role(
            label,
            name=self.names.physical(addon),
            assume_role_policy=pod_trust(self.names),
            tags=self.names.called(self.names.physical(addon)),
            opts=own,
        )
        if rights.managed_policy:
            granted: pulumi.Resource = iam.RolePolicyAttachment(
                label,
                role=role.name,
                policy_arn=self.names.managed_policy(rights.managed_policy),
                opts=own,
            )
        else:
            granted = iam.RolePolicy(
                label,
                name="describe",
                role=role.name,
                policy=document(allow("Describe", rights.actions, ["*"])),
                opts=own,
            )
        association = eks.PodIdentityAssociation(
            label,
            cluster_name=self.cluster_name,
            namespace=NAMESPACE,
            service_account=rights.service_account,
            role_arn=role.arn,
            tags=self.names.called(label),
            opts=own,
        )
        return [granted, association]
