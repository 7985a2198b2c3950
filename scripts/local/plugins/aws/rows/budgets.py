"""Row: budgets, whose limits, filters and dates look other than in the API."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Final

from scripts.local.plugins.aws.calls import spelled
from scripts.local.plugins.aws.convert import reach
from scripts.local.plugins.aws.row import Call, Hooks, Row

if TYPE_CHECKING:
    from scripts.local.plugins.aws.convert import Api
    from scripts.local.plugins.aws.session import Item
    from scripts.local.plugins.shared.wire import Value

_TIME: Final = "%Y-%m-%d_%H:%M"
_RULE: Final = ("notificationType", "comparisonOperator", "threshold", "thresholdType")
_SUBSCRIBERS: Final = {"subscriberEmailAddresses": "EMAIL", "subscriberSnsTopicArns": "SNS"}


def _objects(value: Value) -> list[dict[str, Value]]:
    return [it for it in value if isinstance(it, dict)] if isinstance(value, list) else []


def _texts(value: Value) -> list[str]:
    return [str(it) for it in value] if isinstance(value, list) else []


def _account(item: Item) -> str:
    return str(item.props.get("accountId") or item.session.account)


def _budget(item: Item) -> dict[str, Api]:
    props = item.props
    made: dict[str, Api] = {
        "BudgetName": props["name"],
        "BudgetType": props["budgetType"],
        "TimeUnit": props["timeUnit"],
    }
    if props.get("limitAmount"):
        made["BudgetLimit"] = {
            "Amount": props["limitAmount"],
            "Unit": props.get("limitUnit", "USD"),
        }
    filters = {str(it["name"]): it["values"] for it in _objects(props.get("costFilters"))}
    if filters:
        made["CostFilters"] = filters
    if props.get("costTypes"):
        made["CostTypes"] = spelled(
            item, "CreateBudget", "Budget", {"CostTypes": props["costTypes"]}
        )["CostTypes"]
    period = {
        name: dt.datetime.strptime(str(text), _TIME).replace(tzinfo=dt.UTC)
        for name, text in (
            ("Start", props.get("timePeriodStart")),
            ("End", props.get("timePeriodEnd")),
        )
        if text
    }
    if period:
        made["TimePeriod"] = period
    return made


def _notifications(item: Item) -> list[Api]:
    made: list[Api] = []
    for it in _objects(item.props.get("notifications")):
        rule = {name[0].upper() + name[1:]: it[name] for name in _RULE if it.get(name) is not None}
        rule["Threshold"] = float(str(it["threshold"]))
        subscribers = [
            {"SubscriptionType": kind, "Address": address}
            for name, kind in _SUBSCRIBERS.items()
            for address in _texts(it.get(name))
        ]
        made.append({"Notification": rule, "Subscribers": subscribers})
    return made


def _create_budget(item: Item) -> str:
    account = _account(item)
    notifications = _notifications(item)
    more = {"NotificationsWithSubscribers": notifications} if notifications else {}
    item.call("CreateBudget", AccountId=account, Budget=_budget(item), **more)
    return f"{account}:{item.props['name']}"


def _update_budget(item: Item, changed: frozenset[str]) -> None:
    """Write the budget anew: the simulator has no UpdateBudget."""
    if changed - {"tags", "tagsAll"}:
        _delete_budget(item)
        _create_budget(item)


def _delete_budget(item: Item) -> None:
    account, _, name = item.id.partition(":")
    item.call("DeleteBudget", AccountId=account, BudgetName=name)


def _read_budget(item: Item, found: dict[str, Api]) -> bool:
    account, _, name = item.id.partition(":")
    filters: dict[str, Api] = found.pop("CostFilters", None) or {}
    found |= {
        "accountId": account,
        "limitAmount": reach(found, "BudgetLimit.Amount"),
        "limitUnit": reach(found, "BudgetLimit.Unit"),
        "timePeriodStart": _text(reach(found, "TimePeriod.Start")),
        "timePeriodEnd": _text(reach(found, "TimePeriod.End")),
        "costFilters": [{"name": key, "values": values} for key, values in filters.items()],
    }
    answer = item.call("DescribeNotificationsForBudget", AccountId=account, BudgetName=name)
    found["notifications"] = [
        _with_subscribers(item, rule) for rule in answer.get("Notifications") or ()
    ]
    return True


def _text(moment: Api) -> str | None:
    if moment is None:
        return None
    return moment.astimezone(dt.UTC).strftime(_TIME)


def _with_subscribers(item: Item, rule: dict[str, Api]) -> dict[str, Api]:
    """Add who is told, which the simulator does not show."""
    shown = {name: rule.get(name[0].upper() + name[1:]) for name in _RULE}
    known = item.prior.get("notifications") or item.props.get("notifications")
    for it in _objects(known):
        if all(str(it.get(name)) == str(shown[name]) or name == "threshold" for name in _RULE) and (
            float(str(it.get("threshold"))) == shown["threshold"]
        ):
            shown |= {name: it[name] for name in _SUBSCRIBERS if it.get(name)}
    return shown


_MEMBERS: Final = {"AccountId": "$accountId", "BudgetName": "$name"}

BUDGET: Final = Row(
    service="budgets",
    id="{accountId}:{name}",
    read=(Call("DescribeBudget", _MEMBERS, "Budget"),),
    names={"name": "BudgetName"},
    replace=frozenset({"accountId", "name", "namePrefix"}),
    refused=frozenset(
        {"autoAdjustData", "billingViewArn", "filterExpression", "metrics", "plannedLimits"}
    ),
    defaults={"timePeriodEnd": "2087-06-15_00:00"},
    hooks=Hooks(
        create=_create_budget, read=_read_budget, update=_update_budget, delete=_delete_budget
    ),
    outputs={"arn": "arn:{partition}:budgets::{account}:budget/{name}"},
)

BUDGETS: Final = {"aws:budgets/budget:Budget": BUDGET}
