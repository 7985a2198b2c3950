"""``yard local``: the embedded target, started, looked at, disturbed and taken down."""

import json
import sys
import time
from pathlib import Path

import click
from rich.console import Console

from scripts.errors import FailedError, UnknownError
from scripts.local.env import Shell, environment, exports
from scripts.local.home import find_home
from scripts.local.lazy import LazyCommands
from scripts.local.stacks import place_of
from scripts.local.target import lifecycle, status
from scripts.local.target.part import REPOSITORY
from scripts.local.toolchain import ensure

__all__ = ["local"]


def say(text: str) -> None:
    """Tell progress on stderr, so that stdout holds results only."""
    click.echo(text, err=True)


@click.group(
    cls=LazyCommands,
    lazy={
        "fault": ("scripts.local.faults_cli", "fault"),
        "toolchain": ("scripts.local.toolchain.cli", "toolchain"),
    },
)
def local() -> None:
    """Run the whole of Trainyard on this machine, with no cloud account.

    A real Pulumi engine, a real Kubernetes control plane and Kueue; simulated nodes and a
    simulated AWS API. `yard local status` says what is real and what stands in.
    """


@local.command(epilog='Example: yard local up && eval "$(yard local env)" && pulumi preview')
def up() -> None:
    """Start what does not run yet, and wait until all is well."""
    home, started = find_home(), time.monotonic()
    lifecycle.up(home, ensure(), say)
    say(f"all is well after {time.monotonic() - started:.1f} s; state is in {home.root}")


@local.command(epilog="Example: yard local down --wipe")
@click.option("--wipe", is_flag=True, help="Give up the state as well: clusters, stacks, keys.")
def down(*, wipe: bool) -> None:
    """End every process of the target; its state stays for the next `up`."""
    lifecycle.down(find_home(), say, wipe=wipe)


@local.command("status", epilog="Example: yard local status --json")
@click.option("--json", "as_json", is_flag=True, help="Print the lines as JSON.")
def show_status(*, as_json: bool) -> None:
    """Say of each part whether it is real, and whether it is well.

    Exit code 0 when all are well, 1 when one is not, 3 when one did not answer.
    """
    home = find_home()
    if not home.ports.exists():
        raise FailedError(f"there is no target in {home.root}; make one with `yard local up`")
    found = status.lines(home, lifecycle.prepare(home, ensure()).parts)
    if as_json:
        click.echo(json.dumps([line.as_json() for line in found], indent=2))
    else:
        Console().print(status.render(found))
    bad = ", ".join(line.part for line in found if line.health != "pass")
    match status.verdict(found):
        case "fail":
            raise FailedError(f"not well: {bad}; start what is missing with `yard local up`")
        case "unknown":
            raise UnknownError(f"no answer in time: {bad}; look again, or see `yard local logs`")
        case "pass":
            pass


@local.command("env", epilog='Example: eval "$(yard local env --stack dev)"')
@click.option("--stack", default="local", show_default=True, help="Whose account is meant.")
@click.option("--shell", type=click.Choice(["sh", "fish"]), default="sh", show_default=True)
def show_env(stack: str, shell: Shell) -> None:
    """Print what makes plain `pulumi`, `aws` and `kubectl` work on the target."""
    place = place_of(REPOSITORY / f"Pulumi.{stack}.yaml")
    click.echo(exports(environment(find_home(), ensure(), place), shell), nl=False)


@local.command(epilog="Example: yard local logs kube-apiserver --lines 50")
@click.argument("part", required=False)
@click.option("--lines", "count", type=click.IntRange(min=1), default=20, show_default=True)
@click.option("--follow", is_flag=True, help="Wait for more; end with Ctrl-C.")
def logs(part: str | None, count: int, *, follow: bool) -> None:
    """Print the end of a part's log; without a part, name the logs."""
    folder = find_home().logs
    known = {path.stem: path for path in sorted(folder.glob("*.log"))}
    if part is None:
        for path in known.values():
            click.echo(path)
        return
    if part not in known:
        names = ", ".join(known) or "none yet"
        raise click.UsageError(f"there is no log of {part!r} in {folder}; there are: {names}")
    _print_log(known[part], count, follow=follow)


def _print_log(path: Path, count: int, *, follow: bool) -> None:
    with path.open(encoding="utf-8", errors="replace") as file:
        click.echo("".join(file.readlines()[-count:]), nl=False)
        while follow:
            click.echo(file.read(), nl=False)
            sys.stdout.flush()
            time.sleep(0.5)
