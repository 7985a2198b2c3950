"""The shell scripts of the Jobs, as far as they run without GPUs."""

import subprocess
from pathlib import Path

import pytest

from components.catalog import instance_type
from scripts.gate.jobs import SCRIPTS
from scripts.local.answers import SimulatedNode, all_reduce_log
from scripts.nccl.expectation import expect
from scripts.nccl.judge import judge
from scripts.nccl.log import parse as parse_log
from scripts.node.capture import parse
from scripts.node.judge import judge as judge_node
from scripts.verdicts import Verdict

pytestmark = pytest.mark.slow

SHELL = "/bin/sh"


def condense(log: str) -> list[str]:
    """Run the filter of all_reduce.sh over a log."""
    source = (SCRIPTS / "all_reduce.sh").read_text(encoding="utf-8")
    function = source[source.index("condense() {") : source.index("# A hang is told")]
    done = subprocess.run(
        [SHELL, "-c", f"ALIVE=/dev/null\n{function}\ncondense"],
        input=log,
        text=True,
        capture_output=True,
        check=True,
    )
    assert not done.stderr
    return done.stdout.splitlines()


MPIRUN = """#!/bin/sh
printf '%s\\n' "$*" >"$0.args"
"""


class Pod:
    """A launcher's pod, with programs of the test's own in it for mpirun and ssh."""

    def __init__(self, folder: Path, program: str, *, ssh: str = "exit 0") -> None:
        self.folder = folder
        for name, text in (("mpirun", f"{MPIRUN}{program}"), ("ssh", f"#!/bin/sh\n{ssh}")):
            path = folder / name
            path.write_text(f"{text}\n", encoding="utf-8")
            path.chmod(0o755)
        hosts = [
            "localhost slots=8",
            *(f"g-worker-{index}.g.trainyard-gate.svc slots=8" for index in range(3)),
        ]
        (folder / "hostfile").write_text("\n".join([*hosts, ""]), encoding="utf-8")

    def run(self, *, wait: int = 240, nodes: int = 4) -> list[str]:
        """Return what the launcher's script prints."""
        source = (SCRIPTS / "all_reduce.sh").read_text(encoding="utf-8")
        quick = source.replace("WAIT_SECONDS=240", f"WAIT_SECONDS={wait}")
        done = subprocess.run(
            [SHELL, "-c", quick.replace("NAME_SECONDS=5", "NAME_SECONDS=0")],
            text=True,
            capture_output=True,
            check=False,
            timeout=30,
            env={
                "PATH": f"{self.folder}:/usr/bin:/bin",
                "OMPI_MCA_orte_default_hostfile": str(self.folder / "hostfile"),
                "GATE_JOB": "g",
                "GATE_NODES": str(nodes),
                "GATE_GPUS": "8",
                "GATE_MIN_BYTES": "1024",
                "GATE_MAX_BYTES": "4096",
                "GATE_SSH_PORT": "2222",
                "GATE_SECONDS": "20",
                "GATE_SILENT_SECONDS": "2",
                "GATE_BINARY": "/opt/nccl-tests/build/alltoall_perf",
            },
        )
        return done.stdout.splitlines()

    @property
    def arguments(self) -> str:
        """What mpirun was called with."""
        return (self.folder / "mpirun.args").read_text(encoding="utf-8").strip()


def simulated_log() -> str:
    nodes = [SimulatedNode(f"n{index}", "p5.48xlarge", frozenset()) for index in range(4)]
    env = {"GATE_JOB": "g", "GATE_MIN_BYTES": str(2**30), "GATE_MAX_BYTES": str(2**34)}
    return all_reduce_log(nodes, env)


def test_every_script_is_posix_shell() -> None:
    found = sorted(SCRIPTS.glob("*.sh"))
    assert {"node_check.sh", "all_reduce.sh", "serve_ssh.sh"} <= {path.name for path in found}
    for path in found:
        subprocess.run([SHELL, "-n", str(path)], check=True)


def test_the_launcher_starts_the_ranks_of_all_hosts_and_tells_how_it_ended(tmp_path: Path) -> None:
    pod = Pod(tmp_path, "echo out; echo error >&2; exit 3")
    assert pod.run() == ["out", "error", "gate: mpirun ended with exit code 3"]
    words = pod.arguments
    assert words.startswith(f"--allow-run-as-root --hostfile {tmp_path}/hostfile -np 32 -N 8 ")
    assert "--mca plm_rsh_agent ssh -p 2222 -i /tmp/gate_key " in words
    assert "-x FI_PROVIDER=efa -x NCCL_DEBUG=INFO -x NCCL_DEBUG_SUBSYS=INIT,NET,NVLS" in words
    assert words.endswith(
        "/opt/nccl-tests/build/alltoall_perf -b 1024 -e 4096 -f 2 -g 1 -c 1 -w 5 -n 20"
    )


def test_a_node_alone_needs_no_host_file_and_no_key(tmp_path: Path) -> None:
    pod = Pod(tmp_path, 'cat "$3"', ssh="exit 255")
    (tmp_path / "hostfile").unlink()
    (tmp_path / "hostname").write_text("#!/bin/sh\necho localhost\n", encoding="utf-8")
    (tmp_path / "hostname").chmod(0o755)
    assert pod.run(wait=0, nodes=1) == [
        "localhost slots=8",
        "gate: mpirun ended with exit code 0",
    ]
    assert " -np 8 -N 8 " in pod.arguments


def test_a_program_that_falls_silent_is_stopped_and_told(tmp_path: Path) -> None:
    said = Pod(tmp_path, "echo row; exec sleep 60").run()
    assert said == [
        "row",
        "gate: no output for 2 s; stopped",
        "gate: mpirun ended with exit code 143",
    ]
    expected = expect(instance_type("p5.48xlarge"), 4)
    judgement = judge(parse_log(said), expected)
    assert judgement.verdict is Verdict.UNKNOWN
    assert judgement.summary == ("the run fell silent before it began and was stopped after 2 s")


def test_a_program_that_goes_on_speaking_is_not_stopped_for_lines_that_are_left_out(
    tmp_path: Path,
) -> None:
    line = "h:1:2 [0] NCCL INFO comm 0x1 rank 8 - Init COMPLETE"
    slow = f"for n in 1 2 3 4; do echo '{line}'; sleep 1; done; echo end"
    assert Pod(tmp_path, slow).run() == ["end", "gate: mpirun ended with exit code 0"]


def test_a_worker_that_does_not_answer_is_named_and_nothing_is_started(tmp_path: Path) -> None:
    pod = Pod(tmp_path, "echo row", ssh='case "$*" in *g-worker-1.*) exit 255 ;; esac')
    assert pod.run(wait=0) == ["gate: g-worker-1 does not answer by ssh"]
    assert not (tmp_path / "mpirun.args").exists()


def test_a_worker_may_come_late(tmp_path: Path) -> None:
    ssh = f"[ -e {tmp_path}/came ] || {{ touch {tmp_path}/came; exit 255; }}"
    assert Pod(tmp_path, "echo row", ssh=ssh).run()[0] == "row"


def test_a_pod_that_does_not_know_its_own_name_says_so(tmp_path: Path) -> None:
    pod = Pod(tmp_path, "echo row")
    (tmp_path / "hostfile").write_text("g-launcher.g.invalid slots=8\n", encoding="utf-8")
    assert pod.run(wait=0) == ["gate: Could not resolve hostname g-launcher"]


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
