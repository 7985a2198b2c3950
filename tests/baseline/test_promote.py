"""What may become a baseline, and what a person must overrule for it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.catalog.floors import GIB
from scripts.baseline.promote import candidates, promote
from scripts.baseline.record import Baseline, Run
from scripts.baseline.setting import Setting
from scripts.errors import UsageError
from scripts.verdicts import Verdict
from tests.baseline.make import CURVE, NOW, SETTING, base, days, run, stack, three

WHAT = "all_reduce float sum -1 on 14 nodes x 8 of p5.48xlarge in use1-az4 (one layer 2)"


def made(
    runs: list[Run],
    *,
    before: Baseline | None = None,
    setting: Setting = SETTING,
    why: str = "because",
    force: bool = False,
) -> Baseline:
    return promote(setting, runs, before=before, by="me", why=why, at=days(1), force=force)


def refused(runs: list[Run], **more: object) -> str:
    with pytest.raises(UsageError) as caught:
        made(runs, **more)  # type: ignore[arg-type] # passed on as they came
    message = str(caught.value)
    assert message.startswith(f"no baseline for {WHAT}: ")
    return message.removeprefix(f"no baseline for {WHAT}: ")


def test_a_baseline_is_the_median_and_says_on_what_it_rests() -> None:
    found = made(three())
    assert {point.key: point.busbw for point in found.points}[16 * GIB, "out"] == 362
    assert [round(point.spread, 3) for point in found.points] == [0.01] * 6
    assert found.runs == ("r1.r0.r1xxxx", "r2.r0.r2xxxx", "r3.r0.r3xxxx")
    assert found.logs == tuple(f"sha256:{name:x<64}" for name in ("r1", "r2", "r3"))
    assert (found.by, found.why, found.at, found.forced, found.replaces) == (
        "me",
        "because",
        days(1),
        (),
        "",
    )


def test_too_few_runs_are_not_enough_however_often_they_are_recorded() -> None:
    assert refused(three()[:2]) == "2 different accepted runs are there, and 3 are needed"
    same = [run(), run(at=days(1)), run(at=days(2))]
    assert (
        refused(same) == "1 different accepted runs (3 records of them) are there, and 3 are needed"
    )
    assert refused([*three(), run()]) == "4 records are of only 3 different runs"
    assert refused([]) == "0 different accepted runs are there, and 3 are needed"


def test_runs_that_differ_too_much_make_no_baseline() -> None:
    runs = [run("r1", scale=0.9), run("r2"), run("r3", scale=1.1)]
    assert refused(runs, force=True) == (
        "the runs differ too much at 1 GiB, 4 GiB, 16 GiB: by 10.0% (CV) at 1 GiB, and 5% is "
        "allowed; find out why, or wait for runs that agree"
    )


def test_small_sizes_that_swing_are_left_out_and_said() -> None:
    runs = [
        run(name, {8: 0.001 * share, **CURVE})
        for name, share in {"r1": 1.0, "r2": 1.4, "r3": 0.8}.items()
    ]
    found = made(runs)
    assert found.left_out == ("8 B in", "8 B out")
    assert {point.size for point in found.points} == set(CURVE)


def test_only_runs_that_passed_count() -> None:
    runs = [*three()[:2], run("r9", verdict=Verdict.UNKNOWN)]
    assert refused(runs, force=True) == "run r9.r0.r9xxxx is unknown, not pass"


def test_runs_of_other_sizes_do_not_mix() -> None:
    runs = [*three()[:2], run("r9", {1 * GIB: 322})]
    assert refused(runs, force=True) == "run r9.r0.r9xxxx lacks 4 GiB, 16 GiB"


def test_a_baseline_must_guard_something() -> None:
    assert refused(three({8: 0.001})) == "no size was run that can fail, so it would guard nothing"


def test_a_reason_is_needed_and_nothing_unknown_becomes_a_baseline() -> None:
    message = refused(three(), why=" ", setting=stack(kernel="", nccl="mixed: 2.29.1, 2.30.4"))
    assert message == (
        "--reason is empty; say why this is what to compare with; kernel is not known; nccl "
        "differs between nodes: 2.29.1, 2.30.4"
    )
    assert refused(three(), why="x" * 1001) == "--reason has 1001 characters; 1000 are kept"


def test_a_slower_one_needs_force_and_the_force_is_kept() -> None:
    slower = three(scale=0.98)
    text = (
        "it is slower than the baseline of 2026-12-01 at 6 of 6 points: 315.56 GB/s at 1 GiB in "
        "place, 2.0% below 322"
    )
    assert refused(slower, before=base()) == f"{text}; --force overrules that, and is kept"
    forced = made(slower, before=base(), force=True)
    assert (forced.forced, forced.replaces) == ((text,), base().id)


def test_slower_at_one_size_alone_is_slower() -> None:
    curve = {**CURVE, 4 * GIB: CURVE[4 * GIB] * 0.999}
    faster = [each.model_copy() for each in three({size: 1.02 * at for size, at in curve.items()})]
    assert made(faster, before=base()).forced == ()
    mixed = three({**{size: 1.02 * at for size, at in CURVE.items()}, 4 * GIB: 351.9})
    assert refused(mixed, before=base()).startswith(
        "it is slower than the baseline of 2026-12-01 at 2 of 6 points: 351.9 GB/s at 4 GiB"
    )


def test_a_new_stack_does_not_hide_a_loss() -> None:
    old = base(stack(nccl="2.29.1"))
    assert refused(three(scale=0.97), before=old).startswith(
        "it is slower than the baseline of 2026-12-01 (on another stack: nccl 2.29.1 -> 2.30.4) at "
        "6 of 6 points"
    )
    assert made(three(scale=1.01), before=old).forced == ()


def test_suspiciously_fast_and_fewer_sizes_need_force_as_well() -> None:
    assert refused(three(scale=1.2), before=base()).startswith(
        "it is suspiciously faster than the baseline of 2026-12-01: "
    )
    fewer = {size: at for size, at in CURVE.items() if size != 16 * GIB}
    assert refused(three(fewer), before=base()) == (
        "it lacks 16 GiB, which the baseline of 2026-12-01 guards; --force overrules that, and is "
        "kept"
    )
    assert len(made(three(fewer, scale=1.2), before=base(), force=True).forced) == 2


def test_candidates_are_the_latest_that_passed() -> None:
    runs = [run(f"r{n}", at=days(n)) for n in range(7)]
    runs[5] = run("r5", at=days(5), verdict=Verdict.FAIL)
    assert [each.run for each in candidates(runs[::-1])] == ["r1", "r2", "r3", "r4", "r6"]


quick = settings(max_examples=60, deadline=None)


@quick
@given(st.lists(st.floats(0.8, 1.14), min_size=1, max_size=8))
def test_without_force_no_sequence_of_promotions_gets_slower(scales: list[float]) -> None:
    held = first = base()
    for scale in scales:
        try:
            held = promote(SETTING, three(scale=scale), before=held, by="me", why="x", at=NOW)
        except UsageError:
            continue
        assert held.forced == ()
    best = {point.key: point.busbw for point in first.points}
    assert all(point.busbw >= best[point.key] for point in held.points)


def test_a_size_that_swings_is_not_lacking() -> None:
    runs = [run("r1"), run("r2", scale=0.8), run("r3")]
    message = refused(runs, before=base())
    assert message.startswith("the runs differ too much at 1 GiB, 4 GiB, 16 GiB: by ")
    assert "lacks" not in message
