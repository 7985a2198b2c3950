"""The audit layer: who changed what, in a bucket that nobody can rewrite."""

from typing import Annotated, Literal

import pulumi
from pulumi_aws import cloudtrail, cloudwatch, iam
from pydantic import Field

from components.buckets import PrivateBucket
from components.documents import allow, document, service_trust
from components.keys import CustomerKey, through, to_log_group, to_service
from components.naming import Names
from components.settings import NEVER, Section

__all__ = ["Audit", "AuditConfig"]


class AuditConfig(Section):
    """How long the record of changes is kept."""

    locked_days: Annotated[int, Field(ge=1, le=3650), NEVER] = 365
    """Days in which nobody, not even the account's root, can delete a record."""

    log_days: Literal[90, 180, 365, 400, 545, 731] = 365
    """Days for which records can be searched."""


class Audit(pulumi.ComponentResource):
    """A trail of all regions to a locked bucket, and to a log group that can be searched."""

    def __init__(
        self,
        name: str,
        config: AuditConfig,
        *,
        names: Names,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("trainyard:audit:Audit", name, None, opts)
        own = pulumi.ResourceOptions(parent=self)
        trail_arn = names.arn("cloudtrail", f"trail/{names.physical('audit')}")
        group_name = f"/trainyard/{names.stack}/audit"
        key = CustomerKey(
            f"{name}-key",
            names,
            statements=[
                to_log_group(group_name, names),
                to_service("cloudtrail", names, source_arn=trail_arn),
                through(["s3"], names),
            ],
            opts=own,
        )
        bucket = PrivateBucket(
            f"{name}-records",
            names=names,
            role="audit",
            key_arn=key.arn,
            statements=_writes(names, trail_arn),
            locked_days=config.locked_days,
            opts=own,
        )
        group = cloudwatch.LogGroup(
            name,
            name=group_name,
            retention_in_days=config.log_days,
            kms_key_id=key.arn,
            tags=names.called(group_name),
            opts=own,
        )
        role = iam.Role(
            name,
            name=names.physical("audit"),
            assume_role_policy=service_trust("cloudtrail", names, source_arn=trail_arn),
            tags=names.called(names.physical("audit")),
            opts=own,
        )
        streams = f"{names.log_group_arn(group_name)}:log-stream:*"
        rights = iam.RolePolicy(
            name,
            name="write-records",
            role=role.name,
            policy=document(
                allow("WriteRecords", ["logs:CreateLogStream", "logs:PutLogEvents"], [streams])
            ),
            opts=own,
        )
        cloudtrail.Trail(
            name,
            name=names.physical("audit"),
            s3_bucket_name=bucket.bucket_name,
            is_multi_region_trail=True,
            include_global_service_events=True,
            enable_log_file_validation=True,
            kms_key_id=key.arn,
            cloud_watch_logs_group_arn=group.arn.apply(lambda arn: f"{arn}:*"),
            cloud_watch_logs_role_arn=role.arn,
            tags=names.called(names.physical("audit")),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[*bucket.ready, rights]),
        )
        self.register_outputs({})


def _writes(names: Names, trail_arn: str) -> list[dict[str, object]]:
    """Return the statements that let our trail, and no other, write to the bucket."""
    bucket = names.bucket_arn("audit")
    trail = {"Service": "cloudtrail.amazonaws.com"}
    ours = {"StringEquals": {"aws:SourceArn": trail_arn}}
    return [
        dict(allow("TrailLooks", ["s3:GetBucketAcl"], [bucket], principal=trail, condition=ours)),
        dict(
            allow(
                "TrailWrites",
                ["s3:PutObject"],
                [f"{bucket}/AWSLogs/{names.account}/*"],
                principal=trail,
                condition=ours,
            )
        ),
    ]
