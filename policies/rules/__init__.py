"""The rules of the pack, one subject a module."""

from rules import (
    buckets,
    cluster,
    compute,
    encryption,
    fabric,
    helm,
    iam_attachments,
    iam_documents,
    iam_permissions,
    iam_trust,
    ingress,
    providers,
    resource_access,
    tags,
)

ALL = (
    *iam_documents.RULES,
    *iam_permissions.RULES,
    *iam_trust.RULES,
    *iam_attachments.RULES,
    *resource_access.RULES,
    *ingress.RULES,
    *fabric.RULES,
    *cluster.RULES,
    *compute.RULES,
    *encryption.RULES,
    *buckets.RULES,
    *tags.RULES,
    *providers.RULES,
    *helm.RULES,
)
"""Every policy, in the order in which violations are read."""
