"""Who is let into the cluster, and how far."""

from collections.abc import Iterator

from pulumi_policy import Severity

from rules import types
from rules.base import About, ResourceRule, Subject
from rules.plain import UNKNOWN, has_unknown, many, section, text

_CHANGING = frozenset({"AmazonEKSAdminPolicy", "AmazonEKSEditPolicy"})
_SYSTEM = frozenset({"kube-node-lease", "kube-public", "kube-system"})
_ASSOCIATION = frozenset({types.EKS_ACCESS_POLICY_ASSOCIATION})
_ENTRY = frozenset({types.EKS_ACCESS_ENTRY})


def wide_scopes(subject: Subject) -> Iterator[str]:
    """Name rights to change things that hold everywhere, by a pattern, or where agents run.

    The administrator of a whole cluster is named as such and passes; an editor of all of it is one
    in disguise, for it may start pods with the rights of any agent.
    """
    policy, scope = subject.props.get("policyArn"), subject.props.get("accessScope")
    if policy is UNKNOWN or has_unknown(scope):
        yield "policyArn or accessScope is not known at preview; take them from settings"
        return
    name, place = text(policy).rpartition("/")[2], section(scope)
    if name in _CHANGING and place.get("type") != "namespace":
        yield (
            f"{name} holds in every namespace, which is as good as administrator; "
            "name namespaces in accessScope"
        )
    for index, namespace in enumerate(map(text, many(place.get("namespaces")))):
        path = f"accessScope.namespaces[{index}]"
        if "*" in namespace:
            yield f"{path} is a pattern, which takes in namespaces to come; name whole ones"
        elif name in _CHANGING and namespace in _SYSTEM:
            yield f"{path} is {namespace}, where {name} reaches the rights of the cluster's agents"


def built_in_groups(subject: Subject) -> Iterator[str]:
    """Name groups of Kubernetes itself, which EKS refuses only when all else is made."""
    for index, group in enumerate(many(subject.props.get("kubernetesGroups"))):
        if text(group).startswith("system:"):
            yield (
                f"kubernetesGroups[{index}] is a group of Kubernetes itself, which EKS refuses; "
                "bind a group of your own, or associate an access policy"
            )


def lasting_principals(subject: Subject) -> Iterator[str]:
    """Name users, whose credentials do not end."""
    if ":user/" in text(subject.props.get("principalArn")):
        yield "principalArn is a user; let in a role, whose credentials end"


ENTRIES = ResourceRule(
    About(
        name="eks-access-entry-scoped",
        description="Only administrators change all of a cluster; others change named namespaces",
        remedy="Name the namespaces, or a policy that only reads.",
        rows="36",
        sources=("CIS EKS 4.1.1", "eks-cluster-access-manager-enabled"),
        severity=Severity.CRITICAL,
    ),
    {
        wide_scopes: _ASSOCIATION,
        built_in_groups: _ENTRY,
        lasting_principals: _ENTRY | _ASSOCIATION,
    },
)
RULES = (ENTRIES,)
