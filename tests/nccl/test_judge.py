import re

import pytest

from scripts.verdicts import Verdict
from tests.nccl.logs import GOOD, judged, reasons, text

INFO = "run with NCCL_DEBUG=INFO and NCCL_DEBUG_SUBSYS=INIT,NET on every rank"
AGAIN = "run it again and keep the whole output"
CORRUPT = "keep these nodes away from jobs and test them in pairs: data is being corrupted"
PLUGIN = (
    "put the aws-ofi-nccl plugin of the image on LD_LIBRARY_PATH and give the pod its EFA devices"
)


@pytest.mark.parametrize(
    ("name", "kind", "nodes", "collective", "floor", "lowest"),
    [
        (GOOD, "p5.48xlarge", 2, "all_reduce", None, 478.6),
        ("good_p5_1n.txt", "p5.48xlarge", 1, "all_reduce", None, 478.1),
        ("good_p5_4n.txt", "p5.48xlarge", 4, "all_reduce", None, 352.7),
        ("good_p6b200_4n.txt", "p6-b200.48xlarge", 4, "all_reduce", None, 374),
        ("good_g6e_2n.txt", "g6e.48xlarge", 2, "all_reduce", None, 16),
        ("good_p5_2n_all_gather.txt", "p5.48xlarge", 2, "all_gather", None, 355.2),
        ("alltoall_p5_4n.txt", "p5.48xlarge", 4, "alltoall", None, 52.6),
        ("old_2.9_all_reduce.txt", "p4d.24xlarge", 2, "all_reduce", None, 76.8),
        ("old_2.9_all_gather.txt", "p4d.24xlarge", 2, "all_gather", None, 35.1),
        ("old_2.13_all_reduce.txt", "p4d.24xlarge", 2, "all_reduce", None, 76.8),
        ("timestamps_p5_2n.txt", "p5.48xlarge", 2, "all_reduce", None, 478.6),
        ("per_iteration_p5_2n.txt", "p5.48xlarge", 2, "all_reduce", None, 478.6),
    ],
)
def test_a_good_log_of_every_layout_passes(
    name: str, kind: str, nodes: int, collective: str, floor: float | None, lowest: float
) -> None:
    judgement = judged(text(name), nodes, kind, collective, floor)
    assert (reasons(judgement), judgement.lowest_busbw) == ([], lowest)
    assert judgement.summary == f"at least {lowest:g} GB/s at every judged size"


@pytest.mark.parametrize(
    ("name", "nodes", "expected"),
    [
        (
            "bad_wrong.txt",
            2,
            [
                (
                    f"fail wrong-values (line 39, 41): results were wrong at 4 GiB, 16 GiB; next: "
                    f"{CORRUPT}"
                )
            ],
        ),
        (
            "bad_nics_missing_31.txt",
            2,
            [
                (
                    "fail transport (line 27): p5-a found 31 NICs; p5.48xlarge has 32; next: "
                    "look at "
                    "the EFA devices of these nodes and at what their pod asked for"
                )
            ],
        ),
        (
            "bad_no_gdrdma_p5_2n.txt",
            2,
            [
                (
                    "fail transport (line 30, 31): channels go through Libfabric without GPUDirect "
                    "RDMA on p5-a; next: check the EFA driver (modinfo efa) and "
                    "FI_EFA_USE_DEVICE_RDMA"
                )
            ],
        ),
        (
            "bad_dip_p5_2n.txt",
            2,
            [
                (
                    "fail bandwidth (line 41, 42): 169.8 GB/s at 2 GiB after 436.2 at 1 GiB: a "
                    "larger "
                    "message may lose 20% at most; next: run it again; if it stays, test the "
                    "nodes in "
                    "pairs"
                )
            ],
        ),
        (
            "bad_socket_fallback.txt",
            2,
            [
                (
                    "fail transport (line 26, 27, 28): transport is not EFA: NCCL used Socket "
                    "on p5-a "
                    f"(the EFA plugin did not load); next: {PLUGIN}"
                ),
                (
                    "unknown whole (line 32): 3 of 7 rows; missing: 256 MiB, 512 MiB, 2 GiB, 4 "
                    "GiB; "
                    f"next: {AGAIN}"
                ),
                (
                    "fail bandwidth (line 36): 9.47 GB/s at 8 GiB: below the floor of 430 GB/s for "
                    "all_reduce on 2 nodes of p5.48xlarge from 8 GiB on (0.9 of 479-487 "
                    "measured on "
                    "p5; oci-hpc ships 440; confidence high); next: test the nodes in pairs to "
                    "find "
                    "the slow one"
                ),
            ],
        ),
        (
            "bad_truncated.txt",
            2,
            [
                (
                    "unknown whole (line 42): the log is cut or damaged: it lacks the line '# "
                    "Out of "
                    "bounds values', the line '# Avg bus bandwidth', the line '# Collective test "
                    f"concluded'; next: {AGAIN}"
                ),
                (
                    "unknown whole (line 42): 1 row could not be read; the first: 6 fields "
                    "where the "
                    f"header names 13; next: {AGAIN}"
                ),
                (
                    "unknown whole (line 36): 4 of 8 rows; missing: 2 GiB, 4 GiB, 8 GiB, 16 "
                    "GiB; next: "
                    f"{AGAIN}"
                ),
            ],
        ),
        (
            "gaps_p5_4n_all_reduce.txt",
            4,
            [
                (
                    f"unknown transport: no message of NCCL is in the log: EFA is not proved; "
                    f"next: {INFO}"
                ),
                f"unknown whole (line 40): 3 of 5 rows; missing: 2 GiB, 8 GiB; next: {AGAIN}",
            ],
        ),
        (
            "split_run_p5_2x1n.txt",
            2,
            [
                f"unknown transport: no line proves GPUDirect RDMA on node-0; next: {INFO}",
                (
                    "fail placement (line 22, 55): wrong placement: split run: 2 tables, of which "
                    "each counts its ranks from 0, where one of 16 ranks was expected; such "
                    "numbers are of NVLink only; next: build nccl-tests with MPI=1 against the MPI "
                    "that launches it"
                ),
            ],
        ),
    ],
)
def test_each_fault_is_named_with_its_lines_and_what_to_do(
    name: str, nodes: int, expected: list[str]
) -> None:
    assert reasons(judged(text(name), nodes)) == expected


def test_a_crash_quotes_the_error_and_the_warning_before_it() -> None:
    judgement = judged(text("bad_nccl_failure.txt"))
    assert judgement.verdict is Verdict.FAIL
    assert judgement.summary == (
        "the run ended by an error: p5-b: Test NCCL failure common.cu:405 'remote process exited "
        "or there was a network error / '; NCCL warned before: p5-b:2366:2466 [0] NCCL WARN "
        "NET/OFI Request 0x7f6c completed with error. RC: 12. Error: 4123 (Unresponsive receiver)"
    )


def without(pattern: str) -> str:
    return "\n".join(line for line in text().splitlines() if not re.search(pattern, line))


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("", ("unknown whole: nothing of nccl-tests in 0 lines; next: give the output of the "
             "launcher, with both of its streams")),
        (
            re.sub(r"validation: 1", "validation: 0", re.sub(r"  0(?=  |\n)", "N/A", text())),
            ("unknown compared (line 38, 39, 40, 41, 42, 43, 44, 45): results were not compared "
            "with the right ones at any size; the "
            "footer says OK all the same; next: run with -c 1"),
        ),
        (
            text().replace("288.40       0", "288.40     N/A"),
            ("unknown compared (line 38): results were not compared with the right ones at "
            "128 MiB; the footer says OK all the same; next: run with -c 1"),
        ),
        (
            text().replace("486.20       0", "486.20     N/A"),
            ("unknown compared (line 45): results were not compared with the right ones at "
            "16 GiB; the footer says OK all the same; next: run with -c 1"),
        ),
        (
            text().replace("     time   algbw", "  cputime   algbw"),
            ("unknown bandwidth (line 36): the times are of the CPU (-C 1), and no bandwidth "
            "follows from them; next: run without -C"),
        ),
        (
            text().replace("  486.90       0", "  886.90       0"),
            ("unknown bandwidth (line 45): size, time and bandwidth do not belong together at "
            "16 GiB; next: check that this is all_reduce of 16 ranks, unedited"),
        ),
        (
            text().replace("  486.90       0", "     nan       0"),
            ("unknown whole (line 45): 1 row could not be read; the first: 'nan' is not a "
            f"measurement; next: {AGAIN}"),
        ),
        (
            text().replace("values : 0 OK", "values : 2 FAILED"),
            ("fail wrong-values (line 46): the footer counts 2 failed checks, though no row shows "
            f"them; next: {CORRUPT}"),
        ),
        (
            text().replace("  486.90       0", "  486.90   1e+06"),
            f"fail wrong-values (line 45): results were wrong at 16 GiB; next: {CORRUPT}",
        ),
        (
            re.sub(r"Rank (.\d) Group  0", lambda found: f"Rank {found[1]} Group "
            f"{int(found[1]) % 8:2d}", text()),
            ("fail placement (line 6, 21): wrong placement: 8 communicators of 2 share 16 ranks, "
            "and the table is their average; one communicator was expected; next: set "
            "NCCL_TESTS_SPLIT as the run is meant, or unset it"),
        ),
        (
            without(r"Rank 15 "),
            ("unknown placement (line 6, 20): ranks ran on 2 hosts (p5-a 8, p5-b 7); 2 x 8 was "
            "expected; next: check the host file and the number of ranks a node"),
        ),
        (
            without(r"# +Rank"),
            ("unknown placement: no line says which rank ran where; 2 x 8 ranks were expected; "
            "next: keep the lines from '# Using devices' on"),
        ),
        (
            text().replace("NVIDIA H100 80GB HBM3", "NVIDIA L40S"),
            ("unknown subject (line 6): the ranks ran on NVIDIA L40S; p5.48xlarge has H100; next: "
            "name the type that the log was made on"),
        ),
        (
            text().replace("all_reduce_perf", "reduce_scatter_perf"),
            ("unknown subject: the log is of reduce_scatter; all_reduce was expected; next: name "
            "the collective with --collective"),
        ),
        (
            without("GDRDMA"),
            f"unknown transport: no line proves GPUDirect RDMA on p5-a, p5-b; next: {INFO}",
        ),
        (
            without("provider is"),
            ("unknown transport: no line says that the provider is efa with how many NICs; next: "
            f"{INFO}"),
        ),
        (
            text().replace("provider is efa", "provider is tcp"),
            ("fail transport (line 27): transport is not EFA: NCCL used tcp on p5-a; "
            f"next: {PLUGIN}"),
        ),
        (
            text().replace("PXN 0 GDR 1", "PXN 0 GDR 0"),
            ("fail transport (line 32): NCCL turned GPUDirect RDMA off on p5-a; next: check the "
            "EFA driver (modinfo efa) and FI_EFA_USE_DEVICE_RDMA"),
        ),
        (
            text() + "p5-a: Test timeout (300s) common.cu:1\n",
            ("fail crash (line 52): the run ended by an error: p5-a: Test timeout (300s) "
            "common.cu:1; next: test the nodes in pairs to find the one it comes from"),
        ),
    ],
)  # fmt: skip
def test_each_rule_speaks_for_itself(log: str, expected: str) -> None:
    assert expected in reasons(judged(log))


def test_one_rank_is_not_applicable() -> None:
    judgement = judged(text("good_p5_1n.txt"), 1, "p5.4xlarge")
    assert (
        "unknown bandwidth: one rank has nobody to talk to: bus bandwidth is 0 by definition; "
        "next: judge a run of two GPUs or more" in reasons(judgement)
    )


def test_a_small_sweep_does_not_meet_a_floor_of_large_sizes() -> None:
    lines = text("good_p5_4n.txt").replace("maxBytes 17179869184", "maxBytes 2147483648")
    lines = lines.replace("bandwidth    : 347.32", "bandwidth    : 331.7")
    kept = [line for line in lines.splitlines() if not re.match(r" *(4|8|17)\d{9} ", line)]
    assert reasons(judged(kept, 4)) == [
        (
            "unknown bandwidth: no size from 4 GiB on was run, and all_reduce on 4 nodes of "
            "p5.48xlarge is judged from there; next: run with -e 4G or more"
        )
    ]


def test_an_average_of_other_rows_than_these_is_not_believed() -> None:
    log = text().replace(": 416.762 ", ": 92 OK")
    assert reasons(judged(log)) == [
        (
            "unknown bandwidth (line 47): the footer's average is 92 GB/s and that of the rows "
            "416.762: rows were lost or changed; next: give the output as it was written"
        )
    ]


def test_a_sweep_cut_short_by_memory_is_whole_and_says_so() -> None:
    log = without("^ 17179869184").replace(
        "# Using devices", "# Reducing maxBytes to 12884901888 due to memory limitation"
    )
    log = log.replace(": 416.762 ", ": 406.793 ")
    judgement = judged(log)
    assert judgement.verdict is Verdict.PASS
    assert [str(found) for found in judgement.findings] == [
        "note whole: memory was short: the sweep ends at 12 GiB instead of 16 GiB"
    ]


def test_nvls_that_is_off_is_called_a_matter_of_configuration() -> None:
    log = (
        text()
        .replace("support is available", "support is not available")
        .replace("25 478.60", "25 478.60")
    )
    assert judged(log).verdict is Verdict.PASS
    [note] = judged(log).findings
    assert str(note) == (
        "note transport (line 29): NVLS (NVLink SHARP) is not available, which costs a quarter of "
        "the bandwidth inside a node: look at the fabric manager and NCCL_NVLS_ENABLE before the "
        "hardware"
    )


def test_messages_between_rows_and_footer_are_ignored() -> None:
    lines: list[str] = []
    for line in text().splitlines():
        lines += [line, "p5-b:7:7 [3] NCCL INFO comm 0x1 rank 9 nranks 16 - Init COMPLETE"]
    assert judged(lines).verdict is Verdict.PASS


def test_a_floor_given_by_hand_replaces_the_catalog() -> None:
    assert judged(text(), floor=600).verdict is Verdict.FAIL
    assert judged(text("good_p5_4n.txt"), 4, floor=100).verdict is Verdict.PASS
