"""What the gate needs of a cluster, so that the flow can be run against one in memory."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Generic, Protocol, TypeVar

from scripts.gate.jobs import GateJob
from scripts.gate.objects import Manifest

__all__ = [
    "SHUT_AGAIN",
    "Cluster",
    "Condition",
    "JobResult",
    "Mark",
    "NodeState",
    "Progress",
    "ignore",
]

T = TypeVar("T")

SHUT_AGAIN: Final = "is proved again"
"""Reason on an open node that is shut for a test: by it the next gate knows that it was open."""

Progress = Callable[[str], None]
"""Takes one line for a person who watches."""


class Mark(StrEnum):
    """What is written on a node: open it, keep it out as bad, or keep it out as not known."""

    OPEN = "passed"
    REFUSE = "failed"
    HOLD = "unknown"


@dataclass(frozen=True, slots=True)
class Condition:
    """What a condition of a node says: its status (``True``, ``False`` or ``Unknown``), and why."""

    status: str
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeState:
    """A node as the API shows it.

    ``passed``: an earlier gate opened it and it carries no taint. ``was_open``: so it was until a
    gate shut it to test it again, which has not said anything of it since. ``devices``: how many of
    each extended resource it offers. ``place``: the network nodes above it, from the widest on;
    empty where EC2 tells none. ``conditions``: the node's conditions, by type.
    """

    name: str
    instance_type: str
    provider_id: str
    wave: str
    ready: bool
    passed: bool
    devices: Mapping[str, int]
    place: tuple[str, ...] = ()
    conditions: Mapping[str, Condition] = field(default_factory=dict[str, Condition])
    was_open: bool = False


@dataclass(frozen=True, slots=True)
class JobResult(Generic[T]):
    """What the log of a Job was read as, or why there is none. Both: the log of one that hung."""

    value: T | None
    problem: str = ""


def ignore(_job: GateJob, _result: JobResult[Any]) -> None:
    """Look at no result before all are there."""


class Cluster(Protocol):
    """A Kubernetes API, as far as the gate uses it."""

    def nodes(self, pool: str) -> list[NodeState]:
        """Return the nodes of a pool, in order of name."""
        ...

    def busy(self, names: Collection[str]) -> set[str]:
        """Return those of the nodes that hold a pod with GPUs, or are lent to a gate."""
        ...

    def create(self, manifests: Sequence[Manifest]) -> None:
        """Create objects; what exists already is left as it is."""
        ...

    def run(
        self,
        jobs: Sequence[GateJob],
        seconds: float,
        read: Callable[[GateJob, Iterable[str]], T],
        seen: Callable[[GateJob, JobResult[T]], None] = ignore,
    ) -> dict[str, JobResult[T]]:
        """Run Jobs side by side for ``seconds`` at most, read their logs, and delete them.

        ``read`` and ``seen`` get each Job with its nodes in the order of ranks; ``seen`` is called
        as soon as a result is there.
        """
        ...

    def borrow(self, names: Sequence[str], most: int, run: str, seconds: float) -> set[str]:
        """Borrow nodes for a run, ``most`` of them at most; leave those that another one has."""
        ...

    def give_back(self, names: Collection[str], run: str) -> None:
        """End the loans of these nodes to a run."""
        ...

    def mark(self, name: str, mark: Mark, reason: str) -> None:
        """Write on a node what came of it, and open or shut it."""
        ...

    def store(self, name: str, verdict: Mapping[str, Any]) -> None:
        """Keep a verdict as a ConfigMap of this name."""
        ...

    def clean(self, selector: Mapping[str, str]) -> None:
        """Delete all Jobs and MPIJobs with these labels, and what they own."""
        ...
