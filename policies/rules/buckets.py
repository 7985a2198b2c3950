"""Each bucket has its encryption and its public access block, which are resources beside it."""

from collections.abc import Iterator

from rules import types
from rules.base import About, Stack, StackRule, Subject
from rules.plain import section, sections, text

_BUCKETS = (types.S3_BUCKET, types.S3_BUCKET_V2)
_ENCRYPTION = (types.S3_ENCRYPTION, types.S3_ENCRYPTION_V2)
_PLAIN = (
    "has no server-side encryption with 'aws:kms'; "
    "add a BucketServerSideEncryptionConfiguration with a KMS key for it"
)
_FLAGS = ("blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets")


def unguarded_buckets(stack: Stack) -> Iterator[tuple[Subject, str]]:
    """Name buckets without KMS encryption, and those not closed to the public in all four ways."""
    for bucket in stack.of(*_BUCKETS):
        encryption = [part for part in stack.of(*_ENCRYPTION) if _belongs(part, bucket)]
        if not any(_uses_kms(part) for part in encryption) and not _uses_kms(bucket):
            yield bucket, _PLAIN
        blocks = [b for b in stack.of(types.S3_PUBLIC_ACCESS_BLOCK) if _belongs(b, bucket)]
        if not blocks:
            yield bucket, "has no public access block; add a BucketPublicAccessBlock for it"
        for block in blocks:
            off = [flag for flag in _FLAGS if block.props.get(flag) is not True]
            if off:
                yield block, f"leaves {', '.join(off)} off; set all four to true"


def _belongs(part: Subject, bucket: Subject) -> bool:
    """Compare by dependency, because at preview a made-up bucket name is unknown; then by name."""
    if bucket.urn in part.links.get("bucket", ()):
        return True
    name = text(part.props.get("bucket"))
    return bool(name) and name in {text(bucket.props.get("bucket")), text(bucket.props.get("id"))}


def _uses_kms(holder: Subject) -> bool:
    """Read the rules of a configuration, or those that older programs keep in the bucket."""
    legacy = "serverSideEncryptionConfiguration"
    blocks = [
        holder.props,
        section(holder.props.get(legacy)),
        section(holder.props.get(f"{legacy}s")),
    ]
    for block in blocks:
        for rule in [*sections(block.get("rules")), *sections(block.get("rule"))]:
            default = section(rule.get("applyServerSideEncryptionByDefault"))
            if text(default.get("sseAlgorithm")).startswith("aws:kms"):
                return True
    return False


BUCKETS = StackRule(
    About(
        name="storage-buckets-guarded",
        description="Each bucket is encrypted with a KMS key and closed to the public",
        remedy="Add the missing resource for the bucket.",
        rows="46-47",
        sources=(
            "CKV_AWS_53",
            "CKV_AWS_54",
            "CKV_AWS_55",
            "CKV_AWS_56",
            "CKV_AWS_145",
            "CKV2_AWS_6",
            "AWS-0094",
        ),
    ),
    {*_BUCKETS, *_ENCRYPTION, types.S3_PUBLIC_ACCESS_BLOCK},
    unguarded_buckets,
)
RULES = (BUCKETS,)
