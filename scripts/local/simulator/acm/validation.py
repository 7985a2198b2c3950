"""Whether the record that proves the ownership of a domain is in DNS."""

from scripts.local.simulator.calls import Call
from scripts.local.simulator.records import Record
from scripts.local.simulator.route53.common import absolute, public_sets

__all__ = ["in_dns"]


def in_dns(call: Call, wanted: Record | None) -> bool:
    """Look for a record in every public zone; the world's DNS knows no accounts."""
    if wanted is None:
        return False
    name = absolute(wanted["Name"])
    return any(
        absolute(record_set["Name"]) == name
        and record_set["Type"] == wanted["Type"]
        and absolute(value["Value"]) == absolute(wanted["Value"])
        for record_set in public_sets(call)
        for value in record_set.get("ResourceRecords", [])
    )
