"""What the Route 53 operations share: a world-wide table of record sets, and names."""

from collections.abc import Iterator

from scripts.local.simulator.calls import Call
from scripts.local.simulator.records import Record

__all__ = [
    "Key",
    "absolute",
    "bare",
    "key_of",
    "public_sets",
    "record_sets",
    "required",
    "zone_of",
    "zones",
]

ZONE = "route53:zone"
"""What is kept of a zone here: whether it is private, and its record sets by their keys."""

EVERYWHERE = "global"
"""Route 53 has no regions; each client still signs with one."""

Key = tuple[str, str, str]
"""Name, type and set identifier, by which a zone tells its record sets apart."""


def bare(identity: str) -> str:
    """Take the path off a zone's id, as callers may give it with or without."""
    return identity.rsplit("/", 1)[-1]


def absolute(name: str) -> str:
    """Spell a domain name as Route 53 does: lower case, with its last dot."""
    return f"{name.lower().rstrip('.')}."


def required(zone: str) -> set[Key]:
    """Give the record sets at the top of a zone of this name, which come and go with it."""
    return {(absolute(zone), kind, "") for kind in ("NS", "SOA")}


def zone_of(call: Call) -> Record:
    """Describe the zone that a request names, with ``Id`` as moto has it."""
    identity = bare(call.params.get("HostedZoneId") or call.params["Id"])
    zone: Record = call.ask_moto("route53", "GetHostedZone", Id=identity)["HostedZone"]
    return zone


def zones(call: Call) -> dict[str, Record]:
    """Return what is kept of the account's zones, by their ids."""
    return call.records.table(call.account, EVERYWHERE, ZONE)


def record_sets(call: Call, zone: str) -> dict[Key, Record]:
    """Return the record sets of a zone."""
    sets: dict[Key, Record] = zones(call)[bare(zone)]["sets"]
    return sets


def public_sets(call: Call) -> Iterator[Record]:
    """Yield the record sets of all public zones of all accounts: what the world can look up."""
    for _, _, zone in call.records.everywhere(ZONE):
        if not zone["private"]:
            yield from zone["sets"].values()


def key_of(record_set: Record) -> Key:
    """Give what a zone knows a record set by."""
    name, kind = absolute(record_set["Name"]), str(record_set["Type"])
    return name, kind, str(record_set.get("SetIdentifier", ""))
