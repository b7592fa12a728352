"""Fixtures for tests of the Blob service's REST interface: a container, SDK clients, and raw requests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.storage.blob import BlobServiceClient, ContainerClient

from support.blob_requests import BlobWire
from support.soundness import check_blobs
from tablepatterns_engine.account import Engine
from tablepatterns_engine.transport import EngineTransport

URL = "https://contoso.blob.core.windows.net"


@pytest.fixture
def engine(engine: Engine) -> Iterator[Engine]:
    """An account named contoso with one empty container, photos; its invariants are checked after the test."""
    engine.blobs.containers.create("photos")
    yield engine
    check_blobs(engine.blobs)


@pytest.fixture
def wire(engine: Engine) -> BlobWire:
    return BlobWire(engine)


@pytest.fixture
def service(engine: Engine, key: AzureNamedKeyCredential) -> BlobServiceClient:
    return BlobServiceClient(URL, credential=key, transport=EngineTransport(engine), retry_total=0)


@pytest.fixture
def container(service: BlobServiceClient) -> ContainerClient:
    return service.get_container_client("photos")
