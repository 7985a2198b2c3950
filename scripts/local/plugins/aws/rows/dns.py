"""Rows: Route 53 zones and records."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Final

from scripts.local.plugins.aws.row import Call, Change, Hooks, Row, Tagging
from scripts.local.plugins.aws.session import AwsError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scripts.local.plugins.aws.convert import Api
    from scripts.local.plugins.aws.session import Item
    from scripts.local.plugins.shared.wire import Props, Value

_TOP: Final = frozenset({"NS", "SOA"})
"""Records that come and go with their zone."""


def _list(value: Value) -> list[Value]:
    return value if isinstance(value, list) else []


def _vpcs(item: Item, props: Mapping[str, Value]) -> list[dict[str, Api]]:
    return [
        {"VPCId": it["vpcId"], "VPCRegion": it.get("vpcRegion") or item.region}
        for it in _list(props.get("vpcs"))
        if isinstance(it, dict)
    ]


def _create_zone(item: Item) -> str:
    """Make a zone with its first VPC, and let the others see it."""
    props, vpcs = item.props, _vpcs(item, item.props)
    params: dict[str, Api] = {
        "Name": props["name"],
        "CallerReference": str(uuid.uuid4()),
        "HostedZoneConfig": {"Comment": props.get("comment", "")},
        "DelegationSetId": props.get("delegationSetId"),
        "VPC": vpcs[0] if vpcs else None,
    }
    given = {name: value for name, value in params.items() if value is not None}
    identity = str(item.call("CreateHostedZone", **given)["HostedZone"]["Id"]).rpartition("/")[2]
    for vpc in vpcs[1:]:
        item.call("AssociateVPCWithHostedZone", HostedZoneId=identity, VPC=vpc)
    return identity


def _read_zone(item: Item, found: dict[str, Api]) -> bool:
    """Show the zone as the program spells it, with the servers that its own record names."""
    zone = found["HostedZone"]
    found |= {
        "Name": str(zone["Name"]).rstrip("."),
        "ZoneId": item.id,
        "Comment": zone.get("Config", {}).get("Comment", ""),
    }
    if zone.get("Config", {}).get("PrivateZone"):
        found["VPCs"] = _shown_vpcs(item, found.get("VPCs", ()))
    sets = item.call(
        "ListResourceRecordSets",
        HostedZoneId=item.id,
        StartRecordName=zone["Name"],
        StartRecordType="NS",
        MaxItems="1",
    )["ResourceRecordSets"]
    servers = [it["Value"].rstrip(".") for it in sets[0]["ResourceRecords"]]
    found |= {"NameServers": sorted(servers), "PrimaryNameServer": servers[0]}
    return True


def _shown_vpcs(item: Item, vpcs: list[dict[str, Api]]) -> list[dict[str, Api]]:
    """Leave out a region that goes without saying and that the program does not say."""
    said = {
        str(it["vpcId"])
        for it in _list(item.prior.get("vpcs"))
        if isinstance(it, dict) and it.get("vpcRegion")
    }
    return [
        it if it["VPCId"] in said or it["VPCRegion"] != item.region else {"VPCId": it["VPCId"]}
        for it in vpcs
    ]


def _move_vpcs(item: Item, changed: frozenset[str]) -> None:
    """Add before anything is removed: a private zone must always have a VPC."""
    if "vpcs" not in changed:
        return
    new, old = _vpcs(item, item.props), _vpcs(item, item.prior)
    for vpc in new:
        if vpc not in old:
            item.call("AssociateVPCWithHostedZone", HostedZoneId=item.id, VPC=vpc)
    for vpc in old:
        if vpc not in new:
            item.call("DisassociateVPCFromHostedZone", HostedZoneId=item.id, VPC=vpc)


def _delete_zone(item: Item) -> None:
    if item.prior.get("forceDestroy"):
        sets = item.call("ListResourceRecordSets", HostedZoneId=item.id)["ResourceRecordSets"]
        top = item.call("GetHostedZone", Id=item.id)["HostedZone"]["Name"]
        changes = [
            {"Action": "DELETE", "ResourceRecordSet": it}
            for it in sets
            if not (it["Name"] == top and it["Type"] in _TOP)
        ]
        if changes:
            _change(item, item.id, changes)
    item.call("DeleteHostedZone", Id=item.id)


def _kinds(old: Mapping[str, Value], new: Mapping[str, Value]) -> frozenset[str]:
    """Tell whether a zone would become private, or public: it stays what it is for life."""
    return frozenset({"vpcs"}) if bool(old.get("vpcs")) != bool(new.get("vpcs")) else frozenset()


_TAGGED: Final = {"ResourceType": "hostedzone", "ResourceId": "$id"}

ZONE: Final = Row(
    service="route53",
    id="",
    read=(Call("GetHostedZone", {"Id": "$id"}),),
    updates=(Change(("comment",), Call("UpdateHostedZoneComment", {"Id": "$id"})),),
    replace=frozenset({"delegationSetId", "name"}),
    local=frozenset({"forceDestroy"}),
    refused=frozenset({"enableAcceleratedRecovery"}),
    defaults={"comment": "Managed by Pulumi"},
    conflicts=(("delegationSetId", "vpcs"),),
    hooks=Hooks(
        create=_create_zone,
        read=_read_zone,
        update=_move_vpcs,
        delete=_delete_zone,
        replaces=_kinds,
    ),
    outputs={"arn": "arn:{partition}:route53:::hostedzone/{id}"},
    tagging=Tagging(
        add=Call("ChangeTagsForResource", _TAGGED),
        remove=Call("ChangeTagsForResource", _TAGGED),
        field="AddTags",
        keys="RemoveTagKeys",
        read=Call("ListTagsForResource", _TAGGED, "ResourceTagSet"),
    ),
)


def _fqdn(item: Item, zone: Value, name: Value) -> str:
    """Spell a name whole: the program may leave its zone's name out."""
    top = str(item.call("GetHostedZone", Id=zone)["HostedZone"]["Name"]).rstrip(".")
    plain = str(name).rstrip(".").lower()
    if not plain or plain == "@":
        return top
    return plain if plain == top or plain.endswith(f".{top}") else f"{plain}.{top}"


def _record_set(item: Item, props: Mapping[str, Value]) -> dict[str, Api]:
    """Spell a record set as the API takes it."""
    made: dict[str, Api] = {
        "Name": _fqdn(item, props["zoneId"], props["name"]),
        "Type": props["type"],
    }
    for alias in _list(props.get("aliases")):
        if isinstance(alias, dict):
            made["AliasTarget"] = {
                "DNSName": alias["name"],
                "HostedZoneId": alias["zoneId"],
                "EvaluateTargetHealth": alias["evaluateTargetHealth"],
            }
    if props.get("records"):
        quoted = props["type"] in {"TXT", "SPF"}
        values = [str(it) for it in _list(props["records"])]
        made["ResourceRecords"] = [{"Value": f'"{it}"' if quoted else it} for it in values]
        made["TTL"] = props.get("ttl")
    return made


def _change(item: Item, zone: Value, changes: list[dict[str, Api]]) -> None:
    batch = {"Comment": "Managed by Pulumi", "Changes": changes}
    item.call("ChangeResourceRecordSets", HostedZoneId=zone, ChangeBatch=batch)


def _create_record(item: Item) -> str:
    props = item.props
    action = "UPSERT" if props.get("allowOverwrite") else "CREATE"
    change = {"Action": action, "ResourceRecordSet": _record_set(item, props)}
    _change(item, props["zoneId"], [change])
    return f"{props['zoneId']}_{str(props['name']).rstrip('.').lower()}_{props['type']}"


def _place(item: Item) -> Props:
    """Tell zone, name and type of a record; an import has nothing but its id."""
    known = {name: item.prior[name] for name in ("zoneId", "name", "type") if name in item.prior}
    zone, _, rest = item.id.partition("_")
    name, _, kind = rest.rpartition("_")
    return {"zoneId": zone, "name": name, "type": kind, **known}


def _read_record(item: Item, found: dict[str, Api]) -> bool:
    place = _place(item)
    try:
        fqdn = _fqdn(item, place["zoneId"], place["name"])
    except AwsError as error:
        if error.gone:
            return False
        raise
    sets = item.call(
        "ListResourceRecordSets",
        HostedZoneId=place["zoneId"],
        StartRecordName=fqdn,
        StartRecordType=place["type"],
        MaxItems="1",
    )["ResourceRecordSets"]
    if not sets or (sets[0]["Name"].rstrip("."), sets[0]["Type"]) != (fqdn, place["type"]):
        return False
    alias = sets[0].get("AliasTarget")
    found |= {
        **place,
        "fqdn": fqdn,
        "ttl": sets[0].get("TTL"),
        "records": [it["Value"].strip('"') for it in sets[0].get("ResourceRecords", ())],
        "aliases": [
            {
                "name": str(alias["DNSName"]).rstrip("."),
                "zoneId": alias["HostedZoneId"],
                "evaluateTargetHealth": alias["EvaluateTargetHealth"],
            }
        ]
        if alias
        else [],
    }
    return True


def _update_record(item: Item, changed: frozenset[str]) -> None:
    """Write the record anew; under another type the old one goes in the same batch."""
    wanted = _record_set(item, item.props)
    if "type" in changed:
        old = {"Action": "DELETE", "ResourceRecordSet": _record_set(item, item.prior)}
        _change(
            item, item.props["zoneId"], [old, {"Action": "CREATE", "ResourceRecordSet": wanted}]
        )
    else:
        change = {"Action": "UPSERT", "ResourceRecordSet": wanted}
        _change(item, item.props["zoneId"], [change])


def _delete_record(item: Item) -> None:
    old = _record_set(item, item.prior)
    _change(item, item.prior["zoneId"], [{"Action": "DELETE", "ResourceRecordSet": old}])


def _record_needs(inputs: Mapping[str, Value]) -> Mapping[str, str]:
    if inputs.get("records") and not inputs.get("ttl"):
        return {"ttl": "records need a ttl; set how many seconds they may be remembered"}
    return {}


RECORD: Final = Row(
    service="route53",
    id="",
    replace=frozenset({"name", "zoneId"}),
    local=frozenset({"allowOverwrite"}),
    refused=frozenset(
        {
            "cidrRoutingPolicy",
            "failoverRoutingPolicies",
            "geolocationRoutingPolicies",
            "geoproximityRoutingPolicy",
            "healthCheckId",
            "latencyRoutingPolicies",
            "multivalueAnswerRoutingPolicy",
            "setIdentifier",
            "weightedRoutingPolicies",
        }
    ),
    conflicts=(("aliases", "records"), ("aliases", "ttl")),
    one_of=("aliases", "records"),
    hooks=Hooks(
        create=_create_record,
        read=_read_record,
        update=_update_record,
        delete=_delete_record,
        check=_record_needs,
    ),
    autoname="",
)

DNS: Final = {
    "aws:route53/zone:Zone": ZONE,
    "aws:route53/record:Record": RECORD,
}
