"""``python -m scripts.local.target.nodes``: node groups of the simulated EKS become nodes.

It does what EC2 and the kubelets would: run the instances of each node group, register a Node for
each, follow scaling, updates and deletion, replace what was terminated, and empty the control
plane when its cluster is gone.
"""

import signal
import time
from pathlib import Path
from types import FrameType
from typing import NoReturn

import botocore.exceptions
import click

from components.catalog import UnknownInstanceTypeError
from scripts.local.home import Home
from scripts.local.stacks import Place, places
from scripts.local.target import faults
from scripts.local.target.api import Api, UnreachableError
from scripts.local.target.cloud import Cloud, Cluster
from scripts.local.target.etcd import Etcd, restore_baseline
from scripts.local.target.files import write_json
from scripts.local.target.pki import Pki
from scripts.local.target.ports import load_ports
from scripts.local.target.reconciler import Reconciler
from scripts.local.target.registry import Registry

__all__ = ["main"]

ROUND_SECONDS = 1.0

TOLERATED_ROUNDS = 5
"""A throttle or a restart of the API server makes some rounds fail; more is told as an error."""

EXPECTED = (
    botocore.exceptions.BotoCoreError,
    botocore.exceptions.ClientError,
    OSError,
    UnreachableError,
    UnknownInstanceTypeError,
)
"""What a round may fail with: the next one tries again."""


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
        write_json(home.heartbeat, {"at": time.time(), "error": told})
        time.sleep(ROUND_SECONDS)


@click.command()
@click.option("--home", "root", type=click.Path(path_type=Path, file_okay=False), required=True)
@click.option("--aws", "endpoint", required=True, help="URL of the AWS simulator.")
@click.option(
    "--stacks",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="Folder of the stack files, whose accounts are watched.",
)
def main(root: Path, endpoint: str, stacks: Path) -> None:
    """Turn node groups into nodes until SIGTERM."""
    signal.signal(signal.SIGTERM, _stop)
    home = Home(root)
    ports = load_ports(home.ports)
    etcd = Etcd(f"https://127.0.0.1:{ports['etcd']}", Pki(home.pki))
    clouds: dict[Place, Cloud] = {}

    def cloud_at(place: Place) -> Cloud:
        if place not in clouds:
            clouds[place] = Cloud(endpoint, place)
        return clouds[place]

    def find_cluster() -> tuple[Cloud, Cluster] | None:
        for place in places(stacks):
            cloud = cloud_at(place)
            cluster = cloud.cluster()
            if cluster:
                return cloud, cluster
        return None

    run(
        home,
        Reconciler(
            registry=Registry(Api(home), ports["kubelet"]),
            find_cluster=find_cluster,
            cloud_at=cloud_at,
            empty_control_plane=lambda: restore_baseline(etcd, home.state / "baseline.json"),
            load_faults=lambda: faults.load(home.faults),
            known=home.state / "cluster.json",
            say=_say,
        ),
    )


if __name__ == "__main__":
    main()
