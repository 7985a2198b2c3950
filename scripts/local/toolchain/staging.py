"""Lay out what a build needs before Go starts, and keep what it needs of its modules."""

import json
import shutil
from pathlib import Path

from scripts.local.toolchain.catalog import Build, Embeds, Folder
from scripts.local.toolchain.golang import Go

__all__ = ["copy_code", "keep_files", "make_embeds"]


def copy_code(folder: Folder, source: Path) -> None:
    """Copy the ``go.mod`` of ``folder``, its sums and its code to the folder ``source``.

    Building in a copy leaves the repository as it is: nothing that is made stands in it, and
    two callers never write the same file.
    """
    for file in folder.code():
        shutil.copyfile(file, source / file.name)


def make_embeds(go: Go, build: Build, embeds: Embeds, source: Path) -> None:
    """Write what the copied ``main.go`` embeds; the module must have been fetched."""
    module = _module(go, build.module, source)
    schema = json.loads((module / embeds.schema_file).read_bytes())
    schema["version"] = build.release
    (source / "schema.json").write_text(json.dumps(schema), encoding="utf-8")
    shutil.copyfile(module / embeds.mapping, source / "terraform-mapping.json")


def keep_files(go: Go, build: Build, source: Path, kept: Path) -> None:
    """Copy the files of modules that ``build`` keeps to ``kept``, at their paths in the module."""
    for module, paths in build.files.items():
        home = _module(go, module, source)
        for path in paths:
            _copy(home / path, kept / path)


def _module(go: Go, module: str, source: Path) -> Path:
    return Path(go.ask("list", "-m", "-f", "{{.Dir}}", module, folder=source))


def _copy(origin: Path, target: Path) -> None:
    """Copy a file or a tree without its modes: Go's module cache is read-only."""
    files = [file for file in origin.rglob("*") if file.is_file()] if origin.is_dir() else [origin]
    for file in files:
        copy = target / file.relative_to(origin)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
