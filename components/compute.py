"""The compute layer: pools of accelerator nodes that come up in waves, each behind a gate."""

import base64
from collections.abc import Iterator
from typing import Annotated, Any, Literal

import pulumi
from pulumi_aws import ec2, eks
from pydantic import Field

from components.catalog import InstanceType, instance_type
from components.catalog.floors import floor
from components.naming import Names
from components.nodes import METADATA, root_volume, tag_specifications
from components.settings import (
    REPLACES,
    AmiRelease,
    Dns,
    InstanceName,
    Problem,
    Reservation,
    Section,
    ZoneId,
    rule,
)
from components.waves import GPU, Capacity, Gate, Wave, capacity

__all__ = ["AcceleratorPool", "PoolConfig", "interfaces"]

LARGEST_GROUP = 450
"""Nodes in one managed node group (EKS quotas)."""

FIRST_SHARE = 10
"""The first wave is at most this part of a pool: what it teaches must come cheap."""

SMALLEST_FIRST = 2
"""A first wave may always have two nodes, since no link can be measured with one."""

AMI_TYPES = {"x86_64": "AL2023_x86_64_NVIDIA", "arm64": "AL2023_ARM_64_NVIDIA"}
"""Image with the driver, by architecture; the plain image has none."""

CAPACITY_TYPES = {
    "on-demand": "ON_DEMAND",
    "spot": "SPOT",
    "reservation": "ON_DEMAND",
    "capacity-block": "CAPACITY_BLOCK",
}

HUGE_PAGES = 5128
"""Pages of 2 MiB for EFA's buffers: 5 GiB and a little (what the EFA installer sets)."""


class PoolConfig(Section):
    """A pool of equal accelerator nodes."""

    name: Annotated[Dns, REPLACES]
    """What jobs call it."""

    instance_type: Annotated[InstanceName, REPLACES]
    """EC2 instance type, one with accelerators."""

    zone: Annotated[ZoneId, REPLACES]
    """The one zone where it lives: the fabric does not leave a zone."""

    waves: Annotated[tuple[Annotated[int, Field(ge=1, le=LARGEST_GROUP)], ...], Field(min_length=1)]
    """Nodes of each wave, in order; a wave waits until the one before has proved itself."""

    capacity: Annotated[Literal["on-demand", "spot", "reservation", "capacity-block"], REPLACES] = (
        "on-demand"
    )
    """How its instances are bought."""

    reservation: Reservation | None = None
    """Id of the capacity reservation or capacity block, when bought so."""

    ami_release: AmiRelease | None = None
    """Image release when it differs from the catalog's, to try a new one on one pool first."""

    efa: Annotated[bool, REPLACES] = True
    """Whether its nodes join the fabric."""

    floor_gbps: Annotated[float, Field(gt=0)] | None = None
    """Lowest good all-reduce bus bandwidth in GB/s; needed where the catalog has no floor."""

    further_device_index: Annotated[Literal[0, 1], REPLACES] = 0
    """Device index on cards behind the first; the EC2 guide says 0, some clusters run with 1."""

    root_gib: Annotated[int, Field(ge=50, le=16384)] = 200
    """Root disk; images and scratch go to the local NVMe where there is some."""

    @property
    def nodes(self) -> int:
        """Nodes of all waves."""
        return sum(self.waves)

    @property
    def capacity_to_share(self) -> Capacity:
        """What all its nodes have for jobs."""
        kind = instance_type(self.instance_type)
        return capacity(self.name, kind, self.nodes, efa=self.efa)

    @rule("waves")
    def _first_wave_is_small(self) -> Iterator[Problem]:
        most = max(SMALLEST_FIRST, self.nodes // FIRST_SHARE)
        if self.waves[0] > most:
            yield Problem(
                "waves.0",
                f"is {self.waves[0]} of {self.nodes} nodes; the first wave has at most "
                f"{most} (two, or a tenth of the pool), so move the rest to later waves",
            )

    @rule("instance_type", "efa")
    def _type_can(self) -> Iterator[Problem]:
        kind = instance_type(self.instance_type)
        if kind.accelerator is None:
            yield Problem(
                "instance_type",
                f"is {kind.name}, which has no accelerator; use a type that has, or run plain "
                "work on the system nodes",
            )
        elif kind.accelerator.vendor != "nvidia":
            yield Problem(
                "instance_type",
                f"is {kind.name} with {kind.accelerator.name}, for which this program has no "
                "device plugin; use a type with NVIDIA GPUs",
            )
        elif self.efa and not kind.efa_interfaces:
            yield Problem("efa", f"is true, but {kind.name} has no EFA; set it to false")

    @rule("instance_type", "waves", "efa", "floor_gbps")
    def _can_be_judged(self) -> Iterator[Problem]:
        known = self.efa and all(floor(self.instance_type, nodes) for nodes in self.waves)
        if self.floor_gbps is None and not known:
            without = "" if self.efa else " without EFA"
            yield Problem(
                "floor_gbps",
                f"is missing, and the catalog has no floor for {self.instance_type}{without}; give "
                "the lowest all-reduce bus bandwidth in GB/s that is good, or no wave can pass",
            )

    @rule("capacity", "reservation")
    def _reservation_fits(self) -> Iterator[Problem]:
        reserved = self.capacity in {"reservation", "capacity-block"}
        if reserved and self.reservation is None:
            yield Problem(
                "reservation",
                f"is missing, but capacity is {self.capacity}; give the id that starts with cr-",
            )
        if not reserved and self.reservation is not None:
            yield Problem(
                "reservation",
                f"is {self.reservation}, but capacity is {self.capacity}; set capacity to "
                "reservation or capacity-block, or leave the id out",
            )

    @rule("instance_type", "capacity")
    def _placed_together(self) -> Iterator[Problem]:
        kind = instance_type(self.instance_type)
        if self.capacity == "on-demand" and not kind.placement_group:
            yield Problem(
                "capacity",
                f"is on-demand, but {kind.name} cannot be in a placement group; use "
                "reservation or capacity-block",
            )


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
        self._release = config.ami_release or image_release

        template = self._template(security_group_ids, volume_key_arn)
        proof = after
        for number, nodes in enumerate(config.waves, start=1):
            group = self._group(
                number, nodes, kubernetes, subnet_id, node_role_arn, template, proof
            )
            wave = Wave(
                pool=config.name,
                number=number,
                nodes=nodes,
                instance_type=config.instance_type,
                efa=config.efa,
                floor_gbps=config.floor_gbps,
                image_release=self._release,
                group=group,
                group_id=group.id,
            )
            proof = [gate(wave)]
        self.nodes = config.nodes
        self.register_outputs({"nodes": self.nodes})

    def _template(
        self, security_group_ids: list[pulumi.Output[str]], volume_key_arn: pulumi.Input[str]
    ) -> "ec2.LaunchTemplate":
        config, label = self._config, self._names.physical(self._config.name)
        capacity: dict[str, Any] = {}
        if config.reservation:
            capacity["capacity_reservation_specification"] = {
                "capacity_reservation_target": {"capacity_reservation_id": config.reservation}
            }
        if config.capacity == "capacity-block":
            capacity["instance_market_options"] = {"market_type": "capacity-block"}
        if config.capacity == "on-demand":
            group = ec2.PlacementGroup(
                self._name,
                name=label,
                strategy="cluster",
                tags=self._names.called(label),
                opts=self._own,
            )
            capacity["placement"] = {"group_name": group.name}
        return ec2.LaunchTemplate(
            self._name,
            name=label,
            instance_type=config.instance_type,
            block_device_mappings=[root_volume(config.root_gib, volume_key_arn)],
            metadata_options=METADATA,
            network_interfaces=interfaces(
                self._kind,
                security_group_ids,
                efa=config.efa,
                further_device_index=config.further_device_index,
            ),
            user_data=base64.b64encode(_user_data(self._kind, efa=config.efa).encode()).decode(),
            tag_specifications=tag_specifications(self._names, label),
            update_default_version=True,
            tags=self._names.called(label),
            opts=self._own,
            **capacity,
        )

    def _group(
        self,
        number: int,
        nodes: int,
        kubernetes: str,
        subnet_id: pulumi.Input[str],
        node_role_arn: pulumi.Input[str],
        template: "ec2.LaunchTemplate",
        proof: list[pulumi.Resource],
    ) -> "eks.NodeGroup":
        """Make a wave: a node group of its own can be replaced, and rolled back, alone."""
        config, names = self._config, self._names
        label = f"{config.name}-{number}"
        return eks.NodeGroup(
            f"{self._name}-{number}",
            cluster_name=names.cluster,
            node_group_name=label,
            node_role_arn=node_role_arn,
            subnet_ids=[subnet_id],
            ami_type=AMI_TYPES[self._kind.architecture],
            capacity_type=CAPACITY_TYPES[config.capacity],
            version=kubernetes,
            release_version=self._release,
            launch_template={"id": template.id, "version": template.latest_version.apply(str)},
            scaling_config={"min_size": nodes, "desired_size": nodes, "max_size": nodes},
            update_config={"max_unavailable": 1},
            labels={"trainyard.dev/pool": config.name, "trainyard.dev/wave": str(number)},
            taints=[
                {"key": "trainyard.dev/unproved", "value": "true", "effect": "NO_SCHEDULE"},
                {"key": GPU, "value": "present", "effect": "NO_SCHEDULE"},
            ],
            tags=names.called(names.physical(label)),
            opts=pulumi.ResourceOptions(parent=self, depends_on=proof),
        )


def interfaces(
    kind: InstanceType,
    security_group_ids: list[pulumi.Output[str]],
    *,
    efa: bool,
    further_device_index: int,
) -> "list[ec2.LaunchTemplateNetworkInterfaceArgsDict]":
    """Return the network interfaces of a node: one with addresses, and one for EFA on each card.

    The first can be no EFA-only interface. Card 0 gets one beside it where it can carry EFA, and
    each further card one of its own (EC2 guide, EFA on accelerated instance types). They name no
    subnet, because a managed node group refuses a template that does.
    """

    def one(card: int, device: int, kind_of: str) -> "ec2.LaunchTemplateNetworkInterfaceArgsDict":
        return {
            "network_card_index": card,
            "device_index": device,
            "interface_type": kind_of,
            "security_groups": security_group_ids,
            "delete_on_termination": "true",
        }

    if not efa:
        return [one(0, 0, "interface")]
    first = [one(0, 1, "efa-only")] if kind.efa_on_first_card else []
    further = [one(card, further_device_index, "efa-only") for card in range(1, kind.network_cards)]
    return [one(0, 0, "interface"), *first, *further]


def _user_data(kind: InstanceType, *, efa: bool) -> str:
    """Return what a node is told before its kubelet starts."""
    storage = "\n    localStorage:\n      strategy: RAID0" if kind.local_nvme_gb else " {}"
    settings = ["fs.inotify.max_user_instances=8192", "vm.max_map_count=1048576"]
    if efa:
        settings.append(f"vm.nr_hugepages={HUGE_PAGES}")
    return "\n".join(
        [
            "MIME-Version: 1.0",
            'Content-Type: multipart/mixed; boundary="trainyard"',
            "",
            "--trainyard",
            "Content-Type: application/node.eks.aws",
            "",
            "apiVersion: node.eks.aws/v1alpha1",
            "kind: NodeConfig",
            "spec:",
            f"  instance:{storage}",
            "",
            "--trainyard",
            'Content-Type: text/x-shellscript; charset="us-ascii"',
            "",
            "#!/bin/bash",
            "set -o errexit",
            *(f"sysctl -w {setting}" for setting in settings),
            "",
            "--trainyard--",
            "",
        ]
    )
