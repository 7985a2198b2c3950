"""Bring the Nodes of the control plane to what the node groups of EKS say."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from botocore.exceptions import ClientError

from scripts.local.stacks import Place
from scripts.local.target import faults, symptoms
from scripts.local.target.cloud import Cloud, Cluster
from scripts.local.target.files import read_json, write_json
from scripts.local.target.node_objects import DEAD, RUNNING, Group, Instance
from scripts.local.target.registry import Registry

__all__ = ["Reconciler"]

CHECK_SHARE = 0.1
"""Looking for terminated instances may take at most this share of the time: with a thousand
instances the simulator works on the answer for a while."""


@dataclass
class Member:
    """One instance of a node group, and how its Node was registered."""

    instance: Instance
    generation: str
    life: str | None = None
    """None until its Node is registered."""

    shown: frozenset[str] = frozenset()
    """The faults that the Node shows."""


@dataclass
class Reconciler:
    """Brings instances and Nodes to what the node groups say, round by round."""

    registry: Registry
    find_cluster: Callable[[], tuple[Cloud, Cluster] | None]
    cloud_at: Callable[[Place], Cloud]
    empty_control_plane: Callable[[], int]
    load_faults: Callable[[], tuple[faults.Fault, ...]]
    known: Path
    """Where the cluster is remembered that the control plane's objects belong to."""

    say: Callable[[str], None]
    clock: Callable[[], float] = time.monotonic
    _members: dict[str, list[Member]] = field(default_factory=dict[str, list[Member]])
    _groups: dict[str, Group] = field(default_factory=dict[str, Group])
    _loaded: bool = False
    _next_check: float = 0.0

    def round(self) -> None:
        """Do what is to do now.

        Raises
        ------
        ClientError
            If EC2 refused something for a group; the others were followed.
        """
        found = self.find_cluster()
        self._follow_cluster(found[1] if found else None)
        if found is None:
            return
        cloud, cluster = found
        if not self._loaded:
            self._load(cloud, cluster)
        groups = {group.name: group for group in cloud.groups(cluster)}
        for name in list(self._members):
            if name not in groups:
                self._remove(cloud, self._members.pop(name))
        self._drop_terminated(cloud)
        refused: list[ClientError] = []
        for group in groups.values():
            try:
                self._follow_group(cloud, group)
            except ClientError as error:  # such as a full subnet, which is nothing to the others
                refused.append(error)
        self._register(groups)
        self._groups = groups
        if refused:
            raise refused[0]

    def _follow_cluster(self, cluster: Cluster | None) -> None:
        """Empty the control plane when the cluster is gone or is another one."""
        old = read_json(self.known)
        new = None
        if cluster:
            place = cluster.place
            new = [place.account, place.region, cluster.name, cluster.born]
        if old == new:
            return
        if old is not None:
            # Its groups may have gone in the same round, before their instances were ended.
            cloud = self.cloud_at(Place(old[0], old[1]))
            left = [each for group in cloud.instances(old[2]).values() for each in group]
            cloud.terminate(instance.id for _, instance in left)
            count = self.empty_control_plane()
            self.say(f"cluster {old[2]} of account {old[0]} is gone: {count} objects removed")
            self._members, self._groups, self._loaded = {}, {}, False
        if cluster:
            self.say(f"cluster {cluster.name} of account {cluster.place.account} is here")
        write_json(self.known, new)

    def _load(self, cloud: Cloud, cluster: Cluster) -> None:
        """Take over what an earlier process of this kind has left."""
        lives, shown = self.registry.lives(), self.registry.symptoms()
        self._members = {
            group: [
                Member(
                    instance,
                    generation,
                    lives.pop(instance.dns_name, None),
                    shown.get(instance.dns_name, frozenset()),
                )
                for generation, instance in entries
            ]
            for group, entries in cloud.instances(cluster.name).items()
        }
        self.registry.api.delete_nodes(lives)  # Nodes whose instance has gone meanwhile
        self._loaded = True

    def _drop_terminated(self, cloud: Cloud) -> None:
        """Forget instances that someone has terminated; their places get new ones."""
        started = self.clock()
        if started < self._next_check or not any(self._members.values()):
            return
        running = cloud.running()
        for name, members in self._members.items():
            gone = [member for member in members if member.instance.id not in running]
            if gone:
                self.say(f"{name}: {len(gone)} terminated, replacing")
                self.registry.api.delete_nodes(member.instance.dns_name for member in gone)
                self._members[name] = [member for member in members if member not in gone]
        self._next_check = self.clock() + (self.clock() - started) / CHECK_SHARE

    def _follow_group(self, cloud: Cloud, group: Group) -> None:
        """Replace what is out of date, then remove or add up to the desired number."""
        members = self._members.setdefault(group.name, [])
        outdated = [member for member in members if member.generation != group.generation]
        if outdated:
            self.say(f"{group.name}: replacing {len(outdated)} of an earlier version")
            self._remove(cloud, outdated)
            members[:] = [member for member in members if member not in outdated]
        members.sort(key=lambda member: member.instance.index)
        surplus = members[group.desired :]
        if surplus:
            self.say(f"{group.name}: {len(surplus)} fewer")
            self._remove(cloud, surplus)
            del members[group.desired :]
        taken = {member.instance.index for member in members}
        free = (index for index in range(group.desired) if index not in taken)
        indexes = [
            index for index, _ in zip(free, range(group.desired - len(members)), strict=False)
        ]
        if indexes:
            self.say(f"{group.name}: {len(indexes)} more of {group.instance_type}")
            launched = cloud.launch(group, indexes)
            members += [Member(instance, group.generation) for instance in launched]
        before = self._groups.get(group.name)
        if group.launch.defect and (before is None or before.launch.defect is None):
            self.say(f"{group.name}: its instances do not join: {group.launch.defect}")
        if before and (before.labels, before.taints) != (group.labels, group.taints):
            names = [member.instance.dns_name for member in members if member.life]
            self.registry.relabel(names, before, group)

    def _remove(self, cloud: Cloud, members: list[Member]) -> None:
        self.registry.api.delete_nodes(
            member.instance.dns_name for member in members if member.life
        )
        cloud.terminate(member.instance.id for member in members)

    def _register(self, groups: dict[str, Group]) -> None:
        """Register Nodes that are missing, and let those die or come back that shall."""
        set_faults = self.load_faults()
        work: list[Callable[[], None]] = []
        for name, member in self._all():
            group = groups[name]
            if group.launch.defect:
                continue
            where = faults.spot(
                member.instance.dns_name,
                group.labels,
                {faults.INDEX_ANNOTATION: str(member.instance.index)},
            )
            kinds = faults.faults_at(set_faults, where)
            life, shown = DEAD if "dead" in kinds else RUNNING, symptoms.shown(kinds)
            if (member.life, member.shown) != (life, shown):
                work.append(partial(self._bring, group, member, life, shown))
        self.registry.api.each(work)

    def _bring(self, group: Group, member: Member, life: str, shown: frozenset[str]) -> None:
        name = member.instance.dns_name
        if member.life is None:
            self.registry.create(group, member.instance, life, shown)
            member.shown = shown
        elif member.life != life:
            self.registry.set_life(name, life)
        member.life = life
        if member.shown != shown:
            self.registry.show(name, shown)
            member.shown = shown

    def _all(self) -> Iterator[tuple[str, Member]]:
        for name, members in self._members.items():
            for member in members:
                yield name, member
