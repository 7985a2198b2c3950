import pytest

from scripts.gate.idle import Idle, idle
from scripts.gate.ports import NodeState


def node(name: str, *, passed: bool = True, ready: bool = True) -> NodeState:
    return NodeState(
        name=name,
        instance_type="p5.48xlarge",
        provider_id=f"aws:///use1-az4/i-{name}",
        wave="1",
        ready=ready,
        passed=passed,
        devices={},
    )


THREE = [node("c"), node("a"), node("b")]


def test_nodes_without_a_job_are_shut_and_tested_in_order_of_name() -> None:
    assert idle(THREE, {"b"}, partners=0, asked=3) == Idle(("a", "c"), ("a", "c"))


def test_a_node_that_came_in_the_place_of_another_is_tested_and_need_not_be_shut() -> None:
    members = [node("a"), node("new", passed=False)]
    assert idle(members, (), partners=0, asked=2) == Idle(("a", "new"), ("a",))


def test_a_node_that_is_not_open_is_tested_whoever_runs_on_it() -> None:
    members = [node("a"), node("shut", passed=False)]
    assert idle(members, {"shut"}, partners=0, asked=2).tested == ("a", "shut")


def test_nobody_waits_for_a_node_that_is_not_ready() -> None:
    members = [node("a"), node("b"), node("gone", ready=False)]
    assert idle(members, (), partners=0, asked=3).tested == ("a", "b")


@pytest.mark.parametrize(
    ("members", "busy", "asked", "message"),
    [
        ([], (), 2, "nothing to test: jobs run on 0 of 2 nodes, and 2 are not Ready"),
        (THREE, ("a", "b", "c"), 3, "nothing to test: jobs run on 3 of 3 nodes"),
        (
            THREE,
            ("a", "b"),
            3,
            (
                "nothing to test: only c is idle, and it has no other node to meet; jobs run on "
                "2 of 3 nodes"
            ),
        ),
        (
            [node("a"), node("b", ready=False)],
            (),
            2,
            (
                "nothing to test: only a is idle, and it has no other node to meet; jobs run on "
                "0 of 2 nodes, and 1 is not Ready"
            ),
        ),
    ],
)
def test_too_few_idle_nodes_are_no_fault_and_none_is_shut(
    members: list[NodeState], busy: tuple[str, ...], asked: int, message: str
) -> None:
    assert idle(members, busy, partners=0, asked=asked) == Idle(message=message)


def test_one_idle_node_is_tested_where_another_wave_lends_one() -> None:
    assert idle(THREE, {"a", "b"}, partners=1, asked=3).shut == ("c",)


def test_a_wave_of_one_node_is_tested_by_itself() -> None:
    assert idle([node("a")], (), partners=0, asked=1).tested == ("a",)
