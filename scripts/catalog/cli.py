"""``yard catalog``: what is known of instance types and bandwidth floors, and is it true."""

import json
import sys
from collections.abc import Iterable

import click
from rich.console import Console
from rich.table import Table

from components.catalog import (
    InstanceType,
    UnknownInstanceTypeError,
    instance_type,
    instance_types,
)
from scripts.catalog.compare import Checked, check
from scripts.catalog.ec2 import NotAskedError, ask
from scripts.catalog.page import page
from scripts.catalog.sheet import LAYOUTS, as_json, sheet
from scripts.catalog.tables import floor_rows, floors_table, types_table
from scripts.errors import UsageError
from scripts.verdicts import EXIT_CODES, Verdict, overall

__all__ = ["catalog"]

WIDE = 130
"""Columns of a table that no terminal shows: enough that a pipe gets whole lines."""

VENDORS = ("nvidia", "neuron", "none")


@click.group()
def catalog() -> None:
    """Look at instance types and bandwidth floors, and hold them against EC2."""


@catalog.command("list", epilog="Example: yard catalog list --vendor nvidia")
@click.option("--vendor", type=click.Choice(VENDORS), help="Whose accelerators; none: without.")
@click.option("--json", "as_data", is_flag=True, help="Print the types as JSON.")
def list_types(vendor: str | None, *, as_data: bool) -> None:
    """List the instance types.

    Pods: at most on a node, without and with prefix delegation. Sure: our confidence in the row.
    """
    kinds = [kind for kind in instance_types().values() if vendor in (None, _vendor(kind))]
    if as_data:
        click.echo(json.dumps([as_json(kind) for kind in kinds], indent=2))
    else:
        _print(types_table(kinds))


@catalog.command(epilog="Example: yard catalog show p6-b300.48xlarge --layout wide")
@click.argument("type_name", metavar="TYPE")
@click.option(
    "--layout",
    "shown",
    type=click.Choice(LAYOUTS),
    default="lean",
    show_default=True,
    help="Lean: addresses on card 0 only. Wide: on more cards, for more IP bandwidth.",
)
@click.option("--region", help="Zones of this region only.")
@click.option("--json", "as_data", is_flag=True, help="Print all of it as JSON, both layouts.")
def show(type_name: str, shown: str, region: str | None, *, as_data: bool) -> None:
    """Show everything about one instance type, with the picture of its network cards."""
    kind = _kind(type_name)
    if as_data:
        click.echo(json.dumps(as_json(kind, region), indent=2))
    else:
        click.echo(sheet(kind, shown, region))


@catalog.command(epilog="Example: yard catalog verify p5en.48xlarge --region us-east-2")
@click.argument("type_names", metavar="[TYPE]...", nargs=-1)
@click.option(
    "--region",
    envvar=["AWS_REGION", "AWS_DEFAULT_REGION"],
    show_envvar=True,
    help="Whose EC2 to ask; else the profile's.",
)
@click.option("--json", "as_data", is_flag=True, help="Print what was found as JSON.")
def verify(type_names: tuple[str, ...], region: str | None, *, as_data: bool) -> None:
    """Hold instance types, all or these, against what EC2 says of them.

    Exit codes: 0 all as EC2 says, 1 something differs, 3 something could not be checked.
    """
    kinds = [_kind(name) for name in type_names] or list(instance_types().values())
    try:
        answer = ask([kind.name for kind in kinds], region)
    except NotAskedError as error:
        click.echo(
            json.dumps(_report(region, Verdict.UNKNOWN, str(error), ()), indent=2)
            if as_data
            else f"not checked: {error}"
        )
        sys.exit(EXIT_CODES[Verdict.UNKNOWN])
    checked = [check(kind, answer) for kind in kinds]
    verdict = overall(each.verdict for each in checked)
    if as_data:
        click.echo(json.dumps(_report(answer.region, verdict, "", checked), indent=2))
    else:
        for each in checked:
            click.echo(each)
    sys.exit(EXIT_CODES[verdict])


@catalog.command(epilog="Example: yard catalog floors --type p5.48xlarge")
@click.option("--type", "type_name", help="Floors of this instance type only.")
@click.option("--json", "as_data", is_flag=True, help="Print the floors as JSON.")
def floors(type_name: str | None, *, as_data: bool) -> None:
    """List the lowest bus bandwidths that healthy nodes reach."""
    rows = list(floor_rows(_kind(type_name).name if type_name else None))
    if as_data:
        click.echo(json.dumps([row.as_json() for row in rows], indent=2))
    elif rows:
        _print(floors_table(rows))
    else:
        click.echo(f"no floor of {type_name} is known: a pool gives its own (floor_gbps)")


@catalog.command(epilog="Example: yard catalog docs > docs/instance-types.md")
def docs() -> None:
    """Print the reference page that is made from the catalog."""
    click.echo(page(), nl=False)


def _kind(name: str) -> InstanceType:
    try:
        return instance_type(name)
    except UnknownInstanceTypeError as error:
        raise UsageError(str(error)) from None


def _vendor(kind: InstanceType) -> str:
    return kind.accelerator.vendor if kind.accelerator else "none"


def _report(
    region: str | None, verdict: Verdict, not_checked: str, checked: Iterable[Checked]
) -> dict[str, str | list[dict[str, object]] | None]:
    return {
        "region": region,
        "verdict": str(verdict),
        "not_checked": not_checked,
        "types": [each.as_json() for each in checked],
    }


def _print(table: Table) -> None:
    Console(width=None if sys.stdout.isatty() else WIDE).print(table)
