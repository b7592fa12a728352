"""Who takes part: the floor, the engine and Azurite, each behind the SDK's own client, all with the same data."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Any, Final

from azure.core.credentials import AzureNamedKeyCredential
from azure.data.tables import TableClient

from tablepatterns.edm import Ticks
from tablepatterns.engine.account import Engine
from tablepatterns.engine.tables import Operation
from tablepatterns.engine.transport import EngineTransport

from .cases import BY_SIZE, CASES, PAGE_OF_1000, Case, new_pages
from .data import Loaded, Scale, load
from .floor import Floor, Recorder

FLOOR: Final = "floor"
ENGINE: Final = "engine"
ENGINE_LARGE: Final = "engine, large table"
AZURITE: Final = "Azurite"
AZURITE_LARGE: Final = "Azurite, large table"

_SMALL, _LARGE = "Small", "Large"
_BYTES_OF_RSS: Final = 1 if sys.platform == "darwin" else 1024


@dataclass(frozen=True)
class Entry:
    """One contestant in one case."""

    case: Case
    contestant: str
    table: TableClient
    loaded: Loaded


class EngineSide:
    """The engine with both tables, and the floor with the answers that the engine gives.

    :ivar memory: bytes that the large table takes: the growth of the process, the allocator's waste included
    """

    def __init__(self, scale: Scale) -> None:
        self._engine = Engine()
        self._engine.tables.create(_LARGE)
        before = _peak()
        self.large = load(self._write_state, "Engine, large table", scale.partitions, scale.large)
        self.memory = _peak() - before
        self.small = load(_writer(self._table(_SMALL)), "Engine, small table", scale.partitions, scale.small)

    def entries(self) -> list[Entry]:
        small, large = self._table(_SMALL), self._table(_LARGE)
        found = [
            entry
            for case in CASES
            for entry in (Entry(case, FLOOR, self._floor(case), self.small), Entry(case, ENGINE, small, self.small))
        ]
        found += [Entry(case, ENGINE_LARGE, large, self.large) for case in BY_SIZE]
        for name, table in ((FLOOR, self._floor(PAGE_OF_1000)), (ENGINE_LARGE, large)):
            found.append(Entry(new_pages(table), name, table, self.large))
        return found

    def _write_state(self, entities: list[dict[str, Any]]) -> None:
        """Write past the SDK: a million entities would take it minutes."""
        self._engine.tables.transact(_LARGE, [_operation(**each) for each in entities])

    def _floor(self, case: Case) -> TableClient:
        """Return a client whose every answer is the one that the engine gives to this case."""
        recorder = Recorder(self._engine)
        case.check(case.call(self._table(_SMALL, recorder), case.ask(self.small, Random(0))))
        (answer,) = recorder.answers
        return self._table(_SMALL, Floor(answer))

    def _table(self, name: str, transport: EngineTransport | Floor | None = None) -> TableClient:
        account = self._engine.account_name
        credential = AzureNamedKeyCredential(account, self._engine.account_key)
        url = f"https://{account}.table.core.windows.net"
        return TableClient(url, name, credential=credential, transport=transport or EngineTransport(self._engine))


class AzuriteSide:
    """Azurite with both tables, the large one as far as it gets in its time."""

    def __init__(self, scale: Scale, connection_string: str) -> None:
        self._connection_string = connection_string
        small, large = _writer(self._table(_SMALL)), _writer(self._table(_LARGE))
        seconds = scale.azurite_seconds
        self.small = load(small, "Azurite, small table", scale.partitions, scale.small)
        self.large = load(large, "Azurite, large table", scale.partitions, scale.large, seconds)
        if self.large.rows < self.small.rows:
            raise RuntimeError(f"Azurite loaded only {self.large.entities:,} entities in {seconds} seconds")

    def entries(self) -> list[Entry]:
        small, large = self._table(_SMALL), self._table(_LARGE)
        found = [Entry(case, AZURITE, small, self.small) for case in CASES]
        return found + [Entry(case, AZURITE_LARGE, large, self.large) for case in BY_SIZE]

    def _table(self, name: str) -> TableClient:
        return TableClient.from_connection_string(self._connection_string, name)


def _writer(table: TableClient) -> Callable[[list[dict[str, Any]]], object]:
    """Create a table and return what writes entities of one partition to it."""
    table.create_table()
    return lambda entities: table.submit_transaction([("create", each) for each in entities])


def _operation(PartitionKey: str, RowKey: str, **properties: Any) -> Operation:  # noqa: N803 - the service's names
    typed = {name: Ticks.of(each) if isinstance(each, datetime) else each for name, each in properties.items()}
    return Operation("insert", PartitionKey, RowKey, typed)


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _BYTES_OF_RSS
