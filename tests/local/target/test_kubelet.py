import contextlib
import datetime as dt
import http.client
import ssl
import threading
from collections.abc import Iterator

import pytest

from scripts.local.target.kubelet import server, tail
from scripts.local.target.logs import NodeIsDeadError
from scripts.local.target.pki import Pki, ensure_pki


class FakeLogs:
    """Has the log ``LOG`` at the third reading; the pod ``dead`` is on a dead node."""

    def __init__(self) -> None:
        self.readings = 0

    def read(self, namespace: str, pod: str, container: str) -> str | None:
        self.readings += 1
        if pod == "dead":
            raise NodeIsDeadError("node-1")
        return f"{namespace}/{pod}/{container}\nsecond\n" if self.readings > 2 else None


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    return ensure_pki(tmp_path_factory.mktemp("pki"), dt.datetime.now(dt.UTC))


@pytest.fixture
def port(pki: Pki) -> Iterator[int]:
    listening = server(0, pki, FakeLogs())
    thread = threading.Thread(target=listening.serve_forever, args=[0.01])
    thread.start()
    yield listening.server_port
    listening.shutdown()
    thread.join()
    listening.server_close()


def ask(port: int, pki: Pki, path: str, method: str = "GET") -> tuple[int, str]:
    context = ssl.create_default_context(cafile=str(pki.ca))
    context.load_cert_chain(pki.certificate("apiserver-kubelet"), pki.key("apiserver-kubelet"))
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=10)
    with contextlib.closing(connection):
        return exchange(connection, path, method)


def exchange(
    connection: http.client.HTTPSConnection, path: str = "/healthz", method: str = "GET"
) -> tuple[int, str]:
    connection.request(method, path)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_it_says_that_it_is_well(port: int, pki: Pki) -> None:
    assert ask(port, pki, "/healthz") == (200, "ok")


def test_a_log_that_is_followed_comes_when_it_is_there(port: int, pki: Pki) -> None:
    asked = ask(port, pki, "/containerLogs/ns/pod/check?follow=true")
    assert asked == (200, "ns/pod/check\nsecond\n")


def test_a_log_that_is_not_followed_is_what_there_is_now(port: int, pki: Pki) -> None:
    assert ask(port, pki, "/containerLogs/ns/pod/check") == (200, "")


def test_only_the_last_lines_come_when_a_number_is_asked_for(port: int, pki: Pki) -> None:
    asked = ask(port, pki, "/containerLogs/ns/pod/check?follow=true&tailLines=1")
    assert asked == (200, "second\n")


def test_a_dead_node_does_not_answer(port: int, pki: Pki) -> None:
    assert ask(port, pki, "/containerLogs/ns/dead/check") == (
        503,
        "node node-1 does not answer: a fault of the target has killed it\n",
    )


@pytest.mark.parametrize(("method", "path"), [("POST", "/exec/ns/pod/check"), ("GET", "/pods")])
def test_it_serves_logs_and_nothing_else(port: int, pki: Pki, method: str, path: str) -> None:
    assert ask(port, pki, path, method) == (
        501,
        "this is Trainyard's kubelet stand-in: it serves logs and nothing else\n",
    )


def test_who_shows_no_certificate_gets_nothing(port: int, pki: Pki) -> None:
    context = ssl.create_default_context(cafile=str(pki.ca))
    connection = http.client.HTTPSConnection("127.0.0.1", port, context=context, timeout=10)
    with contextlib.closing(connection), pytest.raises((ssl.SSLError, ConnectionError)):
        exchange(connection)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [(None, "a\nb\nc\n"), ("2", "b\nc\n"), ("0", ""), ("9", "a\nb\nc\n")],
)
def test_the_tail_of_a_log(lines: str | None, expected: str) -> None:
    assert tail("a\nb\nc\n", lines) == expected
