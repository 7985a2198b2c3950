"""The stages of a proof, cheapest first, and the record of what each of them ran."""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from scripts.gate.isolate import MAX_ROUNDS, Outcome, Trial, Wave, next_round, outcome
from scripts.gate.ports import Progress
from scripts.gate.sweep import PLAIN, hard
from scripts.gate.topology import Group
from scripts.nccl.judge import Judgement
from scripts.text import words
from scripts.verdicts import Verdict

__all__ = ["Effort", "Measure", "Measurement", "Recorder", "Round", "Stage", "alone", "pairs"]


class Stage(StrEnum):
    """What a run was for."""

    ALONE = "alone"
    PAIRS = "pairs"
    SWEEP = "sweep"
    SEARCH = "search"


LABELS = {Stage.ALONE: "a", Stage.PAIRS: "p", Stage.SWEEP: "w", Stage.SEARCH: "s"}
"""Names of Jobs begin with these; the number of the round follows."""


@dataclass(frozen=True, slots=True)
class Round:
    """Runs of one collective over disjoint groups of nodes, side by side."""

    label: str
    stage: Stage
    collective: str
    groups: tuple[Group, ...]


@dataclass(frozen=True, slots=True)
class Measurement:
    """One run: in which round, of what, over whom, and what came of it."""

    round: str
    nodes: Group
    judgement: Judgement
    stage: Stage = Stage.SWEEP
    collective: str = PLAIN


Measure = Callable[[Round], list[Judgement]]
"""Runs a round; gives one judgement a group, in the same order."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """What a proof took: rounds, one after the other, and runs, side by side within a round."""

    node_tests: int = 0
    alone_rounds: int = 0
    alone_tests: int = 0
    pair_rounds: int = 0
    pair_tests: int = 0
    sweeps: int = 0
    search_rounds: int = 0
    search_tests: int = 0

    def as_json(self) -> dict[str, Any]:
        """Return plain data."""
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def of(cls, measured: Sequence[Measurement], node_tests: int) -> "Effort":
        """Count what was measured, and the Jobs of the node check."""
        tests = Counter(each.stage for each in measured)
        rounds = Counter(stage for stage, _ in {(each.stage, each.round) for each in measured})
        return cls(
            node_tests=node_tests,
            alone_rounds=rounds[Stage.ALONE],
            alone_tests=tests[Stage.ALONE],
            pair_rounds=rounds[Stage.PAIRS],
            pair_tests=tests[Stage.PAIRS],
            sweeps=tests[Stage.SWEEP],
            search_rounds=rounds[Stage.SEARCH],
            search_tests=tests[Stage.SEARCH],
        )


@dataclass(slots=True)
class Recorder:
    """Numbers rounds, runs them, and keeps what came of each."""

    measure: Measure
    progress: Progress
    measured: list[Measurement] = field(default_factory=list[Measurement])
    _rounds: Counter[Stage] = field(default_factory=Counter[Stage])

    def run(
        self, stage: Stage, groups: Sequence[Sequence[str]], collective: str = PLAIN
    ) -> list[Judgement]:
        """Run one round."""
        self._rounds[stage] += 1
        label = f"{LABELS[stage]}{self._rounds[stage]}"
        chosen = tuple(tuple(group) for group in groups)
        judgements = self.measure(Round(label, stage, collective, chosen))
        for group, judgement in zip(chosen, judgements, strict=True):
            self.measured.append(Measurement(label, group, judgement, stage, collective))
        return judgements

    def newest(self, stage: Stage, verdict: Verdict) -> dict[str, Judgement]:
        """Return, for each node, the newest judgement of this verdict on a run that it was in."""
        return {
            name: each.judgement
            for each in self.measured
            if each.stage is stage and each.judgement.verdict is verdict
            for name in each.nodes
        }


TRIES = 2
"""Equal results after which a node alone is told: what fails, or is unknown, is run once more."""


def alone(recorder: Recorder, nodes: Sequence[str]) -> dict[str, Judgement]:
    """Run all_reduce on each node by itself, and again where it did not pass.

    A wrong result fails at once, anything else by failing twice.
    """
    last: dict[str, Judgement] = {}
    seen: dict[str, Counter[Verdict]] = {name: Counter() for name in nodes}
    left = list(nodes)
    while left:
        recorder.progress(f"{PLAIN} on {words(len(left), 'node')}, each alone")
        judgements = recorder.run(Stage.ALONE, [(name,) for name in left])
        for name, judgement in zip(left, judgements, strict=True):
            last[name] = judgement
            seen[name][judgement.verdict] += 1
            if judgement.verdict is not Verdict.PASS:
                recorder.progress(f"  {name} alone: {judgement.summary}")
        left = [name for name in left if not _settled(last[name], seen[name])]
    return last


def _settled(last: Judgement, seen: Counter[Verdict]) -> bool:
    return last.verdict is Verdict.PASS or hard(last) or seen[last.verdict] >= TRIES


def _blaming(judgement: Judgement) -> Verdict:
    """Return the verdict as far as nodes may be blamed by it: a wrong placement blames none."""
    if judgement.verdict is Verdict.FAIL and not judgement.blames_nodes:
        return Verdict.UNKNOWN
    return judgement.verdict


def pairs(
    recorder: Recorder, wave: Wave, gone: Callable[[Collection[str]], set[str]]
) -> tuple[Outcome, list[Trial], set[str]]:
    """Measure pairs until nothing more can be learnt.

    Returns also the nodes that are ``gone``, which is asked when something is unknown: to wait for
    them again would only cost time.
    """
    trials: list[Trial] = []
    lost: set[str] = set()
    for number in range(1, MAX_ROUNDS + 1):
        chosen = next_round(wave, trials, lost)
        if not chosen:
            break
        recorder.progress(f"pairs, round {number}: {words(len(chosen), 'pair')} at once")
        judgements = recorder.run(Stage.PAIRS, chosen)
        for pair, judgement in zip(chosen, judgements, strict=True):
            trials.append(Trial(pair, _blaming(judgement), hard=hard(judgement)))
            if judgement.verdict is not Verdict.PASS:
                recorder.progress(f"  {' and '.join(pair)}: {judgement.summary}")
        unknown = {
            name
            for pair, judgement in zip(chosen, judgements, strict=True)
            if judgement.verdict is Verdict.UNKNOWN
            for name in pair
        }
        lost |= gone(unknown) if unknown else set()
    return outcome(wave, trials), trials, lost
