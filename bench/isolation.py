"""What it takes to find bad nodes: pairs before the sweep, as the gate does it, or after it.

Plays both orders against the same faults, without a cluster. Prints rounds, Jobs and node-minutes:
``used`` by Jobs, and ``held``, which is the whole wave from the first Job to the last verdict. The
minutes of a run are assumptions that stand below; they are the same for both orders. Takes seconds.

    .venv/bin/python bench/isolation.py
"""

import random
import sys
import time
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from scripts.gate.isolate import Wave, allowance
from scripts.gate.prove import Plan, prove
from scripts.gate.stages import Effort, Recorder, Round, Stage, alone, pairs
from scripts.gate.sweep import FULL_SWEEP
from scripts.nccl.judge import Judgement
from scripts.verdicts import Finding, Verdict

GOOD = Judgement(Verdict.PASS, (), 352.7)
SLOW = Judgement(Verdict.FAIL, (Finding("bandwidth", Verdict.FAIL, "below the floor"),), 100)
SILENT = Judgement(Verdict.UNKNOWN, (Finding("job", Verdict.UNKNOWN, "it did not end"),))

MINUTES = {Stage.ALONE: 1.5, Stage.PAIRS: 2.5, Stage.SWEEP: 4.0, Stage.SEARCH: 4.0}
"""Start of the pods, and five sizes up to 16 GiB: the rates are those of the recordings."""

HANG_MINUTES = {Stage.ALONE: 10, Stage.PAIRS: 10, Stage.SWEEP: 20, Stage.SEARCH: 20}
"""The gate's own limits."""


@dataclass
class Site:
    """Nodes, of which some have a slow link and some hang with others; and a bill of what ran."""

    count: int
    slow: Collection[str]
    hung: Collection[str]
    rounds: int = 0
    jobs: int = 0
    used: float = 0
    minutes: float = 0
    nodes: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.nodes = [f"n{number:04d}" for number in range(self.count)]

    def measure(self, asked: Round) -> list[Judgement]:
        """Judge a round and put it on the bill."""
        judgements = [self._judge(group) for group in asked.groups]
        took = [
            (HANG_MINUTES if judgement is SILENT else MINUTES)[asked.stage]
            for judgement in judgements
        ]
        self.rounds += 1
        self.jobs += len(took)
        self.used += sum(len(group) * each for group, each in zip(asked.groups, took, strict=True))
        self.minutes += max(took)
        return judgements

    def _judge(self, group: Sequence[str]) -> Judgement:
        if len(group) == 1:
            return GOOD
        if not set(self.hung).isdisjoint(group):
            return SILENT
        return GOOD if set(self.slow).isdisjoint(group) else SLOW

    def pairs_first(self) -> set[str]:
        """Prove as the gate does; return who opens."""
        plan = Plan(allowed=allowance(self.count))
        proof = prove(self.nodes, [], plan=plan, measure=self.measure, progress=lambda _: None)
        return set(proof.proven)

    def sweep_first(self) -> set[str]:
        """Sweep at once, and take pairs only when that fails; then sweep what they proved."""
        recorder = Recorder(self.measure, lambda _: None)
        alone(recorder, self.nodes)
        rest, told = list(self.nodes), False
        left = list(FULL_SWEEP)
        while left:
            [judgement] = recorder.run(Stage.SWEEP, [rest], left[0])
            if judgement.verdict is Verdict.PASS:
                left.pop(0)
            elif told:
                sys.exit("the sweep fails although the pairs passed")
            else:
                wave = Wave(rest, [], allowance(self.count), {})
                found, _, _ = pairs(recorder, wave, lambda _: set())
                rest, told = sorted(found.proven), True
        return set(rest)


def compare(count: int, slow: int, hung: int) -> None:
    """Print both bills for the same faults."""
    chance = random.Random(slow * 100 + hung)  # noqa: S311 - nothing is kept secret by it
    names = [f"n{number:04d}" for number in range(count)]
    bad = chance.sample(names, slow + hung)
    for order in ("pairs_first", "sweep_first"):
        site = Site(count, bad[:slow], bad[slow:])
        opened = getattr(site, order)()
        if opened != set(names) - set(bad):
            sys.exit(f"{order} opened {len(opened)} nodes of {count - len(bad)} good ones")
        print(
            f"{count:6d} {slow:5d} {hung:5d}  {order:12s} {site.rounds:7d} {site.jobs:6d} "
            f"{site.used:10.0f} {site.minutes:9.1f} {site.minutes * count:10.0f}"
        )


def growth() -> None:
    """Print how rounds and tests grow with the wave, for a fault that is there at every size."""
    print("\n  nodes  pair rounds  pair tests  sweeps  seconds of planning")
    for count in (16, 64, 256, 1024, 4096):
        started = time.perf_counter()
        site = Site(count, [f"n{number:04d}" for number in range(3, count, 64)][:16], [])
        plan = Plan(allowed=allowance(count))
        proof = prove(site.nodes, [], plan=plan, measure=site.measure, progress=lambda _: None)
        effort = Effort.of(proof.measured, 0)
        print(
            f"{count:7d} {effort.pair_rounds:12d} {effort.pair_tests:11d} {effort.sweeps:7d} "
            f"{time.perf_counter() - started:20.3f}"
        )


def main() -> None:
    """Compare both orders, from no fault to sixteen."""
    print(" nodes  slow  hung  order         rounds   Jobs  used n-min   minutes held n-min")
    for slow in (0, 1, 2, 4, 8, 16):
        compare(1024, slow, 0)
    compare(1024, 0, 1)
    compare(1024, 15, 1)
    growth()


if __name__ == "__main__":
    main()
