"""Where the toolchain reads and writes, and what it knows of its surroundings."""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import platformdirs

__all__ = ["Places", "cache_home", "usable_cpus"]


def cache_home(environment: Mapping[str, str]) -> Path:
    """Trainyard's cache folder: ``TRAINYARD_CACHE``, or the user's own."""
    told = environment.get("TRAINYARD_CACHE")
    return Path(told).absolute() if told else Path(platformdirs.user_cache_dir("trainyard"))


def usable_cpus() -> int:
    """Return how many CPUs this process may use; where that is not known, how many there are."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@dataclass(frozen=True)
class Places:
    """The folders and the environment of one caller; tests make their own."""

    cache: Path
    """Everything that is made goes below it."""

    source: Path = Path(__file__).parent
    """Holds ``tools.yaml`` and a folder per ``go.mod``."""

    repository: Path = Path(__file__).parents[3]
    """What the stand-in plugins are imported from."""

    environment: Mapping[str, str] = field(default_factory=lambda: dict(os.environ))
    python: str = sys.executable
    cpus: int = field(default_factory=usable_cpus)

    @classmethod
    def of_this_machine(cls) -> "Places":
        """Return the places that the process's own environment names."""
        return cls(cache=cache_home(os.environ))

    @property
    def root(self) -> Path:
        """The toolchain's part of the cache."""
        return self.cache / "toolchain"

    @property
    def logs(self) -> Path:
        """One log for each build, rewritten when it is built again."""
        return self.root / "logs"

    def which(self, program: str) -> Path | None:
        """Find ``program`` on PATH, but never one that the toolchain itself put there."""
        entries = filter(None, self.environment.get("PATH", "").split(os.pathsep))
        return next(
            filter(self.is_foreign_program, (Path(entry) / program for entry in entries)), None
        )

    def is_foreign_program(self, path: Path) -> bool:
        """Tell whether ``path`` can be run and was not made here, however it is linked."""
        return os.access(path, os.X_OK) and path.is_file() and not self._is_ours(path)

    def _is_ours(self, path: Path) -> bool:
        return path.resolve().is_relative_to(self.root.resolve())
