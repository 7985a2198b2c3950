"""What comes of the nodes of a wave, and of the wave, by all that was found."""

import pytest

from scripts.gate.outcome import decide
from scripts.gate.ports import Mark, NodeState
from scripts.gate.prove import Proof
from scripts.node.finding import NodeFinding
from scripts.node.judge import NodeJudgement
from scripts.node.profiles import Severity
from scripts.verdicts import Verdict

GOOD = NodeJudgement(Verdict.PASS, Severity.PASS, ())
BAD = NodeJudgement(Verdict.FAIL, Severity.RESET, (NodeFinding("ecc", Severity.RESET, "ecc"),))
UNKNOWN = NodeJudgement.unknown("it hung")

CHECKS = {"g": GOOD, "b": BAD, "u": UNKNOWN}

SHUT = (Mark.HOLD, "the wave did not open")
COMMON = (Mark.HOLD, f"wave failed as a whole: {BAD.summary}")


def state(name: str, *, passed: bool = False) -> NodeState:
    return NodeState(
        name=name,
        instance_type="p5.48xlarge",
        provider_id="",
        wave="1",
        ready=True,
        passed=passed,
        devices={},
    )


def proof_of(checks: str, kind: str) -> Proof:
    """Return a proof of all nodes whose check passed, or what spoke against the wave."""
    if kind == "mixed":
        return Proof(verdict=Verdict.FAIL, problem="the wave is mixed", next_step="use one image")
    good = [f"node-{index}" for index, check in enumerate(checks) if check == "g"]
    return Proof(proven=dict.fromkeys(good, "proven"))


@pytest.mark.parametrize(
    ("checks", "before", "proof", "verdict", "marks"),
    [
        ("ggggg", 0, "proven", Verdict.PASS, {"g": (Mark.OPEN, "proven")}),
        (
            "ggggb",
            0,
            "proven",
            Verdict.PASS,
            {"g": (Mark.OPEN, "proven"), "b": (Mark.REFUSE, BAD.summary)},
        ),
        (
            "ggggu",
            0,
            "proven",
            Verdict.PASS,
            {"g": (Mark.OPEN, "proven"), "u": (Mark.HOLD, UNKNOWN.summary)},
        ),
        ("gggbb", 0, "proven", Verdict.FAIL, {"g": None, "b": COMMON}),
        (
            "gggbu",
            0,
            "proven",
            Verdict.UNKNOWN,
            {"g": SHUT, "b": (Mark.REFUSE, BAD.summary), "u": (Mark.HOLD, UNKNOWN.summary)},
        ),
        ("ggggb", 0, "mixed", Verdict.FAIL, {"g": None, "b": (Mark.REFUSE, BAD.summary)}),
        ("gggbb", 0, "mixed", Verdict.FAIL, {"g": None, "b": COMMON}),
        ("b", 4, "proven", Verdict.PASS, {"b": (Mark.REFUSE, BAD.summary)}),
        ("", 5, "proven", Verdict.PASS, {}),
    ],
)
def test_a_wave_opens_without_a_fifth_and_beyond_it_nobody_is_blamed(
    checks: str,
    before: int,
    proof: str,
    verdict: Verdict,
    marks: dict[str, tuple[Mark, str] | None],
) -> None:
    known = {f"node-{index}": CHECKS[check] for index, check in enumerate(checks)}
    opened = [state(f"node-{len(checks) + index}", passed=True) for index in range(before)]
    members = [*map(state, known), *opened]
    decision = decide(members, known, proof_of(checks, proof), 5)
    assert decision.verdict is verdict
    for index, check in enumerate(checks):
        mark = decision.marks[f"node-{index}"]
        wanted = marks[check]
        assert mark == wanted if wanted else mark[0] is Mark.HOLD


def test_nodes_that_stay_out_are_marked_before_any_is_opened() -> None:
    checks = {"a": GOOD, "b": BAD, **dict.fromkeys("cdef", GOOD)}
    proof = Proof(proven=dict.fromkeys("acdef", "proven"))
    members = list(map(state, checks))
    assert list(decide(members, checks, proof, 6).marks) == ["b", "a", "c", "d", "e", "f"]
