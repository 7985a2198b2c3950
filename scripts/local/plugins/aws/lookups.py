"""The look-ups that a program may make."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scripts.local.plugins.aws.convert import Api, read_members
from scripts.local.plugins.aws.rows.eks import cluster_facts
from scripts.local.plugins.aws.schema import schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from scripts.local.plugins.aws.session import Session
    from scripts.local.plugins.shared.wire import Props, Value


def _caller(session: Session, _: Mapping[str, Value]) -> dict[str, Api]:
    answer = session.call("sts", "GetCallerIdentity", {})
    account = answer["Account"]
    return {"accountId": account, "arn": answer["Arn"], "userId": answer["UserId"], "id": account}


def _partition(session: Session, _: Mapping[str, Value]) -> dict[str, Api]:
    return {
        "partition": session.partition,
        "dnsSuffix": "amazonaws.com",
        "reverseDnsPrefix": "com.amazonaws",
        "id": session.partition,
    }


def _region(session: Session, asked: Mapping[str, Value]) -> dict[str, Api]:
    region = str(asked.get("region") or asked.get("name") or session.region)
    return {
        "region": region,
        "name": region,
        "id": region,
        "description": _REGIONS.get(region, region),
        "endpoint": f"ec2.{region}.amazonaws.com",
    }


_REGIONS: Final = {
    "ap-northeast-1": "Asia Pacific (Tokyo)",
    "ap-southeast-1": "Asia Pacific (Singapore)",
    "eu-central-1": "Europe (Frankfurt)",
    "eu-west-1": "Europe (Ireland)",
    "us-east-1": "US East (N. Virginia)",
    "us-east-2": "US East (Ohio)",
    "us-west-1": "US West (N. California)",
    "us-west-2": "US West (Oregon)",
}


def _zones(session: Session, asked: Mapping[str, Value]) -> dict[str, Api]:
    region = str(asked.get("region") or session.region)
    params: dict[str, Api] = {}
    filters = asked.get("filters")
    if isinstance(filters, list):
        params["Filters"] = [
            {"Name": it["name"], "Values": it["values"]} for it in filters if isinstance(it, dict)
        ]
    if asked.get("allAvailabilityZones"):
        params["AllAvailabilityZones"] = True
    answer = session.call("ec2", "DescribeAvailabilityZones", params, region)
    without = {
        str(it) for key in ("excludeNames", "excludeZoneIds") for it in _list(asked.get(key))
    }
    zones = [
        zone
        for zone in answer["AvailabilityZones"]
        if not without & {zone["ZoneName"], zone["ZoneId"]}
        and asked.get("state") in (None, zone["State"])
    ]
    zones.sort(key=lambda zone: str(zone["ZoneName"]))
    return {
        "groupNames": sorted({zone.get("GroupName") or region for zone in zones}),
        "names": [zone["ZoneName"] for zone in zones],
        "zoneIds": [zone["ZoneId"] for zone in zones],
        "region": region,
        "id": region,
    }


def _list(value: Value) -> list[Value]:
    return value if isinstance(value, list) else []


def _cluster(session: Session, asked: Mapping[str, Value]) -> dict[str, Api]:
    region = str(asked.get("region") or session.region)
    cluster = session.call("eks", "DescribeCluster", {"name": asked["name"]}, region)["cluster"]
    return {
        **cluster,
        "id": cluster["name"],
        "region": region,
        "certificateAuthorities": [cluster.get("certificateAuthority") or {}],
        **cluster_facts(cluster),
        "vpcConfig": cluster["resourcesVpcConfig"],
        "upgradePolicies": [cluster["upgradePolicy"]] if cluster.get("upgradePolicy") else [],
    }


LOOKUPS: Final[dict[str, Callable[[Session, Mapping[str, Value]], dict[str, Api]]]] = {
    "aws:eks/getCluster:getCluster": _cluster,
    "aws:index/getAvailabilityZones:getAvailabilityZones": _zones,
    "aws:index/getCallerIdentity:getCallerIdentity": _caller,
    "aws:index/getPartition:getPartition": _partition,
    "aws:index/getRegion:getRegion": _region,
}


def look_up(session: Session, token: str, asked: Props) -> Props:
    """Answer a look-up.

    Raises
    ------
    AwsError
        The API refused.
    LookupError
        The stand-in does not have it.
    """
    if token not in LOOKUPS:
        raise LookupError(
            f"the embedded target's stand-in has no look-up {token}; it has {', '.join(LOOKUPS)}"
        )
    answer = LOOKUPS[token](session, asked)
    properties = schema().lookups[token].properties
    given = {key: value for key, value in asked.items() if key in properties}
    return {**given, **read_members(answer, properties, {}, "")}
