"""Zones, records and certificates: what a program says in its own way comes out as AWS has it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.local.plugins.aws.support import AbortedError, Engine, Made, Values

if TYPE_CHECKING:
    from tests.local.plugins.aws.world import World


def refusal(engine: Engine, kind: str, news: Values) -> str:
    with pytest.raises(AbortedError) as caught:
        engine.create(kind, "wrong", news)
    return str(caught.value)


def record(engine: Engine, zone: Made, **more: object) -> Made:
    news = {"zoneId": zone.id, "name": "a", "type": "A", "records": ["10.0.0.1"], "ttl": 60}
    return engine.create("route53.Record", "r", {**news, **more})


def in_zone(engine: Engine, zone: Made) -> dict[tuple[str, str], Values]:
    """List what the API has in a zone beside its own records."""
    session = engine.provider._session
    assert session is not None
    sets = session.call("route53", "ListResourceRecordSets", {"HostedZoneId": zone.id})
    found = {(one["Name"], one["Type"]): one for one in sets["ResourceRecordSets"]}
    return {key: one for key, one in found.items() if key[1] not in {"NS", "SOA"}}


@pytest.fixture
def zone(engine: Engine) -> Made:
    return engine.create("route53.Zone", "z", {"name": "a.example.org", "forceDestroy": True})


def test_a_zone_shows_its_servers_and_takes_its_records_with_it(engine: Engine, zone: Made) -> None:
    assert len(zone.state["nameServers"]) == 4
    assert zone.state["primaryNameServer"] in zone.state["nameServers"]
    assert zone.state["arn"] == f"arn:aws:route53:::hostedzone/{zone.id}"
    record(engine, zone)
    engine.delete(zone)
    assert engine.refresh(zone) is None


def test_a_zone_without_force_keeps_its_records(engine: Engine) -> None:
    zone = engine.create("route53.Zone", "z", {"name": "b.example.org"})
    made = record(engine, zone)
    with pytest.raises(AbortedError) as caught:
        engine.delete(zone)
    assert str(caught.value) == (
        "DeleteHostedZone: api error HostedZoneNotEmpty: The specified hosted zone contains "
        "non-required resource record sets and so cannot be deleted."
    )
    engine.delete(made)
    engine.delete(zone)


def test_a_private_zone_moves_from_vpc_to_vpc(engine: Engine, world: World) -> None:
    vpcs = [{"vpcId": world.vpc.id, "vpcRegion": "us-east-1"}]
    zone = engine.create("route53.Zone", "z", {"name": "c.internal", "vpcs": vpcs})
    assert zone.state["vpcs"] == vpcs
    other = {"name": "c.internal", "vpcs": [{"vpcId": world.other_vpc.id}]}
    zone = engine.update(zone, other)
    assert zone.state["vpcs"] == [{"vpcId": world.other_vpc.id}]
    assert list(engine.diff(zone, other).diffs) == []
    engine.delete(zone)


@pytest.mark.parametrize(
    ("name", "fqdn"),
    [
        ("chat", "chat.a.example.org"),
        ("Chat.a.example.org.", "chat.a.example.org"),
        ("a.example.org", "a.example.org"),
        ("_x_y.chat", "_x_y.chat.a.example.org"),
    ],
)
def test_a_record_is_named_with_or_without_its_zone(
    engine: Engine, zone: Made, name: str, fqdn: str
) -> None:
    made = record(engine, zone, name=name)
    assert made.state["fqdn"] == fqdn
    assert made.state["name"] == name
    assert set(in_zone(engine, zone)) == {(f"{fqdn}.", "A")}
    found = engine.import_("route53.Record", "r", made.id)
    assert found is not None
    assert (found.state["fqdn"], found.state["records"]) == (fqdn, ["10.0.0.1"])
    engine.delete(made)
    engine.delete(zone)


def test_texts_are_quoted_for_the_api_only(engine: Engine, zone: Made) -> None:
    made = record(engine, zone, type="TXT", records=["v=1 all"])
    assert made.state["records"] == ["v=1 all"]
    stored = in_zone(engine, zone)["a.a.example.org.", "TXT"]
    assert stored["ResourceRecords"] == [{"Value": '"v=1 all"'}]
    engine.delete(zone)


def test_an_alias_points_to_a_load_balancer(engine: Engine, zone: Made) -> None:
    target = {"name": "lb.elb.example.net", "zoneId": "Z35SXDOTRQ7X7K"}
    news = {
        "zoneId": zone.id,
        "name": "a",
        "type": "A",
        "aliases": [{**target, "evaluateTargetHealth": True}],
    }
    made = engine.create("route53.Record", "r", news)
    seen = engine.refresh(made)
    assert seen is not None
    assert list(engine.diff(seen, news).diffs) == []
    assert "ttl" not in seen.state
    engine.delete(zone)


def test_a_record_changes_its_type_in_one_batch(engine: Engine, zone: Made) -> None:
    made = record(engine, zone)
    changed = {"zoneId": zone.id, "name": "a", "type": "CNAME", "records": ["b.org"], "ttl": 30}
    made = engine.update(made, changed)
    assert set(in_zone(engine, zone)) == {("a.a.example.org.", "CNAME")}
    seen = engine.refresh(made)
    assert seen is not None
    assert seen.state["type"] == "CNAME"
    engine.delete(made)
    assert in_zone(engine, zone) == {}
    engine.delete(zone)


def test_a_record_that_is_there_is_overwritten_only_on_demand(engine: Engine, zone: Made) -> None:
    record(engine, zone)
    news = {"zoneId": zone.id, "name": "a", "type": "A", "records": ["10.0.0.2"], "ttl": 60}
    assert refusal(engine, "route53.Record", news) == (
        "ChangeResourceRecordSets: api error InvalidChangeBatch: [Tried to create resource record "
        "set [name='a.a.example.org.', type='A'] but it already exists]"
    )
    made = engine.create("route53.Record", "r", {**news, "allowOverwrite": True})
    assert made.state["records"] == ["10.0.0.2"]
    engine.delete(zone)


def test_a_validation_waits_for_the_records_of_its_certificate(
    engine: Engine, world: World
) -> None:
    session = engine.provider._session
    assert session is not None
    news = {"domainName": "nowhere.example.org", "validationMethod": "DNS"}
    certificate = engine.create("acm.Certificate", "c", news)
    [proof] = certificate.state["domainValidationOptions"]
    assert proof["domainName"] == "nowhere.example.org"
    assert proof["resourceRecordType"] == "CNAME"
    name = proof["resourceRecordName"].rstrip(".")
    assert (
        refusal(
            engine,
            "acm.CertificateValidation",
            {"certificateArn": certificate.id, "validationRecordFqdns": ["other.example.org"]},
        )
        == f"Validation: api error Missing: missing {name} DNS validation record"
    )
    session.patience, before = 0, session.patience
    seen = refusal(engine, "acm.CertificateValidation", {"certificateArn": certificate.id})
    session.patience = before
    assert seen == (
        f"Wait: api error Timeout: {certificate.id} is in state PENDING_VALIDATION after 0 s, not "
        "ISSUED: its validation records are in no public zone of the simulated account"
    )
    valid = engine.create(
        "acm.CertificateValidation", "v", {"certificateArn": world.certificate.id}
    )
    assert valid.id == world.certificate.id
    issued = engine.refresh(world.certificate)
    assert issued is not None
    assert (issued.state["status"], issued.state["notAfter"] != "") == ("ISSUED", True)


def test_the_names_of_a_certificate_show_as_the_program_lists_them(engine: Engine) -> None:
    listed = {"domainName": "d.org", "validationMethod": "DNS"}
    for names in (["*.d.org"], ["*.d.org", "d.org"], ["d.org"]):
        news = {**listed, "subjectAlternativeNames": names}
        made = engine.create("acm.Certificate", "d", news)
        assert sorted(made.state["subjectAlternativeNames"]) == names
        assert list(engine.diff(made, news).diffs) == []
        engine.delete(made)
    alone = engine.create("acm.Certificate", "d", listed)
    assert alone.state["subjectAlternativeNames"] == ["d.org"]
    engine.delete(alone)
