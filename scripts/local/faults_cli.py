"""``yard local fault``: make things go wrong on purpose."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any, cast

import click

from scripts.errors import UsageError
from scripts.local.home import Home, find_home
from scripts.local.target import faults, lifecycle, process
from scripts.local.target.faults import NODE_FAULTS, Fault
from scripts.local.target.files import read_json
from scripts.local.toolchain import ensure

__all__ = ["fault"]

API_KINDS = {"api-throttle": "throttle", "api-error": "error"}
RESTART = "apiserver-restart"
KINDS = [*NODE_FAULTS, *API_KINDS, RESTART]

OTHERS = {
    "api-throttle": "the AWS API throttles (--seconds, --service)",
    "api-error": "the AWS API answers with errors (--seconds, --service)",
    RESTART: "the Kubernetes API server goes away and comes back (--seconds)",
}


def _described(kinds: Mapping[str, str]) -> str:
    """Return one line a kind, as a block that click leaves as it is."""
    return "\n".join(["\b", *(f"{kind:<19}{text}" for kind, text in kinds.items())])


SET_HELP = f"""Set a fault.

Of nodes (--node, or --pool with --wave and --index):

{_described(NODE_FAULTS)}

Of what the nodes need:

{_described(OTHERS)}
"""


@click.group()
def fault() -> None:
    """Set, list and take back faults of nodes, of the AWS API and of the API server."""


@fault.command(
    "set",
    help=SET_HELP,
    epilog="Example: yard local fault set link --pool h100 --wave 2 --index 5",
)
@click.argument("kind", type=click.Choice(KINDS), metavar="KIND")
@click.option("--node", help="One node, by its name.")
@click.option("--pool", help="Nodes of this pool, also those still to come.")
@click.option("--wave", help="Only of this wave of the pool.")
@click.option("--index", type=click.IntRange(min=0), help="Only this node of the wave, from 0.")
@click.option("--service", help="api-*: only this AWS service, by its name in boto3.")
@click.option(
    "--seconds",
    type=click.FloatRange(min=0),
    default=30,
    show_default=True,
    help="api-*: how long; apiserver-restart: how long it stays down.",
)
def set_fault(
    kind: str,
    node: str | None,
    pool: str | None,
    wave: str | None,
    index: int | None,
    service: str | None,
    seconds: float,
) -> None:
    """Set a fault; ``SET_HELP`` is what ``--help`` says."""
    home = find_home()
    if kind in NODE_FAULTS:
        home.make()
        chosen = Fault(kind, node, pool, wave, index)
        faults.add(home.faults, chosen)
        click.echo(f"set: {chosen}")
    elif kind in API_KINDS:
        asked = {"kind": API_KINDS[kind], "service": service, "seconds": seconds}
        _simulator(home, "POST", asked)
        click.echo(f"set: {kind} of {service or 'every service'} for {seconds:g} s")
    else:
        _restart_apiserver(home, seconds)


def _restart_apiserver(home: Home, seconds: float) -> None:
    tools = ensure()
    with lifecycle.exclusive(home):
        if not process.stop(home, "kube-apiserver", grace=lifecycle.RESTART_GRACE_SECONDS):
            raise UsageError("kube-apiserver does not run; start it with `yard local up`")
    click.echo(f"kube-apiserver is down for {seconds:g} s", err=True)
    time.sleep(seconds)
    lifecycle.up(home, tools, lambda text: click.echo(text, err=True))


@fault.command("list", epilog="Example: yard local fault list --json")
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def list_faults(*, as_json: bool) -> None:
    """List the faults that are set."""
    home = find_home()
    nodes = faults.load(home.faults)
    api: list[dict[str, Any]] = []
    if process.find(home, "simulator"):
        api = _simulator(home, "GET")["faults"]
    if as_json:
        content = {"nodes": [vars(each) for each in nodes], "api": api}
        click.echo(json.dumps(content, indent=2))
        return
    for each in nodes:
        click.echo(str(each))
    for each in api:
        click.echo(f"api-{each['kind']} of {each.get('service') or 'every service'}")
    if not nodes and not api:
        click.echo("no faults are set")


@fault.command("clear", epilog="Example: yard local fault clear --kind dead")
@click.option("--kind", type=click.Choice(KINDS), help="Only this kind.")
@click.option("--node", help="Only those set for this node.")
@click.option("--pool", help="Only those set for this pool.")
@click.option("--wave", help="Only those set for this wave.")
@click.option("--index", type=click.IntRange(min=0), help="Only those set for this index.")
def clear_faults(
    kind: str | None, node: str | None, pool: str | None, wave: str | None, index: int | None
) -> None:
    """Take back the faults that were set as given; all of them when nothing is given."""
    home = find_home()
    given = {"kind": kind, "node": node, "pool": pool, "wave": wave, "index": index}
    matches = {name: value for name, value in given.items() if value is not None}
    for each in faults.clear(home.faults, matches) if home.faults.exists() else ():
        click.echo(f"cleared: {each}")
    if (not matches or kind in API_KINDS) and process.find(home, "simulator"):
        _simulator(home, "DELETE")
        click.echo("cleared: faults of the AWS API")


def _simulator(home: Home, method: str, content: object = None) -> dict[str, Any]:
    """Ask the simulator's own endpoint for faults."""
    if process.find(home, "simulator") is None:
        raise UsageError("the AWS simulator does not run; start it with `yard local up`")
    port = cast("dict[str, int]", read_json(home.ports))["simulator"]
    request = urllib.request.Request(
        f"http://127.0.0.1:{port}/trainyard/faults",
        data=None if content is None else json.dumps(content).encode(),
        method=method,
        headers={"Content-Type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 - as above
            told: dict[str, Any] = json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            problem = json.load(error)["error"]
        raise UsageError(f"the AWS simulator refused the fault: {problem}") from None
    return told
