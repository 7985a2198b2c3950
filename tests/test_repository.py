"""The repository's tests of itself: what a reader would stumble over."""

import ast
import re
import subprocess
from functools import cache
from pathlib import Path

import click
import pytest

from scripts.cli import COMMANDS, yard

ROOT = Path(__file__).resolve().parents[1]

LONGEST_FILE = 500

LAYERS = {
    "acceptance",
    "access",
    "audit",
    "compute",
    "control_plane",
    "cost",
    "devices",
    "firewall",
    "inference",
    "monitoring",
    "network",
    "registry",
    "scheduler",
    "storage",
    "vault",
}

MACHINE = re.compile(
    r"/work/|/root/|/home/[a-z]+/|pypi\.org|pythonhosted|proxy\.golang|sum\.golang|npmjs|debian\.org"
)

SILENCERS = re.compile(r"#\s*(?:noqa|type:\s*ignore|pyright:\s*ignore)")
REASONED = re.compile(
    r"#\s*(?:noqa: [A-Z0-9, ]+|(?:pyright|type):\s*ignore\[[\w-]+(?:, ?\w+)*\]) *(?:#|-) *\w+"
)


def tracked(*patterns: str) -> list[Path]:
    """List the files that git tracks or would track."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "--", *patterns],  # noqa: S607 - git is found on PATH
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return [ROOT / line for line in listed.splitlines() if (ROOT / line).is_file()]


@cache
def imports(file: Path) -> frozenset[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return frozenset(found)


def named(file: Path) -> str:
    return str(file.relative_to(ROOT))


def test_no_source_file_is_longer_than_a_reader_can_hold() -> None:
    long = {
        named(file): count
        for file in tracked("*.py", "*.go", "*.sh")
        if (count := len(file.read_text().splitlines())) > LONGEST_FILE
    }
    assert long == {}


def test_no_file_names_a_machine_or_a_registry() -> None:
    own = Path(__file__).name
    found = [
        f"{named(file)}:{number}"
        for file in tracked(":!*.lock", ":!*go.sum", ":!LICENSE")
        if file.name != own and file.suffix not in {".png", ".json"}
        for number, line in enumerate(file.read_text().splitlines(), start=1)
        if MACHINE.search(line)
    ]
    assert found == []


def test_every_silenced_check_says_why() -> None:
    own = Path(__file__).name
    found = [
        f"{named(file)}:{number}: {line.strip()}"
        for file in tracked("*.py")
        if file.name != own
        for number, line in enumerate(file.read_text().splitlines(), start=1)
        if SILENCERS.search(line) and not REASONED.search(line)
    ]
    assert found == []


def test_every_file_of_tests_is_collected() -> None:
    helpers = {"__init__.py", "conftest.py"}
    stray = [
        named(file)
        for file in tracked("tests/**/*.py")
        if file.name not in helpers
        and not file.name.startswith("test_")
        and re.search(r"^def test_", file.read_text(), re.MULTILINE)
    ]
    assert stray == []


def test_only_the_site_imports_a_layer() -> None:
    wrong = [
        f"{named(file)} imports {name}"
        for file in tracked("components/*.py")
        if file.stem not in {"site", "site_config"}
        for name in imports(file)
        if name.startswith("components.") and name.split(".")[1] in LAYERS
    ]
    assert wrong == []


def test_imports_point_one_way() -> None:
    allowed_of_scripts = (
        "components.address_plan",
        "components.addressing",
        "components.catalog",
        "components.layout",
        "components.settings",
        "components.site",
    )
    wrong = [
        f"{named(file)} imports {name}"
        for file in tracked("components/**/*.py", "policies/**/*.py")
        for name in imports(file)
        if name.split(".")[0] == "scripts"
        or ("policies" in file.parts and name.split(".")[0] == "components")
    ]
    wrong += [
        f"{named(file)} imports {name}"
        for file in tracked("scripts/**/*.py")
        for name in imports(file)
        if name.startswith("components.") and not name.startswith(allowed_of_scripts)
    ]
    assert wrong == []


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_of_yard_loads_and_helps(name: str) -> None:
    with click.Context(yard) as context:
        command = yard.get_command(context, name)
    assert command is not None
    assert command.help


def test_every_known_fault_is_answered_by_tests_that_exist() -> None:
    text = (ROOT / "docs/known-faults.md").read_text()
    named_tests = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", text)
    assert len(named_tests) > 30
    gone = [
        f"{file}::{test}"
        for file, test in named_tests
        if not re.search(rf"^def {test}\(", (ROOT / file).read_text(), re.MULTILINE)
    ]
    assert gone == []


def test_every_link_in_the_documents_leads_somewhere() -> None:
    broken = [
        f"{named(file)}: {link}"
        for file in tracked("*.md")
        for link in re.findall(r"\]\(([^)#\s]+)[^)]*\)", file.read_text())
        if not link.startswith("http") and not (file.parent / link).exists()
    ]
    assert broken == []


def test_every_goal_of_the_makefile_is_explained() -> None:
    text = (ROOT / "Makefile").read_text()
    [declared] = re.findall(r"^\.PHONY: (.*)$", text, re.MULTILINE)
    explained = set(re.findall(r"^(\w+):.*## ", text, re.MULTILINE))
    assert set(declared.split()) == explained


def test_the_local_stack_holds_no_salt_of_somebodys_state() -> None:
    lines = (ROOT / "Pulumi.local.yaml").read_text().splitlines()
    assert [line for line in lines if line.startswith("encryptionsalt")] == []
