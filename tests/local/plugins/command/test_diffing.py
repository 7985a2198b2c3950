from __future__ import annotations

import pytest

from scripts.local.plugins.command.diffing import Change, diff
from scripts.local.plugins.command.properties import COPY_FILE, LOCAL_COMMAND, RESOURCES
from scripts.local.plugins.shared.wire import UNKNOWN, Asset, Props, Secret

STATE: Props = {"create": "c", "triggers": [1, Asset(hash="a")], "stdout": "s", "stderr": ""}


@pytest.mark.parametrize(
    ("news", "changes"),
    [
        ({}, {}),
        ({"create": Secret("c")}, {}),
        ({"create": "d"}, {"create": Change("update", replaces=False)}),
        ({"create": UNKNOWN}, {"create": Change("update", replaces=False)}),
        ({"delete": "x"}, {"delete": Change("add", replaces=False)}),
        ({"create": None}, {"create": Change("delete", replaces=False)}),
        ({"environment": {"A": "b"}}, {"environment": Change("add", replaces=False)}),
        ({"triggers": [1, Asset(hash="a", path="other")]}, {}),
        ({"triggers": [2, Asset(hash="a")]}, {"triggers": Change("update", replaces=True)}),
        ({"triggers": [1, Asset(hash="b")]}, {"triggers": Change("update", replaces=True)}),
        ({"triggers": [1, UNKNOWN]}, {"triggers": Change("update", replaces=True)}),
        ({"triggers": None}, {"triggers": Change("delete", replaces=True)}),
    ],
)
def test_inputs_update_and_triggers_replace(news: Props, changes: dict[str, Change]) -> None:
    given: Props = {"create": "c", "triggers": [1, Asset(hash="a")], **news}
    assert diff(RESOURCES[LOCAL_COMMAND], STATE, given, []) == changes


def test_an_ignored_input_is_not_compared() -> None:
    news: Props = {"create": "d", "triggers": [2]}
    assert diff(RESOURCES[LOCAL_COMMAND], STATE, news, ["create", "triggers"]) == {}


def test_a_resource_that_cannot_update_is_replaced_by_any_change() -> None:
    changes = diff(RESOURCES[COPY_FILE], {"localPath": "a"}, {"localPath": "b"}, [])
    assert changes == {"localPath": Change("update", replaces=True)}
