"""The data about what is built: ``tools.yaml``, completed from each folder's ``go.mod``."""

import hashlib
import platform
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, Field

__all__ = ["Build", "Embeds", "Folder", "load"]

KEY_LENGTH = 12
"""Hex digits in a key; a folder sees a handful of keys in its life."""


class _Data(BaseModel):
    """Unknown keys are typing errors in the data file."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Embeds(_Data):
    """Files that a ``main.go`` of ours embeds, by their path in the module."""

    schema_file: str = Field(alias="schema")
    mapping: str


class Build(_Data):
    """One ``go build``: a program or a few that share a version."""

    name: str
    about: str
    folder: str
    """Beside ``tools.yaml``; holds the ``go.mod`` that fixes the versions."""

    module: str
    """The Go module that the build's version is the version of."""

    programs: dict[str, str] = Field(min_length=1)
    """Package by program name."""

    usual_seconds: int
    """A cold build on two cores."""

    release: str = ""
    """The release that a module version without a release number stands for."""

    variables: dict[str, str] = Field(default_factory=dict)
    """String variables that the linker sets."""

    files: dict[str, list[str]] = Field(default_factory=dict)
    """Paths to keep of modules, so that Go is not needed when the target runs."""

    embeds: Embeds | None = None


@dataclass(frozen=True)
class Folder:
    """A ``go.mod`` of ours with everything that is built from it."""

    path: Path
    builds: tuple[Build, ...]
    versions: Mapping[str, str]
    go: str
    """The oldest Go that the folder's modules accept."""

    key: str
    """Changes with anything that could change a program; names the folder in the cache."""

    def code(self) -> list[Path]:
        """Return the files that Go reads: ``go.mod``, ``go.sum`` and what is beside them."""
        return _code_of(self.path)

    def version(self, build: Build) -> str:
        """Return the version that ``go.mod`` has for ``build``, or the release it stands for."""
        return f"v{build.release}" if build.release else self.versions[build.module]

    def linker_flags(self, build: Build) -> str:
        """Return what ``-ldflags`` gets: no symbol table, and the version where it is read."""
        version = self.version(build)
        major, minor, *_ = version.removeprefix("v").split(".")
        facts = {"version": version, "release": build.release, "major": major, "minor": minor}
        settings = [f"-X {name}={value.format(**facts)}" for name, value in build.variables.items()]
        return " ".join(["-s -w", *settings])


def _code_of(path: Path) -> list[Path]:
    """Return the files of ``path`` that Go reads, sorted."""
    return sorted([*path.glob("go.*"), *path.glob("*.go")])


def load(source: Path) -> tuple[Folder, ...]:
    """Read ``tools.yaml`` and the ``go.mod`` files below ``source``, in the order of building."""
    data = yaml.safe_load((source / "tools.yaml").read_text(encoding="utf-8"))
    builds = [Build.model_validate(entry) for entry in data["builds"]]
    names = dict.fromkeys(build.folder for build in builds)
    return tuple(
        _folder(source / name, [build for build in builds if build.folder == name])
        for name in names
    )


def _folder(path: Path, builds: Sequence[Build]) -> Folder:
    go_mod = (path / "go.mod").read_text(encoding="utf-8")
    [go] = re.findall(r"^go (\S+)$", go_mod, re.MULTILINE)
    versions = dict(re.findall(r"^(?:require)?\s+([^\s=]+) (v[^\s]+)", go_mod, re.MULTILINE))
    return Folder(path, tuple(builds), versions, go, f"{path.name}-{_key(path, builds)}")


def _key(path: Path, builds: Sequence[Build]) -> str:
    digest = hashlib.sha256(f"{platform.system()} {platform.machine()}".encode())
    for file in _code_of(path):
        digest.update(f"\0{file.name}\0".encode() + file.read_bytes())
    for build in builds:
        # Wording and times may change without a new build.
        digest.update(build.model_dump_json(exclude={"about", "usual_seconds"}).encode())
    return digest.hexdigest()[:KEY_LENGTH]
