"""Run commands and copy files over SSH."""

from __future__ import annotations

import asyncio
import contextlib
from pathlib import Path
from typing import TYPE_CHECKING

import asyncssh

from scripts.local.plugins.command.connection import connect
from scripts.local.plugins.command.job import CommandError, Transcript
from scripts.local.plugins.command.local import previous_output
from scripts.local.plugins.command.values import mapping, text

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping, Sequence

    from scripts.local.plugins.command.job import Job
    from scripts.local.plugins.shared.children import Stream
    from scripts.local.plugins.shared.wire import Props

_CHUNK_BYTES = 65536


def run(command: str, inputs: Props, previous: Props, job: Job) -> Props:
    """Run ``command`` on the host of the input ``connection`` and give its outputs.

    Raises
    ------
    CommandError
        The host cannot be reached, or the command failed or was stopped.
    """
    transcript = Transcript(text(inputs, "logging"), job.log)
    ending = _wait(_run(command, inputs, previous, job, transcript), job)
    transcript.close()
    if ending:
        raise transcript.failure(ending, command)
    return {"stdout": transcript.output("stdout"), "stderr": transcript.output("stderr")}


def copy(source: str, target: str, inputs: Props, job: Job) -> None:
    """Copy a file or a folder to ``target``.

    A file goes into ``target`` where that is a folder. A folder goes into ``target``, unless its
    name ends with a slash: then its members do.

    Raises
    ------
    CommandError
        The host cannot be reached, or a file cannot be read or written.
    """
    local = Path(source)
    if not local.is_dir():
        _wait(_copy_file(local, target, inputs, job, into_folder=True), job)
        return
    place = target if source.endswith("/") else f"{target.rstrip('/')}/{local.name}"
    members = sorted(local.rglob("*"))
    folders = {place: None} | {_under(place, local, m): None for m in members if m.is_dir()}
    files = {_under(place, local, m): m for m in members if not m.is_dir()}
    _wait(_copy_tree([target, *folders], files, inputs, job), job)


def copy_file(source: str, target: str, inputs: Props, job: Job) -> None:
    """Copy a file to ``target``, whatever ``target`` is.

    Raises
    ------
    CommandError
        The host cannot be reached, or a file cannot be read or written.
    """
    _wait(_copy_file(Path(source), target, inputs, job, into_folder=False), job)


def _under(place: str, local: Path, member: Path) -> str:
    return f"{place.rstrip('/')}/{member.relative_to(local).as_posix()}"


def _wait(work: Coroutine[None, None, str], job: Job) -> str:
    """Do ``work`` on a loop of its own, and let the job stop it."""

    async def main() -> str:
        loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)

        def stop() -> None:
            loop.call_soon_threadsafe(task.cancel)

        with job.stoppable(stop):
            return await task

    try:
        return asyncio.run(main())
    except asyncio.CancelledError:
        raise CommandError("the engine stopped the command on the remote host") from None
    except (asyncssh.Error, OSError) as error:
        raise CommandError(str(error) or type(error).__name__) from error


async def _run(
    command: str, inputs: Props, previous: Props, job: Job, transcript: Transcript
) -> str:
    async with connect(inputs, job.log) as host:
        process = await host.create_process(
            command,
            env={**mapping(inputs, "environment"), **previous_output(inputs, previous)},
            encoding=None,
        )
        # A command need not read its stdin, and may have ended before it was written.
        with contextlib.suppress(BrokenPipeError):
            process.stdin.write((text(inputs, "stdin") or "").encode())
            process.stdin.write_eof()
        await asyncio.gather(
            _read(process.stdout, "stdout", transcript),
            _read(process.stderr, "stderr", transcript),
        )
        await process.wait_closed()
    return _ending(process)


async def _read(reader: asyncssh.SSHReader[bytes], stream: Stream, transcript: Transcript) -> None:
    while chunk := await reader.read(_CHUNK_BYTES):
        transcript.add(stream, chunk)


def _ending(process: asyncssh.SSHClientProcess[bytes]) -> str:
    """Say how a remote process failed, or nothing; worded as Go's SSH library words it."""
    if process.exit_signal is not None:
        return f"Process exited from signal {process.exit_signal[0]}"
    if process.exit_status is None:
        return "wait: remote command exited without exit status or exit signal"
    return f"Process exited with status {process.exit_status}" if process.exit_status else ""


async def _copy_file(
    local: Path, target: str, inputs: Props, job: Job, *, into_folder: bool
) -> str:
    async with connect(inputs, job.log) as host, host.start_sftp_client() as sftp:
        if into_folder and await sftp.isdir(target):
            target = f"{target.rstrip('/')}/{local.name}"
        await _put(sftp, local, target)
    return ""


async def _copy_tree(
    folders: Sequence[str], files: Mapping[str, Path], inputs: Props, job: Job
) -> str:
    async with connect(inputs, job.log) as host, host.start_sftp_client() as sftp:
        for folder in folders:
            await _folder(sftp, folder)
        for path, local in files.items():
            await _put(sftp, local, path)
    return ""


async def _folder(sftp: asyncssh.SFTPClient, path: str) -> None:
    if await sftp.isdir(path):
        return
    if await sftp.exists(path):
        raise CommandError(f"remote path {path} exists but is not a directory")
    try:
        await sftp.mkdir(path)
    except asyncssh.SFTPError as error:
        raise CommandError(f"failed to create remote directory {path}: {error.reason}") from error


async def _put(sftp: asyncssh.SFTPClient, local: Path, path: str) -> None:
    try:
        await sftp.put(str(local), path)
    except asyncssh.SFTPError as error:
        raise CommandError(
            f"failed to copy file {local} to remote path {path}: {error.reason}"
        ) from error
