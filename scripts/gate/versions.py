"""Nodes of a wave that run other versions or settings than most: a fault of the wave. Pure.

Another driver, kernel, firmware or EFA release is set by an image, a launch template or a rollout
that has not ended. No hardware is blamed for it. A few odd nodes stay out and the others go on;
where many differ nobody can say which side is right, and the wave as a whole stays shut.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from scripts.gate.isolate import allowance
from scripts.node.compare import Difference, compare, findings, lacking, twins
from scripts.node.judge import NodeJudgement
from scripts.text import names, words
from scripts.verdicts import Verdict, overall

__all__ = ["VersionOutcome", "odd"]

SHOWN: Final = 2
"""Differences told in full where a wave stays shut."""

ONE: Final = "make the wave of one image and one launch template, then run the gate again"


@dataclass(frozen=True, slots=True)
class VersionOutcome:
    """Who is held out and why; or why the wave as a whole cannot be judged further.

    ``verdict`` is that of the wave: pass unless there is a ``problem``. Nobody is ever blamed.
    """

    held: dict[str, str] = field(default_factory=dict[str, str])
    problem: str = ""
    verdict: Verdict = Verdict.PASS
    next_step: str = ""


def odd(checks: Mapping[str, NodeJudgement]) -> VersionOutcome:
    """Compare the nodes whose static check passed; the others are out already.

    Up to a fifth of them, and one at least, may be odd and are held; of two that differ neither is.
    """
    passed = {name: check for name, check in checks.items() if check.verdict is Verdict.PASS}
    facts = {name: check.facts for name, check in passed.items()}
    differences = compare(facts)
    held: dict[str, list[str]] = {}
    for found in differences:
        for name in found.odd:
            held.setdefault(name, []).append(_differs(found, facts[name][found.fact]))
    for fact, lacks in lacking(facts).items():
        for name in lacks:
            held.setdefault(name, []).append(f"wave-{fact}: it does not tell its {fact}")
    for pair in twins(passed):
        for name in pair:
            others = names([each for each in pair if each != name])
            held.setdefault(name, []).append(f"wave-gpus: {others} names the same GPUs")
    undecided = any(found.usual is None for found in differences)
    if undecided or len(held) > allowance(len(passed)):
        return _shut(passed, "its nodes" if undecided else f"{len(held)} of {len(passed)} nodes")
    return VersionOutcome({name: "; ".join(held[name]) for name in sorted(held)})


def _shut(passed: Mapping[str, NodeJudgement], who: str) -> VersionOutcome:
    found = list(findings(passed))
    verdict = overall(each.verdict for each in found)
    gravest = [each for each in found if each.verdict is verdict]
    told = "; ".join(f"{each.rule}: {each.message}" for each in gravest[:SHOWN])
    rest = f"; and {words(len(found) - SHOWN, 'more difference')}" if len(found) > SHOWN else ""
    message = f"the wave is mixed ({who} differ), so nobody is blamed: {told}{rest}"
    steps = list(dict.fromkeys(each.next_step for each in gravest[:SHOWN]))
    return VersionOutcome(problem=message, verdict=verdict, next_step="; ".join(steps) or ONE)


def _differs(found: Difference, value: str) -> str:
    usual = found.usual or ""
    count = words(len(found.values[usual]), "node")
    return f"wave-{found.fact}: {found.fact} is {value}, and {usual} on {count}"
