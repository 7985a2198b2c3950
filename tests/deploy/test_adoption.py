"""What a killed creation left in the account is found, in the simulator in this process."""

from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from scripts.deploy.adoption import LOOKS, REPEATABLE, Finder
from scripts.local.plugins.aws.rows import ROWS
from scripts.local.simulator.app import Simulator
from scripts.local.simulator.calls import Settings
from scripts.local.simulator.server import running

TAGS = [{"Key": "Name", "Value": "ours"}]
KEYS = {"AWS_ACCESS_KEY_ID": "EMBEDDED900000000901", "AWS_SECRET_ACCESS_KEY": "embedded"}


class Account:
    """An account of the simulator: clients to make things, a finder to find them."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.find = Finder({**KEYS, "AWS_ENDPOINT_URL": url}, "us-east-1")

    def client(self, service: str) -> Any:  # noqa: ANN401 - a client has no type before it is made
        make: Any = boto3.client
        return make(
            service,
            region_name="us-east-1",
            endpoint_url=self._url,
            aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
        )


@pytest.fixture(scope="module")
def account(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    settings = Settings("https://127.0.0.1:6443", "a certificate that nobody asks for")
    with running(Simulator(settings, tmp_path_factory.mktemp("adoption"))) as url:
        yield Account(url)


def test_every_kind_that_the_stand_in_makes_can_be_found_again_or_repeated() -> None:
    assert LOOKS.keys().isdisjoint(REPEATABLE)
    assert set(ROWS) - REPEATABLE == set(LOOKS)


def test_a_reservation_of_addresses_is_found_by_subnet_and_block(account: Account) -> None:
    ec2 = account.client("ec2")
    vpc = ec2.create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    subnet = ec2.create_subnet(VpcId=vpc, CidrBlock="10.0.0.0/24")["Subnet"]["SubnetId"]
    made = ec2.create_subnet_cidr_reservation(
        SubnetId=subnet, Cidr="10.0.0.128/25", ReservationType="prefix"
    )["SubnetCidrReservation"]["SubnetCidrReservationId"]
    kind = "aws:ec2/subnetCidrReservation:SubnetCidrReservation"
    assert account.find(kind, {"subnetId": subnet, "cidrBlock": "10.0.0.128/25"}) == made
    assert account.find(kind, {"subnetId": subnet, "cidrBlock": "10.0.0.64/26"}) is None


def test_a_zone_is_found_by_name_and_tag_and_a_record_by_its_place(account: Account) -> None:
    route53 = account.client("route53")
    other, ours = (
        route53.create_hosted_zone(Name="train.internal", CallerReference=reference)
        for reference in ("1", "2")
    )
    zone = ours["HostedZone"]["Id"].rpartition("/")[2]
    assert other["HostedZone"]["Id"] != ours["HostedZone"]["Id"]
    route53.change_tags_for_resource(ResourceType="hostedzone", ResourceId=zone, AddTags=TAGS)
    found = account.find(
        "aws:route53/zone:Zone", {"name": "train.internal", "tags": {"Name": "ours"}}
    )
    assert found == zone

    place = {"zoneId": zone, "name": "Proof.train.internal", "type": "CNAME"}
    assert account.find("aws:route53/record:Record", place) is None
    change = {
        "Action": "CREATE",
        "ResourceRecordSet": {
            "Name": "proof.train.internal",
            "Type": "CNAME",
            "TTL": 60,
            "ResourceRecords": [{"Value": "x.example"}],
        },
    }
    route53.change_resource_record_sets(HostedZoneId=zone, ChangeBatch={"Changes": [change]})
    assert account.find("aws:route53/record:Record", place) == f"{zone}_proof.train.internal_CNAME"


def test_a_certificate_is_found_by_domain_and_tag(account: Account) -> None:
    acm = account.client("acm")
    acm.request_certificate(DomainName="train.example.com", ValidationMethod="DNS")
    wanted = {"domainName": "train.example.com", "tags": {"Name": "ours"}}
    assert account.find("aws:acm/certificate:Certificate", wanted) is None
    arn = acm.request_certificate(
        DomainName="train.example.com", ValidationMethod="DNS", Tags=TAGS
    )["CertificateArn"]
    assert account.find("aws:acm/certificate:Certificate", wanted) == arn


def test_a_kind_that_may_be_repeated_needs_no_search(account: Account) -> None:
    assert account.find("aws:iam/rolePolicy:RolePolicy", {"name": "x", "role": "y"}) is None
