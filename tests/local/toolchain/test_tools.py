import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from scripts.local import toolchain
from scripts.local.toolchain import Event, Tools, machine, shims
from tests.local.toolchain.workshop import FakeWorkshop


def ignore(_event: Event) -> None:
    pass


def folder_of(name: str) -> str:
    return f"resource-{name}-v{machine.sdk_version(f'pulumi-{name}')}"


@pytest.fixture
def tools(workshop: FakeWorkshop) -> Tools:
    workshop.go()
    return toolchain.ensure(ignore, places=workshop.places())


def test_pulumi_stands_beside_its_language_plugin(tools: Tools) -> None:
    assert sorted(file.name for file in tools.shims.iterdir()) == [
        "plugins",
        "pulumi",
        "pulumi-language-python",
        "pulumi-language-python-exec",
    ]
    assert tools.path("pulumi") == tools.shims / "pulumi"
    assert not tools.path("pulumi").is_symlink()


def test_a_stand_in_starts_its_module_from_any_folder(
    workshop: FakeWorkshop, tmp_path: Path
) -> None:
    repository = tmp_path / "it's a checkout"
    package = repository / "scripts"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "echo.py").write_text("import sys; print(sys.argv[1:])")
    elsewhere = tmp_path / "elsewhere" / "scripts"
    elsewhere.mkdir(parents=True)
    (elsewhere / "__init__.py").touch()
    (elsewhere / "echo.py").write_text("print('the wrong one')")
    places = replace(workshop.places(), repository=repository)
    made = shims.write(places, shims.Shims({Path("echo"): "scripts.echo"}, {}))
    answer = subprocess.run(
        [made / "echo", "a b", "--port"],
        cwd=elsewhere.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert answer.stdout == "['a b', '--port']\n"


def test_another_checkout_or_python_gets_shims_of_its_own(
    workshop: FakeWorkshop, tools: Tools
) -> None:
    elsewhere = replace(workshop.places(), repository=workshop.home)
    other_python = replace(workshop.places(), python="/usr/bin/another")
    folders = {
        toolchain.ensure(ignore, places=places).shims for places in (elsewhere, other_python)
    }
    assert len(folders | {tools.shims}) == 3


def test_the_environment_makes_pulumi_use_these_tools_without_warnings(
    workshop: FakeWorkshop, tools: Tools
) -> None:
    home = workshop.home / "pulumi"
    assert tools.environment(home, "/usr/bin") == {
        "PATH": f"{tools.shims}:/usr/bin",
        "PULUMI_DEV": "true",
        "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
        "PULUMI_HOME": str(home),
        "PULUMI_SKIP_UPDATE_CHECK": "true",
        "PULUMI_SUPPRESS_NEO_LINK": "true",
    }
    for name in machine.PLUGINS:
        folder = home / "plugins" / folder_of(name)
        program = f"pulumi-resource-{name}"
        assert folder.is_dir()
        assert not folder.is_symlink()
        assert (folder / program).resolve() == tools.path(program)


def test_links_to_plugins_follow_the_tools(workshop: FakeWorkshop, tools: Tools) -> None:
    home = workshop.home / "pulumi"
    link = home / "plugins" / folder_of("aws") / "pulumi-resource-aws"
    link.parent.mkdir(parents=True)
    link.symlink_to("/gone")
    tools.environment(home, "")
    tools.environment(home, "")
    assert link.resolve() == tools.path("pulumi-resource-aws")


def test_a_plugin_on_path_needs_no_link(workshop: FakeWorkshop) -> None:
    workshop.go()
    workshop.program("pulumi-resource-kubernetes", "")
    tools = toolchain.ensure(ignore, places=workshop.places())
    assert sorted(tools.plugins) == [folder_of("aws"), folder_of("command")]
    assert "PULUMI_DEV" not in tools.environment(workshop.home / "pulumi", "")


def test_the_running_python_and_repository_are_the_default() -> None:
    places = toolchain.Places.of_this_machine()
    assert places.python == sys.executable
    assert (places.repository / "scripts" / "local" / "toolchain").is_dir()
