"""What the machine has already: a Pulumi and its plugins, used as they are."""

import importlib.metadata
import re
import subprocess
from collections.abc import Collection
from pathlib import Path

from scripts.local.toolchain.places import Places
from scripts.local.toolchain.tools import Origin, Program

__all__ = ["PLUGINS", "find_plugin", "find_pulumi", "sdk_version"]

PLUGINS = {
    "kubernetes": "the Kubernetes provider plugin",
    "aws": "the AWS provider plugin",
    "command": "the provider plugin that runs commands",
}
"""The provider plugins that the program asks for."""

LANGUAGE = "pulumi-language-python"


def sdk_version(package: str) -> str:
    """Return the version of an installed Python SDK, which is what it asks the engine for."""
    return importlib.metadata.version(package)


def find_pulumi(places: Places) -> Program | None:
    """Return the machine's Pulumi when it is complete and not older than the Python SDK."""
    path = places.which("pulumi")
    if path is None:
        return None
    beside = path.resolve().with_name(LANGUAGE)
    if not (places.which(LANGUAGE) or places.is_foreign_program(beside)):
        return None
    version = _version(path, places)
    if _numbers(version) < _numbers(sdk_version("pulumi")):
        return None
    return Program("pulumi", version, path, Origin.MACHINE, "the Pulumi engine and command line")


def find_plugin(places: Places, name: str, stand_ins: Collection[str] = ()) -> Program | None:
    """Return the provider plugin that the machine's engine would take for ``name``.

    The engine takes any that is on PATH, and of its own folder only the version that the
    Python SDK asks for.
    """
    program, version = f"pulumi-resource-{name}", sdk_version(f"pulumi-{name}")
    if name in stand_ins:
        return None
    if on_path := places.which(program):
        return Program(program, "of PATH", on_path, Origin.MACHINE, PLUGINS[name])
    installed = _pulumi_home(places) / "plugins" / f"resource-{name}-v{version}" / program
    if places.is_foreign_program(installed):
        return Program(program, f"v{version}", installed, Origin.MACHINE, PLUGINS[name])
    return None


def _pulumi_home(places: Places) -> Path:
    home = places.environment.get("HOME", "")
    return Path(places.environment.get("PULUMI_HOME") or Path(home) / ".pulumi")


def _version(pulumi: Path, places: Places) -> str:
    environment = {**places.environment, "PULUMI_SKIP_UPDATE_CHECK": "true"}
    try:
        answer = subprocess.run(  # noqa: S603 - the program is the machine's pulumi
            [pulumi, "version"], env=environment, capture_output=True, text=True, check=True
        )
    except (OSError, subprocess.CalledProcessError):
        return ""
    return answer.stdout.strip()


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)[:3]]
