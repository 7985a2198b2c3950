"""EFA works only inside a security group that admits itself in both directions."""

from collections.abc import Iterator, Mapping

from rules import types
from rules.base import About, Stack, StackRule, Subject
from rules.plain import Plain, sections, text, texts

_RULES = {
    types.VPC_INGRESS_RULE: "ingress",
    types.VPC_EGRESS_RULE: "egress",
    types.EC2_SECURITY_GROUP_RULE: "",
}
_USERS = (types.EC2_LAUNCH_TEMPLATE, types.EC2_NETWORK_INTERFACE)
_DIRECTIONS = frozenset({"ingress", "egress"})


def one_sided_fabric(stack: Stack) -> Iterator[tuple[Subject, str]]:
    """Name users of EFA none of whose security groups admits itself in and out.

    libfabric between two nodes fails without both rules; an egress rule to every address does not
    replace the one that names the group (aws-ofi-nccl issue 663).
    """
    groups = {group.urn: group for group in stack.of(types.EC2_SECURITY_GROUP)}
    admitted = {urn: _self_directions(stack, group) for urn, group in groups.items()}
    for user in stack.of(*_USERS):
        problems: dict[str, list[str]] = {}
        for path, block, links in _efa_interfaces(user):
            members = [
                urn
                for urn, group in groups.items()
                if urn in links or _id(group) in texts(block.get("securityGroups"))
            ]
            if not any(admitted[urn] >= _DIRECTIONS for urn in members):
                problem = _problem([groups[urn] for urn in members], admitted)
                problems.setdefault(problem, []).append(path)
        # Large types have 32 interfaces, all with the same groups: one sentence is enough.
        for problem, paths in problems.items():
            more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
            yield user, f"{paths[0]}{more}: {problem}"


def _problem(members: list[Subject], admitted: Mapping[str, frozenset[str]]) -> str:
    if not members:
        return (
            "EFA with no security group of this stack, so its rules cannot be checked; "
            "give it the EFA group that the stack declares"
        )
    lacks = "; ".join(
        f"'{group.name}' lacks {' and '.join(sorted(_DIRECTIONS - admitted[group.urn]))}"
        for group in members
    )
    return (
        f"EFA, but no security group beside it admits itself in and out ({lacks}); "
        "add rules of protocol -1 whose other side is the same group"
    )


def _efa_interfaces(
    user: Subject,
) -> Iterator[tuple[str, Mapping[str, Plain], frozenset[str]]]:
    if user.kind == types.EC2_NETWORK_INTERFACE:
        blocks, links = [("interfaceType", dict(user.props))], user.links.get("securityGroups")
    else:
        interfaces = sections(user.props.get("networkInterfaces"))
        blocks = [(f"networkInterfaces[{index}]", block) for index, block in enumerate(interfaces)]
        links = user.links.get("networkInterfaces")
    for path, block in blocks:
        if text(block.get("interfaceType")).startswith("efa"):
            yield path, block, links or frozenset()


def _self_directions(stack: Stack, group: Subject) -> frozenset[str]:
    inline = {
        direction
        for direction in _DIRECTIONS
        for rule in sections(group.props.get(direction))
        if _all_protocols(rule) and rule.get("self") is True
    }
    separate = {
        _RULES[rule.kind] or text(rule.props.get("type"))
        for rule in stack.of(*_RULES)
        if _all_protocols(rule.props) and _is_of(rule, group) and _names(rule, group)
    }
    return frozenset(inline | separate)


def _all_protocols(rule: Mapping[str, Plain]) -> bool:
    return text(rule.get("ipProtocol") or rule.get("protocol")).lower() in {"-1", "all"}


def _is_of(rule: Subject, group: Subject) -> bool:
    return _points(rule, "securityGroupId", group)


def _names(rule: Subject, group: Subject) -> bool:
    return (
        rule.props.get("self") is True
        or _points(rule, "referencedSecurityGroupId", group)
        or _points(rule, "sourceSecurityGroupId", group)
    )


def _points(rule: Subject, prop: str, group: Subject) -> bool:
    """Compare by dependency, because at preview every id is unknown; then by id."""
    if group.urn in rule.links.get(prop, ()):
        return True
    return bool(_id(group)) and _id(group) == text(rule.props.get(prop))


def _id(group: Subject) -> str:
    return text(group.props.get("id"))


FABRIC = StackRule(
    About(
        name="network-efa-self-rules",
        description="A security group of EFA interfaces admits itself, in and out, on everything",
        remedy="Add an ingress and an egress rule of protocol -1 that name the group itself.",
        rows="26",
        sources=("aws-ofi-nccl#663", "AWS EFA guide: prepare an EFA-enabled security group"),
    ),
    {types.EC2_SECURITY_GROUP, *_USERS, *_RULES},
    one_sided_fabric,
)
RULES = (FABRIC,)
