"""Every row of the table, over its whole life, against the simulator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from scripts.local.plugins.aws import make_schema
from scripts.local.plugins.aws.rows import ROWS
from scripts.local.plugins.aws.schema import SCHEMA_FILE, schema
from tests.local.plugins.aws.cases import EC2_AND_EKS_CASES, Case
from tests.local.plugins.aws.services import SERVICE_CASES
from tests.local.plugins.aws.support import Engine, plain, token_of

if TYPE_CHECKING:
    from tests.local.plugins.aws.world import World

CASES = (*EC2_AND_EKS_CASES, *SERVICE_CASES)

BESIDE = {"region", "tags", "tagsAll"}
"""Inputs that every row treats alike."""


def test_the_schema_file_is_what_the_installed_sdk_says() -> None:
    assert make_schema.build() == SCHEMA_FILE.read_text(encoding="utf-8"), (
        "run `python -m scripts.local.plugins.aws.make_schema`"
    )


def test_every_row_has_a_life_to_test() -> None:
    tested = {token_of(case.kind) for case in CASES} | {"aws:eks/cluster:Cluster"}
    assert tested == set(ROWS)


@pytest.mark.parametrize("token", ROWS)
def test_a_row_names_only_properties_that_the_sdk_has(token: str) -> None:
    row, shape = ROWS[token], schema().resources[token]
    named = {
        path.partition(".")[0]
        for path in (
            *row.replace,
            *row.local,
            *row.refused,
            *row.defaults,
            *row.json,
            *row.ordered,
            *row.unknown,
            *row.one_of,
            *(name for group in row.conflicts for name in group),
            *(name for change in row.updates for name in change.when),
        )
    }
    assert named - set(shape.inputs) == set()
    assert set(row.outputs) | row.unsettled <= set(shape.properties)


@pytest.mark.parametrize("token", ROWS)
def test_every_input_is_replaced_updated_kept_or_refused(token: str) -> None:
    row, shape = ROWS[token], schema().resources[token]
    updated = {name for change in row.updates for name in change.when}
    replaced = {path.partition(".")[0] for path in row.replace}
    sorted_out = updated | replaced | row.local | row.refused | BESIDE
    left = {name for name in shape.inputs if name not in sorted_out and "Prefix" not in name}
    assert not left or row.hooks.update is not None


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.kind)
def test_a_resource_lives_its_whole_life(engine: Engine, world: World, case: Case) -> None:
    news = case.make(world)
    made = engine.create(case.kind, "life", news)
    seen = engine.refresh(made)
    assert seen is not None
    assert plain(seen.inputs) == plain(made.inputs)
    assert seen.state == made.state
    assert list(engine.diff(seen, news).diffs) == []

    changes = case.change(world)
    if changes:
        news |= changes
        assert list(engine.diff(made, news).replaces) == []
        assert set(engine.diff(made, news).diffs) - {"tagsAll"} == set(changes)
        made = engine.update(made, news)
        seen = engine.refresh(made)
        assert seen is not None
        assert list(engine.diff(seen, news).diffs) == []

    found = engine.import_(case.kind, "life", case.import_id(made))
    assert found is not None
    assert found.id == made.id
    assert set(engine.diff(found, news).diffs) <= case.not_imported

    engine.delete(made)
    assert (engine.refresh(made) is not None) == case.stays
    engine.delete(made)


@pytest.mark.slow
def test_a_cluster_lives_its_whole_life(engine: Engine, world: World) -> None:
    made = world.cluster
    assert made.state["status"] == "ACTIVE"
    assert made.state["vpcConfig"]["vpcId"] == world.vpc.id
    assert made.state["certificateAuthority"]["data"] != ""
    assert engine.refresh(made) == made
    news = {name: made.inputs[name] for name in ("name", "roleArn", "vpcConfig", "accessConfig")}
    more = {
        **news,
        "enabledClusterLogTypes": ["api", "audit"],
        "vpcConfig": {**news["vpcConfig"], "securityGroupIds": [world.group.id]},
        "zonalShiftConfig": {"enabled": True},
    }
    changed = engine.update(made, more)
    assert changed.state["enabledClusterLogTypes"] == ["api", "audit"]
    assert changed.state["vpcConfig"]["securityGroupIds"] == [world.group.id]
    assert changed.state["zonalShiftConfig"] == {"enabled": True}
    assert list(engine.diff(changed, more).diffs) == []
    news["zonalShiftConfig"] = {"enabled": False}
    assert list(engine.diff(engine.update(changed, news), news).diffs) == []
    found = engine.import_("eks.Cluster", "cluster", made.id)
    assert found is not None
    # The API does not show who was made the first administrator.
    assert set(engine.diff(found, news).diffs) <= {"accessConfig"}
