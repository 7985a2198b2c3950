"""The rules of the pack, one subject a module."""

from rules import (
    access_entries,
    addons,
    buckets,
    cluster,
    compute,
    descriptions,
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
    *descriptions.RULES,
    *fabric.RULES,
    *cluster.RULES,
    *access_entries.RULES,
    *addons.RULES,
    *compute.RULES,
    *encryption.RULES,
    *buckets.RULES,
    *tags.RULES,
    *providers.RULES,
    *helm.RULES,
)
"""Every policy, in the order in which violations are read."""
