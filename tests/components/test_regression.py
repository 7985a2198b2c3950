"""Tests of open nodes on a schedule: what they may do, when they run, and what they leave alone."""

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from components.settings import SettingsError, parse
from components.site import Site
from components.site_config import SiteConfig
from scripts.gate.api import KINDS
from tests.policies.support import analyze, messages
from tests.support.engine import Engine, run
from tests.support.stacks import declared, raw

IMAGE = f"registry.example.com/yard@sha256:{'3' * 64}"
REGRESSION = {"schedule": "0 3 * * 6", "image": IMAGE}


def config(stack: str, **regression: Any) -> SiteConfig:  # noqa: ANN401 - settings of any kind
    settings = raw(stack) | {"acceptance": {"regression": REGRESSION | regression}}
    return parse(SiteConfig, settings, "file.yaml")


def made(stack: str = "local", **regression: Any) -> Engine:  # noqa: ANN401 - see above
    return run(lambda: Site(config(stack, **regression), stack=stack) and None, stack=stack)


@pytest.fixture(scope="module")
def site() -> Engine:
    return made()


def pod(engine: Engine) -> dict[str, Any]:
    return engine.only("CronJob")["spec"]["jobTemplate"]["spec"]["template"]["spec"]


def test_there_is_none_of_it_where_nobody_asked_for_it() -> None:
    engine = declared("dev")
    assert engine.all("CronJob") == engine.all("PriorityClass") == []
    assert [r["name"] for r in engine.all("Role") if "regression" in str(r.get("name"))] == []


def test_one_test_a_pool_runs_at_a_time_and_a_late_one_is_left_out(site: Engine) -> None:
    cron = site.only("CronJob")
    spec = cron["spec"]
    assert cron["metadata"]["name"] == "regression-train"
    assert {key: spec[key] for key in spec if key != "jobTemplate"} == {
        "schedule": "0 3 * * 6",
        "timeZone": "Etc/UTC",
        "concurrencyPolicy": "Forbid",
        "startingDeadlineSeconds": 600,
        "successfulJobsHistoryLimit": 3,
        "failedJobsHistoryLimit": 3,
    }
    job = spec["jobTemplate"]["spec"]
    assert (job["backoffLimit"], job["activeDeadlineSeconds"]) == (2, 2 * 3600 + 600)


def test_only_a_test_that_could_not_be_judged_is_tried_again(site: Engine) -> None:
    job = site.only("CronJob")["spec"]["jobTemplate"]["spec"]
    codes = {"containerName": "yard", "operator": "NotIn", "values": [3]}
    assert job["podFailurePolicy"] == {"rules": [{"action": "FailJob", "onExitCodes": codes}]}
    assert job["template"]["spec"]["restartPolicy"] == "Never"


def test_more_nodes_and_more_waves_make_no_more_of_it() -> None:
    assert len(made("prod").all("CronJob")) == len(raw("prod")["pools"])


def test_only_the_pools_that_are_named_are_tested() -> None:
    assert made("dev", pools=[raw("dev")["pools"][0]["name"]]).only("CronJob")


def test_a_schedule_that_is_none_is_refused_with_a_way_out() -> None:
    with pytest.raises(SettingsError) as caught:
        config("local", schedule="0 25 * * *")
    assert [str(problem) for problem in caught.value.problems] == [
        (
            "acceptance.regression.schedule: has '25' as hour; use 0 to 23, or *; write it like "
            "0 3 * * 6 (Saturdays at 03:00)"
        )
    ]


def test_it_waits_for_the_gates_that_opened_the_nodes(site: Engine) -> None:
    waits = site.dependencies[site.urn("acceptance-regression-train", "CronJob")]
    for wave in ("1", "2"):
        assert site.urn(f"acceptance-train-{wave}", "Command") in waits
    assert site.urn("acceptance-regression", "RoleBinding") in waits


def test_it_pushes_nobody_out_and_comes_after_everything(site: Engine) -> None:
    priority = site.only("PriorityClass")
    assert (priority["value"], priority["preemptionPolicy"]) == (-100_000, "Never")
    assert priority["globalDefault"] is False
    assert pod(site)["priorityClassName"] == priority["metadata"]["name"]


def test_its_pod_is_restricted_and_the_only_one_with_the_token(site: Engine) -> None:
    spec = pod(site)
    [container] = spec["containers"]
    assert spec["automountServiceAccountToken"] is True
    account = site.named("acceptance-regression", "ServiceAccount")
    assert account["automountServiceAccountToken"] is False
    assert spec["serviceAccountName"] == account["metadata"]["name"]
    assert spec["securityContext"] == {
        "runAsNonRoot": True,
        "runAsUser": 65532,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert container["resources"]["limits"] == {"memory": "2Gi"}
    assert container["image"] == IMAGE
    # boto3 reads this name of the variable only.
    assert {"name": "AWS_DEFAULT_REGION", "value": "us-east-1"} in container["env"]


def rules(engine: Engine, kind: str) -> dict[str, list[str]]:
    return {
        resource: rule["verbs"]
        for each in (engine.named("acceptance-regression", kind),)
        for rule in each["rules"]
        for resource in rule["resources"]
    }


@pytest.fixture(scope="module")
def cluster_rights(site: Engine) -> dict[str, list[str]]:
    return rules(site, "ClusterRole")


def of_namespace(engine: Engine) -> dict[str, list[str]]:
    [role] = [
        each
        for each in engine.all("Role")
        if each.get("metadata", {}).get("name") == "trainyard-regression"
    ]
    return {name: rule["verbs"] for rule in role["rules"] for name in rule["resources"]}


def test_it_marks_nodes_and_sees_pods_but_nothing_else_of_the_cluster(
    cluster_rights: dict[str, list[str]],
) -> None:
    assert cluster_rights == {"nodes": ["get", "list", "patch"], "pods": ["list"]}


def test_it_may_do_in_its_namespace_what_a_gate_calls_and_no_more(
    site: Engine, cluster_rights: dict[str, list[str]]
) -> None:
    granted = of_namespace(site)
    run = ["create", "deletecollection", "list"]
    assert granted == {
        "jobs": run,
        "mpijobs": run,
        "configmaps": ["create", "delete", "list", "patch"],
        "workloads": ["list"],
        "pods": ["list"],
        "pods/log": ["get"],
    }
    # Services are made by small trainings, which the schedule does not run.
    assert {f"{kind.lower()}s" for kind in KINDS} - {"services"} <= {*cluster_rights, *granted}


def test_the_schedule_does_not_take_the_file_system_from_the_jobs_that_run(site: Engine) -> None:
    assert "--storage" not in pod(site)["containers"][0]["command"][2]


def test_the_longest_diagnostics_are_given_time_on_the_schedule_too() -> None:
    acceptance = {
        "dcgm": {"image": IMAGE, "level": 4},
        "timeout_seconds": 10800,
        "regression": REGRESSION,
    }
    with pytest.raises(SettingsError) as caught:
        parse(SiteConfig, raw("local") | {"acceptance": acceptance}, "file.yaml")
    assert [str(problem) for problem in caught.value.problems] == [
        (
            "acceptance.regression.timeout_seconds: is 3600, too short for level 4 of DCGM's "
            "diagnostics; use 10800 or more, or a lower level"
        )
    ]


def test_the_policy_pack_has_nothing_to_say_of_it(site: Engine) -> None:
    provider = {"defaultTags": json.dumps({"tags": config("local").names("local").tags})}
    said = {
        f"{each.typ} {each.name}": messages(violations)
        for each in site.declared
        if each.name.startswith("acceptance-regression") and not each.typ.startswith("trainyard:")
        if (violations := analyze(each.typ, each.inputs, provider=provider))
    }
    assert said == {}


def test_in_aws_it_keeps_baselines_and_nothing_else(site: Engine) -> None:
    policy = json.loads(site.named("acceptance-regression", "RolePolicy")["policy"])
    bucket = "arn:aws:s3:::trainyard-local-baselines-000000000000"
    assert [(s["Action"], s["Resource"]) for s in policy["Statement"]] == [
        (["s3:ListBucket"], [bucket]),
        (["s3:GetObject", "s3:PutObject"], [f"{bucket}/*"]),
    ]
    association = site.named("acceptance-regression", "PodIdentityAssociation")
    assert (association["namespace"], association["serviceAccount"]) == (
        "trainyard-gate",
        "trainyard-regression",
    )


def test_its_namespace_lets_it_ask_for_credentials(site: Engine) -> None:
    policy = site.named("acceptance-regression", "NetworkPolicy")["spec"]
    assert policy["egress"] == [
        {
            "to": [{"ipBlock": {"cidr": "169.254.170.23/32"}}],
            "ports": [{"protocol": "TCP", "port": 80}],
        }
    ]
    template = site.only("CronJob")["spec"]["jobTemplate"]["spec"]["template"]
    wanted = policy["podSelector"]["matchLabels"].items()
    assert wanted <= template["metadata"]["labels"].items()


@pytest.mark.parametrize(
    ("codes", "expected"),
    [((0, 0), 0), ((1, 0), 1), ((0, 3), 3), ((1, 3), 1), ((3, 1), 1), ((2, 0), 2)],
)
def test_every_wave_is_tested_and_the_worst_of_them_is_told(
    site: Engine, tmp_path: Path, codes: tuple[int, int], expected: int
) -> None:
    script = pod(site)["containers"][0]["command"][2]
    yard = tmp_path / "yard"
    answers = " ".join(f"{wave}) exit {code};;" for wave, code in enumerate(codes, start=1))
    yard.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/said\ncase $6 in {answers} esac\n')
    yard.chmod(0o755)
    shell = shutil.which("sh")
    assert shell is not None
    done = subprocess.run(
        [shell, "-c", script], check=False, env={"PATH": f"{tmp_path}:{os.environ['PATH']}"}
    )
    assert done.returncode == expected
    said = (tmp_path / "said").read_text().splitlines()
    assert len(said) == 2
    for wave, line in enumerate(said, start=1):
        assert f"--wave {wave} " in line
        assert line.endswith(
            "--timeout 3600 --kubeconfig in-cluster --report-dir /scratch/reports --regression"
        )
        assert "--replace" not in line


@pytest.fixture
def begin(site: Engine, tmp_path: Path) -> Callable[[str], subprocess.Popen[bytes]]:
    """Run the pod's script over a ``yard`` that does what is given, and ends when it is stopped."""

    def begin(does: str) -> subprocess.Popen[bytes]:
        yard = tmp_path / "yard"
        yard.write_text(
            f"#!/bin/sh\ntrap 'echo reported >> {tmp_path}/said; kill $!; exit 3' TERM\n"
            f"{does}\necho began >> {tmp_path}/said\nsleep 60 & wait $!\n"
        )
        yard.chmod(0o755)
        shell = shutil.which("sh")
        assert shell is not None
        script = pod(site)["containers"][0]["command"][2]
        environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
        return subprocess.Popen([shell, "-c", script], env=environment)

    return begin


def test_who_stops_the_pod_stops_the_gate_and_no_other_wave_is_begun(
    begin: Callable[[str], subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    said = tmp_path / "said"
    with begin("") as running:
        end = time.monotonic() + 10
        while not said.exists() and time.monotonic() < end:
            time.sleep(0.01)
        running.terminate()
        assert running.wait(timeout=10) == 3
    assert said.read_text().splitlines() == ["began", "reported"]


def test_who_stops_the_pod_just_as_a_gate_begins_stops_it_too(
    begin: Callable[[str], subprocess.Popen[bytes]],
) -> None:
    with begin("kill -TERM $PPID") as running:
        assert running.wait(timeout=10) == 3
