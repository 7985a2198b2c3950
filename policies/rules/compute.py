"""Nodes: IMDSv2, encrypted volumes, no public address, no SSH, one place for security groups."""

from collections.abc import Iterator, Mapping

from rules import types
from rules.base import About, ResourceRule, Subject
from rules.plain import UNKNOWN, Plain, is_on, is_set, section, sections, text

_MACHINES = frozenset(
    {
        types.EC2_INSTANCE,
        types.EC2_LAUNCH_CONFIGURATION,
        types.EC2_LAUNCH_TEMPLATE,
        types.EC2_SPOT_INSTANCE_REQUEST,
    }
)
_TEMPLATE = frozenset({types.EC2_LAUNCH_TEMPLATE})
_SINGLE = _MACHINES - _TEMPLATE


def open_metadata(subject: Subject) -> Iterator[str]:
    """Name machines whose metadata service answers without a session token, or to pods."""
    options = section(subject.props.get("metadataOptions"))
    if text(options.get("httpEndpoint")) == "disabled":
        return
    if options.get("httpTokens") != "required":
        yield "metadataOptions.httpTokens is not 'required'; set it, so that only IMDSv2 answers"
    hops = options.get("httpPutResponseHopLimit")
    if hops is UNKNOWN or (isinstance(hops, int) and hops > 1):
        yield (
            "metadataOptions.httpPutResponseHopLimit lets pods reach the node's role; "
            "set it to 1 and give pods a role through Pod Identity"
        )


def template_volumes(subject: Subject) -> Iterator[str]:
    """Name volumes of a launch template that are not encrypted, also the one it leaves out."""
    mappings = sections(subject.props.get("blockDeviceMappings"))
    disks = [(i, section(m.get("ebs"))) for i, m in enumerate(mappings) if m.get("ebs")]
    if not disks:
        yield (
            "blockDeviceMappings declares no volume, so the root volume is as the image left it; "
            "declare it with ebs.encrypted"
        )
    for index, disk in disks:
        if not is_on(disk.get("encrypted")):
            yield f"blockDeviceMappings[{index}].ebs.encrypted is not true; set it"


def machine_volumes(subject: Subject) -> Iterator[str]:
    """Name volumes of a single machine that are not encrypted, also the root left out."""
    if not is_on(section(subject.props.get("rootBlockDevice")).get("encrypted")):
        yield "rootBlockDevice.encrypted is not true; set it"
    for index, disk in enumerate(sections(subject.props.get("ebsBlockDevices"))):
        if not is_on(disk.get("encrypted")):
            yield f"ebsBlockDevices[{index}].encrypted is not true; set it"


def public_address(subject: Subject) -> Iterator[str]:
    """Name machines that ask for a public address."""
    blocks: list[tuple[str, Mapping[str, Plain]]] = [("", subject.props)]
    interfaces = sections(subject.props.get("networkInterfaces"))
    blocks += [(f"networkInterfaces[{index}].", block) for index, block in enumerate(interfaces)]
    for path, block in blocks:
        value = block.get("associatePublicIpAddress")
        if value is UNKNOWN or is_on(value):
            yield (
                f"{path}associatePublicIpAddress asks for a public address; set it to false and "
                "let traffic leave through a NAT gateway or endpoints"
            )


def groups_twice(subject: Subject) -> Iterator[str]:
    """Name launch templates with security groups beside interfaces, which EC2 refuses."""
    if not is_set(subject.props.get("networkInterfaces")):
        return
    for prop in ("vpcSecurityGroupIds", "securityGroupNames"):
        if is_set(subject.props.get(prop)):
            yield (
                f"{prop} stands beside networkInterfaces, which EC2 refuses when a node starts; "
                "put the groups into each interface's securityGroups"
            )


def login_keys(subject: Subject) -> Iterator[str]:
    """Name ways to log in to a node by SSH."""
    for prop in ("remoteAccess", "keyName"):
        if is_set(subject.props.get(prop)):
            yield f"{prop} opens SSH to the nodes; leave it out and use Session Manager"


def empty_target(subject: Subject) -> Iterator[str]:
    """Name launch templates whose reservation target got lost on the way.

    What EC2 knows at launch only (an unknown id) is a target.
    """
    specification = section(subject.props.get("capacityReservationSpecification"))
    if "capacityReservationTarget" not in specification:
        return
    target = section(specification["capacityReservationTarget"])
    if not any(is_set(target.get(prop)) for prop in _TARGETS):
        yield (
            "capacityReservationSpecification.capacityReservationTarget names no reservation, so "
            "instances are bought on demand; give capacityReservationId or "
            "capacityReservationResourceGroupArn"
        )


_TARGETS = ("capacityReservationId", "capacityReservationResourceGroupArn")

NODES = ResourceRule(
    About(
        name="compute-nodes-hardened",
        description="Nodes answer IMDSv2 only, on encrypted volumes, with no public address or SSH",
        remedy="Set the named property of the launch template or node group.",
        rows="39-42",
        sources=(
            "CKV_AWS_8",
            "CKV_AWS_79",
            "CKV_AWS_88",
            "CKV_AWS_100",
            "CKV_AWS_341",
            "AWS-0028",
            "AWS-0131",
            "terraform-aws-eks#1880",
        ),
    ),
    {
        open_metadata: _MACHINES,
        template_volumes: _TEMPLATE,
        machine_volumes: _SINGLE,
        public_address: _MACHINES,
        groups_twice: _TEMPLATE,
        login_keys: _MACHINES | {types.EKS_NODE_GROUP},
    },
)
RESERVED = ResourceRule(
    About(
        name="compute-reservation-named",
        description="A launch template that targets reserved capacity says which",
        remedy="Name the reservation, or the resource group of reservations, in the target.",
        rows="39-42",
        sources=("eksctl#8542",),
    ),
    {empty_target: _TEMPLATE},
)
RULES = (NODES, RESERVED)
