"""Nodes that go while something runs on them."""

import pytest

from scripts.gate.absence import Absences
from scripts.gate.objects import Manifest

Look = dict[str, bool]


def node(name: str, *, ready: bool) -> Manifest:
    conditions = [{"type": "Ready", "status": "True" if ready else "Unknown"}]
    return {"metadata": {"name": name}, "status": {"conditions": conditions}}


@pytest.mark.parametrize(
    ("looks", "gone"),
    [
        ([(0, {"a": True}), (75, {"a": True})], set[str]()),
        ([(0, {"a": True}), (15, {"a": False}), (74, {"a": False})], set[str]()),
        ([(0, {"a": True}), (15, {"a": False}), (75, {"a": False})], {"a"}),
        ([(0, {"a": False}), (60, {"a": False})], {"a"}),
        # A kubelet that was restarted.
        (
            [(0, {"a": False}), (30, {"a": True}), (45, {"a": False}), (75, {"a": False})],
            set[str](),
        ),
        # A machine that is taken away with its Node object.
        ([(0, {"a": True, "b": True}), (15, {"b": True}), (75, {"b": True})], {"a"}),
    ],
)
def test_a_node_is_gone_that_nobody_has_seen_ready_for_a_minute(
    looks: list[tuple[float, Look]], gone: set[str]
) -> None:
    now, seen = 0.0, Look()
    absences = Absences(
        lambda: [node(name, ready=ready) for name, ready in seen.items()], lambda: now
    )
    found: set[str] = set()
    for at, look in looks:
        now, seen = at, look
        found = set(absences.gone())
    assert found == gone


def test_nodes_are_not_listed_at_each_look() -> None:
    now, lists = 0.0, 0

    def nodes() -> list[Manifest]:
        nonlocal lists
        lists += 1
        return []

    absences = Absences(nodes, lambda: now)
    for second in range(31):
        now = float(second)
        absences.gone()
    assert lists == 3
