"""What a gate hands to the records: each run over its wave as it is read, all of them at its end.

Pairs and single nodes are not recorded: they say which node is bad, which is another question, and
would be hundreds of records.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Final

from pydantic import TypeAdapter

from components.catalog import InstanceType
from scripts.baseline.record import Run, run_of
from scripts.baseline.sample import Reading, Sample
from scripts.baseline.setting import Setting, place, setting_of
from scripts.nccl.expectation import Expectation
from scripts.nccl.judge import Judgement
from scripts.nccl.log import Log

__all__ = ["NOTED", "Known", "Noted", "Record", "Recorder"]

STEP: Final = timedelta(microseconds=1)
"""What lies between the times of two runs of a gate: they are told at its end, in their order."""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of nodes, by name.

    Parameters
    ----------
    provider_ids
        Their provider ids: aws:///ZONE/INSTANCE.
    facts
        What the check of each recorded: kernel, driver, efa_driver.
    places
        The network nodes above each, from the widest on.
    """

    provider_ids: Mapping[str, str] = field(default_factory=dict[str, str])
    facts: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    places: Mapping[str, Sequence[str]] = field(default_factory=dict[str, Sequence[str]])


@dataclass(frozen=True, slots=True)
class Record:
    """A run and its setting, ready to be kept, and the judgement on it; it ran on ``nodes``."""

    collective: str
    nodes: tuple[str, ...]
    setting: Setting
    run: Run
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class Noted:
    """What is remembered of a run until its gate ends."""

    nodes: tuple[str, ...]
    sample: Sample
    judgement: Judgement
    expected: Expectation


NOTED: Final = TypeAdapter(dict[str, Noted])
"""Writes and reads what was noted, by label."""


@dataclass(slots=True)
class Recorder:
    """Collects the runs of one gate; a label names each."""

    run: str
    instance: InstanceType
    image: str
    _seen: dict[str, Noted] = field(default_factory=dict[str, Noted])

    def note(
        self,
        label: str,
        nodes: Sequence[str],
        reading: Reading,
        log: Log,
        *,
        judgement: Judgement,
        expected: Expectation,
    ) -> None:
        """Take a run, whose ``log`` was read through ``reading``; of two by one label the last."""
        self._seen[label] = Noted(tuple(nodes), reading.sample(log), judgement, expected)

    def settle(self, label: str, judgement: Judgement) -> None:
        """Take what came of a run in the end: its log may be whole although it never ended."""
        if label in self._seen:
            self._seen[label] = replace(self._seen[label], judgement=judgement)

    def noted(self, label: str) -> dict[str, Noted]:
        """Return what was noted of the runs whose labels begin so."""
        return {name: each for name, each in self._seen.items() if name.startswith(label)}

    def restore(self, noted: Mapping[str, Noted]) -> None:
        """Take what a gate had noted that was stopped."""
        self._seen |= noted

    def latest(self, collective: str, at: datetime, known: Known) -> Record | None:
        """Return the last run of a collective, also one without a number; None if there is none."""
        of = [
            index
            for index, each in enumerate(self._seen.values())
            if each.expected.collective == collective
        ]
        return self._record(of[-1], at, known) if of else None

    def records(self, at: datetime, known: Known) -> tuple[Record, ...]:
        """Return all runs of which a number is known, in the order in which they were noted."""
        return tuple(
            self._record(index, at, known)
            for index, seen in enumerate(self._seen.values())
            if seen.sample.points
        )

    def _record(self, index: int, at: datetime, known: Known) -> Record:
        label, seen = list(self._seen.items())[index]
        where = place(
            [known.provider_ids.get(name, "") for name in seen.nodes],
            [known.places.get(name, ()) for name in seen.nodes],
        )
        setting = setting_of(
            self.instance,
            len(seen.nodes),
            seen.sample,
            image=self.image,
            where=where,
            facts=[known.facts.get(name, {}) for name in seen.nodes],
        )
        run = run_of(
            run=self.run,
            label=label,
            at=at + index * STEP,
            sample=seen.sample,
            judgement=seen.judgement,
            expected=seen.expected,
        )
        return Record(seen.expected.collective, seen.nodes, setting, run, seen.judgement)
