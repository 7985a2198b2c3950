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

__all__ = ["Pending", "pending_creates", "recover", "stale_locks"]

Finder = Callable[[str, Mapping[str, Any]], str | None]


class Pending:
    """A creation that had begun when the engine ended."""

    def __init__(self, operation: Mapping[str, Any]) -> None:
        """Read one entry of the state's ``pending_operations``."""
        resource = operation["resource"]
        self.urn: str = resource["urn"]
        self.kind: str = resource["type"]
        self.inputs: Mapping[str, Any] = resource.get("inputs", {})


def pending_creates(state: Mapping[str, Any]) -> list[Pending]:
    """List the creations in ``state`` (of ``pulumi stack export``) that were not finished."""
    begun: list[dict[str, Any]] | None = state.get("deployment", {}).get("pending_operations")
    return [Pending(entry) for entry in begun or () if entry["type"] == "creating"]


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
        if owner["hostname"] == socket.gethostname() and not psutil.pid_exists(owner["pid"]):
            yield lock


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
    begun = pending_creates(engine.export())
    if not begun:
        return
    adopted: list[str] = []
    for pending in begun:
        name = pending.urn.rsplit("::", 1)[-1]
        found = find(pending.kind, pending.inputs)
        fate = f"adopting it as {found}" if found else "it does not exist, or is made again safely"
        click.echo(f"recovering: {name} ({pending.kind}) was being created: {fate}", err=True)
        if found:
            adopted += ["--import-pending-creates", pending.urn]
            adopted += ["--import-pending-creates", found]
    if engine.refresh(*adopted, "--clear-pending-creates"):
        raise FailedError(
            f"stack {engine.stack} could not be recovered after a killed update; "
            "read the engine's message above, mend it and run the command again"
        )
