"""What the toolchain tells while it works."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

__all__ = ["Event", "Plan", "Report", "State", "Step", "Task"]


class State(StrEnum):
    """How far a build is."""

    WAITING = "waiting"
    FETCHING = "fetching modules"
    BUILDING = "building"
    DONE = "done"
    HAVE = "have"
    FAILED = "failed"


@dataclass(frozen=True)
class Task:
    """One build, as a person knows it."""

    name: str
    version: str
    usual_seconds: int


@dataclass(frozen=True)
class Plan:
    """Told once, before the first step; nothing is told when nothing is to do."""

    tasks: tuple[Task, ...]
    have: int
    """How many more are there already."""

    logs: Path
    programs: Path
    cpus: int


@dataclass(frozen=True)
class Step:
    """Told when a task's state changes, and every second while it is being built."""

    task: Task
    state: State
    seconds: float = 0
    note: str = ""


Event = Plan | Step
Report = Callable[[Event], None]
