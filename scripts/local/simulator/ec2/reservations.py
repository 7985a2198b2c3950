"""EC2 capacity reservations; nothing is reserved, so all of a reservation stays available."""

from datetime import UTC, datetime

from scripts.local.simulator.calls import Answer, AwsError, Call, answers
from scripts.local.simulator.ec2.common import (
    CAPACITY_RESERVATION,
    hex_id,
    selected,
    set_tags,
    tagged,
)
from scripts.local.simulator.records import Record

__all__ = ["cancel", "create", "describe", "modify"]

FILTERS = {
    "instance-type": "InstanceType",
    "owner-id": "OwnerId",
    "instance-platform": "InstancePlatform",
    "availability-zone": "AvailabilityZone",
    "availability-zone-id": "AvailabilityZoneId",
    "tenancy": "Tenancy",
    "state": "State",
    "end-date-type": "EndDateType",
    "instance-match-criteria": "InstanceMatchCriteria",
}
PASSED_THROUGH = ("EndDate", "PlacementGroupArn", "OutpostArn")


@answers("ec2", "CreateCapacityReservation")
def create(call: Call) -> Answer:
    """Make a capacity reservation, active at once."""
    zone, asked = _zone(call), call.params
    _check_end(asked.get("EndDateType", "unlimited"), asked)
    identity = hex_id("cr")
    reservation: Record = {
        "CapacityReservationId": identity,
        "OwnerId": call.account,
        "CapacityReservationArn": call.arn("ec2", f"capacity-reservation/{identity}"),
        "AvailabilityZone": zone["ZoneName"],
        "AvailabilityZoneId": zone["ZoneId"],
        "InstanceType": asked["InstanceType"],
        "InstancePlatform": asked["InstancePlatform"],
        "Tenancy": asked.get("Tenancy", "default"),
        "TotalInstanceCount": asked["InstanceCount"],
        "AvailableInstanceCount": asked["InstanceCount"],
        "EbsOptimized": asked.get("EbsOptimized", False),
        "EphemeralStorage": asked.get("EphemeralStorage", False),
        "State": "active",
        "StartDate": datetime.now(UTC),
        "CreateDate": datetime.now(UTC),
        "EndDateType": asked.get("EndDateType", "unlimited"),
        "InstanceMatchCriteria": asked.get("InstanceMatchCriteria", "open"),
        "ReservationType": "default",
    }
    reservation |= {key: asked[key] for key in PASSED_THROUGH if key in asked}
    set_tags(call, identity)
    call.table(CAPACITY_RESERVATION)[identity] = reservation
    return {"CapacityReservation": tagged(call, [reservation], "CapacityReservationId")[0]}


def _zone(call: Call) -> Record:
    names = [call.params[key] for key in ("AvailabilityZone",) if key in call.params]
    ids = [call.params[key] for key in ("AvailabilityZoneId",) if key in call.params]
    if not names and not ids:
        raise AwsError(
            "MissingParameter", "The request must contain the parameter AvailabilityZone"
        )
    zones = call.ask("ec2", "DescribeAvailabilityZones")["AvailabilityZones"]
    for zone in zones:
        if zone["ZoneName"] in names or zone["ZoneId"] in ids:
            return zone
    raise AwsError(
        "InvalidParameterValue",
        f"Value ({(names or ids)[0]}) for parameter availabilityZone is invalid.",
    )


def _check_end(kind: str, asked: Record) -> None:
    if (kind == "limited") != ("EndDate" in asked):
        raise AwsError(
            "InvalidParameterCombination",
            "EndDate must be given for, and only for, the end date type 'limited'.",
        )


def _found(call: Call, identity: str) -> Record:
    reservation = call.table(CAPACITY_RESERVATION).get(identity)
    if reservation is None:
        raise AwsError(
            "InvalidCapacityReservationId.NotFound",
            f"The capacity reservation ID '{identity}' does not exist",
        )
    return reservation


@answers("ec2", "DescribeCapacityReservations")
def describe(call: Call) -> Answer:
    """Describe capacity reservations by id or filter."""
    ids = call.params.get("CapacityReservationIds", [])
    found = [_found(call, identity) for identity in ids]
    records = found if ids else list(call.table(CAPACITY_RESERVATION).values())
    described = tagged(call, records, "CapacityReservationId")
    return {"CapacityReservations": selected(described, call.params.get("Filters", []), FILTERS)}


@answers("ec2", "ModifyCapacityReservation")
def modify(call: Call) -> Answer:
    """Change size, end or match criteria of an active reservation."""
    reservation = _active(call)
    if "EndDateType" in call.params or "EndDate" in call.params:
        kind = call.params.get("EndDateType", reservation["EndDateType"])
        _check_end(kind, call.params)
        reservation.pop("EndDate", None)
        reservation["EndDateType"] = kind
    if "InstanceCount" in call.params:
        reservation["TotalInstanceCount"] = call.params["InstanceCount"]
        reservation["AvailableInstanceCount"] = call.params["InstanceCount"]
    for key in ("EndDate", "InstanceMatchCriteria"):
        if key in call.params:
            reservation[key] = call.params[key]
    return {"Return": True}


@answers("ec2", "CancelCapacityReservation")
def cancel(call: Call) -> Answer:
    """Cancel a reservation; it stays visible, as cancelled."""
    reservation = _active(call)
    reservation |= {"State": "cancelled", "AvailableInstanceCount": 0, "TotalInstanceCount": 0}
    return {"Return": True}


def _active(call: Call) -> Record:
    reservation = _found(call, call.params["CapacityReservationId"])
    if reservation["State"] != "active":
        raise AwsError(
            "InvalidCapacityReservationState",
            f"The capacity reservation {reservation['CapacityReservationId']} is "
            f"{reservation['State']}, it must be active",
        )
    return reservation
