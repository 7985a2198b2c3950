from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pulumi.runtime.proto import provider_pb2

from scripts.local.plugins.command.provider import CommandProvider
from tests.local.plugins.command.support import Client
from tests.local.plugins.shared.support import EngineLog, channel_to, served

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def client() -> Iterator[Client]:
    log, provider = EngineLog(), CommandProvider("")
    with served(log.register) as engine, channel_to(provider.register) as channel:
        client = Client(channel, log)
        client.stub.Handshake(provider_pb2.ProviderHandshakeRequest(engine_address=engine))
        yield client
        provider.stop()
