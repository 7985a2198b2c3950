"""Words for numbers, as they stand in messages."""

import pytest

from scripts.text import clock, names, size, sizes, words


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-3, "0:00"), (0, "0:00"), (59.9, "0:59"), (60, "1:00"), (1567, "26:07"), (3661, "1:01:01")],
)
def test_durations_are_written_as_a_clock_shows_them(seconds: float, text: str) -> None:
    assert clock(seconds) == text


@pytest.mark.parametrize(("count", "text"), [(0, "0 nodes"), (1, "1 node"), (2, "2 nodes")])
def test_one_thing_is_no_things(count: int, text: str) -> None:
    assert words(count, "node") == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (8, "8 B"), (1024, "1 KiB"), (1536, "1536 B"), (1 << 33, "8 GiB")],
)
def test_sizes_are_written_in_the_largest_unit_that_divides_them(count: int, text: str) -> None:
    assert size(count) == text


def test_of_many_the_first_six_are_named_and_the_rest_counted() -> None:
    assert names(["b", "a"]) == "a, b"
    assert names([f"n{index}" for index in range(9)]) == "n0, n1, n2, n3, n4, n5 and 3 more"
    assert sizes([1 << 10, 1 << 20]) == "1 KiB, 1 MiB"
