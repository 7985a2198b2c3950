"""EC2 Elastic IPs and NAT gateways, where moto answers less than AWS."""

from scripts.local.simulator.calls import Answer, AwsError, Call, answers
from scripts.local.simulator.ec2.common import listed, overlaid
from scripts.local.simulator.records import Record

__all__ = ["create_nat", "delete_nat", "describe_addresses", "describe_nats", "release_address"]

NAT = "ec2:nat-gateway"
"""What moto does not keep of a NAT gateway."""


@answers("ec2", "DescribeAddresses")
def describe_addresses(call: Call) -> Answer:
    """Describe addresses without moto's empty ids, and with those of their NAT gateway."""
    answer = call.forward()
    users = _users(call)
    group = {"PublicIpv4Pool": "amazon", "NetworkBorderGroup": call.region}
    return {
        "Addresses": [
            {**group, **{key: value for key, value in address.items() if value != ""}}
            | users.get(address.get("AllocationId", ""), {})
            for address in answer.get("Addresses", [])
        ]
    }


def _users(call: Call) -> dict[str, Record]:
    """Map the allocation ids that NAT gateways use to what an address says of its user."""
    return {
        address["AllocationId"]: {
            "AssociationId": address.get("AssociationId", ""),
            "NetworkInterfaceId": address["NetworkInterfaceId"],
            "PrivateIpAddress": address["PrivateIp"],
        }
        for nat in listed(call, "DescribeNatGateways", "NatGateways", state="available")
        for address in nat["NatGatewayAddresses"]
        if "AllocationId" in address
    }


@answers("ec2", "ReleaseAddress")
def release_address(call: Call) -> Answer:
    """Refuse while a NAT gateway uses the address."""
    identity = call.params.get("AllocationId", "")
    if identity in _users(call):
        [address] = call.ask("ec2", "DescribeAddresses", AllocationIds=[identity])["Addresses"]
        raise AwsError("InvalidIPAddress.InUse", f"Address {address['PublicIp']} is in use.")
    return call.forward()


@answers("ec2", "CreateNatGateway")
def create_nat(call: Call) -> Answer:
    """Make a NAT gateway that says whether it is public; a public one needs a free address."""
    kind, address = call.params.get("ConnectivityType", "public"), call.params.get("AllocationId")
    if kind == "public":
        if address is None:
            raise AwsError(
                "MissingParameter", "The request must contain the parameter AllocationId"
            )
        call.ask("ec2", "DescribeAddresses", AllocationIds=[address])
        if address in _users(call):
            raise AwsError(
                "Resource.AlreadyAssociated",
                f"Elastic IP address [{address}] is already associated",
            )
    nat = call.forward()["NatGateway"]
    call.table(NAT)[nat["NatGatewayId"]] = {"ConnectivityType": kind}
    return {"NatGateway": {**nat, "ConnectivityType": kind}}


@answers("ec2", "DeleteNatGateway")
def delete_nat(call: Call) -> Answer:
    """Delete a NAT gateway and free its address and interface."""
    identity = call.params["NatGatewayId"]
    [nat] = call.ask("ec2", "DescribeNatGateways", NatGatewayIds=[identity])["NatGateways"]
    answer = call.forward()
    if nat["State"] == "deleted":
        return answer
    for address in nat["NatGatewayAddresses"]:
        if "AssociationId" in address:
            call.ask_moto("ec2", "DisassociateAddress", AssociationId=address["AssociationId"])
        call.ask_moto(
            "ec2", "DeleteNetworkInterface", NetworkInterfaceId=address["NetworkInterfaceId"]
        )
    return answer


@answers("ec2", "DescribeNatGateways")
def describe_nats(call: Call) -> Answer:
    """Describe NAT gateways; an id that is none is an error."""
    nats: list[Record] = call.forward().get("NatGateways", [])
    known = {nat["NatGatewayId"] for nat in nats}
    missing = [one for one in call.params.get("NatGatewayIds", []) if one not in known]
    if missing and not call.params.get("Filter"):
        raise AwsError("NatGatewayNotFound", f"NatGateway {missing[0]} was not found")
    return {"NatGateways": overlaid(call, NAT, nats, "NatGatewayId")}
