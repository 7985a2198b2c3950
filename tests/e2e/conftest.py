"""One embedded target for all end-to-end tests, in a folder of its own, gone afterwards."""

from collections.abc import Iterator

import pytest

from tests.e2e.support import Machine


@pytest.fixture(scope="session")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    machine = Machine(tmp_path_factory.mktemp("home"))
    yield machine
    machine.stop()
