"""Serve the simulator over HTTP, in this process."""

import threading
import traceback
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from werkzeug.serving import BaseWSGIServer, make_server

from scripts.local.simulator.app import Simulator
from scripts.local.simulator.calls import Settings
from scripts.local.simulator.wire import MotoRequestHandler

__all__ = ["running", "serve"]

SAVE_AFTER_SECONDS = 0.5
"""How long after a change the state is written; later changes of that time go along."""

POLL_SECONDS = 0.05
"""How soon a server in a thread of its own hears that it is to end."""


class QuietHandler(MotoRequestHandler):
    """The request log is the simulator's own; the server prints none."""

    protocol_version = "HTTP/1.1"

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Print nothing."""


def _server(simulator: Simulator, port: int) -> BaseWSGIServer:
    return make_server("127.0.0.1", port, simulator, threaded=True, request_handler=QuietHandler)


def serve(port: int, state: Path, kube_endpoint: str, kube_ca: Path) -> None:
    """Serve until the process is told to end, then save.

    Raises
    ------
    UsageError
        If the state file was written by another version.
    """
    state.mkdir(parents=True, exist_ok=True)
    settings = Settings(kube_endpoint, kube_ca.read_text(encoding="utf-8"))
    simulator = Simulator(settings, state, state / "requests.log")
    server = _server(simulator, port)
    stopped = threading.Event()
    saver = threading.Thread(target=_keep_saving, args=(simulator, stopped), daemon=True)
    saver.start()
    try:
        server.serve_forever()
    finally:
        stopped.set()
        simulator.store.save(whole=True)


@contextmanager
def running(simulator: Simulator, port: int = 0) -> Generator[str]:
    """Serve ``simulator`` in a thread, without saving; yields its URL."""
    server = _server(simulator, port)
    thread = threading.Thread(target=server.serve_forever, args=[POLL_SECONDS], daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _keep_saving(simulator: Simulator, stopped: threading.Event) -> None:
    """Write the state soon after each change, until told to stop."""
    while not stopped.is_set():
        if simulator.store.changed.wait(timeout=1):
            stopped.wait(SAVE_AFTER_SECONDS)
            _save(simulator)


def _save(simulator: Simulator) -> None:
    try:
        simulator.store.save()
    except Exception as error:  # noqa: BLE001 - the process serves on, and the next change tries again
        traceback.print_exception(error)
