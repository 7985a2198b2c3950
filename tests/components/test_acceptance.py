import shlex
from pathlib import Path

import pytest

from components.acceptance import judges
from components.settings import parse
from components.site import Site
from components.site_config import SiteConfig
from tests.support.engine import Engine, run
from tests.support.stacks import build, raw


@pytest.fixture(scope="module")
def site() -> Engine:
    return run(lambda: build("local") and None)


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
    assert command.endswith(" --floor 12.5 --no-efa")
