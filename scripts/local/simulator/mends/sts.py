"""STS: who calls, told from the access key id."""

from scripts.local.simulator.calls import Answer, Call, answers
from scripts.local.simulator.token_review import DEPLOY_ROLE

__all__ = ["get_caller_identity"]


@answers("sts", "GetCallerIdentity")
def get_caller_identity(call: Call) -> Answer:
    """Every caller is a session named ``embedded`` of the deploy role."""
    return {
        "Account": call.account,
        "UserId": f"AROAEMBEDDEDTRAINYARD:{'embedded'}",
        "Arn": f"arn:aws:sts::{call.account}:assumed-role/{DEPLOY_ROLE}/embedded",
    }
