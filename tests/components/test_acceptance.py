import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from components.acceptance import JUDGES, judges
from components.settings import SettingsError, parse
from components.site import Site
from components.site_config import SiteConfig
from scripts.gate.cli import gate as gate_commands
from scripts.gate.train_cli import train
from tests.support.engine import Engine, run
from tests.support.imports import closure
from tests.support.stacks import ROOT, STACKS, declared, raw

IMAGE = f"registry.example.com/training@sha256:{'2' * 64}"


@pytest.fixture(scope="module")
def site() -> Engine:
    return declared("local")


def test_a_gate_is_told_its_wave_and_gets_the_kubeconfig_unseen(site: Engine) -> None:
    gate = site.named("acceptance-train-2", "Command")
    words = shlex.split(gate["create"])
    assert words[:3] == ["yard", "gate", "run"]
    options = dict(zip(words[3::2], words[4::2], strict=True))
    assert options["--pool"] == "train"
    assert options["--wave"] == "2"
    assert options["--nodes"] == "14"
    assert options["--type"] == "p5.48xlarge"
    assert "@sha256:" in options["--image"]
    assert options["--kubeconfig"] == "-"
    assert '"kind": "Config"' in gate["stdin"]
    assert gate["logging"] == "stderr"


def test_a_gate_runs_after_its_nodes_and_their_devices(site: Engine) -> None:
    waits = site.dependencies[site.urn("acceptance-train-1", "Command")]
    assert site.urn("pool-train-1", "NodeGroup") in waits
    assert site.urn("devices-nvidia-device-plugin", "DaemonSet") in waits
    assert site.urn("devices-aws-efa-k8s-device-plugin", "DaemonSet") in waits


def test_a_gate_runs_again_when_what_it_judges_or_what_judges_it_changes(site: Engine) -> None:
    triggers = site.named("acceptance-train-1", "Command")["triggers"]
    assert triggers[0] == judges()
    assert triggers[1:3] == ["pool-train-1-id", "1.35.6-20260818"]


def test_judges_change_with_their_code_and_not_with_other_files(tmp_path: Path) -> None:
    folder = tmp_path / "scripts" / "gate"
    folder.mkdir(parents=True)
    judge = judges.__wrapped__
    before = judge(tmp_path)
    (folder / "notes.md").write_text("a note")
    assert judge(tmp_path) == before
    (folder / "judge.py").write_text("limit = 1")
    assert judge(tmp_path) != before


def test_a_gate_of_a_pool_without_efa_demands_no_fabric_and_is_given_a_floor() -> None:
    settings = raw("local")
    settings["pools"][0] |= {"efa": False, "floor_gbps": 12.5}
    config = parse(SiteConfig, settings, "file.yaml")
    engine = run(lambda: Site(config, stack="local") and None)
    command = engine.named("acceptance-train-1", "Command")["create"]
    assert " --floor 12.5 " in command
    assert command.endswith(" --no-efa")


def made(stack: str = "local", **acceptance: Any) -> Engine:  # noqa: ANN401 - settings of any kind
    """Run the program of a stack with settings of the acceptance layer."""
    return run(lambda: Site(settled(stack, **acceptance), stack=stack) and None, stack=stack)


def settled(stack: str = "local", **acceptance: Any) -> SiteConfig:  # noqa: ANN401 - see above
    return parse(SiteConfig, raw(stack) | {"acceptance": acceptance}, "file.yaml")


def options_of(command: str) -> dict[str, str]:
    words = shlex.split(command)[3:]
    return dict(zip(words[::2], words[1::2], strict=True))


@pytest.mark.parametrize("stack", STACKS)
def test_yard_takes_the_commands_that_the_program_writes(stack: str) -> None:
    engine = made(
        stack,
        dcgm={"image": IMAGE},
        training={"image": IMAGE},
        regression={"image": IMAGE, "schedule": "0 3 * * 6"},
    )
    written = [
        shlex.split(each["create"])
        for each in engine.all("Command")
        if each["create"].startswith("yard gate ")
    ]
    for cron in engine.all("CronJob"):
        [container] = cron["spec"]["jobTemplate"]["spec"]["template"]["spec"]["containers"]
        [*lines] = re.findall(r"^run (yard .*)$", container["command"][2], re.MULTILINE)
        written += map(shlex.split, lines)
    assert {tuple(words[:3]) for words in written} == {
        ("yard", "gate", "run"),
        ("yard", "gate", "train"),
    }
    for _, _, name, *words in written:
        command = train if name == "train" else gate_commands.commands[name]
        # A parse that fails raises; nothing is run.
        assert command.make_context(name, words).params["pool"]


def test_a_gate_checks_the_storage_that_is_sold_and_keeps_baselines(site: Engine) -> None:
    options = options_of(site.named("acceptance-train-1", "Command")["create"])
    assert options["--storage-claim"] == "shared"
    assert options["--storage-mbps"] == "1171.9"
    assert options["--bucket"] == "s3://trainyard-local-baselines-000000000000"
    assert options["--replace"] == "1"
    waits = site.dependencies[site.urn("acceptance-train-1", "Command")]
    assert site.urn("storage-trainyard-gate", "PersistentVolumeClaim") in waits
    assert site.urn("acceptance-baselines", "BucketServerSideEncryptionConfiguration") in waits


def test_a_gate_waits_for_its_queue_and_its_priorities(site: Engine) -> None:
    waits = site.dependencies[site.urn("acceptance-train-1", "Command")]
    assert site.urn("scheduler-gate-entrance", "LocalQueue") in waits
    assert site.urn("scheduler-gate", "ClusterQueue") in waits
    assert site.urn("scheduler-gate-regression-priority", "WorkloadPriorityClass") in waits
    entrance = site.named("scheduler-gate-entrance", "LocalQueue")
    assert entrance["metadata"] == {"name": "gate", "namespace": "trainyard-gate"}


def test_baselines_never_expire_and_are_kept_in_production_with_their_site() -> None:
    for stack, goes in (("local", True), ("prod", None)):
        engine = declared(stack)
        rules = engine.named("acceptance-baselines", "BucketLifecycleConfiguration")["rules"]
        assert [rule["id"] for rule in rules] == ["upkeep"]
        assert "expiration" not in rules[0]
        assert engine.named("acceptance-baselines", "Bucket").get("forceDestroy") is goes
        urn = engine.urn("acceptance-baselines", "Bucket")
        assert engine.protected[urn] is (stack == "prod")


def test_dcgm_is_run_where_an_image_is_named_and_said_to_be_off_elsewhere(
    caplog: pytest.LogCaptureFixture,
) -> None:
    command = made(dcgm={"image": IMAGE}).named("acceptance-train-1", "Command")["create"]
    options = options_of(command)
    assert (options["--dcgm"], options["--dcgm-image"]) == ("2", IMAGE)
    assert "acceptance.dcgm" not in caplog.text
    assert "--dcgm" not in made().named("acceptance-train-1", "Command")["create"]
    assert (
        "acceptance.dcgm: off, so nodes open without DCGM's diagnostics; name an image with dcgmi "
        "by digest to run them"
    ) in caplog.text


@pytest.mark.parametrize(("level", "least"), [(3, 7200), (4, 10800)])
def test_long_diagnostics_are_given_time(level: int, least: int) -> None:
    with pytest.raises(SettingsError) as caught:
        settled(dcgm={"image": IMAGE, "level": level})
    assert [str(problem) for problem in caught.value.problems] == [
        (
            f"acceptance.timeout_seconds: is 3600, too short for level {level} of DCGM's "
            f"diagnostics; use {least} or more, or a lower level"
        )
    ]


def test_pools_of_tests_are_pools() -> None:
    with pytest.raises(SettingsError) as caught:
        settled(
            training={"image": IMAGE, "pools": ["trian"]},
            regression={"image": IMAGE, "schedule": "0 3 * * 6", "pools": ["train", "h100"]},
        )
    assert [str(problem) for problem in caught.value.problems] == [
        "acceptance.regression.pools.1: is h100, which is no pool; use train",
        "acceptance.training.pools.0: is trian, which is no pool; use train",
    ]


def test_a_training_runs_when_every_wave_is_open() -> None:
    engine = made(training={"image": IMAGE})
    command = engine.named("acceptance-train-training", "Command")
    assert options_of(command["create"]) == {
        "--pool": "train",
        "--nodes": "2",
        "--type": "p5.48xlarge",
        "--image": IMAGE,
        "--claim": "shared",
        "--kubeconfig": "-",
        "--namespace": "trainyard-gate",
        "--report-dir": "reports",
        "--timeout": "3600",
    }
    assert command["logging"] == "stderr"
    waits = engine.dependencies[engine.urn("acceptance-train-training", "Command")]
    for wave in ("1", "2"):
        assert engine.urn(f"acceptance-train-{wave}", "Command") in waits


@pytest.mark.parametrize(
    ("acceptance", "waves", "expected"),
    [
        ({}, [2, 14], "not run: acceptance.training names no image"),
        (
            {"training": {"image": IMAGE, "nodes": 4}},
            [2, 1],
            "not run: it takes 4 nodes, and the pool has 3",
        ),
    ],
)
def test_a_training_that_is_not_run_is_said_not_to_be(
    acceptance: dict[str, Any], waves: list[int], expected: str
) -> None:
    settings = raw("local") | {"acceptance": acceptance}
    settings["pools"][0]["waves"] = waves
    settings["tenants"], settings["vault"]["secrets"] = [], []
    settings.pop("inference")
    sites: list[Site] = []
    config = parse(SiteConfig, settings, "file.yaml")
    run(lambda: sites.append(Site(config, stack="local")))
    assert sites[0].outputs["trainings"] == {"train": expected}


def judged(file: Path) -> bool:
    """Tell whether a change of a file has every wave judged again."""
    name = str(file.relative_to(ROOT))
    return any(name == judge or name.startswith(f"{judge}/") for judge in JUDGES)


def test_everything_that_a_gate_imports_is_among_its_judges_but_what_draws() -> None:
    strange = {str(file.relative_to(ROOT)) for file in closure() if not judged(file)}
    assert {name for name in strange if not name.startswith("scripts/pictures/")} == set()


def test_every_table_that_a_gate_reads_is_among_its_judges() -> None:
    of_what_is_made = {"fsx.yaml", "images.yaml", "kueue.yaml", "versions.yaml"}
    named = {
        file.parent / name
        for file in closure()
        for name in re.findall(r'"([\w-]+\.yaml)"', file.read_text())
        if name not in of_what_is_made
    }
    tables = {file for file in named if file.is_file()}
    assert {str(file.relative_to(ROOT)) for file in tables if not judged(file)} == set()
    assert len(tables) > 5


@pytest.mark.parametrize("place", JUDGES)
def test_a_change_of_any_judge_changes_the_fingerprint(place: str, tmp_path: Path) -> None:
    assert (ROOT / place).exists()
    file = tmp_path / place
    if not file.suffix:
        file /= "rule.yaml"
    file.parent.mkdir(parents=True)
    file.write_text("limit: 1")
    before = judges.__wrapped__(tmp_path)
    file.write_text("limit: 2")
    assert judges.__wrapped__(tmp_path) != before
