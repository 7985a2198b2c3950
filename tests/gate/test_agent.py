"""What the node monitoring agent says of a node is read, and auto repair is not fought."""

import pytest

from components.catalog.nodes import repairs
from scripts.gate.agent import ailing
from scripts.gate.ports import Condition, NodeState
from scripts.node.profiles import Severity
from scripts.verdicts import Verdict

REPLACED = "where auto repair is on it will replace the node, by default after"
ALONE = "and the gate leaves it alone"


def node(**conditions: Condition) -> NodeState:
    return NodeState(
        name="node-1",
        instance_type="p5.48xlarge",
        provider_id="aws:///use1-az1/i-0123456789abcdef0",
        wave="w1",
        ready=True,
        passed=False,
        devices={},
        conditions=conditions,
    )


@pytest.mark.parametrize(
    "conditions",
    [
        {},
        {"Ready": Condition("True")},
        {name: Condition("True", "NoIssues") for name in repairs().conditions},
        {"DiskPressure": Condition("True", "KubeletHasDiskPressure")},
    ],
)
def test_a_node_without_an_agent_or_with_a_content_one_is_tested(
    conditions: dict[str, Condition],
) -> None:
    assert ailing(node(**conditions)) is None


@pytest.mark.parametrize(
    ("name", "condition", "verdict", "severity", "message"),
    [
        (
            "AcceleratedHardwareReady",
            Condition("False", "NvidiaXID79Error", "GPU has fallen off the bus"),
            Verdict.FAIL,
            Severity.ISOLATE,
            (
                "AcceleratedHardwareReady is False (NvidiaXID79Error: GPU has fallen off the bus); "
                f"{REPLACED} 10 minutes, {ALONE}"
            ),
        ),
        (
            "AcceleratedHardwareReady",
            Condition("False", "NvidiaXID140Error"),
            Verdict.FAIL,
            Severity.ISOLATE,
            (
                "AcceleratedHardwareReady is False (NvidiaXID140Error); where auto repair is on it "
                f"will replace or reboot the node, by default after 10 minutes, {ALONE}"
            ),
        ),
        (
            "NetworkingReady",
            Condition("False", "IPAMDNotReady", "no addresses"),
            Verdict.FAIL,
            Severity.ISOLATE,
            (
                f"NetworkingReady is False (IPAMDNotReady: no addresses); {REPLACED} 30 minutes, "
                f"{ALONE}"
            ),
        ),
        (
            "KernelReady",
            Condition("False"),
            Verdict.FAIL,
            Severity.ISOLATE,
            f"KernelReady is False; {REPLACED} 30 minutes, {ALONE}",
        ),
        (
            "AcceleratedHardwareReady",
            Condition("False", "DCGMError", "cannot reach DCGM"),
            Verdict.UNKNOWN,
            Severity.PASS,
            (
                "AcceleratedHardwareReady is False (DCGMError: cannot reach DCGM); good nodes have "
                "been called bad for this, so nothing repairs it: look at the agent and at DCGM on "
                "this node"
            ),
        ),
        (
            "StorageReady",
            Condition("Unknown", "AgentStopped"),
            Verdict.UNKNOWN,
            Severity.PASS,
            "StorageReady is Unknown (AgentStopped): the agent does not know",
        ),
    ],
)
def test_a_bad_condition_keeps_the_node_out_and_says_what_will_happen(
    name: str, condition: Condition, verdict: Verdict, severity: Severity, message: str
) -> None:
    found = ailing(node(**{name: condition}))
    assert found is not None
    assert (found.verdict, found.severity) == (verdict, severity)
    assert [(each.check, each.message) for each in found.findings] == [("agent", message)]


def test_a_known_fault_is_told_before_what_nobody_knows() -> None:
    found = ailing(
        node(
            AcceleratedHardwareReady=Condition("False", "DCGMError"),
            KernelReady=Condition("False", "KernelBug"),
        )
    )
    assert found is not None
    assert (found.verdict, len(found.findings)) == (Verdict.FAIL, 2)
    assert found.summary == (
        f"agent: KernelReady is False (KernelBug); {REPLACED} 30 minutes, {ALONE} [ISOLATE]"
    )


def test_every_condition_says_when_and_how_it_is_repaired() -> None:
    assert repairs().condition in repairs().conditions
    for repair in repairs().conditions.values():
        assert repair.minutes > 0
        assert set(repair.actions) <= {"Replace", "Reboot"}
