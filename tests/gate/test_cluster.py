import re
from collections.abc import Callable
from dataclasses import replace

import httpx2
import pytest

from components.catalog import instance_type
from scripts.errors import UnknownError, UsageError
from scripts.gate import checks
from scripts.gate.api import Api
from scripts.gate.cluster import KubeCluster, node_change, node_state
from scripts.gate.jobs import JobMaker
from scripts.gate.objects import Manifest, labels
from scripts.gate.patience import Patience
from scripts.gate.ports import SHUT_AGAIN, JobResult, Mark, Progress
from scripts.gate.run import Gate, Request
from scripts.gate.verdict import WaveVerdict
from scripts.verdicts import Verdict
from tests.gate.api_server import ApiServer, status
from tests.gate.fake import IMAGE, FakeTime

TAINTS = ["nvidia.com/gpu", "trainyard.dev/unproved"]


def cluster(server: ApiServer, clock: FakeTime, say: Progress) -> KubeCluster:
    patience = Patience(60, monotonic=lambda: clock.seconds, sleep=clock.sleep)
    return KubeCluster(
        Api(server.client(), "trainyard-gate", patience),
        "trainyard-gate",
        say,
        monotonic=lambda: clock.seconds,
        sleep=clock.sleep,
    )


def gate(server: ApiServer, nodes: int, lines: list[str] | None = None) -> WaveVerdict:
    clock = FakeTime()
    say = ([] if lines is None else lines).append
    request = Request(
        run="r1",
        pool="train",
        wave="1",
        nodes=nodes,
        instance=instance_type("p5.48xlarge"),
        image=IMAGE,
        namespace="trainyard-gate",
        timeout=3600,
    )
    return Gate(request, cluster(server, clock, say), say, clock.clock()).run()


def wave(count: int) -> ApiServer:
    server = ApiServer()
    for index in range(count):
        server.add_node(f"n{index}")
    return server


def taints(node: Manifest) -> list[str]:
    return [taint["key"] for taint in node["spec"]["taints"]]


def test_a_wave_is_proved_opened_and_cleaned_up_over_the_api() -> None:
    server = wave(4)
    server.faults["n3"] = frozenset({"link"})
    verdict = gate(server, 4)
    assert verdict.verdict is Verdict.PASS
    good, bad = server.objects["Node"]["n0"], server.objects["Node"]["n3"]
    assert taints(good) == TAINTS[:1]
    assert labels(good)["trainyard.dev/gate"] == "passed"
    reason = good["metadata"]["annotations"]["trainyard.dev/gate-reason"]
    assert reason.startswith(
        "passed: all_reduce over 3 nodes: at least 352.7 GB/s at every judged size; all_gather "
    )
    assert reason.endswith(" (run r1)")
    assert "unschedulable" not in good["spec"]
    assert taints(bad) == TAINTS
    assert labels(bad)["trainyard.dev/gate"] == "failed"
    assert bad["spec"]["unschedulable"] is True
    assert not server.objects["Job"]
    assert not server.objects["MPIJob"]
    assert server.objects["ConfigMap"]["gate-train-1"]["data"]["verdict"] == "pass"


def test_a_repaired_node_is_uncordoned_and_the_verdict_replaced() -> None:
    server = wave(4)
    server.faults["n3"] = frozenset({"link"})
    gate(server, 4)
    server.faults.clear()
    assert gate(server, 4).message == "4 of 4 nodes open, 3 of them since an earlier run"
    repaired = server.objects["Node"]["n3"]
    assert taints(repaired) == TAINTS[:1]
    assert repaired["spec"]["unschedulable"] is False


def test_a_node_that_was_shut_to_be_tested_again_is_known_by_its_reason() -> None:
    server = wave(2)
    assert gate(server, 2).verdict is Verdict.PASS
    node = server.objects["Node"]["n0"]
    assert (node_state(node).passed, node_state(node).was_open) == (True, False)
    marks = cluster(server, FakeTime(), [].append)
    marks.mark("n0", Mark.HOLD, f"{SHUT_AGAIN} (run r2)")
    assert (node_state(node).passed, node_state(node).was_open) == (False, True)
    marks.mark("n0", Mark.HOLD, "it hangs (run r2)")
    assert (node_state(node).passed, node_state(node).was_open) == (False, False)


def failing(*answers: httpx2.Response | Exception) -> Callable[[str], httpx2.Response | None]:
    """Answer once each from the tenth request on."""
    left = list(answers)
    seen = 0

    def trouble(_request: str) -> httpx2.Response | None:
        nonlocal seen
        seen += 1
        if seen < 10 or not left:
            return None
        answer = left.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    return trouble


def test_a_restart_of_the_api_server_midway_changes_nothing() -> None:
    server = wave(6)
    server.trouble = failing(
        httpx2.ConnectError("connection refused"),
        httpx2.ReadError("connection reset"),
        status(503, "apiserver is shutting down"),
        httpx2.Response(502, text="bad gateway"),
        status(401, "Unauthorized"),
        status(429, "too many requests"),
    )
    assert gate(server, 6).verdict is Verdict.PASS


@pytest.mark.parametrize("verb", ["GET", "POST", "PATCH", "DELETE"])
def test_an_answer_that_gets_lost_is_asked_for_again(
    verb: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = wave(2)
    lost: list[str] = []
    plain = server.handle_request

    def lose(request: httpx2.Request) -> httpx2.Response:
        answer = plain(request)
        if request.method == verb and not lost:
            lost.append(verb)
            raise httpx2.ReadError("connection reset")
        return answer

    monkeypatch.setattr(server, "handle_request", lose)
    assert gate(server, 2).verdict is Verdict.PASS
    assert lost


def test_an_api_that_stays_away_is_unknown() -> None:
    server = wave(2)

    def away(_request: str) -> httpx2.Response | None:
        if len(server.requests) < 12:
            return None
        raise httpx2.ConnectError("connection refused")

    server.trouble = away
    verdict = gate(server, 2)
    assert verdict.verdict is Verdict.UNKNOWN
    assert "the Kubernetes API does not answer: connection refused" in verdict.message


def test_credentials_that_never_worked_are_bad_use() -> None:
    server = wave(2)
    server.trouble = lambda _request: status(401, "Unauthorized")
    with pytest.raises(UsageError) as caught:
        gate(server, 2)
    assert str(caught.value) == (
        "delete Jobs: the Kubernetes API refuses: Unauthorized; give a kubeconfig of an identity "
        "that may run the gate"
    )


def test_a_cluster_without_mpi_jobs_is_said_before_anything_is_tested() -> None:
    server = wave(2)
    server.unknown.add("MPIJob")
    with pytest.raises(UsageError) as caught:
        gate(server, 2)
    assert str(caught.value) == (
        "the cluster has no MPIJobs, which the MPI operator brings; `pulumi up` installs it with "
        "the scheduler layer"
    )
    assert not server.objects["Job"]


def test_a_node_that_changes_meanwhile_is_read_again() -> None:
    server = wave(2)
    once: list[str] = []

    def change(request: str) -> httpx2.Response | None:
        if request == "PATCH /api/v1/nodes/n1" and not once:
            once.append(request)
            server.objects["Node"]["n1"]["metadata"]["resourceVersion"] = "7"
        return None

    server.trouble = change
    assert gate(server, 2).verdict is Verdict.PASS
    assert taints(server.objects["Node"]["n1"]) == TAINTS[:1]


def test_a_pod_that_never_ends_leaves_its_node_held(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(checks, "STATIC_SECONDS", 10)
    server = wave(6)

    def state(pod: Manifest) -> Manifest:
        waiting = {"reason": "ImagePullBackOff", "message": "not found"}
        known = {"name": "check", "image": IMAGE, "imageID": "", "ready": False, "restartCount": 0}
        hung = {"phase": "Pending", "containerStatuses": [{**known, "state": {"waiting": waiting}}]}
        return hung if pod["spec"]["nodeName"] == "n2" else {"phase": "Succeeded"}

    server.pod_status = state
    lines: list[str] = []
    verdict = gate(server, 6, lines)
    assert verdict.message == (
        "5 of 6 nodes open; out: n2: job: it did not end in time: Pending: ImagePullBackOff not "
        "found"
    )
    assert "waiting for 1 Job: 1 Pending: ImagePullBackOff not found (gate-r1-n2)" in lines
    assert "trainyard.dev/gate" not in labels(server.objects["Node"]["n2"])


def test_a_log_that_cannot_be_read_is_unknown_and_said() -> None:
    server = wave(6)
    server.trouble = lambda request: status(500, "node is down") if "n4-x/log" in request else None
    verdict = gate(server, 6)
    assert "n4: job: its log cannot be read" not in verdict.message
    assert verdict.message == "6 of 6 nodes open", "the second try has another Job"
    server = wave(6)
    server.trouble = lambda request: status(500, "node is down") if "-x/log" in request else None
    assert gate(server, 6).verdict is Verdict.UNKNOWN


def test_leftovers_of_a_killed_run_are_deleted_first() -> None:
    server = wave(2)
    meta = {"name": "gate-old-n0", "labels": {"trainyard.dev/gate-of": "train-1"}}
    server.objects["Job"]["gate-old-n0"] = {"metadata": meta}
    server.objects["MPIJob"]["gate-old-r0-0"] = {"metadata": {**meta, "name": "gate-old-r0-0"}}
    other = {"name": "gate-other", "labels": {"trainyard.dev/gate-of": "train-2"}}
    server.objects["Job"]["gate-other"] = {"metadata": other}
    gate(server, 2)
    assert server.deleted[:2] == ["Job gate-old-n0", "MPIJob gate-old-r0-0"]
    assert list(server.objects["Job"]) == ["gate-other"]


def test_a_resumed_run_deletes_what_it_had_left_of_rounds_that_are_over() -> None:
    server, clock = wave(2), FakeTime()
    api = Api(server.client(), "trainyard-gate", Patience(60))
    cluster = KubeCluster(api, "trainyard-gate", lambda _line: None, sleep=clock.sleep)
    maker = JobMaker(
        run="r1",
        pool="train",
        wave="1",
        namespace="trainyard-gate",
        image=IMAGE,
        instance=instance_type("p5.48xlarge"),
    )
    left = [
        maker.all_reduce("p1-0", ["n0", "n1"], 60),
        maker.all_reduce("p2-0", ["n0", "n1"], 60),
        replace(maker, run="r2").all_reduce("p1-0", ["n0", "n1"], 60),
    ]
    cluster.create([job.manifest for job in left])
    job = maker.all_reduce("p2-0", ["n0", "n1"], 60)
    results = cluster.run([job], 60, lambda _job, lines: len(list(lines)) > 1)
    assert results == {"gate-r1-p2-0": JobResult(value=True)}
    assert server.deleted[0] == "MPIJob gate-r1-p1-0"
    assert "MPIJob gate-r2-p1-0" not in server.deleted


def test_a_node_that_one_gate_has_borrowed_is_in_use_until_it_is_given_back() -> None:
    server = wave(3)
    cluster = KubeCluster(
        Api(server.client(), "trainyard-gate", Patience(60)), "trainyard-gate", lambda _line: None
    )
    for name in ("n0", "n1"):
        cluster.mark(name, Mark.OPEN, "good")
    assert cluster.borrow(["n0", "n1", "n2"], 3, "r1", 600) == {"n0", "n1"}, "n2 is not open"
    assert cluster.borrow(["n0", "n1"], 1, "r2", 600) == set()
    assert cluster.busy(["n0", "n2"]) == {"n0"}
    cluster.give_back(["n0"], "r1")
    assert cluster.busy(["n0", "n1", "n2"]) == {"n1"}
    assert cluster.borrow(["n1"], 1, "r1", 600) == {"n1"}, "its own loan is renewed"


def test_a_cordon_by_a_person_stays() -> None:
    server = ApiServer()
    server.add_node("n0", unschedulable=True)
    change = node_change(server.objects["Node"]["n0"], Mark.OPEN, "good")
    assert "unschedulable" not in change["spec"]


def test_the_place_of_a_node_is_read_from_the_widest_switch_on() -> None:
    server = ApiServer()
    server.add_node("n0")
    node = server.objects["Node"]["n0"]
    assert node_state(node).place == ()
    node["metadata"]["labels"] |= {
        f"topology.k8s.aws/network-node-layer-{layer}": f"nn-{layer}" for layer in (3, 1, 2)
    }
    assert node_state(node).place == ("nn-1", "nn-2", "nn-3")


def test_a_node_with_the_taint_is_not_taken_as_passed() -> None:
    server = ApiServer()
    server.add_node("n0")
    node = server.objects["Node"]["n0"]
    node["metadata"]["labels"]["trainyard.dev/gate"] = "passed"
    assert not node_state(node).passed
    node["spec"]["taints"] = []
    assert node_state(node).passed


def test_an_answer_that_nobody_expects_is_unknown_and_not_a_traceback() -> None:
    server = wave(2)
    server.trouble = failing(status(422, "Job.batch is invalid"))
    verdict = gate(server, 2)
    assert verdict.verdict is Verdict.UNKNOWN
    assert re.fullmatch(
        r"the gate could not go on: \w+ \w+ ?\S*: the Kubernetes API answers 422: "
        r"Job.batch is invalid",
        verdict.message,
    )


def test_a_list_whose_rest_is_not_kept_any_more_is_asked_for_anew() -> None:
    server = wave(2)
    server.trouble = failing(status(410, "the provided continue parameter is too old"))
    assert gate(server, 2).verdict is Verdict.PASS


def test_a_namespace_that_does_not_exist_is_named() -> None:
    server = wave(1)
    server.trouble = lambda request: (
        status(404, 'namespaces "nowhere" not found') if request.startswith("POST") else None
    )
    api = Api(server.client(), "nowhere", Patience(60))
    manifest = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    with pytest.raises(UsageError) as refused:
        api.create(manifest)
    assert str(refused.value) == (
        'create ConfigMap a: namespaces "nowhere" not found; give the gate\'s namespace with '
        "--namespace, which `pulumi up` makes"
    )


def test_a_node_that_changes_all_the_time_is_not_tried_without_end() -> None:
    server = wave(1)
    server.trouble = lambda request: (
        status(409, "the object has been modified") if request.startswith("PATCH") else None
    )
    api = Api(server.client(), "trainyard-gate", Patience(60))
    with pytest.raises(UnknownError) as stopped:
        api.change_node("n0", lambda _node: {})
    assert str(stopped.value) == "change Node n0: others changed it 50 times in between"


def test_patience_ends() -> None:
    clock = FakeTime()
    patience = Patience(30, monotonic=lambda: clock.seconds, sleep=clock.sleep)

    def away() -> None:
        raise httpx2.ConnectError("connection refused")

    with pytest.raises(UnknownError) as caught:
        patience.call("list Nodes", away)
    assert str(caught.value) == (
        "list Nodes: the Kubernetes API does not answer: connection refused"
    )
    assert 20 < clock.seconds <= 30
    before = clock.seconds
    with pytest.raises(UnknownError):
        patience.call("store the verdict", away)
    assert clock.seconds - before <= 5
