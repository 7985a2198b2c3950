"""``yard gate``: prove a wave of nodes and open it."""

import json
import secrets
import signal
import sys
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType

import click
from lightkube import Client
from rich.console import Console

from components.catalog import UnknownInstanceTypeError, instance_type
from scripts.blacklist.store import SHELF, BlacklistStore
from scripts.errors import UsageError
from scripts.gate.api import Api
from scripts.gate.cluster import KubeCluster
from scripts.gate.jobs import accelerator, require_digest
from scripts.gate.patience import Patience
from scripts.gate.run import Gate, Request
from scripts.gate.status import shown, wave_statuses, worst
from scripts.gate.verdict import WaveVerdict
from scripts.records.config_maps import ConfigMapShelf
from scripts.records.kubeconfig import read_kubeconfig
from scripts.verdicts import EXIT_CODES, Verdict

__all__ = ["gate"]

TIMEOUT_SECONDS = 5400
"""Time for a wave to become Ready, both node checks, and an all-reduce with isolation."""


STATUS_SECONDS = 20
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
@click.option("--kubeconfig", required=True, help="Kubeconfig file; - for standard input.")
@click.option("--namespace", default="trainyard-gate", show_default=True, help="Where Jobs run.")
@click.option(
    "--report-dir",
    default="reports",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the verdict is written as gate-POOL-WAVE.json.",
)
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
@click.option("--again", is_flag=True, help="Also test open nodes on which no job runs.")
@click.option("--json", "as_json", is_flag=True, help="Print the whole verdict as JSON.")
def run(  # noqa: PLR0913 - click hands each option over by its name
    *,
    pool: str,
    wave: str,
    nodes: int,
    type_name: str,
    image: str,
    kubeconfig: str,
    namespace: str,
    report_dir: Path,
    timeout: int,
    floor_gbps: float | None,
    efa: bool,
    again: bool,
    as_json: bool,
) -> None:
    """Check every node of a wave, prove its fabric by all-reduce, and open what passed.

    A bad node is named, cordoned and keeps its taint; the rest opens. Up to a fifth of the wave
    (one node at least) may stay out; beyond that nothing opens. Nodes that passed before are not
    tested again, unless --again asks for those on which no job runs.

    Exit codes: 0 the wave is open, 1 it failed, 2 bad use, 3 it could not be judged.
    """
    try:
        instance = instance_type(type_name)
    except UnknownInstanceTypeError as error:
        raise UsageError(str(error)) from None
    accelerator(instance)
    require_digest(image)
    if not efa:
        instance = replace(instance, efa_interfaces=0)
    request = Request(
        run=f"{datetime.now(tz=UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(2)}",
        pool=pool,
        wave=wave,
        nodes=nodes,
        instance=instance,
        image=image,
        namespace=namespace,
        timeout=timeout,
        floor_gbps=floor_gbps,
        again=again,
    )
    client = Client(config=read_kubeconfig(kubeconfig), namespace=namespace)
    api = Api(client, namespace, Patience())
    blacklist = BlacklistStore(ConfigMapShelf(api, namespace, SHELF))
    cluster = KubeCluster(api, namespace, _say)
    proving = Gate(request, cluster, _say, blacklist=blacklist)
    # Who ends us still gets a report: a SystemExit runs what stands under `finally`.
    signal.signal(signal.SIGTERM, _stop)
    try:
        verdict = proving.run()
    finally:
        _write(report_dir, proving.verdict)
    click.echo(json.dumps(verdict.as_json()) if as_json else verdict.line)
    sys.exit(EXIT_CODES[verdict.verdict])


@gate.command("status", epilog="Example: yard gate status --kubeconfig ~/.kube/config")
@click.option("--kubeconfig", required=True, help="Kubeconfig file; - for standard input.")
@click.option("--namespace", default="trainyard-gate", show_default=True, help="Where gates keep.")
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


def _stop(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(EXIT_CODES[Verdict.UNKNOWN])


def _say(line: str) -> None:
    click.echo(f"{datetime.now(tz=UTC):%H:%M:%S} {line}", err=True)


def _write(folder: Path, verdict: WaveVerdict) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"gate-{verdict.pool}-{verdict.wave}.json"
    path.write_text(json.dumps(verdict.as_json(), indent=1) + "\n", encoding="utf-8")
    _say(f"report: {path}")
