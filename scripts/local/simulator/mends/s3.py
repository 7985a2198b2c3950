"""S3: what new buckets have by default, and lifecycle rules that read back as they were written."""

import json

from scripts.local.simulator.calls import Answer, AwsError, Call, answers
from scripts.local.simulator.records import Record

__all__ = ["create_bucket", "delete_bucket", "get_lifecycle", "put_lifecycle"]

LIFECYCLE = "s3:lifecycle"
"""Lifecycle configurations by bucket."""

POLICIES = "s3:policy"
"""Policies by bucket."""

EVERYWHERE = "aws"
"""Bucket names are known in all regions, so their records are under none."""

AES256: Record = {
    "Rules": [
        {
            "ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"},
            "BucketKeyEnabled": False,
        }
    ]
}
"""Every object is encrypted, since January 2023."""

ALL_BLOCKED = {
    "BlockPublicAcls": True,
    "IgnorePublicAcls": True,
    "BlockPublicPolicy": True,
    "RestrictPublicBuckets": True,
}
"""New buckets are closed to the public, since April 2023."""


def _kept(call: Call) -> dict[str, Record]:
    return call.records.table(call.account, EVERYWHERE, LIFECYCLE)


def _policies(call: Call) -> dict[str, Record]:
    return call.records.table(call.account, EVERYWHERE, POLICIES)


@answers("s3", "CreateBucket")
def create_bucket(call: Call) -> Answer:
    """Make a bucket with AWS's defaults: closed, encrypted, its objects its owner's."""
    bucket = call.params["Bucket"]
    owned = bucket in {one["Name"] for one in call.ask("s3", "ListBuckets").get("Buckets", [])}
    answer = call.forward()
    if owned:
        return answer  # us-east-1 answers 200 and changes nothing
    ownership = call.params.get("ObjectOwnership", "BucketOwnerEnforced")
    rules = {"Rules": [{"ObjectOwnership": ownership}]}
    call.ask_moto("s3", "PutBucketOwnershipControls", Bucket=bucket, OwnershipControls=rules)
    call.ask_moto(
        "s3", "PutPublicAccessBlock", Bucket=bucket, PublicAccessBlockConfiguration=ALL_BLOCKED
    )
    _encrypt_by_default(call)
    return answer


def _encrypt_by_default(call: Call) -> None:
    call.ask_moto(
        "s3",
        "PutBucketEncryption",
        Bucket=call.params["Bucket"],
        ServerSideEncryptionConfiguration=AES256,
    )


@answers("s3", "DeleteBucketEncryption")
def delete_encryption(call: Call) -> Answer:
    """Go back to S3's own keys."""
    answer = call.forward()
    _encrypt_by_default(call)
    return answer


@answers("s3", "DeleteBucket")
def delete_bucket(call: Call) -> Answer:
    """Delete an empty bucket."""
    answer = call.forward()
    for kept in (_kept(call), _policies(call)):
        kept.pop(call.params["Bucket"], None)
    return answer


@answers("s3", "PutBucketLifecycleConfiguration")
def put_lifecycle(call: Call) -> Answer:
    """Keep the rules whole: moto drops some of their fields."""
    call.forward()
    size = call.params.get("TransitionDefaultMinimumObjectSize", "all_storage_classes_128K")
    _kept(call)[call.params["Bucket"]] = {
        "Rules": call.params["LifecycleConfiguration"]["Rules"],
        "TransitionDefaultMinimumObjectSize": size,
    }
    return {"TransitionDefaultMinimumObjectSize": size}


@answers("s3", "GetBucketLifecycleConfiguration")
def get_lifecycle(call: Call) -> Answer:
    """Read the rules back as they were written."""
    return {**call.forward(), **_kept(call).get(call.params["Bucket"], {})}


@answers("s3", "DeleteBucketLifecycle")
def delete_lifecycle(call: Call) -> Answer:
    """Take all rules away."""
    answer = call.forward()
    _kept(call).pop(call.params["Bucket"], None)
    return answer


@answers("s3", "PutBucketPolicy")
def put_policy(call: Call) -> Answer:
    """Refuse a policy that is no JSON; enforce what of it stands without a condition.

    moto looks at no condition, so it would deny everybody what the policy denies without TLS.
    """
    bucket, text = call.params["Bucket"], call.params["Policy"]
    call.ask("s3", "HeadBucket", Bucket=bucket)
    try:
        policy = json.loads(text)
    except ValueError:
        raise AwsError(
            "MalformedPolicy", "Policies must be valid JSON and the first byte must be '{'"
        ) from None
    plain = [each for each in policy.get("Statement", []) if "Condition" not in each]
    enforced = json.dumps({**policy, "Statement": plain})
    answer = call.ask_moto("s3", "PutBucketPolicy", Bucket=bucket, Policy=enforced)
    _policies(call)[bucket] = {"Policy": text}
    return answer


@answers("s3", "GetBucketPolicy")
def get_policy(call: Call) -> Answer:
    """Read the whole policy back."""
    return {**call.forward(), **_policies(call).get(call.params["Bucket"], {})}


@answers("s3", "DeleteBucketPolicy")
def delete_policy(call: Call) -> Answer:
    """Take the policy away."""
    answer = call.forward()
    _policies(call).pop(call.params["Bucket"], None)
    return answer


@answers("s3", "PutBucketVersioning")
def put_versioning(call: Call) -> Answer:
    """Keep the versions of a bucket with object lock."""
    status = call.params["VersioningConfiguration"].get("Status")
    if status != "Enabled" and _locked(call):
        raise AwsError(
            "InvalidBucketState",
            "An Object Lock configuration is present on this bucket, so the versioning state "
            "cannot be changed.",
            status=409,
        )
    return call.forward()


@answers("s3", "GetObjectLockConfiguration")
def get_lock(call: Call) -> Answer:
    """Read the default retention in the unit that it was written in; moto adds the other one."""
    lock = call.forward()["ObjectLockConfiguration"]
    retention = lock.get("Rule", {}).get("DefaultRetention", {})
    for unit in ("Days", "Years"):
        if retention.get(unit) == 0:
            del retention[unit]
    return {"ObjectLockConfiguration": lock}


def _locked(call: Call) -> bool:
    try:
        call.ask("s3", "GetObjectLockConfiguration", Bucket=call.params["Bucket"])
    except AwsError:
        return False
    return True
