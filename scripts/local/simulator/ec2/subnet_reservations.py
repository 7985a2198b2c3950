"""EC2 subnet CIDR reservations: their descriptions and tags, which moto drops."""

from scripts.local.simulator.calls import Answer, Call, answers
from scripts.local.simulator.ec2.common import overlaid, set_tags, tagged

__all__ = ["create_reservation", "delete_reservation", "get_reservations"]

RESERVATION = "ec2:subnet-cidr-reservation"
IDENTITY = "SubnetCidrReservationId"


@answers("ec2", "CreateSubnetCidrReservation")
def create_reservation(call: Call) -> Answer:
    """Reserve addresses of a subnet."""
    reservation = call.forward()["SubnetCidrReservation"]
    if "Description" in call.params:
        kept = {"Description": call.params["Description"]}
        call.table(RESERVATION)[reservation[IDENTITY]] = kept
    set_tags(call, reservation[IDENTITY])
    described = overlaid(call, RESERVATION, [reservation], IDENTITY)
    return {"SubnetCidrReservation": tagged(call, described, IDENTITY)[0]}


@answers("ec2", "GetSubnetCidrReservations")
def get_reservations(call: Call) -> Answer:
    """List the reservations of a subnet."""
    answer = call.forward()
    for key in ("SubnetIpv4CidrReservations", "SubnetIpv6CidrReservations"):
        described = overlaid(call, RESERVATION, answer.get(key, []), IDENTITY)
        answer[key] = tagged(call, described, IDENTITY)
    return answer


@answers("ec2", "DeleteSubnetCidrReservation")
def delete_reservation(call: Call) -> Answer:
    """Delete a reservation, with what is kept of it here."""
    answer = call.forward()
    call.table(RESERVATION).pop(call.params[IDENTITY], None)
    return answer
