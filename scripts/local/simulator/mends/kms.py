"""KMS: rotation periods, policies that must be JSON, and keys that wait for their deletion."""

import json

from scripts.local.simulator.calls import Answer, AwsError, Call, answers
from scripts.local.simulator.records import Record

__all__ = ["change_key", "create_key", "rotation_status"]

ROTATION = "kms:rotation"
"""Rotation period in days, by key id."""

DEFAULT_PERIOD_DAYS = 365


def _check_policy(call: Call) -> None:
    try:
        json.loads(call.params.get("Policy", "{}"))
    except ValueError:
        raise AwsError(
            "MalformedPolicyDocumentException", "The new key policy is not valid JSON."
        ) from None


@answers("kms", "CreateKey")
def create_key(call: Call) -> Answer:
    """Refuse a policy that is no JSON; a key encrypts unless it is made for something else."""
    _check_policy(call)
    return call.forward(KeyUsage=call.params.get("KeyUsage", "ENCRYPT_DECRYPT"))


def _key(call: Call, parameter: str = "KeyId") -> Record:
    key: Record = call.ask("kms", "DescribeKey", KeyId=call.params[parameter])["KeyMetadata"]
    if key["KeyState"] == "PendingDeletion":
        raise AwsError("KMSInvalidStateException", f"{key['Arn']} is pending deletion.")
    return key


@answers(
    "kms",
    "EnableKey",
    "DisableKey",
    "PutKeyPolicy",
    "UpdateKeyDescription",
    "TagResource",
    "UntagResource",
    "DisableKeyRotation",
    "ScheduleKeyDeletion",
)
def change_key(call: Call) -> Answer:
    """Change a key, unless it is pending deletion."""
    _key(call)
    if call.operation == "PutKeyPolicy":
        _check_policy(call)
    answer = call.forward()
    if call.operation == "ScheduleKeyDeletion":
        days = call.params.get("PendingWindowInDays", 30)
        return {**answer, "KeyState": "PendingDeletion", "PendingWindowInDays": days}
    return answer


@answers("kms", "EnableKeyRotation")
def enable_rotation(call: Call) -> Answer:
    """Turn rotation on, with its period."""
    key = _key(call)
    period = call.params.get("RotationPeriodInDays", DEFAULT_PERIOD_DAYS)
    call.table(ROTATION)[key["KeyId"]] = {"RotationPeriodInDays": period}
    return call.forward()


@answers("kms", "GetKeyRotationStatus")
def rotation_status(call: Call) -> Answer:
    """Tell whether a key rotates, and how often."""
    key = _key(call)
    answer = call.forward()
    if not answer["KeyRotationEnabled"]:
        return {**answer, "KeyId": key["KeyId"]}
    default = {"RotationPeriodInDays": DEFAULT_PERIOD_DAYS}
    return {**answer, "KeyId": key["KeyId"], **call.table(ROTATION).get(key["KeyId"], default)}


@answers("kms", "CreateAlias", "UpdateAlias")
def point_alias(call: Call) -> Answer:
    """Point an alias at a key, unless that is pending deletion."""
    _key(call, "TargetKeyId")
    return call.forward()
