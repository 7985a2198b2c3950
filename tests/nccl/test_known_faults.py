"""Faults that readers of nccl-tests logs had in public, each as a whole kind."""

import pytest

from components.catalog import instance_type
from scripts.errors import UsageError
from scripts.nccl.log import parse
from scripts.verdicts import Verdict
from tests.nccl.logs import expected, judged, reasons, text
from tests.nccl.make import GIB, Run

# nccl-tests#213, #27, #136, #109, #182: each node runs by itself, and looks splendid.


def alone(host: str) -> str:
    return Run(hosts=[host], busbw=lambda size: 480.0 * size / (size + 0.1 * GIB)).text()


def one_after_the_other(first: str, second: str) -> str:
    return first + second


def line_by_line(first: str, second: str) -> str:
    pairs = zip(first.splitlines(), second.splitlines(), strict=True)
    return "\n".join(line for pair in pairs for line in pair)


@pytest.mark.parametrize("mixed", [one_after_the_other, line_by_line])
def test_a_run_that_fell_apart_is_a_wrong_placement_and_never_a_mean(mixed: object) -> None:
    assert callable(mixed)
    judgement = judged(mixed(alone("p5-a"), alone("p5-b")))
    assert judgement.verdict is Verdict.FAIL
    assert judgement.summary == (
        "wrong placement: split run: 2 tables, of which each counts its ranks from 0, where one of "
        "16 ranks was expected; such numbers are of NVLink only"
    )
    assert not judgement.blames_nodes
    assert judgement.curve == ()


def test_two_whole_runs_in_one_file_are_not_a_split_run() -> None:
    judgement = judged(Run().text() + Run(collective="all_gather").text())
    assert judgement.verdict is Verdict.UNKNOWN
    assert "2 tables, 2 banners and 2 footers in one log" in judgement.summary


def test_half_of_a_run_that_fell_apart_lacks_a_host() -> None:
    judgement = judged(alone("p5-a"))
    assert judgement.verdict is Verdict.FAIL
    assert "wrong placement: ranks ran on 1 host (p5-a 8); 2 x 8 was expected" in [
        found.message for found in judgement.findings
    ]


# nccl-tests#249, sichek#52: one rank; a size at which nothing is judged.


def test_one_rank_is_neither_pass_nor_fail() -> None:
    nics = instance_type("g6e.8xlarge").efa_interfaces
    run = Run(hosts=["g-a"], gpus=1, gpu="NVIDIA L40S", nics=nics, busbw=lambda _size: 700.0)
    for floor in (None, 1):
        judgement = judged(run.text(), 1, "g6e.8xlarge", floor=floor)
        assert judgement.verdict is Verdict.UNKNOWN
        assert reasons(judgement) == [
            (
                "unknown bandwidth: one rank has nobody to talk to: bus bandwidth is 0 by "
                "definition; next: judge a run of two GPUs or more"
            )
        ]


@pytest.mark.parametrize("high", [8, 2**20, GIB, 4 * GIB])
def test_a_run_of_small_messages_only_has_no_bandwidth_to_judge(high: int) -> None:
    run = Run(low=min(8, high), high=high, busbw=lambda size: 480 * size / (size + 2**24) + 0.01)
    judgement = judged(run.text())
    assert (judgement.verdict, judgement.lowest_busbw) == (Verdict.UNKNOWN, None)
    assert "no size from 8 GiB on was run" in " ".join(reasons(judgement))


# nccl-tests#78, #176, #118, nccl#340, superbenchmark#113, #675: old columns, N/A.


@pytest.mark.parametrize("word", ["0e+00", "1e-06", "2e-06", "5e-01"])
@pytest.mark.parametrize("layout", ["2.0", "2.9"])
def test_the_largest_difference_of_old_releases_is_no_count_of_errors(
    word: str, layout: str
) -> None:
    run = Run(layout="2.0" if layout == "2.0" else "2.9")
    log = run.text().replace("  0e+00", f"  {word}")
    assert judged(log).verdict is Verdict.PASS
    failed = log.replace("values : 0 OK", "values : 3 FAILED")
    assert judged(failed).summary == ("the footer counts 3 failed checks, though no row shows them")


@pytest.mark.parametrize("layout", ["2.0", "2.9", "2.13", "2.18", "timestamps", "per_iteration"])
def test_results_that_were_never_compared_are_not_accepted(layout: str) -> None:
    log = Run(layout=layout, checked=False).text()  # pyright: ignore[reportArgumentType] - the words of Layout
    judgement = judged(log)
    assert judgement.verdict is Verdict.UNKNOWN
    assert judgement.summary == (
        "results were not compared with the right ones at any size; the footer says OK all the same"
    )
    only_banner = Run().text().replace("validation: 1", "validation: 0")
    assert judged(only_banner).verdict is Verdict.UNKNOWN


# nccl-tests#167: data is corrupted above a size, and the bandwidth is fine.


@pytest.mark.parametrize("word", ["3", "1e+06", "1.2e+06", "17"])
@pytest.mark.parametrize("footer", ["1 FAILED", "0 OK"])
@pytest.mark.parametrize("inside", [True, False])
def test_one_wrong_value_fails_whatever_the_footer_says(
    word: str, footer: str, *, inside: bool
) -> None:
    row = Run().row(4 * GIB)
    before, after = row.rsplit("  ", 1)[0].rstrip(), "0"
    bad = f"{before}  {word:>6}" if inside else row.replace("       0", f"  {word:>6}", 1)
    assert bad != row, after
    log = Run().text().replace(row, bad).replace("values : 0 OK", f"values : {footer}")
    assert judged(log).summary == "results were wrong at 4 GiB"
    assert judged(log).verdict is Verdict.FAIL
    assert judged(log).blames_nodes


def test_wrong_values_also_fail_a_log_that_is_cut() -> None:
    log = Run(wrong={4 * GIB: "3"}).text()
    assert judged(log[: log.rindex(" 17179869184")]).verdict is Verdict.FAIL


# DCGM#111, aicr#319, nccl-tests#40: a limit over an average of all sizes.


def test_a_healthy_sweep_from_8_bytes_passes_by_its_window_though_its_average_is_low() -> None:
    run = Run(low=8, high=8 * GIB, busbw=lambda size: 486.0 * size / (size + 0.12 * GIB) + 0.01)
    average = parse(run.lines()).averages[0].value
    judgement = judged(run.text(), floor=400)
    assert average < 120
    assert (judgement.verdict, judgement.lowest_busbw) == (Verdict.PASS, 478.83)


def test_the_limit_of_nccl_tests_itself_is_not_applied_again() -> None:
    for word in ("OK", "FAILED"):
        log = "\n".join(f"{line}{word}" if "Avg bus" in line else line for line in Run().lines())
        assert judged(log).verdict is Verdict.PASS


def test_a_limit_is_told_with_its_window_and_source() -> None:
    judgement = judged(Run().text(), floor=500)
    assert judgement.summary == (
        "478.82 GB/s at 8 GiB, 482.38 GB/s at 16 GiB: below the floor of 500 GB/s for all_reduce "
        "on 2 nodes of p5.48xlarge from 8 GiB on (given with --floor; confidence given)"
    )


# nccl-tests#306, #234, #376: several communicators in one table.


def test_communicators_are_counted_and_held_against_what_was_meant() -> None:
    run = Run(group_of=lambda rank: rank % 8, busbw=lambda _size: 45.0)
    devices = parse(run.lines()).devices
    assert devices.ranks_by_group() == dict.fromkeys(range(8), 2)
    assert judged(run.text()).summary == (
        "wrong placement: 8 communicators of 2 share 16 ranks, and the table is their average; "
        "one communicator was expected"
    )
    other = judged(run.text(), floor=40, communicators=2)
    assert "2 of 8 were expected" in other.summary


def test_a_run_that_is_split_on_purpose_is_judged_by_its_own_floor() -> None:
    one_pair_each = Run(group_of=lambda rank: rank % 8, busbw=lambda _size: 45.0)
    log = one_pair_each.text()
    # Two ranks: bus bandwidth is the algorithm's.
    for row in one_pair_each.rows():
        words = row.split()
        time = f"{int(words[0]) / 45.0 / 1e3:7.2f}"
        half = f"  {time}   45.00   45.00       0"
        log = log.replace(
            row, f"{words[0]:>12}  {words[1]:>12}     float     sum      -1{half}{half}"
        )
    assert judged(log, floor=40, communicators=8).verdict is Verdict.PASS
    assert judged(log, floor=50, communicators=8).verdict is Verdict.FAIL
    assert judged(log, communicators=8).summary.endswith("bandwidth was not judged")


def test_communicators_of_unequal_size_are_a_wrong_placement() -> None:
    run = Run(group_of=lambda rank: int(rank > 4))
    assert judged(run.text(), floor=40, communicators=2).summary == (
        "wrong placement: 2 communicators of 5 to 11 share 16 ranks, and the table is their "
        "average; 2 of 8 were expected"
    )


def test_ranks_that_do_not_fall_into_groups_are_bad_use() -> None:
    with pytest.raises(UsageError) as caught:
        expected(communicators=3)
    assert str(caught.value) == (
        "16 ranks do not fall into 3 communicators of one size; give the number that "
        "NCCL_TESTS_SPLIT made"
    )


# aws-ofi-nccl#1063, #803, modelplane#197, RL#2359, Megatron-Bridge#5033: EFA is not used.

HERE = "p5-a:2310:2391 [0] NCCL INFO "


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("Using network Libfabric", "Using network Socket", "NCCL used Socket"),
        ("Using network Libfabric", "Assigned NET plugin Socket to comm", "NCCL used Socket"),
        ("Using network Libfabric", "Using network IB", "NCCL used IB"),
        ("provider is efa", "provider is tcp", "NCCL used tcp"),
        ("provider is efa", "provider is tcp;ofi_rxm", "NCCL used tcp;ofi_rxm"),
        ("via NET/Libfabric/0/GDRDMA", "via NET/Socket/0", "NCCL used Socket"),
        ("via NET/Libfabric/0/GDRDMA", "via NET/IB/0", "NCCL used IB"),
        (
            "NET/OFI Initializing aws-ofi-nccl 1.20.0",
            "NET/Plugin: Could not find: libnccl-net.so.",
            "the EFA plugin did not load",
        ),
        (
            "NET/OFI Initializing aws-ofi-nccl 1.20.0",
            "NET/OFI Unexpected group size 0",
            "the EFA plugin did not load",
        ),
    ],
)
def test_a_whole_table_over_another_transport_fails_above_any_floor(
    old: str, new: str, what: str
) -> None:
    log = Run().text()
    assert f"{HERE}{old}" in log or old in log
    judgement = judged(log.replace(old, new), floor=1)
    assert judgement.verdict is Verdict.FAIL
    assert what in judgement.summary


def test_the_bootstrap_over_tcp_is_no_fault() -> None:
    log = (
        Run()
        .text()
        .replace(f"{HERE}NET/OFI", f"{HERE}Bootstrap: Using eth0:10.0.4.11<0>\n{HERE}NET/OFI", 1)
    )
    log = log.replace(f"{HERE}NET/OFI", f"{HERE}NET/IB : No device found.\n{HERE}NET/OFI", 1)
    assert judged(log).verdict is Verdict.PASS


def test_one_node_of_many_that_falls_back_is_seen_and_named() -> None:
    hosts = [f"p5-{number}" for number in range(4)]
    log = (
        Run(hosts=hosts)
        .text()
        .replace(
            "p5-2:2310:2391 [0] NCCL INFO Using network Libfabric",
            "p5-2:2310:2391 [0] NCCL INFO Using network Socket",
        )
    )
    assert "NCCL used Socket on p5-2" in judged(log, 4).summary


# dstack#2451, ompi#6795, mpi-operator#594: all ranks packed on one host.


@pytest.mark.parametrize(
    ("hosts", "gpus", "shown"),
    [
        (["p5-a"], 16, "1 host (p5-a 16)"),
        (["a", "b", "c", "d"], 4, "4 hosts (a 4, b 4, c 4, d 4)"),
        (["a", "b", "c", "d"], 8, "4 hosts (a 8, b 8, c 8, d 8)"),
        (["a", "b"], 4, "2 hosts (a 4, b 4)"),
    ],
)
def test_ranks_on_other_hosts_than_asked_are_a_wrong_placement(
    hosts: list[str], gpus: int, shown: str
) -> None:
    judgement = judged(Run(hosts=hosts, gpus=gpus).text(), floor=1)
    message = f"wrong placement: ranks ran on {shown}; 2 x 8 was expected"
    assert judgement.verdict is Verdict.FAIL
    assert message in [found.message for found in judgement.findings]
    assert not any(
        found.verdict is Verdict.FAIL for found in judgement.findings if found.rule != "placement"
    )


def test_a_list_of_ranks_with_gaps_proves_nothing_about_placement() -> None:
    for lost in (0, 7, 15):
        lines = [line for line in text().splitlines() if f"Rank {lost:2d} " not in line]
        assert judged(lines).verdict is Verdict.UNKNOWN
