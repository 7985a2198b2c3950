"""What the toolchain hands out: programs, files and the environment to use them in."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

__all__ = ["Origin", "Program", "Tools"]


class Origin(StrEnum):
    """Where a program comes from."""

    MACHINE = "machine"
    BUILT = "built"
    STAND_IN = "stand-in"


@dataclass(frozen=True)
class Program:
    """One program, ready to run."""

    name: str
    version: str
    path: Path
    origin: Origin
    about: str


@dataclass(frozen=True)
class Tools:
    """Every program of the embedded target, by name."""

    programs: Mapping[str, Program]

    shims: Path
    """Goes first on PATH: Pulumi with its Python language plugin."""

    plugins: Mapping[str, Path]
    """Folders of provider plugins, by the name that each must have in a Pulumi home."""

    kueue_module: Path
    """Of Kueue's module: ``config/components`` (CRDs, roles, webhooks) and ``charts/kueue``."""

    mpi_module: Path
    """Of the MPI operator's module: ``manifests/base`` (CRD, roles)."""

    kwok_module: Path
    """Of kwok's module: ``kustomize/crd`` and ``kustomize/stage``."""

    def path(self, name: str) -> Path:
        """Return the program called ``name``; unknown names are a ``KeyError``."""
        return self.programs[name].path

    def version(self, name: str) -> str:
        """Return the version of the program called ``name``."""
        return self.programs[name].version

    def environment(self, pulumi_home: Path, path: str) -> dict[str, str]:
        """Return the variables that make ``pulumi`` run with these tools.

        ``pulumi_home`` becomes Pulumi's home and holds links to the plugins afterwards: those
        that the engine finds there need no warning, as one on PATH does. ``path`` is the PATH
        to extend.
        """
        for name, folder in self.plugins.items():
            _link(folder, pulumi_home / "plugins" / name)
        kubernetes = self.programs["pulumi-resource-kubernetes"]
        # A built Kubernetes plugin says its true release, which is older than the Python SDK.
        # Only this switch keeps the engine from a warning about it in each preview; the others
        # that it turns on are hidden commands for publishing packages.
        older = {"PULUMI_DEV": "true"} if kubernetes.origin is Origin.BUILT else {}
        return {
            "PATH": f"{self.shims}{os.pathsep}{path}",
            "PULUMI_HOME": str(pulumi_home),
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "PULUMI_SUPPRESS_NEO_LINK": "true",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            **older,
        }


def _link(origin: Path, target: Path) -> None:
    """Make ``target`` a folder of links into ``origin``: the engine takes no folder that is one."""
    target.mkdir(parents=True, exist_ok=True)
    for file in origin.iterdir():
        link = target / file.name
        if file.name.startswith("."):  # something that is just being made
            continue
        if link.resolve() != file.resolve():
            link.unlink(missing_ok=True)
            link.symlink_to(file)
