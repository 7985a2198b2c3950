"""The pictures of a gate's verdict."""

from collections.abc import Mapping

from scripts.gate.verdict import WaveVerdict
from scripts.pictures.pairs import Pair, pairs
from scripts.verdicts import Verdict

__all__ = ["pair_map"]

PAIR = 2

JUDGED_BY_FLOOR = "all_reduce"
"""The collective that the floors of a gate's report speak of."""


def pair_map(
    verdict: WaveVerdict, places: Mapping[str, tuple[str, ...]] | None = None
) -> str | None:
    """Return the matrix of the pairs that a gate measured; None where it needed none."""
    measured = [
        Pair(*each.nodes, each.judgement.lowest_busbw)
        for each in verdict.measured
        if len(each.nodes) == PAIR and each.collective == JUDGED_BY_FLOOR
    ]
    floor = verdict.floors.get(f"{PAIR} nodes")
    if not measured or floor is None:
        return None
    return pairs(
        f"pool {verdict.pool} wave {verdict.wave} of {verdict.instance_type}, run {verdict.run}",
        [node.name for node in verdict.nodes],
        measured,
        reference=floor.busbw,
        bad=[node.name for node in verdict.nodes if node.verdict is Verdict.FAIL],
        places=places,
    )
