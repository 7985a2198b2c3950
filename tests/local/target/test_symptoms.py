from dataclasses import dataclass, field
from typing import Any

import pytest

from components.catalog import instance_type
from scripts.gate.cluster import node_state
from scripts.gate.devices import lacking
from scripts.gate.ports import Condition
from scripts.local.target import symptoms
from scripts.local.target.faults import NODE_FAULTS
from scripts.local.target.node_objects import RUNNING
from scripts.local.target.registry import Registry
from tests.local.target.support import GROUP, instance

BAD = Condition(
    "False", "NvidiaDoubleBitError", "detected 2 Nvidia Double Bit error(s) on location DEVICE"
)
GOOD = Condition(
    "True",
    "NvidiaAcceleratedHardwareIsReady",
    "Monitoring for the Nvidia AcceleratedHardware system is active",
)


@dataclass
class OneNode:
    """An API server with a single Node."""

    held: dict[str, Any] = field(default_factory=dict)

    def create(self, node: dict[str, Any]) -> None:
        self.held = node

    def node(self, _name: str) -> dict[str, Any]:
        return self.held

    def nodes(self) -> list[dict[str, Any]]:
        return [self.held]

    def patch_node(self, _name: str, patch: dict[str, Any]) -> None:
        self.held["metadata"]["annotations"] |= patch["metadata"]["annotations"]

    def patch_node_status(self, _name: str, patch: dict[str, Any]) -> None:
        status = self.held["status"]
        status["allocatable"] |= patch["status"]["allocatable"]
        merged = {each["type"]: each for each in status["conditions"]}
        merged |= {each["type"]: each for each in patch["status"]["conditions"]}
        status["conditions"] = list(merged.values())


@pytest.fixture
def api() -> OneNode:
    return OneNode()


NAME = instance(0).dns_name


def test_every_kind_that_shows_on_a_node_is_a_fault_that_can_be_set() -> None:
    assert NODE_FAULTS.keys() >= symptoms.KINDS


def test_a_node_without_a_fault_shows_none(api: OneNode) -> None:
    Registry(api, 10250).create(GROUP, instance(0), RUNNING)
    assert Registry(api, 10250).symptoms() == {NAME: frozenset()}
    assert "AcceleratedHardwareReady" not in node_state(api.held).conditions
    assert lacking(node_state(api.held), instance_type("p5.48xlarge")) is None


@pytest.mark.parametrize("late", [False, True], ids=["from the start", "later"])
def test_a_node_shows_what_its_plugin_offers_and_its_agent_says(
    api: OneNode, *, late: bool
) -> None:
    registry = Registry(api, 10250)
    registry.create(GROUP, instance(0), RUNNING, () if late else {"agent", "devices"})
    if late:
        registry.show(NAME, {"agent", "devices"})
    state = node_state(api.held)
    assert state.conditions["AcceleratedHardwareReady"] == BAD
    judgement = lacking(state, instance_type("p5.48xlarge"))
    assert judgement is not None
    assert judgement.summary == "devices: it offers 7 of 8 nvidia.com/gpu [RESET]"
    assert registry.symptoms() == {NAME: {"agent", "devices"}}


def test_a_node_forgets_what_it_showed_when_the_faults_are_taken_back(api: OneNode) -> None:
    registry = Registry(api, 10250)
    registry.create(GROUP, instance(0), RUNNING, {"agent", "devices"})
    registry.show(NAME, ())
    state = node_state(api.held)
    assert state.conditions["AcceleratedHardwareReady"] == GOOD
    assert lacking(state, instance_type("p5.48xlarge")) is None
    assert registry.symptoms() == {NAME: frozenset()}
