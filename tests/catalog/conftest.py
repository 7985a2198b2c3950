"""The embedded target's EC2, in this process, for the tests that ask it."""

from collections.abc import Iterator

import pytest

from scripts.local.simulator.app import Simulator
from scripts.local.simulator.calls import Settings
from scripts.local.simulator.server import running


@pytest.fixture(scope="session")
def endpoint(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    settings = Settings("https://127.0.0.1:6443", "a certificate that nobody asks for")
    with running(Simulator(settings, tmp_path_factory.mktemp("ec2"))) as url:
        yield url


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Sign in as `yard local env` does."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "EMBEDDED111122223333")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "embedded")


@pytest.fixture
def signed_in(endpoint: str, credentials: None, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: ARG001 - fixtures cannot use marks
    monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
