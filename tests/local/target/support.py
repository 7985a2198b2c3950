"""Node groups, instances and stand-ins for what the target talks to."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from botocore.exceptions import ClientError

from scripts.local.stacks import Place
from scripts.local.target.cloud import Cluster
from scripts.local.target.launch import Launch
from scripts.local.target.node_objects import Group, Instance
from scripts.local.target.user_data import NodeConfig

GROUP = Group(
    name="h100-1",
    arn="arn:aws:eks:us-east-1:000000000000:nodegroup/demo/h100-1/1",
    cluster="demo",
    region="us-east-1",
    instance_type="p5.48xlarge",
    desired=2,
    subnets=("subnet-1",),
    labels={"trainyard.dev/pool": "h100", "trainyard.dev/wave": "1"},
    taints=(("trainyard.dev/unproved", "true", "NO_SCHEDULE"),),
    capacity="CAPACITY_BLOCK",
    kubernetes="1.35",
    image_type="AL2023_x86_64_NVIDIA",
    image_release="1.35.0-20261101",
    template=("lt-1", "3"),
    launch=Launch(
        efa_interfaces=32, huge_pages=5128, disk_gib=200, config=NodeConfig(local_storage=True)
    ),
)

CLUSTER = Cluster(Place("000000000000", "us-east-1"), "demo", "2026-12-01", "1.35")


def instance(index: int) -> Instance:
    return Instance(
        id=f"i-{index}",
        address=f"10.0.0.{index}",
        dns_name=f"ip-10-0-0-{index}.ec2.internal",
        zone="us-east-1a",
        zone_id="use1-az6",
        index=index,
    )


@dataclass
class FakeCloud:
    """The calls of ``Cloud`` over a list of node groups and instances."""

    wanted: dict[str, Group] = field(default_factory=dict)
    live: dict[str, list[tuple[str, Instance]]] = field(default_factory=dict)
    made: int = 0
    full: set[str] = field(default_factory=set)
    """Groups in whose subnet there is no room."""

    def groups(self, _cluster: Cluster) -> Iterator[Group]:
        yield from self.wanted.values()

    def instances(self, _cluster: str) -> dict[str, list[tuple[str, Instance]]]:
        return {name: list(entries) for name, entries in self.live.items()}

    def running(self) -> set[str]:
        return {each.id for entries in self.live.values() for _, each in entries}

    def launch(self, group: Group, indexes: Iterable[int]) -> list[Instance]:
        if group.name in self.full:
            answer = {"Error": {"Code": "InsufficientFreeAddressesInSubnet", "Message": "full"}}
            raise ClientError(answer, "RunInstances")
        launched: list[Instance] = []
        for index in indexes:
            launched.append(replace(instance(self.made), index=index))
            self.made += 1
        entries = [(group.generation, each) for each in launched]
        self.live.setdefault(group.name, []).extend(entries)
        return launched

    def terminate(self, ids: Iterable[str]) -> None:
        gone = set(ids)
        for entries in self.live.values():
            entries[:] = [entry for entry in entries if entry[1].id not in gone]

    def want(self, group: Group) -> None:
        self.wanted[group.name] = group


@dataclass
class FakeRegistry:
    """The Nodes by name, as ``lives`` and calls of ``Registry`` see them."""

    nodes: dict[str, str] = field(default_factory=dict)
    shown: dict[str, frozenset[str]] = field(default_factory=dict)
    relabelled: list[tuple[list[str], Group, Group]] = field(default_factory=list)

    @property
    def api(self) -> "FakeRegistry":
        return self

    def each(self, work: Iterable[Callable[[], object]]) -> None:
        for job in work:
            job()

    def lives(self) -> dict[str, str]:
        return dict(self.nodes)

    def symptoms(self) -> dict[str, frozenset[str]]:
        return dict(self.shown)

    def create(self, _group: Group, each: Instance, life: str, shown: frozenset[str]) -> None:
        self.nodes[each.dns_name] = life
        self.shown[each.dns_name] = shown

    def show(self, name: str, shown: frozenset[str]) -> None:
        self.shown[name] = shown

    def set_life(self, name: str, life: str) -> None:
        self.nodes[name] = life

    def relabel(self, names: Iterable[str], before: Group, after: Group) -> None:
        self.relabelled.append((sorted(names), before, after))

    def delete_nodes(self, names: Iterable[str]) -> None:
        for name in names:
            self.nodes.pop(name, None)


class FakeApi:
    """Objects by kind and name, as ``Api`` gives them."""

    def __init__(self, nodes: list[dict[str, Any]], pods: list[dict[str, Any]]) -> None:
        self._nodes = {each["metadata"]["name"]: each for each in nodes}
        self._pods = {each["metadata"]["name"]: each for each in pods}

    def node(self, name: str) -> dict[str, Any]:
        return self._nodes[name]

    def nodes(self) -> list[dict[str, Any]]:
        return list(self._nodes.values())

    def pod(self, _namespace: str, name: str) -> dict[str, Any]:
        return self._pods[name]

    def pods(self, _namespace: str, labels: dict[str, str]) -> list[dict[str, Any]]:
        found = self._pods.values()
        return [each for each in found if labels.items() <= each["metadata"]["labels"].items()]
