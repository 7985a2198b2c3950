"""Holds the nodes of a wave against each other: versions and settings must be the same. Pure.

A difference is a fault of the wave and never of a node's hardware: an image, a launch template or
a rolling update that has not ended. Who is in the minority is named, nobody where there is none.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from scripts.node.judge import NodeJudgement
from scripts.text import names, words
from scripts.verdicts import Finding, Verdict

__all__ = ["OF_ONE_NODE", "Difference", "compare", "findings", "lacking", "twins"]

OF_ONE_NODE = frozenset({"instance_id"})
"""Facts that differ between nodes, as they must."""

TOGETHER = {
    "driver": "run nodes of one image release only: replace those that have another driver",
    "kernel": "run nodes of one image release only: replace those that have another kernel",
    "machine": "take nodes of one instance type into a wave",
    "vbios": "replace the instances that have another firmware, or judge the wave by it",
}
MEND = "mend what sets it (image, launch template, bootstrap) and make these nodes anew"


@dataclass(frozen=True, slots=True)
class Difference:
    """A fact in which nodes differ. ``odd`` are the nodes of the minority, if there is one."""

    fact: str
    values: Mapping[str, tuple[str, ...]]
    usual: str | None
    odd: tuple[str, ...]

    def __str__(self) -> str:
        """Say what is usual and who has what instead."""
        if self.usual is None:
            parts = [f"{words(len(nodes), 'node')} {value}" for value, nodes in self.values.items()]
            return f"{self.fact} differs, and no value is usual: {', '.join(parts)}"
        count = len(self.values[self.usual])
        others = [
            f"{names(nodes)} {value}" for value, nodes in self.values.items() if value != self.usual
        ]
        return f"{self.fact} is {self.usual} on {words(count, 'node')}, but {'; '.join(others)}"


def compare(facts: Mapping[str, Mapping[str, str]]) -> tuple[Difference, ...]:
    """Return every fact in which nodes differ, by node name; what a node lacks is no difference."""
    known = sorted({fact for told in facts.values() for fact in told} - OF_ONE_NODE)
    return tuple(found for fact in known if (found := _difference(fact, facts)) is not None)


def findings(judgements: Mapping[str, NodeJudgement]) -> Iterator[Finding]:
    """Judge a wave by the captures of its nodes.

    Facts that only some nodes tell are unknown; a GPU that two nodes claim is a copied capture.
    """
    facts = {node: judgement.facts for node, judgement in judgements.items()}
    for found in compare(facts):
        step = TOGETHER.get(found.fact, MEND)
        yield Finding(f"wave-{found.fact}", Verdict.FAIL, str(found), step)
    for fact, nodes in lacking(facts).items():
        message = f"{names(nodes)} {_does(nodes)} not tell {fact}, and others do"
        yield Finding(f"wave-{fact}", Verdict.UNKNOWN, message, "capture these nodes again")
    for nodes in twins(judgements):
        yield Finding(
            "wave-gpus",
            Verdict.UNKNOWN,
            f"{names(nodes)} name the same GPUs: one capture is a copy of another",
            "capture each node by itself",
        )


def lacking(facts: Mapping[str, Mapping[str, str]]) -> dict[str, tuple[str, ...]]:
    """Return, for each fact that only some nodes tell, the nodes that do not."""
    known = sorted({fact for told in facts.values() for fact in told})
    silent = {
        fact: tuple(node for node, told in facts.items() if fact not in told) for fact in known
    }
    return {fact: nodes for fact, nodes in silent.items() if nodes}


def twins(judgements: Mapping[str, NodeJudgement]) -> list[tuple[str, ...]]:
    """Return the sets of nodes that name the same GPU."""
    owners: dict[str, list[str]] = {}
    for node, judgement in judgements.items():
        for gpu in judgement.gpus:
            owners.setdefault(gpu["uuid"], []).append(node)
    return sorted({tuple(sorted(set(nodes))) for nodes in owners.values() if len(set(nodes)) > 1})


def _does(nodes: Sequence[str]) -> str:
    return "does" if len(nodes) == 1 else "do"


def _difference(fact: str, facts: Mapping[str, Mapping[str, str]]) -> Difference | None:
    holders: dict[str, list[str]] = {}
    for node, told in facts.items():
        if fact in told:
            holders.setdefault(told[fact], []).append(node)
    if len(holders) < len(("one", "another")):
        return None
    counts = Counter({value: len(nodes) for value, nodes in holders.items()}).most_common()
    total = sum(count for _, count in counts)
    usual = counts[0][0] if counts[0][1] * 2 > total else None
    values = {value: tuple(sorted(holders[value])) for value, _ in counts}
    odd = [node for value, nodes in values.items() if value != usual for node in nodes]
    return Difference(fact, values, usual, tuple(sorted(odd)) if usual is not None else ())
