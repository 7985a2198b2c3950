"""How much each node moves, and what it must get."""

import pytest

from components.catalog import instance_type
from scripts.errors import UsageError
from scripts.storage.expectation import MIB, expect, policy
from tests.storage.logs import P5


@pytest.mark.parametrize(
    ("kind", "clients", "sold", "share", "mib"),
    [
        ("p5.48xlarge", 4, 2400, 600, 17152),
        ("p5.48xlarge", 1, 100_000, 3200, 65536),
        ("p5.48xlarge", 1024, 600, 600 / 1024, 64),
        ("g5.8xlarge", 1, 100_000, 3125, 65536),
    ],
)
def test_a_node_gets_its_share_of_what_is_sold_or_what_it_can_take(
    kind: str, clients: int, sold: float, share: float, mib: int
) -> None:
    found = expect(instance_type(kind), clients, sold)
    assert (found.share_mbps, found.bytes_each) == (share, mib * MIB)


@pytest.mark.parametrize(
    ("clients", "sold", "message"),
    [
        (0, 100, "storage is measured by one node at least, not by 0"),
        (4, 0, "a file system sells some MB/s, not 0"),
        (4, float("inf"), "a file system sells some MB/s, not inf"),
        (4, float("nan"), "a file system sells some MB/s, not nan"),
    ],
)
def test_what_cannot_be_judged_is_refused(clients: int, sold: float, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        expect(P5, clients, sold)
    assert str(caught.value) == message


def test_every_part_of_the_policy_says_where_it_is_from() -> None:
    assert set(policy().sources) == {"check", "client", "errors", "limits"}
    assert 0 < policy().limits.node_low < policy().limits.node_good < 1
    assert 0 < policy().limits.aggregate_low < policy().limits.aggregate_good <= 1
