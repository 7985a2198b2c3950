"""What the EC2 operations share: ids, tags and filters."""

import secrets
from collections.abc import Iterable
from typing import Any

from scripts.local.simulator.calls import AwsError, Call
from scripts.local.simulator.records import Record

__all__ = [
    "CAPACITY_RESERVATION",
    "PLACEMENT_GROUP",
    "dependency",
    "hex_id",
    "in_use",
    "listed",
    "overlaid",
    "selected",
    "set_tags",
    "tagged",
]

PLACEMENT_GROUP, CAPACITY_RESERVATION = "ec2:placement-group", "ec2:capacity-reservation"


def hex_id(prefix: str) -> str:
    """Return a fresh id in EC2's long form."""
    return f"{prefix}-{secrets.token_hex(9)[:17]}"


def set_tags(call: Call, identity: str) -> None:
    """Keep the tags of a creation with those of all of EC2, where CreateTags finds them."""
    tags = [
        tag
        for specification in call.params.get("TagSpecifications", [])
        for tag in specification.get("Tags", [])
    ]
    if tags:
        call.ask("ec2", "CreateTags", Resources=[identity], Tags=tags)


def tagged(call: Call, records: Iterable[Record], key: str) -> list[Record]:
    """Add to each record the tags that EC2 holds for the id under ``key``."""
    found = [dict(record) for record in records]
    if not found:
        return []
    filters = [{"Name": "resource-id", "Values": [record[key] for record in found]}]
    tags: dict[str, list[dict[str, str]]] = {}
    for tag in call.ask("ec2", "DescribeTags", Filters=filters).get("Tags", []):
        tags.setdefault(tag["ResourceId"], []).append({"Key": tag["Key"], "Value": tag["Value"]})
    return [{**record, "Tags": tags.get(record[key], [])} for record in found]


def selected(
    records: list[Record], filters: list[dict[str, Any]], fields: dict[str, str]
) -> list[Record]:
    """Keep the records that match EC2 filters; ``fields`` maps filter names to record keys."""
    for one in filters:
        name, wanted = one["Name"], set(one["Values"])
        records = [record for record in records if _values(record, name, fields) & wanted]
    return records


def _values(record: Record, name: str, fields: dict[str, str]) -> set[str]:
    tags = {tag["Key"]: tag["Value"] for tag in record.get("Tags", [])}
    if name.startswith("tag:"):
        return {tags[key] for key in [name.removeprefix("tag:")] if key in tags}
    if name == "tag-key":
        return set(tags)
    if name not in fields:
        raise NotImplementedError(f"filter {name}")
    return {str(record.get(fields[name]))}


def listed(call: Call, operation: str, output: str, **filters: str) -> list[Record]:
    """List what a Describe operation finds; filters by name: __ is a dot, _ a dash."""
    asked = [
        {"Name": name.replace("__", ".").replace("_", "-"), "Values": [value]}
        for name, value in filters.items()
    ]
    parameter = "Filter" if operation == "DescribeNatGateways" else "Filters"
    found: list[Record] = call.ask("ec2", operation, **{parameter: asked}).get(output, [])
    return found


def overlaid(call: Call, kind: str, records: list[Record], key: str) -> list[Record]:
    """Lay what this package keeps of a resource over what moto describes of it."""
    kept = call.table(kind)
    return [{**record, **kept.get(record[key], {})} for record in records]


def dependency(message: str) -> AwsError:
    """Build EC2's refusal to delete what something else needs."""
    return AwsError("DependencyViolation", message)


def in_use(call: Call, **filters: str) -> bool:
    """Tell whether network interfaces or running instances match the filters.

    moto leaves the interfaces of terminated instances behind, so those of instances do not count.
    """
    interfaces = listed(call, "DescribeNetworkInterfaces", "NetworkInterfaces", **filters)
    attached = {
        interface["Attachment"]["InstanceId"]
        for interface in interfaces
        if interface.get("Attachment", {}).get("InstanceId")
    }
    free = [one for one in interfaces if not one.get("Attachment", {}).get("InstanceId")]
    return bool(free) or _any_alive(call, attached)


def _any_alive(call: Call, instances: set[str]) -> bool:
    if not instances:
        return False
    found = call.ask("ec2", "DescribeInstances", InstanceIds=sorted(instances))
    return any(
        instance["State"]["Name"] != "terminated"
        for reservation in found["Reservations"]
        for instance in reservation["Instances"]
    )
