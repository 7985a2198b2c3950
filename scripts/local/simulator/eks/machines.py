"""What EKS refuses of a node group's image, instance types and capacity."""

import re
from dataclasses import dataclass

from components.catalog import instance_types
from scripts.local.simulator.calls import AwsError, Call
from scripts.local.simulator.eks.cards import check_interfaces
from scripts.local.simulator.eks.common import invalid
from scripts.local.simulator.records import Record

__all__ = ["CUSTOM", "Machines", "check_machines", "check_release"]

CUSTOM = "CUSTOM"
BLOCK, BLOCK_MARKET = "CAPACITY_BLOCK", "capacity-block"

ARCHITECTURES = {"ARM_64": "arm64", "x86_64": "x86_64"}
"""How an AMI type names the architecture of its image, and how EC2 does."""

RELEASES = re.compile(r"AL2\d*_")
"""AMI types whose releases begin with the version of Kubernetes."""


@dataclass(frozen=True)
class Machines:
    """What the machines of a node group are to be, by the request and its launch template."""

    ami_type: str
    capacity: str
    types: tuple[str, ...]
    zones: tuple[str, ...]
    """Names of the zones of its subnets."""

    template: Record | None = None
    """The data of the launch template; None without one."""

    @property
    def data(self) -> Record:
        """The data of the launch template, empty without one."""
        return self.template or {}

    @property
    def market(self) -> str | None:
        """How the launch template says that instances are bought."""
        found: str | None = self.data.get("InstanceMarketOptions", {}).get("MarketType")
        return found

    @property
    def reservation(self) -> str | None:
        """Id of the capacity reservation that the launch template targets."""
        target = self.data.get("CapacityReservationSpecification", {}).get(
            "CapacityReservationTarget", {}
        )
        found: str | None = target.get("CapacityReservationId")
        return found


def check_machines(call: Call, machines: Machines) -> None:
    """Refuse machines that EKS or EC2 would not start."""
    _check_image(machines)
    _check_types(call, machines)
    _check_market(machines)
    check_interfaces(machines.data.get("NetworkInterfaces", []), machines.types)
    _check_placement(call, machines)
    _check_reservation(call, machines)
    _check_groups(call, machines.data)


def _refused(message: str) -> AwsError:
    return AwsError("InvalidRequestException", message)


def _check_image(machines: Machines) -> None:
    """Take an image of one's own exactly where the AMI type says so."""
    own = "ImageId" in machines.data
    if own and machines.ami_type != CUSTOM:
        raise invalid(
            "You cannot specify an AMI Type other than CUSTOM, when specifying an image id in "
            "your launch template."
        )
    if machines.ami_type == CUSTOM and not own:
        raise invalid(
            "You must specify an image id in your launch template, when specifying AMI Type CUSTOM."
        )


def check_release(ami_type: str, version: str, release: str) -> None:
    """Refuse a release of another version of Kubernetes."""
    if RELEASES.match(ami_type) and not release.startswith(f"{version}."):
        raise invalid(
            f"Requested release version {release} is not valid for kubernetes version {version}."
        )


def _check_types(call: Call, machines: Machines) -> None:
    wanted = [its for name, its in ARCHITECTURES.items() if name in machines.ami_type]
    for name in machines.types:
        architectures = _architectures(call, name)
        if wanted and wanted[0] not in architectures:
            raise invalid(
                f"[{name}] is not a valid instance type for requested amiType {machines.ami_type}"
            )


def _architectures(call: Call, name: str) -> list[str]:
    """Look a type up in the catalog, which knows some that moto does not, and then in EC2."""
    known = instance_types().get(name)
    if known:
        return [known.architecture]
    try:
        [found] = call.ask("ec2", "DescribeInstanceTypes", InstanceTypes=[name])["InstanceTypes"]
    except AwsError:
        raise invalid(f"The following supplied instance types do not exist: [{name}]") from None
    supported: list[str] = found["ProcessorInfo"]["SupportedArchitectures"]
    return supported


def _check_market(machines: Machines) -> None:
    """Take a capacity block from EKS and EC2 alike, and any other market from EKS alone."""
    if machines.market not in {None, BLOCK_MARKET}:
        raise invalid("Instance market options are not supported with the launch template.")
    if machines.capacity != BLOCK:
        if machines.market:
            raise invalid(
                "You must specify capacity type CAPACITY_BLOCK, when specifying market type "
                "capacity-block in your launch template."
            )
        return
    needed = {
        "a launch template": machines.template is not None,
        "market type capacity-block in your launch template": machines.market,
        "a capacity reservation id in your launch template": machines.reservation,
        "an instance type in your launch template": "InstanceType" in machines.data,
    }
    for what, given in needed.items():
        if not given:
            raise invalid(f"You must specify {what}, when specifying capacity type CAPACITY_BLOCK.")


def _check_placement(call: Call, machines: Machines) -> None:
    """Take a cluster placement group in one zone, and never for a capacity block.

    AWS lets a group of several zones be created, and refuses its updates once instances have come
    up in one of them; the stand-in says so at once.
    """
    name = machines.data.get("Placement", {}).get("GroupName")
    if name is None:
        return
    try:
        [group] = call.ask("ec2", "DescribePlacementGroups", GroupNames=[name])["PlacementGroups"]
    except AwsError as error:
        raise _refused(error.message) from None
    if machines.capacity == BLOCK:
        raise _refused("Placement groups are not supported with market type capacity-block.")
    if group["Strategy"] != "cluster":
        return
    for one in machines.types:
        kind = instance_types().get(one)
        if kind and not kind.placement_group:
            raise _refused(
                f"Cluster placement groups are not supported by the '{one}' instance type. "
                "Specify a supported instance type or change the placement group strategy, and "
                "try again."
            )
    if len(set(machines.zones)) > 1:
        zone = machines.zones[0]
        raise _refused(
            f"Instances in the {name} Placement Group must be launched in the {zone} Availability "
            f"Zone. Specify the {zone} Availability Zone and try again."
        )


def _check_reservation(call: Call, machines: Machines) -> None:
    """Take a targeted reservation that is there, and of the type and in the zone of the group."""
    if machines.reservation is None:
        return
    try:
        [found] = call.ask(
            "ec2", "DescribeCapacityReservations", CapacityReservationIds=[machines.reservation]
        )["CapacityReservations"]
    except AwsError as error:
        raise _refused(error.message) from None
    identity, kind = machines.reservation, found["InstanceType"]
    for one in machines.types:
        if one != kind:
            raise _refused(
                f"The capacity reservation '{identity}' is for the instance type {kind} and cannot "
                f"be used by the instance type {one}."
            )
    for zone in machines.zones:
        if zone != found["AvailabilityZone"]:
            raise _refused(
                f"The capacity reservation '{identity}' is in the Availability Zone "
                f"{found['AvailabilityZone']} and cannot be used in the Availability Zone {zone}."
            )


def _check_groups(call: Call, data: Record) -> None:
    """Take security groups that exist."""
    ids = {
        *data.get("SecurityGroupIds", []),
        *(group for one in data.get("NetworkInterfaces", []) for group in one.get("Groups", [])),
    }
    if ids:
        try:
            call.ask("ec2", "DescribeSecurityGroups", GroupIds=sorted(ids))
        except AwsError as error:
            raise _refused(error.message) from None
