"""``yard local toolchain``: build what is missing, and list what there is."""

import json

import click

from scripts.local import toolchain as tools_of
from scripts.local.toolchain.tools import Program

__all__ = ["toolchain"]


@click.command(epilog="Example: yard local toolchain --json")
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
def toolchain(*, as_json: bool) -> None:
    """Build the programs of the embedded target that this machine lacks, and list all.

    Pulumi and its plugins are taken from the machine when it has them. The rest is built from
    Go modules into TRAINYARD_CACHE, once; progress goes to stderr.
    """
    programs = sorted(tools_of.ensure().programs.values(), key=lambda program: program.name)
    if as_json:
        click.echo(json.dumps([_facts(program) for program in programs], indent=2))
        return
    widths = [
        max(len(cell) for cell in column) for column in zip(*map(_row, programs), strict=True)
    ]
    for program in programs:
        cells = [cell.ljust(width) for cell, width in zip(_row(program), widths, strict=True)]
        click.echo("  ".join(cells).rstrip())


def _facts(program: Program) -> dict[str, str]:
    return {
        "name": program.name,
        "version": program.version,
        "origin": program.origin,
        "about": program.about,
        "path": str(program.path),
    }


def _row(program: Program) -> tuple[str, str, str, str]:
    return program.name, program.version, program.origin, program.about
