"""Open nodes are lent to one gate at a time, and for a while."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from scripts.gate.lending import LENT, lend, lent_to_other, take_back

NOW = datetime(2026, 12, 1, 8, tzinfo=UTC)


def node(loan: str | None) -> dict[str, Any]:
    annotations = {} if loan is None else {LENT: loan}
    return {"metadata": {"name": "a", "resourceVersion": "7", "annotations": annotations}}


@pytest.mark.parametrize(
    ("loan", "taken"),
    [
        (None, False),
        ("", False),
        ("r1 2026-12-01T09:00:00+00:00", False),
        ("r2 2026-12-01T09:00:00+00:00", True),
        ("r2 2026-12-01T07:59:59+00:00", False),
        ("r2 soon", False),
        ("r2", False),
    ],
)
def test_a_node_is_anothers_while_its_loan_lasts(loan: str | None, *, taken: bool) -> None:
    assert lent_to_other(node(loan), "r1", NOW) is taken


def test_a_loan_names_the_run_and_its_end_and_is_made_at_the_version_that_was_read() -> None:
    assert lend(node(None), "r1", NOW, 90.4) == {
        "metadata": {
            "resourceVersion": "7",
            "annotations": {LENT: "r1 2026-12-01T08:01:30+00:00"},
        }
    }
    lent = node(lend(node(None), "r1", NOW, 90)["metadata"]["annotations"][LENT])
    assert lent_to_other(lent, "r2", NOW + timedelta(seconds=89))
    assert not lent_to_other(lent, "r2", NOW + timedelta(seconds=90))


def test_only_ones_own_loan_is_taken_back() -> None:
    mine = node("r1 2026-12-01T09:00:00+00:00")
    assert take_back(mine, "r1") == {
        "metadata": {"resourceVersion": "7", "annotations": {LENT: None}}
    }
    assert take_back(mine, "r2") is None
    assert take_back(node(None), "r1") is None
