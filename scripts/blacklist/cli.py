"""``yard blacklist``: look at hardware that failed, add to it, take it off."""

import json
import re
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import click
from rapidfuzz import process
from rich.console import Console
from rich.table import Table

from scripts.blacklist.blacklist import Blacklist
from scripts.blacklist.entry import REASON_LENGTH, Cleared, Entry, Gpu
from scripts.blacklist.policy import Cause
from scripts.blacklist.store import SHELF, BlacklistStore
from scripts.errors import UsageError
from scripts.records.kubeconfig import kubeconfig_option, namespace_option, open_shelf

__all__ = ["blacklist"]

WIDE = 150
"""Columns of a table that no terminal shows: enough that a pipe gets whole lines."""

NEAREST = 3

_INSTANCE = re.compile(r"i-[0-9a-f]{8,17}")
_UUID = re.compile(r"GPU-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
_SERIAL = re.compile(r"[0-9A-Z]{8,20}")

_by = click.option("--by", required=True, envvar="USER", show_envvar=True, help="Who says so.")
_reason = click.option("--reason", required=True, help="Why; it is kept.")
_json = click.option("--json", "as_json", is_flag=True, help="Print the entries as JSON.")


@click.group()
def blacklist() -> None:
    """Hardware that failed a gate: who, why, and until when.

    Known by serial number or UUID of a GPU and by instance id, never by a node's name.
    """


@blacklist.command("list", epilog="Example: yard blacklist list --kubeconfig ~/.kube/config")
@click.option("--all", "everything", is_flag=True, help="Also what is over or was cleared.")
@kubeconfig_option
@namespace_option
@_json
def list_entries(*, everything: bool, kubeconfig: str, namespace: str, as_json: bool) -> None:
    """List what is on the blacklist."""
    now = datetime.now(tz=UTC)
    known = BlacklistStore(open_shelf(SHELF, kubeconfig, namespace)).read()
    entries = known.entries if everything else known.standing(now)
    if as_json:
        click.echo(json.dumps([_data(entry, now) for entry in entries], indent=1))
    elif entries:
        Console(width=None if sys.stdout.isatty() else WIDE).print(_table(entries, now))
    else:
        click.echo("the blacklist is empty")


@blacklist.command(
    epilog=(
        "Example: yard blacklist add --gpu 1651923012345 --instance i-0123456789abcdef0 "
        "--reason 'loses steps in training run 412'"
    )
)
@click.option("--gpu", "gpus", multiple=True, help="Serial number or UUID of a GPU; repeatable.")
@click.option("--instance", "instance_id", default="", help="Instance id.")
@click.option("--days", type=click.IntRange(min=1), help="How long; for ever without it.")
@_reason
@_by
@kubeconfig_option
@namespace_option
@_json
def add(
    *,
    gpus: tuple[str, ...],
    instance_id: str,
    days: int | None,
    reason: str,
    by: str,
    kubeconfig: str,
    namespace: str,
    as_json: bool,
) -> None:
    """Put hardware on the blacklist by hand."""
    problems = [*_subject_problems(gpus, instance_id), *_reason_problems(reason)]
    if problems:
        raise UsageError("; ".join(problems))
    now = datetime.now(tz=UTC).replace(microsecond=0)
    entry = Entry(
        schema=1,
        cause=Cause.MANUAL,
        reason=reason.strip(),
        instance_id=instance_id,
        gpus=tuple(map(_gpu, gpus)),
        by=by,
        at=now,
        until=now + timedelta(days=days) if days else None,
    )
    store = BlacklistStore(open_shelf(SHELF, kubeconfig, namespace))
    [added] = store.add(entry, keep_until=True)
    click.echo(json.dumps([_data(added, now)], indent=1) if as_json else str(added))


@blacklist.command(
    epilog="Example: yard blacklist clear 4f1c0a9be2d7 --reason 'host replaced, AWS case 123'"
)
@click.argument("what")
@_reason
@_by
@kubeconfig_option
@namespace_option
@_json
def clear(
    *, what: str, reason: str, by: str, kubeconfig: str, namespace: str, as_json: bool
) -> None:
    """Take WHAT off the blacklist: an entry, a GPU (serial number or UUID) or an instance.

    The gate tests the node again then; nothing opens by this alone.
    """
    if problems := list(_reason_problems(reason)):
        raise UsageError("; ".join(problems))
    now = datetime.now(tz=UTC).replace(microsecond=0)
    store = BlacklistStore(open_shelf(SHELF, kubeconfig, namespace))
    entries = _meant(store.read(), what, now)
    cleared = Cleared(at=now, by=by, reason=reason.strip())
    done = [store.clear(entry, cleared) for entry in entries]
    if as_json:
        click.echo(json.dumps([_data(entry, now) for entry in done], indent=1))
    else:
        for entry in done:
            click.echo(f"cleared {entry.id}: {entry.subject}: {cleared.reason}")


def _meant(known: Blacklist, what: str, now: datetime) -> list[Entry]:
    """Return the standing entries that ``what`` names."""
    gpu = _gpu(what)
    found = [
        entry
        for entry in known.standing(now)
        if what in {entry.id, entry.instance_id} or not entry.keys.isdisjoint(gpu.keys)
    ]
    if found:
        return found
    names = [
        name
        for entry in known.standing(now)
        for name in (entry.id, entry.instance_id, *map(str, entry.gpus))
        if name
    ]
    near = [match[0] for match in process.extract(what, names, limit=NEAREST, score_cutoff=60)]
    hint = f"; nearest: {', '.join(near)}" if near else ""
    raise UsageError(
        f"{what!r} is no entry, GPU or instance on the blacklist (yard blacklist list){hint}"
    )


def _subject_problems(gpus: tuple[str, ...], instance_id: str) -> list[str]:
    problems = [
        f"--gpu {word!r} is neither a serial number (8 to 20 digits or capitals) nor a UUID "
        "(GPU-01234567-…), as nvidia-smi --query-gpu=serial,uuid prints them"
        for word in gpus
        if not (_UUID.fullmatch(word) or _SERIAL.fullmatch(word))
    ]
    if instance_id and not _INSTANCE.fullmatch(instance_id):
        problems.append(f"--instance {instance_id!r} is no instance id (i-0123456789abcdef0)")
    if not gpus and not instance_id:
        problems.append("nothing was named; give --gpu, --instance or both")
    return problems


def _reason_problems(reason: str) -> list[str]:
    if not reason.strip():
        return ["--reason is empty; say why, for whoever reads it in a year"]
    if len(reason.strip()) > REASON_LENGTH:
        return [f"--reason has {len(reason.strip())} characters; {REASON_LENGTH} are kept"]
    return []


def _gpu(word: str) -> Gpu:
    return Gpu(uuid=word) if word.upper().startswith("GPU-") else Gpu(serial=word)


def _data(entry: Entry, now: datetime) -> dict[str, Any]:
    return {
        "id": entry.id,
        "holds": entry.holds(now),
        **entry.model_dump(mode="json", by_alias=True),
    }


def _table(entries: tuple[Entry, ...], now: datetime) -> Table:
    table = Table("Entry", "Hardware", "Node then", "Cause", "Since", "Until", "Reason", box=None)
    for entry in entries:
        time = f", time {entry.repeats + 1}" if entry.repeats else ""
        table.add_row(
            entry.id,
            entry.subject,
            entry.node,
            f"{entry.cause}{time}",
            f"{entry.at:%Y-%m-%d}",
            _end(entry, now),
            entry.reason,
        )
    return table


def _end(entry: Entry, now: datetime) -> str:
    if entry.cleared:
        return f"cleared {entry.cleared.at:%Y-%m-%d}"
    if entry.until is None:
        return "it is cleared"
    word = "" if entry.holds(now) else "over since "
    return f"{word}{entry.until:%Y-%m-%d}"
