"""The small training: its Jobs, its judge and its flow, with the answers of the embedded target."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from components.catalog import instance_type
from scripts.errors import UnknownError, UsageError
from scripts.gate.jobs import GateJob
from scripts.gate.objects import Manifest
from scripts.gate.pods import holds_gpus
from scripts.gate.ports import JobResult
from scripts.gate.train import Attempt, TrainMaker
from scripts.gate.train_flow import train
from scripts.gate.train_judge import TrainLog, TrainVerdict, judge, read_log
from scripts.local.recordings import SimulatedNode
from scripts.local.train_answers import train_log
from scripts.verdicts import Verdict

IMAGE = f"registry.example.com/training@sha256:{'1' * 64}"
LOOK = "look at the log of the attempt, and run it again"
ATTEMPTS: tuple[Attempt, ...] = ("whole", "killed", "resumed")


def maker(kind: str = "p5.48xlarge", nodes: int = 2, queue: str | None = "gate") -> TrainMaker:
    return TrainMaker(
        run="r1",
        pool="train",
        namespace="trainyard-gate",
        image=IMAGE,
        instance=instance_type(kind),
        nodes=nodes,
        claim="shared",
        queue=queue,
    )


def pod(job: GateJob) -> Manifest:
    return job.manifest["spec"]["template"]["spec"]


def container(job: GateJob) -> Manifest:
    [found] = pod(job)["containers"]
    return found


def test_an_attempt_is_a_gang_that_ends_with_its_first_failure() -> None:
    spec = maker(nodes=4).job("whole", 600).manifest["spec"]
    assert {key: spec[key] for key in spec if key != "template"} == {
        "completionMode": "Indexed",
        "completions": 4,
        "parallelism": 4,
        "backoffLimit": 0,
        "podFailurePolicy": {
            "rules": [
                {
                    "action": "FailJob",
                    "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
                },
                {
                    "action": "FailJob",
                    "onExitCodes": {
                        "containerName": "check",
                        "operator": "NotIn",
                        "values": [0],
                    },
                },
            ]
        },
        "activeDeadlineSeconds": 600,
        "ttlSecondsAfterFinished": 3600,
    }
    assert spec["template"]["spec"]["restartPolicy"] == "Never"
    assert spec["template"]["metadata"]["annotations"] == {"karpenter.sh/do-not-disrupt": "true"}


def test_each_pod_has_all_of_a_node_that_is_open_and_tolerates_its_taint_by_itself() -> None:
    job = maker().job("whole", 600)
    assert container(job)["resources"]["requests"] == {
        "cpu": "48",
        "memory": "512Gi",
        "nvidia.com/gpu": "8",
        "vpc.amazonaws.com/efa": "32",
        "hugepages-2Mi": "5120Mi",
    }
    assert container(job)["resources"]["limits"] == container(job)["resources"]["requests"]
    assert pod(job)["nodeSelector"] == {
        "trainyard.dev/pool": "train",
        "trainyard.dev/gate": "passed",
    }
    assert pod(job)["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}
    ]
    assert pod(job)["automountServiceAccountToken"] is False


def test_a_pool_without_efa_asks_for_none() -> None:
    bare = replace(maker(), instance=replace(instance_type("p5.48xlarge"), efa_interfaces=0))
    asked = container(bare.job("whole", 600))["resources"]["requests"]
    assert set(asked) == {"cpu", "memory", "nvidia.com/gpu"}


def test_ranks_find_node_0_by_the_name_that_the_service_gives_it() -> None:
    service, job = maker().service(), maker().job("killed", 600)
    env = {each["name"]: each.get("value") for each in container(job)["env"]}
    assert env == {
        "NODE_RANK": None,
        "NODES": "2",
        "MASTER_ADDR": "train-r1-killed-0.small-train",
        "MASTER_PORT": "29500",
        "NCCL_DEBUG": "INFO",
        "NCCL_DEBUG_SUBSYS": "INIT,NET",
    }
    assert pod(job)["subdomain"] == service["metadata"]["name"] == "small-train"
    assert service["spec"]["publishNotReadyAddresses"] is True
    labels = job.manifest["spec"]["template"]["metadata"]["labels"]
    assert service["spec"]["selector"].items() <= labels.items()


def test_the_attempt_that_goes_on_is_the_one_that_was_killed_but_for_tidying_up() -> None:
    whole, killed, resumed = (container(maker().job(attempt, 600))["args"] for attempt in ATTEMPTS)
    folder = "/shared/trainyard/small-train/r1"
    assert killed == [
        "--make-data",
        *("--data", f"{folder}/data", "--checkpoints", f"{folder}/halved"),
        *("--local-ranks", "8", "--steps", "60", "--every", "20"),
        *("--timeout", "900", "--report", "-", "--die-at", "30", "--die-ranks", "8"),
    ]
    assert resumed == [*killed, "--tidy", folder]
    assert "--die-at" not in whole
    assert whole[4] == f"{folder}/whole"


def test_its_pods_are_jobs_like_any_other_to_a_gate() -> None:
    job = maker().job("whole", 600)
    template = job.manifest["spec"]["template"]
    assert holds_gpus({"metadata": template["metadata"], "spec": template["spec"], "status": {}})


@pytest.mark.parametrize(
    ("queue", "expected"),
    [
        (
            "gate",
            {"kueue.x-k8s.io/queue-name": "gate", "kueue.x-k8s.io/priority-class": "gate"},
        ),
        ("train", {"kueue.x-k8s.io/queue-name": "train"}),
        (None, {}),
    ],
)
def test_a_job_waits_in_a_queue_if_there_is_one(
    queue: str | None, expected: dict[str, str]
) -> None:
    labels = maker(queue=queue).job("whole", 600).manifest["metadata"]["labels"]
    assert {key: value for key, value in labels.items() if "kueue" in key} == expected


@pytest.mark.parametrize("nodes", [1, 5])
def test_one_node_and_more_than_four_are_refused(nodes: int) -> None:
    with pytest.raises(UsageError) as caught:
        maker(nodes=nodes)
    assert str(caught.value) == (f"a small training over {nodes} nodes is asked for; take 2 to 4")


def test_a_name_fits_a_host_name() -> None:
    long = replace(maker(nodes=4), run="20261201-123456-abcd").job("resumed", 600)
    assert len(f"{long.name}-3") <= 63


def answer(attempt: Attempt, *faults: str) -> list[str]:
    """Return what the embedded target says in an attempt."""
    nodes = [
        SimulatedNode("a", "p5.48xlarge", frozenset(faults)),
        SimulatedNode("b", "p5.48xlarge", frozenset()),
    ]
    return train_log(nodes, attempt, container(maker().job(attempt, 600))["args"]).splitlines()


def logs() -> dict[Attempt, TrainLog]:
    return {attempt: read_log(answer(attempt)) for attempt in ATTEMPTS}


def changed(attempt: Attempt, **values: object) -> dict[Attempt, TrainLog]:
    """Return good logs in which one report says something else."""
    found = logs()
    report = found[attempt].report
    assert report is not None
    return found | {attempt: replace(found[attempt], report={**report, **values})}


def test_a_training_that_went_on_from_its_checkpoint_passes() -> None:
    verdict = judge(maker(), logs(), {"killed": "the Job failed: PodFailurePolicy"})
    assert (verdict.verdict, verdict.next_step, verdict.findings) == (Verdict.PASS, "", ())
    assert verdict.message == (
        "16 ranks on 2 nodes: loss fell from 2.9951 to 0.0252; killed after step 30, it went on "
        "from step 20 and ended with a loss of 0.0252"
    )


def test_the_same_parameters_are_demanded_only_where_both_claim_them() -> None:
    exact = {"bit_exact": True}
    both = changed("whole", **exact) | {"resumed": changed("resumed", **exact)["resumed"]}
    assert judge(maker(), both, {}).message.endswith("came to the very same parameters")
    other = {"parameters": "0" * 64}
    assert judge(maker(), changed("resumed", **other), {}).verdict is Verdict.PASS
    wrong = changed("whole", **exact) | {"resumed": changed("resumed", **exact, **other)["resumed"]}
    assert said(judge(maker(), wrong, {})) == (
        "fail: resumed: its parameters differ from those of the run that was not killed, though "
        "both claim to be exact to the bit; next: look at the checkpoint: something of the state "
        "is not in it"
    )


def said(verdict: TrainVerdict) -> str:
    return f"{verdict.verdict}: {verdict.message}; next: {verdict.next_step}"


@pytest.mark.parametrize(
    ("attempt", "values", "expected"),
    [
        (
            "whole",
            {"verdict": "fail", "message": "data: shard-3.bin is not what its manifest says"},
            f"fail: whole: data: shard-3.bin is not what its manifest says; next: {LOOK}",
        ),
        (
            "whole",
            {"verdict": "unknown", "message": "the ranks never met: timed out"},
            f"unknown: whole: the ranks never met: timed out; next: {LOOK}",
        ),
        (
            "resumed",
            {"verdict": "good"},
            f"unknown: resumed: its report has the verdict 'good', which is none; next: {LOOK}",
        ),
        (
            "whole",
            {"ranks": 8},
            f"unknown: whole: it ran with 8 ranks, and 16 were asked for; next: {LOOK}",
        ),
        (
            "whole",
            {"device": "cpu", "backend": "gloo"},
            (
                "unknown: whole: it ran on cpu over gloo, so GPUs and NCCL had no part in it; "
                "next: take an image whose PyTorch is built for CUDA and for the driver of the "
                "nodes"
            ),
        ),
        (
            "whole",
            {"loss": {"first": 3.0, "last": 1.6}},
            (
                "fail: whole: its loss went from 3.0000 to 1.6000; it must fall to 0.5 of that; "
                "next: look at the image's PyTorch first: the rule it learns is fixed"
            ),
        ),
        (
            "whole",
            {"loss": {"first": 3.0, "last": float("nan")}},
            (
                "fail: whole: its loss went from 3.0000 to nan; it must fall to 0.5 of that; "
                "next: look at the image's PyTorch first: the rule it learns is fixed"
            ),
        ),
        (
            "whole",
            {"verdict": ["pass"]},
            f"unknown: whole: its report has the verdict ['pass'], which is none; next: {LOOK}",
        ),
        (
            "whole",
            {"loss": {"first": 10**400, "last": 1}},
            f"unknown: whole: its report holds no loss; next: {LOOK}",
        ),
        (
            "whole",
            {"loss": None},
            f"unknown: whole: its report holds no loss; next: {LOOK}",
        ),
        (
            "resumed",
            {"resumed_from": 0},
            (
                "fail: resumed: it went on from step 0, and the checkpoint of step 20 had been "
                "written; next: look whether the shared file system shows on one node what another "
                "has written"
            ),
        ),
    ],
)
def test_what_a_report_says_is_held_against_what_was_asked(
    attempt: Attempt, values: dict[str, Any], expected: str
) -> None:
    assert said(judge(maker(), changed(attempt, **values), {})) == expected


def test_an_attempt_that_was_not_killed_proves_no_going_on() -> None:
    found = logs() | {"killed": logs()["whole"]}
    assert said(judge(maker(), found, {})) == (
        "unknown: killed: it was not killed after step 30 as asked: pass: loss fell from 2.9951 to "
        f"0.0252 over 16 ranks; next: {LOOK}"
    )


def test_a_training_over_sockets_fails_however_well_it_learns() -> None:
    found = logs() | {"whole": read_log(answer("whole", "socket"))}
    verdict = judge(maker(), found, {})
    assert verdict.verdict is Verdict.FAIL
    assert verdict.message.startswith("whole: transport is not EFA: NCCL used ")


def test_an_image_that_keeps_nccl_silent_is_judged_by_its_reports() -> None:
    quiet = {
        attempt: read_log([line for line in answer(attempt) if "NCCL" not in line])
        for attempt in ATTEMPTS
    }
    assert judge(maker(), quiet, {}).verdict is Verdict.PASS


@pytest.mark.parametrize(
    "line",
    [
        "small_train: report: {",
        "small_train: report: []",
        "small_train: report: null",
        "small_train: killed after step x as asked",
        "small_train: report: " + "[" * 50_000,
        "small_train: killed after step " + "9" * 5_000,
        "\x00\xff",
    ],
)
def test_a_broken_line_is_no_report_and_no_death(line: str) -> None:
    log = read_log([line])
    assert (log.report, log.killed) == (None, None)


@dataclass
class Stage:
    """A cluster that answers each attempt, and notes what is asked of it."""

    answers: Mapping[str, JobResult[Any] | None] = field(default_factory=dict)
    jobs: list[str] = field(default_factory=list)
    made: list[str] = field(default_factory=list)
    cleaned: list[Mapping[str, str]] = field(default_factory=list)
    away_at: str = ""
    stopped_at: str = ""

    def create(self, manifests: Sequence[Manifest]) -> None:
        self.made += [each["kind"] for each in manifests]

    def clean(self, selector: Mapping[str, str]) -> None:
        self.cleaned.append(selector)
        if self.away_at in self.jobs:
            raise UnknownError("the Kubernetes API does not answer")

    def run(
        self,
        jobs: Sequence[GateJob],
        seconds: float,
        read: Callable[[GateJob, Iterable[str]], Any],
    ) -> dict[str, JobResult[Any]]:
        assert seconds > 0
        [job] = jobs
        attempt: Any = job.name.rpartition("-")[2]
        self.jobs.append(attempt)
        if attempt == self.away_at:
            raise UnknownError("the Kubernetes API does not answer")
        if attempt == self.stopped_at:
            raise SystemExit(3)
        if attempt in self.answers:
            return {job.name: self.answers[attempt] or JobResult(None)}
        return {job.name: JobResult(read(job, answer(attempt)))}


def run(
    stage: Stage, seconds: float = 600, step: float = 1, lost_at: str = ""
) -> tuple[TrainVerdict, list[str]]:
    def guard() -> None:
        if lost_at in stage.jobs:
            raise UnknownError("the training of pool train is held by run r2")

    lines: list[str] = []
    times = iter(range(10_000))
    verdict = train(
        maker(),
        stage,  # pyright: ignore[reportArgumentType] - the flow asks for these three calls only
        lines.append,
        seconds=seconds,
        guard=guard,
        clock=lambda: next(times) * step,
    )
    return verdict, lines


def test_the_flow_trains_kills_goes_on_and_leaves_no_job_behind() -> None:
    stage = Stage()
    verdict, lines = run(stage)
    assert verdict.verdict is Verdict.PASS
    assert stage.jobs == ["whole", "killed", "resumed"]
    assert stage.made == ["Service"]
    assert stage.cleaned == [maker().place, maker().labels]
    assert lines == [
        "training to the end on 2 nodes of pool train",
        "pass: loss fell from 2.9951 to 0.0252 over 16 ranks",
        "training until the first node is killed on 2 nodes of pool train",
        "killed after step 30 as asked",
        "going on from the checkpoint on 2 nodes of pool train",
        "pass: loss fell from 2.9951 to 0.0252 over 16 ranks",
    ]


def test_an_attempt_that_never_began_ends_the_flow_and_blames_nothing() -> None:
    stage = Stage(answers={"whole": JobResult(None, "it did not end in time: Pending")})
    verdict, _ = run(stage)
    assert stage.jobs == ["whole"]
    assert said(verdict) == (
        f"unknown: whole: there is no log: it did not end in time: Pending; next: {LOOK}"
    )


def test_a_training_that_was_not_killed_is_not_gone_on_with() -> None:
    stage = Stage(answers={"killed": JobResult(logs()["whole"])})
    verdict, _ = run(stage)
    assert stage.jobs == ["whole", "killed"]
    assert verdict.verdict is Verdict.UNKNOWN


def test_time_that_is_over_is_unknown() -> None:
    verdict, _ = run(Stage(), seconds=60, step=25)
    assert said(verdict) == f"unknown: resumed: there is no log: its 60 s are over; next: {LOOK}"


def test_an_api_that_went_away_is_unknown_and_keeps_what_was_seen() -> None:
    verdict, lines = run(Stage(away_at="killed"))
    assert (verdict.verdict, verdict.message) == (
        Verdict.UNKNOWN,
        "it could not go on: the Kubernetes API does not answer",
    )
    assert list(verdict.as_json()["attempts"]) == ["whole"]
    assert lines[-1] == (
        "its Jobs are left to end by themselves: the Kubernetes API does not answer"
    )
    json.dumps(verdict.as_json())


def test_a_training_that_is_stopped_leaves_no_job_behind_either() -> None:
    stage = Stage(stopped_at="killed")
    with pytest.raises(SystemExit):
        run(stage)
    assert stage.cleaned == [maker().place, maker().labels]


def test_a_training_whose_pool_is_anothers_by_now_starts_nothing_more() -> None:
    stage = Stage()
    verdict, _ = run(stage, lost_at="whole")
    assert (verdict.verdict, verdict.message) == (
        Verdict.UNKNOWN,
        "it could not go on: the training of pool train is held by run r2",
    )
    assert stage.jobs == ["whole"]
    assert stage.cleaned[-1] == maker().labels, "it removes what is its own"
