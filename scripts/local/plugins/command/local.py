"""Run a command on this machine."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Final

from scripts.local.plugins.command import assets, globs
from scripts.local.plugins.command.job import CommandError, Transcript
from scripts.local.plugins.command.values import mapping, text, texts
from scripts.local.plugins.shared.children import Child, ChildError

if TYPE_CHECKING:
    from scripts.local.plugins.command.job import Job
    from scripts.local.plugins.shared.wire import Props

SHELL: Final = ("/bin/sh", "-c")
"""What runs a command when the inputs name no interpreter."""


def run(command: str, inputs: Props, previous: Props, job: Job) -> Props:
    """Run ``command`` and give its outputs.

    Parameters
    ----------
    inputs
        Plain inputs: no secret wrappers, nothing unknown.
    previous
        The outputs of the run before; files that are not collected anew are kept.

    Raises
    ------
    CommandError
        The command could not be started, failed or was stopped, or its files cannot be read.
    """
    folder = text(inputs, "dir") or os.getcwd()  # noqa: PTH109 - the outputs hold plain strings
    transcript = Transcript(text(inputs, "logging"), job.log)
    stdin = text(inputs, "stdin")
    try:
        child = Child.start(
            [*(texts(inputs, "interpreter") or SHELL), command],
            cwd=folder,
            env={
                **os.environ,
                **mapping(inputs, "environment"),
                **previous_output(inputs, previous),
            },
            stdin=stdin.encode() if stdin else None,
        )
    except ChildError as error:
        raise transcript.failure(error, command) from None
    with child, job.stoppable(child.stop):
        for stream, chunk in child.output():
            transcript.add(stream, chunk)
        ending = child.wait()
        child.release()
    transcript.close()
    if not ending.ok:
        raise transcript.failure(ending, command)
    return {
        **previous,
        **_files(folder, inputs),
        "stdout": transcript.output("stdout"),
        "stderr": transcript.output("stderr"),
    }


def previous_output(inputs: Props, previous: Props) -> dict[str, str]:
    """Give the environment variables that hold what the run before has written."""
    if inputs.get("addPreviousOutputInEnv") is False:
        return {}
    streams = ("stdout", "stderr")
    return {
        f"PULUMI_COMMAND_{stream.upper()}": written
        for stream in streams
        if (written := text(previous, stream))
    }


def _files(folder: str, inputs: Props) -> Props:
    files: Props = {}
    asset_paths, archive_paths = texts(inputs, "assetPaths"), texts(inputs, "archivePaths")
    try:
        if asset_paths is not None:
            files["assets"] = dict(assets.collect(folder, asset_paths))
        if archive_paths is not None:
            files["archive"] = assets.archive(assets.collect(folder, archive_paths))
    except (globs.GlobError, OSError) as error:
        raise CommandError(f"the files of the command cannot be collected: {error}") from error
    return files
