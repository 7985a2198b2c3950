"""``yard node``: judge the capture of one node by hand."""

import json
import sys
from typing import BinaryIO

import click

from components.catalog import UnknownInstanceTypeError, instance_type
from scripts.errors import UsageError
from scripts.nccl.lines import bounded
from scripts.node.capture import parse
from scripts.node.judge import judge
from scripts.verdicts import EXIT_CODES

__all__ = ["node"]


@click.group()
def node() -> None:
    """Judge one node by what its check printed."""


@node.command(
    "judge",
    epilog="Example: yard node judge node.log --type p5.48xlarge",
)
@click.argument("file", type=click.File("rb"))
@click.option("--type", "type_name", required=True, help="Instance type of the node.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def judge_command(*, file: BinaryIO, type_name: str, as_json: bool) -> None:
    """Judge FILE (- for standard input), the output of scripts/jobs/node_check.sh.

    Exit code: 0 pass, 1 fail, 3 unknown.
    """
    try:
        instance = instance_type(type_name)
    except UnknownInstanceTypeError as error:
        raise UsageError(str(error)) from None
    judgement = judge(parse(bounded(file)), instance)
    if as_json:
        click.echo(json.dumps(judgement.as_json()))
    else:
        click.echo(f"{judgement.verdict}: {judgement.summary}")
        for found in judgement.findings:
            click.echo(f"  {found.finding()}")
    sys.exit(EXIT_CODES[judgement.verdict])
