"""``python -m scripts.local.target.nodes``: node groups of the simulated EKS become nodes.

It does what EC2 and the kubelets would: run the instances of each node group, register a Node for
each, follow scaling, updates and deletion, replace what was terminated, and empty the control
plane when its cluster is gone.
"""

import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import NoReturn

import botocore.exceptions
import click
import httpx
from lightkube import ApiError

from components.catalog import UnknownInstanceTypeError
from scripts.local.home import Home
from scripts.local.target import faults
from scripts.local.target.cloud import Cloud, Cluster, places
from scripts.local.target.etcd import restore_baseline
from scripts.local.target.files import read_json, write_json
from scripts.local.target.node_objects import DEAD, RUNNING, Group, Instance
from scripts.local.target.parts import REPOSITORY, heartbeat
from scripts.local.target.registry import Registry

__all__ = ["Reconciler", "main"]

ROUND_SECONDS = 1.0
CHECK_SHARE = 0.1
"""Looking for terminated instances may take at most this share of the time: with a thousand
instances the simulator works on the answer for a while."""

TOLERATED_ROUNDS = 5
"""A throttle or a restart of the API server makes some rounds fail; more is told as an error."""

EXPECTED = (
    ApiError,
    botocore.exceptions.BotoCoreError,
    botocore.exceptions.ClientError,
    httpx.HTTPError,
    OSError,
    UnknownInstanceTypeError,
)
"""What a round may fail with: the next one tries again."""


@dataclass
class Member:
    """One instance of a node group, and how its Node was registered."""

    instance: Instance
    generation: str
    life: str | None = None
    """None until its Node is registered."""


@dataclass
class Reconciler:
    """Brings instances and Nodes to what the node groups say, round by round."""

    registry: Registry
    find_cluster: Callable[[], tuple[Cloud, Cluster] | None]
    empty_control_plane: Callable[[], int]
    load_faults: Callable[[], tuple[faults.Fault, ...]]
    known: Path
    """Where the cluster is remembered that the control plane's objects belong to."""

    clock: Callable[[], float] = time.monotonic
    _members: dict[str, list[Member]] = field(default_factory=dict[str, list[Member]])
    _groups: dict[str, Group] = field(default_factory=dict[str, Group])
    _loaded: bool = False
    _next_check: float = 0.0

    def round(self) -> None:
        """Do what is to do now."""
        found = self.find_cluster()
        self._follow_cluster(found[1] if found else None)
        if found is None:
            return
        cloud, cluster = found
        if not self._loaded:
            self._load(cloud, cluster)
        groups = {group.name: group for group in cloud.groups(cluster.name)}
        for name in list(self._members):
            if name not in groups:
                self._remove(cloud, self._members.pop(name))
        self._drop_terminated(cloud)
        for group in groups.values():
            self._follow_group(cloud, group)
        self._register(groups)
        self._groups = groups

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
            count = self.empty_control_plane()
            _say(f"cluster {old[2]} of account {old[0]} is gone: {count} objects removed")
            self._members, self._groups, self._loaded = {}, {}, False
            self.registry.forget()
        if cluster:
            _say(f"cluster {cluster.name} of account {cluster.place.account} is here")
        write_json(self.known, new)

    def _load(self, cloud: Cloud, cluster: Cluster) -> None:
        """Take over what an earlier process of this kind has left."""
        lives = self.registry.lives()
        self._members = {
            group: [
                Member(instance, generation, lives.pop(instance.dns_name, None))
                for generation, instance in entries
            ]
            for group, entries in cloud.instances(cluster.name).items()
        }
        self.registry.delete(lives)  # Nodes whose instance has gone meanwhile
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
                _say(f"{name}: {len(gone)} terminated, replacing")
                self.registry.delete(member.instance.dns_name for member in gone)
                self._members[name] = [member for member in members if member not in gone]
        self._next_check = self.clock() + (self.clock() - started) / CHECK_SHARE

    def _follow_group(self, cloud: Cloud, group: Group) -> None:
        """Replace what is out of date, then remove or add up to the desired number."""
        members = self._members.setdefault(group.name, [])
        outdated = [member for member in members if member.generation != group.generation]
        if outdated:
            _say(f"{group.name}: replacing {len(outdated)} of an earlier version")
            self._remove(cloud, outdated)
            members[:] = [member for member in members if member not in outdated]
        members.sort(key=lambda member: member.instance.index)
        surplus = members[group.desired :]
        if surplus:
            _say(f"{group.name}: {len(surplus)} fewer")
            self._remove(cloud, surplus)
            del members[group.desired :]
        taken = {member.instance.index for member in members}
        free = (index for index in range(group.desired) if index not in taken)
        indexes = [index for index, _ in zip(free, range(group.desired - len(members)), strict=False)]
        if indexes:
            _say(f"{group.name}: {len(indexes)} more of {group.instance_type}")
            launched = cloud.launch(group, indexes)
            members += [Member(instance, group.generation) for instance in launched]
        before = self._groups.get(group.name)
        if before and (before.labels, before.taints) != (group.labels, group.taints):
            names = [member.instance.dns_name for member in members if member.life]
            self.registry.relabel(names, before, group)

    def _remove(self, cloud: Cloud, members: list[Member]) -> None:
        self.registry.delete(member.instance.dns_name for member in members if member.life)
        cloud.terminate(member.instance.id for member in members)

    def _register(self, groups: dict[str, Group]) -> None:
        """Register Nodes that are missing, and let those die or come back that shall."""
        set_faults = self.load_faults()
        for name, member in self._all():
            group = groups[name]
            where = faults.spot(
                member.instance.dns_name,
                group.labels,
                {faults.INDEX_ANNOTATION: str(member.instance.index)},
            )
            life = DEAD if "dead" in faults.faults_at(set_faults, where) else RUNNING
            if member.life is None:
                self.registry.create(group, member.instance, life)
            elif member.life != life:
                self.registry.set_life(member.instance.dns_name, life)
            else:
                continue
            member.life = life
        self.registry.flush()

    def _all(self) -> Iterator[tuple[str, Member]]:
        for name, members in self._members.items():
            for member in members:
                yield name, member


def _say(text: str) -> None:
    click.echo(f"{time.strftime('%H:%M:%S')} {text}")


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    raise SystemExit(0)


def run(home: Home, reconciler: Reconciler) -> NoReturn:
    """Do rounds until told to end; says in a file that it is alive, and what is wrong."""
    failures = 0
    while True:
        problem: str | None = None
        try:
            reconciler.round()
            failures = 0
        except EXPECTED as error:
            failures += 1
            problem = f"{type(error).__name__}: {error}"
            _say(problem)
        told = problem if failures > TOLERATED_ROUNDS else None
        write_json(heartbeat(home), {"at": time.time(), "error": told})
        time.sleep(ROUND_SECONDS)


@click.command()
@click.option("--home", "root", type=click.Path(path_type=Path, file_okay=False), required=True)
@click.option("--aws", "endpoint", required=True, help="URL of the AWS simulator.")
@click.option(
    "--stacks",
    type=click.Path(path_type=Path, file_okay=False),
    default=REPOSITORY,
    help="Folder of the stack files, whose accounts are watched.",
)
def main(root: Path, endpoint: str, stacks: Path) -> None:
    """Turn node groups into nodes until SIGTERM."""
    signal.signal(signal.SIGTERM, _stop)
    home = Home(root)
    clouds: dict[object, Cloud] = {}

    def find_cluster() -> tuple[Cloud, Cluster] | None:
        for place in places(stacks):
            cloud = clouds.setdefault(place, Cloud(endpoint, place))
            cluster = cloud.cluster()
            if cluster:
                return cloud, cluster
        return None

    run(
        home,
        Reconciler(
            registry=Registry.of(home),
            find_cluster=find_cluster,
            empty_control_plane=lambda: restore_baseline(
                etcd_of(home), home.state / "baseline.json"
            ),
            load_faults=lambda: faults.load(home.faults),
            known=home.state / "cluster.json",
        ),
    )


if __name__ == "__main__":
    main()
