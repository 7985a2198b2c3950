"""The environment in which plain ``pulumi``, ``aws`` and ``kubectl`` use the embedded target."""

import os
import secrets
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from scripts.errors import UsageError
from scripts.local.home import Home
from scripts.local.stacks import Place
from scripts.local.target import process
from scripts.local.target.files import read_json, write_private
from scripts.local.toolchain import Tools

__all__ = ["Shell", "environment", "exports"]

Shell = Literal["sh", "fish"]

NEEDED = ("simulator", "kube-apiserver")
"""Without these nothing can be deployed; the state of the others is for ``status`` to tell."""


def environment(
    home: Home, tools: Tools, place: Place, environ: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Give the variables that point ``pulumi`` and the AWS tools at the embedded target.

    Parameters
    ----------
    home, tools
        Of the target; ``tools`` puts its plugins into the home's Pulumi folder.
    place
        The AWS account that the simulator shall act for, and the region.
    environ
        Where PATH is taken from.

    Raises
    ------
    UsageError
        If the target is not up.
    """
    missing = [name for name in NEEDED if process.find(home, name) is None]
    if missing:
        raise UsageError(
            f"the embedded target is not up ({' and '.join(missing)} not running);"
            " start it with `yard local up`"
        )
    ports: dict[str, int] = read_json(home.ports)
    profiles = _aws_profiles(home)
    # The virtual environment gives `aws`, which the kubeconfig of a stack calls, and `yard`.
    path = os.pathsep.join([str(Path(sys.executable).parent), environ.get("PATH", os.defpath)])
    return {
        **tools.environment(home.pulumi, path),
        # Without files for metadata beside those of state: the engine writes them in place, and one
        # that is killed meanwhile leaves an empty one, by which the whole state is unreadable.
        "PULUMI_BACKEND_URL": f"{home.backend.as_uri()}?metadata=skip",
        "PULUMI_CONFIG_PASSPHRASE_FILE": str(_passphrase(home)),
        # A stack file without a salt then takes it from the state instead of making another one.
        "PULUMI_FALLBACK_TO_STATE_SECRETS_MANAGER": "true",
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{ports['simulator']}",
        "AWS_ACCESS_KEY_ID": f"EMBEDDED{place.account}",
        "AWS_SECRET_ACCESS_KEY": "embedded",
        "AWS_REGION": place.region,
        "AWS_DEFAULT_REGION": place.region,  # the name that boto3 and `aws` know
        "AWS_SESSION_TOKEN": "",
        "AWS_PROFILE": "default",
        "AWS_DEFAULT_PROFILE": "default",
        "AWS_CONFIG_FILE": str(profiles),
        "AWS_SHARED_CREDENTIALS_FILE": str(profiles),
        "AWS_EC2_METADATA_DISABLED": "true",
        "KUBECONFIG": str(home.kubeconfig),
        "TRAINYARD_HOME": str(home.root),
    }


def _passphrase(home: Home) -> Path:
    if not home.passphrase.exists():
        write_private(home.passphrase, secrets.token_urlsafe(32).encode())
    return home.passphrase


def _aws_profiles(home: Home) -> Path:
    """Give a file that hides the user's own profiles, so that no real account is ever meant."""
    path = home.config / "aws"
    write_private(path, b"[default]\n")
    return path


def exports(variables: Mapping[str, str], shell: Shell) -> str:
    """Write variables as commands of a shell, for ``eval``."""
    if shell == "fish":
        return "".join(f"set -gx {name} {_fish(value)}\n" for name, value in variables.items())
    return "".join(f"export {name}={shlex.quote(value)}\n" for name, value in variables.items())


def _fish(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
