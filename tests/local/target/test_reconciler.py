from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from scripts.local.target.cloud import Cluster
from scripts.local.target.faults import Fault
from scripts.local.target.node_objects import DEAD, RUNNING, Group
from scripts.local.target.reconciler import Reconciler
from tests.local.target.support import CLUSTER, GROUP, FakeCloud, FakeRegistry, instance


@dataclass
class World:
    folder: Path
    cloud: FakeCloud = field(default_factory=FakeCloud)
    registry: FakeRegistry = field(default_factory=FakeRegistry)
    cluster: Cluster | None = CLUSTER
    faults: tuple[Fault, ...] = ()
    emptied: int = 0
    said: list[str] = field(default_factory=list)
    now: float = 0.0

    def reconciler(self) -> Reconciler:
        return Reconciler(
            registry=self.registry,
            find_cluster=lambda: (self.cloud, self.cluster) if self.cluster else None,
            cloud_at=lambda _place: self.cloud,
            empty_control_plane=self.empty,
            load_faults=lambda: self.faults,
            known=self.folder / "cluster.json",
            say=self.said.append,
            clock=lambda: self.now,
        )

    def empty(self) -> int:
        self.emptied += 1
        self.registry.nodes.clear()
        return 1


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def names(*numbers: int) -> list[str]:
    return [instance(number).dns_name for number in numbers]


def test_a_node_group_gets_its_instances_and_nodes(world: World) -> None:
    world.cloud.want(GROUP)
    world.reconciler().round()
    assert world.registry.nodes == dict.fromkeys(names(0, 1), RUNNING)
    assert [each.index for _, each in world.cloud.live["h100-1"]] == [0, 1]


def test_a_second_round_changes_nothing(world: World) -> None:
    world.cloud.want(GROUP)
    reconciler = world.reconciler()
    reconciler.round()
    reconciler.round()
    assert world.cloud.made == 2
    assert world.registry.nodes == dict.fromkeys(names(0, 1), RUNNING)


@pytest.mark.parametrize(
    ("change", "left"),
    [
        (lambda group: replace(group, desired=4), [0, 1, 2, 3]),
        (lambda group: replace(group, desired=1), [0]),
        (lambda group: replace(group, desired=0), []),
        (lambda group: replace(group, template=("lt-1", "4")), [2, 3]),
        (lambda group: replace(group, arn="made anew under the same name"), [2, 3]),
    ],
    ids=["more", "fewer", "none", "new template version", "recreated"],
)
def test_nodes_follow_their_node_group(
    world: World, change: Callable[[Group], Group], left: list[int]
) -> None:
    world.cloud.want(GROUP)
    reconciler = world.reconciler()
    reconciler.round()
    world.cloud.want(change(GROUP))
    reconciler.round()
    assert sorted(world.registry.nodes) == names(*left)


def test_the_nodes_of_a_deleted_group_go_and_those_of_others_stay(world: World) -> None:
    world.cloud.want(GROUP)
    world.cloud.want(replace(GROUP, name="h100-2", desired=1))
    reconciler = world.reconciler()
    reconciler.round()
    del world.cloud.wanted["h100-1"]
    reconciler.round()
    assert sorted(world.registry.nodes) == names(2)
    assert world.cloud.live["h100-1"] == []


def test_a_group_that_replaces_another_stands_beside_it_until_that_is_deleted(
    world: World,
) -> None:
    world.cloud.want(GROUP)
    reconciler = world.reconciler()
    reconciler.round()
    new = replace(GROUP, name="h100-1-b", arn="another")
    world.cloud.want(new)
    reconciler.round()
    assert sorted(world.registry.nodes) == names(0, 1, 2, 3)
    del world.cloud.wanted["h100-1"]
    reconciler.round()
    assert sorted(world.registry.nodes) == names(2, 3)
    assert world.cloud.running() == {"i-2", "i-3"}


def test_instances_whose_user_data_is_broken_run_but_never_join(world: World) -> None:
    broken = replace(GROUP, launch=replace(GROUP.launch, defect="NodeConfig is not YAML"))
    world.cloud.want(broken)
    reconciler = world.reconciler()
    reconciler.round()
    reconciler.round()
    assert world.registry.nodes == {}
    assert world.cloud.running() == {"i-0", "i-1"}
    assert world.said == [
        "cluster demo of account 000000000000 is here",
        "h100-1: 2 more of p5.48xlarge",
        "h100-1: its instances do not join: NodeConfig is not YAML",
    ]


def test_a_group_without_room_does_not_hold_up_the_others(world: World) -> None:
    world.cloud.want(replace(GROUP, name="a-full"))
    world.cloud.want(GROUP)
    world.cloud.full = {"a-full"}
    reconciler = world.reconciler()
    with pytest.raises(ClientError) as caught:
        reconciler.round()
    assert str(caught.value) == (
        "An error occurred (InsufficientFreeAddressesInSubnet) when calling the RunInstances "
        "operation: full"
    )
    assert sorted(world.registry.nodes) == names(0, 1)


def test_a_terminated_instance_is_replaced_at_its_place(world: World) -> None:
    world.cloud.want(GROUP)
    reconciler = world.reconciler()
    reconciler.round()
    world.cloud.terminate(["i-0"])
    world.now = 100
    reconciler.round()
    assert sorted(world.registry.nodes) == names(1, 2)
    assert sorted(each.index for _, each in world.cloud.live["h100-1"]) == [0, 1]


def test_labels_that_changed_are_brought_to_the_nodes(world: World) -> None:
    world.cloud.want(GROUP)
    reconciler = world.reconciler()
    reconciler.round()
    changed = replace(GROUP, labels={"new": "yes"})
    world.cloud.want(changed)
    reconciler.round()
    reconciler.round()
    assert world.registry.relabelled == [(names(0, 1), GROUP, changed)]


def test_a_dead_node_falls_silent_and_comes_back(world: World) -> None:
    world.cloud.want(GROUP)
    reconciler = world.reconciler()
    reconciler.round()
    world.faults = (Fault("dead", pool="h100", wave="1", index=1),)
    reconciler.round()
    assert world.registry.nodes == dict(zip(names(0, 1), [RUNNING, DEAD], strict=True))
    world.faults = ()
    reconciler.round()
    assert world.registry.nodes == dict.fromkeys(names(0, 1), RUNNING)


def test_a_fault_also_hits_a_node_that_came_after_it(world: World) -> None:
    world.faults = (Fault("dead", pool="h100", index=0), Fault("gpu", pool="h100"))
    world.cloud.want(GROUP)
    world.reconciler().round()
    assert world.registry.nodes == dict(zip(names(0, 1), [DEAD, RUNNING], strict=True))


def test_what_a_node_itself_shows_comes_and_goes_with_its_faults(world: World) -> None:
    world.cloud.want(GROUP)
    world.faults = (Fault("agent", pool="h100", index=0), Fault("gpu", pool="h100"))
    reconciler = world.reconciler()
    reconciler.round()
    assert [world.registry.shown[name] for name in names(0, 1)] == [{"agent"}, set()]
    world.faults = (Fault("devices", pool="h100", index=1),)
    world.reconciler().round()
    assert [world.registry.shown[name] for name in names(0, 1)] == [set(), {"devices"}]


def test_a_new_process_takes_over_what_it_finds(world: World) -> None:
    world.cloud.want(GROUP)
    world.reconciler().round()
    world.registry.nodes["ip-of-an-instance-that-is-gone"] = RUNNING
    world.reconciler().round()
    assert world.cloud.made == 2
    assert sorted(world.registry.nodes) == names(0, 1)
    assert world.emptied == 0


def test_the_control_plane_is_emptied_when_the_cluster_is_gone(world: World) -> None:
    world.cloud.want(GROUP)
    reconciler = world.reconciler()
    reconciler.round()
    world.cluster = None
    reconciler.round()
    reconciler.round()
    assert world.emptied == 1


def test_the_instances_of_a_cluster_end_with_it(world: World) -> None:
    world.cloud.want(GROUP)
    reconciler = world.reconciler()
    reconciler.round()
    world.cloud.wanted.clear()
    world.cluster = None
    reconciler.round()
    assert world.cloud.running() == set()


def test_the_control_plane_is_emptied_for_another_cluster_of_the_same_name(world: World) -> None:
    reconciler = world.reconciler()
    reconciler.round()
    world.cluster = replace(CLUSTER, born="2026-12-02")
    world.cloud = FakeCloud()
    world.cloud.want(GROUP)
    reconciler.round()
    assert world.emptied == 1
    assert sorted(world.registry.nodes) == names(0, 1)


def test_a_cluster_that_went_while_nobody_looked_is_noticed_later(world: World) -> None:
    world.reconciler().round()
    world.cluster = None
    world.reconciler().round()
    assert world.emptied == 1
