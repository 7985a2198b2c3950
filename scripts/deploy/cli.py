"""``yard up``, ``yard preview``, ``yard down``."""

import os
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import click

from scripts.deploy.adoption import Finder
from scripts.deploy.engine import ROOT, Engine
from scripts.deploy.recovery import recover
from scripts.deploy.replacements import replacements, summary
from scripts.deploy.targets import TARGETS, choose
from scripts.errors import FailedError, UsageError
from scripts.local.env import environment
from scripts.local.home import find_home
from scripts.local.stacks import Place, place_of, seed_project, working_copy
from scripts.local.target import lifecycle
from scripts.local.toolchain import Origin, Tools, ensure

__all__ = ["down", "preview", "up"]

STAND_IN = "pulumi-resource-aws"

stack_argument = click.argument("stack", default="local")
target_option = click.option(
    "--target",
    type=click.Choice(TARGETS),
    default="auto",
    show_default=True,
    help="Where the stack runs; auto: AWS if this shell has credentials, else this machine.",
)


@dataclass(frozen=True)
class Deployment:
    """One stack, ready for the engine."""

    engine: Engine
    place: Place
    embedded: bool


def say(text: str) -> None:
    """Tell progress on stderr; stdout is the engine's."""
    click.echo(text, err=True)


@click.command(epilog="Examples: yard up | yard up dev --target embedded")
@stack_argument
@target_option
def up(stack: str, target: str) -> None:
    """Deploy STACK under the policy pack; run again, it changes nothing."""
    deployment = _prepare(stack, target)
    engine, started = deployment.engine, time.monotonic()
    recover(engine, Finder(engine.environment, deployment.place.region))
    # A simulated account may be left half changed; a real one is judged whole before.
    deploy = partial(engine.up, preview=not deployment.embedded)
    _run(deploy, f"stack {stack} was not deployed; read the engine's message above")
    say(f"stack {stack} is up after {time.monotonic() - started:.0f} s")


@click.command(epilog="Examples: yard preview prod | yard preview dev --target aws")
@stack_argument
@target_option
def preview(stack: str, target: str) -> None:
    """Show what deploying STACK would change, and how the policy pack judges it."""
    engine = _prepare(stack, target).engine
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "events"
        _run(
            partial(engine.preview, log),
            f"the preview of stack {stack} found what must be mended, see above",
        )
        for line in summary(replacements(log.read_text().splitlines())):
            say(line)


@click.command(epilog="Example: yard down")
@stack_argument
@target_option
def down(stack: str, target: str) -> None:
    """Destroy STACK; on the embedded target also end its processes."""
    deployment = _prepare(stack, target)
    engine = deployment.engine
    recover(engine, Finder(engine.environment, deployment.place.region))
    _run(engine.destroy, f"stack {stack} is not wholly destroyed; read the engine's message above")
    if deployment.embedded:
        lifecycle.down(find_home(), say, wipe=False)


def _prepare(stack: str, wanted: str) -> Deployment:
    """Judge the stack file, choose the target, make it ready, and select the stack."""
    file = ROOT / f"Pulumi.{stack}.yaml"
    place = place_of(file)
    target, reason = choose(stack, wanted, os.environ, Path.home())
    say(reason)
    tools = ensure()
    if target == "aws":
        _demand_real_provider(stack, tools)
        engine = Engine(tools.path("pulumi"), stack, os.environ, file)
        _demand_stack(engine)
    else:
        home = find_home()
        lifecycle.up(home, tools, say)
        variables = environment(home, tools, place)
        copy = working_copy(home, file)
        engine = Engine(tools.path("pulumi"), stack, {**os.environ, **variables}, copy)
        if not engine.exists():
            engine.read("-C", str(seed_project(home, ROOT)), "stack", "init")
    return Deployment(engine, place, embedded=target == "embedded")


def _demand_real_provider(stack: str, tools: Tools) -> None:
    if tools.programs[STAND_IN].origin is Origin.STAND_IN:
        raise UsageError(
            f"stack {stack} is to run on AWS, but this machine has only the stand-in of Pulumi's "
            "AWS plugin, which speaks to the embedded target alone; install the plugin "
            "(`pulumi plugin install resource aws`), or use --target embedded"
        )


def _demand_stack(engine: Engine) -> None:
    if not engine.exists():
        raise UsageError(
            f"the state backend has no stack {engine.stack}; make it once with a key of yours: "
            f"`pulumi stack init {engine.stack} --secrets-provider awskms://alias/NAME`"
        )


def _run(action: Callable[[], int], failed: str) -> None:
    code = action()
    sys.stdout.flush()
    if code:
        raise FailedError(failed)
