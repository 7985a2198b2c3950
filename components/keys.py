"""Customer keys: one for each layer that holds data, so that a right to one opens no other.

Every right stands in the key's own policy, bound to the service it comes through, to our account
and to named roles. A role's document would have to name the key, whose ARN nobody can know before
it exists; so no role's document speaks of keys.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
from pulumi_aws import kms

from components.documents import document
from components.naming import Names

__all__ = ["CustomerKey", "through", "to_log_group", "to_service"]

DELETION_DAYS = 30
"""The longest that KMS waits before a key, and all that it encrypted, is gone."""

USE = (
    "kms:Decrypt",
    "kms:DescribeKey",
    "kms:Encrypt",
    "kms:GenerateDataKey",
    "kms:GenerateDataKeyWithoutPlaintext",
    "kms:ReEncryptFrom",
    "kms:ReEncryptTo",
)


class CustomerKey(pulumi.ComponentResource):
    """A key that rotates every year, with an alias that says what it is for."""

    arn: pulumi.Output[str]

    def __init__(
        self,
        name: str,
        names: Names,
        *,
        statements: Sequence[Mapping[str, Any]],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("trainyard:keys:CustomerKey", name, None, opts)
        own = pulumi.ResourceOptions(parent=self)
        key = kms.Key(
            name,
            description=f"{names.prefix}: {name}",
            enable_key_rotation=True,
            deletion_window_in_days=DELETION_DAYS,
            policy=document(_account(names), *statements),
            tags=names.called(names.physical(name)),
            opts=pulumi.ResourceOptions(parent=self, protect=names.protect),
        )
        kms.Alias(name, name=f"alias/{names.physical(name)}", target_key_id=key.key_id, opts=own)
        self.arn = key.arn
        self.register_outputs({"arn": self.arn})


def through(
    services: Sequence[str], names: Names, *, roles: Sequence[str] = (), grants: bool = False
) -> Mapping[str, Any]:
    """Return the statement that lets our account use a key through ``services``.

    Parameters
    ----------
    services
        Service names as in ``ec2``.
    names
        The site's names.
    roles
        Role ARNs that may; anyone in the account who may use the service, when empty. They stand in
        a condition, because a principal must exist before a policy may name it.
    grants
        Whether the service may pass the use on to its own resources, as EBS does for volumes.
    """
    actions = [*USE, "kms:CreateGrant"] if grants else [*USE]
    condition: dict[str, Any] = {
        "StringEquals": {
            "kms:CallerAccount": names.account,
            "kms:ViaService": [names.service(service) for service in services],
        }
    }
    if roles:
        condition["ArnEquals"] = {"aws:PrincipalArn": list(roles)}
    return {
        "Sid": "Through" + "".join(service.title().replace("-", "") for service in services),
        "Effect": "Allow",
        "Principal": {"AWS": "*"},
        "Action": actions,
        "Resource": "*",
        "Condition": condition,
    }


def to_service(service: str, names: Names, *, source_arn: str | None = None) -> Mapping[str, Any]:
    """Return the statement that lets an AWS service use a key on behalf of our account."""
    condition: dict[str, Any] = {"StringEquals": {"aws:SourceAccount": names.account}}
    if source_arn:
        condition["ArnLike"] = {"aws:SourceArn": source_arn}
    return {
        "Sid": f"To{service.title()}",
        "Effect": "Allow",
        "Principal": {"Service": f"{service}.amazonaws.com"},
        "Action": [*USE],
        "Resource": "*",
        "Condition": condition,
    }


def to_log_group(group: str, names: Names) -> Mapping[str, Any]:
    """Return the statement that lets CloudWatch Logs encrypt one log group."""
    return {
        "Sid": "ToLogs",
        "Effect": "Allow",
        "Principal": {"Service": names.service("logs")},
        "Action": [*USE],
        "Resource": "*",
        "Condition": {
            "ArnEquals": {"kms:EncryptionContext:aws:logs:arn": names.log_group_arn(group)}
        },
    }


def _account(names: Names) -> Mapping[str, Any]:
    """Return the statement without which a key can never be changed again."""
    return {
        "Sid": "Account",
        "Effect": "Allow",
        "Principal": {"AWS": names.root},
        "Action": "kms:*",
        "Resource": "*",
    }
