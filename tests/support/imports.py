"""Which files a part of the program is made of, by what they import."""

import ast
from functools import cache
from pathlib import Path

from tests.support.stacks import ROOT


@cache
def closure() -> frozenset[Path]:
    """Return the files of ours that the gate imports, directly or not."""
    seen: set[Path] = set()
    todo = [*ROOT.glob("scripts/gate/*.py")]
    while todo:
        file = todo.pop()
        if file not in seen:
            seen.add(file)
            todo += [found for name in imported(file) if (found := source(name))]
    return frozenset(seen)


def imported(file: Path) -> set[str]:
    """Return the modules that a file imports; names in them too, which may be modules."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


def source(module: str) -> Path | None:
    """Return the file of a module of ours."""
    if module.split(".", maxsplit=1)[0] not in {"components", "scripts"}:
        return None
    place = ROOT / module.replace(".", "/")
    files = (place.with_suffix(".py"), place / "__init__.py")
    return next((file for file in files if file.is_file()), None)
