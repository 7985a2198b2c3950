from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.catalog import instance_type
from scripts.blacklist.blacklist import Blacklist, judgement
from scripts.blacklist.entry import MOST_NUMBERS, Cleared, Entry, Gpu, gpus_of, instance_of
from scripts.blacklist.policy import Cause, cause_of, policy
from scripts.blacklist.sightings import sightings
from scripts.gate.devices import lacking
from scripts.local.answers import SimulatedNode, node_check_log
from scripts.node.capture import parse
from scripts.node.profiles import Severity
from scripts.verdicts import Verdict
from tests.blacklist.make import NOW, checked, days, entry, gated, gpu
from tests.gate.fake import P5, FakeCluster

HOST_A = "i-0aaaaaaaaaaaaaaaa"
HOST_B = "i-0bbbbbbbbbbbbbbbb"


def listed(known: Blacklist, *numbers: int, instance: str = "") -> bool:
    return known.listed(map(gpu, numbers), instance, NOW) is not None


def test_a_new_node_with_a_gpu_of_the_old_one_is_recognised() -> None:
    known = Blacklist([entry(*range(8), instance=HOST_A)])
    assert listed(known, *range(8), instance=HOST_B), "the same host, in another instance"
    assert listed(known, 7, 20, 21, instance=HOST_B), "one of its GPUs, among others"
    assert not listed(known, *range(20, 28), instance=HOST_B)


def test_the_instance_is_enough_where_no_gpu_is_known() -> None:
    known = Blacklist([entry(instance=HOST_A)])
    assert listed(known, instance=HOST_A)
    assert listed(known, *range(8), instance=HOST_A)
    assert not listed(known, *range(8), instance=HOST_B)
    assert not listed(known, instance="")


def test_an_entry_without_an_instance_does_not_mean_every_node_without_one() -> None:
    known = Blacklist([entry(1)])
    assert not listed(known, 2, instance="")
    assert not listed(known, instance="")


def test_a_serial_number_alone_and_a_uuid_alone_recognise_the_same_gpu() -> None:
    whole = gpu(5)
    known = Blacklist([entry(5)])
    for seen in (Gpu(serial=whole.serial), Gpu(uuid=whole.uuid), Gpu(uuid=whole.uuid.upper())):
        assert known.listed([seen], "", NOW) is not None


@pytest.mark.parametrize("word", ["[N/A]", "N/A", "0", "0000000000000", "", "[Not Supported]"])
def test_a_missing_serial_number_is_nobodys(word: str) -> None:
    boards = [{"serial": word, "uuid": "GPU-1"}, {"serial": word, "uuid": "GPU-2"}]
    first, second = gpus_of(boards)
    known = Blacklist([entry().model_copy(update={"gpus": (first,)})])
    assert known.listed([first], "", NOW) is not None
    assert known.listed([second], "", NOW) is None
    assert gpus_of([{"serial": word, "uuid": word}]) == ()


def test_instances_are_read_from_provider_ids() -> None:
    assert instance_of(f"aws:///use1-az4/{HOST_A}") == HOST_A
    assert instance_of("kwok://node-1") == ""
    assert instance_of("") == ""


def test_no_entry_is_known_by_a_nodes_name() -> None:
    verdict, checks = gated(5, {"node-03": {"gpu"}})
    [made] = sightings(verdict, checks, NOW)
    assert made.node == "node-03"
    assert "node-03" not in {key.split()[-1] for key in made.keys}


@pytest.mark.parametrize(
    ("cause", "days_on"),
    [
        (Cause.ISOLATE, None),
        (Cause.REBOOT, 14),
        (Cause.RESET, 14),
        (Cause.LINK, 30),
        (Cause.MANUAL, None),
    ],
)
def test_entries_expire_by_rule(cause: Cause, days_on: int | None) -> None:
    made = Blacklist().with_term(entry(1, cause=cause), policy())
    known = Blacklist([made])
    last = 10_000 if days_on is None else days_on - 0.01
    assert known.listed([gpu(1)], "", days(last)) == made
    if days_on is not None:
        assert known.listed([gpu(1)], "", days(days_on)) is None


def test_the_third_time_in_ninety_days_is_for_ever() -> None:
    first = entry(1, at=days(-80))
    second = entry(1, 2, at=days(-40))
    third = Blacklist([first, second]).with_term(entry(1, instance=HOST_B), policy())
    assert (third.until, third.repeats) == (None, 2)
    later = Blacklist([first, second]).with_term(entry(1, at=days(20)), policy())
    assert later.repeats == 1, "the first is more than ninety days ago"
    cleared = second.model_copy(update={"cleared": Cleared(at=NOW, by="me", reason="wrong")})
    assert Blacklist([first, cleared]).with_term(entry(1), policy()).repeats == 1


def test_of_several_entries_the_one_that_holds_longest_speaks() -> None:
    short, ever = entry(1, until=days(3)), entry(1, 2, at=days(-1))
    assert Blacklist([short, ever]).listed([gpu(1)], "", NOW) == ever
    long = entry(1, until=days(9), at=days(-2))
    assert Blacklist([long, short]).listed([gpu(1)], "", NOW) == long


def test_a_cleared_entry_keeps_nobody_out() -> None:
    cleared = Cleared(at=NOW, by="me", reason="host replaced")
    known = Blacklist([entry(1).model_copy(update={"cleared": cleared})])
    assert not listed(known, 1)


def test_what_a_listed_node_is_told_names_the_entry_and_the_way_out() -> None:
    made = entry(1, instance=HOST_A, until=days(30), run="r7")
    found = judgement(made)
    assert (found.verdict, found.severity) == (Verdict.FAIL, Severity.ISOLATE)
    assert found.summary == (
        f"blacklist: instance {HOST_A} with GPU 1651923000001 is on the blacklist since "
        f"2026-12-01 until 2026-12-31 (entry {made.id}, run r7): its link is slow; once it is "
        f"mended: yard blacklist clear {made.id} --reason … [ISOLATE]"
    )


def test_a_lost_gpu_leads_to_an_entry_for_ever_with_its_evidence() -> None:
    verdict, checks = gated(5, {"node-03": {"gpu"}})
    report = "reports/gate-train-1.json"
    [made] = sightings(verdict, checks, NOW, digests={"node-03": "sha256:ab"}, report=report)
    assert made.cause is Cause.ISOLATE
    assert made.reason.startswith("gpus: a GPU is lost: Unable to determine the device handle")
    assert made.instance_id == "i-node-03"
    assert len(made.gpus) == 7, "the lost one tells no serial number; the instance is known by it"
    assert made.evidence.report == report
    assert (made.evidence.run, made.evidence.check, made.evidence.log) == (
        "20261201-080000-ab12",
        "gpus",
        "sha256:ab",
    )
    assert (made.pool, made.wave, made.instance_type) == ("train", "1", P5)


def test_a_slow_link_leads_to_an_entry_with_the_numbers_of_its_witnesses() -> None:
    verdict, checks = gated(14, {"node-05": {"link"}})
    [made] = sightings(verdict, checks, NOW)
    assert (made.cause, made.evidence.check, len(made.gpus)) == (Cause.LINK, "all-reduce", 8)
    numbers = dict(made.evidence.numbers)
    assert numbers.pop("floor_gbps of 2 nodes") == 430
    witnesses = [name for name in numbers if name.startswith("all_reduce busbw_gbps with node-")]
    assert len(witnesses) >= 2, "one failed pair blames nobody"
    assert {numbers[name] for name in witnesses} == {263.23}


def test_the_evidence_stays_small_however_often_a_node_was_measured() -> None:
    verdict, checks = gated(14, {"node-05": {"link"}})
    again = [
        replace(each, round=f"{each.round}-{n}") for each in verdict.measured for n in range(40)
    ]
    verdict.measured = again
    [made] = sightings(verdict, checks, NOW)
    assert len(made.evidence.numbers) <= MOST_NUMBERS


@pytest.mark.parametrize(
    "faults",
    [
        {},
        {"node-00": {"dead"}},
        {f"node-{index:02d}": {"socket"} for index in range(10)},
        {f"node-{index:02d}": {"gpu"} for index in range(5)},
    ],
    ids=["healthy", "held", "common cause", "too many"],
)
def test_nobody_is_listed_who_was_not_proved_bad(faults: dict[str, set[str]]) -> None:
    verdict, checks = gated(10, faults)
    assert sightings(verdict, checks, NOW) == ()


def test_settings_and_missing_daemons_are_held_against_no_hardware() -> None:
    cluster = FakeCluster()
    cluster.add(1)
    state = replace(cluster.states["node-00"], devices={})
    no_devices = lacking(state, instance_type(P5))
    assert no_devices is not None
    verdict, checks = gated(5, {})
    for found in (no_devices, judgement(entry(1))):
        verdict.nodes[0] = replace(verdict.nodes[0], verdict=Verdict.FAIL, reason=found.summary)
        assert sightings(verdict, {**checks, "node-00": found}, NOW) == ()


def test_every_check_of_a_node_is_known_to_speak_of_hardware_or_not() -> None:
    sections = parse(node_check_log(SimulatedNode("n", P5, frozenset())).splitlines()).sections
    rules = policy()
    assert set(sections) - rules.hardware - rules.other == set(), (
        "sort new checks of a node into scripts/blacklist/policy.yaml"
    )
    assert not rules.hardware & rules.other


def test_every_severity_that_fails_a_node_has_a_cause() -> None:
    found = {severity: cause_of(severity) for severity in Severity}
    assert found == {
        Severity.PASS: None,
        Severity.MONITOR: None,
        Severity.RESET: Cause.RESET,
        Severity.REBOOT: Cause.REBOOT,
        Severity.ISOLATE: Cause.ISOLATE,
    }
    assert set(policy().causes) == set(Cause)


quick = settings(max_examples=60, deadline=None)


@quick
@given(
    st.lists(st.tuples(st.sets(st.integers(0, 12)), st.sampled_from(["", HOST_A, HOST_B]))),
    st.sets(st.integers(0, 12)),
    st.sampled_from(["", HOST_A, HOST_B]),
)
def test_hardware_is_listed_if_and_only_if_it_shares_a_gpu_or_the_instance(
    known: list[tuple[set[int], str]], numbers: set[int], instance: str
) -> None:
    entries: list[Entry] = [
        entry(*sorted(each), instance=host, run=f"r{index}")
        for index, (each, host) in enumerate(known)
    ]
    blacklist = Blacklist(entries)
    expected = any(each & numbers or (host and host == instance) for each, host in known)
    assert listed(blacklist, *numbers, instance=instance) == expected
    keys = frozenset(key for number in numbers for key in gpu(number).keys)
    about = blacklist.about(map(gpu, numbers), instance)
    assert {each.id for each in about} == {
        each.id for each in entries if each.means(keys, instance)
    }


def test_the_gpus_of_a_healthy_node_are_all_known() -> None:
    assert len(gpus_of(checked("n").gpus)) == 8
