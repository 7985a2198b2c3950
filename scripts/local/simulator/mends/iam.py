"""IAM: trust policies must be JSON, and missing roles have AWS's text."""

import json

from scripts.local.simulator.calls import Answer, AwsError, Call, answers

__all__ = ["create_role", "get_role"]


def _check_document(document: str) -> None:
    try:
        parsed = json.loads(document)
    except ValueError:
        raise AwsError("MalformedPolicyDocument", "This policy contains invalid Json") from None
    if not isinstance(parsed, dict) or "Statement" not in parsed:
        raise AwsError("MalformedPolicyDocument", "Missing required field Statement")


@answers("iam", "CreateRole")
def create_role(call: Call) -> Answer:
    """Make a role whose trust policy is a policy."""
    _check_document(call.params["AssumeRolePolicyDocument"])
    return call.forward()


@answers("iam", "UpdateAssumeRolePolicy")
def update_trust(call: Call) -> Answer:
    """Change a trust policy into another policy."""
    _check_document(call.params["PolicyDocument"])
    return call.forward()


@answers("iam", "GetRole")
def get_role(call: Call) -> Answer:
    """Describe a role; a missing one in AWS's words."""
    try:
        return call.forward()
    except AwsError as error:
        if error.code != "NoSuchEntity":
            raise
        name = call.params["RoleName"]
        raise AwsError(error.code, f"The role with name {name} cannot be found.") from None
