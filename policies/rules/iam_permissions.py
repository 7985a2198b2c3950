"""Least privilege in what identities may do."""

import re
from collections.abc import Iterable, Iterator, Sequence

from pulumi_policy import Severity

from rules.actions import Action, data_version, expand
from rules.base import About, ResourceRule, Subject
from rules.documents import PERMISSION_KINDS, Statement, permissions
from rules.scope import Width, has_wildcard, holds, width

_SHOWN = 3
_PASS_ROLE = "iam:PassRole"  # noqa: S105 - the name of a call
_ROLE = re.compile(r"arn:aws[a-z-]*:iam::\d{12}:role/[^*?]+")
_NARROWING = frozenset({"cloudwatch:namespace", "ec2:createaction"})
"""Keys that stand in for an ARN where an action takes one only sometimes.

``cloudwatch:PutMetricData`` and ``ec2:CreateTags`` are limited this way in the service
authorisation reference.
"""


def wildcard_actions(subject: Subject) -> Iterator[str]:
    """Name allowed action patterns that cover more than listing and reading."""
    for where, statement in _allowing(subject):
        for pattern in statement.actions:
            problem = _pattern_problem(pattern)
            if problem:
                yield f"{where} allows '{pattern}', {problem}"


def _pattern_problem(pattern: str) -> str:
    if not has_wildcard(pattern):
        return ""
    if _whole_service(pattern):
        return "a whole service or more; name the calls it makes"
    covered = expand(pattern)
    if not covered:
        return f"which matches no action of {data_version()}; name the calls it makes"
    writing = [action.name for action in covered if not action.reads]
    if writing:
        return (
            f"which covers {_some(writing)}; "
            "name the calls it makes, a pattern may cover only calls that list or read"
        )
    return ""


def _whole_service(pattern: str) -> bool:
    service, _, action = pattern.partition(":")
    return has_wildcard(service) or (bool(action) and not action.strip("*"))


def wildcard_resources(subject: Subject) -> Iterator[str]:
    """Name allowed resource patterns that the actions beside them could narrow."""
    for where, statement in _allowing(subject):
        for pattern in statement.resources:
            reach = width(pattern)
            if reach is Width.NAMED:
                continue
            wide = _narrowable(statement, reach)
            if wide:
                yield (
                    f"{where} lets {_some(wide)} act on {reach.value} ('{pattern}'); name ARNs, "
                    "or for a whole kind add a condition on a resource tag"
                )


def _narrowable(statement: Statement, reach: Width) -> list[str]:
    narrowed = holds(statement, lambda key: "tag/" in key or key in _NARROWING)
    wide: list[str] = []
    for pattern in statement.actions:
        if has_wildcard(pattern) and _whole_service(pattern):
            wide.append(pattern)
            continue
        # An action the data does not know is judged as one that takes an ARN.
        covered = expand(pattern) or (
            Action(pattern, reads=False, takes_resource=True, needs_resource=True),
        )
        for action in covered:
            if action.name == _PASS_ROLE:
                continue  # It has a rule of its own, which asks for more.
            excused = narrowed and (reach is Width.KIND or not action.needs_resource)
            if action.takes_resource and not excused:
                wide.append(action.name)
    return wide


def inverted_elements(subject: Subject) -> Iterator[str]:
    """Name allowing statements that list what they leave out."""
    for where, statement in _allowing(subject):
        for element in statement.excluded:
            yield (
                f"{where} allows by {element}, which grants all that it does not name, now and in "
                f"future; list {element.removeprefix('Not')} instead"
            )


def open_pass_role(subject: Subject) -> Iterator[str]:
    """Name statements that hand out roles without naming the role and the service."""
    for where, statement in _allowing(subject):
        if not any(_passes_roles(pattern) for pattern in statement.actions):
            continue
        unnamed = [f"'{arn}'" for arn in statement.resources if not _ROLE.fullmatch(arn)]
        if unnamed:
            yield (
                f"{where} allows iam:PassRole on {_some(unnamed)}; "
                "name whole role ARNs, without wildcards"
            )
        if not holds(statement, lambda key: key == "iam:passedtoservice"):
            yield (
                f"{where} allows iam:PassRole to any service; "
                "add a StringEquals condition on iam:PassedToService"
            )


def _passes_roles(pattern: str) -> bool:
    if has_wildcard(pattern) and _whole_service(pattern):
        return False  # Reported as a whole service, and every other finding would repeat that.
    return any(action.name == _PASS_ROLE for action in expand(pattern))


def _allowing(subject: Subject) -> Iterator[tuple[str, Statement]]:
    for document in permissions(subject):
        for statement in document.allowing():
            yield f"{document.path} statement {statement.label}", statement


def _some(names: Iterable[str]) -> str:
    unique: Sequence[str] = list(dict.fromkeys(names))
    more = f" and {len(unique) - _SHOWN} more" if len(unique) > _SHOWN else ""
    return ", ".join(unique[:_SHOWN]) + more


LEAST_PRIVILEGE = ResourceRule(
    About(
        name="iam-least-privilege",
        description="Identities may do named calls on named resources, and pass named roles",
        remedy="Name the calls, the ARNs, and for iam:PassRole the role and iam:PassedToService.",
        rows="2-6, 10",
        sources=(
            "CKV_AWS_62",
            "CKV_AWS_63",
            "CKV_AWS_288",
            "CKV_AWS_355",
            "AWS-0057",
            "AWS-0342",
            "CIS-AWS 1.16",
            "cfn_nag IamPolicyWildcardActionRule",
            "cfn_nag IamPolicyWildcardResourceRule",
            "cfn_nag IamPolicyNotActionRule",
            "cfn_nag IamPolicyNotResourceRule",
            "cfn_nag IamPolicyPassRoleWildcardResourceRule",
            "prowler iam_policy_allows_passrole_without_condition",
        ),
        severity=Severity.CRITICAL,
    ),
    {
        wildcard_actions: PERMISSION_KINDS,
        wildcard_resources: PERMISSION_KINDS,
        inverted_elements: PERMISSION_KINDS,
        open_pass_role: PERMISSION_KINDS,
    },
)
RULES = (LEAST_PRIVILEGE,)
