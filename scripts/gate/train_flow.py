"""The flow of the small training: to the end, killed, resumed; then judged."""

from collections.abc import Callable, Iterable
from time import monotonic
from typing import Final

from scripts.errors import UnknownError
from scripts.gate.jobs import GateJob
from scripts.gate.ports import Cluster, JobResult, Progress
from scripts.gate.train import Attempt, TrainMaker
from scripts.gate.train_judge import TrainLog, TrainVerdict, judge, read_log
from scripts.verdicts import Verdict

__all__ = ["train"]

ORDER: Final[tuple[Attempt, ...]] = ("whole", "killed", "resumed")

WORDS: Final = {
    "whole": "training to the end",
    "killed": "training until the first node is killed",
    "resumed": "going on from the checkpoint",
}


def train(
    maker: TrainMaker,
    cluster: Cluster,
    progress: Progress,
    *,
    seconds: float,
    guard: Callable[[], None],
    clock: Callable[[], float] = monotonic,
) -> TrainVerdict:
    """Run the attempts, ``seconds`` at most for all, and judge what they say.

    ``guard`` is asked before each, and raises UnknownError when another training has the pool.

    Leaves none of its Jobs behind, also when it is stopped; where the API does not let them be
    deleted, they end by their own deadline.
    """
    logs: dict[Attempt, TrainLog] = {}
    problems: dict[Attempt, str] = {}
    end = clock() + seconds
    try:
        cluster.clean(maker.place)
        cluster.create([maker.service()])
        for attempt in ORDER:
            left = end - clock()
            if left <= 0:
                problems[attempt] = f"its {seconds:g} s are over"
                break
            guard()
            progress(f"{WORDS[attempt]} on {maker.nodes} nodes of pool {maker.pool}")
            result = _attempt(maker, cluster, attempt, left)
            if result.value is not None:
                logs[attempt] = result.value
                progress(result.value.said or "nothing was said")
            if result.problem:
                problems[attempt] = result.problem
                progress(result.problem)
            if _stops(attempt, logs):
                break
    except UnknownError as error:
        return TrainVerdict(
            Verdict.UNKNOWN,
            f"it could not go on: {error}",
            reports={attempt: log.report for attempt, log in logs.items()},
        )
    finally:
        _tidy(maker, cluster, progress)
    return judge(maker, logs, problems)


def _tidy(maker: TrainMaker, cluster: Cluster, progress: Progress) -> None:
    try:
        cluster.clean(maker.labels)
    except UnknownError as error:
        progress(f"its Jobs are left to end by themselves: {error}")


def _attempt(
    maker: TrainMaker, cluster: Cluster, attempt: Attempt, seconds: float
) -> JobResult[TrainLog]:
    job = maker.job(attempt, seconds)

    def read(_job: GateJob, lines: Iterable[str]) -> TrainLog:
        return read_log(lines)

    return cluster.run([job], seconds, read)[job.name]


def _stops(attempt: Attempt, logs: dict[Attempt, TrainLog]) -> bool:
    """Tell whether the next attempt would prove nothing."""
    log = logs.get(attempt)
    if log is None:
        return True
    if attempt == "killed":
        return log.killed is None
    return (log.report or {}).get("verdict") != Verdict.PASS
