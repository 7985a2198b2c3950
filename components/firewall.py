"""The firewall layer: security groups of the cluster's members, and every door between them.

Each rule is a resource of its own with a reason, so that a review sees which door was opened.

EKS makes a group of its own besides, puts it on the control plane, and opens everything among its
members. Nodes carry that too, because load balancers look for it there. What the cluster itself
needs is open between our groups all the same, so nothing but that would change without it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import pulumi
from pulumi_aws import ec2, vpc

from components.naming import Names

__all__ = ["Firewall"]

HTTPS = 443


@dataclass(frozen=True, slots=True)
class Door:
    """A range of ports that is opened, and why."""

    label: str
    reason: str
    first: int
    last: int
    protocol: Literal["tcp", "udp"] = "tcp"


LUSTRE = (
    Door("988", "Lustre", 988, 988),
    Door("1018", "Lustre", 1018, 1023),
)
"""Ports between Lustre clients and servers (FSx guide, file system access control)."""

INTO_NODES = (
    Door("webhooks", "Webhooks and API services", HTTPS, HTTPS),
    Door("visibility", "API service of the queue controller", 8082, 8082),
    Door("webhooks-8443", "Webhooks of controllers", 8443, 8443),
    Door(
        "webhooks-9443",
        "Webhooks of the queue controller and others",
        9443,
        9443,
    ),
    Door("kubelet", "Logs, commands and probes of the kubelet", 10250, 10250),
    Door("metrics", "API service of the metrics server", 10251, 10251),
)
"""What the control plane opens on nodes and their pods.

The queue controller's ports are those of its chart, the metrics server's is that of its add-on.
"""

AMONG_NODES = (
    Door("dns", "Names, asked of cluster DNS", 53, 53),
    Door("dns-udp", "Names, asked of cluster DNS", 53, 53, "udp"),
    Door("kubelet", "Use of each node, asked by the metrics server", 10250, 10250),
)
"""What the cluster's own pods open on other nodes and their pods."""


class Firewall(pulumi.ComponentResource):
    """Security groups of the API, of nodes, of the fabric, and of the shared file system."""

    api_group_id: pulumi.Output[str]
    node_group_id: pulumi.Output[str]
    efa_group_id: pulumi.Output[str]
    lustre_group_id: pulumi.Output[str]

    def __init__(
        self,
        name: str,
        *,
        names: Names,
        vpc_id: pulumi.Input[str],
        api_clients: Mapping[str, str],
        efa_to_lustre: bool,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("trainyard:firewall:Firewall", name, None, opts)
        self._name, self._names, self._vpc_id = name, names, vpc_id
        self._own = pulumi.ResourceOptions(parent=self)

        self.api_group_id = self._group("cluster", "The Kubernetes API")
        self.node_group_id = self._group("nodes", "Every node of the cluster")
        self.efa_group_id = self._group("efa", "Fabric between accelerator nodes", efa="true")
        self.lustre_group_id = self._group(
            "lustre", "The shared file system", **({"efa": "true"} if efa_to_lustre else {})
        )
        self._api_rules(api_clients)
        self._node_rules()
        self._lustre_rules()
        self._fabric_rules(efa_to_lustre=efa_to_lustre)
        self.register_outputs(
            {
                "api_group_id": self.api_group_id,
                "node_group_id": self.node_group_id,
                "efa_group_id": self.efa_group_id,
                "lustre_group_id": self.lustre_group_id,
            }
        )

    def _api_rules(self, clients: Mapping[str, str]) -> None:
        """Let nodes and named neighbours to the API, and the API to what it calls on nodes."""
        api, nodes = self.api_group_id, self.node_group_id
        door = Door("api", "The Kubernetes API", HTTPS, HTTPS)
        self._open("nodes-cluster", f"{door.reason}, from nodes", nodes, api, door)
        for each in INTO_NODES:
            self._open(f"cluster-nodes-{each.label}", each.reason, api, nodes, each)
        for client, cidr in clients.items():
            vpc.SecurityGroupIngressRule(
                f"{self._name}-cluster-from-{client}-in",
                security_group_id=api,
                cidr_ipv4=cidr,
                ip_protocol="tcp",
                from_port=HTTPS,
                to_port=HTTPS,
                description=f"{door.reason}, from neighbour {client}",
                tags=self._names.called(f"cluster-from-{client}-in"),
                opts=self._own,
            )

    def _node_rules(self) -> None:
        nodes = self.node_group_id
        vpc.SecurityGroupEgressRule(
            f"{self._name}-nodes-https-out",
            security_group_id=nodes,
            cidr_ipv4="0.0.0.0/0",
            ip_protocol="tcp",
            from_port=HTTPS,
            to_port=HTTPS,
            description="Images and AWS APIs",
            tags=self._names.called("nodes-https-out"),
            opts=self._own,
        )
        for each in AMONG_NODES:
            self._open(f"nodes-{each.label}", each.reason, nodes, nodes, each)

    def _lustre_rules(self) -> None:
        """Open Lustre both ways, because its servers call clients back, and among servers."""
        nodes, lustre = self.node_group_id, self.lustre_group_id
        for each in LUSTRE:
            ports = f"{each.reason} ports {each.first}-{each.last}"
            self._open(f"lustre-{each.label}", f"{ports} among servers", lustre, lustre, each)
            self._open(f"nodes-lustre-{each.label}", f"{ports} to servers", nodes, lustre, each)
            self._open(f"lustre-nodes-{each.label}", f"{ports} to clients", lustre, nodes, each)

    def _fabric_rules(self, *, efa_to_lustre: bool) -> None:
        """Open the fabric to itself, both ways: EFA counts no rule that names addresses instead."""
        efa, lustre = self.efa_group_id, self.lustre_group_id
        self._open("efa-self", "Fabric traffic among accelerator nodes", efa, efa)
        if efa_to_lustre:
            self._open("lustre-self", "Fabric traffic among file servers", lustre, lustre)
            self._open("efa-lustre", "Fabric traffic to file servers", efa, lustre)
            self._open("lustre-efa", "Fabric traffic to accelerator nodes", lustre, efa)

    def _group(self, role: str, description: str, **tags: str) -> pulumi.Output[str]:
        group = ec2.SecurityGroup(
            f"{self._name}-{role}",
            name=self._names.physical(role),
            description=description,
            vpc_id=self._vpc_id,
            tags={**self._names.called(self._names.physical(role)), **tags},
            opts=self._own,
        )
        return group.id

    def _open(
        self,
        label: str,
        description: str,
        source: pulumi.Input[str],
        target: pulumi.Input[str],
        door: Door | None = None,
    ) -> None:
        """Let ``source`` open connections to ``target``: out of the one, into the other.

        Without a ``door`` everything may pass: EC2 then takes no ports at all.
        """
        protocol = door.protocol if door else "-1"
        first, last = (door.first, door.last) if door else (None, None)
        vpc.SecurityGroupEgressRule(
            f"{self._name}-{label}-out",
            security_group_id=source,
            referenced_security_group_id=target,
            ip_protocol=protocol,
            from_port=first,
            to_port=last,
            description=description,
            tags=self._names.called(f"{label}-out"),
            opts=self._own,
        )
        vpc.SecurityGroupIngressRule(
            f"{self._name}-{label}-in",
            security_group_id=target,
            referenced_security_group_id=source,
            ip_protocol=protocol,
            from_port=first,
            to_port=last,
            description=description,
            tags=self._names.called(f"{label}-in"),
            opts=self._own,
        )
