"""Decides which nodes of a wave open, which stay out, and whether it opens at all. Pure.

Up to a fifth of a wave, and one node at least, may stay out while the rest opens. More than that,
bad or unknown, and nothing opens: a wave that is missing so much is not what was asked for.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from scripts.gate.isolate import allowance
from scripts.gate.ports import Mark, NodeState
from scripts.gate.prove import Proof
from scripts.gate.verdict import NodeVerdict
from scripts.node.judge import NodeJudgement
from scripts.text import names, words
from scripts.verdicts import Verdict

__all__ = ["AS_BEFORE", "BEFORE", "Decision", "decide"]

BEFORE = "passed in an earlier run"

AS_BEFORE = "what was open is open again"

NOTHING = "nothing was opened"

SHOWN_REASONS = 2

VERDICTS = {
    Mark.OPEN: Verdict.PASS,
    Mark.REFUSE: Verdict.FAIL,
    Mark.HOLD: Verdict.UNKNOWN,
}


@dataclass(slots=True)
class Decision:
    """What to write on each tested node, and the verdict on the wave."""

    verdict: Verdict
    message: str
    next_step: str
    marks: dict[str, tuple[Mark, str]] = field(default_factory=dict[str, tuple[Mark, str]])
    nodes: list[NodeVerdict] = field(default_factory=list[NodeVerdict])


def decide(
    members: Sequence[NodeState],
    checks: Mapping[str, NodeJudgement],
    proof: Proof,
    asked: int,
    open_before: Collection[str] = (),
) -> Decision:
    """Return what comes of the ``members`` of a wave of which ``asked`` nodes were wanted.

    Where the wave could not be judged, ``open_before`` are open as they were: nothing was learnt.
    """
    fates = {name: _fate(name, check, proof) for name, check in checks.items()}
    bad = [name for name, (mark, _) in fates.items() if mark is Mark.REFUSE]
    held = [name for name, (mark, _) in fates.items() if mark is Mark.HOLD]
    opened = [name for name, (mark, _) in fates.items() if mark is Mark.OPEN]
    before = [node.name for node in members if node.passed]
    allowed = allowance(asked)
    if len(bad) > allowed:
        text = (
            f"{words(len(bad), 'node')} of {len(members)} failed and {allowed} may, which points "
            f"to one common cause and not to bad nodes, so nobody is blamed: {_reasons(fates, bad)}"
        )
        decision = _shut(Verdict.FAIL, text)
        fates = {
            name: (Mark.HOLD, f"wave failed as a whole: {why}") for name, (_, why) in fates.items()
        }
    elif proof.problem:
        decision = _shut(proof.verdict, proof.problem, proof.next_step)
    elif len(bad) + len(held) > allowed or not (opened or before):
        seen = proof.verdict is Verdict.FAIL or not held
        verdict = Verdict.FAIL if seen else Verdict.UNKNOWN
        out = [*bad, *held]
        text = (
            f"{len(out)} of {words(len(members), 'node')} cannot open and {allowed} may stay out: "
            f"{_reasons(fates, out)}"
        )
        decision = _shut(verdict, text)
    else:
        decision = _open(fates, before, [*bad, *held], len(members))
    back = open_before if decision.verdict is Verdict.UNKNOWN else ()
    if decision.verdict is not Verdict.PASS:
        decision.next_step = f"{AS_BEFORE if back else NOTHING}; {decision.next_step}"
        fates = {
            name: (Mark.HOLD, "the wave did not open") if mark is Mark.OPEN else (mark, why)
            for name, (mark, why) in fates.items()
        }
    decision.nodes = [_node(node, fates, checks) for node in members]
    fates |= {
        name: (Mark.OPEN, f"{BEFORE}, and could not be judged now: {why}")
        for name, (mark, why) in fates.items()
        if name in back and mark is Mark.HOLD
    }
    decision.marks = dict(sorted(fates.items(), key=lambda fate: fate[1][0] is Mark.OPEN))
    return decision


def _fate(name: str, check: NodeJudgement, proof: Proof) -> tuple[Mark, str]:
    if check.verdict is Verdict.FAIL:
        return Mark.REFUSE, check.summary
    if check.verdict is Verdict.UNKNOWN:
        return Mark.HOLD, check.summary
    if name in proof.bad:
        return Mark.REFUSE, proof.bad[name]
    if name in proof.proven:
        return Mark.OPEN, proof.proven[name]
    return Mark.HOLD, proof.held.get(name, "its fabric was not tested")


def _shut(verdict: Verdict, message: str, next_step: str = "") -> Decision:
    usual = (
        "look at what the nodes have in common (placement, security group, image, EFA plugin), "
        "mend it and run the gate again"
        if verdict is Verdict.FAIL
        else "mend what could not be judged and run the gate again"
    )
    return Decision(verdict, message, next_step or usual)


def _open(
    fates: Mapping[str, tuple[Mark, str]], before: Sequence[str], out: Sequence[str], total: int
) -> Decision:
    ready = total - len(out)
    earlier = f", {len(before)} of them since an earlier run" if before else ""
    message = f"{ready} of {words(total, 'node')} open{earlier}"
    if not out:
        return Decision(Verdict.PASS, message, "")
    return Decision(
        Verdict.PASS,
        f"{message}; out: {_reasons(fates, out)}",
        "mend or replace what is out and run the gate again: it tests what is not open yet",
    )


def _reasons(fates: Mapping[str, tuple[Mark, str]], of: Sequence[str]) -> str:
    """Say why nodes stay out: two reasons, each with all the nodes that share it."""
    sharing: dict[str, list[str]] = {}
    for name in sorted(of):
        sharing.setdefault(fates[name][1], []).append(name)
    shown = list(sharing.items())[:SHOWN_REASONS]
    text = "; ".join(f"{names(nodes)}: {reason}" for reason, nodes in shown)
    rest = sorted(set(of).difference(*(nodes for _, nodes in shown)))
    return f"{text}; also {names(rest)}" if rest else text


def _node(
    node: NodeState,
    fates: Mapping[str, tuple[Mark, str]],
    checks: Mapping[str, NodeJudgement],
) -> NodeVerdict:
    mark, reason = fates.get(node.name, (Mark.OPEN, BEFORE))
    check = checks.get(node.name)
    return NodeVerdict(
        name=node.name,
        provider_id=node.provider_id,
        verdict=VERDICTS[mark],
        reason=reason,
        check=check.as_json() if check else None,
        place=node.place,
    )
