"""What the EKS node monitoring agent says of a node, before anything is run on it. Pure.

Auto repair acts on the same conditions, so the gate only reads them: it keeps such a node out and
leaves it to EKS. A node without these conditions has no agent, which is no fault of its own.
"""

from collections.abc import Iterator
from typing import Final

from components.catalog.nodes import Repair, repairs
from scripts.gate.ports import Condition, NodeState
from scripts.node.finding import NodeFinding
from scripts.node.judge import NodeJudgement
from scripts.node.profiles import Severity
from scripts.verdicts import overall

__all__ = ["CHECK", "ailing"]

CHECK: Final = "agent"
"""The check of these findings. Whoever replaces nodes leaves alone those that have it."""

SEVERITIES: Final = {"Replace": Severity.ISOLATE, "Reboot": Severity.REBOOT}

LEFT_ALONE: Final = "NoAction"

VERBS: Final = {"Replace": "replace", "Reboot": "reboot"}

SHOWN: Final = 160


def ailing(node: NodeState) -> NodeJudgement | None:
    """Return the judgement on a node that the agent calls bad; None where it does not.

    A reason by which the agent has called good nodes bad is unknown: it keeps the node out and
    blames nothing. So is a condition that is neither true nor false.
    """
    findings = tuple(_findings(node))
    if not findings:
        return None
    known = [found.severity for found in findings if found.severity is not None]
    return NodeJudgement(
        verdict=overall(found.verdict for found in findings),
        severity=max(known, default=Severity.PASS),
        findings=tuple(sorted(findings, key=lambda found: found.severity is None)),
    )


def _findings(node: NodeState) -> Iterator[NodeFinding]:
    for name, repair in repairs().conditions.items():
        condition = node.conditions.get(name)
        if condition is None or condition.status == "True":
            continue
        if condition.status != "False":
            message = f"{name} is {condition.status}{_why(condition)}: the agent does not know"
            yield NodeFinding(CHECK, None, message)
        elif _action(name, condition) == LEFT_ALONE:
            message = (
                f"{name} is False{_why(condition)}; good nodes have been called bad for this, so "
                "nothing repairs it: look at the agent and at DCGM on this node"
            )
            yield NodeFinding(CHECK, None, message)
        else:
            yield _bad(name, condition, repair)


def _bad(name: str, condition: Condition, repair: Repair) -> NodeFinding:
    known = _action(name, condition)
    actions = (known,) if known else repair.actions
    verbs = " or ".join(VERBS[action] for action in actions)
    message = (
        f"{name} is False{_why(condition)}; where auto repair is on it will {verbs} the node, by "
        f"default after {repair.minutes} minutes, and the gate leaves it alone"
    )
    return NodeFinding(CHECK, max(SEVERITIES[action] for action in actions), message)


def _action(name: str, condition: Condition) -> str | None:
    """Return what our pools let EKS do about this very reason; None where it is not listed."""
    known = repairs()
    if name != known.condition:
        return None
    return next(
        (each[condition.reason] for each in known.reasons.values() if condition.reason in each),
        None,
    )


def _why(condition: Condition) -> str:
    words = [part for part in (condition.reason, condition.message[:SHOWN].strip()) if part]
    return f" ({': '.join(words)})" if words else ""
