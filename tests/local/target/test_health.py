import http.server
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from typing_extensions import override

from scripts.local.target import health
from scripts.local.target.files import write_json
from scripts.local.target.health import Health, heartbeat_probe, http_probe


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path == "/slow":
            self.server.released.wait(10)
        self.send_response(200 if self.path in {"/well", "/slow"} else 500)
        self.send_header("Content-Length", "0")
        self.end_headers()

    @override
    def log_message(self, format: str, *args: object) -> None: ...


@pytest.fixture
def url() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.released = threading.Event()
    thread = threading.Thread(target=server.serve_forever, args=[0.01])
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.released.set()
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_part_that_answers_is_well(url: str) -> None:
    assert http_probe(f"{url}/well")() == Health("pass")


def test_a_part_that_answers_with_an_error_is_not(url: str) -> None:
    assert http_probe(f"{url}/ill")() == Health("fail", f"answers 500 at {url}/ill")


def test_a_part_that_nobody_listens_for_is_not(url: str) -> None:
    nobody = url.replace("127.0.0.1", "127.0.0.2")
    assert http_probe(nobody)() == Health("fail", f"[Errno 111] Connection refused at {nobody}")


def test_of_a_part_that_is_slow_nothing_is_known(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "ANSWER_SECONDS", 0.05)
    assert http_probe(f"{url}/slow")() == Health(
        "unknown", f"no answer within 0.05 s at {url}/slow"
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, Health("fail", "has not finished a round yet")),
        ({"at": 95.0, "error": None}, Health("pass")),
        ({"at": 95.0, "error": "no luck"}, Health("fail", "no luck")),
        ({"at": 50.0, "error": None}, Health("unknown", "last finished a round 50 s ago")),
    ],
)
def test_a_loop_is_judged_by_its_heartbeat(
    tmp_path: Path, content: dict[str, object] | None, expected: Health
) -> None:
    path = tmp_path / "heartbeat.json"
    if content:
        write_json(path, content)
    assert heartbeat_probe(path, 20, clock=lambda: 100.0)() == expected
