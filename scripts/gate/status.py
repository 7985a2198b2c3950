"""How the waves of a cluster stand: the last verdict, the nodes now, a gate on its way. Pure."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from scripts.gate.cluster import GATE_LABEL, REASON, node_state
from scripts.gate.going import IDLE, Going, Movement, goings
from scripts.gate.jobs import POOL_LABEL, WAVE_LABEL
from scripts.gate.objects import Manifest, labels, mapping
from scripts.gate.ports import Mark
from scripts.text import names
from scripts.verdicts import Verdict

__all__ = ["OutNode", "WaveStatus", "shown", "wave_statuses", "worst"]

PREFIX = "gate-"
FAILED = Mark.REFUSE.value

SYSTEM = "system"
"""The pool that no gate judges."""


@dataclass(frozen=True, slots=True)
class OutNode:
    """A node that is not open, and why: what the gate wrote on it, or that none has come to it."""

    name: str
    mark: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WaveStatus:
    """One wave: its nodes and its gate now, and the last verdict (empty when no gate ended yet)."""

    pool: str
    wave: str
    nodes: int
    ready: int
    open: int
    out: tuple[OutNode, ...]
    verdict: str
    message: str
    run: str
    ended: str
    going: Going = IDLE

    def as_json(self) -> dict[str, Any]:
        """Return plain data."""
        plain = {name: getattr(self, name) for name in self.__dataclass_fields__}
        out = [{"name": each.name, "mark": each.mark, "reason": each.reason} for each in self.out]
        return {**plain, "out": out, "going": self.going.as_json()}


def wave_statuses(
    nodes: Iterable[Manifest], kept: Iterable[Manifest], now: datetime
) -> list[WaveStatus]:
    """Return the waves that have nodes, or a gate that has not ended, by pool and wave.

    Parameters
    ----------
    nodes
        Node objects of the cluster, also such as belong to no pool.
    kept
        ConfigMaps of the gate's namespace; those that hold no verdict, no lease and no journal are
        passed over.
    now
        Tells whether a gate that has not ended still lives, see :func:`scripts.gate.going.goings`.
    """
    maps = list(kept)
    verdicts = dict(_verdicts(maps))
    moving = goings(maps, now)
    waves: dict[tuple[str, str], list[Manifest]] = {}
    for node in nodes:
        known = labels(node)
        pool, wave = known.get(POOL_LABEL, SYSTEM), known.get(WAVE_LABEL)
        if pool != SYSTEM and wave is not None:
            waves.setdefault((pool, wave), []).append(node)
    for each in moving.values():
        if each.pool:
            waves.setdefault((each.pool, each.wave), [])
    return [
        _status(*place, members, verdicts.get(place, {}), moving.get("-".join(place), IDLE))
        for place, members in sorted(
            waves.items(), key=lambda each: (each[0][0], _order(each[0][1]))
        )
    ]


def worst(statuses: Iterable[WaveStatus]) -> Verdict:
    """Return fail if a wave failed, pass if each passed and has an open node, else unknown.

    A wave over which a gate has not ended is not known, unless it had failed before.
    """
    seen = list(statuses)
    if any(each.verdict == Verdict.FAIL.value for each in seen):
        return Verdict.FAIL
    if seen and all(_is_passed(each) for each in seen):
        return Verdict.PASS
    return Verdict.UNKNOWN


def shown(waves: Iterable[WaveStatus], now: datetime) -> Iterator[RenderableType]:
    """Return a table of the waves, and below it a line for each gate and node that needs one."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in ("pool", "wave", "nodes", "ready", "open", "verdict", "ended", "run", "now"):
        table.add_column(heading)
    lines: list[str] = []
    for wave in waves:
        counts = map(str, (wave.nodes, wave.ready, wave.open))
        said = (wave.verdict or "none yet", wave.ended[:16].replace("T", " "), wave.run)
        going = "" if wave.going.state is Movement.IDLE else wave.going.state.value
        table.add_row(wave.pool, wave.wave, *counts, *said, going)
        about = f"{wave.pool} wave {wave.wave}"
        if going:
            lines.append(f"{about}: {wave.going.line(wave.pool, wave.wave, now)}")
        lines += [f"{about}: {line}" for line in _out_lines(wave.out)]
    yield table
    yield from (Text(line) for line in lines)


def _out_lines(out: Iterable[OutNode]) -> Iterator[str]:
    """Yield a line for each reason, what failed first: a wave may have a thousand of one kind."""
    sharing: dict[tuple[str, str], list[str]] = {}
    for node in out:
        sharing.setdefault((node.mark, node.reason), []).append(node.name)
    for (mark, reason), who in sorted(sharing.items(), key=lambda each: each[0][0] != FAILED):
        verb = "is" if len(who) == 1 else "are"
        yield f"{names(who)} {verb} out ({mark}): {reason}"


def _is_passed(wave: WaveStatus) -> bool:
    still = wave.going.state is Movement.IDLE
    return still and wave.verdict == Verdict.PASS.value and wave.open > 0


def _status(
    pool: str, wave: str, members: list[Manifest], verdict: dict[str, Any], going: Going
) -> WaveStatus:
    states = [node_state(node) for node in members]
    return WaveStatus(
        pool=pool,
        wave=wave,
        nodes=len(states),
        ready=sum(state.ready for state in states),
        open=sum(state.passed for state in states),
        out=tuple(sorted(_out(members), key=lambda each: each.name)),
        verdict=str(verdict.get("verdict", "")),
        message=str(verdict.get("message", "no gate has ended on this wave")),
        run=str(verdict.get("run", "")),
        ended=str(verdict.get("ended") or ""),
        going=going,
    )


def _out(members: Iterable[Manifest]) -> Iterator[OutNode]:
    for node in members:
        if not node_state(node).passed:
            mark = labels(node).get(GATE_LABEL, "")
            reason = mapping(node, "metadata").get("annotations", {}).get(REASON, "")
            if mark == Mark.OPEN.value:
                reason = "passed, and was tainted again by somebody else"
            yield OutNode(node["metadata"]["name"], mark or "untested", reason or "not tested yet")


def _verdicts(kept: Iterable[Manifest]) -> Iterator[tuple[tuple[str, str], dict[str, Any]]]:
    for item in kept:
        data: dict[str, str] = item.get("data") or {}
        if item["metadata"]["name"].startswith(PREFIX) and "verdict.json" in data:
            verdict: dict[str, Any] = json.loads(data["verdict.json"])
            yield (str(verdict["pool"]), str(verdict["wave"])), verdict


def _order(wave: str) -> tuple[int, str]:
    """Return the place of a wave among its pool's: waves are numbers, or at least sort."""
    return (int(wave), "") if wave.isdigit() else (1 << 31, wave)
