"""Fixtures for tests of the Queue service's REST interface: a queue, SDK clients, and raw requests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.storage.queue import QueueClient, QueueServiceClient

from support.queue_requests import QueueWire
from support.soundness import check_queues
from tablepatterns_engine.account import Engine
from tablepatterns_engine.transport import EngineTransport


@pytest.fixture
def engine(engine: Engine) -> Iterator[Engine]:
    """An account named contoso with one empty queue, orders; its invariants are checked after the test."""
    engine.queues.create("orders")
    yield engine
    check_queues(engine.queues)


@pytest.fixture
def wire(engine: Engine) -> QueueWire:
    return QueueWire(engine)


@pytest.fixture
def service(engine: Engine, key: AzureNamedKeyCredential) -> QueueServiceClient:
    url = "https://contoso.queue.core.windows.net"
    return QueueServiceClient(url, credential=key, transport=EngineTransport(engine))


@pytest.fixture
def queue(service: QueueServiceClient) -> QueueClient:
    return service.get_queue_client("orders")
