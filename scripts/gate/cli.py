"""``yard gate``: prove a wave of nodes and open it."""

import json
import os
import sys
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

import click
from lightkube import Client
from rich.console import Console

from components.catalog import UnknownInstanceTypeError, instance_type
from scripts.errors import UsageError
from scripts.gate.api import Api
from scripts.gate.jobs import QUEUE, accelerator, require_digest
from scripts.gate.options import running, settings_of
from scripts.gate.patience import Patience
from scripts.gate.request import Request
from scripts.gate.screen import Heading, screen_for
from scripts.gate.session import Session, new_run, same_run, stopped
from scripts.gate.status import shown, wave_statuses, worst
from scripts.gate.stoppable import stoppable
from scripts.gate.sweep import FULL_SWEEP
from scripts.gate.train_cli import train
from scripts.records.kubeconfig import kubeconfig_option, namespace_option, read_kubeconfig
from scripts.verdicts import EXIT_CODES

__all__ = ["gate"]

TIMEOUT_SECONDS: Final = 5400
"""Time for a wave to become Ready and for every stage, at the largest wave, with isolation."""

STATUS_SECONDS: Final = 20
"""How long a person waits for an API that does not answer."""


@click.group()
def gate() -> None:
    """Prove a wave of nodes and open it."""


@gate.command(
    "run",
    epilog=(
        "Example: yard gate run --pool train --wave 1 --nodes 14 --type p5.48xlarge "
        "--image public.ecr.aws/hpc-cloud/nccl-tests@sha256:… --kubeconfig ~/.kube/config"
    ),
)
@click.option("--pool", required=True, help="Pool of the wave (label trainyard.dev/pool).")
@click.option("--wave", required=True, help="Wave to prove (label trainyard.dev/wave).")
@click.option("--nodes", required=True, type=click.IntRange(min=1), help="Nodes of the wave.")
@click.option("--type", "type_name", required=True, help="Instance type of the wave.")
@click.option("--image", required=True, help="Image with nccl-tests, pinned by digest.")
@click.option(
    "--timeout",
    default=TIMEOUT_SECONDS,
    show_default=True,
    type=click.IntRange(min=1),
    help="Seconds for the whole run, waiting for nodes included.",
)
@click.option(
    "--floor",
    "floor_gbps",
    type=click.FloatRange(min=0, min_open=True),
    help="Lowest good all-reduce bus bandwidth, GB/s, instead of the catalog's.",
)
@click.option(
    "--efa/--no-efa",
    default=True,
    show_default=True,
    help="Whether the pool has EFA; without it no fabric is demanded, and --floor is.",
)
@click.option(
    "--collective",
    "collectives",
    multiple=True,
    type=click.Choice(FULL_SWEEP),
    help="What the wave must pass as a whole; repeatable. All four without it.",
)
@click.option(
    "--dcgm",
    type=click.IntRange(0, 4),
    default=0,
    show_default=True,
    help="Level of DCGM's diagnostics on every node; 0 runs none. 2 takes some minutes.",
)
@click.option("--dcgm-image", help="Image with dcgmi, by digest, where --image has none.")
@click.option(
    "--storage-claim",
    default="",
    help="Claim of the shared file system in the namespace; without it storage is not checked.",
)
@click.option(
    "--storage-mbps",
    type=click.FloatRange(min=0, min_open=True),
    help="What the file system sells to all clients together, MB/s.",
)
@click.option(
    "--queue/--no-queue",
    "queued",
    default=True,
    show_default=True,
    help="Wait in Kueue's queue of the gate, or go past Kueue where there is none.",
)
@click.option("--again", is_flag=True, help="Also test open nodes on which no job runs.")
@click.option(
    "--regression",
    is_flag=True,
    help="A test of the schedule: --again, at low priority; too few idle nodes are no fault.",
)
@click.option("--fresh", is_flag=True, help="Begin anew, also where a gate was stopped.")
@running
def run(  # noqa: PLR0913 - click hands each option over by its name
    *,
    pool: str,
    wave: str,
    nodes: int,
    type_name: str,
    image: str,
    timeout: int,
    floor_gbps: float | None,
    efa: bool,
    collectives: tuple[str, ...],
    dcgm: int,
    dcgm_image: str | None,
    storage_claim: str,
    storage_mbps: float | None,
    queued: bool,
    again: bool,
    regression: bool,
    fresh: bool,
    **how: Any,  # noqa: ANN401 - the options of `running`
) -> None:
    """Check every node of a wave, prove its fabric and its storage, and open what passed.

    A bad node is named, cordoned and keeps its taint; the rest opens. Up to a fifth of the wave
    (one node at least) may stay out; beyond that nothing opens. Nodes that passed before are not
    tested again, unless --again asks for those on which no job runs.

    A gate that was stopped goes on where it was, when it is asked for the same again.

    Exit codes: 0 the wave is open, 1 it failed, 2 bad use, 3 it could not be judged.
    """
    try:
        instance = instance_type(type_name)
    except UnknownInstanceTypeError as error:
        raise UsageError(str(error)) from None
    accelerator(instance)
    for each in (image, dcgm_image):
        if each is not None:
            require_digest(each)
    if storage_claim and storage_mbps is None:
        raise UsageError(
            "--storage-claim says where the file system is, and nothing says how fast it must be; "
            "give what it sells to all clients together with --storage-mbps"
        )
    if not efa:
        instance = replace(instance, efa_interfaces=0)
    request = Request(
        run=new_run(datetime.now(tz=UTC)),
        pool=pool,
        wave=wave,
        nodes=nodes,
        instance=instance,
        image=image,
        namespace=how["namespace"],
        timeout=timeout,
        floor_gbps=floor_gbps,
        again=again or regression,
        collectives=collectives or FULL_SWEEP,
        dcgm=dcgm,
        dcgm_image=dcgm_image,
        storage_claim=storage_claim,
        storage_mbps=storage_mbps,
        queue=QUEUE if queued else None,
        regression=regression,
    )
    client = _client(how)
    if not fresh:
        request = same_run(client, request, datetime.now(tz=UTC))
    _prove(client, request, how)


@gate.command(
    "resume",
    epilog="Example: yard gate resume --pool train --wave 1 --kubeconfig ~/.kube/config",
)
@click.option("--pool", required=True, help="Pool of the wave.")
@click.option("--wave", required=True, help="Wave whose gate was stopped.")
@running
def resume(*, pool: str, wave: str, **how: Any) -> None:  # noqa: ANN401 - the options of `running`
    """Go on with a gate that was stopped: what it had measured counts, what runs is waited for.

    What is proved is kept in the cluster, so this works from any machine.

    Exit codes: as of yard gate run; 2 also where no gate was stopped before its end.
    """
    client = _client(how)
    _prove(client, stopped(client, how["namespace"], pool, wave), how)


@gate.command("status", epilog="Example: yard gate status --kubeconfig ~/.kube/config")
@kubeconfig_option
@namespace_option
@click.option("--json", "as_json", is_flag=True, help="Print the waves as JSON.")
def status(*, kubeconfig: str, namespace: str, as_json: bool) -> None:
    """Show every wave: nodes open and out, why, what the last gate said, and one on its way.

    Exit codes: 0 every wave passed, 1 one failed, 2 bad use, 3 one is not judged yet.
    """
    client = Client(config=read_kubeconfig(kubeconfig), namespace=namespace)
    api = Api(client, namespace, Patience(STATUS_SECONDS))
    now = datetime.now(tz=UTC)
    waves = wave_statuses(api.list("Node"), api.list("ConfigMap"), now)
    if as_json:
        click.echo(json.dumps([wave.as_json() for wave in waves], indent=1))
    elif waves:
        console = Console()
        for part in shown(waves, now):
            console.print(part, soft_wrap=True)
    else:
        click.echo("no node belongs to a wave yet")
    sys.exit(EXIT_CODES[worst(waves)])


gate.add_command(train)


def _client(how: dict[str, Any]) -> Client:
    return Client(config=read_kubeconfig(how["kubeconfig"]), namespace=how["namespace"])


def _prove(client: Client, request: Request, how: dict[str, Any]) -> None:
    heading = Heading(
        pool=request.pool,
        wave=request.wave,
        nodes=request.nodes,
        run=request.run,
        timeout=request.timeout,
    )
    with stoppable(), screen_for(sys.stderr, os.environ, heading, live=how["live"]) as screen:
        session = Session(client, request.namespace, settings_of(how), screen)
        verdict = session.prove(request)
    click.echo(json.dumps(verdict.as_json()) if how["as_json"] else verdict.line)
    sys.exit(EXIT_CODES[verdict.verdict])
