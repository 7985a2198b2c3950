"""``yard storage``: judge by hand what the nodes of a wave measured of the shared file system."""

import json
import sys
from pathlib import Path

import click

from components.catalog import UnknownInstanceTypeError, instance_type
from scripts.errors import UsageError
from scripts.gate.isolate import allowance
from scripts.nccl.lines import bounded
from scripts.node.judge import NodeJudgement
from scripts.storage.compare import Comparison, compare
from scripts.storage.expectation import expect
from scripts.storage.judge import judge
from scripts.verdicts import EXIT_CODES, Finding, Verdict, overall

__all__ = ["storage"]


@click.group()
def storage() -> None:
    """Judge what nodes measured of the shared file system."""


@storage.command(
    "judge", epilog="Example: yard storage judge logs/* --type p5.48xlarge --mbps 2400"
)
@click.argument(
    "logs",
    nargs=-1,
    required=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option("--type", "type_name", required=True, help="Instance type of the nodes.")
@click.option(
    "--mbps",
    required=True,
    type=click.FloatRange(min=0, min_open=True),
    help="MB/s that the file system gives to all nodes: TiB times MB/s for each TiB.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def judge_command(*, logs: tuple[Path, ...], type_name: str, mbps: float, as_json: bool) -> None:
    """Judge the LOGS of storage_check.sh, one of each node that ran it at the same time.

    A node is called as its file. Exit code: 0 pass, 1 fail, 3 unknown.
    """
    named = {path.stem: path for path in logs}
    if len(named) != len(logs):
        raise UsageError("two logs have the same name; give each node a name of its own")
    try:
        expected = expect(instance_type(type_name), len(named), mbps)
    except UnknownInstanceTypeError as error:
        raise UsageError(str(error)) from None
    judged: dict[str, NodeJudgement] = {}
    for name, path in named.items():
        with path.open("rb") as stream:
            judged[name] = judge(bounded(stream), expected)
    compared = compare(judged, expected, allowed=allowance(len(judged)))
    verdict = overall([compared.verdict, *(each.verdict for each in compared.judged.values())])
    click.echo(_as_json(verdict, compared) if as_json else _as_text(verdict, compared))
    sys.exit(EXIT_CODES[verdict])


def _as_json(verdict: Verdict, compared: Comparison) -> str:
    return json.dumps(
        {
            "verdict": str(verdict),
            "findings": [found.as_json() for found in compared.findings],
            "nodes": {name: each.as_json() for name, each in compared.judged.items()},
        }
    )


def _as_text(verdict: Verdict, compared: Comparison) -> str:
    lines = [f"{verdict}: {_summary(compared.problem, compared.judged, verdict)}"]
    lines += [f"  {found}" for found in compared.findings]
    for name, each in sorted(compared.judged.items()):
        rates = "".join(
            f", {direction} {each.facts[key]} MB/s"
            for direction in ("write", "read")
            if (key := f"storage_{direction}_mbps") in each.facts
        )
        lines.append(f"  {name}: {each.verdict}{rates}")
        lines += [f"    {found.finding()}" for found in each.findings]
    return "\n".join(lines)


def _summary(problem: Finding | None, judged: dict[str, NodeJudgement], verdict: Verdict) -> str:
    worst = [name for name, each in sorted(judged.items()) if each.verdict is verdict]
    if problem is not None and problem.verdict is verdict:
        return problem.message
    if verdict is Verdict.PASS:
        return f"{len(judged)} of {len(judged)} logs pass"
    return f"{worst[0]}: {judged[worst[0]].summary}"
