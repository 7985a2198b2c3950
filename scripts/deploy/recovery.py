"""Bring a stack back after an update that was killed.

A killed engine leaves two things in the state: its lock, and the operations it had begun.
The lock of a process that is gone is taken away. A resource whose creation had begun may
exist without the state knowing its id: it is looked for by its name, its tags or its parts,
and adopted when it is there, so that the next update neither fails on a name that is taken
nor leaves an orphan behind. The operations of updates and deletions need nothing: the next
update reads the resource again and finishes them.
"""

import json
import socket
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import click
import psutil

from scripts.deploy.engine import Engine
from scripts.errors import FailedError

__all__ = ["pending_creates", "recover", "settle", "stale_locks"]

Finder = Callable[[str, Mapping[str, Any]], str | None]


def pending_creates(state: Mapping[str, Any]) -> list[dict[str, Any]]:
    """List the resources in ``state`` (of ``pulumi stack export``) whose creation had begun."""
    begun: list[dict[str, Any]] | None = state.get("deployment", {}).get("pending_operations")
    return [entry["resource"] for entry in begun or () if entry["type"] == "creating"]


def settle(state: Mapping[str, Any], found: Mapping[str, str]) -> dict[str, Any]:
    """Return `state` without begun creations; those in `found` (id by URN) become resources.

    Their outputs are their inputs until a refresh reads the rest. A resource that one of them
    was to replace is left to be deleted, as the engine would have done.
    """
    deployment = dict(state["deployment"])
    adopted = [
        {**resource, "id": found[resource["urn"]], "outputs": resource.get("inputs", {})}
        for resource in pending_creates(state)
        if resource["urn"] in found
    ]
    before = [
        {**resource, "delete": True} if resource["urn"] in found else resource
        for resource in deployment.get("resources") or ()
    ]
    pending = deployment.get("pending_operations") or ()
    deployment["resources"] = [*before, *adopted]
    deployment["pending_operations"] = [each for each in pending if each["type"] != "creating"]
    return {**state, "deployment": deployment}


def stale_locks(backend_url: str, stack: str) -> Iterator[Path]:
    """Yield the lock files of ``stack`` in a file backend whose process is gone.

    A lock of another host is never stale: nobody here can tell.
    """
    url = urlparse(backend_url)
    if url.scheme != "file":
        return
    root = Path(unquote(url.path)) / ".pulumi" / "locks"
    for lock in root.glob(f"**/{stack}/*.json"):
        owner = json.loads(lock.read_text())
        if owner["hostname"] == socket.gethostname() and not _runs(owner["pid"]):
            yield lock


def _runs(pid: int) -> bool:
    """Tell whether a process runs; one that nobody has taken note of yet is gone all the same."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def recover(engine: Engine, find: Finder) -> None:
    """Free the stack's lock and adopt or drop what a killed update had begun.

    Parameters
    ----------
    engine
        The stack.
    find
        Tells the id of a resource from its type token and its inputs, or None if it is
        not there.

    Raises
    ------
    FailedError
        If the engine could not take the resources over.
    """
    stale = list(stale_locks(engine.environment.get("PULUMI_BACKEND_URL", ""), engine.stack))
    if stale:
        click.echo("recovering: an earlier update was killed; taking its lock away", err=True)
        for lock in stale:
            lock.unlink(missing_ok=True)
    state = engine.export()
    begun = pending_creates(state)
    if not begun:
        return
    found: dict[str, str] = {}
    for resource in begun:
        name, kind = resource["urn"].rsplit("::", 1)[-1], resource["type"]
        identity = find(kind, resource.get("inputs", {}))
        fate = f"adopting {identity}" if identity else "not there, or safe to make again"
        click.echo(f"recovering: {name} ({kind}) was being created: {fate}", err=True)
        if identity:
            found[resource["urn"]] = identity
    engine.restore(settle(state, found))
    targets = [word for urn in found for word in ("--target", urn)]
    if targets and engine.refresh(*targets):
        raise FailedError(
            f"stack {engine.stack} could not be recovered after a killed update; "
            "read the engine's message above, mend it and run the command again"
        )
