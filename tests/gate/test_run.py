from dataclasses import replace
from typing import Any

import pytest

from scripts.errors import UsageError
from scripts.gate.jobs import GateJob
from scripts.gate.ports import Mark
from scripts.verdicts import Verdict
from tests.gate.fake import FakeCluster, run_gate, sizes


def link_slow_on(cluster: FakeCluster, *names: str) -> None:
    cluster.faults |= {name: {"link"} for name in names}


WHOLE_SWEEP = (
    "all_reduce over 14 nodes: at least 352.7 GB/s at every judged size; all_gather over 14 nodes: "
    "at least 358.6 GB/s at every judged size; reduce_scatter over 14 nodes: at least 358.6 GB/s "
    "at every judged size; alltoall over 14 nodes: at least 352.7 GB/s at every judged size"
)


def launcher(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return the pod of an MPIJob's launcher."""
    return manifest["spec"]["mpiReplicaSpecs"]["Launcher"]["template"]["spec"]


def test_a_good_wave_opens_after_pairs_and_one_sweep_of_four_collectives() -> None:
    cluster = FakeCluster()
    names = cluster.add(14)
    verdict = run_gate(cluster, 14)
    assert verdict.line == "pass: pool train wave 1: 14 of 14 nodes open"
    assert cluster.marked(Mark.OPEN) == names
    alone = [(name,) for name in names]
    pairs = list(zip(names[::2], names[1::2], strict=True))
    assert cluster.rounds == [alone, alone, pairs, *[[tuple(names)]] * 4]
    assert cluster.marks["node-00"][1] == f"{WHOLE_SWEEP} (run 20261201-080000-ab12)"
    programs = [
        variable["value"].rpartition("/")[2]
        for job in cluster.jobs[-4:]
        for variable in launcher(job.manifest)["containers"][0]["env"]
        if variable["name"] == "GATE_BINARY"
    ]
    assert programs == [
        "all_reduce_perf",
        "all_gather_perf",
        "reduce_scatter_perf",
        "alltoall_perf",
    ]


def test_one_slow_link_among_fourteen_is_found_and_the_rest_opens() -> None:
    cluster = FakeCluster()
    names = cluster.add(14)
    link_slow_on(cluster, "node-05")
    lines: list[str] = []
    verdict = run_gate(cluster, 14, lines=lines)
    reason = (
        "all_reduce fails with node-00, node-01, node-04, which are proven: 263.23 GB/s at 8 GiB, "
        "267.8 GB/s at 16 GiB: below the floor of 430 GB/s for all_reduce on 2 nodes of "
        "p5.48xlarge from 8 GiB on (0.9 of 479-487 measured on p5; oci-hpc ships 440; confidence "
        "high)"
    )
    assert verdict.line == (
        f"pass: pool train wave 1: 13 of 14 nodes open; out: node-05: {reason}; next: mend or "
        "replace what is out and run the gate again: it tests what is not open yet"
    )
    assert cluster.marked(Mark.REFUSE) == ["node-05"]
    assert cluster.marked(Mark.OPEN) == [name for name in names if name != "node-05"]
    assert sizes(cluster) == [(14, 1), (14, 1), (7, 2), (2, 2), (1, 2), *[(1, 13)] * 4]
    assert f"node-05 is bad: {reason}" in lines


def test_a_bad_gpu_is_out_by_its_check_and_never_meets_the_others() -> None:
    cluster = FakeCluster()
    cluster.add(4)
    cluster.faults["node-02"] = {"gpu"}
    verdict = run_gate(cluster, 4)
    assert verdict.verdict is Verdict.PASS
    assert verdict.message == (
        "3 of 4 nodes open; out: node-02: gpus: a GPU is lost: Unable to determine the device "
        "handle for GPU0: 0000:53:00.0: Unknown Error [ISOLATE]"
    )
    tested = {name for groups in cluster.rounds[1:] for group in groups for name in group}
    assert tested == {"node-00", "node-01", "node-03"}


def test_a_node_that_falls_back_to_sockets_is_found_among_others() -> None:
    cluster = FakeCluster()
    cluster.add(8)
    cluster.faults["node-07"] = {"socket"}
    verdict = run_gate(cluster, 8)
    assert verdict.verdict is Verdict.PASS
    assert cluster.marked(Mark.REFUSE) == ["node-07"]
    assert cluster.marks["node-07"][1].startswith(
        "all_reduce on it alone fails: transport is not EFA: NCCL used Socket on node-07 "
    )
    assert sizes(cluster)[1:3] == [(8, 1), (3, 2)], "a wrong transport fails at once"


def test_a_common_cause_blames_nobody_and_opens_nothing() -> None:
    cluster = FakeCluster()
    names = cluster.add(10)
    cluster.faults = {name: {"socket"} for name in names}
    verdict = run_gate(cluster, 10)
    assert verdict.line == (
        "fail: pool train wave 1: more nodes failed than may stay out (2 could still), which "
        "points to one common cause and not to bad nodes, so nobody is blamed: transport is not "
        "EFA: NCCL used Socket on node-00 (the EFA plugin did not load); "
        "next: nothing was opened; look at what the nodes have in common (placement, security "
        "group, image, EFA plugin), mend it and run the gate again"
    )
    assert cluster.marked(Mark.HOLD) == names
    assert sizes(cluster) == [(10, 1), (10, 1)]


def test_a_node_whose_device_plugin_never_shows_up_is_out_and_the_daemonset_is_named() -> None:
    cluster = FakeCluster()
    cluster.add(5)
    state = cluster.states["node-03"]
    cluster.states["node-03"] = replace(state, devices={"nvidia.com/gpu": 8})
    lines: list[str] = []
    verdict = run_gate(cluster, 5, lines=lines)
    assert verdict.verdict is Verdict.PASS
    assert verdict.message == (
        "4 of 5 nodes open; out: node-03: devices: it offers no vpc.amazonaws.com/efa of 32: look "
        "at DaemonSet aws-efa-k8s-device-plugin in kube-system, and whether its pod runs on this "
        "node [RESET]"
    )
    assert lines.count("waiting for the devices of node-03") == 12
    assert all("node-03" not in group for groups in cluster.rounds for group in groups)


@pytest.mark.parametrize("devices", [{}, {"vpc.amazonaws.com/efa": 0}, {"nvidia.com/gpu": 7}])
def test_a_node_that_offers_less_than_its_type_has_never_opens(devices: dict[str, int]) -> None:
    cluster = FakeCluster()
    cluster.add(5)
    full = cluster.states["node-03"]
    cluster.states["node-03"] = replace(
        full, devices={**full.devices, **devices} if devices else {}
    )
    assert run_gate(cluster, 5).verdict is Verdict.PASS
    assert cluster.marked(Mark.REFUSE) == ["node-03"]


def test_too_many_bad_gpus_shut_the_whole_wave() -> None:
    cluster = FakeCluster()
    names = cluster.add(5)
    cluster.faults = {name: {"gpu"} for name in names[:2]}
    verdict = run_gate(cluster, 5)
    assert verdict.verdict is Verdict.FAIL
    assert verdict.message.startswith(
        "2 nodes of 5 failed and 1 may, which points to one common cause and not to bad nodes, so "
        "nobody is blamed: node-00, node-01: gpus: a GPU is lost"
    )
    assert cluster.marked(Mark.HOLD) == names


def test_a_node_that_dies_in_its_check_is_held_and_the_rest_opens() -> None:
    cluster = FakeCluster()
    cluster.add(6)
    cluster.faults["node-03"] = {"dead"}
    verdict = run_gate(cluster, 6)
    assert verdict.verdict is Verdict.PASS
    assert verdict.message == (
        "5 of 6 nodes open; out: node-03: job: it did not end in time: Running after 900 s"
    )
    assert cluster.marked(Mark.HOLD) == ["node-03"]
    assert cluster.rounds[1] == [("node-03",)], "what is unknown is tried a second time"


def test_a_node_that_never_gets_ready_leaves_the_wave_unknown_and_is_named() -> None:
    cluster = FakeCluster()
    cluster.add(13)
    cluster.add(1, ready=False)
    verdict = run_gate(cluster, 14)
    assert verdict.line == (
        "unknown: pool train wave 1: 13 of 14 nodes were Ready after 3600 s, so none was tested; "
        "not Ready: node-13; next: look at the node group's health and at these instances, then "
        "run the gate again"
    )
    assert not cluster.marks
    assert not cluster.rounds


def test_nodes_that_never_join_are_counted() -> None:
    cluster = FakeCluster()
    cluster.add(1)
    verdict = run_gate(cluster, 3)
    assert verdict.message == (
        "1 of 3 nodes were Ready after 3600 s, so none was tested; 2 nodes never joined"
    )


def test_an_api_that_stays_away_midway_is_unknown_with_what_was_seen() -> None:
    cluster = FakeCluster(stops_at_round=2)
    cluster.add(4)
    verdict = run_gate(cluster, 4)
    assert verdict.line == (
        "unknown: pool train wave 1: the gate could not go on: list Pods: the Kubernetes API does "
        "not answer: connection refused; next: run it again: it goes on where it stopped"
    )
    assert not cluster.marks
    assert cluster.cleaned == 2


def test_what_was_measured_before_the_gate_had_to_stop_is_kept() -> None:
    cluster = FakeCluster(stops_at_round=4)
    cluster.add(4)
    verdict = run_gate(cluster, 4)
    assert verdict.verdict is Verdict.UNKNOWN
    assert (verdict.effort.alone_tests, verdict.effort.pair_tests) == (4, 2)
    assert cluster.stored["gate-train-1"]["effort"]["pair_rounds"] == 1


def test_a_second_run_after_repair_tests_only_the_repaired_node_with_an_idle_partner() -> None:
    cluster = FakeCluster()
    cluster.add(14)
    link_slow_on(cluster, "node-05")
    run_gate(cluster, 14)
    cluster.faults.clear()
    cluster.rounds.clear()
    cluster.busy_nodes = {"node-00"}
    verdict = run_gate(cluster, 14)
    assert verdict.line == (
        "pass: pool train wave 1: 14 of 14 nodes open, 13 of them since an earlier run"
    )
    sweep = ("node-01", "node-02", "node-03", "node-05")
    alone = [("node-05",)]
    assert cluster.rounds == [alone, alone, [("node-05", "node-01")], *[[sweep]] * 4]


def test_a_repaired_node_that_is_still_bad_stays_out() -> None:
    cluster = FakeCluster()
    cluster.add(4, passed=True)
    cluster.add(1)
    link_slow_on(cluster, "node-04")
    verdict = run_gate(cluster, 5)
    assert verdict.verdict is Verdict.PASS
    assert cluster.marked(Mark.REFUSE) == ["node-04"]


def test_a_wave_that_passed_before_is_left_alone() -> None:
    cluster = FakeCluster()
    cluster.add(4, passed=True)
    verdict = run_gate(cluster, 4)
    assert verdict.line == (
        "pass: pool train wave 1: 4 of 4 nodes open, 4 of them since an earlier run"
    )
    assert not cluster.rounds


def test_again_finds_an_open_node_that_went_bad_and_leaves_nodes_with_jobs_alone() -> None:
    cluster = FakeCluster()
    cluster.add(6, passed=True)
    cluster.faults["node-04"] = {"gpu"}
    cluster.busy_nodes = {"node-01"}
    lines: list[str] = []
    verdict = run_gate(cluster, 6, again=True, lines=lines)
    assert verdict.verdict is Verdict.PASS
    assert verdict.message.startswith(
        "5 of 6 nodes open, 1 of them since an earlier run; out: node-04: gpus: a GPU is lost"
    )
    assert "in use and left as they are: node-01" in lines
    assert cluster.marked(Mark.REFUSE) == ["node-04"]
    assert "node-01" not in cluster.marks
    assert len(cluster.rounds[0]) == 5


def test_again_shuts_what_it_tests_so_that_a_run_that_ends_early_leaves_it_unproved() -> None:
    cluster = FakeCluster(stops_at_round=1)
    names = cluster.add(3, passed=True)
    verdict = run_gate(cluster, 3, again=True)
    assert verdict.verdict is Verdict.UNKNOWN
    assert verdict.next_step == "run it again: it goes on where it stopped"
    assert cluster.marked(Mark.HOLD) == names
    assert cluster.marks["node-00"][1] == "is proved again (run 20261201-080000-ab12)"


def test_two_nodes_that_fail_together_cannot_be_told_apart() -> None:
    cluster = FakeCluster()
    cluster.add(2)
    link_slow_on(cluster, "node-01")
    verdict = run_gate(cluster, 2)
    assert verdict.verdict is Verdict.FAIL
    assert verdict.message.startswith(
        "all_reduce passed with no pair of 2 nodes, so nobody can be blamed: 263.23 GB/s at 8 GiB"
    )
    assert sizes(cluster) == [(2, 1), (2, 1), (1, 2), (1, 2)], "they met twice"
    assert cluster.marked(Mark.HOLD) == ["node-00", "node-01"]


def test_two_nodes_are_told_apart_by_proven_nodes_of_another_wave() -> None:
    cluster = FakeCluster()
    cluster.add(2)
    cluster.add(2, wave="0", passed=True)
    link_slow_on(cluster, "node-01")
    verdict = run_gate(cluster, 2)
    assert verdict.verdict is Verdict.PASS
    assert cluster.marked(Mark.OPEN) == ["node-00"]
    assert cluster.marked(Mark.REFUSE) == ["node-01"]


def test_one_of_two_with_a_bad_gpu_leaves_the_other_without_a_proof() -> None:
    cluster = FakeCluster()
    cluster.add(2)
    cluster.faults["node-00"] = {"gpu"}
    verdict = run_gate(cluster, 2)
    assert verdict.verdict is Verdict.UNKNOWN
    assert "node-01: no proven node is idle, so nothing could meet it" in verdict.message
    assert cluster.marked(Mark.REFUSE) == ["node-00"]
    assert cluster.marked(Mark.HOLD) == ["node-01"]


def test_a_wave_of_one_opens_and_says_that_no_fabric_was_used() -> None:
    cluster = FakeCluster()
    cluster.add(1)
    verdict = run_gate(cluster, 1)
    assert verdict.verdict is Verdict.PASS
    assert verdict.nodes[0].reason == (
        "all_reduce on one node: at least 478.1 GB/s at every judged size; its fabric was not "
        "exercised: it is alone"
    )


def test_a_fault_that_shows_only_with_all_nodes_blames_nobody() -> None:
    def slow_at_scale(job: GateJob, text: str) -> str:
        return (
            text.replace("[send] via NET/Libfabric/0/GDRDMA", "[send] via NET/Libfabric/0")
            if (len(job.nodes) > 2)
            else text
        )

    cluster = FakeCluster(garble=slow_at_scale)
    cluster.add(4)
    verdict = run_gate(cluster, 4)
    assert verdict.verdict is Verdict.FAIL
    assert verdict.message.startswith(
        "all_reduce over 4 nodes did not pass although smaller groups did, so nobody can be "
        "blamed: channels go through Libfabric without GPUDirect RDMA"
    )
    assert cluster.marked(Mark.OPEN) == []


def test_a_slow_run_that_does_not_repeat_opens_the_wave() -> None:
    def slow_once(job: GateJob, text: str) -> str:
        return "\n".join(text.splitlines()[:-6]) if job.name.endswith("-w1-0") else text

    cluster = FakeCluster(garble=slow_once)
    cluster.add(4)
    assert run_gate(cluster, 4).verdict is Verdict.PASS
    assert [len(groups[0]) for groups in cluster.rounds] == [1, 1, 2, 4, 4, 4, 4, 4]


@pytest.mark.parametrize("kind", ["p5.48xlarge", "g6e.48xlarge", "p6-b200.48xlarge"])
@pytest.mark.parametrize("nodes", [2, 3, 7])
def test_every_type_with_a_floor_opens_at_every_size_of_wave(kind: str, nodes: int) -> None:
    cluster = FakeCluster()
    cluster.add(nodes, kind=kind)
    assert run_gate(cluster, nodes, kind=kind).verdict is Verdict.PASS


def test_a_type_without_a_floor_asks_for_one_before_anything_runs() -> None:
    cluster = FakeCluster()
    cluster.add(2, kind="g6.48xlarge")
    with pytest.raises(UsageError) as caught:
        run_gate(cluster, 2, kind="g6.48xlarge")
    assert str(caught.value) == (
        "no bandwidth floor is known for g6.48xlarge on 2 nodes, and a wave whose bandwidth is not "
        "judged never opens; give one with --floor GBPS, from a run that you trust"
    )
    assert not cluster.rounds
    assert run_gate(cluster, 2, kind="g6.48xlarge", floor=5).verdict is Verdict.PASS


def test_nodes_of_another_type_than_asked_are_refused() -> None:
    cluster = FakeCluster()
    cluster.add(2, kind="p5en.48xlarge")
    with pytest.raises(UsageError) as caught:
        run_gate(cluster, 2)
    assert str(caught.value) == (
        "node-00, node-01 of pool train wave 1 are not p5.48xlarge; give the type of the wave with "
        "--type"
    )


def test_the_report_holds_nodes_floors_and_evidence() -> None:
    cluster = FakeCluster()
    cluster.add(3)
    verdict = run_gate(cluster, 3)
    report = verdict.as_json()
    assert report["schema"] == 1
    assert report["nodes"][0]["provider_id"] == "aws:///use1-az4/i-node-00"
    assert report["nodes"][0]["check"]["facts"]["driver"] == "580.95.05"
    assert len(report["nodes"][0]["check"]["gpus"]) == 8
    assert report["floors"]["3 nodes"]["confidence"] == "low"
    assert report["floors"]["1 node"]["busbw_gbps"] == 450
    assert report["floors"]["alltoall on 3 nodes"]["busbw_gbps"] == 37
    last = report["measurements"][-1]
    assert (last["round"], last["stage"], last["collective"]) == ("w4", "sweep", "alltoall")
    assert (last["nodes"], last["lowest_busbw_gbps"]) == (["node-00", "node-01", "node-02"], 352.7)
    assert report["effort"] == {
        "node_tests": 3,
        "alone_rounds": 1,
        "alone_tests": 3,
        "pair_rounds": 2,
        "pair_tests": 2,
        "sweeps": 4,
        "search_rounds": 0,
        "search_tests": 0,
    }
    stored = cluster.stored["gate-train-1"]
    assert "check" not in stored["nodes"][0]
    assert stored["effort"] == report["effort"]


def test_a_type_whose_pairs_show_everything_is_not_measured_alone() -> None:
    cluster = FakeCluster()
    cluster.add(4, kind="g6e.48xlarge")
    assert run_gate(cluster, 4, kind="g6e.48xlarge").verdict is Verdict.PASS
    assert sizes(cluster)[:3] == [(4, 1), (2, 2), (1, 4)]
