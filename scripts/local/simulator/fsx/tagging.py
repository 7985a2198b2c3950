"""Tags of file systems and of their links, by ARN."""

from scripts.local.simulator.calls import Answer, AwsError, Call, answers, tag_map
from scripts.local.simulator.fsx.common import ASSOCIATION, FILE_SYSTEM
from scripts.local.simulator.records import Record

__all__ = ["list_tags", "tag", "untag"]


def _found(call: Call) -> Record:
    arn = call.params["ResourceARN"]
    for kind in (FILE_SYSTEM, ASSOCIATION):
        for record in call.table(kind).values():
            if record["ResourceARN"] == arn:
                return record
    raise AwsError("ResourceNotFound", f"The resource indicated by the ARN {arn} does not exist.")


def _set(record: Record, tags: dict[str, str]) -> None:
    record["Tags"] = [{"Key": key, "Value": value} for key, value in tags.items()]


@answers("fsx", "TagResource")
def tag(call: Call) -> Answer:
    """Set tags of one resource."""
    record = _found(call)
    _set(record, tag_map(record["Tags"]) | tag_map(call.params["Tags"]))
    return {}


@answers("fsx", "UntagResource")
def untag(call: Call) -> Answer:
    """Take tags off one resource."""
    record = _found(call)
    gone = set(call.params["TagKeys"])
    tags = tag_map(record["Tags"])
    _set(record, {key: value for key, value in tags.items() if key not in gone})
    return {}


@answers("fsx", "ListTagsForResource")
def list_tags(call: Call) -> Answer:
    """List the tags of one resource."""
    return {"Tags": _found(call)["Tags"]}
