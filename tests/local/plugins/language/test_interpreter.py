from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scripts.local.plugins.language import interpreter
from scripts.local.plugins.language.interpreter import Interpreter, VirtualenvError


def environment(folder: Path) -> Path:
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "python").touch()
    return folder


def test_without_the_option_our_own_python_runs_the_program() -> None:
    assert interpreter.find("/anywhere", "") == Interpreter(sys.executable)


@pytest.mark.parametrize("option", ["venv", "../prog/venv", "{root}/venv"])
def test_the_option_is_relative_to_the_root_of_the_program(tmp_path: Path, option: str) -> None:
    root = tmp_path / "prog"
    venv = environment(root / "venv")
    found = interpreter.find(str(root), option.format(root=root))
    assert found == Interpreter(str(venv / "bin" / "python"), venv)


@pytest.mark.parametrize(
    ("exists", "seen"), [(True, "is not a virtual environment"), (False, "does not exist")]
)
def test_a_folder_without_python_is_refused(tmp_path: Path, seen: str, *, exists: bool) -> None:
    if exists:
        (tmp_path / "venv").mkdir()
    with pytest.raises(VirtualenvError) as caught:
        interpreter.find(str(tmp_path), "venv")
    assert str(caught.value) == (
        f"the option 'virtualenv' is 'venv', but '{tmp_path}/venv' {seen}: it needs bin/python; "
        "create it with `uv sync`, or correct the option"
    )


def test_a_virtual_environment_is_activated() -> None:
    python = Interpreter("/venv/bin/python", Path("/venv"))
    base = {"PATH": "/bin", "PYTHONHOME": "/old", "VIRTUAL_ENV": "/old", "A": "b"}
    assert python.environment(base) == {
        "PATH": "/venv/bin:/bin",
        "VIRTUAL_ENV": "/venv",
        "A": "b",
    }


def test_without_a_virtual_environment_nothing_changes() -> None:
    assert Interpreter("/usr/bin/python").environment({"A": "b"}) == {"A": "b"}
