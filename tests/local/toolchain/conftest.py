from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.local.toolchain.workshop import FakeWorkshop


@pytest.fixture
def workshop(tmp_path: Path) -> Iterator[FakeWorkshop]:
    yield FakeWorkshop(tmp_path)
    # A build that waits for this file to go must not outlive its test.
    (tmp_path / "slow").unlink(missing_ok=True)
