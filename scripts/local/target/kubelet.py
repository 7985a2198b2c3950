"""``python -m scripts.local.target.kubelet``: answers for the kubelets of all simulated nodes.

The API server asks it for a pod's log, over TLS with its client certificate, as it would ask a
real kubelet. The answer is made on the spot from the faults of the pod's node.
"""

import http.server
import signal
import ssl
import sys
import threading
import time
import traceback
import urllib.parse
from http import HTTPStatus
from pathlib import Path
from types import FrameType

import click
from typing_extensions import override

from scripts.local.home import Home
from scripts.local.target.api import Api, ApiError, UnreachableError, code
from scripts.local.target.logs import Logs, NodeIsDeadError
from scripts.local.target.pki import Pki

__all__ = ["main", "server"]

FOLLOW_SECONDS = 600.0
POLL_SECONDS = 0.2


class Handler(http.server.BaseHTTPRequestHandler):
    """One request of the API server."""

    protocol_version = "HTTP/1.1"
    logs: Logs

    @override
    def setup(self) -> None:
        super().setup()
        self.connection.settimeout(FOLLOW_SECONDS)

    def do_GET(self) -> None:
        """Serve ``/healthz`` and ``/containerLogs/NAMESPACE/POD/CONTAINER``."""
        url = urllib.parse.urlsplit(self.path)
        query = dict(urllib.parse.parse_qsl(url.query))
        match url.path.strip("/").split("/"):
            case ["healthz"]:
                self._answer(HTTPStatus.OK, "ok")
            case ["containerLogs", namespace, pod, container]:
                self._log(namespace, pod, container, query)
            case _:
                self._refuse()

    def do_POST(self) -> None:
        """Refuse what needs a real container: exec, attach, port-forward."""
        self._refuse()

    def _refuse(self) -> None:
        text = "this is Trainyard's kubelet stand-in: it serves logs and nothing else\n"
        self._answer(HTTPStatus.NOT_IMPLEMENTED, text)

    def _log(self, namespace: str, pod: str, container: str, query: dict[str, str]) -> None:
        try:
            text = self.logs.read(namespace, pod, container)
            deadline = time.monotonic() + FOLLOW_SECONDS
            while text is None and query.get("follow") == "true" and time.monotonic() < deadline:
                time.sleep(POLL_SECONDS)
                text = self.logs.read(namespace, pod, container)
        except NodeIsDeadError as error:
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, f"{error}\n")
        except ApiError as error:
            self._answer(HTTPStatus(code(error)), f"{error}\n")
        except UnreachableError as error:
            self._answer(HTTPStatus.SERVICE_UNAVAILABLE, f"no answer of the API server: {error}\n")
        else:
            self._answer(HTTPStatus.OK, tail(text or "", query.get("tailLines")))

    def _answer(self, status: HTTPStatus, text: str) -> None:
        content = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    @override
    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Write no line per request; errors are written."""


def tail(text: str, lines: str | None) -> str:
    """Give the last lines only, when a number is asked for."""
    if lines is None:
        return text
    kept = text.splitlines(keepends=True)
    return "".join(kept[max(0, len(kept) - int(lines)) :])


class Server(http.server.ThreadingHTTPServer):
    """A thread per connection; the TLS handshake is made there, not while accepting."""

    daemon_threads = True

    @override
    def handle_error(self, request: object, client_address: object) -> None:
        """Write the error, unless the other end broke the connection off."""
        error = sys.exception()
        if not isinstance(error, ConnectionError | ssl.SSLError | TimeoutError):
            traceback.print_exception(error)


def server(port: int, pki: Pki, logs: Logs) -> Server:
    """Listen on 127.0.0.1 for clients that show a certificate of the target's authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pki.certificate("server"), pki.key("server"))
    context.load_verify_locations(pki.ca)
    context.verify_mode = ssl.CERT_REQUIRED
    handler = type("BoundHandler", (Handler,), {"logs": logs})
    listening = Server(("127.0.0.1", port), handler)
    listening.socket = context.wrap_socket(
        listening.socket, server_side=True, do_handshake_on_connect=False
    )
    return listening


@click.command()
@click.option("--home", "root", type=click.Path(path_type=Path, file_okay=False), required=True)
@click.option("--port", type=int, required=True, help="Port of 127.0.0.1.")
def main(root: Path, port: int) -> None:
    """Answer for all kubelets until SIGTERM."""
    home = Home(root)
    listening = server(port, Pki(home.pki), Logs(Api(home), home.faults))

    def stop(_number: int, _frame: FrameType | None) -> None:
        # shutdown() waits for the loop, which runs in this very thread.
        threading.Thread(target=listening.shutdown).start()

    signal.signal(signal.SIGTERM, stop)
    listening.serve_forever()
    listening.server_close()


if __name__ == "__main__":
    main()
