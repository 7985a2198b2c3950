"""Names nodes that passed and are still slower than the rest of their wave. Pure.

They are above their floor, so nobody is blamed and they open; a person may want to know them.
"""

from collections.abc import Collection, Iterator, Sequence

from scripts.baseline.outliers import outliers
from scripts.baseline.rules import WaveRules
from scripts.gate.stages import Measurement, Stage
from scripts.text import names
from scripts.verdicts import Verdict

__all__ = ["stand_outs"]

WORDS = {Stage.ALONE: "alone", Stage.PAIRS: "in pairs"}
"""The stages in which all nodes do the same, so that they can be compared."""


def stand_outs(
    measured: Sequence[Measurement], nodes: Collection[str], limits: WaveRules | None = None
) -> tuple[str, ...]:
    """Say which of the ``nodes`` stand out, by the best that each of them reached.

    The best: who was slow once, in a pair that another node slowed down, is not meant.
    """
    return tuple(text for stage in WORDS for text in _of_stage(stage, measured, nodes, limits))


def _of_stage(
    stage: Stage,
    measured: Sequence[Measurement],
    nodes: Collection[str],
    limits: WaveRules | None,
) -> Iterator[str]:
    best: dict[str, tuple[float, Measurement]] = {}
    for each in measured:
        reached = each.judgement.lowest_busbw
        if each.stage is stage and each.judgement.verdict is Verdict.PASS and reached is not None:
            for name in each.nodes:
                if name not in best or reached > best[name][0]:
                    best[name] = reached, each
    found = outliers({name: reached for name, (reached, _) in best.items()}, limits=limits)
    told: set[int] = set()
    for name, why in found.suspects.items():
        _, run = best[name]
        if name in nodes and id(run) not in told:
            told.add(id(run))
            alike = [other for other in run.nodes if best[other][1] is run and other in nodes]
            either = "" if len(alike) == 1 else " (one of them)"
            yield (
                f"{names(alike)}{either} {WORDS[stage]}: {run.collective}, in GB/s, {why}; above "
                "the floor, so nobody is blamed"
            )
