import json

import pytest
from click.testing import CliRunner

from scripts.local import toolchain as package
from scripts.local.toolchain import Event, Report, Tools
from scripts.local.toolchain.cli import toolchain
from tests.local.toolchain.workshop import FakeWorkshop


def ignore(_event: Event) -> None:
    pass


@pytest.fixture
def tools(workshop: FakeWorkshop, monkeypatch: pytest.MonkeyPatch) -> Tools:
    workshop.go()
    made = package.ensure(ignore, places=workshop.places())

    def ensure(_report: Report | None = None) -> Tools:
        return made

    monkeypatch.setattr(package, "ensure", ensure)
    return made


@pytest.mark.usefixtures("tools")
def test_the_list_says_of_each_program_what_it_is_and_where_it_is_from() -> None:
    result = CliRunner().invoke(toolchain)
    assert result.exit_code == 0
    lines = result.output.splitlines()
    assert len(lines) == 12
    assert lines[0].split(maxsplit=3) == [
        "etcd",
        "v3.6.16",
        "built",
        "the store behind the API server",
    ]
    assert "stand-in  the AWS provider plugin" in result.output


def test_json_adds_the_paths(tools: Tools) -> None:
    result = CliRunner().invoke(toolchain, ["--json"])
    assert json.loads(result.output)[0] == {
        "name": "etcd",
        "version": "v3.6.16",
        "origin": "built",
        "about": "the store behind the API server",
        "path": str(tools.path("etcd")),
    }
