"""Route 53 record sets: a batch of changes is judged as a whole, then made as a whole."""

from ipaddress import IPv4Address, IPv6Address

from scripts.local.simulator.calls import Answer, AwsError, Call, answers
from scripts.local.simulator.records import Record
from scripts.local.simulator.route53.common import (
    Key,
    absolute,
    key_of,
    record_sets,
    required,
    zone_of,
)

__all__ = ["change", "list_sets"]

ADDRESSES = {
    "A": (IPv4Address, "ARRDATAIllegalIPv4Address", "IPv4"),
    "AAAA": (IPv6Address, "AAAARRDATAIllegalIPv6Address", "IPv6"),
}

PAGE = 300


@answers("route53", "ChangeResourceRecordSets")
def change(call: Call) -> Answer:
    """Make a batch of changes, or none of them."""
    zone = zone_of(call)
    name = absolute(zone["Name"])
    sets = record_sets(call, zone["Id"])
    draft = dict(sets)
    problems: list[str] = []
    for one in call.params["ChangeBatch"]["Changes"]:
        wanted = {**one["ResourceRecordSet"], "Name": absolute(one["ResourceRecordSet"]["Name"])}
        problem = _tried(draft, one["Action"], wanted, name)
        if problem:
            problems.append(problem)
    if problems:
        raise AwsError("InvalidChangeBatch", f"[{', '.join(problems)}]")
    # moto's answer has the form; what it would keep of the change is not used.
    sets.clear()
    sets.update(draft)
    return call.ask_moto("route53", "GetChange", Id="C2682N5HXP0BZ4")


def _tried(draft: dict[Key, Record], action: str, wanted: Record, zone: str) -> str | None:
    """Make one change in the draft, or tell why it cannot be made."""
    key = key_of(wanted)
    name, _, _ = key
    if name != zone and not name.endswith(f".{zone}"):
        return f"RRSet with DNS name {name} is not permitted in zone {zone}"
    if action == "DELETE":
        return _dropped(draft, wanted, zone)
    if action == "CREATE" and key in draft:
        return f"Tried to create resource record set {_label(key)} but it already exists"
    problem = _illegal(draft, wanted, zone)
    if problem is None:
        draft[key] = wanted
    return problem


def _label(key: Key) -> str:
    name, kind, _ = key
    return f"[name='{name}', type='{kind}']"


def _dropped(draft: dict[Key, Record], wanted: Record, zone: str) -> str | None:
    """Take a record set that is given as it is out of the draft."""
    key = key_of(wanted)
    found = draft.get(key)
    if found is None:
        return f"Tried to delete resource record set {_label(key)} but it was not found"
    if key in required(zone):
        return f"A HostedZone must contain the {key[1]} record of the zone itself"
    if not _same(found, wanted):
        return (
            f"Tried to delete resource record set {_label(key)} but the values provided do not "
            "match the current values"
        )
    del draft[key]
    return None


def _same(one: Record, other: Record) -> bool:
    """Compare record sets; the order of values means nothing."""
    return {**one, "ResourceRecords": _values(one)} == {**other, "ResourceRecords": _values(other)}


def _values(record_set: Record) -> list[str]:
    return sorted(one["Value"] for one in record_set.get("ResourceRecords", []))


def _illegal(draft: dict[Key, Record], wanted: Record, zone: str) -> str | None:
    """Tell what is wrong with a record set beside those that are there."""
    name, kind, _ = key_of(wanted)
    values = _values(wanted)
    if bool(values) == ("AliasTarget" in wanted) or bool(values) != ("TTL" in wanted):
        return (
            "Invalid request: Expected exactly one of [AliasTarget, all of [TTL, and "
            "ResourceRecords], or TrafficPolicyInstanceId], but found none in Change with "
            f"[Action=CREATE, Name={name}, Type={kind}, SetIdentifier=null]"
        )
    if kind == "CNAME" and name == zone:
        return f"RRSet of type CNAME with DNS name {name} is not permitted at apex in zone {zone}"
    others = {other for at, other, _ in draft if at == name and other != kind}
    if others and "CNAME" in {kind, *others}:
        return (
            f"RRSet of type {kind} with DNS name {name} is not permitted as it conflicts with "
            f"other records with the same DNS name in zone {zone}"
        )
    return next((text for value in values if (text := _malformed(kind, value))), None)


def _malformed(kind: str, value: str) -> str | None:
    if kind == "TXT" and not (value.startswith('"') and value.endswith('"')):
        return (
            "Invalid Resource Record: 'FATAL problem: InvalidCharacterString (Value should be "
            f"enclosed in quotation marks) encountered with '{value}''"
        )
    if kind not in ADDRESSES:
        return None
    address, problem, what = ADDRESSES[kind]
    try:
        address(value)
    except ValueError:
        return (
            f"Invalid Resource Record: 'FATAL problem: {problem} (Value is not a valid {what} "
            f"address) encountered with '{value}''"
        )
    return None


@answers("route53", "ListResourceRecordSets")
def list_sets(call: Call) -> Answer:
    """List the record sets of a zone from a name on, by their labels from the top."""
    ordered = sorted(record_sets(call, zone_of(call)["Id"]).items(), key=lambda it: _order(it[0]))
    if "StartRecordName" in call.params:
        first = _order(
            (
                absolute(call.params["StartRecordName"]),
                call.params.get("StartRecordType", ""),
                call.params.get("StartRecordIdentifier", ""),
            )
        )
        ordered = [one for one in ordered if _order(one[0]) >= first]
    size = int(call.params.get("MaxItems", PAGE))
    page, rest = ordered[:size], ordered[size:]
    answer: Answer = {
        "ResourceRecordSets": [record_set for _, record_set in page],
        "IsTruncated": bool(rest),
        "MaxItems": str(size),
    }
    if rest:
        name, kind, identifier = rest[0][0]
        answer |= {"NextRecordName": name, "NextRecordType": kind}
        if identifier:
            answer["NextRecordIdentifier"] = identifier
    return answer


def _order(key: Key) -> tuple[list[str], str, str]:
    name, kind, identifier = key
    return name.rstrip(".").split(".")[::-1], kind, identifier
