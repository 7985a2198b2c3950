import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from scripts.errors import UsageError
from scripts.local import faults_cli
from scripts.local.target.faults import NODE_FAULTS

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRAINYARD_HOME", str(tmp_path))
    return tmp_path


def run(*arguments: str) -> str:
    result = CliRunner().invoke(faults_cli.fault, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_faults_are_set_listed_and_cleared() -> None:
    said = run("set", "link", "--pool", "h100", "--wave", "2", "--index", "5")
    assert said == "set: link on node 5 of wave 2 of pool h100\n"
    assert run("set", "dead", "--node", "ip-1") == "set: dead on node ip-1\n"
    assert run("list") == "link on node 5 of wave 2 of pool h100\ndead on node ip-1\n"
    assert run("clear", "--kind", "dead") == "cleared: dead on node ip-1\n"
    assert run("clear") == "cleared: link on node 5 of wave 2 of pool h100\n"
    assert run("list") == "no faults are set\n"


def test_faults_are_listed_as_json() -> None:
    run("set", "gpu", "--pool", "h100")
    fault = {"kind": "gpu", "node": None, "pool": "h100", "wave": None, "index": None}
    assert json.loads(run("list", "--json")) == {"nodes": [fault], "api": []}


@pytest.mark.parametrize("kind", ["api-throttle", "api-error"])
def test_a_fault_of_the_api_wants_the_simulator(kind: str) -> None:
    with pytest.raises(UsageError) as caught:
        run("set", kind)
    assert str(caught.value) == ("the AWS simulator does not run; start it with `yard local up`")


def test_an_unknown_kind_is_refused_with_those_that_there_are() -> None:
    result = CliRunner().invoke(faults_cli.fault, ["set", "fire"])
    kinds = [*NODE_FAULTS, "api-throttle", "api-error", "apiserver-restart"]
    assert result.exit_code == 2
    assert result.output.splitlines()[-1] == (
        "Error: Invalid value for 'KIND': 'fire' is not one of "
        f"{', '.join(repr(kind) for kind in kinds)}."
    )


def test_the_help_says_what_each_kind_does() -> None:
    lines = [line.strip() for line in run("set", "--help").splitlines()]
    assert "pcie               a GPU's PCIe link has half its lanes" in lines
    assert "apiserver-restart  the Kubernetes API server goes away and comes back (--seconds)" in (
        lines
    )
    assert not NODE_FAULTS.keys() - {line.split()[0] for line in lines if line}


def test_the_guide_lists_every_kind() -> None:
    guide = (ROOT / "docs" / "first-steps.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", guide, re.MULTILINE)
    assert dict(listed) == {**NODE_FAULTS, **faults_cli.OTHERS}
