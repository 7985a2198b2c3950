"""What launchers put before lines, between them, and after the run."""

import re

import pytest

from scripts.nccl.log import parse
from scripts.verdicts import Verdict
from tests.nccl.logs import judged, reasons, text
from tests.nccl.make import GIB, Run

PAIRS = "run it again; if it stays, test the nodes in pairs: the pair that hangs holds the node"
MEND = "mend what it names (host file, ssh, memory, a killed process) and run it again"

PREFIXES = [
    "[1,0]<stdout>: ",
    "[1,0]<stdout>:",
    "[prterun-node-7@1,0]<stdout>: ",
    "[prterun-node-7@1,0][node-7:2310]<stdout>: ",
    "[1,mpirank:0,algo-1]<stdout>:",
    "Tue Dec  1 08:00:01 2026[1,0]<stdout>:",
    " 0: ",
    "12: ",
    "[0] ",
    "[default0]:",
    "[rank0]: ",
    "worker-0  | ",
    "2026-12-01T08:00:01.123456789Z ",
    "2026-12-01T08:00:01+01:00 ",
    "2026-12-01T08:00:01.123456789Z stdout F ",
    "2026-12-01 08:00:01 ",
    "[2026-12-01 08:00:01,123] ",
    "Dec  1 08:00:01 ",
    "Dec 01 08:00:01 p5-a mpirun[2310]: ",
    "[pod/gate-0/check] ",
    "[pod/gate-0/check] 2026-12-01T08:00:01.123456789Z [1,0]<stdout>:",
    "\x1b[0m",
]


@pytest.mark.parametrize("prefix", PREFIXES)
def test_prefixes_of_launchers_and_log_readers_change_nothing(prefix: str) -> None:
    for log in (text(), text("bad_socket_fallback.txt"), Run(collective="all_gather").text()):
        lines = [prefix + line for line in log.splitlines()]
        assert judged(lines) == judged(log)


def test_line_ends_of_another_system_change_nothing() -> None:
    assert judged([f"{line}\r\n" for line in text().splitlines()]) == judged(text())
    assert judged("\ufeff" + text()) == judged(text())


def test_what_standard_error_says_of_the_table_does_not_count() -> None:
    lines = text().splitlines()
    for copied in (40, 46, 6):
        changed = [*lines[:40], f"[1,3]<stderr>: {lines[copied]}", *lines[40:]]
        assert judged(changed).verdict is Verdict.PASS


def test_a_failure_counts_also_on_standard_error() -> None:
    lines = [*text().splitlines(), "[1,3]<stderr>: p5-b: Test NCCL failure common.cu:405 'x'"]
    assert judged(lines).verdict is Verdict.FAIL


def test_a_row_cut_in_two_by_messages_is_whole_again() -> None:
    run = Run()
    row = run.row(2 * GIB)
    cut = row.index("-1") + 2
    message = "p5-a:2310:2391 [0] NCCL INFO Channel 03/0 : 7[7] -> 8[0] [send] via NET/Socket/0"
    quiet = message.replace("Socket/0", "Libfabric/0/GDRDMA")
    other = "p5-b:2310:2391 [0] NCCL INFO comm 0x1 rank 8 nranks 16 - Init COMPLETE"
    log = run.text().replace(row, f"{row[:cut]}{quiet}\n{other}\n{row[cut:]}")
    assert log != run.text()
    assert reasons(judged(log)) == []
    assert parse(log.splitlines()).transport.gdrdma.hosts == {"p5-a", "p5-b"}
    loud = log.replace(quiet, message)
    assert "NCCL used Socket on p5-a" in judged(loud).summary


def test_a_row_cut_in_two_that_never_goes_on_is_missed() -> None:
    run = Run()
    row = run.row(2 * GIB)
    cut = row.index("-1") + 2
    log = run.text().replace(row, f"{row[:cut]}p5-a:1:2 [0] NCCL INFO Connected all rings")
    assert (
        "unknown whole (line 35): 1 row could not be read; the first: a row was cut by a message "
        "and never went on; next: run it again and keep the whole output" in reasons(judged(log))
    )


def ended(code: int, log: str | None = None) -> list[str]:
    whole = Run().text() if log is None else log
    return reasons(judged(f"{whole}gate: mpirun ended with exit code {code}\n"))


def test_the_exit_code_of_a_good_run_is_0() -> None:
    assert ended(0) == []


@pytest.mark.parametrize("code", [1, 3, 139])
def test_a_run_that_ends_otherwise_for_no_known_reason_is_not_believed(code: int) -> None:
    assert ended(code) == [
        (
            f"unknown launcher: the launcher ended with exit code {code}, and the log does not say "
            "why; next: look at what it wrote to standard error"
        )
    ]


def test_wrong_values_explain_an_exit_code() -> None:
    found = ended(1, Run(wrong={4 * GIB: "3"}).text())
    assert [reason.split()[1] for reason in found] == ["wrong-values"]


def test_an_average_below_the_limit_of_nccl_tests_explains_an_exit_code() -> None:
    log = re.sub(r"(Avg bus bandwidth.*\d) $", r"\1 FAILED", Run().text(), flags=re.MULTILINE)
    assert "FAILED" in log
    assert ended(1, log) == []


@pytest.mark.parametrize(
    ("last", "where"),
    [
        ("# Using devices", "before the table"),
        ("#        (B)", "before the first row"),
        ("  4294967296", "after the row of 4 GiB"),
        ("# Collective test concluded", "after it had concluded"),
    ],
)
@pytest.mark.parametrize("code", [124, 137])
def test_a_run_that_its_time_limit_ended_hung_somewhere(last: str, where: str, code: int) -> None:
    log = Run().text()
    end = log.index("\n", log.index(last)) + 1
    found = [reason for reason in ended(code, log[:end]) if " hang" in reason]
    assert found == [
        (
            f"unknown hang: the run was ended by its time limit {where}: it hung, or was far too "
            f"slow; next: {PAIRS}"
        )
    ]
    assert judged(log[:end]).verdict is not Verdict.PASS or where.startswith("after it")


@pytest.mark.parametrize("code", [1, 143])
def test_a_run_that_was_stopped_for_its_silence_hung_somewhere(code: int) -> None:
    log = Run().text()
    cut = log[: log.index("\n", log.index("  4294967296")) + 1]
    stopped = f"{cut}gate: no output for 180 s; stopped\n"
    found = ended(code, stopped)
    assert [reason for reason in found if " hang" in reason] == [
        (
            "unknown hang (line 37): the run fell silent after the row of 4 GiB and was stopped "
            f"after 180 s; next: {PAIRS}"
        )
    ]
    assert not judged(stopped).blames_nodes


def test_a_fault_that_was_seen_before_a_silence_still_fails() -> None:
    log = Run(wrong={GIB: "3"}).text()
    cut = log[: log.index("\n", log.index("  4294967296")) + 1]
    assert judged(f"{cut}gate: no output for 180 s; stopped\n").verdict is Verdict.FAIL


def test_a_job_that_was_ended_before_it_printed_anything_is_unknown() -> None:
    judgement = judged("slurmstepd: error: *** STEP 7.0 ON n1 CANCELLED AT x DUE TO TIME LIMIT ***")
    assert judgement.verdict is Verdict.UNKNOWN
    assert judgement.summary == (
        "the run was ended by its time limit before it began: it hung, or was far too slow"
    )


@pytest.mark.parametrize(
    "complaint",
    [
        "gate: gate-r0-3.gate-r0 does not answer by ssh",
        "There are not enough slots available in the system to satisfy the 16",
        "mpirun noticed that process rank 5 with PID 31 on node p5-b exited on signal 9 (Killed).",
        "prterun noticed that process rank 5 with PID 31 on node p5-b exited on signal 9",
        "ORTE has lost communication with a remote daemon.",
        "srun: error: p5-b: tasks 8-15: Exited with exit code 1",
        "Host key verification failed.",
        "ssh: Could not resolve hostname p5-b: Name or service not known",
        "kernel: Out of memory: Killed process 2310 (all_reduce_perf)",
    ],
)
def test_a_complaint_of_the_launcher_is_quoted_and_blames_no_node(complaint: str) -> None:
    judgement = judged(f"{Run().text()}{complaint}\n")
    assert reasons(judgement) == [
        f"unknown launcher (line 44): the launcher says: {complaint}; next: {MEND}"
    ]
    assert not judgement.blames_nodes
    assert judged(complaint).verdict is Verdict.UNKNOWN
