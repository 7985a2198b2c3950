"""What a gate hands to the records: each measurement as it is read, and all of them at its end.

Only what was measured over the largest group is kept, for each collective: the wave as a whole. Its
pairs say which node is bad, which is another question and would be hundreds of records.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from components.catalog import InstanceType
from scripts.baseline.compare import Comparison, compare
from scripts.baseline.record import Run, run_of
from scripts.baseline.rules import Rules
from scripts.baseline.sample import Reading, Sample
from scripts.baseline.setting import Setting, place, setting_of
from scripts.baseline.store import BaselineStore
from scripts.nccl.expectation import Expectation
from scripts.nccl.judge import Judgement
from scripts.nccl.log import Log
from scripts.verdicts import Verdict

__all__ = ["Record", "Recorder", "remember"]


@dataclass(frozen=True, slots=True)
class Record:
    """A run and its setting, ready to be kept; ``nodes`` are those that it ran on."""

    setting: Setting
    run: Run
    nodes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Seen:
    label: str
    nodes: tuple[str, ...]
    sample: Sample
    judgement: Judgement
    expected: Expectation


@dataclass(slots=True)
class Recorder:
    """Collects the measurements of one run of a gate."""

    run: str
    instance: InstanceType
    image: str
    _seen: dict[tuple[str, tuple[str, ...]], _Seen] = field(
        default_factory=dict[tuple[str, tuple[str, ...]], _Seen]
    )

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
        """Take a measurement, whose ``log`` was read through ``reading``."""
        seen = _Seen(label, tuple(nodes), reading.sample(log), judgement, expected)
        self._seen[label, seen.nodes] = seen

    @property
    def digests(self) -> dict[str, str]:
        """By node, the digest of the last log in which it failed: evidence for the blacklist."""
        failed = (seen for seen in self._seen.values() if seen.judgement.verdict is Verdict.FAIL)
        return {name: seen.sample.log for seen in failed for name in seen.nodes}

    def records(
        self,
        at: datetime,
        *,
        provider_ids: Mapping[str, str],
        facts: Mapping[str, Mapping[str, str]],
        places: Mapping[str, Sequence[str]] | None = None,
    ) -> tuple[Record, ...]:
        """Return what is worth keeping.

        Parameters
        ----------
        at
            When it was measured.
        provider_ids, facts, places
            By node: its provider id, what its check recorded, and the network nodes above it.
        """
        largest: dict[str, int] = {}
        for seen in self._seen.values():
            collective = seen.expected.collective
            largest[collective] = max(largest.get(collective, 0), len(seen.nodes))
        chosen = (
            seen
            for seen in self._seen.values()
            if len(seen.nodes) == largest[seen.expected.collective]
        )
        return tuple(self._record(seen, at, provider_ids, facts, places or {}) for seen in chosen)

    def _record(
        self,
        seen: _Seen,
        at: datetime,
        provider_ids: Mapping[str, str],
        facts: Mapping[str, Mapping[str, str]],
        places: Mapping[str, Sequence[str]],
    ) -> Record:
        where = place(
            [provider_ids.get(name, "") for name in seen.nodes],
            [places.get(name, ()) for name in seen.nodes],
        )
        setting = setting_of(
            self.instance,
            len(seen.nodes),
            seen.sample,
            image=self.image,
            where=where,
            facts=[facts.get(name, {}) for name in seen.nodes],
        )
        run = run_of(
            run=self.run,
            label=seen.label,
            at=at,
            sample=seen.sample,
            judgement=seen.judgement,
            expected=seen.expected,
        )
        return Record(setting, run, seen.nodes)


def remember(
    store: BaselineStore, records: Iterable[Record], limits: Rules | None = None
) -> tuple[tuple[Record, Comparison], ...]:
    """Keep each record, and say how it stands to the baseline of its setting.

    A rerun is kept after its first run under another label; both together are then compared by
    :func:`scripts.baseline.compare.compare`.
    """
    found: list[tuple[Record, Comparison]] = []
    for record in records:
        own, others = store.baselines(record.setting)
        found.append(
            (record, compare(record.setting, [record.run], own, others=others, limits=limits))
        )
        store.keep(record.setting, record.run)
    return tuple(found)
