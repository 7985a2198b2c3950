import re
from functools import cache
from typing import Any

import pytest

from components.firewall import Firewall
from tests.support.engine import Engine, run
from tests.support.names import NAMES

API, NODES, EFA, LUSTRE = "wall-cluster-id", "wall-nodes-id", "wall-efa-id", "wall-lustre-id"
DESCRIPTION = re.compile(r"[a-zA-Z0-9. _\-:/()#,@\[\]+=&;{}!$*]{1,255}")
"""What EC2 takes as the description of a rule or a group: no apostrophe, for one."""

Way = tuple[str, str, str, int | None, int | None]


@cache
def firewall(*, efa_to_lustre: bool = False, **clients: str) -> Engine:
    def program() -> None:
        Firewall(
            "wall", names=NAMES, vpc_id="vpc-1", api_clients=clients, efa_to_lustre=efa_to_lustre
        )

    return run(program)


def ways(engine: Engine, direction: str) -> set[Way]:
    """Return who may open connections to whom, by the rules of one direction."""
    found: set[Way] = set()
    for rule in engine.all(f"SecurityGroup{direction}Rule"):
        ends = [rule["securityGroupId"], rule.get("referencedSecurityGroupId") or rule["cidrIpv4"]]
        source, target = ends if direction == "Egress" else reversed(ends)
        found.add((source, target, rule["ipProtocol"], rule.get("fromPort"), rule.get("toPort")))
    return found


def between(ways: set[Way], source: str, target: str) -> set[tuple[str, int | None, int | None]]:
    return {way[2:] for way in ways if way[:2] == (source, target)}


def test_between_groups_each_way_is_open_at_both_ends() -> None:
    engine = firewall(efa_to_lustre=True, office="10.0.0.0/12")
    outside = {
        ("10.0.0.0/12", API, "tcp", 443, 443),
        (NODES, "0.0.0.0/0", "tcp", 443, 443),
    }
    assert ways(engine, "Egress") - outside == ways(engine, "Ingress") - outside


@pytest.mark.parametrize("direction", ["Ingress", "Egress"])
def test_the_fabric_is_open_to_itself_by_group_and_not_by_address(direction: str) -> None:
    rule = firewall().named(
        f"wall-efa-self-{'in' if direction == 'Ingress' else 'out'}",
        f"SecurityGroup{direction}Rule",
    )
    assert rule["ipProtocol"] == "-1"
    assert rule["securityGroupId"] == rule["referencedSecurityGroupId"] == EFA
    assert {"cidrIpv4", "fromPort", "toPort"}.isdisjoint(rule)


@pytest.mark.parametrize("direction", ["Ingress", "Egress"])
@pytest.mark.parametrize(("source", "target"), [(NODES, LUSTRE), (LUSTRE, NODES), (LUSTRE, LUSTRE)])
def test_lustre_ports_are_open_between_nodes_and_servers(
    source: str, target: str, direction: str
) -> None:
    opened = between(ways(firewall(), direction), source, target)
    assert opened == {("tcp", 988, 988), ("tcp", 1018, 1023)}


@pytest.mark.parametrize("direction", ["Ingress", "Egress"])
def test_only_a_file_system_on_the_fabric_is_open_to_all_of_it(direction: str) -> None:
    everything = ("-1", None, None)
    pairs = [(LUSTRE, LUSTRE), (EFA, LUSTRE), (LUSTRE, EFA)]
    with_efa = ways(firewall(efa_to_lustre=True), direction)
    without = ways(firewall(), direction)
    assert all(everything in between(with_efa, *pair) for pair in pairs)
    assert not any(everything in between(without, *pair) for pair in pairs)


def test_the_file_system_is_marked_as_fabric_only_when_it_is() -> None:
    tags = {
        efa: firewall(efa_to_lustre=efa).named("wall-lustre", "SecurityGroup")["tags"].get("efa")
        for efa in (True, False)
    }
    assert tags == {True: "true", False: None}


def test_the_api_is_open_to_nodes_and_to_nobody_else_by_itself() -> None:
    opened = {way for way in ways(firewall(), "Ingress") if way[1] == API}
    assert opened == {(NODES, API, "tcp", 443, 443)}


def test_each_named_neighbour_has_a_rule_of_its_own_at_the_api() -> None:
    engine = firewall(office="10.0.0.0/12", laboratory="192.168.0.0/16")
    opened = {way for way in ways(engine, "Ingress") if way[1] == API}
    assert opened == {
        (NODES, API, "tcp", 443, 443),
        ("10.0.0.0/12", API, "tcp", 443, 443),
        ("192.168.0.0/16", API, "tcp", 443, 443),
    }
    rule = engine.named("wall-cluster-from-office-in", "SecurityGroupIngressRule")
    assert rule["description"] == "The Kubernetes API, from neighbour office"


def test_the_control_plane_reaches_kubelets_webhooks_and_api_services_on_nodes() -> None:
    opened = between(ways(firewall(), "Ingress"), API, NODES)
    assert opened == {("tcp", port, port) for port in (443, 8082, 8443, 9443, 10250, 10251)}


def test_pods_ask_for_names_and_for_the_use_of_nodes_on_other_nodes() -> None:
    opened = between(ways(firewall(), "Ingress"), NODES, NODES)
    assert opened == {("tcp", 53, 53), ("udp", 53, 53), ("tcp", 10250, 10250)}


def test_no_rule_lets_a_public_address_in() -> None:
    addresses = {
        rule["cidrIpv4"]
        for rule in firewall(efa_to_lustre=True, office="10.0.0.0/12").all(
            "SecurityGroupIngressRule"
        )
        if "cidrIpv4" in rule
    }
    assert addresses == {"10.0.0.0/12"}


def test_every_group_and_rule_says_why_it_is_there_in_words_that_ec2_takes() -> None:
    engine = firewall(efa_to_lustre=True, office="10.0.0.0/12")
    kinds = ("SecurityGroup", "SecurityGroupIngressRule", "SecurityGroupEgressRule")
    texts = [made["description"] for kind in kinds for made in engine.all(kind)]
    assert len(texts) > 40
    assert [text for text in texts if not DESCRIPTION.fullmatch(text)] == []


def test_groups_have_no_rules_of_their_own() -> None:
    assert all({"ingress", "egress"}.isdisjoint(group) for group in firewall().all("SecurityGroup"))


def test_what_an_instance_carries_is_within_the_quota_of_rules() -> None:
    # 60 rules of each direction in a group (VPC quotas); a neighbour costs one.
    engine = firewall(efa_to_lustre=True, office="10.0.0.0/12")
    for direction in ("Ingress", "Egress"):
        rules: list[Any] = engine.all(f"SecurityGroup{direction}Rule")
        groups = [rule["securityGroupId"] for rule in rules]
        assert max(map(groups.count, groups)) < 60
