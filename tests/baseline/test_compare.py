"""A run against its baseline: what is a regression, what is not, and what cannot be told."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.catalog.floors import GIB
from scripts.baseline.compare import Comparison, Level, compare, deltas
from scripts.baseline.record import Baseline, BasePoint, Run
from scripts.baseline.rules import rules
from scripts.baseline.sample import Point
from scripts.verdicts import Verdict
from tests.baseline.make import CURVE, SETTING, base, days, run, stack

WORSE = {Verdict.PASS: 0, Verdict.UNKNOWN: 1, Verdict.FAIL: 2}


def against(*runs: Run, baseline: Baseline | None = None) -> Comparison:
    return compare(SETTING, runs, baseline or base())


def told(found: Comparison) -> list[str]:
    return [str(each) for each in found.findings]


def test_a_run_as_fast_as_its_baseline_passes_without_a_word() -> None:
    found = against(run())
    assert (found.verdict, found.summary, told(found)) == (
        Verdict.PASS,
        "as fast as its baseline",
        [],
    )
    assert len(found.deltas) == 6


def test_a_little_slower_is_worth_a_note() -> None:
    found = against(run(scale=0.94))
    assert found.verdict is Verdict.PASS
    assert told(found) == [
        (
            "note weaker: 302.68 GB/s at 1 GiB, 6.0% below 322; 330.88 GB/s at 4 GiB, 6.0% below "
            "352; 340.28 GB/s at 16 GiB, 6.0% below 362: weaker than its baseline, within what is "
            "tolerated; next: watch it"
        )
    ]


def test_a_slow_run_is_unknown_until_it_was_run_once_more() -> None:
    slow = run(curve={16 * GIB: 362 * 0.88, 1 * GIB: 322, 4 * GIB: 352})
    found = against(slow)
    assert (found.verdict, found.rerun, found.seek_node) == (Verdict.UNKNOWN, True, False)
    assert told(found) == [
        (
            "unknown regression: 318.56 GB/s at 16 GiB, 12.0% below 362: slower than its baseline, "
            "seen once; next: run it once more; what is slow again at the same size is a regression"
        )
    ]


def test_slow_twice_at_the_same_size_is_a_regression() -> None:
    found = against(run(scale=0.89), run("r2", scale=0.85))
    assert (found.verdict, found.rerun, found.seek_node) == (Verdict.FAIL, False, True)
    assert found.summary == (
        "273.7 GB/s at 1 GiB, 15.0% below 322; 299.2 GB/s at 4 GiB, 15.0% below 352; 307.7 GB/s at "
        "16 GiB, 15.0% below 362: slower than its baseline, and again when it was run once more, "
        "on the same stack"
    )


def test_slow_once_and_good_again_passes_with_a_note() -> None:
    found = against(run(scale=0.85), run("r2"))
    assert (found.verdict, found.rerun, found.seek_node) == (Verdict.PASS, False, False)
    assert found.findings[0].rule == "unconfirmed"
    assert found.summary.endswith("and not in another of 2 runs (2 are needed)")


def test_slow_at_another_size_each_time_is_not_good_and_no_regression() -> None:
    first = run(curve={**CURVE, 1 * GIB: 200})
    second = run("r2", curve={**CURVE, 16 * GIB: 200})
    found = against(first, second)
    assert (found.verdict, found.rerun, found.seek_node) == (Verdict.UNKNOWN, False, False)
    assert "slower than its baseline, at another size each time" in found.summary


@pytest.mark.parametrize(
    ("size", "share", "level"),
    [
        (16 * GIB, 0.951, Level.GOOD),
        (16 * GIB, 0.949, Level.WARN),
        (16 * GIB, 0.901, Level.WARN),
        (16 * GIB, 0.899, Level.FAIL),
        (1 * GIB, 0.899, Level.FAIL),
        (GIB // 2, 0.899, Level.WARN),
        (GIB // 2, 0.901, Level.GOOD),
        (GIB // 2, 0.799, Level.FAIL),
        (2**24, 0.799, Level.FAIL),
        (2**23, 0.81, Level.GOOD),
        (2**23, 0.79, Level.WARN),
        (2**23, 0.01, Level.WARN),
        (8, 0.81, Level.GOOD),
        (8, 0.79, Level.WARN),
        (8, 0.01, Level.WARN),
        (16 * GIB, 1.149, Level.GOOD),
        (16 * GIB, 1.151, Level.FAST),
        (GIB // 2, 1.151, Level.FAST),
        (8, 5.0, Level.GOOD),
    ],
)
def test_limits_follow_the_size(size: int, share: float, level: Level) -> None:
    before = Baseline(
        setting=SETTING,
        points=(BasePoint(size=size, placement="out", time_us=100, busbw=100, spread=0),),
        runs=(),
        logs=(),
        at=days(0),
        by="me",
        why="x",
    )
    now = Point(size=size, placement="out", time_us=100 / share, busbw=100 * share)
    [found] = deltas(run().model_copy(update={"points": (now,)}), before, rules())
    assert found.level is level


def test_small_messages_are_compared_by_latency_and_only_watched() -> None:
    curve = {8: 0.001, **CURVE}
    slow = run(curve={**curve, 8: 0.0005})
    found = against(slow, slow.model_copy(update={"run": "r2"}), baseline=base(curve=curve))
    assert found.verdict is Verdict.PASS
    assert found.summary == (
        "16 us at 8 B, 100.0% above 8: weaker than its baseline, within what is tolerated"
    )


def test_much_faster_is_no_fault_but_suspicious() -> None:
    found = against(run(scale=1.2))
    assert (found.verdict, found.suspicious) == (Verdict.PASS, True)
    assert found.summary == (
        "386.4 GB/s at 1 GiB, 20.0% above 322; 422.4 GB/s at 4 GiB, 20.0% above 352; 434.4 GB/s at "
        "16 GiB, 20.0% above 362: more than 15% above its baseline, which is rather another "
        "measurement than a better one"
    )


def test_the_worse_placement_speaks() -> None:
    found = against(run(in_place=0.8))
    assert found.verdict is Verdict.UNKNOWN
    assert found.summary.startswith("257.6 GB/s at 1 GiB in place, 20.0% below 322; ")


def test_sizes_that_were_not_run_are_unknown_and_not_passed() -> None:
    found = against(run(curve={1 * GIB: 322}))
    assert told(found) == [
        (
            "unknown sizes: run r1.r0.r1xxxx lacks 4 GiB, 16 GiB, which the baseline has: they "
            "were not compared; next: run the same sizes"
        )
    ]


def test_the_word_of_the_judge_stands_above_a_slow_baseline() -> None:
    slow = base(scale=0.5)
    failed = run(scale=0.5, verdict=Verdict.FAIL, reasons=("161 GB/s at 4 GiB: below the floor",))
    found = against(failed, baseline=slow)
    assert found.verdict is Verdict.FAIL
    assert told(found) == [
        (
            "fail judged: run r1.r0.r1xxxx did not pass: 161 GB/s at 4 GiB: below the floor; next: "
            "look at its log; no baseline makes up for this"
        )
    ]
    assert not found.seek_node


@pytest.mark.parametrize(
    "reason", ["results were wrong at 8 GiB", "transport is not EFA: NCCL used Socket"]
)
def test_wrong_values_and_a_wrong_transport_fail_at_once(reason: str) -> None:
    found = against(run(verdict=Verdict.FAIL, reasons=(reason,)))
    assert (found.verdict, found.rerun) == (Verdict.FAIL, False)


def test_without_a_baseline_nothing_is_said_to_be_good() -> None:
    found = compare(SETTING, [run()], None)
    assert found.verdict is Verdict.UNKNOWN
    assert told(found) == [
        (
            "unknown baseline: there is no baseline for all_reduce float sum -1 on 14 nodes x 8 of "
            "p5.48xlarge in use1-az4 (one layer 2); next: promote one when three accepted runs are "
            f"there: yard baseline promote {SETTING.id}"
        )
    ]


def test_a_changed_stack_is_said_and_blames_nobody() -> None:
    old, older = base(stack(nccl="2.29.1", kernel="6.1")), base(stack(nccl="2.20.5"), at=days(-9))
    found = compare(SETTING, [run(scale=0.5), run("r2", scale=0.5)], None, others=[old, older])
    assert (found.verdict, found.rerun, found.seek_node) == (Verdict.UNKNOWN, False, False)
    assert found.summary == (
        "the stack changed since the baseline of 2026-12-01 (nccl 2.29.1 -> 2.30.4; kernel 6.1 -> "
        "6.12.40), so nobody is blamed; against the old stack: 161 GB/s at 1 GiB, 50.0% below 322"
    )


def test_what_is_not_known_or_differs_between_nodes_is_equal_to_nothing() -> None:
    for changed, text in (
        ({"driver": ""}, "driver is not known"),
        ({"driver": "mixed: 1, 2"}, "driver differs between nodes: 1, 2"),
    ):
        setting = stack(**changed)
        baseline = base().model_copy(update={"setting": setting})
        found = compare(setting, [run()], baseline)
        assert found.verdict is Verdict.UNKNOWN
        assert found.summary == f"nothing equal can be found: {text}"


def test_nothing_to_compare_is_unknown() -> None:
    assert compare(SETTING, [], base()).summary == "there is no run to compare"


def test_a_report_is_plain_data() -> None:
    report = against(run(scale=0.85)).as_json()
    assert (report["verdict"], report["rerun"], report["seek_node"]) == ("unknown", True, False)
    assert report["deltas"][0] == {
        "size": GIB,
        "placement": "out",
        "unit": "GB/s",
        "baseline": 322.0,
        "measured": 273.7,
        "worse_by": 0.15,
        "level": "fail",
    }


# Properties

quick = settings(max_examples=60, deadline=None)

sizes = st.sampled_from([8, 2**20, 2**23, 2**24, GIB // 2, GIB, 4 * GIB, 16 * GIB])
curves = st.dictionaries(sizes, st.floats(0.5, 800), min_size=1)
fields = st.sampled_from(
    ["instance_type", "nodes", "ranks_per_node", "collective", "dtype", "flags", "place", "stack"]
)
OTHER = {
    "instance_type": "p5en.48xlarge",
    "nodes": 13,
    "ranks_per_node": 4,
    "collective": "all_gather",
    "dtype": "bfloat16 sum -1",
    "flags": ("iterations=50", "warmup=5"),
    "place": SETTING.place.model_copy(update={"zone": "use1-az6"}),
    "stack": SETTING.stack.model_copy(update={"ofi": "1.21.0"}),
}


@quick
@given(
    st.lists(st.floats(0.3, 1.3), min_size=1, max_size=3),
    st.integers(0, 2),
    sizes,
    st.floats(0.01, 1.0),
)
def test_a_slower_run_is_never_judged_better(
    scales: list[float], index: int, size: int, lost: float
) -> None:
    curve = dict.fromkeys([8, 2**20, 2**24, GIB, 4 * GIB, 16 * GIB, size], 300.0)
    runs = [run(f"r{n}", curve, scale=scale) for n, scale in enumerate(scales)]
    chosen = index % len(runs)
    slower = [
        run(f"r{n}", {**curve, size: 300 * lost} if n == chosen else curve, scale=scale)
        for n, scale in enumerate(scales)
    ]
    baseline = base(curve=curve)
    before, after = against(*runs, baseline=baseline), against(*slower, baseline=baseline)
    assert WORSE[after.verdict] >= WORSE[before.verdict]
    assert after.seek_node >= before.seek_node


@quick
@given(curves, curves)
def test_only_equal_points_are_compared(now: dict[int, float], before: dict[int, float]) -> None:
    baseline = base(curve={**before, 16 * GIB: 362})
    found = against(run(curve=now), baseline=baseline)
    measured = {point.key: point for point in run(curve=now).points}
    expected = {point.key for point in baseline.points} & measured.keys()
    assert {delta.key for delta in found.deltas} == expected
    if {*before, 16 * GIB} - set(now):
        assert found.verdict is not Verdict.PASS


@quick
@given(fields, st.lists(st.floats(0.1, 1.3), min_size=1, max_size=3))
def test_another_setting_is_never_compared_and_nobody_is_blamed(
    field: str, scales: list[float]
) -> None:
    other = SETTING.model_copy(update={field: OTHER[field]})
    runs = [run(f"r{n}", scale=scale) for n, scale in enumerate(scales)]
    found = compare(SETTING, runs, base(other), others=[base(other)])
    assert (found.verdict, found.deltas, found.seek_node) == (Verdict.UNKNOWN, (), False)
    said = found.findings[-1].rule
    assert said == ("stack" if field == "stack" else "baseline")
