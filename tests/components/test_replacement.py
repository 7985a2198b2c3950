from typing import Any, get_args

import pytest

from components.capacity import CapacityConfig
from components.catalog import instance_types
from components.catalog.replacement import budget, obstacle, replacement
from components.pools import PoolConfig
from components.settings import SettingsError, parse

RESERVATION = "cr-0123456789abcdef0"
BLOCK = {"source": "capacity-block", "id": RESERVATION, "ends": "2026-12-14T11:30:00Z"}
P5 = {
    "name": "train",
    "instance_type": "p5.48xlarge",
    "zone": "use1-az4",
    "waves": [2, 14],
}
GB200 = {
    **P5,
    "instance_type": "p6e-gb200.36xlarge",
    "capacity": BLOCK,
    "floor_gbps": 100,
}


def pool(**settings: object) -> PoolConfig:
    return parse(PoolConfig, {**P5, **settings}, "file")


def test_every_way_of_buying_has_its_fact_and_every_ultraserver_is_in_the_catalog() -> None:
    models = get_args(get_args(CapacityConfig)[0])
    named = {get_args(model.model_fields["source"].annotation)[0] for model in models}
    assert replacement().sources.keys() == named
    assert instance_types().keys() >= replacement().ultraservers.types


@pytest.mark.parametrize(("nodes", "most"), [(1, 1), (2, 1), (14, 1), (20, 2), (105, 10)])
def test_a_tenth_of_a_wave_and_one_at_least_may_be_replaced(nodes: int, most: int) -> None:
    assert budget(nodes) == most


@pytest.mark.parametrize(
    ("settings", "most"),
    [
        ({}, 1),
        ({"capacity": {"source": "spot"}}, 1),
        ({"capacity": {"source": "open-reservation"}}, 1),
        ({"capacity": {"source": "reservation", "id": RESERVATION}}, 1),
        ({"capacity": BLOCK}, 1),
        ({"replace_bad": 0}, 0),
        ({"replace_bad": 5}, 5),
        (GB200, 0),
        ({**GB200, "replace_bad": 0}, 0),
    ],
    ids=str,
)
def test_a_pool_replaces_what_is_asked_where_its_capacity_gives_another(
    settings: dict[str, Any], most: int
) -> None:
    assert pool(**settings).to_replace(14) == most


def test_who_asks_for_it_where_it_cannot_be_is_told() -> None:
    with pytest.raises(SettingsError) as caught:
        pool(**GB200, replace_bad=2)
    [problem] = map(str, caught.value.problems)
    assert problem == (
        "replace_bad: is 2, but one p6e-gb200.36xlarge cannot be replaced by itself: it is part of "
        "an UltraServer; set it to 0, and give bad nodes back to AWS support"
    )


def test_a_way_of_buying_that_gives_no_other_instance_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known = replacement()
    spot = known.sources["spot"].model_copy(update={"another": False})
    changed = known.model_copy(update={"sources": {**known.sources, "spot": spot}})
    monkeypatch.setattr("components.catalog.replacement.replacement", lambda: changed)
    assert obstacle("p5.48xlarge", "spot") == (
        "spot capacity gives no other instance for one that is terminated"
    )


def test_only_what_stands_in_the_way_is_named() -> None:
    assert obstacle("p5.48xlarge", "capacity-block") == ""
    assert obstacle("trn2u.48xlarge", "on-demand") == (
        "one trn2u.48xlarge cannot be replaced by itself: it is part of an UltraServer"
    )
