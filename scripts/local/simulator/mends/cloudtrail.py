"""CloudTrail: trails that exist already or not at all, and buckets that let no trail write."""

from scripts.local.simulator.calls import Answer, AwsError, Call, answers
from scripts.local.simulator.documents import many, services_allowed, statements

__all__ = ["create_trail", "delete_trail", "get_trail"]

SERVICE = "cloudtrail.amazonaws.com"


@answers("cloudtrail", "CreateTrail")
def create_trail(call: Call) -> Answer:
    """Make a trail under a free name, into a bucket whose policy allows it."""
    name = call.params["Name"]
    trails = call.ask("cloudtrail", "DescribeTrails")["trailList"]
    if name in {trail["Name"] for trail in trails}:
        raise AwsError(
            "TrailAlreadyExistsException",
            f"Trail {name} already exists for customer: {call.account}",
        )
    _check_bucket(call)
    return call.forward()


@answers("cloudtrail", "UpdateTrail")
def update_trail(call: Call) -> Answer:
    """Change a trail; another bucket must allow it as well."""
    if "S3BucketName" in call.params:
        _check_bucket(call)
    return call.forward()


def _check_bucket(call: Call) -> None:
    """Look for a statement that lets CloudTrail write; moto itself refuses a missing bucket."""
    bucket = call.params["S3BucketName"]
    try:
        policy = call.ask("s3", "GetBucketPolicy", Bucket=bucket)["Policy"]
    except AwsError as error:
        if error.code == "NoSuchBucket":
            return
        policy = '{"Statement": []}'
    for statement in statements(policy):
        writes = "s3:PutObject" in many(statement.get("Action", []))
        if writes and SERVICE in services_allowed(statement):
            return
    raise AwsError(
        "InsufficientS3BucketPolicyException",
        f"Incorrect S3 bucket policy is detected for bucket: {bucket}",
    )


@answers("cloudtrail", "GetTrail")
def get_trail(call: Call) -> Answer:
    """Describe a trail with its home region."""
    trail = call.forward()["Trail"]
    return {"Trail": {"HomeRegion": trail["TrailARN"].split(":")[3], **trail}}


@answers("cloudtrail", "DeleteTrail")
def delete_trail(call: Call) -> Answer:
    """Delete a trail that exists."""
    call.ask("cloudtrail", "GetTrail", Name=call.params["Name"])
    return call.forward()
