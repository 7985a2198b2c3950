"""``yard nccl``: judge logs of nccl-tests by hand."""

import json
import sys
from dataclasses import asdict
from typing import Any, BinaryIO

import click

from components.catalog import UnknownInstanceTypeError, instance_type
from scripts.errors import UsageError
from scripts.nccl.expectation import Expectation, expect
from scripts.nccl.judge import Judgement, judge
from scripts.nccl.source import join, read
from scripts.text import size
from scripts.verdicts import EXIT_CODES, Verdict, overall

__all__ = ["nccl"]


@click.group()
def nccl() -> None:
    """Judge the output of nccl-tests."""


@nccl.command(
    "judge",
    epilog="Example: yard nccl judge all_reduce.log --type p5.48xlarge --nodes 4",
)
@click.argument("logs", nargs=-1, required=True, type=click.File("rb"))
@click.option("--type", "type_name", required=True, help="Instance type that the log was made on.")
@click.option("--nodes", required=True, type=click.IntRange(min=1), help="Nodes of the run.")
@click.option("--collective", default="all_reduce", show_default=True, help="What was run.")
@click.option(
    "--floor",
    "floor_gbps",
    type=click.FloatRange(min=0, min_open=True),
    help="Lowest good bus bandwidth, GB/s, instead of the catalog's.",
)
@click.option(
    "--communicators",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Groups that NCCL_TESTS_SPLIT made of the ranks.",
)
@click.option(
    "--results",
    type=click.File("rb"),
    help="JSON output (-J) of the run of the one log: its numbers are judged, the log's messages.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a log.")
def judge_command(
    *,
    logs: tuple[BinaryIO, ...],
    type_name: str,
    nodes: int,
    collective: str,
    floor_gbps: float | None,
    communicators: int,
    results: BinaryIO | None,
    as_json: bool,
) -> None:
    """Judge each of LOGS (- for standard input): pass, fail or unknown, with reasons.

    A log is the text of a run, of any release of nccl-tests, or its JSON output. The worst verdict
    gives the exit code: 0 pass, 1 fail, 3 unknown.
    """
    if results is not None and len(logs) > 1:
        raise UsageError(f"--results belongs to one log and {len(logs)} are given; give one")
    try:
        instance = instance_type(type_name)
    except UnknownInstanceTypeError as error:
        raise UsageError(str(error)) from None
    expected = expect(
        instance,
        nodes,
        collective=collective.removesuffix("_perf"),
        floor_gbps=floor_gbps,
        communicators=communicators,
    )
    verdicts: list[Verdict] = []
    for log in logs:
        name = str(getattr(log, "name", "-"))
        record = read(log) if results is None else join(read(log), read(results))
        judgement = judge(record, expected)
        verdicts.append(judgement.verdict)
        shown = _json(name, judgement, expected) if as_json else _text(name, judgement, expected)
        click.echo(shown)
    sys.exit(EXIT_CODES[overall(verdicts)])


def _json(name: str, judgement: Judgement, expected: Expectation) -> str:
    floor: dict[str, Any] | None = asdict(expected.floor) if expected.floor else None
    return json.dumps({"log": name, "floor": floor, **judgement.as_json()}, default=str)


def _text(name: str, judgement: Judgement, expected: Expectation) -> str:
    floor = expected.floor
    limit = f"floor {floor.busbw:g} GB/s from {size(floor.from_bytes)} on" if floor else "no floor"
    heading = f"{judgement.verdict}: {name}: {judgement.summary} ({limit})"
    return "\n".join([heading, *(f"  {found}" for found in judgement.findings)])
