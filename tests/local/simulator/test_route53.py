"""Route 53: zones hold to their VPCs, and a batch of changes is made whole or not at all."""

from typing import Any

import pytest

from .conftest import Account, refusal


def zone(account: Account, name: str = "train.example.org", vpc: str = "") -> str:
    place = {"VPC": {"VPCId": vpc, "VPCRegion": "us-east-1"}} if vpc else {}
    made: str = account.client("route53").create_hosted_zone(
        Name=name, CallerReference=f"{name}-{vpc}", **place
    )["HostedZone"]["Id"]
    return made


def change(action: str, name: str, kind: str, *values: str, ttl: int = 60) -> dict[str, Any]:
    records = [{"Value": value} for value in values]
    record_set = {"Name": name, "Type": kind, "TTL": ttl, "ResourceRecords": records}
    return {"Action": action, "ResourceRecordSet": record_set}


def changes(account: Account, identity: str, *batch: dict[str, Any]) -> dict[str, Any]:
    made: dict[str, Any] = account.client("route53").change_resource_record_sets(
        HostedZoneId=identity, ChangeBatch={"Changes": list(batch)}
    )
    return made


def listed(account: Account, identity: str, **more: object) -> list[tuple[str, str]]:
    found = account.client("route53").list_resource_record_sets(HostedZoneId=identity, **more)
    return [(one["Name"], one["Type"]) for one in found["ResourceRecordSets"]]


def test_a_public_zone_comes_with_the_records_of_its_name_servers(account: Account) -> None:
    route53, identity = account.client("route53"), zone(account)
    found = route53.get_hosted_zone(Id=identity)
    servers = found["DelegationSet"]["NameServers"]
    assert len(servers) == 4
    assert found["HostedZone"]["ResourceRecordSetCount"] == 2
    assert found["HostedZone"]["Config"]["PrivateZone"] is False
    [records, _] = route53.list_resource_record_sets(HostedZoneId=identity)["ResourceRecordSets"]
    assert [one["Value"] for one in records["ResourceRecords"]] == [f"{one}." for one in servers]


def test_a_private_zone_is_seen_by_its_vpcs_and_only_by_those_that_exist(account: Account) -> None:
    route53, vpc, other = account.client("route53"), account.vpc(), account.vpc()
    identity = zone(account, vpc=vpc)
    found = route53.get_hosted_zone(Id=identity)
    assert found["HostedZone"]["Config"]["PrivateZone"] is True
    assert found["VPCs"] == [{"VPCRegion": "us-east-1", "VPCId": vpc}]
    place = {"VPCRegion": "us-east-1", "VPCId": "vpc-0123456789abcdef0"}
    assert refusal(
        route53.create_hosted_zone, Name="a.example.org", CallerReference="a", VPC=place
    ) == (
        "InvalidVPCId",
        "The VPC vpc-0123456789abcdef0 in region us-east-1 that you provided does not exist.",
    )
    second = {"HostedZoneId": identity, "VPC": {"VPCRegion": "us-east-1", "VPCId": other}}
    assert refusal(route53.disassociate_vpc_from_hosted_zone, **second) == (
        "VPCAssociationNotFound",
        (
            f"The VPC: {other} is not associated with the hosted zone: "
            f"{identity.removeprefix('/hostedzone/')}."
        ),
    )
    route53.associate_vpc_with_hosted_zone(**second)
    assert [one["VPCId"] for one in route53.get_hosted_zone(Id=identity)["VPCs"]] == [vpc, other]
    route53.disassociate_vpc_from_hosted_zone(
        HostedZoneId=identity, VPC={"VPCRegion": "us-east-1", "VPCId": vpc}
    )
    assert refusal(route53.disassociate_vpc_from_hosted_zone, **second)[0] == "LastVPCAssociation"


def test_a_vpc_sees_one_private_zone_of_a_name(account: Account) -> None:
    route53, vpc = account.client("route53"), account.vpc()
    identity = zone(account, vpc=vpc).removeprefix("/hostedzone/")
    place = {"VPCRegion": "us-east-1", "VPCId": vpc}
    assert refusal(
        route53.create_hosted_zone, Name="train.example.org", CallerReference="b", VPC=place
    ) == (
        "ConflictingDomainExists",
        (
            f"The VPC {vpc} in region us-east-1 has already been associated with the hosted zone "
            f"{identity} with the same domain name."
        ),
    )
    config = {"PrivateZone": True}
    assert refusal(
        route53.create_hosted_zone, Name="c.org", CallerReference="c", HostedZoneConfig=config
    ) == ("InvalidInput", "When creating private hosted zones, you must specify a VPC.")


def test_a_zone_that_holds_records_is_not_deleted(account: Account) -> None:
    route53, identity = account.client("route53"), zone(account)
    changes(account, identity, change("CREATE", "a.train.example.org", "A", "10.0.0.1"))
    assert refusal(route53.delete_hosted_zone, Id=identity) == (
        "HostedZoneNotEmpty",
        (
            "The specified hosted zone contains non-required resource record sets and so cannot be "
            "deleted."
        ),
    )
    changes(account, identity, change("DELETE", "a.train.example.org", "A", "10.0.0.1"))
    route53.delete_hosted_zone(Id=identity)
    assert refusal(route53.get_hosted_zone, Id=identity)[0] == "NoSuchHostedZone"


def test_records_are_listed_from_a_name_on_and_in_pages(account: Account) -> None:
    identity, top = zone(account), "train.example.org"
    alias = {"DNSName": "lb.example.net", "HostedZoneId": "Z1", "EvaluateTargetHealth": False}
    changes(
        account,
        identity,
        change("CREATE", f"b.{top}", "A", "10.0.0.2", "10.0.0.1"),
        change("CREATE", f"A.{top}.", "TXT", '"v=1"'),
        {
            "Action": "UPSERT",
            "ResourceRecordSet": {"Name": f"c.{top}", "Type": "A", "AliasTarget": alias},
        },
    )
    names = [(f"{name}.{top}.", kind) for name, kind in (("a", "TXT"), ("b", "A"), ("c", "A"))]
    assert listed(account, identity)[2:] == names
    start = {"StartRecordName": f"b.{top}", "StartRecordType": "A"}
    assert listed(account, identity, **start) == names[1:]
    page = account.client("route53").list_resource_record_sets(
        HostedZoneId=identity, **start, MaxItems="1"
    )
    assert [one["Name"] for one in page["ResourceRecordSets"]] == [f"b.{top}."]
    assert (page["IsTruncated"], page["NextRecordName"]) == (True, f"c.{top}.")


def test_a_record_is_deleted_whatever_the_order_of_its_values(account: Account) -> None:
    identity = zone(account)
    name = "a.train.example.org"
    changes(account, identity, change("CREATE", name, "A", "10.0.0.1", "10.0.0.2"))
    changes(account, identity, change("DELETE", name, "A", "10.0.0.2", "10.0.0.1"))
    assert len(listed(account, identity)) == 2


@pytest.mark.parametrize(
    ("batch", "message"),
    [
        (
            [change("CREATE", "a.train.example.org", "A", "10.0.0.2")],
            (
                "[Tried to create resource record set [name='a.train.example.org.', type='A'] but "
                "it already exists]"
            ),
        ),
        (
            [change("DELETE", "b.train.example.org", "A", "10.0.0.1")],
            (
                "[Tried to delete resource record set [name='b.train.example.org.', type='A'] but "
                "it was not found]"
            ),
        ),
        (
            [change("DELETE", "a.train.example.org", "A", "10.0.0.1", ttl=61)],
            (
                "[Tried to delete resource record set [name='a.train.example.org.', type='A'] but "
                "the values provided do not match the current values]"
            ),
        ),
        (
            [change("CREATE", "a.maintrain.example.org", "A", "10.0.0.1")],
            (
                "[RRSet with DNS name a.maintrain.example.org. is not permitted in zone "
                "train.example.org.]"
            ),
        ),
        (
            [change("CREATE", "a.train.example.org", "CNAME", "b.example.org")],
            (
                "[RRSet of type CNAME with DNS name a.train.example.org. is not permitted as it "
                "conflicts with other records with the same DNS name in zone train.example.org.]"
            ),
        ),
        (
            [change("CREATE", "train.example.org", "CNAME", "b.example.org")],
            (
                "[RRSet of type CNAME with DNS name train.example.org. is not permitted at apex in "
                "zone train.example.org.]"
            ),
        ),
        (
            [
                change("CREATE", "c.train.example.org", "A", "10.0.0.300"),
                change("CREATE", "d.train.example.org", "AAAA", "10.0.0.1"),
            ],
            (
                "[Invalid Resource Record: 'FATAL problem: ARRDATAIllegalIPv4Address (Value is not "
                "a valid IPv4 address) encountered with '10.0.0.300'', Invalid Resource Record: "
                "'FATAL problem: AAAARRDATAIllegalIPv6Address (Value is not a valid IPv6 address) "
                "encountered with '10.0.0.1'']"
            ),
        ),
        (
            [change("CREATE", "c.train.example.org", "TXT", "plain")],
            (
                "[Invalid Resource Record: 'FATAL problem: InvalidCharacterString (Value should be "
                "enclosed in quotation marks) encountered with 'plain'']"
            ),
        ),
        (
            [{"Action": "CREATE", "ResourceRecordSet": {"Name": "train.example.org", "Type": "A"}}],
            (
                "[Invalid request: Expected exactly one of [AliasTarget, all of [TTL, and "
                "ResourceRecords], or TrafficPolicyInstanceId], but found none in Change with "
                "[Action=CREATE, Name=train.example.org., Type=A, SetIdentifier=null]]"
            ),
        ),
        (
            [change("DELETE", "train.example.org", "NS", "ns.example.org")],
            "[A HostedZone must contain the NS record of the zone itself]",
        ),
    ],
    ids=lambda value: value[:50] if isinstance(value, str) else "",
)
def test_a_batch_with_a_wrong_change_changes_nothing(
    account: Account, batch: list[dict[str, Any]], message: str
) -> None:
    identity = zone(account)
    changes(account, identity, change("CREATE", "a.train.example.org", "A", "10.0.0.1"))
    before = listed(account, identity)
    good = change("CREATE", "good.train.example.org", "A", "10.0.0.9")
    assert refusal(
        account.client("route53").change_resource_record_sets,
        HostedZoneId=identity,
        ChangeBatch={"Changes": [good, *batch]},
    ) == ("InvalidChangeBatch", message)
    assert listed(account, identity) == before


def test_a_zone_that_does_not_exist_takes_no_records(account: Account) -> None:
    batch = {"Changes": [change("CREATE", "a.b.org", "A", "10.0.0.1")]}
    assert refusal(
        account.client("route53").change_resource_record_sets,
        HostedZoneId="Z0123456789ABCDEFGHIJ",
        ChangeBatch=batch,
    ) == ("NoSuchHostedZone", "No hosted zone found with ID: Z0123456789ABCDEFGHIJ")
