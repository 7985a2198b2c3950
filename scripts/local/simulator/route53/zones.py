"""Route 53 zones: their VPCs must exist, and one that is in use is not deleted."""

from dataclasses import replace

from scripts.local.simulator.calls import Answer, AwsError, Call, answers
from scripts.local.simulator.records import Record
from scripts.local.simulator.route53.common import (
    absolute,
    bare,
    key_of,
    record_sets,
    required,
    zone_of,
    zones,
)

__all__ = ["create_zone", "delete_zone", "get_zone", "list_zones"]

PRIVATE_SERVERS = tuple(
    f"ns-{number}.awsdns-{number // 64:02}.{top}"
    for number, top in ((0, "com"), (512, "net"), (1024, "org"), (1536, "co.uk"))
)
"""Name servers that every private zone shows."""


@answers("route53", "CreateHostedZone")
def create_zone(call: Call) -> Answer:
    """Make a zone with its NS and SOA records; one with a VPC is private."""
    vpc = call.params.get("VPC")
    config = dict(call.params.get("HostedZoneConfig", {}))
    if vpc:
        _check_vpc(call, vpc)
        _check_free(call, call.params["Name"], vpc)
        config["PrivateZone"] = True
    elif config.get("PrivateZone"):
        raise AwsError(
            "InvalidInput", "When creating private hosted zones, you must specify a VPC."
        )
    answer = call.forward(HostedZoneConfig=config)
    answer = {key: value for key, value in answer.items() if value}
    servers = answer.get("DelegationSet", {}).get("NameServers") or list(PRIVATE_SERVERS)
    _fill(call, answer["HostedZone"], servers)
    return answer


def _check_vpc(call: Call, vpc: Record) -> None:
    region = vpc.get("VPCRegion", call.region)
    try:
        replace(call, region=region).ask("ec2", "DescribeVpcs", VpcIds=[vpc["VPCId"]])
    except AwsError:
        raise AwsError(
            "InvalidVPCId",
            f"The VPC {vpc['VPCId']} in region {region} that you provided does not exist.",
        ) from None


def _check_free(call: Call, name: str, vpc: Record) -> None:
    """Refuse a second zone of the same name for a VPC: it could not tell them apart."""
    for other in call.ask_moto("route53", "ListHostedZonesByVPC", **_place(call, vpc))[
        "HostedZoneSummaries"
    ]:
        if absolute(other["Name"]) == absolute(name):
            raise AwsError(
                "ConflictingDomainExists",
                f"The VPC {vpc['VPCId']} in region {vpc.get('VPCRegion', call.region)} has already "
                f"been associated with the hosted zone {bare(other['HostedZoneId'])} with the same "
                "domain name.",
            )


def _place(call: Call, vpc: Record) -> Record:
    return {"VPCId": vpc["VPCId"], "VPCRegion": vpc.get("VPCRegion", call.region)}


def _fill(call: Call, zone: Record, servers: list[str]) -> None:
    """Write the record sets that every zone has at its top."""
    name = zone["Name"]
    authority = f"{servers[0]}. awsdns-hostmaster.amazon.com. 1 7200 900 1209600 86400"
    made: tuple[Record, ...] = (
        {"Name": name, "Type": "NS", "TTL": 172800, "values": [f"{one}." for one in servers]},
        {"Name": name, "Type": "SOA", "TTL": 900, "values": [authority]},
    )
    zones(call)[bare(zone["Id"])] = {
        "private": bool(zone["Config"].get("PrivateZone")),
        "sets": {
            key_of(one): {
                **{key: value for key, value in one.items() if key != "values"},
                "ResourceRecords": [{"Value": value} for value in one["values"]],
            }
            for one in made
        },
    }


def _described(call: Call, zone: Record) -> Record:
    return {**zone, "ResourceRecordSetCount": len(record_sets(call, zone["Id"]))}


@answers("route53", "GetHostedZone")
def get_zone(call: Call) -> Answer:
    """Describe a zone."""
    answer = {key: value for key, value in call.forward().items() if value}
    return {**answer, "HostedZone": _described(call, answer["HostedZone"])}


@answers("route53", "ListHostedZones", "ListHostedZonesByName")
def list_zones(call: Call) -> Answer:
    """List the zones of the account."""
    answer = call.forward()
    return {**answer, "HostedZones": [_described(call, one) for one in answer["HostedZones"]]}


@answers("route53", "AssociateVPCWithHostedZone")
def associate(call: Call) -> Answer:
    """Let one more VPC see a private zone."""
    _check_vpc(call, call.params["VPC"])
    zone = zone_of(call)
    if zone["Config"]["PrivateZone"]:
        _check_free(call, zone["Name"], call.params["VPC"])
    return call.forward()


@answers("route53", "DisassociateVPCFromHostedZone")
def disassociate(call: Call) -> Answer:
    """Hide a private zone from a VPC that sees it."""
    identity = call.params["VPC"]["VPCId"]
    found = call.ask_moto("route53", "GetHostedZone", Id=bare(call.params["HostedZoneId"]))
    if identity not in {one["VPCId"] for one in found.get("VPCs", [])}:
        raise AwsError(
            "VPCAssociationNotFound",
            f"The VPC: {identity} is not associated with the hosted zone: "
            f"{bare(call.params['HostedZoneId'])}.",
        )
    return call.forward()


@answers("route53", "DeleteHostedZone")
def delete_zone(call: Call) -> Answer:
    """Delete a zone in which nothing is left but what came with it."""
    zone = zone_of(call)
    if record_sets(call, zone["Id"]).keys() - required(zone["Name"]):
        raise AwsError(
            "HostedZoneNotEmpty",
            "The specified hosted zone contains non-required resource record sets and so cannot "
            "be deleted.",
        )
    del zones(call)[bare(zone["Id"])]
    return call.forward()
