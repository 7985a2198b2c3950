"""Private buckets: encrypted by a customer key, versioned, closed to the public, over TLS only."""

from collections.abc import Sequence

import pulumi
from pulumi_aws import s3

from components.documents import Statement, bucket_over_tls, document
from components.naming import Names

__all__ = ["PrivateBucket"]

ABORT_UPLOAD_DAYS = 7
"""Days after which a broken upload is thrown away; its parts cost as much as whole objects."""

OLD_VERSION_DAYS = 30
"""Days for which an overwritten or deleted object can be had back."""


class PrivateBucket(pulumi.ComponentResource):
    """A bucket with everything that keeps it private."""

    arn: pulumi.Output[str]
    bucket_name: pulumi.Output[str]
    ready: list[pulumi.Resource]

    def __init__(  # noqa: PLR0913 - each is one thing in which buckets differ
        self,
        name: str,
        *,
        names: Names,
        role: str,
        key_arn: pulumi.Input[str],
        rules: "Sequence[s3.BucketLifecycleConfigurationRuleArgsDict]" = (),
        statements: Sequence[Statement] = (),
        locked_days: int | None = None,
        force_destroy: bool = False,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("trainyard:buckets:PrivateBucket", name, None, opts)
        own = pulumi.ResourceOptions(parent=self)
        bucket = s3.Bucket(
            name,
            bucket=names.bucket(role),
            object_lock_enabled=locked_days is not None,
            # Left out where it does not hold, so that other buckets stay as they are.
            force_destroy=force_destroy or None,
            tags=names.called(names.bucket(role)),
            opts=pulumi.ResourceOptions(parent=self, protect=names.protect),
        )
        closed = s3.BucketPublicAccessBlock(
            name,
            bucket=bucket.id,
            block_public_acls=True,
            block_public_policy=True,
            ignore_public_acls=True,
            restrict_public_buckets=True,
            opts=own,
        )
        # A lock turns versioning on by itself, and refuses that it is ever turned off again.
        versioned = (
            s3.BucketVersioning(
                name, bucket=bucket.id, versioning_configuration={"status": "Enabled"}, opts=own
            )
            if locked_days is None
            else bucket
        )
        encrypted = s3.BucketServerSideEncryptionConfiguration(
            name,
            bucket=bucket.id,
            rules=[
                {
                    "apply_server_side_encryption_by_default": {
                        "sse_algorithm": "aws:kms",
                        "kms_master_key_id": key_arn,
                    },
                    "bucket_key_enabled": True,
                }
            ],
            opts=own,
        )
        after = pulumi.ResourceOptions(parent=self, depends_on=[versioned])
        s3.BucketLifecycleConfiguration(
            name, bucket=bucket.id, rules=[_upkeep(), *rules], opts=after
        )
        policy = s3.BucketPolicy(
            name,
            bucket=bucket.id,
            policy=document(bucket_over_tls(names.bucket_arn(role)), *statements),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[closed]),
        )
        if locked_days is not None:
            s3.BucketObjectLockConfiguration(
                name,
                bucket=bucket.id,
                rule={"default_retention": {"mode": "COMPLIANCE", "days": locked_days}},
                opts=after,
            )
        self.arn, self.bucket_name = bucket.arn, bucket.id
        self.ready = [policy, encrypted]
        self.register_outputs({"arn": self.arn, "bucket_name": self.bucket_name})


def _upkeep() -> "s3.BucketLifecycleConfigurationRuleArgsDict":
    return {
        "id": "upkeep",
        "status": "Enabled",
        "filter": {"prefix": ""},
        "abort_incomplete_multipart_upload": {"days_after_initiation": ABORT_UPLOAD_DAYS},
        "noncurrent_version_expiration": {"noncurrent_days": OLD_VERSION_DAYS},
    }
