"""Every IAM document can be judged before anything is made."""

from collections.abc import Iterator

from pulumi_policy import Severity

from rules.base import About, ResourceRule, Subject
from rules.documents import ACCESS_KINDS, PERMISSION_KINDS, TRUST_KINDS, access, permissions, trust


def unverifiable(subject: Subject) -> Iterator[str]:
    """Name documents that hold an unknown, or that cannot be read at all."""
    for documents in (permissions, trust, access):
        for document in documents(subject):
            if document.unknown:
                yield (
                    f"{document.path} is not yet checked, because part of it is known only after "
                    "the update; build its ARNs and account ids from settings instead of outputs"
                )
            elif document.broken:
                yield (
                    f"{document.path} is no readable IAM document: {document.broken}; "
                    "write one JSON object, with each key once"
                )


VERIFIABLE = ResourceRule(
    About(
        name="iam-document-verifiable-at-preview",
        description="IAM documents are known at preview, so that a reviewer's yes is to what comes",
        remedy="Build partition, account, region and names into ARNs from settings.",
        rows="1",
        sources=("pulumi-policy#181", "pulumi-policy#258", "pulumi-policy#360"),
        severity=Severity.CRITICAL,
    ),
    {unverifiable: PERMISSION_KINDS | TRUST_KINDS | ACCESS_KINDS},
)
RULES = (VERIFIABLE,)
