"""Faults of every kind in a wave of blocks, from the Jobs' logs to the marks on the nodes."""

from collections.abc import Callable

import pytest

from scripts.gate.ports import Mark
from scripts.verdicts import Verdict
from tests.gate.fake import FakeCluster, Shows, among, meeting, on, once, run_gate, sizes


@pytest.mark.parametrize(
    ("kind", "mark"),
    [
        ("gpu", Mark.REFUSE),
        ("link", Mark.REFUSE),
        ("socket", Mark.REFUSE),
        ("dead", Mark.HOLD),
    ],
)
def test_a_fault_of_a_node_is_found_in_a_wave_of_blocks(kind: str, mark: Mark) -> None:
    cluster = FakeCluster(quick=True)
    names = cluster.add(24, leaf=8)
    cluster.faults["node-11"] = {kind}
    assert run_gate(cluster, 24).verdict is Verdict.PASS
    assert cluster.marked(Mark.OPEN) == [name for name in names if name != "node-11"]
    assert cluster.marked(mark) == ["node-11"]


IN_COMPANY: dict[str, tuple[Callable[[str, list[str]], Shows], Mark]] = {
    "wrong values": (lambda name, _: on(name, "wrong"), Mark.REFUSE),
    "a missing NIC": (lambda name, _: on(name, "nic"), Mark.REFUSE),
    "no GPUDirect": (lambda name, _: on(name, "gdr", least=2), Mark.REFUSE),
    "a hang between nodes": (lambda name, _: on(name, "hang", least=2), Mark.HOLD),
    "a hang in large groups": (lambda name, _: on(name, "hang", least=5), Mark.HOLD),
    "a weakness that passes": (lambda name, _: once(name), Mark.OPEN),
    "slow with one block": (meeting, Mark.REFUSE),
    "slow in large groups": (lambda name, _: on(name, "link", least=6), Mark.REFUSE),
}


@pytest.mark.parametrize("kind", IN_COMPANY)
def test_a_fault_that_shows_in_company_is_found_in_a_wave_of_blocks(kind: str) -> None:
    cluster = FakeCluster(quick=True)
    names = cluster.add(24, leaf=8)
    make, mark = IN_COMPANY[kind]
    cluster.shows = [make("node-11", cluster.below("nn-2"))]
    assert run_gate(cluster, 24).verdict is Verdict.PASS
    assert "node-11" in cluster.marked(mark)
    assert {*names} - {*cluster.marked(Mark.OPEN)} <= {"node-11"}


def test_a_node_that_is_slow_in_large_groups_only_is_blamed_by_groups_with_good_ones() -> None:
    cluster = FakeCluster(quick=True)
    cluster.add(24, leaf=8)
    cluster.shows = [on("node-11", "link", least=6)]
    run_gate(cluster, 24)
    assert cluster.marks["node-11"][1].startswith(
        "all_reduce fails with it and 7 good nodes, twice with different ones: 193.99 GB/s at 4 GiB"
    )


def test_a_slow_block_is_named_and_held_and_no_node_is_blamed() -> None:
    cluster = FakeCluster(quick=True)
    cluster.add(96, leaf=16)
    block = cluster.below("nn-2")
    cluster.shows = [among(block, 3)]
    verdict = run_gate(cluster, 96)
    assert verdict.verdict is Verdict.PASS
    assert cluster.marked(Mark.HOLD) == block
    assert not cluster.marked(Mark.REFUSE)
    assert cluster.marks[block[0]][1].startswith(
        "all_reduce: all 16 nodes below network node nn-2 are slow together: "
    )
    assert verdict.message.startswith(
        f"80 of 96 nodes open; out: {', '.join(block[:6])} and 10 more: all_reduce: all 16 nodes "
        "below network node nn-2 are slow together: "
    )


def test_a_slow_block_that_is_too_much_of_a_wave_shuts_it_and_is_named() -> None:
    cluster = FakeCluster(quick=True)
    names = cluster.add(32, leaf=8)
    cluster.shows = [among(cluster.below("nn-2"), 3)]
    verdict = run_gate(cluster, 32)
    assert verdict.verdict is Verdict.FAIL
    assert verdict.message.startswith(
        "8 of 32 nodes cannot open and 6 may stay out: node-16, node-17, node-18, node-19, node-20,"
        " node-21 and 2 more: all_reduce: all 8 nodes below network node nn-2 are slow together: "
    )
    assert cluster.marked(Mark.HOLD) == names


def test_a_fault_of_one_collective_is_found_by_groups_of_it() -> None:
    cluster = FakeCluster(quick=True)
    cluster.add(8)
    cluster.shows = [
        lambda job, collective: (
            "wrong" if collective == "reduce_scatter" and "node-06" in job.nodes else None
        )
    ]
    assert run_gate(cluster, 8).verdict is Verdict.PASS
    assert cluster.marked(Mark.REFUSE) == ["node-06"]
    assert cluster.marks["node-06"][1].startswith(
        "reduce_scatter fails with it and 1 good node, twice with different ones: results were "
        "wrong at 1 GiB, 2 GiB, 4 GiB, 8 GiB, 16 GiB"
    )


def test_a_node_that_goes_away_between_stages_is_held_and_the_rest_opens() -> None:
    cluster = FakeCluster(lost_at_round={4: "node-03"})
    cluster.add(6)
    lines: list[str] = []
    verdict = run_gate(cluster, 6, lines=lines)
    assert verdict.message == "5 of 6 nodes open; out: node-03: it is not Ready any more"
    assert "not Ready any more: node-03" in lines
    assert sizes(cluster) == [(6, 1), (6, 1), (3, 2), (1, 6), *[(1, 5)] * 4]


def test_a_wave_may_be_asked_for_fewer_collectives() -> None:
    cluster = FakeCluster()
    cluster.add(4)
    assert run_gate(cluster, 4, collectives=("all_reduce",)).verdict is Verdict.PASS
    assert sizes(cluster) == [(4, 1), (4, 1), (2, 2), (1, 4)]


def test_sixteen_faults_among_a_thousand_nodes_take_three_rounds_of_pairs_and_one_sweep() -> None:
    cluster = FakeCluster(quick=True)
    names = cluster.add(1024, leaf=16)
    kinds = ["gpu", "link", "socket", "link"]
    bad = {name: kinds[index % 4] for index, name in enumerate(names[7::65][:16])}
    cluster.faults = {name: {kind} for name, kind in bad.items()}
    verdict = run_gate(cluster, 1024)
    assert verdict.verdict is Verdict.PASS
    assert cluster.marked(Mark.REFUSE) == sorted(bad)
    assert not cluster.marked(Mark.HOLD)
    assert verdict.as_json()["effort"] == {
        "node_tests": 1024,
        "alone_rounds": 1,
        "alone_tests": 1020,
        "pair_rounds": 3,
        "pair_tests": 532,
        "sweeps": 4,
        "search_rounds": 0,
        "search_tests": 0,
    }
