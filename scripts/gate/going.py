"""Which gates are on their way now, and which were interrupted, by what they keep. Pure."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, Final, cast

from scripts.gate.journal import SHELF as JOURNAL
from scripts.gate.lease import SHELF as LEASE
from scripts.gate.lease import SILENT_SECONDS
from scripts.gate.objects import Manifest, items, labels, mapping
from scripts.records.config_maps import KEY, KIND_LABEL, NAME_LABEL
from scripts.text import words

__all__ = ["IDLE", "Going", "Movement", "goings"]

MINUTE: Final = 60
HOUR: Final = 60 * MINUTE


class Movement(StrEnum):
    """What a gate does."""

    IDLE = "idle"
    RUNNING = "running"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Going:
    """A gate that began and has not ended.

    ``since``: when it began, or when it was last heard of where it kept nothing else. ``holder``:
    the machine and process of one that runs. ``pool`` and ``wave`` are empty where it kept too
    little to tell.
    """

    state: Movement
    run: str = ""
    since: str = ""
    holder: str = ""
    pool: str = ""
    wave: str = ""

    def line(self, pool: str, wave: str, now: datetime) -> str:
        """Return what a person reads about it, and may do."""
        spent = _spent(self.since, now)
        if self.state is Movement.RUNNING:
            where = f" ({self.holder})" if self.holder else ""
            time = f" has been running for {spent}" if spent else " is running"
            return f"run {self.run or 'without a name'}{time}{where}"
        began = f", which began {spent} ago," if spent else ""
        if not self.pool:
            return (
                f"run {self.run or 'without a name'}{began} was interrupted before it kept "
                "anything; begin anew with yard gate run"
            )
        return (
            f"run {self.run}{began} was interrupted; resume with "
            f"`yard gate resume --pool {pool} --wave {wave} …`"
        )

    def as_json(self) -> dict[str, Any]:
        """Return plain data."""
        shown = ("run", "since", "holder")
        return {"state": str(self.state), **{name: getattr(self, name) for name in shown}}


IDLE: Final = Going(state=Movement.IDLE)


def goings(kept: Iterable[Manifest], now: datetime) -> dict[str, Going]:
    """Return the gates that have not ended, by the place (``POOL-WAVE``) of their wave.

    Parameters
    ----------
    kept
        ConfigMaps of the gate's namespace, leases and journals among them.
    now
        Time by the clock of this machine. A lease that was not renewed for 45 seconds before it is
        of a gate that is dead; when it was renewed is told by the API server, so both clocks count.
    """
    leases: dict[str, Manifest] = {}
    headers: dict[str, Manifest] = {}
    for item in kept:
        known = labels(item)
        found = {LEASE: leases, JOURNAL: headers}.get(known.get(KIND_LABEL, ""))
        if found is not None and NAME_LABEL in known:
            found[known[NAME_LABEL]] = item
    # A journal has its header under the wave's place, and its answers under RUN.LABEL.PART.
    places = leases.keys() | {name for name in headers if "." not in name}
    return {place: _going(leases.get(place), headers.get(place), now) for place in places}


def _going(lease: Manifest | None, header: Manifest | None, now: datetime) -> Going:
    begun = _content(header)
    request = begun.get("request", {})
    holder = _content(lease)
    alive = lease is not None and _is_fresh(lease, now)
    return Going(
        state=Movement.RUNNING if alive else Movement.INTERRUPTED,
        run=str((holder if alive else request).get("run") or holder.get("run") or ""),
        since=str(begun.get("started") or (_written(lease) if lease else "") or ""),
        holder=f"process {holder['process']} on {holder['host']}"
        if alive and {"process", "host"} <= holder.keys()
        else "",
        pool=str(request.get("pool", "")),
        wave=str(request.get("wave", "")),
    )


def _content(item: Manifest | None) -> dict[str, Any]:
    """Return what a document says; nothing where it cannot be read, which its owner will say."""
    try:
        content = json.loads(mapping(item or {}, "data").get(KEY, ""))
    except ValueError:
        return {}
    return cast("dict[str, Any]", content) if isinstance(content, dict) else {}


def _is_fresh(lease: Manifest, now: datetime) -> bool:
    written = _time(_written(lease))
    return written is None or now - written < timedelta(seconds=SILENT_SECONDS)


def _written(item: Manifest) -> str:
    """Return when the API server wrote the object the last time."""
    changes = items(item, "metadata", "managedFields")
    made: str = mapping(item, "metadata").get("creationTimestamp") or ""
    return max(made, *(str(change.get("time") or "") for change in changes), "")


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def _spent(since: str, now: datetime) -> str:
    began = _time(since)
    if began is None:
        return ""
    seconds = max(0.0, (now - began).total_seconds())
    if seconds < MINUTE:
        return words(int(seconds), "second")
    if seconds < HOUR:
        return words(int(seconds // MINUTE), "minute")
    return f"{words(int(seconds // HOUR), 'hour')} {words(int(seconds % HOUR // MINUTE), 'minute')}"
