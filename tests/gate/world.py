"""Nodes in a network with faults, that answer a proof at once: verdicts without logs."""

import random
from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from scripts.gate.isolate import allowance
from scripts.gate.prove import Plan, Proof, prove
from scripts.gate.stages import Effort, Round
from scripts.gate.topology import Group, Place
from scripts.nccl.judge import Judgement
from scripts.verdicts import Finding, Verdict

GOOD = Judgement(Verdict.PASS, (), 352.7)
SLOW = Judgement(
    Verdict.FAIL, (Finding("bandwidth", Verdict.FAIL, "100 GB/s: below the floor"),), 100
)
WRONG = Judgement(Verdict.FAIL, (Finding("wrong-values", Verdict.FAIL, "results were wrong"),))
SOCKETS = Judgement(Verdict.FAIL, (Finding("transport", Verdict.FAIL, "transport is not EFA"),))
SILENT = Judgement(Verdict.UNKNOWN, (Finding("job", Verdict.UNKNOWN, "it did not end in time"),))

Fault = Callable[[Group, str], Judgement | None]
"""Says what a run of a collective over a group shows of a fault; None if it shows nothing."""


def faulty(name: str, judgement: Judgement, least: int = 1, most: int = 10**6) -> Fault:
    """Show in every group with this node that has between ``least`` and ``most`` nodes."""
    return lambda group, _: judgement if name in group and least <= len(group) <= most else None


def flaky(name: str, after: int, judgement: Judgement = SLOW) -> Fault:
    """Show once, in the run between nodes after so many others."""
    seen: Counter[str] = Counter()

    def fault(group: Group, _: str) -> Judgement | None:
        if name not in group or len(group) == 1:
            return None
        seen[name] += 1
        return judgement if seen[name] == after + 1 else None

    return fault


def slow_with(name: str, others: Collection[str]) -> Fault:
    """Show where this node meets one of the others."""
    return lambda group, _: SLOW if name in group and not {*others}.isdisjoint(group) else None


def slow_among(names: Collection[str], least: int) -> Fault:
    """Show where so many of these nodes meet: their switch carries no more."""
    return lambda group, _: SLOW if len({*names} & {*group}) >= least else None


def slow_beyond(names: Collection[str], least: int = 3) -> Fault:
    """Show where these nodes meet others, in groups too large for a pair: a slow uplink."""

    def fault(group: Group, _: str) -> Judgement | None:
        inside = len({*names} & {*group})
        return SLOW if 0 < inside < len(group) >= least else None

    return fault


@dataclass
class World:
    """So many nodes with faults.

    ``leaf`` of them hang on each switch, ``spine`` on each switch of the layer above; 0 where the
    network tells no places.
    """

    count: int
    leaf: int = 0
    spine: int = 0
    partners: int = 0
    faults: list[Fault] = field(default_factory=list)
    rounds: list[Round] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    gone: set[str] = field(default_factory=set)
    alone: bool = True
    collectives: tuple[str, ...] = ("all_reduce", "all_gather", "reduce_scatter", "alltoall")

    def __post_init__(self) -> None:
        self.nodes = [f"n{number:04d}" for number in range(self.count)]
        self.others = [f"open{number}" for number in range(self.partners)]
        self.places: dict[str, Place] = {}
        if self.leaf:
            for number, name in enumerate(self.nodes):
                spine, leaf = number // self.spine, number // self.leaf
                self.places[name] = ("nn-top", f"nn-s{spine}", f"nn-s{spine}-l{leaf}")

    def below(self, network_node: str) -> list[str]:
        return [name for name, place in self.places.items() if network_node in place]

    def measure(self, asked: Round) -> list[Judgement]:
        self.rounds.append(asked)
        met = [name for group in asked.groups for name in group]
        assert len(met) == len(set(met)), "a node cannot run two Jobs at once"
        assert asked.groups
        return [self.judge(group, asked.collective) for group in asked.groups]

    def judge(self, group: Group, collective: str) -> Judgement:
        seen = [found for fault in self.faults if (found := fault(group, collective))]
        failed = [found for found in seen if found.verdict is Verdict.FAIL]
        # A run that hangs shows nothing else.
        silent = [found for found in seen if found.verdict is Verdict.UNKNOWN]
        return (silent or failed or [GOOD])[0]

    def prove(self, failed_before: int = 0) -> tuple[Proof, Effort]:
        plan = Plan(
            allowed=allowance(self.count) - failed_before,
            places=self.places,
            collectives=self.collectives,
            alone=self.alone,
            lone=self.count == 1,
            gone=lambda names: self.gone & set(names),
        )
        proof = prove(
            self.nodes, self.others, plan=plan, measure=self.measure, progress=self.lines.append
        )
        return proof, Effort.of(proof.measured, 0)


def dice(seed: int) -> random.Random:
    """Return a source of chance that is the same at each run."""
    return random.Random(seed)  # noqa: S311 - nothing is kept secret by it
