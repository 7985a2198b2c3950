import random
from collections.abc import Callable

import pytest

from scripts.gate.bisect import most_rounds
from scripts.gate.isolate import MAX_ROUNDS, allowance
from scripts.gate.stages import Stage
from scripts.nccl.judge import Judgement
from scripts.verdicts import Verdict
from tests.gate.world import (
    SILENT,
    SLOW,
    SOCKETS,
    WRONG,
    Fault,
    World,
    dice,
    faulty,
    flaky,
    slow_among,
    slow_beyond,
    slow_with,
)

BAD: dict[str, Callable[[str], Fault]] = {
    "bad GPU": lambda name: faulty(name, WRONG),
    "weak NVLink": lambda name: faulty(name, SLOW, most=1),
    "slow link": lambda name: faulty(name, SLOW, least=2),
    "socket fallback": lambda name: faulty(name, SOCKETS),
    "wrong values": lambda name: faulty(name, WRONG, least=2),
    "missing NIC": lambda name: faulty(name, SOCKETS),
    "GDR off": lambda name: faulty(name, SOCKETS, least=2),
}
HELD: dict[str, Callable[[str], Fault]] = {
    "dead node": lambda name: faulty(name, SILENT),
    "hang": lambda name: faulty(name, SILENT, least=2),
}
PASSES = "flaky once"
KINDS = {**BAD, **HELD}


def draw(rng: random.Random, most: int) -> tuple[World, set[str], set[str]]:
    """Return a wave of any size up to ``most`` with faults, and who is bad and who is held."""
    count = int(2 ** rng.uniform(1.6, most.bit_length() - 1))
    leaf = rng.choice([0, 4, 8, 16])
    world = World(count, leaf, leaf * 4)
    chosen = rng.sample(world.nodes, rng.randint(0, min(16, allowance(count))))
    kinds = {name: rng.choice([*KINDS, PASSES]) for name in chosen}
    for name, kind in kinds.items():
        make = KINDS.get(kind)
        world.faults.append(make(name) if make else flaky(name, after=rng.randrange(3)))
    bad = {name for name, kind in kinds.items() if kind in BAD}
    return world, bad, {name for name, kind in kinds.items() if kind in HELD}


@pytest.mark.parametrize("first", range(0, 200, 50))
def test_exactly_the_faults_are_found_in_four_rounds_of_pairs_at_most(first: int) -> None:
    for seed in range(first, first + 50):
        world, bad, held = draw(dice(seed), 4096)
        proof, effort = world.prove()
        assert not proof.problem, seed
        assert (set(proof.bad), set(proof.held)) == (bad, held), seed
        assert set(proof.proven) == {*world.nodes} - bad - held, seed
        assert effort.pair_rounds <= MAX_ROUNDS, seed
        assert effort.alone_rounds <= 2, seed
        # Two weaknesses that pass may meet in one sweep and its second try: then it is searched.
        assert effort.search_rounds == 0 or effort.sweeps == 6, seed


def test_rounds_do_not_grow_with_the_wave_nor_with_the_faults() -> None:
    for count in (32, 256, 1024, 4096):
        for faults in (1, 4, 16):
            world = World(count, 16, 64)
            bad = dice(count + faults).sample(world.nodes, min(faults, count // 8))
            world.faults = [faulty(name, SLOW, least=2) for name in bad]
            proof, effort = world.prove()
            assert set(proof.bad) == set(bad)
            assert (effort.pair_rounds, effort.sweeps, effort.search_rounds) == (3, 4, 0)


@pytest.mark.parametrize("first", range(0, 2000, 500))
def test_small_waves_of_any_faults_blame_nobody_good_and_open_nobody_bad(first: int) -> None:
    for seed in range(first, first + 500):
        rng = dice(seed)
        count = rng.randint(2, 14)
        leaf = rng.choice([0, 2, 3, 4])
        world = World(count, leaf, leaf * 2, partners=rng.choice([0, 0, 1, 2, 5]))
        kinds = {name: rng.choice(list(KINDS)) for name in world.nodes if rng.random() < 0.2}
        world.faults = [KINDS[kind](name) for name, kind in kinds.items()]
        world.gone = {name for name in kinds if rng.random() < 0.1}
        if rng.random() < 0.3:
            world.faults.append(flaky(rng.choice(world.nodes), rng.randrange(3)))
        proof, effort = world.prove()
        bad = {name for name, kind in kinds.items() if kind in BAD}
        assert set(proof.bad) <= bad, seed
        assert set(proof.proven).isdisjoint(kinds), seed
        assert {*proof.proven, *proof.bad, *proof.held} == {*world.nodes}, seed
        assert effort.pair_rounds <= MAX_ROUNDS, seed
        told = count > 2 or world.partners > 1
        if len(kinds) <= allowance(count) and told and not world.gone:
            assert set(proof.bad) == bad, seed


def at_scale(rng: random.Random, world: World, kind: str) -> tuple[set[str], set[str]]:
    """Add a fault that no pair shows; return who is bad and who is held by it."""
    node, other = rng.sample(world.nodes, 2)
    switch = rng.choice(world.places[other][1:])
    block = world.below(switch)
    if kind == "slow rank":
        world.faults = [faulty(node, SLOW, least=rng.randint(3, world.count // 2))]
        return {node}, set()
    if kind == "slow with a block":
        node = rng.choice([name for name in world.nodes if name not in block])
        world.faults = [slow_with(node, block)]
        return {node}, set()
    if kind == "slow block":
        world.faults = [slow_among(block, least=rng.randint(3, len(block)))]
    elif kind == "slow uplink":
        world.faults = [slow_beyond(block)]
    else:
        world.faults = [slow_with(node, [other])]
        return set(), {node, other}
    return set(), {*block}


@pytest.mark.parametrize(
    "kind", ["slow rank", "slow with a block", "slow block", "slow uplink", "two nodes"]
)
def test_faults_that_show_only_at_scale_are_found_in_rounds_by_the_logarithm(kind: str) -> None:
    for seed in range(8):
        rng = dice(seed)
        leaf = rng.choice([4, 8, 16])
        world = World(leaf * 4 * rng.randint(3, 2048 // leaf // 4), leaf, leaf * 4)
        bad, held = at_scale(rng, world, kind)
        proof, effort = world.prove()
        assert not proof.problem, seed
        assert (set(proof.bad), set(proof.held)) == (bad, held), seed
        assert effort.search_rounds <= most_rounds(world.count), seed


@pytest.mark.parametrize("first", range(0, 120, 40))
def test_faults_of_nodes_and_blocks_at_once_blame_nobody_good(first: int) -> None:
    exact = 0
    for seed in range(first, first + 40):
        rng = dice(seed)
        leaf = rng.choice([4, 8, 16])
        count = leaf * rng.randint(3, 400 // leaf) + rng.randint(0, 3)
        world = World(count, leaf, leaf * 4, partners=rng.choice([0, 3]))
        kinds = {name: rng.choice(list(KINDS)) for name in rng.sample(world.nodes, 3)}
        kind = rng.choice(["slow rank", "slow block", "slow uplink", "two nodes"])
        bad, held = at_scale(rng, world, kind)
        world.faults += [KINDS[kind](name) for name, kind in kinds.items()]
        world.faults.append(flaky(rng.choice(world.nodes), rng.randrange(4)))
        proof, effort = world.prove()
        bad |= {name for name, kind in kinds.items() if kind in BAD}
        held |= {name for name, kind in kinds.items() if kind in HELD}
        assert set(proof.bad) <= bad, seed
        assert set(proof.proven).isdisjoint(kinds), seed
        assert effort.pair_rounds <= MAX_ROUNDS, seed
        exact += set(proof.bad) == bad and set(proof.held) == held - bad
    # Blocks that are most of what there is cannot be told from the rest.
    assert exact >= 30


def test_a_node_that_has_its_switch_for_itself_is_held_and_not_blamed() -> None:
    world = World(65, 8, 32)
    world.faults = [faulty("n0064", SLOW, least=3)]
    proof, _ = world.prove()
    assert not proof.bad
    assert proof.held == {
        "n0064": (
            "all_reduce: n0064 fails with others, but no neighbour could tell it from its switch: "
            "100 GB/s: below the floor"
        )
    }


def test_a_slow_block_is_named() -> None:
    world = World(1024, 16, 64)
    world.faults = [slow_among(world.below("nn-s3"), least=20)]
    proof, effort = world.prove()
    reason = (
        "all_reduce: all 64 nodes below network node nn-s3 are slow together: 100 GB/s: below the "
        "floor"
    )
    assert proof.held == dict.fromkeys(world.below("nn-s3"), reason)
    assert (proof.verdict, proof.problem, proof.bad) == (Verdict.FAIL, "", {})
    assert len(proof.proven) == 960
    assert effort.search_rounds <= 12


def test_a_block_that_is_slow_with_others_is_named() -> None:
    world = World(512, 16, 64)
    world.faults = [slow_beyond(world.below("nn-s3-l13"))]
    proof, _ = world.prove()
    reason = (
        "all_reduce: all 16 nodes below network node nn-s3-l13 are slow with others: 100 GB/s: "
        "below the floor"
    )
    assert proof.held == dict.fromkeys(world.below("nn-s3-l13"), reason)


def test_two_blocks_that_are_all_there_is_cannot_be_told_apart_and_are_named() -> None:
    world = World(64, 8, 32)
    world.faults = [slow_beyond(world.below("nn-s1"))]
    proof, _ = world.prove()
    assert proof.problem == (
        "all_reduce over 64 nodes did not pass although smaller groups did, so nobody can be "
        "blamed; all 32 nodes below network node nn-s0 and all 32 nodes below network node nn-s1 "
        "pass by themselves: 100 GB/s: below the floor"
    )
    assert not proof.bad


def test_a_fault_of_all_nodes_together_blames_nobody() -> None:
    world = World(37)
    world.faults = [lambda group, _: SLOW if len(group) == 37 else None]
    proof, effort = world.prove()
    assert proof.problem == (
        "all_reduce over 37 nodes did not pass although smaller groups did, so nobody can be "
        "blamed: 100 GB/s: below the floor"
    )
    assert effort.search_rounds <= most_rounds(37)


@pytest.mark.parametrize("count", [4, 5, 6, 7, 12, 33])
def test_a_rank_that_is_slow_in_nearly_the_whole_wave_is_what_it_passes_without(count: int) -> None:
    world = World(count)
    world.faults = [faulty("n0002", SLOW, least=count * 3 // 4)]
    proof, _ = world.prove()
    assert list(proof.bad) == ["n0002"]
    assert len(proof.proven) == count - 1


@pytest.mark.parametrize("judgement", [SLOW, WRONG])
def test_a_fault_of_one_collective_is_found_by_it(judgement: Judgement) -> None:
    world = World(64, 8, 32)
    world.faults = [
        lambda group, collective: (
            judgement if collective == "alltoall" and "n0033" in group else None
        )
    ]
    proof, effort = world.prove()
    assert list(proof.bad) == ["n0033"]
    assert proof.bad["n0033"].startswith(
        "alltoall fails with it and 1 good node, twice with different ones: "
    )
    assert effort.pair_rounds == 1
    passed = [each for each in world.rounds if each.stage is Stage.SWEEP]
    assert [each.collective for each in passed[:3]] == [
        "all_reduce",
        "all_gather",
        "reduce_scatter",
    ]


def test_a_sweep_that_is_slow_once_is_run_again_and_opens_the_wave() -> None:
    world = World(64)
    world.faults = [flaky("n0033", after=1)]
    proof, effort = world.prove()
    assert len(proof.proven) == 64
    assert (effort.sweeps, effort.search_rounds) == (5, 0)


def test_a_sweep_with_a_wrong_result_is_not_run_again() -> None:
    world = World(64)
    world.faults = [flaky("n0033", after=1, judgement=WRONG)]
    proof, effort = world.prove()
    assert proof.problem.endswith("so nobody can be blamed: results were wrong")
    assert (effort.sweeps, proof.proven, proof.bad) == (1, {}, {})


def test_a_wrong_result_in_a_pair_that_does_not_come_back_holds_both() -> None:
    world = World(64)
    world.faults = [flaky("n0033", after=0, judgement=WRONG)]
    proof, _ = world.prove()
    assert proof.held == dict.fromkeys(
        ("n0032", "n0033"),
        "all_reduce was wrong with it, and pairs could not tell by whom: results were wrong",
    )
    assert len(proof.proven) == 62
    assert proof.verdict is Verdict.FAIL


def test_who_is_gone_is_not_waited_for_again() -> None:
    world = World(64, gone={"n0033"})
    world.faults = [faulty("n0033", SILENT, least=2)]
    proof, effort = world.prove()
    assert proof.held == {"n0033": "it is not Ready any more"}
    assert (effort.pair_rounds, effort.pair_tests, effort.sweeps) == (2, 33, 4)


def test_more_than_a_fifth_is_systemic_and_blames_nobody() -> None:
    world = World(100)
    world.faults = [faulty(name, SLOW, least=2) for name in world.nodes[:42:2]]
    proof, effort = world.prove()
    assert proof.problem.startswith("more nodes failed than may stay out (20 could still)")
    assert (proof.bad, proof.proven) == ({}, {})
    assert effort.pair_rounds == 3


def test_faults_that_were_seen_before_count_as_well() -> None:
    world = World(20)
    world.faults = [faulty(name, SLOW, least=2) for name in world.nodes[:2]]
    assert set(world.prove(failed_before=2)[0].bad) == {"n0000", "n0001"}
    assert world.prove(failed_before=3)[0].problem


def test_a_small_set_is_swept_with_proven_nodes_from_elsewhere() -> None:
    world = World(2, partners=6)
    proof, effort = world.prove()
    sweeps = [each.groups for each in world.rounds if each.stage is Stage.SWEEP]
    assert sweeps == [(("n0000", "n0001", "open0", "open1"),)] * 4
    assert set(proof.proven) == {"n0000", "n0001"}
    assert effort.pair_rounds == 1


def test_an_open_node_that_went_bad_is_told_and_does_no_harm() -> None:
    world = World(2, partners=6)
    world.faults = [faulty("open1", SLOW, least=3)]
    proof, _ = world.prove()
    assert set(proof.proven) == {"n0000", "n0001"}
    assert not proof.bad
    assert any(
        line.startswith("open1 is open and of another run, but all_reduce fails with it")
        for line in world.lines
    )


def test_a_wave_of_one_is_measured_alone_and_says_so() -> None:
    world = World(1, alone=False)
    proof, effort = world.prove()
    assert proof.proven["n0000"].endswith("; its fabric was not exercised: it is alone")
    assert (effort.alone_tests, effort.pair_rounds, effort.sweeps) == (1, 0, 0)


@pytest.mark.parametrize(("judgement", "verdict"), [(SLOW, "fail"), (SILENT, "unknown")])
def test_a_wave_of_one_that_does_not_pass_alone_stays_shut(
    judgement: Judgement, verdict: str
) -> None:
    world = World(1)
    world.faults = [lambda _group, _: judgement]
    proof, effort = world.prove()
    assert (str(proof.verdict), proof.proven, proof.bad) == (verdict, {}, {})
    assert effort.alone_rounds == 2


def test_the_last_one_of_a_wave_has_nobody_to_meet() -> None:
    world = World(2)
    world.faults = [faulty("n0000", SLOW, most=1)]
    proof, _ = world.prove()
    assert list(proof.bad) == ["n0000"]
    assert proof.held == {
        "n0001": "no proven node is idle, so nothing could meet it to prove its fabric"
    }
