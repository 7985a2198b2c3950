import json

import pulumi
import pytest

from components.firewall import Firewall
from components.network import REQUIRED_ENDPOINTS, Network, NetworkConfig
from components.settings import parse
from tests.support.engine import Engine, run
from tests.support.stacks import NAMES

SETTINGS = {
    "management_cidr": "10.64.0.0/16",
    "zones": [{"id": "use1-az4", "compute_cidr": "10.65.0.0/16"}, {"id": "use1-az6"}],
}


def network(**settings: object) -> Engine:
    config = parse(NetworkConfig, {**SETTINGS, **settings}, "test")
    return run(lambda: Network("net", config, names=NAMES) and None)


def firewall(*, efa_to_lustre: bool) -> Engine:
    def program() -> None:
        Firewall("wall", names=NAMES, vpc_id="vpc-1", efa_to_lustre=efa_to_lustre)

    return run(program)


def test_management_and_compute_have_addresses_of_their_own() -> None:
    engine = network()
    subnets = {s["tags"]["Name"]: s["cidrBlock"] for s in engine.all("Subnet")}
    assert subnets == {
        "net-management-use1-az4": "10.64.128.0/20",
        "net-management-use1-az6": "10.64.192.0/20",
        "net-public-use1-az4": "10.64.144.0/23",
        "net-public-use1-az6": "10.64.208.0/23",
        "net-compute-use1-az4": "10.65.0.0/16",
    }
    assert [b["cidrBlock"] for b in engine.all("VpcIpv4CidrBlockAssociation")] == ["10.65.0.0/16"]


def test_no_subnet_gives_its_instances_a_public_address() -> None:
    assert {s["mapPublicIpOnLaunch"] for s in network().all("Subnet")} == {False}


@pytest.mark.parametrize(("nat", "gateways", "ways"), [("per-zone", 2, 1), ("one", 1, 1)])
def test_nat_is_where_the_settings_say(nat: str, gateways: int, ways: int) -> None:
    engine = network(nat=nat)
    assert len(engine.all("NatGateway")) == gateways
    assert len(engine.all("Eip")) == gateways
    assert len(engine.all("InternetGateway")) == ways
    private = [r for r in engine.all("Route") if "natGatewayId" in r]
    assert len(private) == 2


def test_without_nat_nothing_leads_out_and_endpoints_take_its_place() -> None:
    engine = network(nat="none", endpoints=sorted(REQUIRED_ENDPOINTS))
    assert engine.all("Route") == []
    assert engine.all("InternetGateway") == []
    services = {
        e["serviceName"].removeprefix("com.amazonaws.us-east-1.") for e in engine.all("VpcEndpoint")
    }
    assert services == REQUIRED_ENDPOINTS | {"s3"}
    rules = engine.all("SecurityGroupIngressRule")
    assert {rule["cidrIpv4"] for rule in rules} == {"10.64.0.0/16", "10.65.0.0/16"}


def test_s3_is_reached_from_every_private_subnet_and_only_for_our_buckets() -> None:
    endpoint = network().only("VpcEndpoint")
    assert endpoint["vpcEndpointType"] == "Gateway"
    assert len(endpoint["routeTableIds"]) == 2
    ours = json.loads(endpoint["policy"])["Statement"][0]
    assert ours["Condition"] == {"StringEquals": {"aws:ResourceAccount": "111122223333"}}


def test_the_default_security_group_is_closed_and_flows_are_logged() -> None:
    engine = network()
    closed = engine.only("DefaultSecurityGroup")
    assert "ingress" not in closed
    assert "egress" not in closed
    assert engine.only("FlowLog")["trafficType"] == "ALL"
    group = engine.only("LogGroup")
    assert (group["retentionInDays"], group["kmsKeyId"]) == (
        365,
        "arn:mock:aws:kms/key:Key:net-key",
    )


@pytest.mark.parametrize("direction", ["Ingress", "Egress"])
def test_the_fabric_is_open_to_itself_by_group_and_not_by_address(direction: str) -> None:
    rule = firewall(efa_to_lustre=False).named(
        f"wall-efa-self-{'in' if direction == 'Ingress' else 'out'}",
        f"SecurityGroup{direction}Rule",
    )
    assert rule["ipProtocol"] == "-1"
    assert rule["securityGroupId"] == rule["referencedSecurityGroupId"] == "wall-efa-id"
    assert "fromPort" not in rule


def test_lustre_ports_are_open_between_nodes_and_servers_both_ways() -> None:
    engine = firewall(efa_to_lustre=False)
    rules = engine.all("SecurityGroupIngressRule")
    doors = {
        (r["referencedSecurityGroupId"], r["securityGroupId"], r["fromPort"], r["toPort"])
        for r in rules
        if r["ipProtocol"] == "tcp"
    }
    nodes, lustre = "wall-nodes-id", "wall-lustre-id"
    assert doors == {
        (source, target, first, last)
        for source, target in ((nodes, lustre), (lustre, nodes), (lustre, lustre))
        for first, last in ((988, 988), (1018, 1023))
    }


def test_a_file_system_on_the_fabric_is_open_to_it_and_to_itself() -> None:
    engine = firewall(efa_to_lustre=True)
    doors = {
        (r["referencedSecurityGroupId"], r["securityGroupId"])
        for r in engine.all("SecurityGroupEgressRule")
        if r["ipProtocol"] == "-1"
    }
    efa, lustre = "wall-efa-id", "wall-lustre-id"
    assert doors == {(efa, efa), (lustre, lustre), (efa, lustre), (lustre, efa)}


def test_every_door_says_why_it_is_there() -> None:
    engine = firewall(efa_to_lustre=True)
    rules = engine.all("SecurityGroupIngressRule") + engine.all("SecurityGroupEgressRule")
    assert all(rule["description"] for rule in rules)


def test_groups_have_no_rules_of_their_own() -> None:
    assert all(
        {"ingress", "egress"}.isdisjoint(group)
        for group in firewall(efa_to_lustre=False).all("SecurityGroup")
    )


def test_wires_are_outputs() -> None:
    made: list[Network] = []
    config = parse(NetworkConfig, SETTINGS, "test")
    run(lambda: made.append(Network("net", config, names=NAMES)))
    assert isinstance(made[0].vpc_id, pulumi.Output)
    assert list(made[0].compute_subnet_ids) == ["use1-az4"]
