"""What the target reads in stack files: for which account and region a stack is meant."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from scripts.errors import UsageError
from scripts.local.home import Home
from scripts.local.target.files import write_private

__all__ = ["Place", "place_of", "places", "seed_project", "stack_name", "working_copy"]

Settings = dict[str, Any]

SALT = b"encryptionsalt:"


@dataclass(frozen=True)
class Place:
    """An AWS account and a region."""

    account: str
    region: str


def stack_name(path: Path) -> str:
    """Give the stack of a file ``Pulumi.NAME.yaml``."""
    return path.name.removeprefix("Pulumi.").removesuffix(".yaml")


def _read(path: Path) -> Settings:
    # The C loader: files of all stacks are read each second.
    content: Settings | None = yaml.load(path.read_bytes(), Loader=yaml.CSafeLoader)
    return content or {}


def _place(path: Path) -> Place | None:
    config: Settings = _read(path).get("config") or {}
    site: Settings = config.get("trainyard:site") or {}
    if "account" not in site or "region" not in site:
        return None
    return Place(str(site["account"]), str(site["region"]))


def _existing(path: Path) -> Path:
    if not path.exists():
        known = ", ".join(stack_name(each) for each in sorted(path.parent.glob("Pulumi.*.yaml")))
        raise UsageError(
            f"there is no stack {stack_name(path)!r}, because there is no {path};"
            f" there are: {known or 'none'}"
        )
    return path


def place_of(path: Path) -> Place:
    """Give the account and region that a stack file names in ``trainyard:site``.

    Raises
    ------
    UsageError
        If there is no such file, or it names none.
    """
    place = _place(_existing(path))
    if place is None:
        raise UsageError(
            f"{path} names no account and region; set `account` and `region` in its"
            " `trainyard:site`"
        )
    return place


def places(folder: Path) -> list[Place]:
    """Give the accounts and regions that the stack files in ``folder`` name."""
    found = dict.fromkeys(_place(path) for path in sorted(folder.glob("Pulumi.*.yaml")))
    return [place for place in found if place]


def working_copy(home: Home, stack_file: Path) -> Path:
    """Copy a stack file for ``pulumi --config-file``, so that Pulumi leaves the original alone.

    Pulumi writes the ``encryptionsalt`` of its state into the file that it reads settings from.
    The salt belongs to the state in this home, not to the repository. The copy is made anew for
    each call; PULUMI_FALLBACK_TO_STATE_SECRETS_MANAGER lets Pulumi find the salt in its state.
    """
    copy = home.stacks / stack_file.name
    lines = _existing(stack_file).read_bytes().splitlines(keepends=True)
    # A salt that plain `pulumi` has left there may belong to the state of another home.
    write_private(copy, b"".join(line for line in lines if not line.startswith(SALT)))
    return copy


def seed_project(home: Home, repository: Path) -> Path:
    """Give a folder for ``pulumi -C FOLDER stack init NAME``, for the same reason.

    ``stack init`` knows no ``--config-file``: it writes the salt beside the Pulumi.yaml that it
    finds. Only the project's name matters to it.
    """
    folder = home.stacks / "seed"
    folder.mkdir(mode=0o700, exist_ok=True)
    write_private(folder / "Pulumi.yaml", (repository / "Pulumi.yaml").read_bytes())
    return folder
