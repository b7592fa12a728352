"""The contestants for tables: the floor, the engine and Azurite, each behind the SDK's client, with the same data."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from azure.core.credentials import AzureNamedKeyCredential
from azure.data.tables import TableClient

from tablepatterns.edm import Ticks
from tablepatterns_engine.account import Engine
from tablepatterns_engine.tables.service import Operation
from tablepatterns_engine.transport import EngineTransport

from .case import AZURITE, AZURITE_LARGE, ENGINE, ENGINE_LARGE, FLOOR, Case, Entry, Place, at
from .data import Scale, load
from .floor import SdkResponse, Transport, floor_of
from .table_cases import BY_SIZE, CASES, PAGE_OF_1000, new_pages

_SMALL, _LARGE = "Small", "Large"
_BYTES_OF_RSS: Final = 1 if sys.platform == "darwin" else 1024


class EngineTables:
    """The engine with both tables, and the floor with the engine's responses.

    :ivar memory: the bytes of the large table: the growth of the process, including the allocator's overhead
    """

    def __init__(self, scale: Scale) -> None:
        self._engine = Engine()
        before = _peak()
        large = load(self._writer(_LARGE), "Engine, large table", scale.partitions, scale.large)
        self.memory = _peak() - before
        small = load(self._writer(_SMALL), "Engine, small table", scale.partitions, scale.small)
        self.places = {ENGINE: Place(self._table(_SMALL), small), ENGINE_LARGE: Place(self._table(_LARGE), large)}

    def entries(self) -> list[Entry[TableClient]]:
        small, large = self.places[ENGINE], self.places[ENGINE_LARGE]
        floors = {case: self._floor(case, small) for case in CASES}
        found = [entry for case in CASES for entry in (floors[case], at(case, ENGINE, small))]
        found += [at(case, ENGINE_LARGE, large) for case in BY_SIZE]
        page = floors[PAGE_OF_1000].client
        found.append(Entry(new_pages(page), FLOOR, page, small))
        return [*found, at(new_pages(large.client), ENGINE_LARGE, large)]

    def _floor(self, case: Case[TableClient], place: Place[TableClient]) -> Entry[TableClient]:
        return floor_of(case, self._engine, place, lambda each: self._table(_SMALL, each), SdkResponse)

    def _writer(self, name: str) -> Callable[[list[dict[str, Any]]], object]:
        """Create a table, and return a function that writes to it without the SDK, which is much slower."""
        tables = self._engine.tables
        tables.create(name)
        return lambda entities: tables.transact(name, [_operation(**each) for each in entities])

    def _table(self, name: str, transport: Transport | None = None) -> TableClient:
        account = self._engine.account_name
        credential = AzureNamedKeyCredential(account, self._engine.account_key)
        url = f"https://{account}.table.core.windows.net"
        return TableClient(url, name, credential=credential, transport=transport or EngineTransport(self._engine))


class AzuriteTables:
    """Azurite with both tables; the large one has as many rows as the time allows."""

    def __init__(self, scale: Scale, connection_string: str) -> None:
        small, large = (TableClient.from_connection_string(connection_string, name) for name in (_SMALL, _LARGE))
        seconds = scale.azurite_seconds
        loaded = load(_writer(small), "Azurite, small table", scale.partitions, scale.small)
        grown = load(_writer(large), "Azurite, large table", scale.partitions, scale.large, seconds)
        if grown.rows < loaded.rows:
            raise RuntimeError(f"Azurite loaded only {grown.entities:,} entities in {seconds} seconds")
        self.places = {AZURITE: Place(small, loaded), AZURITE_LARGE: Place(large, grown)}

    def entries(self) -> list[Entry[TableClient]]:
        found = [at(case, AZURITE, self.places[AZURITE]) for case in CASES]
        return found + [at(case, AZURITE_LARGE, self.places[AZURITE_LARGE]) for case in BY_SIZE]


def _writer(table: TableClient) -> Callable[[list[dict[str, Any]]], object]:
    """Create a table, and return a function that writes entities of one partition to it."""
    table.create_table()
    return lambda entities: table.submit_transaction([("create", each) for each in entities])


def _operation(PartitionKey: str, RowKey: str, **properties: Any) -> Operation:  # noqa: N803 - the service's names
    typed = {name: Ticks.of(each) if isinstance(each, datetime) else each for name, each in properties.items()}
    return Operation("insert", PartitionKey, RowKey, typed)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _BYTES_OF_RSS
