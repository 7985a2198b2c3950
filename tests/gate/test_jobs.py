from dataclasses import replace
from typing import Any

import pytest

from components.catalog import instance_type
from scripts.errors import UsageError
from scripts.gate.jobs import SCRIPTS, JobMaker, accelerator, require_digest
from scripts.gate.objects import Manifest
from scripts.gate.silence import silent_seconds
from tests.gate.fake import IMAGE


def maker(kind: str = "p5.48xlarge") -> JobMaker:
    return JobMaker(
        run="r1",
        pool="train",
        wave="2",
        namespace="trainyard-gate",
        image=IMAGE,
        instance=instance_type(kind),
    )


def templates(manifest: Manifest) -> list[Manifest]:
    """Return the pod templates of a Job, or of an MPIJob with the launcher's first."""
    spec = manifest["spec"]
    if manifest["kind"] == "Job":
        return [spec["template"]]
    return [replica["template"] for replica in spec["mpiReplicaSpecs"].values()]


def environment(template: Manifest) -> dict[str, str]:
    [container] = template["spec"]["containers"]
    return {each["name"]: each["value"] for each in container["env"]}


def test_a_collective_is_an_mpi_job_whose_launcher_works_too() -> None:
    job = maker().all_reduce("r0-0", ["a", "b", "c"], 600)
    assert (job.kind, job.manifest["apiVersion"]) == ("MPIJob", "kubeflow.org/v2beta1")
    spec = job.manifest["spec"]
    assert {key: spec[key] for key in spec if key != "mpiReplicaSpecs"} == {
        "slotsPerWorker": 8,
        "runLauncherAsWorker": True,
        "launcherCreationPolicy": "WaitForWorkersReady",
        "mpiImplementation": "OpenMPI",
        "sshAuthMountPath": "/etc/gate-ssh",
        "runPolicy": {
            "cleanPodPolicy": "None",
            "backoffLimit": 0,
            "activeDeadlineSeconds": 600,
            "ttlSecondsAfterFinished": 3600,
        },
    }
    replicas = {
        role: (replica["replicas"], replica["restartPolicy"])
        for role, replica in spec["mpiReplicaSpecs"].items()
    }
    assert replicas == {"Launcher": (1, "Never"), "Worker": (2, "Never")}
    assert job.hosts == ("gate-r1-r0-0-launcher", "gate-r1-r0-0-worker-0", "gate-r1-r0-0-worker-1")


def test_a_node_alone_is_a_job_whose_pod_has_the_launchers_name() -> None:
    job = maker().all_reduce("a1-0", ["a"], 600)
    assert (job.kind, job.manifest["spec"]["activeDeadlineSeconds"]) == ("Job", 600)
    [template] = templates(job.manifest)
    assert template["spec"]["hostname"] == job.hosts[0] == f"{job.name}-launcher"
    assert environment(template)["GATE_NODES"] == "1"


def test_every_pod_of_a_collective_takes_all_devices_of_its_node() -> None:
    for template in templates(maker().all_reduce("r0-0", ["a", "b"], 600).manifest):
        [container] = template["spec"]["containers"]
        assert container["resources"]["requests"] == {
            "cpu": "48",
            "memory": "512Gi",
            "nvidia.com/gpu": "8",
            "vpc.amazonaws.com/efa": "32",
            "hugepages-2Mi": "5120Mi",
        }
        assert container["resources"]["limits"] == container["resources"]["requests"]
        assert container["securityContext"] == {"capabilities": {"add": ["IPC_LOCK"]}}


def test_the_launcher_runs_the_program_and_workers_serve_ssh() -> None:
    launcher, worker = templates(maker().all_reduce("r0-0", ["a", "b"], 600).manifest)
    assert environment(launcher) == {
        "GATE_JOB": "gate-r1-r0-0",
        "GATE_NODES": "2",
        "GATE_GPUS": "8",
        "GATE_MIN_BYTES": "1073741824",
        "GATE_MAX_BYTES": "17179869184",
        "GATE_SSH_PORT": "2222",
        "GATE_SECONDS": "570",
        "GATE_SILENT_SECONDS": "180",
        "GATE_BINARY": "/opt/nccl-tests/build/all_reduce_perf",
    }
    assert environment(worker) == {"GATE_SSH_PORT": "2222"}
    [container] = worker["spec"]["containers"]
    assert container["readinessProbe"] == {"tcpSocket": {"port": 2222}, "periodSeconds": 2}
    scripts = [each["spec"]["containers"][0]["command"][2] for each in (launcher, worker)]
    assert scripts == [
        (SCRIPTS / name).read_text(encoding="utf-8") for name in ("all_reduce.sh", "serve_ssh.sh")
    ]


def test_workers_of_a_gate_that_was_killed_end_by_themselves() -> None:
    launcher, worker = templates(maker().all_reduce("r0-0", ["a", "b"], 600).manifest)
    assert worker["spec"]["activeDeadlineSeconds"] == 600
    assert "activeDeadlineSeconds" not in launcher["spec"], "the launcher's Job has one"


def test_another_collective_is_another_program_of_the_image() -> None:
    launcher, _ = templates(maker().all_reduce("w4-0", ["a", "b"], 600, "alltoall").manifest)
    assert environment(launcher)["GATE_BINARY"] == "/opt/nccl-tests/build/alltoall_perf"


@pytest.mark.parametrize(
    ("nodes", "seconds"), [(1, 180), (16, 180), (17, 300), (256, 300), (257, 480), (4096, 480)]
)
def test_large_runs_may_be_silent_for_longer(nodes: int, seconds: int) -> None:
    assert silent_seconds(nodes) == seconds


def test_pods_go_to_the_named_nodes_only_and_past_the_taints() -> None:
    for template in templates(maker().all_reduce("r0-0", ["a", "b"], 600).manifest):
        spec = template["spec"]
        affinity = spec["affinity"]["nodeAffinity"][
            "requiredDuringSchedulingIgnoredDuringExecution"
        ]
        named = [term["matchFields"][0]["values"] for term in affinity["nodeSelectorTerms"]]
        assert named == [["a"], ["b"]]
        assert spec["nodeSelector"] == {"trainyard.dev/pool": "train"}
        assert [toleration["key"] for toleration in spec["tolerations"]] == [
            "trainyard.dev/unproved",
            "nvidia.com/gpu",
            "node.kubernetes.io/unschedulable",
        ]
        assert "hostNetwork" not in spec
        assert spec["automountServiceAccountToken"] is False
        assert spec["volumes"] == [
            {"name": "shm", "emptyDir": {"medium": "Memory", "sizeLimit": "256Gi"}}
        ]


def test_checks_are_labelled_and_not_disrupted() -> None:
    for job, check in (
        (maker().node_check("n0", "a", 60), "node"),
        (maker().all_reduce("r0-0", ["a", "b"], 60), "all-reduce"),
    ):
        for template in templates(job.manifest):
            meta = template["metadata"]
            assert meta["labels"] == {
                "app.kubernetes.io/name": "trainyard-gate",
                "trainyard.dev/run": "r1",
                "trainyard.dev/gate-of": "train-2",
                "trainyard.dev/check": check,
            }
            assert meta["annotations"] == {"karpenter.sh/do-not-disrupt": "true"}


@pytest.mark.parametrize(("label", "part"), [("n17", "n"), ("r0-17", "r0"), ("w4-0", "w4")])
def test_jobs_wait_in_the_gates_queue_and_know_their_round(label: str, part: str) -> None:
    shared = {
        "app.kubernetes.io/name": "trainyard-gate",
        "trainyard.dev/run": "r1",
        "trainyard.dev/gate-of": "train-2",
        "trainyard.dev/round": part,
    }
    regression = replace(maker(), priority="gate-regression")
    for job, check in (
        (regression.node_check(label, "a", 60), "node"),
        (regression.all_reduce(label, ["a", "b"], 60), "all-reduce"),
    ):
        assert job.manifest["metadata"] == {
            "name": f"gate-r1-{label}",
            "namespace": "trainyard-gate",
            "labels": {
                **shared,
                "trainyard.dev/check": check,
                "kueue.x-k8s.io/queue-name": "gate",
                "kueue.x-k8s.io/priority-class": "gate-regression",
            },
        }


def test_without_a_queue_nothing_names_one() -> None:
    job = replace(maker(), queue=None).all_reduce("r0-0", ["a", "b"], 60)
    assert "kueue.x-k8s.io" not in str(job.manifest)


def test_a_node_check_is_a_plain_job_that_may_read_the_kernel_log() -> None:
    job = maker().node_check("n0", "a", 60)
    assert (job.kind, job.manifest["apiVersion"]) == ("Job", "batch/v1")
    spec = job.manifest["spec"]
    assert {key: spec[key] for key in spec if key != "template"} == {
        "backoffLimit": 0,
        "activeDeadlineSeconds": 60,
        "ttlSecondsAfterFinished": 3600,
    }
    pod = spec["template"]["spec"]
    assert pod["restartPolicy"] == "Never"
    assert pod["containers"][0]["securityContext"]["capabilities"]["add"] == ["SYSLOG", "IPC_LOCK"]


def test_a_collective_holds_no_key_of_its_own() -> None:
    text = str(maker().all_reduce("r0-0", ["a", "b"], 60).manifest)
    assert "secret" not in text.lower()


@pytest.mark.parametrize("image", ["nccl-tests:latest", "nccl-tests", "a b@sha256:0", "x@sha256:1"])
def test_an_image_without_a_digest_is_refused(image: str) -> None:
    with pytest.raises(UsageError) as caught:
        require_digest(image)
    assert str(caught.value) == (
        f"image {image!r} is not pinned; give it as NAME@sha256:DIGEST (64 hex digits), so that "
        "every node is proved by the same program"
    )


def test_a_type_without_nvidia_gpus_is_refused() -> None:
    with pytest.raises(UsageError) as caught:
        accelerator(instance_type("trn2.48xlarge"))
    assert str(caught.value) == (
        "trn2.48xlarge has no NVIDIA GPU; the gate proves NVIDIA nodes only"
    )


@pytest.mark.parametrize(
    ("others", "term"),
    [
        (
            set[str](),
            {
                "matchExpressions": [
                    {"key": "trainyard.dev/wave", "operator": "In", "values": ["2"]}
                ]
            },
        ),
        (
            {"z", "y"},
            {
                "matchExpressions": [
                    {"key": "trainyard.dev/wave", "operator": "In", "values": ["2"]}
                ],
                "matchFields": [
                    {"key": "metadata.name", "operator": "NotIn", "values": ["y"]},
                    {"key": "metadata.name", "operator": "NotIn", "values": ["z"]},
                ],
            },
        ),
    ],
)
def test_nearly_a_whole_wave_is_told_by_who_is_not_of_it(
    others: set[str], term: dict[str, Any]
) -> None:
    job = maker().all_reduce("w1-0", ["a", "b", "c"], 600, others=others)
    for template in templates(job.manifest):
        affinity = template["spec"]["affinity"]["nodeAffinity"]
        required = affinity["requiredDuringSchedulingIgnoredDuringExecution"]
        assert required == {"nodeSelectorTerms": [term]}


def test_a_small_part_of_a_wave_is_told_by_name() -> None:
    job = maker().all_reduce("w1-0", ["a"], 600, others={"b", "c"})
    [template] = templates(job.manifest)
    affinity = template["spec"]["affinity"]["nodeAffinity"]
    required = affinity["requiredDuringSchedulingIgnoredDuringExecution"]
    assert required == {
        "nodeSelectorTerms": [
            {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}
        ]
    }
