import json

import pytest

from scripts.deploy.replacements import Replacement, replacements, summary

GROUP = "urn:pulumi:prod::trainyard::a:b:C$aws:eks/nodeGroup:NodeGroup::pool-train-1"
GATE = "urn:pulumi:prod::trainyard::a:b:C$command:local:Command::acceptance-train-1"


def event(op: str, urn: str, *keys: str) -> str:
    kind = urn.split("::")[2].rpartition("$")[2]
    metadata = {"op": op, "urn": urn, "type": kind, "keys": list(keys) or None}
    return json.dumps({"sequence": 1, "resourcePreEvent": {"metadata": metadata}})


OTHER = json.dumps({"sequence": 0, "preludeEvent": {"config": {}}})
CASES = [
    (
        [
            OTHER,
            event("delete-replaced", GROUP),
            event("replace", GROUP, "nodeGroupName"),
            event("create-replacement", GROUP, "nodeGroupName"),
        ],
        [Replacement("pool-train-1", "NodeGroup", ("nodeGroupName",), deleted_first=True)],
        [
            "1 to be replaced:",
            (
                "  pool-train-1 (NodeGroup), because of nodeGroupName: deleted first, then made "
                "again: its capacity cannot hold two, so its nodes leave before new ones come"
            ),
        ],
    ),
    (
        [
            event("create-replacement", GATE, "triggers"),
            event("replace", GATE, "triggers"),
            event("create", GROUP),
            event("delete-replaced", GATE),
        ],
        [Replacement("acceptance-train-1", "Command", ("triggers",), deleted_first=False)],
        [
            "1 to be replaced:",
            "  acceptance-train-1 (Command), because of triggers: the new one is made first",
        ],
    ),
    ([OTHER, event("create", GROUP), event("update", GATE)], [], []),
]


@pytest.mark.parametrize(("log", "found", "told"), CASES)
def test_a_preview_tells_what_is_replaced_and_what_goes_first(
    log: list[str], found: list[Replacement], told: list[str]
) -> None:
    assert replacements(log) == found
    assert summary(found) == told
