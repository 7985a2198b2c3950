"""What a gate hands to the records: each run over its wave as it is read, all of them at its end.

Pairs and single nodes are not recorded: they say which node is bad, which is another question, and
would be hundreds of records.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from components.catalog import InstanceType
from scripts.baseline.record import Run, run_of
from scripts.baseline.sample import Reading, Sample
from scripts.baseline.setting import Setting, place, setting_of
from scripts.nccl.expectation import Expectation
from scripts.nccl.judge import Judgement
from scripts.nccl.log import Log

__all__ = ["Known", "Record", "Recorder"]


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
class _Seen:
    nodes: tuple[str, ...]
    sample: Sample
    judgement: Judgement
    expected: Expectation


@dataclass(slots=True)
class Recorder:
    """Collects the runs of one gate; a label names each."""

    run: str
    instance: InstanceType
    image: str
    _seen: dict[str, _Seen] = field(default_factory=dict[str, _Seen])

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
        self._seen[label] = _Seen(tuple(nodes), reading.sample(log), judgement, expected)

    def settle(self, label: str, judgement: Judgement) -> None:
        """Take what came of a run in the end: its log may be whole although it never ended."""
        if label in self._seen:
            self._seen[label] = replace(self._seen[label], judgement=judgement)

    def latest(self, collective: str, at: datetime, known: Known) -> Record | None:
        """Return the last run of a collective, also one without a number; None if there is none."""
        of = [label for label, each in self._seen.items() if each.expected.collective == collective]
        return self._record(of[-1], self._seen[of[-1]], at, known) if of else None

    def records(self, at: datetime, known: Known) -> tuple[Record, ...]:
        """Return all runs of which a number is known, in the order in which they were noted."""
        return tuple(
            self._record(label, seen, at, known)
            for label, seen in self._seen.items()
            if seen.sample.points
        )

    def _record(self, label: str, seen: _Seen, at: datetime, known: Known) -> Record:
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
            at=at,
            sample=seen.sample,
            judgement=seen.judgement,
            expected=seen.expected,
        )
        return Record(seen.expected.collective, seen.nodes, setting, run, seen.judgement)
