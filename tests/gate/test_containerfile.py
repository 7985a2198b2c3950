"""The image for tests on a schedule holds what it needs, as far as that shows unbuilt."""

import re
import tomllib
from importlib.metadata import packages_distributions

from tests.support.imports import closure, imported
from tests.support.stacks import ROOT

TEXT = (ROOT / "scripts/gate/Containerfile").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_all_that_is_copied_is_in_the_repository() -> None:
    copied = [
        name
        for line in re.findall(r"^COPY (?!--from)(.*)$", TEXT, re.MULTILINE)
        for name in line.split()[:-1]
    ]
    assert [name for name in copied if not (ROOT / name).exists()] == []
    assert {*PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]} <= {*copied}
    assert PROJECT["project"]["readme"] in copied


def test_it_is_built_from_the_lock_by_the_uv_of_this_repository_and_runs_as_nobody() -> None:
    bootstrap = (ROOT / "scripts/bootstrap.sh").read_text()
    [pinned] = re.findall(r"^UV_VERSION=(\S+)$", bootstrap, re.MULTILINE)
    assert f"pip install --no-cache-dir uv=={pinned}\n" in TEXT
    assert "uv sync --frozen --no-default-groups --no-editable\n" in TEXT
    last = TEXT.rpartition("FROM ")[2]
    assert "USER 65532:65532\n" in last
    assert last.endswith('ENTRYPOINT ["yard"]\n')
    assert PROJECT["project"]["scripts"]["yard"] == "scripts.cli:main"


def test_its_base_is_named_by_whoever_builds_it() -> None:
    assert re.findall(r"^(?:ARG|FROM) .*$", TEXT, re.MULTILINE) == [
        "ARG PYTHON",
        "FROM ${PYTHON} AS build",
        "FROM ${PYTHON}",
    ]


COMES_WITH = {
    "botocore": "boto3",
    "lightkube-models": "lightkube",
    "typing-extensions": "pydantic",
}

TYPES_ONLY = {"mypy-boto3-s3", "mypy-boto3-autoscaling"}
"""Stubs, which are imported for type checks only."""


def test_a_gate_needs_no_package_that_only_the_embedded_target_has() -> None:
    named = {re.split(r"[\[<>=]", each)[0] for each in PROJECT["project"]["dependencies"]}
    brought = packages_distributions()
    needed = {
        name.lower().replace("_", "-"): file
        for file in closure()
        for module in imported(file)
        for name in brought.get(module.partition(".")[0], ())
    }
    ours = {"trainyard", *named, *TYPES_ONLY}
    assert {name for name in needed if COMES_WITH.get(name, name) not in ours} == set()
