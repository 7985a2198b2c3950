"""Documents on resources let nobody in whom no condition holds."""

from collections.abc import Iterator

from pulumi_policy import Severity

from rules.base import About, ResourceRule, Subject
from rules.documents import ACCESS_KINDS, access
from rules.scope import has_wildcard, holds

_HOLDING = frozenset(
    {
        "aws:principalaccount",
        "aws:principalarn",
        "aws:principalorgid",
        "aws:sourceaccount",
        "aws:sourcearn",
        "aws:sourceowner",
        "aws:sourcevpc",
        "aws:sourcevpce",
        "kms:calleraccount",
    }
)
"""Keys that say who the caller is, or for whom a service calls."""


def public_access(subject: Subject) -> Iterator[str]:
    """Name statements that let everyone in; a condition counts only if it names someone."""
    for document in access(subject):
        for statement in document.allowing():
            where = f"{document.path} statement {statement.label}"
            if "NotPrincipal" in statement.excluded:
                yield f"{where} allows all but NotPrincipal; list the principals"
            public = [name for kind, name in statement.principals if _everyone(kind, name)]
            if public and not holds(statement, _HOLDING.__contains__):
                yield (
                    f"{where} allows every principal; name the principals, or add a condition "
                    "with whole values on aws:PrincipalOrgID, aws:SourceAccount or aws:SourceArn"
                )


def _everyone(kind: str, name: str) -> bool:
    return kind in {"aws", "federated", "service", "*"} and has_wildcard(name)


RESOURCE_ACCESS = ResourceRule(
    About(
        name="resource-policy-no-public-principal",
        description="Buckets, keys, images, secrets, queues and topics are not open to everyone",
        remedy="Name the principals, or add a condition that names the organisation or account.",
        rows="23",
        sources=("CKV_AWS_32", "CKV_AWS_33", "CKV_AWS_70", "CKV_AWS_168", "CKV_AWS_169"),
        severity=Severity.CRITICAL,
    ),
    {public_access: ACCESS_KINDS},
)
RULES = (RESOURCE_ACCESS,)
