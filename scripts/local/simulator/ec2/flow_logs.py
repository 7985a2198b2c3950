"""EC2 flow logs: moto looks for their destination in another form than AWS takes it."""

from typing import TYPE_CHECKING

from scripts.local.simulator.calls import Answer, Call, answers
from scripts.local.simulator.ec2.common import overlaid

if TYPE_CHECKING:
    from scripts.local.simulator.records import Record

__all__ = ["create_flow_logs", "describe_flow_logs"]

FLOW_LOG = "ec2:flow-log"
"""What moto does not keep of a flow log."""


@answers("ec2", "CreateFlowLogs")
def create_flow_logs(call: Call) -> Answer:
    """Make flow logs; a bucket may be given with a folder, which moto takes for its name."""
    destination = call.params.get("LogDestination")
    changes: Record = {}
    if call.params.get("LogDestinationType") == "s3" and destination:
        changes["LogDestination"] = destination.split("/")[0]
    answer = call.forward(**changes)
    kept: Record = {"DeliverLogsStatus": "SUCCESS"}
    if destination:
        kept["LogDestination"] = destination
    if "DestinationOptions" in call.params:
        kept["DestinationOptions"] = {
            "FileFormat": "plain-text",
            "HiveCompatiblePartitions": False,
            "PerHourPartition": False,
            **call.params["DestinationOptions"],
        }
    for identity in answer["FlowLogIds"]:
        call.table(FLOW_LOG)[identity] = kept
    return answer


@answers("ec2", "DescribeFlowLogs")
def describe_flow_logs(call: Call) -> Answer:
    """Describe flow logs; delivery always succeeds, since nothing is delivered."""
    found = overlaid(call, FLOW_LOG, call.forward().get("FlowLogs", []), "FlowLogId")
    return {
        "FlowLogs": [
            {key: value for key, value in log.items() if key != "DeliverLogsErrorMessage"}
            for log in found
        ]
    }
