"""What create, update and delete do for each resource, on plain inputs."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Final

from scripts.local.plugins.command import local
from scripts.local.plugins.command.properties import (
    COPY_FILE,
    COPY_TO_REMOTE,
    LOCAL_COMMAND,
    REMOTE_COMMAND,
)
from scripts.local.plugins.command.values import text
from scripts.local.plugins.shared.wire import UNKNOWN, Archive, Asset, Props

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from scripts.local.plugins.command.job import Job
    from scripts.local.plugins.command.properties import Shape


def _run_remotely(command: str, inputs: Props, previous: Props, job: Job) -> Props:
    return _remote().run(command, inputs, previous, job)


def _remote() -> ModuleType:
    """Import what needs SSH only now: it takes half a second that most programs need not pay."""
    return importlib.import_module("scripts.local.plugins.command.remote")


_NOTHING_WRITTEN: Final[Props] = {"stdout": "", "stderr": ""}
_RUNNERS: Final[dict[str, Callable[[str, Props, Props, Job], Props]]] = {
    LOCAL_COMMAND: local.run,
    REMOTE_COMMAND: _run_remotely,
}


def foreseen(shape: Shape, inputs: Props, olds: Props) -> Props:
    """Give the outputs of a run that has not happened: all are unknown.

    Files are foreseen where the inputs ask for them or the state has them.
    """
    asked = {"assets": "assetPaths", "archive": "archivePaths"}
    return {
        name: UNKNOWN
        for name in shape.outputs
        if name not in asked or name in olds or inputs.get(asked[name]) is not None
    }


def create(token: str, inputs: Props, job: Job) -> Props:
    """Create a resource and give its outputs.

    Raises
    ------
    CommandError
        The command or the copy failed.
    """
    runner = _RUNNERS.get(token)
    if runner is None:
        _copy(token, inputs, job)
        return {}
    command = text(inputs, "create")
    return dict(_NOTHING_WRITTEN) if command is None else runner(command, inputs, {}, job)


def update(token: str, shape: Shape, olds: Props, news: Props, job: Job) -> Props:
    """Update a resource and give its outputs; without ``update``, ``create`` runs again.

    Raises
    ------
    CommandError
        The command or the copy failed.
    """
    runner = _RUNNERS.get(token)
    if runner is None:
        if any(olds.get(name) != news.get(name) for name in ("source", "remotePath")):
            _copy(token, news, job)
        return {}
    previous = {name: olds[name] for name in shape.outputs if name in olds}
    command = text(news, "update") or text(news, "create")
    return previous if command is None else runner(command, news, previous, job)


def delete(token: str, state: Props, job: Job) -> None:
    """Run what the state holds as ``delete``, if anything.

    Raises
    ------
    CommandError
        The command failed.
    """
    runner, command = _RUNNERS.get(token), text(state, "delete")
    if runner is not None and command is not None:
        runner(command, state, state, job)


def _copy(token: str, inputs: Props, job: Job) -> None:
    source = inputs.get("source")
    target = text(inputs, "remotePath") or ""
    if token == COPY_TO_REMOTE and isinstance(source, Asset | Archive):
        _remote().copy(source.path, target, inputs, job)
    elif token == COPY_FILE:
        _remote().copy_file(text(inputs, "localPath") or "", target, inputs, job)
