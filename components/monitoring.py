"""The monitoring layer: where metrics go, and whom an alarm reaches."""

from typing import Annotated

import pulumi
from pulumi_aws import amp, cloudwatch, sns
from pydantic import Field

from components.documents import allow, document
from components.keys import CustomerKey, through, to_service
from components.naming import Names
from components.settings import Section

__all__ = ["Monitoring", "MonitoringConfig"]

SENDERS = ("budgets", "cloudwatch")
"""AWS services that may raise an alert."""

PERIOD = 300
"""Seconds over which an alarm looks."""


class MonitoringConfig(Section):
    """Thresholds of the alarms."""

    storage_free_percent: Annotated[int, Field(ge=1, le=50)] = 15
    """Least free part of the file system before it becomes slow."""

    api_errors: Annotated[int, Field(ge=1)] = 50
    """Failed requests to the Kubernetes API in five minutes that call somebody."""


class Monitoring(pulumi.ComponentResource):
    """A metrics workspace and an alert topic, under a key that the senders may use."""

    topic_arn: pulumi.Output[str]

    def __init__(
        self,
        name: str,
        config: MonitoringConfig,
        *,
        names: Names,
        file_system_id: pulumi.Input[str],
        file_system_gib: int,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        super().__init__("trainyard:monitoring:Monitoring", name, None, opts)
        own = pulumi.ResourceOptions(parent=self)
        key = CustomerKey(
            f"{name}-key",
            names,
            statements=[
                through(["aps", "sns"], names, grants=True),
                *(to_service(sender, names) for sender in SENDERS),
            ],
            opts=own,
        )
        workspace = amp.Workspace(
            name,
            alias=names.prefix,
            kms_key_arn=key.arn,
            tags=names.called(names.prefix),
            opts=own,
        )
        topic = sns.Topic(
            f"{name}-alerts",
            name=names.physical("alerts"),
            kms_master_key_id=key.arn,
            tags=names.called(names.physical("alerts")),
            opts=own,
        )
        sns.TopicPolicy(f"{name}-alerts", arn=topic.arn, policy=_senders(names), opts=own)
        self.topic_arn = topic.arn
        self._alarm(
            f"{name}-storage",
            names,
            "The shared file system is nearly full: writes become slow, then fail",
            namespace="AWS/FSx",
            metric_name="FreeDataStorageCapacity",
            dimensions={"FileSystemId": file_system_id},
            statistic="Sum",
            comparison_operator="LessThanThreshold",
            threshold=file_system_gib * 2**30 * config.storage_free_percent / 100,
        )
        self._alarm(
            f"{name}-api",
            names,
            "The Kubernetes API fails: nothing can be scheduled or judged",
            namespace="AWS/EKS",
            metric_name="apiserver_request_total_5XX",
            dimensions={"ClusterName": names.cluster},
            statistic="Sum",
            comparison_operator="GreaterThanThreshold",
            threshold=config.api_errors,
        )
        self.workspace_endpoint = workspace.prometheus_endpoint
        self.register_outputs(
            {"topic_arn": self.topic_arn, "workspace_endpoint": self.workspace_endpoint}
        )

    def _alarm(  # noqa: PLR0913 - an alarm is that many facts
        self,
        label: str,
        names: Names,
        description: str,
        *,
        namespace: str,
        metric_name: str,
        dimensions: dict[str, pulumi.Input[str]],
        statistic: str,
        comparison_operator: str,
        threshold: float,
    ) -> None:
        """Raise an alarm on three bad periods of five minutes; silence is bad too."""
        cloudwatch.MetricAlarm(
            label,
            name=names.physical(label),
            alarm_description=description,
            namespace=namespace,
            metric_name=metric_name,
            dimensions=dimensions,
            statistic=statistic,
            period=PERIOD,
            evaluation_periods=3,
            datapoints_to_alarm=3,
            comparison_operator=comparison_operator,
            threshold=threshold,
            treat_missing_data="breaching",
            alarm_actions=[self.topic_arn],
            ok_actions=[self.topic_arn],
            tags=names.called(names.physical(label)),
            opts=pulumi.ResourceOptions(parent=self),
        )


def _senders(names: Names) -> str:
    """Let the senders publish for our account, and nobody without TLS."""
    topic = names.arn("sns", names.physical("alerts"))
    return document(
        allow(
            "Senders",
            ["sns:Publish"],
            [topic],
            principal={"Service": [f"{sender}.amazonaws.com" for sender in SENDERS]},
            condition={"StringEquals": {"aws:SourceAccount": names.account}},
        ),
        {
            "Sid": "OverTlsOnly",
            "Effect": "Deny",
            "Principal": "*",
            "Action": "sns:Publish",
            "Resource": topic,
            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        },
    )
