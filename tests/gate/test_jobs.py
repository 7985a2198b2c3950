import pytest

from components.catalog import instance_type
from scripts.errors import UsageError
from scripts.gate.jobs import JobMaker, accelerator, require_digest
from scripts.gate.keys import key_pair
from scripts.gate.objects import Manifest
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


def pod(manifest: Manifest) -> Manifest:
    return manifest["spec"]["template"]["spec"]


def test_an_all_reduce_has_one_pod_a_node_with_all_its_devices() -> None:
    job = maker().all_reduce("r0-0", ["a", "b"], 600)
    spec = job.manifest["spec"]
    assert {key: spec[key] for key in spec if key != "template"} == {
        "completionMode": "Indexed",
        "completions": 2,
        "parallelism": 2,
        "backoffLimit": 0,
        "activeDeadlineSeconds": 600,
        "ttlSecondsAfterFinished": 3600,
    }
    [container] = pod(job.manifest)["containers"]
    assert container["resources"]["requests"] == {
        "cpu": "48",
        "memory": "512Gi",
        "nvidia.com/gpu": "8",
        "vpc.amazonaws.com/efa": "32",
        "hugepages-2Mi": "5120Mi",
    }
    assert container["resources"]["limits"] == container["resources"]["requests"]
    assert container["securityContext"] == {"capabilities": {"add": ["IPC_LOCK"]}}
    assert job.hosts == ("gate-r1-r0-0-0", "gate-r1-r0-0-1")
    assert {each["name"]: each["value"] for each in container["env"]} == {
        "GATE_JOB": "gate-r1-r0-0",
        "GATE_SERVICE": "gate-r1",
        "GATE_NODES": "2",
        "GATE_GPUS": "8",
        "GATE_MIN_BYTES": "1073741824",
        "GATE_MAX_BYTES": "17179869184",
        "GATE_SSH_PORT": "2222",
        "GATE_SECONDS": "600",
        "GATE_BINARY": "/opt/nccl-tests/build/all_reduce_perf",
    }


def test_another_collective_is_another_program_of_the_image() -> None:
    [container] = pod(maker().all_reduce("w4-0", ["a", "b"], 600, "alltoall").manifest)[
        "containers"
    ]
    assert {
        "name": "GATE_BINARY",
        "value": "/opt/nccl-tests/build/alltoall_perf",
    } in container["env"]


def test_pods_go_to_the_named_nodes_only_and_past_the_taints() -> None:
    spec = pod(maker().all_reduce("r0-0", ["a", "b"], 600).manifest)
    affinity = spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    named = [term["matchFields"][0]["values"] for term in affinity["nodeSelectorTerms"]]
    assert named == [["a"], ["b"]]
    assert [toleration["key"] for toleration in spec["tolerations"]] == [
        "trainyard.dev/unproved",
        "nvidia.com/gpu",
        "node.kubernetes.io/unschedulable",
    ]
    assert "hostNetwork" not in spec
    assert spec["restartPolicy"] == "Never"
    assert spec["automountServiceAccountToken"] is False
    assert spec["volumes"][0] == {
        "name": "shm",
        "emptyDir": {"medium": "Memory", "sizeLimit": "256Gi"},
    }


def test_checks_are_labelled_and_not_disrupted() -> None:
    for job, check in (
        (maker().node_check("n0", "a", 60), "node"),
        (maker().all_reduce("r0-0", ["a"], 60), "all-reduce"),
    ):
        meta = job.manifest["spec"]["template"]["metadata"]
        assert meta["labels"] == {
            "app.kubernetes.io/name": "trainyard-gate",
            "trainyard.dev/run": "r1",
            "trainyard.dev/gate-of": "train-2",
            "trainyard.dev/check": check,
        }
        assert meta["annotations"] == {"karpenter.sh/do-not-disrupt": "true"}


def test_a_node_check_may_read_the_kernel_log_and_has_no_keys() -> None:
    spec = pod(maker().node_check("n0", "a", 60).manifest)
    assert spec["containers"][0]["securityContext"]["capabilities"]["add"] == ["SYSLOG", "IPC_LOCK"]
    assert [volume["name"] for volume in spec["volumes"]] == ["shm"]


def test_the_key_of_a_run_is_its_own_and_stands_in_a_secret_only() -> None:
    private, public = key_pair()
    service, secret = maker().shared(private, public)
    assert key_pair()[0] != private
    assert private.startswith("-----BEGIN OPENSSH PRIVATE KEY-----")
    assert public.startswith("ssh-ed25519 ")
    assert secret["stringData"]["known_hosts"] == f"* {public}"
    assert service["spec"]["clusterIP"] == "None"
    assert private not in str(maker().all_reduce("r0-0", ["a"], 60).manifest)


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
