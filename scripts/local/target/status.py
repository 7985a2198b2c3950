"""How the target is: a line per part, and one verdict."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import psutil
from rich import box
from rich.table import Table

from scripts.local.home import Home
from scripts.local.target import process
from scripts.local.target.health import Health, Verdict
from scripts.local.target.part import Part

__all__ = ["Line", "lines", "table", "verdict"]

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
        kind="real" if part.real else "stand-in",
        version=part.version,
        address=f"127.0.0.1:{part.port}" if part.port else "",
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


def table(all_lines: Sequence[Line]) -> Table:
    """Lay the lines out for a terminal."""
    shown = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for title in ("part", "kind", "version", "address", "pid", "health", "up", "what it is"):
        shown.add_column(title, overflow="fold")
    for line in all_lines:
        health = f"[{STYLES[line.health]}]{line.health}[/]"
        shown.add_row(
            line.part,
            line.kind,
            line.version,
            line.address,
            str(line.pid or ""),
            f"{health} ({line.detail})" if line.detail else health,
            _duration(line.uptime_seconds),
            line.about,
        )
    return shown


def _duration(seconds: int | None) -> str:
    if seconds is None:
        return ""
    for size, unit in ((DAY, "d"), (HOUR, "h"), (MINUTE, "min")):
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
