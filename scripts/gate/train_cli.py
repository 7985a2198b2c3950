"""``yard gate train``: a small training on nodes that are open."""

import json
import secrets
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import click
from lightkube import Client

from components.catalog import UnknownInstanceTypeError, instance_type
from scripts.errors import UsageError
from scripts.gate.api import Api
from scripts.gate.cluster import KubeCluster
from scripts.gate.jobs import QUEUE
from scripts.gate.lease import Holder, Lease, leases
from scripts.gate.patience import Patience
from scripts.gate.request import Clock
from scripts.gate.stoppable import stoppable
from scripts.gate.train import LEAST_NODES, MOST_NODES, TrainMaker
from scripts.gate.train_flow import train as run_training
from scripts.records.kubeconfig import kubeconfig_option, namespace_option, read_kubeconfig
from scripts.verdicts import EXIT_CODES

__all__ = ["train"]

TIMEOUT_SECONDS = 3600
"""Each attempt takes a minute; the rest is for a queue, and for pulling an image of some 10 GB."""

SHELF = "train-lease"
"""Kind of the leases. It is not that of gates, whose places are named alike: POOL-WAVE."""

CLAIM = "shared"
"""Name of the claim that the storage layer makes in each namespace."""


@click.command(
    "train",
    epilog=(
        "Example: yard gate train --pool train --nodes 2 --type p5.48xlarge "
        "--image registry.example.com/training@sha256:… --kubeconfig ~/.kube/config"
    ),
)
@click.option("--pool", required=True, help="Pool whose open nodes train.")
@click.option(
    "--nodes",
    default=LEAST_NODES,
    show_default=True,
    type=click.IntRange(LEAST_NODES, MOST_NODES),
    help="Nodes that train together.",
)
@click.option("--type", "type_name", required=True, help="Instance type of the pool.")
@click.option("--image", required=True, help="Image with PyTorch for CUDA, pinned by digest.")
@click.option("--claim", default=CLAIM, show_default=True, help="Claim of the shared file system.")
@kubeconfig_option
@namespace_option
@click.option("--queue", default=QUEUE, show_default=True, help="LocalQueue; empty for none.")
@click.option(
    "--efa/--no-efa", default=True, show_default=True, help="Whether the pool's nodes have EFA."
)
@click.option(
    "--report-dir",
    default="reports",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the verdict is written as train-POOL.json.",
)
@click.option(
    "--timeout",
    default=TIMEOUT_SECONDS,
    show_default=True,
    type=click.IntRange(min=60),
    help="Seconds for all attempts together, waiting in the queue included.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the whole verdict as JSON.")
def train(  # noqa: PLR0913 - click hands each option over by its name
    *,
    pool: str,
    nodes: int,
    type_name: str,
    image: str,
    claim: str,
    kubeconfig: str,
    namespace: str,
    queue: str,
    efa: bool,
    report_dir: Path,
    timeout: int,
    as_json: bool,
) -> None:
    """Train a small model on open nodes: to the end, killed half-way, and gone on with.

    Data and checkpoints are on the shared file system, gradients go over NCCL. The loss must fall,
    and the training that lost a node must go on from its newest checkpoint.

    Exit codes: 0 it did all that, 1 it did not, 2 bad use, 3 it could not be judged.
    """
    try:
        instance = instance_type(type_name)
    except UnknownInstanceTypeError as error:
        raise UsageError(str(error)) from None
    maker = TrainMaker(
        run=f"{datetime.now(tz=UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}",
        pool=pool,
        namespace=namespace,
        image=image,
        instance=instance if efa else replace(instance, efa_interfaces=0),
        nodes=nodes,
        claim=claim,
        queue=queue or None,
    )
    client = Client(config=read_kubeconfig(kubeconfig), namespace=namespace)
    cluster = KubeCluster(Api(client, namespace, Patience()), namespace, _say)
    with stoppable(), _lease(client, maker) as lease:
        verdict = run_training(maker, cluster, _say, seconds=timeout, guard=lease.check)
    whole = {
        "run": maker.run,
        "pool": pool,
        "nodes": nodes,
        "instance_type": type_name,
        "image": image,
        **verdict.as_json(),
    }
    report_dir.mkdir(parents=True, exist_ok=True)
    path = report_dir / f"train-{pool}.json"
    path.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    _say(f"report: {path}")
    step = f"; next: {verdict.next_step}" if verdict.next_step else ""
    line = f"{verdict.verdict}: training on pool {pool}: {verdict.message}{step}"
    click.echo(json.dumps(whole) if as_json else line)
    sys.exit(EXIT_CODES[verdict.verdict])


def _lease(client: Client, maker: TrainMaker) -> Lease:
    """Return the right to train on the pool: who trains removes what is left of others."""
    return Lease(
        leases(client, maker.namespace, SHELF),
        maker.pool,
        Holder.here(maker.run),
        _say,
        Clock(),
        of=f"the training of pool {maker.pool}",
        kind=SHELF,
    )


def _say(line: str) -> None:
    click.echo(f"{datetime.now(tz=UTC):%H:%M:%S} {line}", err=True)
