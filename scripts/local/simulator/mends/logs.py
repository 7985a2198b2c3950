"""CloudWatch Logs: retention of the days that AWS offers, and keys that can be changed."""

from typing import TYPE_CHECKING

from scripts.local.simulator.calls import Answer, AwsError, Call, answers

if TYPE_CHECKING:
    from scripts.local.simulator.records import Record

__all__ = ["associate_key", "create_group", "describe_groups", "retain"]

GROUP = "logs:group"
"""What moto does not keep of a log group."""

RETENTION_DAYS = (
    1,
    3,
    5,
    7,
    14,
    30,
    60,
    90,
    120,
    150,
    180,
    365,
    400,
    545,
    731,
    1096,
    1827,
    2192,
    2557,
    2922,
    3288,
    3653,
)


@answers("logs", "CreateLogGroup")
def create_group(call: Call) -> Answer:
    """Make a log group that remembers its class."""
    answer = call.forward()
    kept: Record = {"logGroupClass": call.params.get("logGroupClass", "STANDARD")}
    call.table(GROUP)[call.params["logGroupName"]] = kept
    return answer


@answers("logs", "DeleteLogGroup")
def delete_group(call: Call) -> Answer:
    """Delete a log group."""
    answer = call.forward()
    call.table(GROUP).pop(call.params["logGroupName"], None)
    return answer


@answers("logs", "DescribeLogGroups")
def describe_groups(call: Call) -> Answer:
    """Describe log groups with what moto does not keep of them."""
    answer = call.forward()
    kept = call.table(GROUP)
    groups = [{**group, **kept.get(group["logGroupName"], {})} for group in answer["logGroups"]]
    return {
        **answer,
        "logGroups": [
            {key: value for key, value in group.items() if value is not None} for group in groups
        ],
    }


@answers("logs", "PutRetentionPolicy")
def retain(call: Call) -> Answer:
    """Set how long events are kept."""
    days = call.params["retentionInDays"]
    if days not in RETENTION_DAYS:
        offered = ", ".join(map(str, RETENTION_DAYS))
        raise AwsError(
            "InvalidParameterException",
            f"1 validation error detected: Value '{days}' at 'retentionInDays' failed to satisfy "
            f"constraint: Member must satisfy enum value set: [{offered}]",
        )
    return call.forward()


@answers("logs", "AssociateKmsKey", "DisassociateKmsKey")
def associate_key(call: Call) -> Answer:
    """Encrypt a log group with another key, or with none of the account's."""
    name = call.params["logGroupName"]
    groups = call.ask("logs", "DescribeLogGroups", logGroupNamePrefix=name)["logGroups"]
    if name not in {group["logGroupName"] for group in groups}:
        raise AwsError("ResourceNotFoundException", "The specified log group does not exist.")
    call.table(GROUP).setdefault(name, {})["kmsKeyId"] = call.params.get("kmsKeyId")
    return {}
