"""How far the rounds of a gate are, as rows of a table. Pure."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final

__all__ = ["STAGES", "Row", "State", "Tally", "fitted", "listed", "taken"]

STAGES: Final = ("static", "dcgm", "alone", "pairs", "sweep", "storage")
"""Stages in the order in which a gate runs them; ``search`` comes only where a sweep fails."""


@dataclass(frozen=True, slots=True)
class Tally:
    """How many runs of a round have ended, and how.

    ``round`` is the number of the round, or what it runs: ``"1"``, ``"all_gather"``; empty where a
    stage has but one.
    """

    stage: str
    round: str
    total: int
    passed: int = 0
    failed: int = 0
    unknown: int = 0

    @property
    def ended(self) -> int:
        """Runs of which something is known."""
        return self.passed + self.failed + self.unknown


class State(StrEnum):
    """How a round stands."""

    WAITING = "waiting"
    RUNNING = "running"
    PASSED = "passed"
    FAILED = "failed"
    UNKNOWN = "unknown"
    STOPPED = "stopped"
    ABSENT = "not run"


@dataclass(frozen=True, slots=True)
class Row:
    """One round, or ``rounds`` of them in one row. Seconds are those of a monotonic clock."""

    tally: Tally
    began: float
    state: State
    rounds: int = 1
    end: float | None = None

    @property
    def name(self) -> str:
        """What was run: ``pairs, round 2``, ``sweep all_gather``, ``static``."""
        told = self.tally.round
        if told.isdecimal():
            return f"{self.tally.stage}, round {told}"
        return f"{self.tally.stage} {told}".rstrip()

    def seconds(self, now: float) -> float:
        """How long it took, or has taken so far."""
        return (now if self.end is None else self.end) - self.began


def taken(rows: Sequence[Row], tally: Tally, now: float) -> tuple[Row, ...]:
    """Return the rows with the newest tally in them; the same rows where it tells nothing new.

    A round that starts again gets a row of its own: that is one of which fewer runs have ended than
    before, or one that had ended and is told otherwise.
    """
    state = _state(tally)
    end = None if state is State.RUNNING else now
    for index in range(len(rows) - 1, -1, -1):
        row = rows[index]
        if (row.tally.stage, row.tally.round) == (tally.stage, tally.round):
            if tally == row.tally:
                return tuple(rows)
            if tally.ended < row.tally.ended or row.state is not State.RUNNING:
                break
            again = replace(row, tally=tally, state=state, end=end)
            return (*rows[:index], again, *rows[index + 1 :])
    return (*rows, Row(tally, now, state, end=end))


def listed(rows: Sequence[Row], stages: Sequence[str] = STAGES, *, over: bool) -> list[Row]:
    """Return the rows in the order in which they came, and what of ``stages`` has none.

    ``over``: nothing comes any more. Then what runs was stopped, and what waits is not run.
    """
    shown: list[Row] = []
    told: set[str] = set()
    for row in rows:
        before = stages[: stages.index(row.tally.stage)] if row.tally.stage in stages else ()
        shown += _without_runs(before, rows, told, State.ABSENT)
        stopped = over and row.state is State.RUNNING
        shown.append(replace(row, state=State.STOPPED) if stopped else row)
    return shown + _without_runs(stages, rows, told, State.ABSENT if over else State.WAITING)


def fitted(rows: Sequence[Row], room: int) -> list[Row]:
    """Return at most ``room`` rows.

    Older rounds of a stage share one; where that is not enough, what waits is left out, then what
    is oldest.
    """
    shown = list(rows)
    idle = {State.WAITING, State.ABSENT}
    while len(shown) > room:
        newest = max((i for i, row in enumerate(shown) if row.state not in idle), default=0)
        older = [i for i, row in enumerate(shown[:newest]) if row.end is not None]
        count = Counter(shown[index].tally.stage for index in older)
        stage, most = max(count.items(), key=lambda each: each[1], default=("", 0))
        if most < 2:  # noqa: PLR2004 - it takes two to share
            break
        first, second = [index for index in older if shown[index].tally.stage == stage][:2]
        shown[first] = _both(shown[first], shown.pop(second))
    while len(shown) > room and shown[-1].state is State.WAITING:
        shown.pop()
    return shown[-room:]


def _state(tally: Tally) -> State:
    if tally.ended < tally.total:
        return State.RUNNING
    if tally.failed:
        return State.FAILED
    return State.UNKNOWN if tally.unknown else State.PASSED


def _without_runs(
    stages: Sequence[str], rows: Sequence[Row], told: set[str], state: State
) -> list[Row]:
    """Return a row for each stage that no run was of, once."""
    run = {row.tally.stage for row in rows}
    missing = [stage for stage in stages if stage not in run and stage not in told]
    told |= set(missing)
    return [Row(Tally(stage, "", 0), 0, state) for stage in missing]


def _both(first: Row, second: Row) -> Row:
    one, other = first.tally, second.tally
    rounds = first.rounds + second.rounds
    tally = Tally(
        one.stage,
        f"{rounds} rounds",
        one.total + other.total,
        one.passed + other.passed,
        one.failed + other.failed,
        one.unknown + other.unknown,
    )
    spent = first.seconds(0) + second.seconds(0)
    return Row(tally, 0, _state(tally), rounds, end=spent)
