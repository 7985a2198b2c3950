"""What the runs of a gate say about each node that had part in them. Pure."""

from collections.abc import Iterable

from scripts.gate.stages import Measurement
from scripts.text import names, words
from scripts.verdicts import Verdict

__all__ = ["evidence"]

MOST_SENTENCES = 8

FEW_NODES = 8
"""Larger runs say nothing of a node by name: everybody was in them."""


def evidence(measured: Iterable[Measurement]) -> dict[str, list[str]]:
    """Return, for each node, a sentence about each small run that did not pass with it.

    Runs that passed with it follow as far as there is room: they tell with whom it is good.
    """
    against: dict[str, list[str]] = {}
    others: dict[str, list[str]] = {}
    for each in measured:
        if len(each.nodes) <= FEW_NODES:
            kind = others if each.judgement.verdict is Verdict.PASS else against
            for node in each.nodes:
                kind.setdefault(node, []).append(_sentence(each, node))
    found: dict[str, list[str]] = {}
    for node, sentences in against.items():
        told = [*sentences, *others.get(node, ())]
        left = len(told) - MOST_SENTENCES
        found[node] = told[:MOST_SENTENCES] + ([f"{words(left, 'more run')}"] if left > 0 else [])
    return found


def _sentence(each: Measurement, node: str) -> str:
    company = [name for name in each.nodes if name != node]
    met = f" with {names(company)}" if company else " alone"
    reasons = each.judgement.reasons
    lines = reasons[0].lines if reasons else ()
    where = f" (line {', '.join(map(str, lines))} of its log)" if lines else ""
    told = f"{each.round}: {each.collective}{met}: {each.judgement.verdict}"
    return f"{told}: {each.judgement.summary}{where}"
