"""SNS: attributes that moto drops, and those that a topic does not have."""

import json

from scripts.local.simulator.calls import Answer, AwsError, Call, answers

__all__ = ["delete_topic", "get_attributes", "set_attribute"]

TOPIC = "sns:topic"
"""Attributes that moto does not keep, by topic."""

KEPT_BY_MOTO = {"DisplayName", "Policy", "DeliveryPolicy", "KmsMasterKeyId"}
KEPT_HERE = {
    "SignatureVersion",
    "TracingConfig",
    "ArchivePolicy",
    "ContentBasedDeduplication",
    "FifoThroughputScope",
    *(
        f"{protocol}{suffix}"
        for protocol in ("Application", "Firehose", "HTTP", "Lambda", "SQS")
        for suffix in (
            "SuccessFeedbackRoleArn",
            "SuccessFeedbackSampleRate",
            "FailureFeedbackRoleArn",
        )
    ),
}
DOCUMENTS = {"Policy", "DeliveryPolicy"}


@answers("sns", "CreateTopic")
def create_topic(call: Call) -> Answer:
    """Make a topic with the attributes that it is created with."""
    answer = call.forward()
    for name, value in call.params.get("Attributes", {}).items():
        if name in KEPT_HERE:
            call.table(TOPIC).setdefault(answer["TopicArn"], {})[name] = value
    return answer


@answers("sns", "SetTopicAttributes")
def set_attribute(call: Call) -> Answer:
    """Set an attribute that topics have."""
    arn, name = call.params["TopicArn"], call.params["AttributeName"]
    value = call.params.get("AttributeValue", "")
    call.ask("sns", "GetTopicAttributes", TopicArn=arn)
    if name in DOCUMENTS and value:
        try:
            json.loads(value)
        except ValueError:
            raise AwsError("InvalidParameter", f"Invalid parameter: {name}") from None
    if name in KEPT_HERE:
        call.table(TOPIC).setdefault(arn, {})[name] = value
        return {}
    if name not in KEPT_BY_MOTO:
        raise AwsError("InvalidParameter", "Invalid parameter: AttributeName")
    return call.forward()


@answers("sns", "GetTopicAttributes")
def get_attributes(call: Call) -> Answer:
    """Read a topic's attributes; AWS leaves out those that are empty."""
    answer = call.forward()
    merged = {**answer["Attributes"], **call.table(TOPIC).get(call.params["TopicArn"], {})}
    return {"Attributes": {name: value for name, value in merged.items() if value != ""}}


@answers("sns", "DeleteTopic")
def delete_topic(call: Call) -> Answer:
    """Delete a topic."""
    call.table(TOPIC).pop(call.params["TopicArn"], None)
    return call.forward()
