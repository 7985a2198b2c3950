"""What holds for every test: no credentials of a person, and no way to a cloud."""

import os

import pytest

from tests.support.golden import Golden


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the expected files of tests/data again"
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Golden:
    return Golden(update=bool(request.config.getoption("--update-golden")))


def pytest_configure(config: pytest.Config) -> None:
    """Let the AWS SDK say on import which of its own classes are old; the program uses none."""
    config.addinivalue_line("filterwarnings", r"ignore::DeprecationWarning:pulumi_aws\..*")


PERSONAL = ("AWS_", "KUBECONFIG", "PULUMI_", "TRAINYARD_")


@pytest.fixture(autouse=True)
def no_live_credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    """Take away what could lead a test to a real account, cluster or backend."""
    for name in os.environ:
        if name.startswith(PERSONAL):
            monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", os.devnull)
