"""The stage that runs DCGM's diagnostics on each node."""

import os
import subprocess
from pathlib import Path

import pytest

from components.catalog import instance_type
from scripts.errors import UsageError
from scripts.gate.dcgm import dcgm_stage
from scripts.gate.jobs import SCRIPTS, JobMaker
from scripts.gate.objects import Manifest
from scripts.local.answers import SimulatedNode, node_check_log
from scripts.node.capture import BEGIN, parse
from scripts.node.judge import NodeJudgement
from scripts.node.profiles import policy
from scripts.verdicts import Verdict
from tests.node.captures import shown

P5 = instance_type("p5.48xlarge")
DIGEST = "sha256:" + "0" * 64
IMAGE = f"registry.example/nccl-tests@{DIGEST}"
DCGM = f"registry.example/dcgm@{DIGEST}"
AGAIN = "next: run the check again; if it stays, look at the node by hand"

MAKER = JobMaker(run="0042", pool="train", wave="w1", namespace="gate", image=IMAGE, instance=P5)


def container(kind: str = "p5.48xlarge", image: str | None = None) -> Manifest:
    stage = dcgm_stage(2, instance_type(kind), image)
    made = stage.make(MAKER, "d0", "node-1", stage.seconds).manifest
    [found] = made["spec"]["template"]["spec"]["containers"]
    return found


def judged(text: str) -> NodeJudgement:
    stage = dcgm_stage(2, P5)
    return stage.read(stage.make(MAKER, "d0", "node-1", 1), text.splitlines())


def diagnosed(*faults: str) -> str:
    node = SimulatedNode("node-1", "p5.48xlarge", frozenset(faults))
    return node_check_log(node, ("machine", "gpus", "dcgm"), diagnostics=True)


def test_the_job_runs_the_diagnostics_alone_on_all_gpus() -> None:
    found = container()
    assert found["env"] == [
        {"name": "CHECK_ONLY", "value": "machine gpus dcgm"},
        {"name": "CHECK_DCGM", "value": "2"},
        {"name": "CHECK_DCGM_SECONDS", "value": "900"},
        {"name": "CHECK_NVLINKS", "value": "18"},
    ]
    assert found["image"] == IMAGE


def test_a_type_without_nvlink_is_not_asked_for_any() -> None:
    names = [each["name"] for each in container("g6e.48xlarge")["env"]]
    assert names == ["CHECK_ONLY", "CHECK_DCGM", "CHECK_DCGM_SECONDS"]


def test_an_image_of_its_own_may_have_dcgm() -> None:
    assert container(image=DCGM)["image"] == DCGM


@pytest.mark.parametrize(("level", "seconds"), [(1, 900), (2, 1500), (3, 4200), (4, 9600)])
def test_each_level_has_its_time_and_some_to_start(level: int, seconds: float) -> None:
    assert dcgm_stage(level, P5).seconds == seconds


@pytest.mark.parametrize(
    ("level", "image", "message"),
    [
        (5, None, "DCGM has no level 5; use 1 to 4"),
        (
            2,
            "dcgm:4",
            (
                "image 'dcgm:4' is not pinned; give it as NAME@sha256:DIGEST (64 hex digits), so "
                "that every node is proved by the same program"
            ),
        ),
    ],
)
def test_what_cannot_be_run_is_refused(level: int, image: str | None, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        dcgm_stage(level, P5, image)
    assert str(caught.value) == message


def test_a_node_that_passes_tells_whose_gpus_passed() -> None:
    found = judged(diagnosed())
    assert (found.verdict, found.findings, len(found.gpus)) == (Verdict.PASS, (), 8)


def test_a_node_that_fails_the_diagnostics_fails() -> None:
    found = judged(diagnosed("dcgm"))
    assert (found.verdict, found.findings[0].check) == (Verdict.FAIL, "dcgm")


@pytest.mark.parametrize(
    ("end", "message"),
    [
        ("missing", "its tool is not in the image of the check"),
        ("timeout", "it hung and was killed"),
        ("rc=0", "dcgmi printed no result that is known (exit code 0): no output"),
    ],
)
def test_without_a_result_it_is_unknown(end: str, message: str) -> None:
    text = f"#@ trainyard-node-check 1\n#@ begin dcgm\n#@ end dcgm {end}\n#@ done dcgm=0\n"
    found = judged(text)
    assert shown(found) == [f"unknown dcgm: {message}; {AGAIN}"]


def test_a_log_without_the_diagnostics_is_unknown() -> None:
    text = "#@ trainyard-node-check 1\n#@ done\n"
    assert shown(judged(text)) == [f"unknown dcgm: the capture has no such section; {AGAIN}"]


def test_the_script_runs_only_what_it_is_told_by_its_environment(tmp_path: Path) -> None:
    tool = tmp_path / "dcgmi"
    tool.write_text('#!/bin/sh\necho "asked for: $*"\n')
    tool.chmod(0o755)
    env = {each["name"]: each["value"] for each in container()["env"]}
    done = subprocess.run(
        ["/bin/sh", str(SCRIPTS / "node_check.sh")],
        env={"PATH": f"{tmp_path}:{os.environ['PATH']}", **env},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    begun = [line for line in done.stdout.splitlines() if line.startswith(BEGIN)]
    assert begun == [f"{BEGIN}machine", f"{BEGIN}gpus", f"{BEGIN}dcgm"]
    assert parse(done.stdout.splitlines()).sections["dcgm"].output == [
        "asked for: diag -r 2 -j -p pcie.gpu_nvlinks_expected_up=18"
    ]


def test_every_level_is_bounded() -> None:
    assert sorted(policy().dcgm.seconds) == [1, 2, 3, 4]
