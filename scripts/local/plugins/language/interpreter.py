"""Which Python runs a program, and with which environment."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class VirtualenvError(Exception):
    """The option ``virtualenv`` names a folder that holds no virtual environment."""

    def __init__(self, option: str, folder: Path) -> None:
        seen = "is not a virtual environment" if folder.exists() else "does not exist"
        super().__init__(
            f"the option 'virtualenv' is {option!r}, but {str(folder)!r} {seen}: it needs "
            "bin/python; create it with `uv sync`, or correct the option"
        )


@dataclass(frozen=True)
class Interpreter:
    """A Python, and the virtual environment it belongs to when the program names one."""

    path: str
    virtualenv: Path | None = None

    def environment(self, base: Mapping[str, str]) -> dict[str, str]:
        """Give ``base`` as it is after the virtual environment was activated."""
        env = dict(base)
        if self.virtualenv is not None:
            env.pop("PYTHONHOME", None)
            env["VIRTUAL_ENV"] = str(self.virtualenv)
            parts = [str(self.virtualenv / "bin"), env.get("PATH", "")]
            env["PATH"] = os.pathsep.join(filter(None, parts))
        return env


def find(root: str, virtualenv: str) -> Interpreter:
    """Find the Python of the program under ``root``; without ``virtualenv`` it is our own.

    Raises
    ------
    VirtualenvError
        The folder holds no Python.
    """
    if not virtualenv:
        return Interpreter(sys.executable)
    # An absolute option wins over the root. Resolving bin/python would leave the environment.
    folder = Path(os.path.normpath(Path(root, virtualenv)))
    python = folder / "bin" / "python"
    if not python.is_file():
        raise VirtualenvError(virtualenv, folder)
    return Interpreter(str(python), folder)
