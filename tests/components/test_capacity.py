from datetime import UTC, datetime
from typing import Any

import pytest

from components.capacity import CapacityConfig, OnDemand, Term
from components.settings import Section, SettingsError, parse

BLOCK = "cr-0123456789abcdef0"
GROUP = "arn:aws:resource-groups:us-east-1:111122223333:group/training"


class Pool(Section):
    """Something bought."""

    capacity: CapacityConfig = OnDemand()


def bought(raw: dict[str, Any]) -> Any:  # noqa: ANN401 - one of several models
    return parse(Pool, {"capacity": raw}, "file").capacity


def target(**what: str) -> dict[str, Any]:
    return {"capacity_reservation_specification": {"capacity_reservation_target": what}}


@pytest.mark.parametrize(
    ("raw", "capacity_type", "template", "held", "placed"),
    [
        ({"source": "on-demand"}, "ON_DEMAND", {}, False, True),
        ({"source": "spot"}, "SPOT", {}, False, False),
        (
            {"source": "open-reservation"},
            "ON_DEMAND",
            {
                "capacity_reservation_specification": {
                    "capacity_reservation_preference": "capacity-reservations-only"
                }
            },
            True,
            False,
        ),
        (
            {"source": "reservation", "id": BLOCK},
            "ON_DEMAND",
            target(capacity_reservation_id=BLOCK),
            True,
            False,
        ),
        (
            {"source": "reservation", "resource_group": GROUP},
            "ON_DEMAND",
            target(capacity_reservation_resource_group_arn=GROUP),
            True,
            False,
        ),
        (
            {"source": "capacity-block", "id": BLOCK, "ends": "2026-12-14T11:30:00Z"},
            "CAPACITY_BLOCK",
            {
                **target(capacity_reservation_id=BLOCK),
                "instance_market_options": {"market_type": "capacity-block"},
            },
            True,
            False,
        ),
        (
            {"source": "future-reservation", "id": BLOCK, "starts": "2026-12-14T11:30:00Z"},
            "ON_DEMAND",
            target(capacity_reservation_id=BLOCK),
            True,
            False,
        ),
    ],
)
def test_each_source_says_what_aws_accepts_and_no_more(
    raw: dict[str, Any], capacity_type: str, template: dict[str, Any], *, held: bool, placed: bool
) -> None:
    source = bought(raw)
    assert source.capacity_type == capacity_type
    assert source.template() == template
    assert (source.held, source.placed) == (held, placed)


def test_capacity_that_ends_is_drained_forty_minutes_before() -> None:
    block = bought({"source": "capacity-block", "id": BLOCK, "ends": "2026-12-14T11:30:00Z"})
    assert block.term == Term(None, datetime(2026, 12, 14, 10, 50, tzinfo=UTC))
    future = bought(
        {
            "source": "future-reservation",
            "id": BLOCK,
            "starts": "2026-12-14T11:30:00Z",
            "ends": "2026-12-28T11:30:00Z",
        }
    )
    assert future.term == Term(
        datetime(2026, 12, 14, 11, 30, tzinfo=UTC), datetime(2026, 12, 28, 10, 50, tzinfo=UTC)
    )
    assert bought({"source": "on-demand"}).term is None


@pytest.mark.parametrize(
    ("raw", "problems"),
    [
        (
            {"source": "reservation"},
            [
                (
                    "capacity.id: and resource_group are both missing; give the id of one "
                    "reservation, or the ARN of a resource group of them"
                )
            ],
        ),
        (
            {"source": "reservation", "id": BLOCK, "resource_group": GROUP},
            [
                (
                    "capacity.id: and resource_group are both given; give the id of one "
                    "reservation, or the ARN of a resource group of them"
                )
            ],
        ),
        (
            {"source": "reservation", "CapacityReservationResourceGroupArn": GROUP},
            [
                (
                    "capacity.CapacityReservationResourceGroupArn: is not a setting; known here: "
                    "id, resource_group, source"
                ),
                (
                    "capacity.id: and resource_group are both missing; give the id of one "
                    "reservation, or the ARN of a resource group of them"
                ),
            ],
        ),
        (
            {"source": "capacity-block", "ends": "2026-12-14T11:30:00Z"},
            ["capacity.id: is missing; add it"],
        ),
        ({"source": "capacity-block", "id": BLOCK}, ["capacity.ends: is missing; add it"]),
        (
            {"source": "on-demand", "id": BLOCK},
            ["capacity.id: is not a setting; known here: source"],
        ),
        (
            {"source": "capacity-block", "id": BLOCK, "ends": "2026-12-14T11:30:00+01:00"},
            [
                (
                    "capacity.ends: is 2026-12-14T11:30:00+01:00, which is not in UTC; write it "
                    "like 2026-12-14T11:30:00Z"
                )
            ],
        ),
        (
            {
                "source": "capacity-block",
                "id": BLOCK,
                "starts": "2026-12-14T11:00:00Z",
                "ends": "2026-12-14T11:30:00Z",
            },
            [
                (
                    "capacity.ends: is 2026-12-14T11:30:00Z, which leaves no time after the start "
                    "at 2026-12-14T11:00:00Z and 40 minutes of draining; use a later end"
                )
            ],
        ),
        (
            {"source": "reserved"},
            [
                (
                    "capacity: has the text 'reserved' as its source; use one of on-demand, spot, "
                    "open-reservation, reservation, capacity-block, future-reservation"
                )
            ],
        ),
        ({}, ["capacity: has no source; add it, to say which of its kinds this is"]),
    ],
)
def test_what_aws_would_refuse_is_refused_before(raw: dict[str, Any], problems: list[str]) -> None:
    with pytest.raises(SettingsError) as caught:
        bought(raw)
    assert list(map(str, caught.value.problems)) == problems
