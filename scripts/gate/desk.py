"""What every part of a run works with: the request, the cluster, the journal, and the time left."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar

from pydantic import TypeAdapter

from scripts.errors import UnknownError
from scripts.gate.jobs import GateJob, JobMaker
from scripts.gate.journal import Journal
from scripts.gate.ports import Cluster, JobResult, NodeState, Progress
from scripts.gate.request import Clock, Request
from scripts.gate.tally import Tally
from scripts.verdicts import Verdict

__all__ = ["REGRESSION_PRIORITY", "Desk", "Judged"]

REGRESSION_PRIORITY: Final = "gate-regression"
"""Priority of Kueue that runs of the schedule have: below everything that people wait for."""

LEAST_SHARE: Final = 0.25
"""Part of a round's longest time that it gets at least. Limits are several times what a good round
takes: their rest is for pulling images, and for nodes that hang."""

NAMES: Final[TypeAdapter[set[str]]] = TypeAdapter(set[str])


class Judged(Protocol):
    """Whatever has one of the three verdicts."""

    @property
    def verdict(self) -> Verdict:
        """Pass, fail or unknown."""
        ...


J = TypeVar("J", bound=Judged)


def _never_lost() -> None:
    """Stand for a lease where nobody else can come."""


@dataclass(slots=True, kw_only=True)
class Desk:
    """One run's things. ``guard`` raises when another gate has taken the wave over."""

    request: Request
    cluster: Cluster
    progress: Progress
    clock: Clock = field(default_factory=Clock)
    journal: Journal = field(default_factory=Journal)
    tally: Callable[[Tally], None] = lambda _tally: None
    guard: Callable[[], None] = _never_lost
    maker: JobMaker = field(init=False)
    _deadline: float = field(init=False)
    _asked: Counter[str] = field(init=False, default_factory=Counter[str])

    def __post_init__(self) -> None:
        """Start the clock of the run."""
        request = self.request
        self._deadline = self.clock.monotonic() + request.timeout
        priority = {"priority": REGRESSION_PRIORITY} if request.regression else {}
        self.maker = JobMaker(
            run=request.run,
            pool=request.pool,
            wave=request.wave,
            namespace=request.namespace,
            image=request.image,
            instance=request.instance,
            queue=request.queue,
            **priority,
        )

    def left(self) -> float:
        """Return the seconds that are left of the run."""
        return self._deadline - self.clock.monotonic()

    def seconds(self, most: float) -> float:
        """Return how long a round may take that needs ``most`` seconds.

        Raises
        ------
        UnknownError
            If too little of the run's time is left: a round that is cut short tells nothing, and
            would be kept as if it had.
        """
        left = self.left()
        if left < most * LEAST_SHARE:
            raise UnknownError(
                f"of its {self.request.timeout:g} s {max(0, left):.0f} are left, and the next "
                f"round may take {most:.0f}; give it more with --timeout"
            )
        return min(most, left)

    def nodes(self) -> list[NodeState]:
        """Return the nodes of the pool without machines that are about to go."""
        without = self.request.without
        found = self.cluster.nodes(self.request.pool)
        return [node for node in found if node.provider_id not in without]

    def wave(self) -> list[NodeState]:
        """Return those of them that are of the wave."""
        return [node for node in self.nodes() if node.wave == self.request.wave]

    def once(self, label: str, ask: Callable[[], set[str]]) -> set[str]:
        """Ask for names of nodes; a resumed run gets the same answer again.

        ``label`` may be asked under more than once: the answers are numbered.
        """
        self._asked[label] += 1
        return self.journal.once(f"{label}{self._asked[label]}", NAMES, ask)

    def run(
        self,
        stage: str,
        round_: str,
        jobs: Sequence[GateJob],
        seconds: float,
        read: Callable[[GateJob, Iterable[str]], J],
        judge: Callable[[GateJob, JobResult[J]], J],
    ) -> list[J]:
        """Run a round of Jobs side by side; return a judgement on each, in order.

        ``judge`` is called once for each Job, with its nodes in the order of ranks.
        """
        self.guard()
        found: dict[str, J] = {}
        counts = Counter[Verdict]()

        def seen(job: GateJob, result: JobResult[J]) -> None:
            found[job.name] = judge(job, result)
            counts[found[job.name].verdict] += 1
            self._show(stage, round_, counts, len(jobs))

        self.told(stage, round_, (), len(jobs))
        self.cluster.run(jobs, seconds, read, seen)
        self.guard()
        return [found[job.name] for job in jobs]

    def told(self, stage: str, round_: str, found: Iterable[Judged], total: int) -> None:
        """Show how far a round is, also one that a resumed run only reads back."""
        self._show(stage, round_, Counter(each.verdict for each in found), total)

    def _show(self, stage: str, round_: str, counts: Counter[Verdict], total: int) -> None:
        known = (counts[Verdict.PASS], counts[Verdict.FAIL], counts[Verdict.UNKNOWN])
        self.tally(Tally(stage, round_, total, *known))
