import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.baseline.outliers import outliers
from scripts.verdicts import Verdict

WAVE = {f"n{index:02d}": 480.0 + index % 3 for index in range(16)}


def test_an_even_wave_has_no_suspects() -> None:
    found = outliers(WAVE)
    assert (found.verdict, found.suspects, found.median) == (Verdict.PASS, {}, 481)


def test_a_slow_node_stands_out_with_its_numbers() -> None:
    found = outliers({**WAVE, "n05": 440})
    assert found.verdict is Verdict.FAIL
    assert found.suspects == {"n05": "440 is 8.5% below the median 481 of 16 nodes (robust z -5.7)"}
    assert str(found.findings[0]) == (
        "fail outlier: n05: 440 is 8.5% below the median 481 of 16 nodes (robust z -5.7); next: "
        "measure it again with proven nodes"
    )


@pytest.mark.parametrize(
    ("value", "suspected"),
    [(457.5, False), (456.9, False), (456.0, True), (481, False), (9000, False)],
    ids=["4.9 %", "5.01 %", "5.2 %", "median", "fast"],
)
def test_both_the_spread_and_the_distance_must_speak(value: float, suspected: bool) -> None:  # noqa: FBT001 - a table
    assert bool(outliers({**WAVE, "n05": value}).suspects) == suspected


def test_equal_nodes_do_not_make_a_hair_an_outlier() -> None:
    """Their MAD is 0, and every difference would be infinitely far out."""
    wave = dict.fromkeys(WAVE, 480.0)
    assert outliers({**wave, "n05": 478}).suspects == {}
    assert outliers({**wave, "n05": 450}).suspects == {
        "n05": "450 is 6.2% below the median 480 of 16 nodes (robust z -4.2)"
    }


def test_a_wide_wave_hides_nobody_below_the_floor() -> None:
    wide = {f"n{index}": 300.0 + 40 * index for index in range(8)}
    assert outliers(wide).suspects == {}
    assert outliers(wide, floor=330).suspects == {"n0": "300 is below the floor of 330"}


@pytest.mark.parametrize(
    ("values", "suspects"),
    [
        ([480, 480, 480, 433], set()),
        ([480, 480, 480, 432], {"n3"}),
        ([480, 400], set()),
        ([480, 390], {"n1"}),
        ([480, 480, 480, 480, 480, 480, 440], set()),
    ],
)
def test_few_nodes_are_judged_by_distance_alone(values: list[float], suspects: set[str]) -> None:
    wave = {f"n{index}": value for index, value in enumerate(values)}
    assert set(outliers(wave).suspects) == suspects


def test_one_node_cannot_stand_out_and_only_a_floor_can_judge_it() -> None:
    alone = outliers({"n0": 480})
    assert (alone.verdict, alone.findings[0].message) == (
        Verdict.UNKNOWN,
        "1 node cannot stand out from others, and no floor is known",
    )
    assert outliers({"n0": 480}, floor=450).verdict is Verdict.PASS
    assert outliers({"n0": 440}, floor=450).verdict is Verdict.FAIL
    assert outliers({}).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize("value", [math.nan, math.inf, 0.0, -1.0])
def test_what_is_no_measurement_is_unknown_and_never_good(value: float) -> None:
    found = outliers({**WAVE, "n05": value})
    assert found.verdict is Verdict.UNKNOWN
    assert found.findings[0].message == "no number was measured on n05"
    assert found.suspects == {}


quick = settings(max_examples=60, deadline=None)

waves = st.dictionaries(
    st.text("abcdefgh", min_size=1, max_size=4), st.floats(1, 900), min_size=2, max_size=24
)


@quick
@given(waves, st.none() | st.floats(1, 900))
def test_the_fastest_half_is_never_suspected_but_by_the_floor(
    wave: dict[str, float], floor: float | None
) -> None:
    found = outliers(wave, floor=floor)
    assert found.median is not None
    for name in found.suspects:
        assert wave[name] < found.median or (floor is not None and wave[name] < floor)


@quick
@given(waves, st.floats(0.01, 1))
def test_a_suspect_that_gets_slower_stays_one(wave: dict[str, float], share: float) -> None:
    for name in outliers(wave).suspects:
        assert name in outliers({**wave, name: wave[name] * share}).suspects


@quick
@given(waves, st.floats(0.01, 100))
def test_suspects_do_not_depend_on_the_unit(wave: dict[str, float], unit: float) -> None:
    scaled = {name: value * 2 ** round(math.log2(unit)) for name, value in wave.items()}
    assert outliers(wave).suspects.keys() == outliers(scaled).suspects.keys()
