"""``yard config``: judge stack files without an engine."""

import json
from pathlib import Path

import click

from components.settings import SettingsError
from scripts.config.schema import schema as stack_schema
from scripts.config.stack_file import load
from scripts.errors import UsageError

__all__ = ["config"]


@click.group()
def config() -> None:
    """Judge stack files without an engine."""


@config.command(epilog="Example: yard config check Pulumi.prod.yaml")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--json", "as_json", is_flag=True, help="Print what was found as JSON.")
def check(files: tuple[Path, ...], *, as_json: bool) -> None:
    """Find every problem in stack FILES, with the text that `pulumi preview` would show.

    Exit codes: 0 all can be used, 2 something must be mended.
    """
    results = [_judge(file) for file in files]
    if as_json:
        click.echo(json.dumps([result for result, _ in results], indent=2))
    failed = [text for _, text in results if text]
    if not as_json:
        for result, text in results:
            if not text:
                click.echo(f"{result['file']}: nothing to fix")
                for gap in result["unchecked"]:
                    click.echo(f"  {gap}")
    if failed:
        raise UsageError("\n".join(failed))


@config.command(epilog="Example: yard config schema > schema/site.schema.json")
def schema() -> None:
    """Print the JSON Schema of a stack file."""
    click.echo(json.dumps(stack_schema(), indent=2))


def _judge(file: Path) -> tuple[dict[str, str | list[str] | list[dict[str, str]]], str]:
    """Return what was found in ``file``, and the message when it cannot be used."""
    try:
        settings = load(file)
    except SettingsError as error:
        problems = [{"path": problem.path, "text": problem.text} for problem in error.problems]
        return {"file": str(file), "problems": problems, "unchecked": []}, str(error)
    return {"file": str(file), "problems": [], "unchecked": settings.unchecked()}, ""
