"""What is read from a log beside its verdict, and the setting that follows from it."""

import hashlib
from dataclasses import replace

import pytest

from components.catalog import instance_type
from components.catalog.floors import GIB
from scripts.baseline.record import run_of
from scripts.baseline.sample import Reading, Sample
from scripts.baseline.setting import Place, Setting, place, setting_of, zone_of
from scripts.local.answers import SimulatedNode, all_reduce_log
from scripts.nccl.expectation import expect
from scripts.nccl.judge import judge
from scripts.nccl.log import parse
from scripts.verdicts import Verdict
from tests.baseline.make import NOW
from tests.gate.fake import IMAGE, P5
from tests.nccl.logs import text

FACTS = {"kernel": "6.12.40", "driver": "580.95.05", "efa_driver": "3.0.0"}
WHERE = Place(zone="use1-az4", closeness="one layer 1")


def log(*faults: str, nodes: int = 4, kind: str = P5) -> str:
    simulated = [SimulatedNode(f"n{index}", kind, frozenset(faults)) for index in range(nodes)]
    env = {"GATE_JOB": "gate-r1", "GATE_MIN_BYTES": f"{GIB}", "GATE_MAX_BYTES": f"{16 * GIB}"}
    return all_reduce_log(simulated, env)


def sampled(content: str) -> Sample:
    reading = Reading(content.splitlines())
    return reading.sample(parse(reading))


def setting(sample: Sample, facts: list[dict[str, str]] | None = None, nodes: int = 4) -> Setting:
    return setting_of(
        instance_type(P5),
        nodes,
        sample,
        image=IMAGE,
        where=WHERE,
        facts=facts if facts is not None else [FACTS] * nodes,
    )


def test_a_log_gives_numbers_versions_flags_and_its_digest() -> None:
    content = log()
    found = sampled(content)
    assert (found.collective, found.dtype) == ("all_reduce", "float sum -1")
    assert (found.nccl, found.nccl_tests) == ({"2.30.4"}, {"2.18.3"})
    assert (found.ofi, found.libfabric) == ({"1.20.0"}, {"2.4"})
    assert found.flags == (
        "aggregated=1",
        "compared=1",
        "gpus=1",
        "graph=0",
        "iterations=20",
        "threads=1",
        "unaligned=0",
        "warmup=5",
    )
    assert [point.key for point in found.points] == [
        (size * GIB, placement) for size in (1, 2, 4, 8, 16) for placement in ("out", "in")
    ]
    whole = "\n".join(content.splitlines()) + "\n"
    assert found.log == f"sha256:{hashlib.sha256(whole.encode()).hexdigest()}"


def test_the_parser_reads_through_a_reading_as_without_it() -> None:
    lines = text().splitlines()
    assert parse(Reading(lines)) == parse(lines)


def test_a_log_that_is_read_again_is_read_from_its_start() -> None:
    reading = Reading(log().splitlines())
    first = reading.sample(parse(reading))
    assert reading.sample(parse(reading)) == first


@pytest.mark.parametrize(
    ("name", "nccl", "dtype"),
    [
        ("good_p5_2n_all_reduce.txt", {"2.30.4"}, "float sum -1"),
        ("good_p5_2n_all_gather.txt", {"2.30.4"}, "bfloat16 none -1"),
        ("old_2.13_all_reduce.txt", set[str](), "float sum -1"),
    ],
)
def test_logs_of_several_releases(name: str, nccl: set[str], dtype: str) -> None:
    found = sampled(text(name))
    assert (found.nccl, found.dtype) == (nccl, dtype)
    assert found.points


def test_settings_of_nccl_are_flags() -> None:
    line = "p5-a:1:2 [0] NCCL INFO NCCL_ALGO set by environment to Ring."
    assert "NCCL_ALGO=Ring" in sampled(f"{line}\n{log()}").flags


def test_a_broken_table_or_two_of_them_give_no_numbers() -> None:
    assert sampled(log("dead")).points == ()
    assert sampled(log() + log()).points == ()
    assert sampled(text("split_run_p5_2x1n.txt")).points == ()


def test_the_setting_is_everything_that_makes_runs_comparable() -> None:
    found = setting(sampled(log()))
    assert found.gaps == ()
    assert (
        str(found)
        == "all_reduce float sum -1 on 4 nodes x 8 of p5.48xlarge in use1-az4 (one layer 1)"
    )
    assert found.stack.model_dump() == {
        "image": f"sha256:{'0' * 64}",
        "nccl": "2.30.4",
        "nccl_tests": "2.18.3",
        "ofi": "1.20.0",
        "libfabric": "2.4",
        "efa": "3.0.0",
        "driver": "580.95.05",
        "kernel": "6.12.40",
    }


def test_the_registry_of_an_image_does_not_count() -> None:
    other = setting_of(
        instance_type(P5),
        4,
        sampled(log()),
        image=IMAGE.replace("public.ecr.aws", "111122223333.dkr.ecr.us-east-1.amazonaws.com"),
        where=WHERE,
        facts=[FACTS] * 4,
    )
    assert other.id == setting(sampled(log())).id


def test_a_stack_that_differs_or_is_not_known_is_a_gap() -> None:
    mixed = setting(sampled(log()), [FACTS, {**FACTS, "driver": "570.1"}])
    assert mixed.gaps == ("driver differs between nodes: 570.1, 580.95.05",)
    unknown = setting(sampled(log()), [FACTS, {"kernel": "6.12.40"}])
    assert unknown.gaps == ("efa is not known", "driver is not known")
    assert setting(sampled(log()), []).gaps == (
        "efa is not known",
        "driver is not known",
        "kernel is not known",
    )


def test_what_a_type_or_a_single_node_does_not_have_is_no_gap() -> None:
    alone = replace(sampled(log(nodes=1)), ofi=frozenset(), libfabric=frozenset())
    found = setting(alone, nodes=1)
    assert (found.gaps, found.stack.ofi, found.stack.efa) == ((), "none", "none")


@pytest.mark.parametrize("changed", ["nccl", "kernel", "image"])
def test_a_changed_stack_keeps_the_shape_and_is_named(changed: str) -> None:
    before = setting(sampled(log()))
    stack = before.stack.model_copy(update={changed: "new"})
    after = before.model_copy(update={"stack": stack})
    assert after.shape == before.shape
    assert after.id != before.id
    assert after.changes(before) == (f"{changed} {getattr(before.stack, changed)} -> new",)


@pytest.mark.parametrize(
    ("layers", "closeness"),
    [
        ([("a", "b", "c"), ("a", "b", "c")], "one layer 3"),
        ([("a", "b", "c"), ("a", "b", "d")], "one layer 2"),
        ([("a", "b", "c"), ("a", "x", "c")], "one layer 1"),
        ([("a", "b", "c"), ("x", "b", "c")], "several layers 1"),
        ([("a", "b", "c"), ()], ""),
        ([], ""),
    ],
)
def test_a_place_is_the_zone_and_how_close_the_nodes_are(
    layers: list[tuple[str, ...]], closeness: str
) -> None:
    found = place(["aws:///use1-az4/i-1", "aws:///use1-az4/i-2"], layers)
    assert found == Place(zone="use1-az4", closeness=closeness)


def test_zones_are_read_from_provider_ids() -> None:
    assert zone_of("aws:///us-east-1a/i-1") == "us-east-1a"
    assert zone_of("kwok://n") == ""
    assert place(["aws:///a/i-1", "aws:///b/i-2"]).zone == "a + b"


def test_a_run_keeps_verdict_reasons_and_floor() -> None:
    expected = expect(instance_type(P5), 4)
    reading = Reading(log("link").splitlines())
    parsed = parse(reading)
    found = run_of(
        run="r1",
        label="r0",
        at=NOW,
        sample=reading.sample(parsed),
        judgement=judge(parsed, expected),
        expected=expected,
    )
    assert found.verdict is Verdict.FAIL
    assert found.reasons[0].startswith("193.99 GB/s at 4 GiB")
    assert found.floor is not None
    assert (found.floor.busbw, found.floor.from_bytes) == (330, 4 * GIB)
    assert found.id == f"r1.r0.{found.log[7:13]}"
