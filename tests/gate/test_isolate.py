from hypothesis import given, settings
from hypothesis import strategies as st

from scripts.gate.isolate import MAX_TRIES, Outcome, Pair, Trial, allowance, next_round, outcome
from scripts.verdicts import Verdict


def name(number: int) -> str:
    return f"node-{number:03d}"


def isolate(
    count: int, bad: set[str], partners: list[str], unknown: set[str] | None = None
) -> tuple[Outcome, list[tuple[Pair, ...]]]:
    """Play all rounds: a pair fails with a bad node in it, and is unknown with an unknown one."""
    nodes = [name(number) for number in range(count)]
    trials: list[Trial] = []
    rounds: list[tuple[Pair, ...]] = []
    while pairs := next_round(nodes, partners, trials, allowance(count)):
        rounds.append(pairs)
        for pair in pairs:
            verdict = Verdict.FAIL if set(pair) & bad else Verdict.PASS
            if set(pair) & (unknown or set()):
                verdict = Verdict.UNKNOWN
            trials.append(Trial(pair, verdict))
    return outcome(nodes, partners, trials, allowance(count)), rounds


@settings(max_examples=60, deadline=None)
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
    assert len(rounds) <= 6
    few = len(faulty) <= allowance(count)
    if few and (count >= 3 or partners == 2):
        assert found.bad == faulty
        assert len(rounds) <= 4
    if not few:
        assert len(found.bad) <= allowance(count)


@settings(max_examples=40, deadline=None)
@given(st.data(), st.integers(2, 40))
def test_nodes_of_which_nothing_is_known_are_not_blamed(data: st.DataObject, count: int) -> None:
    silent = data.draw(st.sets(st.integers(0, count - 1).map(name)))
    found, rounds = isolate(count, set(), [], silent)
    assert not found.bad
    assert found.proven.isdisjoint(silent)
    assert len(rounds) <= MAX_TRIES * count


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


def test_more_than_a_fifth_is_a_common_cause_after_one_round() -> None:
    found, rounds = isolate(20, {name(number) for number in range(0, 20, 2)}, [])
    assert found.systemic
    assert not found.bad
    assert len(rounds) == 1


def test_a_node_that_fails_once_and_passes_once_is_proven() -> None:
    trials = [
        Trial(("a", "b"), Verdict.FAIL),
        Trial(("c", "d"), Verdict.PASS),
        Trial(("a", "c"), Verdict.PASS),
    ]
    found = outcome(["a", "b", "c", "d"], [], trials, 1)
    assert found.proven == {"a", "c", "d"}
    assert found.undetermined == {"b"}, "one witness is not enough"
    assert next_round(["a", "b", "c", "d"], [], trials, 1) == (("b", "c"),)
