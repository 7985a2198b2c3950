"""``yard plan``: whether a site fits, from its stack file or on paper."""

import json
import sys
from ipaddress import IPv4Network
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scripts.errors import UsageError

if TYPE_CHECKING:
    from scripts.plan.paper import Wish

# What a plan is made of is imported when it is made: on paper none of it needs the engine's SDK.

__all__ = ["plan"]

EXAMPLES = """\
\b
Examples:
  yard plan network Pulumi.prod.yaml
  yard plan network --accelerators 8192 --type p5.48xlarge
  yard plan network --accelerators 100000 --type p5.48xlarge --zones 4 --raised \\
      --avoid office=10.0.0.0/12
"""


@click.group()
def plan() -> None:
    """Plan a site on paper."""


@plan.command(epilog=EXAMPLES)
@click.argument("files", nargs=-1, type=click.Path(path_type=Path))
@click.option("--accelerators", type=click.IntRange(min=1), help="How many, all clusters together.")
@click.option("--type", "type_name", help="Instance type that carries them.")
@click.option(
    "--pods-per-node",
    type=click.IntRange(8, 110),
    default=24,
    show_default=True,
    help="Pods with an address, on each node.",
)
@click.option(
    "--block",
    type=click.IntRange(16, 26),
    default=16,
    show_default=True,
    help="Length of a compute subnet.",
)
@click.option(
    "--zones",
    type=click.IntRange(1, 7),
    default=1,
    show_default=True,
    help="Zones with accelerators in a cluster, a pool and a compute subnet in each.",
)
@click.option(
    "--headroom",
    type=click.IntRange(10, 20),
    default=15,
    show_default=True,
    help="Percent of addresses kept free.",
)
@click.option(
    "--system-nodes",
    type=click.IntRange(2, 20),
    default=6,
    show_default=True,
    help="Nodes of each cluster for its own parts.",
)
@click.option("--wide", is_flag=True, help="Addresses on more network cards than the first.")
@click.option("--raised", is_flag=True, help="Count on quotas as far as AWS raises them.")
@click.option(
    "--within",
    default="10.0.0.0/8",
    show_default=True,
    metavar="CIDR",
    help="Where the suggested blocks are to lie.",
)
@click.option(
    "--avoid",
    multiple=True,
    metavar="NAME=CIDR",
    help="A neighbour whose addresses they must not share; may be given again.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def network(
    *,
    files: tuple[Path, ...],
    accelerators: int | None,
    type_name: str | None,
    within: str,
    avoid: tuple[str, ...],
    as_json: bool,
    **terms: Any,  # noqa: ANN401 - the rest of the wish, by the names of its fields
) -> None:
    """Show the address plan of stack FILES, or plan a number of accelerators on paper.

    For a file: every block, what it must hold, and how full that makes it. On paper: how many
    clusters it takes, which limit binds, and blocks that share no address with a neighbour.

    Exit codes: 0 fits, 1 does not fit, 2 bad use.
    """
    if bool(files) == (accelerators is not None):
        raise UsageError(
            "give either stack files, or --accelerators with --type; see yard plan network --help"
        )
    if files:
        _stacks(files, as_json=as_json)
    else:
        wish = _wish(accelerators or 0, type_name, terms)
        _paper(wish, _network("--within", within), _neighbours(avoid), as_json=as_json)


def _stacks(files: tuple[Path, ...], *, as_json: bool) -> None:
    from components.settings import SettingsError  # noqa: PLC0415 - see the head of the file
    from scripts.plan.data import stack_data  # noqa: PLC0415 - see the head of the file
    from scripts.plan.stack import plan_stack  # noqa: PLC0415 - see the head of the file
    from scripts.plan.text import stack_text  # noqa: PLC0415 - see the head of the file

    try:
        plans = [plan_stack(file) for file in files]
    except SettingsError as error:
        raise UsageError(str(error)) from None
    if as_json:
        click.echo(json.dumps([stack_data(each) for each in plans], indent=2))
    else:
        click.echo("\n\n".join(map(stack_text, plans)))
    sys.exit(any(each.problems for each in plans))


def _paper(
    wish: "Wish", within: IPv4Network, avoid: dict[str, IPv4Network], *, as_json: bool
) -> None:
    from scripts.plan.data import paper_data  # noqa: PLC0415 - see the head of the file
    from scripts.plan.paper import answer  # noqa: PLC0415 - see the head of the file
    from scripts.plan.text import paper_text  # noqa: PLC0415 - see the head of the file

    found = answer(wish, within=within, avoid=avoid)
    click.echo(json.dumps(paper_data(found), indent=2) if as_json else paper_text(found))
    sys.exit(bool(found.problem))


def _wish(accelerators: int, type_name: str | None, terms: dict[str, Any]) -> "Wish":
    from components.catalog import (  # noqa: PLC0415 - see the head of the file
        UnknownInstanceTypeError,
        instance_type,
    )
    from scripts.plan.paper import Wish  # noqa: PLC0415 - see the head of the file

    if type_name is None:
        raise UsageError("--accelerators needs --type, the instance type that carries them")
    try:
        kind = instance_type(type_name)
    except UnknownInstanceTypeError as error:
        raise UsageError(str(error)) from None
    if kind.accelerator is None:
        raise UsageError(f"{kind.name} has no accelerator; give a --type that has")
    wish = Wish(accelerators=accelerators, kind=kind, accelerator=kind.accelerator, **terms)
    if wish.zones > wish.blocks:
        raise UsageError(
            f"--zones {wish.zones} needs as many compute subnets, but a VPC has room for "
            f"{wish.blocks} beside the management network; use at most {wish.blocks}, or --raised"
        )
    return wish


def _network(option: str, text: str) -> IPv4Network:
    try:
        return IPv4Network(text)
    except ValueError:
        raise UsageError(
            f"{option} {text} is no block of IPv4 addresses; write it like 10.0.0.0/12, with no "
            "bits behind its length"
        ) from None


def _neighbours(texts: tuple[str, ...]) -> dict[str, IPv4Network]:
    found: dict[str, IPv4Network] = {}
    for text in texts:
        name, equals, block = text.partition("=")
        if not (name and equals):
            raise UsageError(f"--avoid {text} has no name; write it like office=10.0.0.0/12")
        if name in found:
            raise UsageError(f"--avoid names {name} twice; give each neighbour its own name")
        found[name] = _network(f"--avoid {name}:", block)
    return found
