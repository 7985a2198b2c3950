import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.gate.isolate import (
    MAX_ROUNDS,
    Outcome,
    Pair,
    Trial,
    Wave,
    allowance,
    next_round,
    outcome,
)
from scripts.gate.topology import Place
from scripts.verdicts import Verdict


def name(number: int) -> str:
    return f"node-{number:03d}"


def isolate(
    count: int,
    bad: set[str],
    partners: list[str],
    unknown: set[str] | None = None,
    places: dict[str, Place] | None = None,
) -> tuple[Outcome, list[tuple[Pair, ...]]]:
    """Play all rounds: a pair fails with a bad node in it, and is unknown with an unknown one."""
    nodes = [name(number) for number in range(count)]
    wave = Wave(nodes, partners, allowance(count), places or {})
    trials: list[Trial] = []
    rounds: list[tuple[Pair, ...]] = []
    while len(rounds) < MAX_ROUNDS and (pairs := next_round(wave, trials)):
        rounds.append(pairs)
        for pair in pairs:
            verdict = Verdict.FAIL if set(pair) & bad else Verdict.PASS
            if set(pair) & (unknown or set()):
                verdict = Verdict.UNKNOWN
            trials.append(Trial(pair, verdict))
    return outcome(wave, trials), rounds


@settings(max_examples=150, deadline=None)
@given(st.data(), st.integers(1, 64), st.integers(0, 2))
def test_nobody_good_is_blamed_and_all_bad_ones_are_found(
    data: st.DataObject, count: int, partners: int
) -> None:
    faulty = data.draw(st.sets(st.integers(0, count - 1).map(name)))
    known = [f"partner-{number}" for number in range(partners)]
    found, rounds = isolate(count, faulty, known)
    assert found.bad <= faulty
    assert not found.proven & faulty
    for pairs in rounds:
        met = [node for pair in pairs for node in pair]
        assert len(met) == len(set(met))
    few = len(faulty) <= allowance(count)
    if few and (count >= 3 or partners == 2):
        assert found.bad == faulty
        assert not found.undetermined
    if not few:
        assert len(found.bad) <= allowance(count)


@settings(max_examples=40, deadline=None)
@given(st.data(), st.integers(2, 40))
def test_nodes_of_which_nothing_is_known_are_not_blamed(data: st.DataObject, count: int) -> None:
    silent = data.draw(st.sets(st.integers(0, count - 1).map(name)))
    found, _ = isolate(count, set(), [], silent)
    assert not found.bad
    assert found.proven.isdisjoint(silent)


def test_a_fifth_of_a_wave_may_stay_out_and_one_node_at_least() -> None:
    assert [allowance(count) for count in (1, 2, 4, 5, 9, 10, 14, 100)] == [1, 1, 1, 1, 1, 2, 2, 20]


def test_the_node_left_over_by_an_odd_count_meets_a_proven_one() -> None:
    found, rounds = isolate(5, set(), [])
    assert rounds[1] == ((name(4), name(0)),)
    assert found.proven == {name(number) for number in range(5)}


def test_a_trio_finds_its_bad_node() -> None:
    found, rounds = isolate(3, {name(0)}, [])
    assert found.bad == {name(0)}
    assert len(rounds) == 3


def test_two_nodes_meet_twice_and_are_not_told_apart() -> None:
    found, rounds = isolate(2, {name(0)}, [])
    assert rounds == [((name(0), name(1)),)] * 2
    assert found.undetermined == {name(0), name(1)}


def test_a_bad_node_is_told_after_two_witnesses_that_were_proven_before() -> None:
    found, rounds = isolate(1024, {name(5), name(300), name(301)}, [])
    assert found.bad == {name(5), name(300), name(301)}
    assert [len(pairs) for pairs in rounds] == [512, 4, 3]


def test_what_is_unknown_is_tried_once_more_and_no_more() -> None:
    found, rounds = isolate(100, set(), [], {name(7)})
    assert found.undetermined == {name(7)}
    assert [len(pairs) for pairs in rounds] == [50, 2]


def test_more_than_a_fifth_is_a_common_cause_after_two_rounds() -> None:
    found, rounds = isolate(20, {name(number) for number in range(0, 20, 2)}, [])
    assert found.systemic
    assert not found.bad
    assert len(rounds) == 2


def test_wrong_results_are_a_common_cause_after_one_round() -> None:
    wave = Wave([name(number) for number in range(10)], [], 2, {})
    trials = [Trial(pair, Verdict.FAIL, hard=True) for pair in next_round(wave, [])]
    assert outcome(wave, trials).systemic
    assert next_round(wave, trials) == ()


def test_a_node_that_fails_once_and_passes_once_is_proven() -> None:
    wave = Wave(["a", "b", "c", "d"], [], 1, {})
    trials = [
        Trial(("a", "b"), Verdict.FAIL),
        Trial(("c", "d"), Verdict.PASS),
        Trial(("a", "c"), Verdict.PASS),
    ]
    found = outcome(wave, trials)
    assert found.proven == {"a", "c", "d"}
    assert found.undetermined == {"b"}, "one witness is not enough"
    assert next_round(wave, trials) == (("b", "c"),)


def test_two_weak_neighbours_in_a_row_blame_nobody() -> None:
    wave = Wave(list("abcdefgh"), [], 1, {})
    trials = [
        Trial(("a", "b"), Verdict.FAIL),  # by a weakness of b
        Trial(("c", "d"), Verdict.PASS),
        Trial(("e", "f"), Verdict.PASS),
        Trial(("g", "h"), Verdict.PASS),
        Trial(("a", "c"), Verdict.FAIL),  # by a weakness of c
        Trial(("b", "d"), Verdict.PASS),
    ]
    assert outcome(wave, trials).undetermined == {"a"}
    assert next_round(wave, trials) == (("a", "d"),)


def test_a_wrong_result_counts_also_with_a_node_that_is_proven_later() -> None:
    wave = Wave(["a", "b", "c", "d"], [], 1, {})
    trials = [
        Trial(("a", "b"), Verdict.FAIL, hard=True),
        Trial(("c", "d"), Verdict.PASS),
        Trial(("a", "c"), Verdict.FAIL, hard=True),
        Trial(("b", "d"), Verdict.PASS),
    ]
    found = outcome(wave, trials)
    assert found.bad == {"a"}
    assert found.proven == {"b", "c", "d"}
    assert next_round(wave, trials) == ()


def test_a_wrong_result_that_nobody_explains_keeps_both_nodes_out() -> None:
    wave = Wave(["a", "b", "c", "d"], [], 1, {})
    trials = [
        Trial(("a", "b"), Verdict.FAIL, hard=True),
        Trial(("c", "d"), Verdict.PASS),
        Trial(("a", "c"), Verdict.PASS),
        Trial(("b", "d"), Verdict.PASS),
    ]
    found = outcome(wave, trials)
    assert (found.hard, found.bad) == ({"a", "b"}, set())
    assert found.proven == {"c", "d"}


def places(count: int, size: int) -> dict[str, Place]:
    return {name(number): ("top", f"leaf-{number // size}") for number in range(count)}


def test_witnesses_stand_below_the_same_switch_where_they_can() -> None:
    known = places(24, 8)
    _, rounds = isolate(24, {name(0), name(9), name(18)}, [], places=known)
    for pairs in rounds:
        assert all(known[left] == known[right] for left, right in pairs)


def test_a_block_of_which_nobody_passes_is_held_as_one_and_no_node_is_blamed() -> None:
    dark = {name(number) for number in range(8, 16)}
    found, rounds = isolate(40, dark | {name(30)}, [], places=places(40, 8))
    assert [(block.network_node, set(block.nodes)) for block in found.dark] == [("leaf-1", dark)]
    assert found.bad == {name(30)}
    assert len(found.proven) == 31
    assert len(rounds) == 3


def test_blocks_that_are_most_of_a_wave_are_a_common_cause() -> None:
    dark = {name(number) for number in range(8, 24)}
    found, _ = isolate(24, dark, [], places=places(24, 8))
    assert found.systemic


@pytest.mark.parametrize("lost", [name(0), name(3)])
def test_who_is_lost_meets_nobody_any_more(lost: str) -> None:
    wave = Wave([name(number) for number in range(6)], [], 1, {})
    trials = [
        Trial(pair, Verdict.FAIL if name(0) in pair else Verdict.PASS)
        for pair in next_round(wave, [])
    ]
    met = {each for pair in next_round(wave, trials, {lost}) for each in pair}
    assert name(1) in met
    assert lost not in met
