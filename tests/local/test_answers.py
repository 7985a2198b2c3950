"""What simulated nodes answer: good ones pass every check of the gate, bad ones fail by theirs."""

from collections.abc import Mapping

import pytest

from components.catalog import InstanceType, instance_type, instance_types
from scripts.gate.dcgm import dcgm_stage
from scripts.gate.jobs import GateJob, JobMaker
from scripts.gate.results import by_node
from scripts.gate.sweep import COLLECTIVES, without_floor
from scripts.local.answers import SimulatedNode, answer
from scripts.local.target.faults import NODE_FAULTS
from scripts.local.target.symptoms import KINDS as SHOWN_BY_NODES
from scripts.nccl.expectation import expect
from scripts.nccl.judge import Judgement
from scripts.nccl.judge import judge as judge_log
from scripts.nccl.log import parse as parse_log
from scripts.node.capture import parse as parse_capture
from scripts.node.judge import NodeJudgement
from scripts.node.judge import judge as judge_node
from scripts.storage.compare import compare
from scripts.storage.expectation import expect as expect_of_storage
from scripts.storage.judge import judge as judge_storage
from scripts.verdicts import Verdict

P5 = "p5.48xlarge"
IMAGE = f"public.ecr.aws/hpc-cloud/nccl-tests@sha256:{'0' * 64}"

SOLD_MBPS = 1200

GATED = [
    kind.name
    for kind in instance_types().values()
    if kind.efa_interfaces and kind.accelerator and kind.accelerator.vendor == "nvidia"
]
"""What the gate proves: types with EFA and NVIDIA GPUs."""


def maker(instance: InstanceType) -> JobMaker:
    return JobMaker(
        run="r1", pool="train", wave="1", namespace="gate", image=IMAGE, instance=instance
    )


def environment(job: GateJob) -> Mapping[str, str]:
    """Return what the container is given whose log speaks for a Job."""
    spec = job.manifest["spec"]
    launcher = spec["mpiReplicaSpecs"]["Launcher"] if job.kind == "MPIJob" else spec
    [container] = launcher["template"]["spec"]["containers"]
    return {each["name"]: each["value"] for each in container["env"]}


def log(job: GateJob, kind: str, faults: Mapping[str, str]) -> list[str]:
    """Return the log of a Job over nodes of which some have a fault."""
    nodes = [
        SimulatedNode(name, kind, frozenset({faults[name]} if name in faults else ()))
        for name in job.nodes
    ]
    told = answer(
        job.manifest["metadata"]["labels"]["trainyard.dev/check"], nodes, environment(job)
    )
    assert told is not None
    return told.splitlines()


def static(kind: str, **faults: str) -> NodeJudgement:
    instance = instance_type(kind)
    job = maker(instance).node_check("n0", "a", 60)
    return judge_node(parse_capture(log(job, kind, faults)), instance)


def diagnosed(kind: str, **faults: str) -> NodeJudgement:
    instance = instance_type(kind)
    stage = dcgm_stage(2, instance)
    job = stage.make(maker(instance), "d0", "a", 60)
    return stage.read(job, log(job, kind, faults))


def ran(kind: str, nodes: int, collective: str = "all_reduce", **faults: str) -> Judgement:
    instance = instance_type(kind)
    names = "abcdefgh"[:nodes]
    job = maker(instance).all_reduce("p1-0", list(names), 60, collective)
    expected = expect(instance, nodes, collective=collective, hosts=job.hosts)
    found = judge_log(parse_log(log(job, kind, faults)), expected)
    return by_node(without_floor(found, expected), job)


def stored(kind: str, nodes: int, **faults: str) -> Mapping[str, NodeJudgement]:
    """Let nodes measure a file system of 1,200 MB/s at once."""
    instance = instance_type(kind)
    expected = expect_of_storage(instance, nodes, SOLD_MBPS)
    env = {
        "GATE_TYPE": "lustre",
        "GATE_RUN": "r1",
        "GATE_CLIENTS": str(nodes),
        "GATE_BYTES": str(expected.bytes_each),
        "GATE_STREAMS": "8",
        "GATE_FILES": "500",
    }
    judged: dict[str, NodeJudgement] = {}
    for name in "abcdefgh"[:nodes]:
        node = SimulatedNode(name, kind, frozenset({faults[name]} if name in faults else ()))
        judged[name] = judge_storage((answer("storage", [node], env) or "").splitlines(), expected)
    found = compare(judged, expected, allowed=1)
    assert found.verdict is Verdict.PASS
    return found.judged


@pytest.mark.parametrize("nodes", [1, 2, 5, 8])
@pytest.mark.parametrize("kind", GATED)
def test_good_nodes_of_every_type_pass_the_check_of_storage(kind: str, nodes: int) -> None:
    judged = stored(kind, nodes)
    assert {each.summary for each in judged.values()} == {"every check passed"}


@pytest.mark.parametrize("kind", GATED)
def test_good_nodes_of_every_type_pass_the_checks_of_a_node(kind: str) -> None:
    assert static(kind).summary == "every check passed"
    assert diagnosed(kind).summary == "every check passed"


@pytest.mark.parametrize("nodes", [1, 2, 3, 8])
@pytest.mark.parametrize("kind", GATED)
def test_good_nodes_of_every_type_pass_all_collectives(kind: str, nodes: int) -> None:
    expected = expect(instance_type(kind), nodes)
    for collective in COLLECTIVES:
        judgement = ran(kind, nodes, collective)
        # One rank has nobody to talk to, and all_reduce is not judged without a floor.
        unjudged = expected.ranks == 1 or (collective == "all_reduce" and expected.floor is None)
        assert judgement.verdict is (Verdict.UNKNOWN if unjudged else Verdict.PASS)
        assert {found.rule for found in judgement.reasons} <= {"bandwidth"}


STATIC = {
    "gpu": (
        "gpus: a GPU is lost: Unable to determine the device handle for GPU0: 0000:53:00.0: "
        "Unknown Error [ISOLATE]"
    ),
    "ecc": "remapped: GPU 00000000:53:00.0 failed to remap a row [ISOLATE]",
    "xid": (
        "kernel-log: Xid 64: [  841.530118] NVRM: Xid (PCI:0000:53:00): 64, pid='<unknown>', "
        "name=<unknown>, Row Remapper Error: (0x000000001f3a2c40) - All reserved rows for bank "
        "are remapped [ISOLATE]"
    ),
    "throttle": (
        "throttle: GPU 0 is throttled: hardware slowdown, hardware thermal slowdown (0x48) "
        "[ISOLATE]"
    ),
    "pcie": "pcie: GPU 0 is linked by 8 of 16 PCIe lanes [REBOOT]",
    "nvlink": "nvlink: GPU 0 has 17 of 18 NVLinks at 25 GB/s or more [RESET]",
}

DIAGNOSED = {
    "dcgm": (
        "dcgm: memory of GPU 0: A memory mismatch was detected on GPU 0, but no error was "
        "reported by CUDA or NVML. [ISOLATE]"
    ),
}

ALONE = {
    "nvlink-slow": (
        "334.67 GB/s at 8 GiB, 336.42 GB/s at 16 GiB: below the floor of 450 GB/s for all_reduce "
        "on 1 node of p5.48xlarge from 8 GiB on (0.94 of 480 measured with NVLS "
        "(awsome-distributed-ai nccl-tests); confidence high)"
    ),
    "wrong": "results were wrong at 1 GiB, 2 GiB, 4 GiB, 8 GiB, 16 GiB",
    "nic": "a found 31 NICs; p5.48xlarge has 32",
    "socket": "transport is not EFA: NCCL used Socket on a (the EFA plugin did not load)",
}

IN_PAIRS = {
    "link": (
        "263.23 GB/s at 8 GiB, 267.8 GB/s at 16 GiB: below the floor of 430 GB/s for all_reduce on "
        "2 nodes of p5.48xlarge from 8 GiB on (0.9 of 479-487 measured on p5; oci-hpc ships 440; "
        "confidence high)"
    ),
    "hang": "the run fell silent after the row of 1 GiB and was stopped after 180 s",
}

IN_LARGE_GROUPS = {
    "scale": (
        "193.99 GB/s at 4 GiB, 197.23 GB/s at 8 GiB, 199.05 GB/s at 16 GiB: below the floor of 330 "
        "GB/s for all_reduce on 8 nodes of p5.48xlarge from 4 GiB on (by analogy with p5en (0.9 of "
        "365 measured); no four-node p5 run is published; confidence low)"
    ),
}

IN_STORAGE = {
    "storage": "storage-write: it writes 49 MB/s, and the median of 7 other nodes is 244 [ISOLATE]",
    "mount": "storage-mount: it is not mounted: overlay is there, and must be lustre [REBOOT]",
}

SILENT = {"dead"}
"""Nobody has the log of a node that is down."""

HARMLESS = {"returns"}
"""No check shows it: it says which GPUs a replacement has."""


def test_every_kind_of_fault_is_in_one_table() -> None:
    tables = [STATIC, DIAGNOSED, ALONE, IN_PAIRS, IN_LARGE_GROUPS, IN_STORAGE, SILENT, HARMLESS]
    kinds = [kind for table in tables for kind in table] + sorted(SHOWN_BY_NODES)
    assert sorted(kinds) == sorted(NODE_FAULTS)


@pytest.mark.parametrize("kind", NODE_FAULTS)
def test_a_fault_shows_at_the_cheapest_check_that_can_show_it_and_at_none_before(kind: str) -> None:
    if kind in STATIC:
        assert static(P5, a=kind).summary == STATIC[kind]
        return
    assert static(P5, a=kind).verdict is Verdict.PASS
    if kind in DIAGNOSED:
        assert diagnosed(P5, a=kind).summary == DIAGNOSED[kind]
        return
    assert diagnosed(P5, a=kind).verdict is Verdict.PASS
    if kind in ALONE:
        assert ran(P5, 1, a=kind).verdict is Verdict.FAIL
        assert ran(P5, 1, a=kind).summary == ALONE[kind]
        return
    assert ran(P5, 1, a=kind).verdict is Verdict.PASS or kind in SILENT
    if kind in IN_PAIRS:
        assert ran(P5, 2, b=kind).summary == IN_PAIRS[kind]
        return
    assert ran(P5, 2, b=kind).verdict is Verdict.PASS or kind in SILENT
    assert ran(P5, 7, b=kind).verdict is Verdict.PASS or kind in SILENT
    if kind in IN_LARGE_GROUPS:
        assert ran(P5, 8, b=kind).summary == IN_LARGE_GROUPS[kind]
        return
    assert ran(P5, 8, b=kind).verdict is Verdict.PASS or kind in SILENT
    if kind in IN_STORAGE:
        assert stored(P5, 8, b=kind)["b"].summary == IN_STORAGE[kind]


def test_slow_nvlinks_are_hidden_by_the_fabric() -> None:
    for nodes in (2, 3, 8):
        assert ran(P5, nodes, b="nvlink-slow").verdict is Verdict.PASS


@pytest.mark.parametrize("collective", COLLECTIVES)
def test_wrong_results_are_wrong_in_every_collective(collective: str) -> None:
    assert ran(P5, 4, collective, c="wrong").summary == ALONE["wrong"]


def test_who_finds_too_few_devices_is_named_among_many() -> None:
    assert ran(P5, 4, c="nic").summary == "c found 31 NICs; p5.48xlarge has 32"


def test_a_check_that_nobody_knows_has_no_answer() -> None:
    assert answer("weather", [SimulatedNode("a", P5, frozenset())], {}) is None
