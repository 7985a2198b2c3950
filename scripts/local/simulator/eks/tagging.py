"""Tags of everything in EKS, by ARN."""

from scripts.local.simulator.calls import Answer, AwsError, Call, answers
from scripts.local.simulator.eks.common import ADDON, ASSOCIATION, CLUSTER, ENTRY, NODEGROUP
from scripts.local.simulator.records import Record

__all__ = ["list_tags", "tag", "untag"]

ARN_OF = {
    CLUSTER: "arn",
    NODEGROUP: "nodegroupArn",
    ADDON: "addonArn",
    ENTRY: "accessEntryArn",
    ASSOCIATION: "associationArn",
}


def _found(call: Call) -> Record:
    arn = call.params["resourceArn"]
    for kind, key in ARN_OF.items():
        for record in call.table(kind).values():
            if record[key] == arn:
                return record
    raise AwsError("NotFoundException", f"The resource {arn} was not found.")


@answers("eks", "TagResource")
def tag(call: Call) -> Answer:
    """Set tags of one resource."""
    _found(call)["tags"].update(call.params["tags"])
    return {}


@answers("eks", "UntagResource")
def untag(call: Call) -> Answer:
    """Take tags off one resource."""
    tags = _found(call)["tags"]
    for key in call.params["tagKeys"]:
        tags.pop(key, None)
    return {}


@answers("eks", "ListTagsForResource")
def list_tags(call: Call) -> Answer:
    """List the tags of one resource."""
    return {"tags": _found(call)["tags"]}
