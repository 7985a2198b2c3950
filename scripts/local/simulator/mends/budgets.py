"""AWS Budgets, whole: moto neither updates budgets nor keeps their subscribers and tags."""

from datetime import UTC, datetime

from scripts.local.simulator.calls import Answer, AwsError, Call, answers, tag_map
from scripts.local.simulator.records import Record

__all__ = ["create_budget", "delete_budget", "describe_budget", "update_budget"]

BUDGET = "budgets:budget"
"""Budgets by name; notifications with their subscribers and tags beside the budget itself."""

GLOBAL = "aws"
MOST_SUBSCRIBERS = 11


def _table(call: Call) -> dict[str, Record]:
    account = call.params.get("AccountId", call.account)
    if account != call.account:
        raise AwsError(
            "AccessDeniedException", f"Account {call.account} may not use budgets of {account}"
        )
    return call.records.table(account, GLOBAL, BUDGET)


def _found(call: Call, verb: str = "get") -> Record:
    name = call.params["BudgetName"]
    kept = _table(call).get(name)
    if kept is None:
        raise AwsError(
            "NotFoundException", f"Unable to {verb} budget: {name} - the budget doesn't exist."
        )
    return kept


def _described(asked: Record) -> Record:
    nothing = {"Amount": "0", "Unit": asked.get("BudgetLimit", {}).get("Unit", "USD")}
    return {
        **asked,
        "CalculatedSpend": {"ActualSpend": nothing},
        "LastUpdatedTime": datetime.now(UTC),
        "HealthStatus": {"Status": "HEALTHY"},
    }


@answers("budgets", "CreateBudget")
def create_budget(call: Call) -> Answer:
    """Make a budget; nothing is ever spent against it."""
    budget = call.params["Budget"]
    name = budget["BudgetName"]
    if name in _table(call):
        raise AwsError(
            "DuplicateRecordException",
            f"Error creating budget: {name} - the budget already exists.",
        )
    kept: Record = {"budget": _described(budget), "notifications": [], "tags": {}}
    for one in call.params.get("NotificationsWithSubscribers", []):
        _notify(kept, one["Notification"], one["Subscribers"])
    kept["tags"] = tag_map(call.params.get("ResourceTags"))
    _table(call)[name] = kept
    return {}


@answers("budgets", "DescribeBudget")
def describe_budget(call: Call) -> Answer:
    """Describe one budget."""
    return {"Budget": _found(call)["budget"]}


@answers("budgets", "DescribeBudgets")
def describe_budgets(call: Call) -> Answer:
    """Describe the account's budgets."""
    return {"Budgets": [kept["budget"] for kept in _table(call).values()]}


@answers("budgets", "UpdateBudget")
def update_budget(call: Call) -> Answer:
    """Replace a budget's definition; notifications stay."""
    budget = call.params["NewBudget"]
    kept = _table(call).get(budget["BudgetName"])
    if kept is None:
        raise AwsError(
            "NotFoundException",
            f"Unable to update budget: {budget['BudgetName']} - the budget doesn't exist.",
        )
    kept["budget"] = _described(budget)
    return {}


@answers("budgets", "DeleteBudget")
def delete_budget(call: Call) -> Answer:
    """Delete a budget."""
    _found(call, "delete")
    del _table(call)[call.params["BudgetName"]]
    return {}


def _same(one: Record, other: Record) -> bool:
    """Tell whether two notifications are the same one, which is known by what it asks for."""
    keys = ("NotificationType", "ComparisonOperator", "Threshold")
    kind = "ThresholdType"
    return [one[key] for key in keys] == [other[key] for key in keys] and (
        one.get(kind, "PERCENTAGE") == other.get(kind, "PERCENTAGE")
    )


def _notify(kept: Record, notification: Record, subscribers: list[Record]) -> None:
    if any(_same(one["Notification"], notification) for one in kept["notifications"]):
        raise AwsError("DuplicateRecordException", "The notification already exists.")
    if not 1 <= len(subscribers) <= MOST_SUBSCRIBERS:
        raise AwsError(
            "InvalidParameterException",
            f"A notification has 1 to {MOST_SUBSCRIBERS} subscribers, not {len(subscribers)}.",
        )
    kept["notifications"].append({"Notification": notification, "Subscribers": subscribers})


def _found_notification(call: Call, parameter: str = "Notification") -> Record:
    for one in _found(call)["notifications"]:
        if _same(one["Notification"], call.params[parameter]):
            return one
    raise AwsError("NotFoundException", "Unable to find the notification of this budget.")


@answers("budgets", "CreateNotification")
def create_notification(call: Call) -> Answer:
    """Add a notification with its subscribers."""
    _notify(_found(call), call.params["Notification"], call.params["Subscribers"])
    return {}


@answers("budgets", "DescribeNotificationsForBudget")
def describe_notifications(call: Call) -> Answer:
    """List a budget's notifications."""
    return {"Notifications": [one["Notification"] for one in _found(call)["notifications"]]}


@answers("budgets", "UpdateNotification")
def update_notification(call: Call) -> Answer:
    """Replace a notification; its subscribers stay."""
    _found_notification(call, "OldNotification")["Notification"] = call.params["NewNotification"]
    return {}


@answers("budgets", "DeleteNotification")
def delete_notification(call: Call) -> Answer:
    """Delete a notification with its subscribers."""
    _found(call)["notifications"].remove(_found_notification(call))
    return {}


@answers("budgets", "DescribeSubscribersForNotification")
def describe_subscribers(call: Call) -> Answer:
    """List whom a notification tells."""
    return {"Subscribers": _found_notification(call)["Subscribers"]}


@answers("budgets", "CreateSubscriber")
def create_subscriber(call: Call) -> Answer:
    """Tell one more subscriber."""
    _found_notification(call)["Subscribers"].append(call.params["Subscriber"])
    return {}


@answers("budgets", "DeleteSubscriber")
def delete_subscriber(call: Call) -> Answer:
    """Tell a subscriber no more."""
    subscribers = _found_notification(call)["Subscribers"]
    if call.params["Subscriber"] not in subscribers:
        raise AwsError("NotFoundException", "Unable to find the subscriber of the notification.")
    subscribers.remove(call.params["Subscriber"])
    return {}


def _tags(call: Call) -> dict[str, str]:
    arn = call.params["ResourceARN"]
    kept = _table(call).get(arn.rsplit("/", 1)[-1])
    if kept is None or arn.split(":")[4] != call.account:
        raise AwsError("NotFoundException", f"Unable to find the resource {arn}.")
    tags: dict[str, str] = kept["tags"]
    return tags


@answers("budgets", "ListTagsForResource")
def list_tags(call: Call) -> Answer:
    """List a budget's tags."""
    tags = _tags(call)
    return {"ResourceTags": [{"Key": key, "Value": value} for key, value in tags.items()]}


@answers("budgets", "TagResource")
def tag(call: Call) -> Answer:
    """Set tags of a budget."""
    _tags(call).update(tag_map(call.params["ResourceTags"]))
    return {}


@answers("budgets", "UntagResource")
def untag(call: Call) -> Answer:
    """Take tags off a budget."""
    tags = _tags(call)
    for key in call.params["ResourceTagKeys"]:
        tags.pop(key, None)
    return {}
