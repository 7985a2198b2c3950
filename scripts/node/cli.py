"""``yard node``: capture a node, judge it, and compare the nodes of a wave, all by hand."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from components.catalog import InstanceType, UnknownInstanceTypeError, instance_type
from scripts.errors import UsageError
from scripts.nccl.lines import bounded
from scripts.node.capture import Capture, parse, read_folder
from scripts.node.compare import findings
from scripts.node.judge import NodeJudgement, judge
from scripts.node.take import take
from scripts.verdicts import EXIT_CODES, Verdict, overall

__all__ = ["node"]

STANDARD_INPUT = "-"

captured = click.Path(exists=True, allow_dash=True, path_type=Path)


@click.group()
def node() -> None:
    """Capture a node, judge it, and compare the nodes of a wave."""


@node.command("capture", epilog="Example: yard node capture /tmp/node-7")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option(
    "--timeout",
    type=click.FloatRange(min=0, min_open=True),
    help="Seconds that each command may take, instead of its own limit.",
)
@click.option(
    "--dcgm",
    type=click.IntRange(1, 4),
    help="Also run DCGM's diagnostics of this level; the GPUs must be idle.",
)
def capture_command(folder: Path, timeout: float | None, dcgm: int | None) -> None:
    """Run every command of the node check on this machine and keep the outputs in FOLDER.

    Run it as root on the node itself: the kernel log and some counters are not for everybody.
    Nothing is judged; FOLDER is for yard node judge.
    """
    count = take(
        folder, timeout=timeout, dcgm=dcgm, progress=lambda line: click.echo(line, err=True)
    )
    click.echo(f"{count} sections in {folder}")


@node.command("judge", epilog="Example: yard node judge /tmp/node-7 --type p5.48xlarge")
@click.argument("capture", type=captured)
@click.option("--type", "type_name", required=True, help="Instance type of the node.")
@click.option("--before", type=captured, help="Earlier capture, to judge counters by their growth.")
@click.option("--mount", "mounts", multiple=True, help="Where Lustre must be mounted.")
@click.option("--dcgm", is_flag=True, help="Require the result of DCGM's diagnostics.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def judge_command(
    *,
    capture: Path,
    type_name: str,
    before: Path | None,
    mounts: tuple[str, ...],
    dcgm: bool,
    as_json: bool,
) -> None:
    """Judge CAPTURE: a folder of yard node capture, or the stream of node_check.sh (- for stdin).

    Exit code: 0 pass, 1 fail, 3 unknown.
    """
    judgement = judge(
        _read(capture),
        _instance(type_name),
        required=["dcgm"] if dcgm else [],
        mounts=mounts,
        before=_read(before) if before else None,
    )
    if as_json:
        click.echo(json.dumps(judgement.as_json()))
    else:
        click.echo("\n".join(_text(judgement)))
    sys.exit(EXIT_CODES[judgement.verdict])


@node.command("compare", epilog="Example: yard node compare captures/*")
@click.argument("captures", nargs=-1, required=True, type=captured)
@click.option("--type", "type_name", required=True, help="Instance type of the nodes.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def compare_command(*, captures: tuple[Path, ...], type_name: str, as_json: bool) -> None:
    """Hold the CAPTURES of a wave against each other and name the odd node out.

    Versions and settings must be the same; each node by itself is judged by yard node judge.
    Exit code: 0 all the same, 1 something differs, 3 something could not be compared.
    """
    instance = _instance(type_name)
    named = {path.name: path for path in captures}
    if len(named) != len(captures):
        raise UsageError("two captures have the same name; give each node a name of its own")
    judgements = {name: judge(_read(path), instance) for name, path in named.items()}
    found = list(findings(judgements))
    verdict = overall(each.verdict for each in found)
    if as_json:
        told = {"verdict": str(verdict), "findings": [each.as_json() for each in found]}
        click.echo(json.dumps({**told, "facts": {n: j.facts for n, j in judgements.items()}}))
    else:
        same = f"{len(judgements)} captures tell the same" if not found else ""
        click.echo("\n".join([f"{verdict}: {same or found[0].message}", *map(str, found)]))
    sys.exit(EXIT_CODES[verdict])


def _instance(name: str) -> InstanceType:
    try:
        return instance_type(name)
    except UnknownInstanceTypeError as error:
        raise UsageError(str(error)) from None


def _read(path: Path) -> Capture:
    if path.is_dir():
        return read_folder(path)
    with click.open_file(str(path), "rb") as stream:
        return parse(bounded(stream))


def _text(judgement: NodeJudgement) -> Iterator[str]:
    yield f"{judgement.verdict}: {judgement.summary}"
    for found in judgement.findings:
        yield f"  {found.finding()}"
    if judgement.not_checked and judgement.verdict is not Verdict.UNKNOWN:
        yield f"  not checked: {', '.join(judgement.not_checked)}"
