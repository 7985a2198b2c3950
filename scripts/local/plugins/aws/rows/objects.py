"""Rows: S3 buckets, and the settings that are resources of their own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from scripts.local.plugins.aws.row import Call, Change, Hooks, Row, Tagging
from scripts.local.plugins.aws.session import AwsError

if TYPE_CHECKING:
    from scripts.local.plugins.aws.convert import Api
    from scripts.local.plugins.aws.session import Item
    from scripts.local.plugins.shared.wire import Value

_BUCKET: Final = {"Bucket": "$id"}

ZONES: Final = {
    "ap-northeast-1": "Z2M4EHUR26P7ZW",
    "ap-southeast-1": "Z3O0J2DXBE1FTB",
    "eu-central-1": "Z21DNDUVLTQW6Q",
    "eu-west-1": "Z1BKCTXD74EZPE",
    "us-east-1": "Z3AQBSTGFJSTF",
    "us-east-2": "Z2O1EMRO9K5GLX",
    "us-west-1": "Z2F56UZL2M1ACD",
    "us-west-2": "Z3BJ6K6RIION7M",
}
"""Hosted zones of S3 websites, from the page of S3 endpoints in the AWS general reference."""


def _place(item: Item, params: dict[str, Api]) -> None:
    """Name the region, except the first one, which is named by silence."""
    if item.region != "us-east-1":
        params["CreateBucketConfiguration"] = {"LocationConstraint": item.region}
    if item.props.get("objectLockEnabled"):
        params["ObjectLockEnabledForBucket"] = True


def _read_bucket(item: Item, found: dict[str, Api]) -> bool:
    region = found.get("LocationConstraint") or "us-east-1"
    found |= {
        "bucket": item.id,
        "bucketRegion": region,
        "bucketRegionalDomainName": f"{item.id}.s3.{region}.amazonaws.com",
        "hostedZoneId": ZONES.get(region, ""),
        "objectLockEnabled": _locked(item),
    }
    return True


def _locked(item: Item) -> bool:
    try:
        answer = item.call("GetObjectLockConfiguration", Bucket=item.id)
    except AwsError as error:
        if error.gone:
            return False
        raise
    return bool(answer["ObjectLockConfiguration"].get("ObjectLockEnabled") == "Enabled")


def _delete_bucket(item: Item) -> None:
    if item.prior.get("forceDestroy"):
        _empty(item)
    item.call("DeleteBucket", Bucket=item.id)


def _empty(item: Item) -> None:
    """Delete every version of every object, a page at a time."""
    while True:
        page = item.call("ListObjectVersions", Bucket=item.id)
        keys = [
            {"Key": it["Key"], "VersionId": it["VersionId"]}
            for kind in ("Versions", "DeleteMarkers")
            for it in page.get(kind) or ()
        ]
        if not keys:
            return
        answer = item.call("DeleteObjects", Bucket=item.id, Delete={"Objects": keys})
        if answer.get("Errors"):
            first = answer["Errors"][0]
            raise AwsError("DeleteObjects", first["Code"], f"{first['Key']}: {first['Message']}")


BUCKET: Final = Row(
    service="s3",
    id="{bucket}",
    create=Call("CreateBucket"),
    read=(Call("GetBucketLocation", _BUCKET),),
    replace=frozenset({"bucket", "bucketPrefix", "objectLockEnabled"}),
    local=frozenset({"forceDestroy"}),
    refused=frozenset(
        {
            "accelerationStatus",
            "acl",
            "bucketNamespace",
            "corsRules",
            "grants",
            "lifecycleRules",
            "logging",
            "objectLockConfiguration",
            "policy",
            "replicationConfiguration",
            "requestPayer",
            "serverSideEncryptionConfiguration",
            "versioning",
            "website",
        }
    ),
    defaults={"forceDestroy": False},
    hooks=Hooks(prepare=_place, read=_read_bucket, delete=_delete_bucket),
    outputs={
        "arn": "arn:{partition}:s3:::{id}",
        "bucketDomainName": "{id}.s3.amazonaws.com",
    },
    autoname="bucket",
    tagging=Tagging(
        Call("PutBucketTagging", _BUCKET),
        Call("DeleteBucketTagging", _BUCKET),
        field="Tagging.TagSet",
        keys="",
        read=Call("GetBucketTagging", _BUCKET),
    ),
)

_OWNED: Final = {"Bucket": "$id", "ExpectedBucketOwner": "$expectedBucketOwner"}


def _setting(put: str, get: str, delete: str, of: tuple[str, ...], result: str = "") -> Row:
    """Describe a setting that is put, got and deleted whole."""
    return Row(
        service="s3",
        id="{bucket}",
        create=Call(put),
        read=(Call(get, _OWNED, result),),
        updates=(Change(of, Call(put), whole=True),),
        delete=Call(delete, _OWNED) if delete else None,
        replace=frozenset({"bucket", "expectedBucketOwner"}),
        local=frozenset({"expectedBucketOwner"}),
        outputs={"bucket": "{id}"},
    )


def _versioned(_: Item, found: dict[str, Api]) -> bool:
    """Call the setting gone when versioning was never set."""
    return bool(found.get("VersioningConfiguration", {}).get("Status"))


def _suspend(item: Item) -> None:
    """Versioning cannot be taken away, only suspended."""
    item.call(
        "PutBucketVersioning", Bucket=item.id, VersioningConfiguration={"Status": "Suspended"}
    )


BUCKET_VERSIONING: Final = replace(
    _setting(
        "PutBucketVersioning",
        "GetBucketVersioning",
        "",
        ("versioningConfiguration",),
        "{VersioningConfiguration: @}",
    ),
    refused=frozenset({"mfa"}),
    hooks=Hooks(read=_versioned, delete=_suspend),
)

BUCKET_ENCRYPTION: Final = replace(
    _setting("PutBucketEncryption", "GetBucketEncryption", "DeleteBucketEncryption", ("rules",)),
    names={"rules": "ServerSideEncryptionConfiguration.Rules"},
)

_BLOCKS: Final[dict[str, Value]] = {
    "blockPublicAcls": False,
    "blockPublicPolicy": False,
    "ignorePublicAcls": False,
    "restrictPublicBuckets": False,
}


def _unblock(item: Item) -> None:
    if not item.prior.get("skipDestroy"):
        item.call("DeletePublicAccessBlock", Bucket=item.id)


BUCKET_PUBLIC_ACCESS_BLOCK: Final = replace(
    _setting(
        "PutPublicAccessBlock", "GetPublicAccessBlock", "DeletePublicAccessBlock", tuple(_BLOCKS)
    ),
    nested=("PublicAccessBlockConfiguration",),
    local=frozenset({"skipDestroy"}),
    replace=frozenset({"bucket"}),
    defaults=_BLOCKS,
    hooks=Hooks(delete=_unblock),
)


def _complete_rules(_: Item, params: dict[str, Api]) -> None:
    """Say of a rule without a filter that it is for the whole bucket, as the API wants."""
    for rule in params["LifecycleConfiguration"]["Rules"]:
        if not rule.get("Filter") and "Prefix" not in rule:
            rule["Filter"] = {"Prefix": ""}


BUCKET_LIFECYCLE: Final = replace(
    _setting(
        "PutBucketLifecycleConfiguration",
        "GetBucketLifecycleConfiguration",
        "DeleteBucketLifecycle",
        ("rules", "transitionDefaultMinimumObjectSize"),
    ),
    names={"rules": "LifecycleConfiguration.Rules|Rules"},
    local=frozenset({"expectedBucketOwner", "timeouts", "transitionDefaultMinimumObjectSize"}),
    hooks=Hooks(prepare=_complete_rules),
)

BUCKET_POLICY: Final = replace(
    _setting("PutBucketPolicy", "GetBucketPolicy", "DeleteBucketPolicy", ("policy",)),
    local=frozenset(),
    replace=frozenset({"bucket"}),
    json=frozenset({"policy"}),
)


def _unlock(item: Item) -> None:
    """Take away the default retention; the lock stays with the bucket."""
    item.call(
        "PutObjectLockConfiguration",
        Bucket=item.id,
        ObjectLockConfiguration={"ObjectLockEnabled": "Enabled"},
    )


def _has_rule(_: Item, found: dict[str, Api]) -> bool:
    return bool(found.get("ObjectLockConfiguration", {}).get("Rule"))


BUCKET_OBJECT_LOCK: Final = replace(
    _setting("PutObjectLockConfiguration", "GetObjectLockConfiguration", "", ("rule",)),
    nested=("ObjectLockConfiguration",),
    local=frozenset({"expectedBucketOwner", "token"}),
    replace=frozenset({"bucket", "expectedBucketOwner", "objectLockEnabled"}),
    defaults={"objectLockEnabled": "Enabled"},
    hooks=Hooks(read=_has_rule, delete=_unlock),
)

OBJECTS: Final = {
    "aws:s3/bucket:Bucket": BUCKET,
    "aws:s3/bucketVersioning:BucketVersioning": BUCKET_VERSIONING,
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": (
        BUCKET_ENCRYPTION
    ),
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": BUCKET_PUBLIC_ACCESS_BLOCK,
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": BUCKET_LIFECYCLE,
    "aws:s3/bucketPolicy:BucketPolicy": BUCKET_POLICY,
    "aws:s3/bucketObjectLockConfiguration:BucketObjectLockConfiguration": BUCKET_OBJECT_LOCK,
}
