"""The shell scripts of the Jobs, as far as they run without GPUs."""

import subprocess

from components.catalog import instance_type
from scripts.gate.jobs import SCRIPTS
from scripts.local.answers import SimulatedNode, all_reduce_log
from scripts.nccl.expectation import expect
from scripts.nccl.judge import judge
from scripts.nccl.log import parse as parse_log
from scripts.node.capture import parse
from scripts.node.judge import judge as judge_node
from scripts.verdicts import Verdict

SHELL = "/bin/sh"


def condense(log: str) -> list[str]:
    """Run the filter of all_reduce.sh over a log."""
    source = (SCRIPTS / "all_reduce.sh").read_text(encoding="utf-8")
    function = source[source.index("condense() {") : source.index("launch() {")]
    done = subprocess.run(
        [SHELL, "-c", f"{function}\ncondense"],
        input=log,
        text=True,
        capture_output=True,
        check=True,
    )
    assert not done.stderr
    return done.stdout.splitlines()


def simulated_log() -> str:
    nodes = [SimulatedNode(f"n{index}", "p5.48xlarge", frozenset()) for index in range(4)]
    env = {"GATE_JOB": "g", "GATE_MIN_BYTES": str(2**30), "GATE_MAX_BYTES": str(2**34)}
    return all_reduce_log(nodes, env)


def test_both_scripts_are_posix_shell() -> None:
    for name in ("node_check.sh", "all_reduce.sh"):
        subprocess.run([SHELL, "-n", str(SCRIPTS / name)], check=True)


def test_the_filter_keeps_one_message_of_a_kind_and_host_and_the_verdict() -> None:
    lines = simulated_log().splitlines()
    noisy = [copy for line in lines for copy in ([line] * 50 if "Channel" in line else [line])]
    kept = condense("\n".join(noisy))
    assert sum("Channel" in line for line in kept) == 4
    expected = expect(instance_type("p5.48xlarge"), 4)
    assert judge(parse_log(kept), expected).verdict is Verdict.PASS


def test_the_filter_keeps_the_one_bad_channel_among_many() -> None:
    bad = "g-2:1:2 [0] NCCL INFO Channel 07/0 : 23[7] -> 24[0] [send] via NET/Libfabric/3"
    kept = condense(f"{simulated_log()}{bad}\n")
    assert kept[-1] == bad
    expected = expect(instance_type("p5.48xlarge"), 4)
    assert judge(parse_log(kept), expected).summary == (
        "channels go through Libfabric without GPUDirect RDMA on g-2"
    )


def test_a_machine_without_gpus_is_unknown_not_zero_gpus() -> None:
    done = subprocess.run(
        [SHELL, str(SCRIPTS / "node_check.sh")],
        text=True,
        capture_output=True,
        check=True,
        env={"PATH": "/usr/bin:/bin"},
    )
    capture = parse(done.stdout.splitlines())
    assert capture.complete
    states = {name: section.state for name, section in capture.sections.items()}
    assert states["gpus"] == states["throttle"] == "missing"
    assert states["kernel"] == "ended"
    findings = judge_node(capture, instance_type("g6.48xlarge")).findings
    told = {found.message for found in findings if found.check == "gpus"}
    assert told == {"its tool is not in the image of the check"}


def test_a_command_that_hangs_is_told_from_one_that_fails() -> None:
    source = (SCRIPTS / "node_check.sh").read_text(encoding="utf-8")
    function = source[source.index("run() {") : source.index('echo "#@ trainyard-node-check 1"')]
    done = subprocess.run(
        [
            SHELL,
            "-c",
            f'{function}\nrun a 1 sleep 9\nrun b 5 sh -c "echo no; exit 3"\nrun c 5 nope',
        ],
        text=True,
        capture_output=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        "#@ begin a",
        "#@ end a timeout",
        "#@ begin b",
        "| no",
        "#@ end b rc=3",
        "#@ begin c",
        "#@ end c missing",
    ]
