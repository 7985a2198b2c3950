"""IAM documents as text, made of plain values only, so that a preview can read them."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from components.naming import Names

__all__ = ["Statement", "allow", "bucket_over_tls", "document", "pod_trust", "service_trust"]

Statement = Mapping[str, Any]
Condition = Mapping[str, Mapping[str, str | Sequence[str]]]


def document(*statements: Statement) -> str:
    """Return the policy document that holds ``statements``."""
    return json.dumps({"Version": "2012-10-17", "Statement": list(statements)})


def allow(
    sid: str,
    actions: Sequence[str],
    resources: Sequence[str],
    *,
    principal: Mapping[str, str | Sequence[str]] | None = None,
    condition: Condition | None = None,
) -> Statement:
    """Return a statement that allows ``actions`` on ``resources``."""
    return {
        "Sid": sid,
        "Effect": "Allow",
        **({"Principal": principal} if principal else {}),
        "Action": list(actions),
        "Resource": list(resources),
        **({"Condition": condition} if condition else {}),
    }


def service_trust(service: str, names: Names, *, source_arn: str | None = None) -> str:
    """Return the trust of a role that an AWS service takes for our account, and for no other.

    Without the condition on the source account, another customer's resource could have the service
    act with our role.
    """
    condition: dict[str, dict[str, str]] = {"StringEquals": {"aws:SourceAccount": names.account}}
    if source_arn:
        condition["ArnLike"] = {"aws:SourceArn": source_arn}
    return document(
        {
            "Sid": "Service",
            "Effect": "Allow",
            "Principal": {"Service": f"{service}.amazonaws.com"},
            "Action": "sts:AssumeRole",
            "Condition": condition,
        }
    )


def pod_trust(names: Names) -> str:
    """Return the trust of a role that pods of our cluster take through EKS Pod Identity."""
    return document(
        {
            "Sid": "PodIdentity",
            "Effect": "Allow",
            "Principal": {"Service": "pods.eks.amazonaws.com"},
            "Action": ["sts:AssumeRole", "sts:TagSession"],
            "Condition": {
                "StringEquals": {"aws:SourceAccount": names.account},
                "ArnEquals": {"aws:SourceArn": names.cluster_arn()},
            },
        }
    )


def bucket_over_tls(bucket_arn: str) -> Statement:
    """Return the statement that refuses every request to a bucket that is not encrypted."""
    return {
        "Sid": "OverTlsOnly",
        "Effect": "Deny",
        "Principal": "*",
        "Action": "s3:*",
        "Resource": [bucket_arn, f"{bucket_arn}/*"],
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
    }
