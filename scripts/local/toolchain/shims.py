"""Small scripts that start our Python plugins wherever the engine runs them."""

import hashlib
import os
import shlex
import shutil
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from scripts.local.toolchain.places import Places

__all__ = ["Shims", "script", "write"]


@dataclass(frozen=True)
class Shims:
    """What a shims folder is made of."""

    scripts: Mapping[Path, str]
    """Module of ours by the script's path in the folder."""

    programs: Mapping[Path, Path]
    """Built programs to have under another path.

    Pulumi stands beside its language plugin, because the engine takes one that is there
    without a warning; the same file, not a link to it, since the engine follows links.
    """


def write(places: Places, shims: Shims) -> Path:
    """Return the folder with ``shims``, made at once if it is not there."""
    texts = {path: script(places, module) for path, module in shims.scripts.items()}
    facts = sorted([*map(str, texts.items()), *map(str, shims.programs.items())])
    key = hashlib.sha256("\0".join(facts).encode()).hexdigest()[:12]
    folder = places.root / f"shims-{key}"
    if folder.is_dir():
        return folder
    places.root.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".new-", dir=places.root) as scratch:
        fresh = Path(scratch) / "shims"
        fresh.mkdir()
        for path, text in texts.items():
            _make(fresh / path, lambda target, text=text: _write_script(target, text))
        for path, program in shims.programs.items():
            _make(fresh / path, lambda target, program=program: _same_file(program, target))
        with suppress(OSError):  # another caller was quicker with the same content
            fresh.rename(folder)
    return folder


def script(places: Places, module: str) -> str:
    """Return a script that runs ``module`` of the repository, whatever the working folder is."""
    # -P: the working folder may hold another `scripts` package, of another checkout.
    python = f"{shlex.quote(places.python)} -P -m {module}"
    repository = shlex.quote(str(places.repository))
    return (
        "#!/bin/sh\n"
        f"# Stand-in plugin of Trainyard's embedded target.\n"
        f'PYTHONPATH={repository}"${{PYTHONPATH:+:$PYTHONPATH}}" exec {python} "$@"\n'
    )


def _make(target: Path, maker: Callable[[Path], None]) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    maker(target)
    target.chmod(0o755)


def _write_script(target: Path, text: str) -> None:
    target.write_text(text, encoding="utf-8")


def _same_file(program: Path, target: Path) -> None:
    try:
        os.link(program, target)
    except OSError:  # a file system without hard links
        shutil.copyfile(program, target)
