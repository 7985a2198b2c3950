import re
from pathlib import Path

import pytest

from scripts.local.toolchain import catalog
from tests.local.toolchain.workshop import SOURCE, FakeWorkshop

KUBERNETES = "k8s.io/component-base/version"


def keys(source: Path) -> dict[str, str]:
    return {folder.path.name: folder.key for folder in catalog.load(source)}


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("core/go.sum", "\n", "\nexample.com/new v1.0.0 h1:0\n"),
        ("core/go.mod", "v3.6.16", "v3.6.17"),
        ("tools.yaml", "gitTreeState: clean", "gitTreeState: dirty"),
    ],
)
def test_the_key_of_a_folder_changes_with_what_its_programs_are_made_of(
    workshop: FakeWorkshop, file: str, old: str, new: str
) -> None:
    before = keys(workshop.source)
    path = workshop.source / file
    path.write_text(path.read_text().replace(old, new, 1))
    after = keys(workshop.source)
    assert {name for name in before if before[name] != after[name]} == {"core"}


@pytest.mark.parametrize("file", ["core/mpi_operator.go", "provider/main.go"])
def test_the_key_of_a_folder_changes_with_our_own_code(workshop: FakeWorkshop, file: str) -> None:
    before = keys(workshop.source)
    path = workshop.source / file
    path.write_text(path.read_text() + "// changed\n")
    after = keys(workshop.source)
    assert {name for name in before if before[name] != after[name]} == {path.parent.name}


def test_new_wording_or_times_build_nothing_anew(workshop: FakeWorkshop) -> None:
    before = keys(workshop.source)
    path = workshop.source / "tools.yaml"
    path.write_text(re.sub(r"(about:|usual_seconds:) .*", r'\1 "1"', path.read_text()))
    assert keys(workshop.source) == before


def test_versions_are_those_of_go_mod(workshop: FakeWorkshop) -> None:
    path = workshop.source / "kwok" / "go.mod"
    path.write_text(re.sub(r"(sigs.k8s.io/kwok) v\S+", r"\1 v9.8.7", path.read_text()))
    [kwok] = [folder for folder in catalog.load(workshop.source) if folder.path.name == "kwok"]
    assert kwok.version(kwok.builds[0]) == "v9.8.7"


def test_the_linker_gets_the_version_in_the_parts_that_are_read() -> None:
    core, *_ = catalog.load(SOURCE)
    kubernetes = core.builds[0]
    version = core.versions["k8s.io/kubernetes"]
    _, minor, _ = version.split(".")
    assert core.linker_flags(kubernetes) == (
        f"-s -w -X {KUBERNETES}.gitVersion={version} -X {KUBERNETES}.gitMajor=1 "
        f"-X {KUBERNETES}.gitMinor={minor} -X {KUBERNETES}.gitTreeState=clean"
    )


def test_a_module_without_a_release_number_goes_by_the_release_it_stands_for() -> None:
    provider = catalog.load(SOURCE)[-1]
    assert provider.version(provider.builds[0]) == f"v{provider.builds[0].release}"


def test_every_tool_line_of_go_mod_is_built_and_nothing_else() -> None:
    for folder in catalog.load(SOURCE):
        go_mod = (folder.path / "go.mod").read_text()
        tools = set(re.findall(r"^(?:tool |\t)(\S+/cmd/\S+|\S+/server/v3)$", go_mod, re.MULTILINE))
        packages = {package for build in folder.builds for package in build.programs.values()}
        ours = {package for package in packages if package.startswith("trainyard.dev/")}
        assert packages - ours == tools


def test_programs_that_are_built_together_are_called_as_go_calls_them() -> None:
    for folder in catalog.load(SOURCE):
        for build in folder.builds:
            if len(build.programs) > 1:
                for program, package in build.programs.items():
                    assert package.rsplit("/", 1)[-1] == program
