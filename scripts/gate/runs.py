"""Reads the logs of a round of runs: judges each, remembers those over the wave, keeps the text."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from scripts.baseline.sample import Reading
from scripts.gate.history import History
from scripts.gate.jobs import GateJob
from scripts.gate.keep import Logs
from scripts.gate.ports import JobResult
from scripts.gate.results import by_node, run_judgement
from scripts.gate.stages import Round, Stage
from scripts.gate.sweep import without_floor
from scripts.nccl.expectation import Expectation
from scripts.nccl.judge import Judgement, judge
from scripts.nccl.log import parse

__all__ = ["RunReader"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReader:
    """Reads the logs of one round.

    Parameters
    ----------
    asked
        The round.
    expect
        What a Job's log must show.
    history
        Takes the runs over the whole wave: sweeps and, where the wave is one node, that node alone.
        At 1,024 nodes the others are thousands, and nothing is compared with them.
    logs
        Takes the text of all of them.
    lone
        Whether the wave is one node.
    """

    asked: Round
    expect: Callable[[GateJob], Expectation]
    history: History
    logs: Logs
    lone: bool = False

    def read(self, job: GateJob, lines: Iterable[str]) -> Judgement:
        """Return the judgement on a log, by the names of the job's nodes in order of rank."""
        text, expected = self.logs.tee(job, lines), self.expect(job)
        reading = Reading(text)
        log = parse(reading if self._whole else text)
        judgement = by_node(without_floor(judge(log, expected), expected), job)
        if self._whole:
            self.history.note(job, reading, log, judgement=judgement, expected=expected)
        return judgement

    def end(self, job: GateJob, result: JobResult[Judgement]) -> Judgement:
        """Return what came of a Job in the end; one that never ended is unknown, whatever it said.

        To be called for each Job once, after the last try to read its log.
        """
        judgement = run_judgement(result)
        self.history.settle(job, judgement)
        self.logs.close(job, judgement.verdict, always=self._whole)
        return judgement

    @property
    def _whole(self) -> bool:
        stage = self.asked.stage
        return stage is Stage.SWEEP or (self.lone and stage is Stage.ALONE)
