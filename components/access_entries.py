"""Who enters the cluster, by access entries with named scopes, and which neighbours reach it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import pulumi
from pulumi_aws import eks

from components.naming import Names
from components.settings import Problem, RoleArn, Section, rule, shaped

__all__ = [
    "ADMINISTRATOR",
    "AccessConfig",
    "Entry",
    "admit",
    "deployer",
    "repeated",
    "strangers",
]

DEPLOYER = "trainyard-deploy"
"""Role that runs this program in every account, made there before."""

ADMINISTRATOR = "AmazonEKSClusterAdminPolicy"

POLICIES: Mapping[str, str] = {
    "view": "AmazonEKSViewPolicy",
    "edit": "AmazonEKSEditPolicy",
    "admin": "AmazonEKSAdminPolicy",
}

SYSTEM_NAMESPACES = frozenset(
    {"kube-node-lease", "kube-public", "kube-system", "kueue-system", "trainyard-gate"}
)
"""Namespaces of agents and controllers: whoever changes a pod there acts with their rights."""


Namespace = Annotated[
    str, shaped(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?", "the name of a namespace", "research")
]


class AccessConfig(Section):
    """A role that enters the cluster, and what it may do where."""

    role: RoleArn
    """Role of its people or programs."""

    policy: Literal["view", "edit", "admin"]
    """Read what runs (no secrets), change it, or also give rights in its namespaces."""

    namespaces: tuple[Namespace, ...] = ()
    """Where it may do that; everywhere when empty, which only view can be."""

    @rule("policy", "namespaces")
    def _changes_have_a_place(self) -> Iterator[Problem]:
        if self.policy != "view" and not self.namespaces:
            yield Problem(
                "namespaces",
                f"is empty, but {self.policy} in every namespace is as good as administrator; name "
                "the namespaces, use view, or add the role to control_plane.administrators",
            )

    @rule("policy", "namespaces")
    def _the_system_is_not_changed(self) -> Iterator[Problem]:
        for position, namespace in enumerate(self.namespaces):
            if self.policy != "view" and namespace in SYSTEM_NAMESPACES:
                yield Problem(
                    f"namespaces.{position}",
                    f"is {namespace}, where {self.policy} reaches the rights of the whole "
                    "cluster's agents; use view, or add the role to control_plane.administrators",
                )

    @rule("namespaces")
    def _namespaces_differ(self) -> Iterator[Problem]:
        for position, namespace in enumerate(self.namespaces):
            if namespace in self.namespaces[:position]:
                yield Problem(f"namespaces.{position}", f"is {namespace} again; name it once")

    @property
    def entry(self) -> "Entry":
        """The entry that EKS keeps for it."""
        return Entry(self.role, POLICIES[self.policy], self.namespaces)


@dataclass(frozen=True, slots=True)
class Entry:
    """A role in the cluster with a policy of EKS, everywhere or in some namespaces."""

    role: str
    policy: str
    namespaces: tuple[str, ...] = ()


def deployer(partition: str, account: str) -> str:
    """Return the ARN of the role that deploys, which administers every cluster that it makes."""
    return f"arn:{partition}:iam::{account}:role/{DEPLOYER}"


def repeated(roles: Iterable[tuple[str, str]]) -> Iterator[Problem]:
    """Name each role that stands at two places; ``roles`` are places and what stands there.

    EKS keeps one entry for a role, and refuses the second only after all else was made.
    """
    first: dict[str, str] = {}
    for path, role in roles:
        if role in first:
            yield Problem(
                path,
                f"is {role}, which {first[role]} names already, and EKS keeps one access entry "
                "for a role; leave one of them out, or use another role here",
            )
        first.setdefault(role, path)


def strangers(clients: Sequence[str], neighbours: Sequence[str]) -> Iterator[Problem]:
    """Name each client of the API that is not one neighbour; paths start at ``api_clients``."""
    for position, name in enumerate(clients):
        path, count = f"api_clients.{position}", neighbours.count(name)
        if not count:
            yield Problem(
                path,
                f"is {name}, which is no neighbour; use {' or '.join(neighbours) or 'none'}, or "
                "add it under network.neighbours",
            )
        elif count > 1:
            yield Problem(
                path,
                f"is {name}, which {count} neighbours are called; give each a name of its own "
                "under network.neighbours",
            )


def admit(
    label: str,
    entry: Entry,
    *,
    names: Names,
    cluster_name: pulumi.Input[str],
    parent: pulumi.Resource,
) -> pulumi.Resource:
    """Let a role into the cluster; nobody is in it by birth."""
    called = f"{label}-{_short(entry.role, names)}"
    made = eks.AccessEntry(
        called,
        cluster_name=cluster_name,
        principal_arn=entry.role,
        type="STANDARD",
        tags=names.called(called),
        opts=pulumi.ResourceOptions(parent=parent),
    )
    everywhere: eks.AccessPolicyAssociationAccessScopeArgsDict = {"type": "cluster"}
    return eks.AccessPolicyAssociation(
        called,
        cluster_name=cluster_name,
        principal_arn=entry.role,
        policy_arn=f"arn:{names.partition}:eks::aws:cluster-access-policy/{entry.policy}",
        access_scope=(
            {"type": "namespace", "namespaces": list(entry.namespaces)}
            if entry.namespaces
            else everywhere
        ),
        opts=pulumi.ResourceOptions(parent=parent, depends_on=[made]),
    )


def _short(role: str, names: Names) -> str:
    """Return a role's name with its path, and its account where that is not ours.

    The last part alone would be the same for two roles with different paths.
    """
    place, _, path = role.partition(":role/")
    account = place.rpartition(":")[2]
    return path if account == names.account else f"{account}/{path}"
