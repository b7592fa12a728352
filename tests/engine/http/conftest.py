"""Fixtures for tests of the REST interface: an account with a frozen clock, SDK clients, and raw requests."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timezone

import pytest
from azure.core.credentials import AzureNamedKeyCredential
from azure.data.tables import TableClient, TableServiceClient

from support.soundness import check_tables
from support.table_requests import Wire
from tablepatterns_engine.account import Engine
from tablepatterns_engine.clock import Clock
from tablepatterns_engine.transport import EngineTransport


@pytest.fixture
def engine() -> Iterator[Engine]:
    """An account named contoso with one empty table, Employees; its invariants are checked after the test."""
    engine = Engine("contoso", clock=Clock(datetime(2014, 8, 22, 0, 50, 32, 500_000, tzinfo=timezone.utc)))
    engine.tables.create("Employees")
    yield engine
    check_tables(engine.tables)


@pytest.fixture
def wire(engine: Engine) -> Wire:
    return Wire(engine)


@pytest.fixture
def key(engine: Engine) -> AzureNamedKeyCredential:
    return AzureNamedKeyCredential(engine.account_name, engine.account_key)


@pytest.fixture
def service(engine: Engine, key: AzureNamedKeyCredential) -> TableServiceClient:
    url = "https://contoso.table.core.windows.net"
    return TableServiceClient(url, credential=key, transport=EngineTransport(engine))


@pytest.fixture
def table(service: TableServiceClient) -> TableClient:
    return service.get_table_client("Employees")
