"""How the target is: a line per part, and one verdict."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import psutil
from rich import box
from rich.console import Group
from rich.table import Table
from rich.text import Text

from scripts.local.home import Home
from scripts.local.target import process
from scripts.local.target.health import Health, Verdict
from scripts.local.target.part import Part

__all__ = ["Line", "lines", "render", "verdict"]

REAL, STAND_IN = "real", "stand-in"
HOST = "127.0.0.1"

MINUTE, HOUR, DAY = 60, 3600, 86400
STYLES: dict[Verdict, str] = {"pass": "green", "fail": "red", "unknown": "yellow"}


@dataclass(frozen=True)
class Line:
    """What is told of one part."""

    part: str
    kind: str
    """``real`` or ``stand-in``."""

    version: str
    address: str
    pid: int | None
    health: Verdict
    detail: str
    uptime_seconds: int | None
    about: str

    def as_json(self) -> dict[str, Any]:
        """Give the line for ``--json``."""
        return asdict(self)


def lines(home: Home, parts: Sequence[Part]) -> list[Line]:
    """Look at all parts at once; a slow one does not hold up the others."""
    with ThreadPoolExecutor(len(parts)) as pool:
        return list(pool.map(partial(_line, home, time.time()), parts))


def _line(home: Home, now: float, part: Part) -> Line:
    record = process.find(home, part.name)
    health = part.probe() if record else Health("fail", "does not run")
    started: float | None = None
    if record:
        try:
            started = psutil.Process(record.pid).create_time()
        except psutil.NoSuchProcess:
            health = Health("fail", "has just ended")
    return Line(
        part=part.name,
        kind=REAL if part.real else STAND_IN,
        version=part.version,
        address=f"{HOST}:{part.port}" if part.port else "",
        pid=record.pid if record else None,
        health=health.verdict,
        detail=health.detail,
        uptime_seconds=None if started is None else max(0, int(now - started)),
        about=part.about,
    )


def verdict(all_lines: Sequence[Line]) -> Verdict:
    """Give fail if a part fails, else unknown if one is unknown, else pass."""
    seen = {line.health for line in all_lines}
    for worst in ("fail", "unknown"):
        if worst in seen:
            return worst
    return "pass"


def render(all_lines: Sequence[Line]) -> Group:
    """Lay the lines out for a terminal of 80 columns, with what is to be said below."""
    shown = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    for title in ("part", "kind", "version", "port", "pid", "health", "up"):
        shown.add_column(title, no_wrap=True)
    for line in all_lines:
        shown.add_row(
            line.part,
            line.kind,
            line.version,
            line.address.rpartition(":")[2],
            str(line.pid or ""),
            f"[{STYLES[line.health]}]{line.health}[/]",
            _duration(line.uptime_seconds),
        )
    ill = [f"{line.part}: {line.detail}" for line in all_lines if line.detail]
    simulated = [f"{line.part}: {line.about}" for line in all_lines if line.kind != REAL]
    notes = [*ill, f"Ports are of {HOST}. These stand in:", *(f"  {text}" for text in simulated)]
    return Group(shown, "", *(Text(note) for note in notes))


def _duration(seconds: int | None) -> str:
    if seconds is None:
        return ""
    for size, unit in ((DAY, "d"), (HOUR, "h"), (MINUTE, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
