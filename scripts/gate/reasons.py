"""Says why a node is bad or held, or why a wave failed as a whole. Pure."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from scripts.gate.bisect import Fault, How
from scripts.gate.isolate import Outcome
from scripts.gate.sweep import PLAIN, hard
from scripts.gate.topology import Group, Place, blocks_within, describe
from scripts.nccl.judge import Judgement
from scripts.text import names, words
from scripts.verdicts import Verdict

__all__ = [
    "ALONE",
    "GONE",
    "LONELY",
    "bad_alone",
    "bad_in_pairs",
    "bad_in_search",
    "held_by_pairs",
    "held_by_search",
    "nobody",
    "only_together",
    "systemic",
]

ALONE: Final = "its fabric was not exercised: it is alone"
GONE: Final = "it is not Ready any more"
LONELY: Final = "no proven node is idle, so nothing could meet it to prove its fabric"


def bad_alone(judgement: Judgement) -> str:
    """Say why a node is bad that failed by itself."""
    times = "" if hard(judgement) else " twice"
    return f"{PLAIN} on it alone fails{times}: {judgement.summary}"


def bad_in_pairs(witnesses: Collection[str], judgement: Judgement) -> str:
    """Say why a node is bad that failed with proven nodes."""
    return f"{PLAIN} fails with {names(witnesses)}, which are proven: {judgement.summary}"


def bad_in_search(collective: str, fault: Fault) -> str:
    """Say why a node is bad of which every sweep fails, and none without it."""
    summary = fault.judgement.summary
    if fault.how is How.WITHOUT:
        return (
            f"{collective} over {words(fault.company, 'node')} fails with it and passes without "
            f"it: {summary}"
        )
    others = words(fault.company - 1, "good node")
    return f"{collective} fails with it and {others}, twice with different ones: {summary}"


def held_by_pairs(
    found: Outcome, unknown: Mapping[str, Judgement], failed: Mapping[str, Judgement]
) -> dict[str, str]:
    """Say why nodes are held that the pairs neither proved nor blamed.

    ``unknown`` and ``failed`` have the newest judgement of each kind on a pair of a node.
    """
    held: dict[str, str] = {}
    for name in found.undetermined:
        if name in unknown:
            held[name] = f"{PLAIN} with it could not be judged: {unknown[name].summary}"
        else:
            held[name] = "no two proven nodes could tell whether it is bad"
    for name in found.hard:
        why = f": {failed[name].summary}" if name in failed else ""
        held[name] = f"{PLAIN} was wrong with it, and pairs could not tell by whom{why}"
    for block in found.dark:
        summary = failed[block.nodes[0]].summary
        held |= dict.fromkeys(block.nodes, f"{block} fail, so it is not the nodes: {summary}")
    return held


def held_by_search(
    collective: str, group: Sequence[str], faults: Sequence[Fault], places: Mapping[str, Place]
) -> dict[str, str]:
    """Say why nodes are held that fail in company: blocks first, then what is left of the faults.

    A single node that fails twice by its own fault is not held but bad, unless it is part of a
    block of which all nodes fail.
    """
    held: dict[str, str] = {}
    failing = {name for fault in faults for name in fault.nodes}
    for block in blocks_within(failing, group, places):
        inside = [fault for fault in faults if not set(block.nodes).isdisjoint(fault.nodes)]
        if not all(set(block.nodes).issuperset(fault.nodes) for fault in inside):
            continue
        others = next((each for each in inside if each.how is How.WITH_OTHERS), None)
        verb = _verb(inside[0].judgement, others.how if others else How.TOGETHER)
        why = f"{collective}: {block} {verb}: {inside[0].judgement.summary}"
        held |= dict.fromkeys(block.nodes, why)
    for fault in faults:
        certain = fault.own and len(fault.nodes) == 1 and fault.judgement.verdict is Verdict.FAIL
        if not certain and not held.keys() >= set(fault.nodes):
            why = f"{collective}: {_who(fault, group, places)}: {fault.judgement.summary}"
            held |= {name: why for name in fault.nodes if name not in held}
    return held


def _who(fault: Fault, group: Sequence[str], places: Mapping[str, Place]) -> str:
    if len(fault.nodes) == 1 and fault.judgement.verdict is Verdict.FAIL:
        return f"{fault.nodes[0]} fails {fault.how}, but no neighbour could tell it from its switch"
    sides = fault.sides or (fault.nodes,)
    who = " and ".join(describe(side, group, places) for side in sides)
    return f"{who} {_verb(fault.judgement, fault.how)}"


def systemic(allowed: int, judgement: Judgement) -> str:
    """Say that too many failed."""
    return (
        f"more nodes failed than may stay out ({allowed} could still), which points to one common "
        f"cause and not to bad nodes, so nobody is blamed: {judgement.summary}"
    )


def nobody(judgement: Judgement, nodes: int) -> str:
    """Say that nothing passed that could tell nodes apart."""
    if nodes == 1:
        return f"{PLAIN} on the only node did not pass: {judgement.summary}"
    return (
        f"{PLAIN} passed with no pair of {words(nodes, 'node')}, so nobody can be blamed: "
        f"{judgement.summary}"
    )


def only_together(
    collective: str,
    judgement: Judgement,
    nodes: Sequence[str],
    places: Mapping[str, Place],
    sides: Sequence[Group] = (),
) -> str:
    """Say that no small set was found that fails; ``sides`` pass by themselves."""
    blocks = [blocks_within(side, nodes, places) for side in sides]
    told = ""
    if blocks and all(len(block) == 1 for block in blocks):
        told = f"; {' and '.join(str(block) for [block] in blocks)} pass by themselves"
    return (
        f"{collective} over {words(len(nodes), 'node')} did not pass although smaller groups did, "
        f"so nobody can be blamed{told}: {judgement.summary}"
    )


def _verb(judgement: Judgement, how: How) -> str:
    if judgement.verdict is not Verdict.FAIL:
        return f"could not be judged {how}"
    slow = all(found.rule == "bandwidth" for found in judgement.reasons)
    return f"are slow {how}" if slow else f"fail {how}"
