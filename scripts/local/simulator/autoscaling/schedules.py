"""Scheduled actions on the Auto Scaling groups of node groups; they happen when they are due.

The simulator looks when somebody asks for the groups, which the target's reconciler does all the
time. What became due while nobody looked happens then, in its order.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from scripts.local.simulator.autoscaling.cron import Cron
from scripts.local.simulator.autoscaling.sizes import SIZES, managed_group, missing, resize, sizes
from scripts.local.simulator.calls import Answer, AwsError, Call, answers
from scripts.local.simulator.records import Record

__all__ = ["ACTION", "apply_due", "put"]

ACTION = "autoscaling:scheduled-action"
LOOK_BACK = timedelta(days=31)
"""What was due before is taken to be overtaken by what came after."""

TIMES = ("StartTime", "EndTime")
TEXTS = ("Recurrence", "TimeZone")


def _key(group: str, name: str) -> str:
    return f"{group}|{name}"


@answers("autoscaling", "PutScheduledUpdateGroupAction")
def put(call: Call) -> Answer:
    """Schedule an action, or change one of the name."""
    asked = call.params
    group, name = asked["AutoScalingGroupName"], asked["ScheduledActionName"]
    if managed_group(call, group) is None:
        _in_moto(call, group)
        return call.forward()
    _check(asked)
    times = {
        key: _aware(asked[given])
        for key, given in (("StartTime", "Time"), *((time, time) for time in TIMES))
        if given in asked
    }
    call.table(ACTION)[_key(group, name)] = {
        "AutoScalingGroupName": group,
        "ScheduledActionName": name,
        "ScheduledActionARN": call.arn(
            "autoscaling",
            f"scheduledUpdateGroupAction:{group}:autoScalingGroupName/{group}:"
            f"scheduledActionName/{name}",
        ),
        **{key: asked[key] for key in (*TEXTS, *SIZES) if key in asked},
        **times,
        "_looked": datetime.now(UTC),
    }
    return {}


def _in_moto(call: Call, group: str) -> None:
    """Refuse a group that moto does not have either; it would take any."""
    found = call.ask_moto("autoscaling", "DescribeAutoScalingGroups", AutoScalingGroupNames=[group])
    if not found["AutoScalingGroups"]:
        raise missing(group)


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _check(asked: Record) -> None:
    if not SIZES.keys() & asked.keys():
        raise _invalid("At least one of min size, max size and desired capacity must be specified")
    least, most = asked.get("MinSize", 0), asked.get("MaxSize")
    desired = asked.get("DesiredCapacity", least)
    if most is not None and not least <= desired <= most:
        raise _invalid(
            f"Desired capacity {desired} must be between the min size {least} and the max size "
            f"{most}"
        )
    start = asked.get("StartTime", asked.get("Time"))
    if "Recurrence" in asked:
        try:
            Cron.parse(asked["Recurrence"])
        except ValueError:
            raise _invalid(f"Given recurrence string: {asked['Recurrence']} is invalid") from None
    elif start is None:
        raise _invalid("A start time or a recurrence must be specified")
    if start is not None and _aware(start) < datetime.now(UTC):
        raise _invalid("Given start time is in the past")
    if "EndTime" in asked and _aware(asked["EndTime"]) <= _aware(start or datetime.now(UTC)):
        raise _invalid("Given end time must be after the start time")
    try:
        _zone(asked)
    except (ZoneInfoNotFoundError, ValueError):
        raise _invalid(f"The time zone {asked['TimeZone']} is invalid") from None


def _invalid(message: str) -> AwsError:
    return AwsError("ValidationError", message)


def _zone(action: Record) -> tzinfo:
    name = action.get("TimeZone")
    return ZoneInfo(name) if name else UTC


@answers("autoscaling", "DescribeScheduledActions")
def describe(call: Call) -> Answer:
    """List scheduled actions, of a group or by name."""
    apply_due(call)
    group = call.params.get("AutoScalingGroupName")
    names: list[str] = call.params.get("ScheduledActionNames", [])
    own = [
        action
        for action in call.table(ACTION).values()
        if group in {None, action["AutoScalingGroupName"]}
        and (not names or action["ScheduledActionName"] in names)
    ]
    of_moto = call.forward().get("ScheduledUpdateGroupActions", [])
    return {"ScheduledUpdateGroupActions": [*own, *of_moto]}


@answers("autoscaling", "DeleteScheduledAction")
def delete(call: Call) -> Answer:
    """Delete a scheduled action."""
    key = _key(call.params["AutoScalingGroupName"], call.params["ScheduledActionName"])
    if call.table(ACTION).pop(key, None) is not None:
        return {}
    try:
        return call.forward()
    except AwsError as error:
        raise AwsError(error.code, "Scheduled action name not found") from None


def apply_due(call: Call) -> None:
    """Do what is due, in its order; forget the actions of groups that are gone, and done ones."""
    table, now = call.table(ACTION), datetime.now(UTC)
    for key in [key for key in table if managed_group(call, key.partition("|")[0]) is None]:
        del table[key]
    due = sorted(
        ((moment, key) for key, action in table.items() for moment in _moments(action, now)),
    )
    for _, key in due:
        group = managed_group(call, table[key]["AutoScalingGroupName"])
        if group is not None:
            resize(group, sizes(table[key]))
    for key, action in list(table.items()):
        action["_looked"] = now
        if _is_over(action, now):
            del table[key]


def _moments(action: Record, now: datetime) -> Iterator[datetime]:
    """Yield when an action was due since it was last looked at."""
    start, end = action.get("StartTime"), action.get("EndTime")
    last: datetime = max(action["_looked"], now - LOOK_BACK)
    if "Recurrence" not in action:
        if start is not None and last < start <= now:
            yield start
        return
    first = max(last, start - timedelta(minutes=1)) if start else last
    zone, until = _zone(action), min(now, end) if end else now
    for moment in Cron.parse(action["Recurrence"]).between(
        first.astimezone(zone), until.astimezone(zone)
    ):
        yield moment.astimezone(UTC)


def _is_over(action: Record, now: datetime) -> bool:
    last = action.get("EndTime" if "Recurrence" in action else "StartTime")
    return last is not None and last <= now
