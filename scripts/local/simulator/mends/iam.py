"""IAM: trust policies must be JSON, AWS's own policies are there, missing roles have AWS's text."""

import json

from scripts.local.simulator.aws_policies import offer
from scripts.local.simulator.calls import Answer, AwsError, Call, answers

__all__ = ["create_role", "get_role", "name_policy"]


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
    offer(call.account, call.params.get("PermissionsBoundary", ""))
    return call.forward()


@answers("iam", "UpdateAssumeRolePolicy")
def update_trust(call: Call) -> Answer:
    """Change a trust policy into another policy."""
    _check_document(call.params["PolicyDocument"])
    return call.forward()


@answers("iam", "AttachRolePolicy", "GetPolicy")
def name_policy(call: Call) -> Answer:
    """Use a policy, which may be one of AWS's own."""
    offer(call.account, call.params["PolicyArn"])
    return call.forward()


@answers("iam", "PutRolePermissionsBoundary")
def bound_role(call: Call) -> Answer:
    """Bound a role by a policy, which may be one of AWS's own."""
    offer(call.account, call.params["PermissionsBoundary"])
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
