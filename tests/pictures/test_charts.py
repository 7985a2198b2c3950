"""What stands in the charts, read back from the SVG."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.catalog.floors import GIB
from scripts.pictures.bandwidth import by_size
from scripts.pictures.svg import ticks
from scripts.pictures.trend import Measured, Promoted, over_time
from scripts.verdicts import Verdict
from tests.pictures.drawn import COLOUR, RULE, contrast, read
from tests.support.golden import Golden

CURVE = {1 * GIB: 322.0, 4 * GIB: 352.0, 16 * GIB: 362.0}
START = datetime(2026, 12, 1, tzinfo=UTC)


def measured(day: float, gbps: float, verdict: Verdict = Verdict.PASS) -> Measured:
    return Measured(START + timedelta(days=day), gbps, verdict, f"run r{day:g}")


def test_the_picture_of_sizes_is_the_one_that_was_reviewed(golden: Golden) -> None:
    slow = {size: gbps * 0.9 for size, gbps in CURVE.items()}
    svg = by_size(
        "all_reduce on 14 nodes",
        {"run r1": slow},
        baseline=CURVE,
        floor=(330, 4 * GIB),
        tolerated=0.1,
    )
    drawn = read(svg)
    assert drawn.title == "Bus bandwidth by message size: all_reduce on 14 nodes"
    assert drawn.description == (
        "run r1: 289.8 GB/s at 1 GiB, 316.8 GB/s at 4 GiB, 325.8 GB/s at 16 GiB. baseline: 322 "
        "GB/s at 1 GiB, 352 GB/s at 4 GiB, 362 GB/s at 16 GiB. floor: 330 GB/s from 4 GiB on."
    )
    golden.check("pictures/sizes.yaml", list(map(str, drawn.marks)))


def test_the_picture_of_time_is_the_one_that_was_reviewed(golden: Golden) -> None:
    svg = over_time(
        "all_reduce on 14 nodes, at 16 GiB",
        [measured(0, 360), measured(2, 250, Verdict.FAIL), measured(4, 355, Verdict.UNKNOWN)],
        baselines=[
            Promoted(START + timedelta(days=1), 358, forced=False),
            Promoted(START + timedelta(days=3), 340, forced=True),
        ],
        floor=330,
    )
    drawn = read(svg)
    assert drawn.description == (
        "3 runs: 2026-12-01 00:00 360 GB/s pass, 2026-12-03 00:00 250 GB/s fail, 2026-12-05 00:00 "
        "355 GB/s unknown. baseline of 2026-12-02: 358 GB/s. baseline of 2026-12-04: 340 GB/s, "
        "forced. floor: 330 GB/s."
    )
    golden.check("pictures/trend.yaml", list(map(str, drawn.marks)))


def test_each_verdict_has_a_shape_of_its_own() -> None:
    drawn = read(over_time("x", [measured(n, 300, each) for n, each in enumerate(Verdict)]))
    assert [
        len([mark for mark in drawn.of(element, style) if mark.words])
        for element, style in (("circle", "run-dot"), ("path", "bad"), ("circle", "open-dot"))
    ] == [1, 1, 1]


def test_the_floor_begins_where_it_holds() -> None:
    drawn = read(by_size("x", {"r": CURVE}, floor=(330, 4 * GIB)))
    lines = [mark.place.removeprefix("points=").split() for mark in drawn.of("polyline", "floor")]
    [(start, end)] = [ends for ends in lines if float(ends[0].split(",")[1]) > 104]
    dots = [mark.place.split()[0] for mark in drawn.of("circle", "run-dot")]
    assert [f"cx={each.split(',')[0]}" for each in (start, end)] == dots[1:]


def test_a_whole_sweep_from_eight_bytes_begins_at_zero_and_labels_both_ends() -> None:
    curve = {2**power: min(360.0, 2.0 ** (power - 21)) for power in range(3, 35)}
    drawn = read(by_size("x", {"r": curve}))
    texts = drawn.texts()
    assert "GB/s" in texts
    assert {"0", "8 B", "16 GiB"} <= set(texts)
    assert sum("B" in text.split()[-1] and text[0].isdigit() for text in texts) <= 12
    assert len(drawn.of("circle", "run-dot")) == 32


def test_a_few_per_cent_are_seen_and_the_cut_axis_is_said() -> None:
    drawn = read(over_time("x", [measured(0, 360), measured(1, 342)], floor=330))
    assert "GB/s (from 320 on)" in drawn.texts()
    places = [
        float(mark.place.split("cy=")[1].split()[0]) for mark in drawn.of("circle", "run-dot")
    ]
    assert places[1] - places[0] > 60


@pytest.mark.parametrize("count", [1, 2, 400])
def test_any_number_of_runs_can_be_drawn(count: int) -> None:
    drawn = read(over_time("x", [measured(n / 7, 300 + n % 5) for n in range(count)]))
    assert sum("run r" in mark.words for mark in drawn.marks) == count


def test_nothing_to_draw_is_said() -> None:
    with pytest.raises(ValueError, match="no curve has a point"):
        by_size("x", {})
    with pytest.raises(ValueError, match="no run and no baseline"):
        over_time("x", [])


quick = settings(max_examples=60, deadline=None)

names = st.text(max_size=12)
curves = st.dictionaries(st.integers(1, 2**40), st.floats(0, 1e4), min_size=1, max_size=8)


@quick
@given(names, st.dictionaries(names, curves, min_size=1, max_size=2), st.none() | curves)
def test_whatever_is_measured_makes_a_picture_that_can_be_read(
    subject: str, runs: dict[str, dict[int, float]], baseline: dict[int, float] | None
) -> None:
    drawn = read(by_size(subject, runs, baseline=baseline, floor=(330, GIB), tolerated=0.1))
    assert len(drawn.of("circle", "run-dot")) == sum(map(len, runs.values()))
    assert "nan" not in " ".join(mark.place for mark in drawn.marks)


@quick
@given(st.floats(0, 1e6), st.floats(1e-3, 1e6))
def test_round_values_enclose_what_is_drawn_and_are_few(low: float, span: float) -> None:
    values = ticks(low, low + span)
    assert values[0] <= low + span * 1e-6
    assert values[-1] >= (low + span) * (1 - 1e-6)
    assert 2 <= len(values) <= 8
    assert values == sorted(set(values))


def test_words_can_be_read_on_light_and_on_dark_screens() -> None:
    style = read(by_size("x", {"r": CURVE})).style
    light, dark = style.split("@media")
    assert "(prefers-color-scheme:dark)" in dark
    for part in (light, dark):
        rules = {name: COLOUR.search(rule) for name, rule in RULE.findall(part)}
        paper = rules["bg"]
        assert paper is not None
        for name in ("ink", "soft", "floor-ink", "bad-ink"):
            ink = rules[name]
            assert ink is not None
            assert contrast(ink[1], paper[1]) >= 4.5, f"{name} on {paper[1]}"
        for name in ("run", "base", "floor", "bad"):
            line = rules[name]
            assert line is not None
            assert contrast(line[1], paper[1]) >= 3, f"{name} on {paper[1]}"
