"""Secrets Manager: a name that waits for its deletion is refused in AWS's words."""

from scripts.local.simulator.calls import Answer, AwsError, Call, answers

__all__ = ["create_secret"]


@answers("secretsmanager", "CreateSecret")
def create_secret(call: Call) -> Answer:
    """Make a secret under a free name."""
    try:
        return call.forward()
    except AwsError as error:
        if error.code != "ResourceExistsException":
            raise
        secret = call.ask("secretsmanager", "DescribeSecret", SecretId=call.params["Name"])
        if "DeletedDate" in secret:
            raise AwsError(
                "InvalidRequestException",
                "You can't create this secret because a secret with this name is already "
                "scheduled for deletion.",
            ) from None
        raise
