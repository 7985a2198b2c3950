"""What a gate keeps of its runs over a wave, and what it makes of what equal runs reached before.

Records tell and warn; the floors judge. That they cannot be read or written changes no verdict, and
is told on one line.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from lightkube import ApiError

from components.catalog import InstanceType
from scripts.baseline.charts import write
from scripts.baseline.compare import Comparison, compare
from scripts.baseline.record import Baseline, Ledger, Run
from scripts.baseline.recorder import Known, Noted, Record, Recorder
from scripts.baseline.ruling import Weight, accepted, warnings, weigh
from scripts.baseline.sample import Reading
from scripts.baseline.setting import Setting
from scripts.baseline.store import BaselineStore, baselines_of
from scripts.errors import UnknownError, YardError
from scripts.gate.jobs import GateJob
from scripts.gate.ports import NodeState, Progress
from scripts.gate.stages import Measure, Measurement, Round, Stage
from scripts.gate.standouts import stand_outs
from scripts.gate.sweep import hard
from scripts.gate.verdict import WaveVerdict
from scripts.nccl.expectation import Expectation
from scripts.nccl.judge import Judgement
from scripts.nccl.log import Log
from scripts.node.judge import NodeJudgement
from scripts.text import words
from scripts.verdicts import Verdict, overall

__all__ = ["History", "HistoryOutcome", "Ruling", "known_of"]

AGAIN: Final = "r"
"""Names of Jobs that measure once more begin with it; the number of the rerun follows."""

OUT_OF_REACH: Final = (YardError, ApiError)
"""How a cluster's index and a bucket say that they do not answer, refuse, or hold nonsense."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What earlier runs add to the verdict on a wave; if it is not pass, why, and what to do."""

    verdict: Verdict = Verdict.PASS
    problem: str = ""
    next_step: str = ""


@dataclass(frozen=True, slots=True)
class HistoryOutcome:
    """What belongs into a report: each comparison as plain data, and what a person should read."""

    baselines: tuple[dict[str, Any], ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Compared:
    """A run that the wave passed by, its rerun if there was one, and how they stand.

    ``fault`` is the judgement on a rerun that showed what never passes by itself; ``note`` says why
    there is nothing to compare the run with.
    """

    record: Record
    found: Comparison
    again: Record | None = None
    fault: Judgement | None = None
    note: str = ""

    @property
    def subject(self) -> str:
        return f"{self.record.collective} over {words(len(self.record.nodes), 'node')}"

    @property
    def summary(self) -> str:
        return f"{self.subject}: {self.fault.summary if self.fault else self.found.summary}"

    def warnings(self) -> Iterator[str]:
        told = [*warnings(self.found), *([self.note] if self.note else [])]
        return (f"{self.subject}: {text}" for text in told)

    def as_json(self) -> dict[str, Any]:
        again = [self.again.run.id] if self.again else []
        return {
            "collective": self.record.collective,
            "nodes": len(self.record.nodes),
            "setting": self.record.setting.id,
            "runs": [self.record.run.id, *again],
            **self.found.as_json(),
        }


def known_of(states: Iterable[NodeState], checks: Mapping[str, NodeJudgement]) -> Known:
    """Return what the cluster and the checks of nodes say about them."""
    nodes = list(states)
    return Known(
        provider_ids={node.name: node.provider_id for node in nodes},
        facts={name: check.facts for name, check in checks.items()},
        places={node.name: node.place for node in nodes},
    )


@dataclass(slots=True, kw_only=True)
class History:
    """The records of one run of the gate. Without a ``store`` nothing is kept or compared.

    ``pictures`` is a folder for pictures of each setting that was measured.
    """

    store: BaselineStore | None
    run: str
    instance: InstanceType
    image: str
    progress: Progress
    weight: Weight = Weight.WARN
    pictures: Path | None = None
    _recorder: Recorder = field(init=False)
    _compared: list[_Compared] = field(default_factory=list[_Compared], init=False)
    _problems: list[str] = field(default_factory=list[str], init=False)
    _reruns: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self._recorder = Recorder(self.run, self.instance, self.image)

    def note(
        self,
        job: GateJob,
        reading: Reading,
        log: Log,
        *,
        judgement: Judgement,
        expected: Expectation,
    ) -> None:
        """Take a run over the wave, whose ``log`` was read through ``reading``."""
        self._recorder.note(
            self._label(job), job.nodes, reading, log, judgement=judgement, expected=expected
        )

    def settle(self, job: GateJob, judgement: Judgement) -> None:
        """Take what came of a run in the end; of one that was not noted nothing."""
        self._recorder.settle(self._label(job), judgement)

    def noted(self, asked: str) -> dict[str, Noted]:
        """Return what was noted of a round, for a gate that goes on when this one is stopped."""
        return self._recorder.noted(f"{asked}-")

    def restore(self, noted: Mapping[str, Noted]) -> None:
        """Take what was noted by the gate that this one goes on with."""
        self._recorder.restore(noted)

    def compare(
        self, at: datetime, known: Known, measure: Measure, measured: list[Measurement]
    ) -> Ruling:
        """Hold the runs that a wave passed by against their baselines; slow ones are run again.

        Parameters
        ----------
        at
            When they were measured.
        known
            What is known of the nodes.
        measure
            Runs a round.
        measured
            Where reruns are added.
        """
        if (ledgers := self._ledgers()) is None:
            return Ruling()
        for record in self._passing(at, known):
            rivals = baselines_of(ledgers, record.setting)
            found = _held(rivals, record.setting, [record.run])
            compared = _Compared(record, found)
            if found.rerun and (judgement := self._again(compared, measure, measured)):
                again = self._recorder.latest(record.collective, at, known)
                compared = _with_rerun(compared, judgement, again, rivals)
            self._compared.append(compared)
            if compared.found.baseline or list(compared.warnings()):
                self.progress(f"against its baseline: {compared.summary}")
        if new := [each.subject for each in self._compared if not each.found.baseline]:
            self.progress(f"no baseline of equal runs yet: {', '.join(new)}")
        return _ruling(self._compared, self.weight)

    def close(self, at: datetime, known: Known, verdict: WaveVerdict) -> HistoryOutcome:
        """Keep the runs of a wave whose ``verdict`` is known; only a passed one has candidates."""
        self._keep(self._recorder.records(at, known), verdict)
        drawn = self._draw()
        opened = {node.name for node in verdict.nodes if node.verdict is Verdict.PASS}
        told = [
            *(text for each in self._compared for text in each.warnings()),
            *stand_outs(verdict.measured, opened),
            *self._problems,
        ]
        for text in told:
            self.progress(f"warning: {text}")
        baselines = (
            {**each.as_json(), "pictures": drawn.get(each.record.setting.id, [])}
            for each in self._compared
        )
        return HistoryOutcome(tuple(baselines), tuple(told))

    def _label(self, job: GateJob) -> str:
        return job.name.removeprefix(f"gate-{self.run}-")

    def _ledgers(self) -> tuple[Ledger, ...] | None:
        if self.store is None:
            return None
        try:
            return self.store.ledgers()
        except OUT_OF_REACH as error:
            self._problems.append(f"no run was compared with a baseline: {error}")
            return None

    def _passing(self, at: datetime, known: Known) -> Iterable[Record]:
        """Return, for each collective, the run that the wave passed by: the last that did."""
        records = self._recorder.records(at, known)
        passed = {
            each.collective: each for each in records if each.judgement.verdict is Verdict.PASS
        }
        return passed.values()

    def _again(
        self, compared: _Compared, measure: Measure, measured: list[Measurement]
    ) -> Judgement | None:
        """Measure once more what was slow; None, and the reason told, where that cannot be."""
        record = compared.record
        self._reruns += 1
        asked = Round(f"{AGAIN}{self._reruns}", Stage.SWEEP, record.collective, (record.nodes,))
        self.progress(f"{compared.summary}; it is run once more")
        try:
            [judgement] = measure(asked)
        except UnknownError as error:
            self._problems.append(f"{compared.subject} could not be run once more: {error}")
            return None
        measured.append(
            Measurement(asked.label, record.nodes, judgement, asked.stage, asked.collective)
        )
        return judgement

    def _keep(self, records: Sequence[Record], verdict: WaveVerdict) -> None:
        if self.store is None:
            return
        runs = (
            (each.setting, accepted(each.run, verdict.verdict, verdict.message)) for each in records
        )
        try:
            problems = self.store.keep_all(runs)
        except OUT_OF_REACH as error:
            problems = (str(error),)
        if problems:
            self._problems.append(
                f"runs are missing from the records: {'; '.join(problems)}; what one of index and "
                "bucket has, yard baseline sync brings to both"
            )
        else:
            self.progress(f"{words(len(records), 'run')} kept: yard baseline list")

    def _draw(self) -> dict[str, list[str]]:
        """Draw each setting that was compared; returns the names of the files by its id."""
        wanted = {each.record.setting.id for each in self._compared}
        if self.pictures is None or self.store is None or not wanted:
            return {}
        drawn: dict[str, list[str]] = {}
        try:
            for ledger in self.store.ledgers():
                if ledger.setting.id in wanted:
                    files = write(ledger, self.pictures)
                    drawn[ledger.setting.id] = [file.name for file in files]
        except OUT_OF_REACH as error:
            self._problems.append(f"not every picture was drawn: {error}")
        return drawn


Rivals = tuple[Baseline | None, tuple[Baseline, ...]]
"""The baseline of a setting, and those of its shape on other stacks."""


def _held(rivals: Rivals, setting: Setting, runs: Sequence[Run]) -> Comparison:
    own, others = rivals
    return compare(setting, runs, own, others=others)


def _with_rerun(
    compared: _Compared, judgement: Judgement, again: Record | None, rivals: Rivals
) -> _Compared:
    """Return how a run stands together with its rerun, of which ``again`` is the newest record."""
    first = compared.record
    fault = judgement if hard(judgement) else None
    new = again is not None and again.run.label != first.run.label
    told = new and judgement.verdict is not Verdict.UNKNOWN
    if again is None or not told or again.setting != first.setting:
        note = f"run once more, it could not be compared ({judgement.verdict}: {judgement.summary})"
        return replace(compared, fault=fault, note=note)
    both = _held(rivals, first.setting, [first.run, again.run])
    return replace(compared, found=both, again=again, fault=fault)


def _ruling(compared: Sequence[_Compared], weight: Weight) -> Ruling:
    weighed = [(each, weigh(each.found, weight, fault=bool(each.fault))) for each in compared]
    verdict = overall(given for _, given in weighed)
    if verdict is Verdict.PASS:
        return Ruling()
    worst = [each for each, given in weighed if given is verdict]
    setting = worst[0].record.setting.id
    return Ruling(
        verdict,
        "; ".join(each.summary for each in worst),
        f"see since when: yard baseline show {setting} --pictures reports; mend it and run the "
        "gate again, or promote what is reached now, which --force and a reason allow",
    )
