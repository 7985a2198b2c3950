"""Processes that cannot outlive this one."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shutil
import signal
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, Protocol, Self, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

Stream: TypeAlias = Literal["stdout", "stderr"]

_CHUNK_BYTES: Final = 65536
_SUPERVISOR: Final = Path(__file__).with_name("supervisor.py")


@dataclass(frozen=True)
class Ending:
    """How a process ended; its text is worded as Go's standard library words it."""

    code: int | None = None
    signal: int | None = None
    failed: str = ""

    @property
    def ok(self) -> bool:
        """Whether the process ran and said that all is well."""
        return self.code == 0

    def __str__(self) -> str:
        if self.failed:
            return self.failed
        if self.signal is not None:
            return f"signal: {(signal.strsignal(self.signal) or str(self.signal)).lower()}"
        return f"exit status {self.code}"


class Child:
    """A process under a supervisor that ends it, and all that it started, when we stop or die.

    A context manager: what was not released is stopped at the end of the block.
    """

    def __init__(self, supervisor: subprocess.Popen[bytes], control: socket.socket) -> None:
        self._stdout = supervisor.stdout
        self._stderr = supervisor.stderr
        self._supervisor = supervisor
        self._control = control
        self._lock = threading.Lock()
        self._held = True

    @classmethod
    def start(
        cls,
        argv: Sequence[str],
        *,
        cwd: str,
        env: Mapping[str, str],
        stdin: bytes | None = None,
        capture: bool = True,
    ) -> Child:
        """Start ``argv``; ``argv[0]`` is looked up on our own PATH.

        Parameters
        ----------
        stdin
            What the process reads; ``None`` is an empty stdin.
        capture
            Keep stdout and stderr for ``output``; otherwise both go where ours go.

        Raises
        ------
        ChildError
            The program or the folder does not exist.
        """
        program, *arguments = argv
        order = {"argv": [_find(program), *arguments], "cwd": _folder(cwd), "env": dict(env)}
        ours, theirs = socket.socketpair()
        output = subprocess.PIPE if capture else None
        with theirs:
            supervisor = subprocess.Popen(  # noqa: S603 - our own file, run by our own Python
                [sys.executable, "-I", "-S", str(_SUPERVISOR), str(theirs.fileno())],
                stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
                stdout=output,
                stderr=output,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        ours.sendall(json.dumps(order).encode() + b"\n")
        if stdin is not None:
            threading.Thread(target=_feed, args=(supervisor, stdin), daemon=True).start()
        return cls(supervisor, ours)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._control.close()
        for pipe in (self._stdout, self._stderr):
            if pipe is not None:
                pipe.close()

    def output(self) -> Iterator[tuple[Stream, bytes]]:
        """Give what the process writes, as it comes, until both streams have been closed.

        What the process put in the background may hold them open after its own end.
        """
        with selectors.DefaultSelector() as selector:
            for stream, pipe in (("stdout", self._stdout), ("stderr", self._stderr)):
                if pipe is not None:
                    selector.register(pipe, selectors.EVENT_READ, stream)
            while selector.get_map():
                for key, _ in selector.select():
                    chunk = os.read(key.fd, _CHUNK_BYTES)
                    if chunk:
                        yield key.data, chunk
                    else:
                        selector.unregister(key.fileobj)

    def wait(self) -> Ending:
        """Wait until the process itself has ended; what it put in the background may go on."""
        with self._control.makefile("rb") as answers:
            answer = answers.readline()
        return Ending(**json.loads(answer)) if answer else Ending(signal=signal.SIGKILL)

    def release(self) -> None:
        """Let go of an ended process, and leave alone what it put in the background."""
        self._let_go(b"done")

    def stop(self) -> None:
        """End the process and all that descends from it, and wait for that."""
        self._let_go(b"")

    def _let_go(self, word: bytes) -> None:
        with self._lock:
            if self._held:
                self._held = False
                with contextlib.suppress(OSError):  # the supervisor may be gone already
                    self._control.sendall(word)
                    self._control.shutdown(socket.SHUT_RDWR)
        self._supervisor.wait()


class ChildError(Exception):
    """A process could not be started; the text says why, as Go's standard library does."""


class Stoppable(Protocol):
    """Something that runs until it is stopped."""

    def stop(self) -> None:
        """End it, and wait for that."""
        ...


class Running:
    """What a plugin has running, so that all of it can be stopped at once."""

    def __init__(self) -> None:
        self._things: set[Stoppable] = set()
        self._lock = threading.Lock()
        self._stopping = False

    @contextlib.contextmanager
    def hold(self, thing: Stoppable) -> Generator[None]:
        """Keep a thing in mind during the block; it is stopped at once if all was stopped."""
        with self._lock:
            self._things.add(thing)
            late = self._stopping
        if late:
            thing.stop()
        try:
            yield
        finally:
            with self._lock:
                self._things.discard(thing)

    def stop(self) -> None:
        """Stop everything, what runs now and what is still to come."""
        with self._lock:
            self._stopping = True
            things = list(self._things)
        stoppers = [threading.Thread(target=thing.stop) for thing in things]
        for stopper in stoppers:
            stopper.start()
        for stopper in stoppers:
            stopper.join()


def _feed(supervisor: subprocess.Popen[bytes], data: bytes) -> None:
    pipe = supervisor.stdin
    # A process need not read its stdin to the end.
    with contextlib.suppress(BrokenPipeError):
        if pipe is not None:
            with pipe:
                pipe.write(data)


def _find(program: str) -> str:
    if "/" in program:
        return program
    found = shutil.which(program)
    if found is None:
        raise ChildError(f'exec: "{program}": executable file not found in $PATH')
    return found


def _folder(path: str) -> str:
    try:
        os.stat(path)  # noqa: PTH116 - the error text names the path as the user wrote it
    except OSError as error:
        raise ChildError(f"chdir {path}: {(error.strerror or str(error)).lower()}") from None
    return path
