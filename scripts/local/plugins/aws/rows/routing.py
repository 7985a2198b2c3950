"""Rows: route tables, routes, VPC endpoints, flow logs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from scripts.local.plugins.aws.row import EC2_TAGS, Call, Hooks, Row, Wait
from scripts.local.plugins.aws.session import AwsError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scripts.local.plugins.aws.convert import Api
    from scripts.local.plugins.aws.session import Item
    from scripts.local.plugins.shared.wire import Value

_DESTINATIONS: Final = {
    "destinationCidrBlock": "DestinationCidrBlock",
    "destinationIpv6CidrBlock": "DestinationIpv6CidrBlock",
    "destinationPrefixListId": "DestinationPrefixListId",
}

_TARGETS: Final = {
    "egressOnlyGatewayId": "EgressOnlyInternetGatewayId",
    "gatewayId": "GatewayId",
    "natGatewayId": "NatGatewayId",
    "networkInterfaceId": "NetworkInterfaceId",
    "transitGatewayId": "TransitGatewayId",
    "vpcEndpointId": "VpcEndpointId",
    "vpcPeeringConnectionId": "VpcPeeringConnectionId",
}

_INLINE: Final = {
    "cidrBlock": "DestinationCidrBlock",
    "ipv6CidrBlock": "DestinationIpv6CidrBlock",
    "destinationPrefixListId": "DestinationPrefixListId",
    **_TARGETS,
}


def _spelled(values: Mapping[str, Value], names: Mapping[str, str]) -> dict[str, Api]:
    return {api: values[name] for name, api in names.items() if values.get(name)}


def _written(route: Mapping[str, Api]) -> bool:
    """Whether somebody made the route: not the local one, nor one of a gateway endpoint."""
    gateway = str(route.get("GatewayId", ""))
    return gateway != "local" and not gateway.startswith("vpce-")


def _table_routes(_: Item, found: dict[str, Api]) -> bool:
    found["Routes"] = [
        {name: route[api] for name, api in _INLINE.items() if route.get(api)}
        for route in found.get("Routes", ())
        if _written(route)
    ]
    found["PropagatingVgws"] = [it["GatewayId"] for it in found.get("PropagatingVgws", ())]
    return True


def _inline(values: Mapping[str, Value]) -> list[dict[str, Api]]:
    routes = values.get("routes")
    rows = routes if isinstance(routes, list) else []
    return [_spelled(route, _INLINE) for route in rows if isinstance(route, dict)]


def _add_routes(item: Item) -> None:
    for route in _inline(item.props):
        item.call("CreateRoute", RouteTableId=item.id, **route)


def _change_routes(item: Item, changed: frozenset[str]) -> None:
    if "routes" not in changed:
        return
    old, new = _inline(item.prior), _inline(item.props)
    for route in old:
        if route not in new:
            place = {k: v for k, v in route.items() if k in _DESTINATIONS.values()}
            item.call("DeleteRoute", RouteTableId=item.id, **place)
    for route in new:
        if route not in old:
            item.call("CreateRoute", RouteTableId=item.id, **route)


ROUTE_TABLE: Final = Row(
    service="ec2",
    id="RouteTable.RouteTableId",
    create=Call("CreateRouteTable", {"VpcId": "$vpcId"}),
    read=(Call("DescribeRouteTables", {"RouteTableIds": ["$id"]}, "RouteTables[0]"),),
    delete=Call("DeleteRouteTable", {"RouteTableId": "$id"}),
    replace=frozenset({"vpcId"}),
    refused=frozenset({"propagatingVgws"}),
    hooks=Hooks(read=_table_routes, created=_add_routes, update=_change_routes),
    outputs={"arn": "arn:{partition}:ec2:{region}:{account}:route-table/{id}"},
    tag_type="route-table",
    tagging=EC2_TAGS,
)


def _destination(values: Mapping[str, Value]) -> dict[str, Api]:
    return _spelled(values, _DESTINATIONS)


def _make_route(item: Item) -> str:
    table = item.props["routeTableId"]
    destination = _destination(item.props)
    item.call("CreateRoute", RouteTableId=table, **destination, **_spelled(item.props, _TARGETS))
    return f"{table}_{next(iter(destination.values()))}"


def _find_route(item: Item, found: dict[str, Api]) -> bool:
    table, _, wanted = item.id.partition("_")
    for route in found.pop("Routes", ()):
        for name, api in _DESTINATIONS.items():
            if route.get(api) == wanted:
                found |= {"RouteTableId": table, name: wanted, **route}
                return True
    return False


def _replace_route(item: Item, changed: frozenset[str]) -> None:
    if changed & _TARGETS.keys():
        item.call(
            "ReplaceRoute",
            RouteTableId=item.props["routeTableId"],
            **_destination(item.props),
            **_spelled(item.props, _TARGETS),
        )


def _drop_route(item: Item) -> None:
    item.call("DeleteRoute", RouteTableId=item.prior["routeTableId"], **_destination(item.prior))


ROUTE: Final = Row(
    service="ec2",
    id="{routeTableId}_{destination}",
    read=(Call("DescribeRouteTables", {"RouteTableIds": ["$routeTableId"]}, "RouteTables[0]"),),
    names={"egressOnlyGatewayId": "EgressOnlyInternetGatewayId"},
    replace=frozenset({"routeTableId", *_DESTINATIONS}),
    refused=frozenset({"carrierGatewayId", "coreNetworkArn", "localGatewayId", "odbNetworkArn"}),
    conflicts=(tuple(_DESTINATIONS), tuple(_TARGETS)),
    one_of=tuple(_DESTINATIONS),
    hooks=Hooks(create=_make_route, read=_find_route, update=_replace_route, delete=_drop_route),
)


def _find_association(item: Item, found: dict[str, Api]) -> bool:
    for association in found.pop("Associations", ()):
        if association["RouteTableAssociationId"] == item.id:
            found |= association
            return True
    return False


def _import_association(item: Item) -> str:
    """Find the association of the subnet (or gateway) and table that an import names."""
    answer = item.call("DescribeRouteTables", RouteTableIds=[item.props["routeTableId"]])
    for association in answer["RouteTables"][0]["Associations"]:
        if item.props.get("part") in {association.get("SubnetId"), association.get("GatewayId")}:
            return str(association["RouteTableAssociationId"])
    raise AwsError("Import", "NotFound", f"no association {item.id}")


ROUTE_TABLE_ASSOCIATION: Final = Row(
    service="ec2",
    id="AssociationId",
    create=Call("AssociateRouteTable"),
    read=(
        Call(
            "DescribeRouteTables",
            {"Filters": [{"Name": "association.route-table-association-id", "Values": ["$id"]}]},
            "RouteTables[0]",
        ),
    ),
    delete=Call("DisassociateRouteTable", {"AssociationId": "$id"}),
    # AWS gives a changed association a new id, which an update cannot tell the engine.
    replace=frozenset({"subnetId", "gatewayId", "routeTableId"}),
    conflicts=(("subnetId", "gatewayId"),),
    one_of=("subnetId", "gatewayId"),
    import_id="{part}/{routeTableId}",
    hooks=Hooks(read=_find_association, identify=_import_association),
    clash=True,
)


def _endpoint_lists(item: Item, changed: frozenset[str]) -> None:
    """Tell the endpoint what to add and what to remove; it does not take what it should have."""
    params: dict[str, Api] = {}
    for name, api in {
        "routeTableIds": "RouteTableIds",
        "subnetIds": "SubnetIds",
        "securityGroupIds": "SecurityGroupIds",
    }.items():
        if name in changed:
            old, new = _texts(item.prior.get(name)), _texts(item.props.get(name))
            params[f"Add{api}"] = [one for one in new if one not in old]
            params[f"Remove{api}"] = [one for one in old if one not in new]
    params = {name: value for name, value in params.items() if value}
    if "policy" in changed:
        policy = item.props.get("policy")
        params |= {"PolicyDocument": policy} if policy else {"ResetPolicy": True}
    if "privateDnsEnabled" in changed:
        params["PrivateDnsEnabled"] = item.props.get("privateDnsEnabled", False)
    if params:
        item.call("ModifyVpcEndpoint", VpcEndpointId=item.id, **params)


def _texts(value: Value) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []


def _endpoint_groups(item: Item, found: dict[str, Api]) -> bool:
    found["SecurityGroupIds"] = [group["GroupId"] for group in found.pop("Groups", None) or ()]
    for name in ("DnsOptions", "DnsEntries"):
        found[name] = found.get(name) or None
    if found.get("VpcEndpointType") == "Gateway":
        lists = item.call(
            "DescribePrefixLists",
            Filters=[{"Name": "prefix-list-name", "Values": [found["ServiceName"]]}],
        )["PrefixLists"]
        if lists:
            found |= {
                "PrefixListId": lists[0]["PrefixListId"],
                "CidrBlocks": lists[0].get("Cidrs", []),
            }
    return found.get("State") not in {"deleted", "deleting"}


VPC_ENDPOINT: Final = Row(
    service="ec2",
    id="VpcEndpoint.VpcEndpointId",
    create=Call("CreateVpcEndpoint"),
    read=(Call("DescribeVpcEndpoints", {"VpcEndpointIds": ["$id"]}, "VpcEndpoints[0]"),),
    delete=Call("DeleteVpcEndpoints", {"VpcEndpointIds": ["$id"]}),
    names={"policy": "PolicyDocument"},
    replace=frozenset({"vpcId", "serviceName", "vpcEndpointType"}),
    local=frozenset({"autoAccept"}),
    refused=frozenset(
        {
            "dnsOptions",
            "ipAddressType",
            "resourceConfigurationArn",
            "serviceNetworkArn",
            "serviceRegion",
            "subnetConfigurations",
        }
    ),
    defaults={"vpcEndpointType": "Gateway"},
    json=frozenset({"policy"}),
    one_of=("serviceName",),
    hooks=Hooks(read=_endpoint_groups, update=_endpoint_lists),
    outputs={
        "arn": "arn:{partition}:ec2:{region}:{account}:vpc-endpoint/{id}",
        "ownerId": "{account}",
    },
    wait=Wait("State", ready=("available", "pendingAcceptance"), failed=("failed", "rejected")),
    tag_type="vpc-endpoint",
    tagging=EC2_TAGS,
)

_WATCHED: Final = {
    "vpcId": "VPC",
    "subnetId": "Subnet",
    "eniId": "NetworkInterface",
    "transitGatewayId": "TransitGateway",
}


def _watch(item: Item, params: dict[str, Api]) -> None:
    for name, kind in _WATCHED.items():
        if item.props.get(name):
            params |= {"ResourceIds": [item.props[name]], "ResourceType": kind}


def _watched(_: Item, found: dict[str, Api]) -> bool:
    prefixes = {"vpc": "vpcId", "subnet": "subnetId", "eni": "eniId", "tgw": "transitGatewayId"}
    watched = str(found.get("ResourceId", ""))
    found[prefixes.get(watched.partition("-")[0], "vpcId")] = watched
    if found.get("LogGroupName") and not found.get("LogDestination"):
        found["LogDestination"] = found["LogGroupName"]
    return True


FLOW_LOG: Final = Row(
    service="ec2",
    id="FlowLogIds[0]",
    create=Call("CreateFlowLogs"),
    read=(Call("DescribeFlowLogs", {"FlowLogIds": ["$id"]}, "FlowLogs[0]"),),
    delete=Call("DeleteFlowLogs", {"FlowLogIds": ["$id"]}),
    names={"iamRoleArn": "DeliverLogsPermissionArn"},
    replace=frozenset(
        {
            "deliverCrossAccountRole",
            "destinationOptions",
            "iamRoleArn",
            "logDestination",
            "logDestinationType",
            "logFormat",
            "maxAggregationInterval",
            "trafficType",
            *_WATCHED,
        }
    ),
    refused=frozenset(
        {"regionalNatGatewayId", "tagFieldSpecifications", "transitGatewayAttachmentId"}
    ),
    defaults={"logDestinationType": "cloud-watch-logs", "maxAggregationInterval": 600},
    conflicts=(tuple(_WATCHED),),
    one_of=tuple(_WATCHED),
    hooks=Hooks(prepare=_watch, read=_watched),
    outputs={"arn": "arn:{partition}:ec2:{region}:{account}:vpc-flow-log/{id}"},
    tag_type="vpc-flow-log",
    tagging=EC2_TAGS,
)

ROUTING: Final = {
    "aws:ec2/routeTable:RouteTable": ROUTE_TABLE,
    "aws:ec2/route:Route": ROUTE,
    "aws:ec2/routeTableAssociation:RouteTableAssociation": ROUTE_TABLE_ASSOCIATION,
    "aws:ec2/vpcEndpoint:VpcEndpoint": VPC_ENDPOINT,
    "aws:ec2/flowLog:FlowLog": FLOW_LOG,
}
