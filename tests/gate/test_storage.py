"""The stage that measures the shared file system from every node."""

from components.catalog import instance_type
from scripts.gate.jobs import JobMaker
from scripts.gate.storage import storage_stage
from scripts.local.recordings import SimulatedNode
from scripts.local.storage_answers import storage_check_log
from scripts.verdicts import Verdict

P5 = instance_type("p5.48xlarge")
IMAGE = "registry.example/nccl-tests@sha256:" + "0" * 64
MAKER = JobMaker(run="0042", pool="train", wave="w1", namespace="gate", image=IMAGE, instance=P5)


def test_the_job_mounts_the_claim_and_is_told_how_much_to_move() -> None:
    stage, expected = storage_stage(P5, 4, 2400, claim="scratch")
    made = stage.make(MAKER, "t1", "node-1", stage.seconds)
    pod = made.manifest["spec"]["template"]["spec"]
    assert pod["volumes"][-1] == {
        "name": "storage",
        "persistentVolumeClaim": {"claimName": "scratch"},
    }
    assert pod["containers"][0]["volumeMounts"][-1] == {
        "name": "storage",
        "mountPath": "/gate-storage",
    }
    assert made.manifest["metadata"]["labels"]["trainyard.dev/check"] == "storage"
    assert {each["name"]: each["value"] for each in pod["containers"][0]["env"]} == {
        "GATE_STORAGE": "/gate-storage",
        "GATE_TYPE": "lustre",
        "GATE_RUN": "0042-t",
        "GATE_NODE": "node-1",
        "GATE_BYTES": str(expected.bytes_each),
        "GATE_STREAMS": "8",
        "GATE_CHUNK": "8388608",
        "GATE_FILES": "500",
        "GATE_CLIENTS": "4",
        "GATE_WAIT": "60",
        "GATE_LIMIT": "300",
    }


def test_a_second_try_meets_in_a_folder_of_its_own() -> None:
    stage, _ = storage_stage(P5, 4, 2400)
    first, second = (
        stage.make(MAKER, f"{letter}0", "node-1", 900).manifest["spec"]["template"]["spec"]
        for letter in stage.letters
    )
    runs = [
        each["value"]
        for pod in (first, second)
        for each in pod["containers"][0]["env"]
        if each["name"] == "GATE_RUN"
    ]
    assert runs == ["0042-t", "0042-u"]


def test_those_who_run_it_again_move_as_much_and_wait_for_each_other_only() -> None:
    (first, _), (stage, _) = storage_stage(P5, 8, 2400), storage_stage(P5, 8, 2400, again=2)
    told = [
        {
            each["name"]: each["value"]
            for each in run.make(MAKER, "x0", "node-1", 900).manifest["spec"]["template"]["spec"][
                "containers"
            ][0]["env"]
        }
        for run in (first, stage)
    ]
    assert told[1] == {**told[0], "GATE_CLIENTS": "2"}


def test_the_limit_of_the_job_covers_both_directions_and_the_waits() -> None:
    stage, _ = storage_stage(P5, 4, 2400)
    assert (stage.name, stage.seconds) == ("storage", 900)


def test_its_log_is_judged() -> None:
    stage, _ = storage_stage(P5, 4, 2400)
    made = stage.make(MAKER, "t0", "node-1", 900)
    [container] = made.manifest["spec"]["template"]["spec"]["containers"]
    env = {each["name"]: each["value"] for each in container["env"]}
    node = SimulatedNode("node-1", "p5.48xlarge", frozenset())
    log = storage_check_log(node, env).splitlines()
    assert stage.read(made, log).verdict is Verdict.PASS
    assert stage.read(made, log[:-1]).verdict is Verdict.UNKNOWN
