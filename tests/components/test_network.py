import json
from functools import cache
from typing import Any

import pulumi
import pytest

from components.endpoints import REQUIRED
from components.network import Network, NetworkConfig
from components.settings import parse
from tests.support.engine import Engine
from tests.support.names import NAMES

SETTINGS = {
    "management_cidr": "10.64.0.0/16",
    "zones": [{"id": "use1-az4", "compute_cidr": "10.65.0.0/16"}, {"id": "use1-az6"}],
}
ENTRY = {"domain": "train.example.com", "hosted_zone_id": "Z0123456789ABC"}
CLOSED = {"nat": "none", "endpoints": sorted(REQUIRED)}


class Issuing(Engine):
    """Answers for certificates as ACM does: with the record that proves the name."""

    def new_resource(
        self, args: pulumi.runtime.MockResourceArgs
    ) -> tuple[str | None, dict[str, Any]]:
        made, outputs = super().new_resource(args)
        if args.typ == "aws:acm/certificate:Certificate" and not self.preview:
            proof = {"Name": "_x.train.example.com", "Type": "CNAME", "Value": "_y.example"}
            option = {f"resourceRecord{key}": value for key, value in proof.items()}
            outputs["domainValidationOptions"] = [option, option]
        return made, outputs


def make(settings: dict[str, Any], *, preview: bool = False) -> tuple[Engine, Network]:
    config, made = parse(NetworkConfig, {**SETTINGS, **settings}, "test"), list[Network]()
    engine = Issuing(preview=preview)
    pulumi.runtime.set_mocks(
        engine, project="trainyard", stack="test", preview=preview, monitor=engine.monitor
    )
    pulumi.runtime.test(lambda: made.append(Network("net", config, names=NAMES)))()
    return engine, made[0]


@cache
def usual() -> Engine:
    return make({})[0]


def network(**settings: object) -> Engine:
    return make(settings)[0] if settings else usual()


def test_each_purpose_has_addresses_of_its_own() -> None:
    engine = network()
    subnets = {s["tags"]["Name"]: s["cidrBlock"] for s in engine.all("Subnet")}
    assert subnets == {
        "net-management-use1-az4": "10.64.128.0/20",
        "net-management-use1-az6": "10.64.192.0/20",
        "net-public-use1-az4": "10.64.144.0/23",
        "net-public-use1-az6": "10.64.208.0/23",
        "net-storage-use1-az4": "10.64.152.0/21",
        "net-compute-use1-az4": "10.65.0.0/16",
    }
    assert [b["cidrBlock"] for b in engine.all("VpcIpv4CidrBlockAssociation")] == ["10.65.0.0/16"]


def test_the_pods_part_of_every_subnet_with_nodes_is_kept_for_prefixes() -> None:
    kept = {
        (r["subnetId"], r["cidrBlock"], r["reservationType"])
        for r in network().all("SubnetCidrReservation")
    }
    assert kept == {
        ("net-management-use1-az4-id", "10.64.132.0/22", "prefix"),
        ("net-management-use1-az4-id", "10.64.136.0/21", "prefix"),
        ("net-management-use1-az6-id", "10.64.196.0/22", "prefix"),
        ("net-management-use1-az6-id", "10.64.200.0/21", "prefix"),
        ("net-compute-use1-az4-id", "10.65.64.0/18", "prefix"),
        ("net-compute-use1-az4-id", "10.65.128.0/17", "prefix"),
    }


def test_no_subnet_gives_its_instances_a_public_address() -> None:
    assert {s["mapPublicIpOnLaunch"] for s in network().all("Subnet")} == {False}


def test_subnets_tell_where_load_balancers_may_be() -> None:
    roles = {
        (s["tags"]["tier"], key)
        for s in network().all("Subnet")
        for key in s["tags"]
        if key.startswith("kubernetes.io/role/")
    }
    assert roles == {
        ("public", "kubernetes.io/role/elb"),
        ("management", "kubernetes.io/role/internal-elb"),
    }


@pytest.mark.parametrize(
    ("nat", "entry", "gateways", "public"),
    [("per-zone", None, 2, 2), ("one", None, 1, 1), ("one", ENTRY, 1, 2)],
)
def test_nat_is_where_the_settings_say(
    nat: str, entry: dict[str, str] | None, gateways: int, public: int
) -> None:
    engine = network(nat=nat, entry=entry)
    assert len(engine.all("NatGateway")) == gateways
    assert len(engine.all("Eip")) == gateways
    assert len(engine.all("InternetGateway")) == 1
    assert len([s for s in engine.all("Subnet") if s["tags"]["tier"] == "public"]) == public
    private = [r for r in engine.all("Route") if "natGatewayId" in r]
    assert len(private) == 2


def test_without_nat_nothing_leads_out_and_endpoints_take_its_place() -> None:
    engine = network(**CLOSED)
    assert engine.all("Route") == []
    assert engine.all("InternetGateway") == []
    services = {
        e["serviceName"].removeprefix("com.amazonaws.us-east-1.") for e in engine.all("VpcEndpoint")
    }
    assert services == REQUIRED | {"s3"}
    rules = engine.all("SecurityGroupIngressRule")
    assert {rule["cidrIpv4"] for rule in rules} == {"10.64.0.0/16", "10.65.0.0/16"}


def test_endpoints_have_one_address_in_each_zone_beside_the_storage_where_there_is_some() -> None:
    endpoint = network(endpoints=["kms"]).named("net-kms", "VpcEndpoint")
    assert sorted(endpoint["subnetIds"]) == [
        "net-management-use1-az6-id",
        "net-storage-use1-az4-id",
    ]
    assert endpoint["privateDnsEnabled"] is True


def test_a_node_waits_for_its_way_to_aws_and_for_the_reservations() -> None:
    def kinds(settings: dict[str, Any]) -> set[str]:
        return {type(resource).__name__ for resource in make(settings)[1].ready}

    routed = {"Route", "RouteTableAssociation", "SubnetCidrReservation"}
    assert kinds({"endpoints": ["kms"]}) == routed
    assert kinds(CLOSED) == {"RouteTableAssociation", "SubnetCidrReservation", "VpcEndpoint"}


def test_s3_is_a_gateway_on_every_private_route_table_and_only_for_our_buckets() -> None:
    endpoint = network(**CLOSED).named("net-s3", "VpcEndpoint")
    assert endpoint["vpcEndpointType"] == "Gateway"
    assert sorted(endpoint["routeTableIds"]) == [
        "net-private-use1-az4-id",
        "net-private-use1-az6-id",
    ]
    ours, theirs = json.loads(endpoint["policy"])["Statement"]
    assert ours["Resource"] == ["arn:aws:s3:::trainyard-test-*", "arn:aws:s3:::trainyard-test-*/*"]
    assert ours["Condition"] == {
        "StringEquals": {
            "aws:PrincipalAccount": "111122223333",
            "aws:ResourceAccount": "111122223333",
        }
    }
    assert (theirs["Action"], theirs["Resource"]) == (
        ["s3:GetObject"],
        [
            "arn:aws:s3:::prod-us-east-1-starport-layer-bucket/*",
            "arn:aws:s3:::al2023-repos-us-east-1-de612dc2/*",
        ],
    )


def test_an_endpoint_serves_our_principals_for_what_is_ours() -> None:
    policy = network(endpoints=["monitoring"]).named("net-monitoring", "VpcEndpoint")["policy"]
    [statement] = json.loads(policy)["Statement"]
    assert statement["Action"] == ["cloudwatch:*"]
    assert statement["Condition"] == {
        "StringEquals": {"aws:PrincipalAccount": "111122223333"},
        "StringEqualsIfExists": {"aws:ResourceAccount": "111122223333"},
    }


@pytest.mark.parametrize("service", ["ecr.api", "ecr.dkr"])
def test_images_of_eks_can_be_read_and_nothing_else_of_its_account(service: str) -> None:
    policy = network(endpoints=[service]).named(f"net-{service}", "VpcEndpoint")["policy"]
    ours, theirs = json.loads(policy)["Statement"]
    assert ours["Action"] == ["ecr:*"]
    assert theirs["Resource"] == ["arn:aws:ecr:us-east-1:602401143452:repository/*"]
    assert theirs["Action"] == [
        "ecr:BatchCheckLayerAvailability",
        "ecr:BatchGetImage",
        "ecr:GetDownloadUrlForLayer",
    ]
    assert theirs["Condition"] == {"StringEquals": {"aws:PrincipalAccount": "111122223333"}}


def test_every_endpoint_asks_who_calls() -> None:
    engine = network(endpoints=["ec2", "ecr.api", "kms", "sns", "ssm", "secretsmanager"])
    interfaces = [e for e in engine.all("VpcEndpoint") if e["vpcEndpointType"] == "Interface"]
    asked = [
        statement["Condition"]["StringEquals"]["aws:PrincipalAccount"]
        for endpoint in interfaces
        for statement in json.loads(endpoint["policy"])["Statement"]
    ]
    assert (len(interfaces), set(asked)) == (6, {"111122223333"})


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
    assert engine.only("Vpc")["enableNetworkAddressUsageMetrics"] is True


def test_a_private_zone_answers_inside_the_network_only() -> None:
    engine, made = make({"private_zone": "train.internal"})
    zone = engine.only("Zone")
    assert zone["name"] == "train.internal"
    assert zone["vpcs"] == [{"vpcId": "net-id", "vpcRegion": "us-east-1"}]
    assert isinstance(made.private_zone_id, pulumi.Output)
    assert made.certificate_arn is None


def test_the_entry_has_a_certificate_that_its_public_zone_proves() -> None:
    engine, made = make({"entry": ENTRY})
    certificate = engine.only("Certificate")
    assert certificate["domainName"] == "train.example.com"
    assert certificate["subjectAlternativeNames"] == ["*.train.example.com"]
    assert certificate["validationMethod"] == "DNS"
    record = engine.only("Record")
    assert (record["zoneId"], record["name"], record["type"], record["records"]) == (
        "Z0123456789ABC",
        "_x.train.example.com",
        "CNAME",
        ["_y.example"],
    )
    issued = engine.only("CertificateValidation")
    assert issued["certificateArn"] == "arn:mock:aws:acm/certificate:Certificate:net-entry"
    assert isinstance(made.certificate_arn, pulumi.Output)
    assert made.private_zone_id is None


def test_a_preview_declares_the_entry_before_the_proof_is_known() -> None:
    engine, _ = make({"entry": ENTRY}, preview=True)
    assert {"Certificate", "Record", "CertificateValidation"} <= {
        r.typ.rpartition(":")[2] for r in engine.declared
    }


def test_without_names_none_are_made() -> None:
    engine, made = make({})
    assert (made.certificate_arn, made.private_zone_id) == (None, None)
    assert engine.all("Zone") == engine.all("Certificate") == engine.all("Record") == []


def test_wires_are_outputs() -> None:
    _, made = make({})
    assert isinstance(made.vpc_id, pulumi.Output)
    assert list(made.management_subnet_ids) == ["use1-az4", "use1-az6"]
    assert list(made.storage_subnet_ids) == ["use1-az4"]
    assert list(made.compute_subnet_ids) == ["use1-az4"]
