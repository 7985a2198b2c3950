"""One simulator for all tests of the AWS plugin, in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from scripts.local.simulator.app import Simulator
from scripts.local.simulator.calls import Settings
from scripts.local.simulator.server import running
from tests.local.plugins.aws.support import ACCOUNT, Engine, configured
from tests.local.plugins.aws.world import World

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

PEM = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


@pytest.fixture(scope="session")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mapping[str, str]]:
    simulator = Simulator(Settings("https://127.0.0.1:6443", PEM), tmp_path_factory.mktemp("aws"))
    with running(simulator) as url:
        values = {
            "AWS_ENDPOINT_URL": url,
            "AWS_ACCESS_KEY_ID": f"EMBEDDED{ACCOUNT}",
            "AWS_SECRET_ACCESS_KEY": "embedded",
        }
        yield values


@pytest.fixture(scope="session")
def engine(environment: Mapping[str, str]) -> Engine:
    made = configured(
        environment, {"defaultTags": '{"tags": {"project": "trainyard", "stack": "test"}}'}
    )
    session = made.provider._session
    assert session is not None
    session.patience = 2
    return made


@pytest.fixture(scope="session")
def world(engine: Engine) -> World:
    return World(engine)
