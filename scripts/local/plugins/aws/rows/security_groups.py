"""Rows: security groups and their rules.

AWS keeps a rule for each peer; the group's inline rules name many peers at once. Both are taken
apart into atoms, so that a change touches only what differs.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scripts.local.plugins.aws.row import EC2_TAGS, Call, Hooks, Row
from scripts.local.plugins.aws.session import AwsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from scripts.local.plugins.aws.convert import Api
    from scripts.local.plugins.aws.session import Item
    from scripts.local.plugins.shared.wire import Value

_PEERS: Final = {
    "cidrBlocks": ("IpRanges", "CidrIp"),
    "ipv6CidrBlocks": ("Ipv6Ranges", "CidrIpv6"),
    "prefixListIds": ("PrefixListIds", "PrefixListId"),
    "securityGroups": ("UserIdGroupPairs", "GroupId"),
}
"""An inline rule's lists of peers: the API's list and its key."""

_SOURCES: Final = {
    "cidrIpv4": "cidrBlocks",
    "cidrIpv6": "ipv6CidrBlocks",
    "prefixListId": "prefixListIds",
    "referencedSecurityGroupId": "securityGroups",
}
"""A rule resource's peer, and the inline list of the same kind."""

ALL: Final = "-1"


@dataclass(frozen=True)
class Atom:
    """One peer of one rule."""

    protocol: str
    first: int
    last: int
    kind: str
    peer: str
    description: str = ""

    def permission(self) -> dict[str, Api]:
        """Spell the rule as the API takes it."""
        peers, key = _PEERS[self.kind]
        text = {"Description": self.description} if self.description else {}
        ports = {} if self.protocol == ALL else {"FromPort": self.first, "ToPort": self.last}
        return {"IpProtocol": self.protocol, **ports, peers: [{key: self.peer, **text}]}


def _inline(rules: Value, group: str) -> set[Atom]:
    """Take the inline rules of the group apart."""
    atoms: set[Atom] = set()
    for rule in rules if isinstance(rules, list) else []:
        if not isinstance(rule, dict):
            continue
        protocol = str(rule.get("protocol", ALL)).lower().replace("all", ALL)
        ports = (0, 0) if protocol == ALL else (_port(rule, "fromPort"), _port(rule, "toPort"))
        peers = [(kind, str(peer)) for kind in _PEERS for peer in _list(rule.get(kind))]
        if rule.get("self"):
            peers.append(("securityGroups", group))
        text = str(rule.get("description") or "")
        atoms |= {Atom(protocol, *ports, kind, peer, text) for kind, peer in peers}
    return atoms


def _list(value: Value) -> list[Value]:
    return value if isinstance(value, list) else []


def _port(rule: Mapping[str, Value], name: str) -> int:
    port = rule.get(name)
    return int(port) if isinstance(port, int | float | str) else 0


def _atoms(permissions: Iterable[Mapping[str, Api]]) -> set[Atom]:
    """Take apart what the API shows."""
    return {
        Atom(
            permission["IpProtocol"],
            permission.get("FromPort", 0),
            permission.get("ToPort", 0),
            kind,
            entry[key],
            entry.get("Description", ""),
        )
        for permission in permissions
        for kind, (peers, key) in _PEERS.items()
        for entry in permission.get(peers) or ()
    }


def _rules(atoms: Iterable[Atom], group: str) -> list[dict[str, Api]]:
    """Put atoms together as inline rules: one for each protocol, ports and description."""
    found: defaultdict[tuple[str, int, int, str], list[Atom]] = defaultdict(list)
    for atom in sorted(atoms, key=lambda it: (it.protocol, it.first, it.last, it.peer)):
        found[atom.protocol, atom.first, atom.last, atom.description].append(atom)
    rules: list[dict[str, Api]] = []
    for (protocol, first, last, text), members in found.items():
        rule: dict[str, Api] = {"protocol": protocol, "fromPort": first, "toPort": last}
        rule["self"] = any(it.peer == group for it in members)
        for kind in _PEERS:
            peers = [it.peer for it in members if it.kind == kind and it.peer != group]
            if peers:
                rule[kind] = peers
        if text:
            rule["description"] = text
        rules.append(rule)
    return rules


_SIDES: Final = {"ingress": "IpPermissions", "egress": "IpPermissionsEgress"}


def _show_rules(item: Item, found: dict[str, Api]) -> bool:
    for side, field in _SIDES.items():
        found[side] = _rules(_atoms(found.get(field) or ()), item.id)
    return True


def _call_name(verb: str, side: str) -> str:
    return f"{verb}SecurityGroup{side.capitalize()}"


def _replace_rules(item: Item, side: str, before: set[Atom], after: set[Atom]) -> None:
    for verb, atoms in (("Revoke", before - after), ("Authorize", after - before)):
        if atoms:
            permissions = [atom.permission() for atom in sorted(atoms, key=repr)]
            item.call(_call_name(verb, side), GroupId=item.id, IpPermissions=permissions)


def _current(item: Item) -> dict[str, set[Atom]]:
    [group] = item.call("DescribeSecurityGroups", GroupIds=[item.id])["SecurityGroups"]
    return {side: _atoms(group.get(field) or ()) for side, field in _SIDES.items()}


def _close_and_open(item: Item) -> None:
    """Leave exactly the rules of the program, as the real provider does: AWS's own go too."""
    current = _current(item)
    for side in _SIDES:
        _replace_rules(item, side, current[side], _inline(item.props.get(side), item.id))


def _change_rules(item: Item, changed: frozenset[str]) -> None:
    for side in changed & _SIDES.keys():
        before = _inline(item.prior.get(side), item.id)
        _replace_rules(item, side, before, _inline(item.props.get(side), item.id))


def _delete_group(item: Item) -> None:
    if item.prior.get("revokeRulesOnDelete"):
        current = _current(item)
        for side in _SIDES:
            _replace_rules(item, side, current[side], set())
    item.call("DeleteSecurityGroup", GroupId=item.id)


_GROUP: Final = Call("DescribeSecurityGroups", {"GroupIds": ["$id"]}, "SecurityGroups[0]")
_GROUP_ARN: Final = "arn:{partition}:ec2:{region}:{account}:security-group/{id}"

SECURITY_GROUP: Final = Row(
    service="ec2",
    id="GroupId",
    create=Call("CreateSecurityGroup"),
    read=(_GROUP,),
    names={"name": "GroupName"},
    replace=frozenset({"description", "name", "namePrefix", "vpcId"}),
    local=frozenset({"revokeRulesOnDelete"}),
    defaults={"description": "Managed by Pulumi", "revokeRulesOnDelete": False},
    hooks=Hooks(
        created=_close_and_open, read=_show_rules, update=_change_rules, delete=_delete_group
    ),
    outputs={"arn": _GROUP_ARN},
    tag_type="security-group",
    tagging=EC2_TAGS,
)


def _adopt(item: Item) -> str:
    """Take over the group that AWS made with the VPC."""
    vpc = item.props.get("vpcId")
    if not vpc:
        default = item.call("DescribeVpcs", Filters=[{"Name": "is-default", "Values": ["true"]}])
        vpc = default["Vpcs"][0]["VpcId"] if default["Vpcs"] else ""
    filters = [
        {"Name": "vpc-id", "Values": [vpc]},
        {"Name": "group-name", "Values": ["default"]},
    ]
    groups = item.call("DescribeSecurityGroups", Filters=filters)["SecurityGroups"]
    if not groups:
        raise AwsError(
            "DescribeSecurityGroups",
            "InvalidGroup.NotFound",
            f"the VPC {vpc or '(default)'} has no default security group",
        )
    return str(groups[0]["GroupId"])


def _leave(_: Item) -> None:
    """AWS deletes the group with its VPC; until then it stays as it is."""


DEFAULT_SECURITY_GROUP: Final = Row(
    service="ec2",
    id="GroupId",
    read=(_GROUP,),
    names={"name": "GroupName"},
    replace=frozenset({"vpcId"}),
    local=frozenset({"revokeRulesOnDelete"}),
    defaults={"revokeRulesOnDelete": False},
    hooks=Hooks(
        create=_adopt,
        created=_close_and_open,
        read=_show_rules,
        update=_change_rules,
        delete=_leave,
    ),
    outputs={"arn": _GROUP_ARN, "namePrefix": ""},
    autoname="",
    tagging=EC2_TAGS,
)


def _source(values: Mapping[str, Value]) -> tuple[str, str]:
    return next(((name, str(values[name])) for name in _SOURCES if values.get(name)), ("", ""))


def _atom(values: Mapping[str, Value]) -> Atom:
    name, peer = _source(values)
    return Atom(
        str(values["ipProtocol"]).replace("all", ALL),
        _port(values, "fromPort"),
        _port(values, "toPort"),
        _SOURCES[name],
        # A group of another account or region comes with its account: 111122223333/sg-1.
        peer.rpartition("/")[2] if name == "referencedSecurityGroupId" else peer,
        str(values.get("description") or ""),
    )


def _changed_source(old: Mapping[str, Value], new: Mapping[str, Value]) -> frozenset[str]:
    """AWS cannot turn a rule for a group into a rule for an address block."""
    before, after = _source(old)[0], _source(new)[0]
    return frozenset({before, after}) - {""} if before != after else frozenset()


def _ports_fit(inputs: Mapping[str, Value]) -> Mapping[str, str]:
    if str(inputs.get("ipProtocol")) in {ALL, "all"}:
        return {
            name: f'{name} is set, but ipProtocol "-1" means all ports; leave {name} out'
            for name in ("fromPort", "toPort")
            if inputs.get(name) not in (None, -1)
        }
    return {}


def _maker(side: str) -> Callable[[Item], str]:
    def make(item: Item) -> str:
        tags = item.props.get("tagsAll")
        pairs = tags.items() if isinstance(tags, dict) else ()
        specification = {
            "ResourceType": "security-group-rule",
            "Tags": [{"Key": key, "Value": value} for key, value in pairs],
        }
        answer = item.call(
            _call_name("Authorize", side),
            GroupId=item.props["securityGroupId"],
            IpPermissions=[_atom(item.props).permission()],
            **({"TagSpecifications": [specification]} if pairs else {}),
        )
        return str(answer["SecurityGroupRules"][0]["SecurityGroupRuleId"])

    return make


def _dropper(side: str) -> Callable[[Item], None]:
    def drop(item: Item) -> None:
        item.call(
            _call_name("Revoke", side),
            GroupId=item.prior["securityGroupId"],
            SecurityGroupRuleIds=[item.id],
        )

    return drop


def _modify_rule(item: Item, changed: frozenset[str]) -> None:
    if not changed - {"tags", "tagsAll"}:
        return
    atom = _atom(item.props)
    keys = {
        "cidrBlocks": "CidrIpv4",
        "ipv6CidrBlocks": "CidrIpv6",
        "prefixListIds": "PrefixListId",
        "securityGroups": "ReferencedGroupId",
    }
    rule: dict[str, Api] = {"IpProtocol": atom.protocol, keys[atom.kind]: atom.peer}
    ports = (-1, -1) if atom.protocol == ALL else (atom.first, atom.last)
    rule |= {"FromPort": ports[0], "ToPort": ports[1], "Description": atom.description}
    item.call(
        "ModifySecurityGroupRules",
        GroupId=item.props["securityGroupId"],
        SecurityGroupRules=[{"SecurityGroupRuleId": item.id, "SecurityGroupRule": rule}],
    )


def _no_ports(_: Item, found: dict[str, Api]) -> bool:
    if found["IpProtocol"] == ALL:
        found.pop("FromPort", None)
        found.pop("ToPort", None)
    return True


def _rule_row(side: str) -> Row:
    return Row(
        service="ec2",
        id="SecurityGroupRuleId",
        read=(
            Call(
                "DescribeSecurityGroupRules",
                {"SecurityGroupRuleIds": ["$id"]},
                "SecurityGroupRules[0]",
            ),
        ),
        names={
            "arn": "SecurityGroupRuleArn",
            "securityGroupId": "GroupId",
            "referencedSecurityGroupId": "ReferencedGroupInfo.GroupId",
        },
        replace=frozenset({"securityGroupId"}),
        conflicts=(tuple(_SOURCES),),
        one_of=tuple(_SOURCES),
        hooks=Hooks(
            create=_maker(side),
            read=_no_ports,
            update=_modify_rule,
            delete=_dropper(side),
            check=_ports_fit,
            replaces=_changed_source,
        ),
        outputs={
            "arn": "arn:{partition}:ec2:{region}:{account}:security-group-rule/{id}",
            "securityGroupRuleId": "{id}",
        },
        tag_type="security-group-rule",
        tagging=EC2_TAGS,
    )


SECURITY_GROUPS: Final = {
    "aws:ec2/securityGroup:SecurityGroup": SECURITY_GROUP,
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": DEFAULT_SECURITY_GROUP,
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _rule_row("ingress"),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _rule_row("egress"),
}
