import pytest

from scripts.gate.tally import Row, State, Tally, fitted, listed, taken


def rows(*tallies: Tally) -> tuple[Row, ...]:
    """Take one tally a second."""
    found: tuple[Row, ...] = ()
    for second, tally in enumerate(tallies):
        found = taken(found, tally, second)
    return found


def told(of: list[Row]) -> list[str]:
    return [f"{row.tally.stage} {row.tally.round}".strip() + f": {row.state}" for row in of]


@pytest.mark.parametrize(
    ("tally", "state"),
    [
        (Tally("pairs", "1", 3), State.RUNNING),
        (Tally("pairs", "1", 3, passed=1, failed=1), State.RUNNING),
        (Tally("pairs", "1", 3, passed=3), State.PASSED),
        (Tally("pairs", "1", 3, passed=2, unknown=1), State.UNKNOWN),
        (Tally("pairs", "1", 3, passed=1, failed=1, unknown=1), State.FAILED),
    ],
)
def test_a_round_is_as_good_as_its_worst_run_once_all_have_ended(
    tally: Tally, state: State
) -> None:
    assert [row.state for row in rows(tally)] == [state]


def test_a_round_takes_as_long_as_from_its_first_tally_to_its_last() -> None:
    [row] = rows(Tally("static", "1", 2), Tally("static", "1", 2, 1), Tally("static", "1", 2, 2))
    assert (row.seconds(100), row.state) == (2, State.PASSED)
    [row] = rows(Tally("static", "1", 2), Tally("static", "1", 2, 1))
    assert row.seconds(100) == 100


def test_a_round_that_starts_again_has_a_row_of_its_own() -> None:
    found = rows(
        Tally("sweep", "all_reduce", 1),
        Tally("sweep", "all_reduce", 1, failed=1),
        Tally("sweep", "all_reduce", 1),
        Tally("sweep", "all_reduce", 1, passed=1),
    )
    assert [(row.state, row.seconds(9)) for row in found] == [(State.FAILED, 1), (State.PASSED, 1)]


def test_a_round_that_ended_is_told_again_without_a_change_or_is_another_one() -> None:
    failed = Tally("sweep", "all_reduce", 1, failed=1)
    first = rows(failed)
    assert taken(first, failed, 9) == first
    again = taken(first, Tally("sweep", "all_reduce", 1, passed=1), 9)
    assert [row.state for row in again] == [State.FAILED, State.PASSED]


@pytest.mark.parametrize(
    ("round_", "name"),
    [
        ("", "static"),
        ("again", "static again"),
        ("2", "static, round 2"),
        ("3 rounds", "static 3 rounds"),
    ],
)
def test_a_round_is_named_by_its_stage_and_what_it_runs(round_: str, name: str) -> None:
    assert [row.name for row in rows(Tally("static", round_, 1))] == [name]


def test_what_waits_stands_below_and_what_was_passed_over_where_it_would_have_been() -> None:
    found = rows(
        Tally("static", "1", 4, 4),
        Tally("pairs", "1", 2, 2),
        Tally("sweep", "all_reduce", 1, failed=1),
        Tally("search", "1", 2, 1),
    )
    start = ["static 1: passed", "dcgm: not run", "alone: not run", "pairs 1: passed"]
    start += ["sweep all_reduce: failed"]
    assert told(listed(found, over=False)) == [*start, "search 1: running", "storage: waiting"]
    assert told(listed(found, over=True)) == [*start, "search 1: stopped", "storage: not run"]


def test_before_anything_runs_everything_waits() -> None:
    assert told(listed((), ("static", "pairs"), over=False)) == [
        "static: waiting",
        "pairs: waiting",
    ]


def test_rounds_of_a_stage_share_a_row_where_there_is_no_room() -> None:
    found = rows(
        Tally("static", "1", 8, 8),
        *(Tally("pairs", f"{number}", 2, 1, 1) for number in (1, 2, 3)),
        Tally("sweep", "all_reduce", 1),
    )
    assert [row.name for row in fitted(found, 9)] == [row.name for row in found]
    four = fitted(found, 4)
    assert [row.name for row in four] == [
        "static, round 1",
        "pairs 2 rounds",
        "pairs, round 3",
        "sweep all_reduce",
    ]
    assert (four[1].tally.total, four[1].tally.failed, four[1].state) == (4, 2, State.FAILED)
    assert [row.name for row in fitted(found, 3)] == [
        "static, round 1",
        "pairs 3 rounds",
        "sweep all_reduce",
    ]
    assert [row.name for row in fitted(found, 2)] == ["pairs 3 rounds", "sweep all_reduce"]


def test_what_waits_is_left_out_before_what_ran() -> None:
    found = listed(rows(Tally("static", "1", 8)), ("static", "pairs", "sweep"), over=False)
    assert told(fitted(found, 2)) == ["static 1: running", "pairs: waiting"]
