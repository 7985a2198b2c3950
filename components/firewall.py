"""The firewall layer: security groups of the cluster's members, and every door between them.

Each rule is a resource of its own with a reason, so that a review sees which door was opened.
"""

import pulumi
from pulumi_aws import ec2, vpc

from components.naming import Names

__all__ = ["Firewall"]

LUSTRE_PORTS = ((988, 988), (1018, 1023))
"""Ports between Lustre clients and servers (FSx guide, file system access control)."""

ANY = (-1, -1)
"""Stands for every protocol and port: EC2 then takes no ports at all."""

HTTPS = 443


class Firewall(pulumi.ComponentResource):
    """Security groups of nodes, of the fabric between them, and of the shared file system."""

    node_group_id: pulumi.Output[str]
    efa_group_id: pulumi.Output[str]
    lustre_group_id: pulumi.Output[str]

    def __init__(
        self,
        name: str,
        *,
        names: Names,
        vpc_id: pulumi.Input[str],
        efa_to_lustre: bool,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("trainyard:firewall:Firewall", name, None, opts)
        self._name, self._names, self._vpc_id = name, names, vpc_id
        self._own = pulumi.ResourceOptions(parent=self)

        self.node_group_id = self._group("nodes", "Every node of the cluster")
        self.efa_group_id = self._group("efa", "Fabric between accelerator nodes", efa="true")
        self.lustre_group_id = self._group(
            "lustre", "The shared file system", **({"efa": "true"} if efa_to_lustre else {})
        )
        self._node_rules()
        self._fabric_rules(efa_to_lustre=efa_to_lustre)
        self.register_outputs(
            {
                "node_group_id": self.node_group_id,
                "efa_group_id": self.efa_group_id,
                "lustre_group_id": self.lustre_group_id,
            }
        )

    def _node_rules(self) -> None:
        nodes, lustre = self.node_group_id, self.lustre_group_id
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
        for ports in LUSTRE_PORTS:
            first, last = ports
            text = f"Lustre ports {first}-{last}"
            self._door(f"lustre-{first}", f"{text} among servers", lustre, lustre, ports)
            self._door(f"nodes-lustre-{first}", f"{text} to servers", nodes, lustre, ports)
            self._door(f"lustre-nodes-{first}", f"{text} to clients", lustre, nodes, ports)

    def _fabric_rules(self, *, efa_to_lustre: bool) -> None:
        """Open the fabric to itself, both ways: EFA counts no rule that names addresses instead."""
        efa, lustre = self.efa_group_id, self.lustre_group_id
        self._door("efa-self", "Fabric traffic among accelerator nodes", efa, efa, ANY)
        if efa_to_lustre:
            self._door("lustre-self", "Fabric traffic among file servers", lustre, lustre, ANY)
            self._door("efa-lustre", "Fabric traffic to file servers", efa, lustre, ANY)
            self._door("lustre-efa", "Fabric traffic to accelerator nodes", lustre, efa, ANY)

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

    def _door(
        self,
        label: str,
        description: str,
        source: pulumi.Input[str],
        target: pulumi.Input[str],
        ports: tuple[int, int],
    ) -> None:
        """Let ``source`` open connections to ``target``: out of the one, into the other."""
        first, last = (None, None) if ports == ANY else ports
        vpc.SecurityGroupEgressRule(
            f"{self._name}-{label}-out",
            security_group_id=source,
            referenced_security_group_id=target,
            ip_protocol="-1" if ports == ANY else "tcp",
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
            ip_protocol="-1" if ports == ANY else "tcp",
            from_port=first,
            to_port=last,
            description=description,
            tags=self._names.called(f"{label}-in"),
            opts=self._own,
        )
