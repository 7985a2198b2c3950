"""Flow logs: who talked to whom in the network, kept in a log group that was there before it."""

import pulumi
from pulumi_aws import cloudwatch, ec2, iam

from components.documents import allow, document, service_trust
from components.keys import CustomerKey, to_log_group
from components.naming import Names

__all__ = ["record"]


def record(
    name: str,
    names: Names,
    *,
    vpc_id: pulumi.Input[str],
    days: int,
    opts: pulumi.ResourceOptions,
) -> None:
    """Log all flows of a network for so many ``days``, encrypted with a key of its own."""
    group_name = f"/trainyard/{names.stack}/flow-logs"
    group_arn = names.log_group_arn(group_name)
    key = CustomerKey(f"{name}-key", names, statements=[to_log_group(group_name, names)], opts=opts)
    group = cloudwatch.LogGroup(
        f"{name}-flow-logs",
        name=group_name,
        retention_in_days=days,
        kms_key_id=key.arn,
        tags=names.called(group_name),
        opts=opts,
    )
    role = iam.Role(
        f"{name}-flow-logs",
        name=names.physical("flow-logs"),
        assume_role_policy=service_trust("vpc-flow-logs", names),
        tags=names.called(names.physical("flow-logs")),
        opts=opts,
    )
    writes = iam.RolePolicy(
        f"{name}-flow-logs",
        name="write-flow-logs",
        role=role.name,
        policy=document(
            allow(
                "WriteFlowLogs",
                ["logs:CreateLogStream", "logs:DescribeLogStreams", "logs:PutLogEvents"],
                [group_arn, f"{group_arn}:*"],
            )
        ),
        opts=opts,
    )
    ec2.FlowLog(
        name,
        vpc_id=vpc_id,
        traffic_type="ALL",
        log_destination_type="cloud-watch-logs",
        log_destination=group.arn,
        iam_role_arn=role.arn,
        tags=names.called("flow-logs"),
        opts=pulumi.ResourceOptions.merge(opts, pulumi.ResourceOptions(depends_on=[writes])),
    )
