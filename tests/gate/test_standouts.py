import pytest

from scripts.gate.stages import Measurement, Stage
from scripts.gate.standouts import stand_outs
from scripts.nccl.judge import Judgement
from scripts.verdicts import Verdict

NODES = [f"n{number:02d}" for number in range(12)]
PAIRS = list(zip(NODES[::2], NODES[1::2], strict=True))


def ran(
    nodes: tuple[str, ...],
    busbw: float | None,
    *,
    stage: Stage = Stage.PAIRS,
    verdict: Verdict = Verdict.PASS,
) -> Measurement:
    return Measurement("p1", nodes, Judgement(verdict, (), busbw), stage)


def round_of_pairs(**slow: float) -> list[Measurement]:
    """Let each pair reach 470 to 475, but for those named by their first node."""
    return [ran(pair, slow.get(pair[0], 470 + index)) for index, pair in enumerate(PAIRS)]


TOLD = "all_reduce, in GB/s, 440 is 6.8% below the median 472 of 12 nodes (robust z -4.6)"
BETTER = "all_reduce, in GB/s, 440 is 7.0% below the median 473 of 13 nodes (robust z -4.7)"
ALONE = "all_reduce, in GB/s, 440 is 8.3% below the median 480 of 12 nodes (robust z -5.6)"
REST = "above the floor, so nobody is blamed"

CASES: dict[str, tuple[list[Measurement], tuple[str, ...]]] = {
    "all alike": (round_of_pairs(), ()),
    "one slow pair": (
        round_of_pairs(n04=440),
        (f"n04, n05 (one of them) in pairs: {TOLD}; {REST}",),
    ),
    "one of them was fast with another": (
        [*round_of_pairs(n04=440), ran(("n04", "open"), 474)],
        (f"n05 in pairs: {BETTER}; {REST}",),
    ),
    "slow and failed, which is told elsewhere": (
        [*round_of_pairs()[:-1], ran(PAIRS[-1], 300, verdict=Verdict.FAIL)],
        (),
    ),
    "a log without a number": ([*round_of_pairs(), ran(PAIRS[0], None)], ()),
    "a slow sweep is no stage of equals": (
        [*round_of_pairs(), ran(tuple(NODES), 350, stage=Stage.SWEEP)],
        (),
    ),
    "a slow node alone": (
        [ran((name,), 440 if name == "n07" else 480, stage=Stage.ALONE) for name in NODES],
        (f"n07 alone: {ALONE}; {REST}",),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_who_passed_and_stands_out_is_named(case: str) -> None:
    measured, told = CASES[case]
    assert stand_outs(measured, NODES) == told


def test_who_did_not_open_is_not_named_again() -> None:
    measured = round_of_pairs(n04=440)
    assert stand_outs(measured, set(NODES) - {"n04", "n05"}) == ()


def test_a_thousand_nodes_are_compared_at_once() -> None:
    pairs = [(f"n{number:04d}", f"n{number + 1:04d}") for number in range(0, 1024, 2)]
    measured = [ran(pair, 430 if pair[0] == "n0100" else 475) for pair in pairs]
    [told] = stand_outs(measured, {name for pair in pairs for name in pair})
    assert told.startswith("n0100, n0101 (one of them) in pairs: ")
