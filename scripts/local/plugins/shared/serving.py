"""Serve a plugin until the engine no longer needs it."""

from __future__ import annotations

import os
import signal
import stat
import sys
import threading
from concurrent import futures
from typing import TYPE_CHECKING, Final

import grpc

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

MAX_CALLS: Final = 512
"""Calls served at once; a command holds its thread while it runs, and Cancel must find one free."""

MAX_MESSAGE_BYTES: Final = 400 * 1024 * 1024
"""The limit that Pulumi's engine sets on its own side."""

CHANNEL_OPTIONS: Final = (
    ("grpc.max_receive_message_length", MAX_MESSAGE_BYTES),
    ("grpc.max_send_message_length", MAX_MESSAGE_BYTES),
)

_WATCH_SECONDS: Final = 0.5
_HEAR_SECONDS: Final = 0.1
_GRACE_SECONDS: Final = 1.0


def start(register: Callable[[grpc.Server], None]) -> tuple[grpc.Server, int]:
    """Start a server on a free port of 127.0.0.1, and give the port too."""
    server = grpc.server(futures.ThreadPoolExecutor(MAX_CALLS), options=CHANNEL_OPTIONS)
    register(server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    return server, port


def serve(
    register: Callable[[grpc.Server], None], *, on_stop: Callable[[], None] = lambda: None
) -> None:
    """Serve, print the port on stdout, and end the process when the engine is done.

    Parameters
    ----------
    register
        Adds the servicers to the server.
    on_stop
        Called once before the end, to stop what still runs.
    """
    stop = threading.Event()
    asked: list[int] = []

    def end(number: int, _frame: FrameType | None) -> None:
        # No lock is taken here: this thread may be interrupted while it holds it.
        asked.append(number)

    signal.signal(signal.SIGINT, end)
    signal.signal(signal.SIGTERM, end)
    server, port = start(register)
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    _watch_engine(stop)
    # The system may hand a signal to any thread; this one hears of it when it next wakes up.
    while not asked and not stop.wait(_HEAR_SECONDS):
        pass
    on_stop()
    server.stop(_GRACE_SECONDS).wait()
    sys.stdout.flush()
    sys.stderr.flush()
    # A call that still blocks a thread must not hold the process.
    os._exit(0)


def stop_with(context: grpc.ServicerContext, stop: Callable[[], None]) -> None:
    """Call ``stop`` when a call ends, also when the engine cancels it."""

    def callback() -> None:
        # gRPC calls back on a thread that it needs itself, and stopping may take seconds.
        threading.Thread(target=stop, daemon=True).start()

    if not context.add_callback(callback):
        stop()


def _watch_engine(stop: threading.Event) -> None:
    """Set ``stop`` when the engine is gone, however it died.

    The engine holds the other end of our stdin and never writes to it, so the end of that stream
    is its death. Where stdin is no pipe, a new parent process is the sign.
    """
    parent = os.getppid()

    def follow_parent() -> None:
        while os.getppid() == parent and not stop.wait(_WATCH_SECONDS):
            pass
        stop.set()

    def follow_stdin() -> None:
        while os.read(sys.stdin.fileno(), 4096):
            pass
        stop.set()

    watchers = [follow_parent]
    if sys.stdin is not None and stat.S_ISFIFO(os.fstat(sys.stdin.fileno()).st_mode):
        watchers.append(follow_stdin)
    for watcher in watchers:
        threading.Thread(target=watcher, daemon=True).start()
