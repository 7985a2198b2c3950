import pytest

from scripts.baseline.compare import Comparison, compare
from scripts.baseline.record import Run
from scripts.baseline.ruling import Weight, accepted, warnings, weigh
from scripts.verdicts import Verdict
from tests.baseline.make import CURVE, SETTING, base, run, stack

SIZES = list(CURVE)
SHORT = {size: CURVE[size] for size in SIZES[:2]}


def held(*runs: Run) -> Comparison:
    return compare(SETTING, runs, base())


CASES = {
    "as fast": (held(run()), Verdict.PASS, 0),
    "weaker within what is tolerated": (held(run(scale=0.93)), Verdict.PASS, 1),
    "suspiciously fast": (held(run(scale=1.3)), Verdict.PASS, 1),
    "slow once": (held(run(scale=0.8)), Verdict.UNKNOWN, 1),
    "slow twice": (held(run(scale=0.8), run("again", scale=0.8)), Verdict.FAIL, 1),
    "slow once of two": (held(run(scale=0.8), run("again")), Verdict.PASS, 1),
    "a size was not run": (held(run(curve=SHORT)), Verdict.UNKNOWN, 1),
    "a rerun below its floor": (held(run(), run("again", verdict=Verdict.FAIL)), Verdict.FAIL, 1),
    "no baseline": (compare(SETTING, [run(scale=0.5)], None), Verdict.PASS, 0),
    "another stack": (compare(stack(nccl="2.31.0"), [run(scale=0.5)], base()), Verdict.PASS, 1),
    "an unknown driver": (compare(stack(driver=""), [run()], base()), Verdict.PASS, 0),
}


@pytest.mark.parametrize("case", CASES)
def test_an_enforced_baseline_is_part_of_the_verdict_and_else_a_warning(case: str) -> None:
    found, verdict, told = CASES[case]
    assert weigh(found, Weight.ENFORCE) is verdict
    assert weigh(found, Weight.WARN) is Verdict.PASS
    assert len(list(warnings(found))) == told


@pytest.mark.parametrize("weight", Weight)
def test_a_fault_that_never_passes_by_itself_fails_whatever_the_weight(weight: Weight) -> None:
    assert weigh(held(run()), weight, fault=True) is Verdict.FAIL


@pytest.mark.parametrize(
    ("wave", "judged", "kept"),
    [
        (Verdict.PASS, Verdict.PASS, Verdict.PASS),
        (Verdict.PASS, Verdict.FAIL, Verdict.FAIL),
        (Verdict.FAIL, Verdict.PASS, Verdict.UNKNOWN),
        (Verdict.UNKNOWN, Verdict.PASS, Verdict.UNKNOWN),
        (Verdict.FAIL, Verdict.FAIL, Verdict.FAIL),
        (Verdict.FAIL, Verdict.UNKNOWN, Verdict.UNKNOWN),
    ],
)
def test_only_a_run_of_an_accepted_wave_is_kept_as_accepted(
    wave: Verdict, judged: Verdict, kept: Verdict
) -> None:
    made = accepted(run(verdict=judged), wave, "3 of 14 nodes cannot open")
    assert made.verdict is kept
    changed = judged is Verdict.PASS and wave is not Verdict.PASS
    assert made.reasons == (
        ("its wave did not pass: 3 of 14 nodes cannot open",) if changed else ()
    )
