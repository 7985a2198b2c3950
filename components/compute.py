"""The compute layer: pools of accelerator nodes that come up in waves, each behind a gate."""

import base64
import hashlib

import pulumi
from pulumi_aws import autoscaling, ec2, eks

from components.addressing import updated_at_once
from components.catalog import InstanceType, instance_type
from components.catalog.nodes import image_type, repairs
from components.layout import Interface
from components.naming import Names
from components.node_config import Join, user_data
from components.nodes import METADATA, root_volume, tag_specifications
from components.pools import PoolConfig, RepairConfig
from components.waves import GPU, NEURON, UNPROVED, Gate, Wave

__all__ = ["AcceleratorPool"]

CUSTOM = "CUSTOM"
"""Image type of a group whose template names the image."""


class AcceleratorPool(pulumi.ComponentResource):
    """Node groups of one pool, a wave each, all from one launch template."""

    nodes: int

    def __init__(  # noqa: PLR0913 - the caller names every wire
        self,
        name: str,
        config: PoolConfig,
        *,
        names: Names,
        kubernetes: str,
        image_release: str,
        pods_per_node: int,
        cluster_endpoint: pulumi.Input[str],
        cluster_authority: pulumi.Input[str | None],
        service_cidr: str,
        subnet_id: pulumi.Input[str],
        security_group_ids: list[pulumi.Output[str]],
        node_role_arn: pulumi.Input[str],
        volume_key_arn: pulumi.Input[str],
        gate: Gate,
        after: list[pulumi.Resource],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("trainyard:compute:AcceleratorPool", name, None, opts)
        self._name, self._config, self._names = name, config, names
        self._kind = instance_type(config.instance_type)
        self._own = pulumi.ResourceOptions(parent=self)
        self._kubernetes = kubernetes
        self._release = config.ami or config.ami_release or image_release
        self._pods_per_node = pods_per_node
        self._join = (cluster_endpoint, cluster_authority, service_cidr)
        self._subnet_id, self._node_role_arn = subnet_id, node_role_arn

        template = self._template(security_group_ids, volume_key_arn)
        proof: list[pulumi.Resource] = after
        for number, nodes in enumerate(config.waves, start=1):
            group = self._group(number, nodes, template, proof)
            self._schedule(number, nodes, group)
            wave = Wave(
                pool=config.name,
                number=number,
                nodes=nodes,
                instance_type=config.instance_type,
                efa=config.efa,
                floor_gbps=config.floor_gbps,
                replace=config.to_replace(nodes),
                repaired=config.repair.enabled,
                image_release=self._release,
                template_version=template.latest_version.apply(str),
                group=group,
                group_id=group.id,
            )
            proof = [group if self._is_to_come else gate(wave)]
        self.nodes = config.nodes
        self.register_outputs({"nodes": self.nodes})

    @property
    def _is_to_come(self) -> bool:
        """Whether the capacity starts later, so that no node can be proved in this update."""
        term = self._config.capacity.term
        return term is not None and term.starts is not None

    def _template(
        self, security_group_ids: list[pulumi.Output[str]], volume_key_arn: pulumi.Input[str]
    ) -> "ec2.LaunchTemplate":
        config, label = self._config, self._names.physical(self._config.name)
        bought = config.capacity.template()
        if config.capacity.placed and config.efa:
            group = ec2.PlacementGroup(
                self._name,
                name=label,
                strategy="cluster",
                tags=self._names.called(label),
                opts=self._own,
            )
            bought["placement"] = {"group_name": group.name}
        return ec2.LaunchTemplate(
            self._name,
            name=label,
            image_id=config.ami,
            instance_type=config.instance_type,
            block_device_mappings=[root_volume(config.root_gib, volume_key_arn)],
            metadata_options=METADATA,
            network_interfaces=[
                _interface(each, security_group_ids) for each in config.node_interfaces
            ],
            user_data=self._user_data(),
            tag_specifications=tag_specifications(self._names, label),
            update_default_version=True,
            tags=self._names.called(label),
            opts=self._own,
            **bought,
        )

    def _user_data(self) -> pulumi.Input[str]:
        """Return the node's user data; an image of our own also learns how to join."""
        kind, efa, pods = self._kind, self._config.efa, self._pods_per_node
        if not self._config.ami:
            return _encoded(user_data(kind, efa=efa, pods_per_node=pods))
        taints = tuple(f"{key}={value}:NoSchedule" for key, value in self._taints().items())

        def joined(known: list[str]) -> str:
            endpoint, authority, cidr = known
            join = Join(
                cluster=self._names.cluster,
                endpoint=endpoint,
                authority=authority,
                service_cidr=cidr,
                taints=taints,
            )
            return _encoded(user_data(kind, efa=efa, pods_per_node=pods, join=join))

        return pulumi.Output.all(*self._join).apply(joined)

    def _taints(self) -> dict[str, str]:
        """Return the taints of every node: not proved yet, and for work with accelerators only."""
        nvidia = self._kind.accelerator is None or self._kind.accelerator.vendor == "nvidia"
        return {UNPROVED: "true", GPU if nvidia else NEURON: "present"}

    def _group(
        self,
        number: int,
        nodes: int,
        template: "ec2.LaunchTemplate",
        proof: list[pulumi.Resource],
    ) -> "eks.NodeGroup":
        """Make a wave: a node group of its own can be replaced, and rolled back, alone.

        What makes it another group is part of its name, so that the new one can stand beside the
        old one until it has joined. Held capacity has no room for two: the old one goes first.
        """
        config, names = self._config, self._names
        label = f"{config.name}-{number}"
        ours = config.ami is not None
        coming = self._is_to_come
        least = 0 if coming else nodes
        return eks.NodeGroup(
            f"{self._name}-{number}",
            cluster_name=names.cluster,
            node_group_name=f"{label}-{self._fingerprint()}",
            node_role_arn=self._node_role_arn,
            subnet_ids=[self._subnet_id],
            ami_type=CUSTOM if ours else self._image_type(),
            capacity_type=config.capacity.capacity_type,
            version=None if ours else self._kubernetes,
            release_version=None if ours else self._release,
            launch_template={"id": template.id, "version": template.latest_version.apply(str)},
            scaling_config={"min_size": least, "desired_size": least, "max_size": nodes},
            update_config={
                "max_unavailable": updated_at_once(nodes),
                "update_strategy": "MINIMAL" if config.capacity.held else "DEFAULT",
            },
            node_repair_config=_repair(config.repair, self._kind),
            labels={
                "trainyard.dev/pool": config.name,
                "trainyard.dev/wave": str(number),
                "trainyard.dev/image": self._release,
            },
            taints=[
                {"key": key, "value": value, "effect": "NO_SCHEDULE"}
                for key, value in self._taints().items()
            ],
            tags=names.called(names.physical(label)),
            opts=pulumi.ResourceOptions(
                parent=self,
                depends_on=proof,
                delete_before_replace=config.capacity.held,
                # From its start on, a schedule says how many nodes there are.
                ignore_changes=["scalingConfig"] if coming else None,
            ),
        )

    def _image_type(self) -> str:
        found = image_type(self._kind, self._kubernetes)
        if found is None:
            raise ValueError(f"no image for {self._kind.name} and Kubernetes {self._kubernetes}")
        return found.type

    def _fingerprint(self) -> str:
        """Return a short hash of all that would make another group of a wave."""
        config = self._config
        what = (
            config.zone,
            config.instance_type,
            config.capacity.model_dump_json(exclude={"starts", "ends"}),
            config.ami is not None,
            config.node_interfaces,
        )
        return hashlib.sha256(repr(what).encode()).hexdigest()[:6]

    def _schedule(self, number: int, nodes: int, group: "eks.NodeGroup") -> None:
        """Ask for the nodes when their capacity starts, and drain them before it ends."""
        term = self._config.capacity.term
        if term is None:
            return
        scaled = group.resources[0].autoscaling_groups[0].name
        for role, moment, size in (("start", term.starts, nodes), ("drain", term.drain, 0)):
            if moment is not None:
                autoscaling.Schedule(
                    f"{self._name}-{number}-{role}",
                    autoscaling_group_name=scaled,
                    scheduled_action_name=f"{self._config.name}-{number}-{role}",
                    start_time=f"{moment:%Y-%m-%dT%H:%M:%SZ}",
                    min_size=size,
                    desired_capacity=size,
                    max_size=nodes,
                    opts=self._own,
                )


def _encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _interface(
    place: Interface, security_group_ids: list[pulumi.Output[str]]
) -> "ec2.LaunchTemplateNetworkInterfaceArgsDict":
    """Return an interface for a template, without a subnet: a managed group refuses one there."""
    return {
        "network_card_index": place.card,
        "device_index": place.device,
        "interface_type": place.kind,
        "security_groups": security_group_ids,
        "delete_on_termination": "true",
    }


def _repair(config: RepairConfig, kind: InstanceType) -> "eks.NodeGroupNodeRepairConfigArgsDict":
    """Return what EKS may repair: after a grace, one by one, and never half a wave."""
    if not config.enabled or kind.accelerator is None:
        return {"enabled": False}
    known = repairs()
    return {
        "enabled": True,
        "max_parallel_nodes_repaired_count": config.at_once,
        "max_unhealthy_node_threshold_percentage": config.most_unhealthy_percent,
        "node_repair_config_overrides": [
            {
                "node_monitoring_condition": known.condition,
                "node_unhealthy_reason": reason,
                "min_repair_wait_time_mins": config.grace_minutes,
                "repair_action": action,
            }
            for reason, action in known.reasons[kind.accelerator.vendor].items()
        ],
    }
