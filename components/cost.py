"""The cost layer: a budget that calls before the money is gone."""

from typing import Annotated

import pulumi
from pulumi_aws import budgets
from pydantic import Field

from components.naming import Names
from components.settings import Email, Section

__all__ = ["Cost", "CostConfig"]

CALLS = ((50, "ACTUAL"), (80, "ACTUAL"), (100, "FORECASTED"))
"""Percent of the budget, spent or foreseen, at which somebody is called."""


class CostConfig(Section):
    """What the stack may cost."""

    monthly_usd: Annotated[int, Field(ge=1)]
    """US dollars for each month."""

    emails: Annotated[tuple[Email, ...], Field(max_length=10)] = ()
    """Addresses that are called besides the alert topic; AWS takes ten."""


class Cost(pulumi.ComponentResource):
    """A monthly budget over everything that carries the stack's tag."""

    def __init__(
        self,
        name: str,
        config: CostConfig,
        *,
        names: Names,
        topic_arn: pulumi.Input[str],
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("trainyard:cost:Cost", name, None, opts)
        budgets.Budget(
            name,
            name=names.prefix,
            budget_type="COST",
            time_unit="MONTHLY",
            limit_amount=f"{config.monthly_usd}.0",
            limit_unit="USD",
            cost_filters=[{"name": "TagKeyValue", "values": [f"user:stack${names.stack}"]}],
            notifications=[
                {
                    "comparison_operator": "GREATER_THAN",
                    "notification_type": kind,
                    "threshold": percent,
                    "threshold_type": "PERCENTAGE",
                    "subscriber_sns_topic_arns": [topic_arn],
                    "subscriber_email_addresses": list(config.emails),
                }
                for percent, kind in CALLS
            ],
            tags=names.called(names.prefix),
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.register_outputs({})
