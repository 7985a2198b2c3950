"""Rows: CloudWatch, Managed Prometheus, SNS, CloudTrail, budgets."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from scripts.local.plugins.aws.calls import spelled
from scripts.local.plugins.aws.row import Call, Change, Hooks, Row, Tagging, Wait, tagging

if TYPE_CHECKING:
    from scripts.local.plugins.aws.convert import Api
    from scripts.local.plugins.aws.session import Item
    from scripts.local.plugins.shared.wire import Value

_GROUP: Final = {"logGroupName": "$id"}


def _read_log_group(_: Item, found: dict[str, Api]) -> bool:
    """Take the ``:*`` off the ARN, as policies want it."""
    found["arn"] = str(found["arn"]).removesuffix(":*")
    return True


def _keep(item: Item) -> None:
    days = item.props.get("retentionInDays")
    if days:
        item.call("PutRetentionPolicy", logGroupName=item.id, retentionInDays=days)


def _change_log_group(item: Item, changed: frozenset[str]) -> None:
    if "retentionInDays" in changed:
        if item.props.get("retentionInDays"):
            _keep(item)
        else:
            item.call("DeleteRetentionPolicy", logGroupName=item.id)
    if "kmsKeyId" in changed:
        key = item.props.get("kmsKeyId")
        if key:
            item.call("AssociateKmsKey", logGroupName=item.id, kmsKeyId=key)
        else:
            item.call("DisassociateKmsKey", logGroupName=item.id)


def _delete_log_group(item: Item) -> None:
    if not item.prior.get("skipDestroy"):
        item.call("DeleteLogGroup", logGroupName=item.id)


LOG_GROUP: Final = Row(
    service="logs",
    id="{name}",
    create=Call("CreateLogGroup"),
    read=(
        Call(
            "DescribeLogGroups",
            {"logGroupNamePrefix": "$id"},
            "logGroups[?logGroupName=='$id'] | [0]",
        ),
    ),
    names={"name": "logGroupName"},
    replace=frozenset({"logGroupClass", "name", "namePrefix"}),
    local=frozenset({"logGroupClass", "skipDestroy"}),
    refused=frozenset({"deletionProtectionEnabled"}),
    defaults={"retentionInDays": 0, "skipDestroy": False},
    hooks=Hooks(
        created=_keep, read=_read_log_group, update=_change_log_group, delete=_delete_log_group
    ),
    tagging=tagging("resourceArn", "$arn", "tags", "tagKeys", "ListTagsForResource"),
)

_ALARM_PROPERTIES: Final = (
    "actionsEnabled",
    "alarmActions",
    "alarmDescription",
    "comparisonOperator",
    "datapointsToAlarm",
    "dimensions",
    "evaluateLowSampleCountPercentiles",
    "evaluationPeriods",
    "extendedStatistic",
    "insufficientDataActions",
    "metricName",
    "metricQueries",
    "namespace",
    "okActions",
    "period",
    "statistic",
    "threshold",
    "thresholdMetricId",
    "treatMissingData",
    "unit",
)

METRIC_ALARM: Final = Row(
    service="cloudwatch",
    id="{name}",
    create=Call("PutMetricAlarm"),
    read=(Call("DescribeAlarms", {"AlarmNames": ["$id"]}, "MetricAlarms[0]"),),
    updates=(Change(_ALARM_PROPERTIES, Call("PutMetricAlarm"), whole=True),),
    delete=Call("DeleteAlarms", {"AlarmNames": ["$id"]}),
    names={
        "arn": "AlarmArn",
        "evaluateLowSampleCountPercentiles": "EvaluateLowSampleCountPercentile",
        "metricQueries": "Metrics",
        "metricQueries.metric": "MetricStat",
        "metricQueries.metric.dimensions": "Metric.Dimensions",
        "metricQueries.metric.metricName": "Metric.MetricName",
        "metricQueries.metric.namespace": "Metric.Namespace",
        "name": "AlarmName",
    },
    replace=frozenset({"name"}),
    refused=frozenset(
        {"evaluationCriteria", "evaluationInterval", "evaluationWindow", "warmUpConfiguration"}
    ),
    defaults={"actionsEnabled": True, "treatMissingData": "missing"},
    tagging=tagging("ResourceARN", "$arn", "Tags", "TagKeys", "ListTagsForResource"),
)

_WORKSPACE: Final = {"workspaceId": "$id"}


def _log_workspace(item: Item) -> None:
    config = item.props.get("loggingConfiguration")
    if isinstance(config, dict):
        item.call(
            "CreateLoggingConfiguration", workspaceId=item.id, logGroupArn=config["logGroupArn"]
        )


def _change_workspace(item: Item, changed: frozenset[str]) -> None:
    if "loggingConfiguration" not in changed:
        return
    if item.prior.get("loggingConfiguration"):
        item.call("DeleteLoggingConfiguration", workspaceId=item.id)
    _log_workspace(item)


WORKSPACE: Final = Row(
    service="amp",
    id="workspaceId",
    create=Call("CreateWorkspace"),
    read=(
        Call("DescribeWorkspace", _WORKSPACE, "workspace"),
        Call(
            "DescribeLoggingConfiguration",
            _WORKSPACE,
            "{loggingConfiguration: loggingConfiguration.{logGroupArn: logGroupArn}}",
        ),
    ),
    updates=(Change(("alias",), Call("UpdateWorkspaceAlias", _WORKSPACE)),),
    delete=Call("DeleteWorkspace", _WORKSPACE),
    replace=frozenset({"kmsKeyArn"}),
    wait=Wait("status.statusCode", ready=("ACTIVE",), failed=("CREATION_FAILED",)),
    hooks=Hooks(created=_log_workspace, update=_change_workspace),
    tagging=tagging("resourceArn", "$arn", "tags", "tagKeys"),
)

_TOPIC_TEXT: Final = frozenset({"name", "namePrefix", "region", "tags", "tagsAll"})
_SHORT_NAMES: Final = {"http": "HTTP", "sqs": "SQS"}


def _attribute(name: str) -> str:
    """Spell a topic's attribute: ``sqsFailureFeedbackRoleArn`` is ``SQSFailure…``."""
    for prefix, short in _SHORT_NAMES.items():
        if name.startswith(prefix):
            return short + name.removeprefix(prefix)
    return name[0].upper() + name[1:]


def _attribute_text(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _topic_attributes(item: Item, params: dict[str, Api]) -> None:
    attributes = {
        _attribute(name): _attribute_text(value)
        for name, value in item.props.items()
        if name not in _TOPIC_TEXT and value not in (None, "", False, 0)
    }
    params.pop("DataProtectionPolicy", None)
    if attributes:
        params["Attributes"] = attributes


def _change_topic(item: Item, changed: frozenset[str]) -> None:
    for name in sorted(changed - _TOPIC_TEXT):
        value = item.props.get(name)
        item.call(
            "SetTopicAttributes",
            TopicArn=item.id,
            AttributeName=_attribute(name),
            AttributeValue="" if value is None else _attribute_text(value),
        )


def _read_topic(item: Item, found: dict[str, Api]) -> bool:
    found |= {"arn": item.id, "name": item.id.rpartition(":")[2]}
    return True


_FEEDBACK: Final = frozenset(
    f"{kind}{what}"
    for kind in ("application", "firehose", "http", "lambda", "sqs")
    for what in ("FailureFeedbackRoleArn", "SuccessFeedbackRoleArn", "SuccessFeedbackSampleRate")
)

TOPIC: Final = Row(
    service="sns",
    id="TopicArn",
    create=Call("CreateTopic"),
    read=(Call("GetTopicAttributes", {"TopicArn": "$id"}, "Attributes"),),
    delete=Call("DeleteTopic", {"TopicArn": "$id"}),
    replace=frozenset({"fifoTopic", "name", "namePrefix"}),
    refused=frozenset({"archivePolicy", "fifoThroughputScope", "maximumMessageSize"}),
    defaults={"contentBasedDeduplication": False, "fifoTopic": False},
    json=frozenset({"deliveryPolicy", "policy"}),
    hooks=Hooks(prepare=_topic_attributes, read=_read_topic, update=_change_topic),
    tagging=tagging("ResourceArn", "$id", "Tags", "TagKeys", "ListTagsForResource"),
)


def _set_topic_policy(item: Item) -> str:
    arn = str(item.props["arn"])
    item.call(
        "SetTopicAttributes",
        TopicArn=arn,
        AttributeName="Policy",
        AttributeValue=item.props["policy"],
    )
    return arn


def _change_topic_policy(item: Item, _: frozenset[str]) -> None:
    _set_topic_policy(item)


def _default_topic_policy(item: Item) -> None:
    """Put AWS's own policy back, which lets the owner do everything; a topic has always one."""
    statement = {
        "Sid": "__default_statement_ID",
        "Effect": "Allow",
        "Principal": {"AWS": "*"},
        "Action": [
            f"SNS:{verb}"
            for verb in (
                "GetTopicAttributes",
                "SetTopicAttributes",
                "AddPermission",
                "RemovePermission",
                "DeleteTopic",
                "Subscribe",
                "ListSubscriptionsByTopic",
                "Publish",
            )
        ],
        "Resource": item.id,
        "Condition": {"StringEquals": {"AWS:SourceOwner": item.session.account}},
    }
    policy = {"Version": "2008-10-17", "Id": "__default_policy_ID", "Statement": [statement]}
    item.call(
        "SetTopicAttributes",
        TopicArn=item.id,
        AttributeName="Policy",
        AttributeValue=json.dumps(policy),
    )


TOPIC_POLICY: Final = Row(
    service="sns",
    id="{arn}",
    read=(Call("GetTopicAttributes", {"TopicArn": "$id"}, "Attributes"),),
    names={"arn": "TopicArn"},
    replace=frozenset({"arn"}),
    json=frozenset({"policy"}),
    hooks=Hooks(
        create=_set_topic_policy, update=_change_topic_policy, delete=_default_topic_policy
    ),
)

_TRAIL: Final = {"Name": "$id"}
_SELECTORS: Final = {
    "eventSelectors": "EventSelectors",
    "advancedEventSelectors": "AdvancedEventSelectors",
}


def _start_trail(item: Item) -> None:
    if item.props.get("enableLogging", True):
        item.call("StartLogging", Name=item.id)
    _select_events(item, frozenset(_SELECTORS))
    _select_insights(item)


def _select_events(item: Item, changed: frozenset[str]) -> None:
    """Both kinds of selectors share one call."""
    for name, member in _SELECTORS.items():
        selectors = item.props.get(name)
        if name in changed and selectors:
            value = spelled(item, "PutEventSelectors", member, selectors)
            item.call("PutEventSelectors", TrailName=item.id, **{member: value})


def _select_insights(item: Item) -> None:
    selectors = item.props.get("insightSelectors")
    if selectors:
        value = spelled(item, "PutInsightSelectors", "InsightSelectors", selectors)
        item.call("PutInsightSelectors", TrailName=item.id, InsightSelectors=value)


def _change_trail(item: Item, changed: frozenset[str]) -> None:
    if "enableLogging" in changed:
        verb = "StartLogging" if item.props.get("enableLogging", True) else "StopLogging"
        item.call(verb, Name=item.id)
    _select_events(item, changed)
    if "insightSelectors" in changed:
        _select_insights(item)


def _read_trail(item: Item, found: dict[str, Api]) -> bool:
    answer = item.call("GetEventSelectors", TrailName=item.id)
    # AWS shows the one it made by itself; a program that sets none has none.
    for name, member in _SELECTORS.items():
        if item.prior.get(name) or item.props.get(name):
            found[member] = answer.get(member)
    if item.prior.get("insightSelectors") or item.props.get("insightSelectors"):
        found["InsightSelectors"] = item.call("GetInsightSelectors", TrailName=item.id).get(
            "InsightSelectors"
        )
    return True


_TRAIL_PROPERTIES: Final = (
    "cloudWatchLogsGroupArn",
    "cloudWatchLogsRoleArn",
    "enableLogFileValidation",
    "includeGlobalServiceEvents",
    "isMultiRegionTrail",
    "isOrganizationTrail",
    "kmsKeyId",
    "s3BucketName",
    "s3KeyPrefix",
    "snsTopicName",
)

TRAIL: Final = Row(
    service="cloudtrail",
    id="TrailARN",
    create=Call("CreateTrail"),
    read=(
        Call("GetTrail", _TRAIL, "Trail"),
        Call("GetTrailStatus", _TRAIL, "{enableLogging: IsLogging}"),
    ),
    updates=(Change(_TRAIL_PROPERTIES, Call("UpdateTrail", _TRAIL)),),
    delete=Call("DeleteTrail", {"Name": "$name"}),
    names={
        "arn": "TrailARN",
        "cloudWatchLogsGroupArn": "CloudWatchLogsLogGroupArn",
        "enableLogFileValidation": "EnableLogFileValidation|LogFileValidationEnabled",
        "snsTopicArn": "SnsTopicARN",
    },
    replace=frozenset({"name"}),
    defaults={
        "enableLogFileValidation": False,
        "enableLogging": True,
        "includeGlobalServiceEvents": True,
        "isMultiRegionTrail": False,
        "isOrganizationTrail": False,
    },
    conflicts=(("eventSelectors", "advancedEventSelectors"),),
    outputs={"homeRegion": "{region}"},
    hooks=Hooks(created=_start_trail, read=_read_trail, update=_change_trail),
    tagging=Tagging(
        Call("AddTags", {"ResourceId": "$arn"}),
        Call("RemoveTags", {"ResourceId": "$arn"}),
        field="TagsList",
        keys="TagsList",
        read=Call(
            "ListTags", {"ResourceIdList": ["$arn"]}, "{TagsList: ResourceTagList[0].TagsList}"
        ),
    ),
)

OBSERVATION: Final = {
    "aws:cloudwatch/logGroup:LogGroup": LOG_GROUP,
    "aws:cloudwatch/metricAlarm:MetricAlarm": METRIC_ALARM,
    "aws:amp/workspace:Workspace": WORKSPACE,
    "aws:sns/topic:Topic": TOPIC,
    "aws:sns/topicPolicy:TopicPolicy": TOPIC_POLICY,
    "aws:cloudtrail/trail:Trail": TRAIL,
}
