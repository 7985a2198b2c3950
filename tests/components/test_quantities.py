import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.quantities import count, mebibytes


@pytest.mark.parametrize(
    ("amount", "expected"),
    [(0, "0"), (6, "6"), (999, "999"), (2000, "2k"), (2500, "2500"), (3_000_000, "3M")],
)
def test_a_number_is_written_as_the_api_server_stores_it(amount: int, expected: str) -> None:
    assert count(amount) == expected


@pytest.mark.parametrize(
    ("amount", "expected"),
    [(0, "0"), (8192, "8Gi"), (1536, "1536Mi"), (1024**2, "1Ti"), (1677722, "1677722Mi")],
)
def test_an_amount_of_memory_is_written_as_the_api_server_stores_it(
    amount: int, expected: str
) -> None:
    assert mebibytes(amount) == expected


@given(st.integers(min_value=1, max_value=10**12))
def test_no_amount_is_changed_by_its_form(amount: int) -> None:
    text = mebibytes(amount)
    factor = 1024 ** ("Mi", "Gi", "Ti", "Pi").index(text[-2:])
    assert int(text[:-2]) * factor == amount
