"""One part of the target: a process, what it needs first, and how it says that it is well."""

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from scripts.local.target.health import Probe

__all__ = ["KUEUE_OBJECTS", "MPI_OBJECTS", "REPOSITORY", "Part", "part_environment"]

REPOSITORY = Path(__file__).parents[3]

KUEUE_OBJECTS = "kueue-objects"
"""Needed like a part: that Kueue's CRDs, roles and webhooks are in the control plane."""

MPI_OBJECTS = "mpi-operator-objects"
"""The same of the MPI operator's CRD and roles."""


@dataclass(frozen=True)
class Part:
    """One process of the target."""

    name: str
    about: str
    """What it is, and for a stand-in what it stands for."""

    real: bool
    version: str
    argv: tuple[str, ...]
    port: int | None
    needs: tuple[str, ...]
    probe: Probe
    files: tuple[Path, ...] = ()
    """Files that it reads at its start; with another content it must be started anew."""

    signs: tuple[Path, ...] = ()
    """Files that it writes when it is well; those of an earlier run must not speak for it."""

    def fingerprint(self) -> str:
        """Change with the command line and with the content of the files."""
        digest = hashlib.sha256(json.dumps([self.version, *self.argv]).encode())
        for path in self.files:
            digest.update(path.read_bytes())
        return digest.hexdigest()


def part_environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Give a part's environment: no credentials and no proxies of whoever starts it."""
    kept = {name: environ[name] for name in ("HOME", "LANG", "PATH", "TMPDIR") if name in environ}
    return kept | {"PYTHONPATH": str(REPOSITORY), "PYTHONUNBUFFERED": "1"}
