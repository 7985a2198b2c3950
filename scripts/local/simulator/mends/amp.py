"""Amazon Managed Prometheus: the key of a workspace, and logging that is not configured."""

from scripts.local.simulator.calls import Answer, AwsError, Call, answers

__all__ = ["create_workspace", "describe_logging", "describe_workspace"]

WORKSPACE = "amp:workspace"
"""What moto does not keep of a workspace."""


@answers("amp", "CreateWorkspace")
def create_workspace(call: Call) -> Answer:
    """Make a workspace that remembers its key."""
    answer = call.forward()
    if "kmsKeyArn" in call.params:
        key = {"kmsKeyArn": call.params["kmsKeyArn"]}
        call.table(WORKSPACE)[answer["workspaceId"]] = key
        return {**answer, **key}
    return answer


@answers("amp", "DescribeWorkspace")
def describe_workspace(call: Call) -> Answer:
    """Describe a workspace with its key."""
    workspace = call.forward()["workspace"]
    return {"workspace": {**workspace, **call.table(WORKSPACE).get(workspace["workspaceId"], {})}}


@answers("amp", "DescribeLoggingConfiguration")
def describe_logging(call: Call) -> Answer:
    """Describe where a workspace logs to, or that it does not."""
    answer = call.forward()
    if "logGroupArn" not in answer["loggingConfiguration"]:
        raise AwsError(
            "ResourceNotFoundException",
            f"Logging configuration not found for workspace: {call.params['workspaceId']}",
        )
    return answer
