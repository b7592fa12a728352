"""Compare bulk load with SDK calls that read and write the same rows in the same transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from azure.core.exceptions import ResourceNotFoundError

from tablepatterns import BulkLoad, Storage, connect
from tablepatterns.connection import in_memory
from tablepatterns.entity import WRITE_ID
from tablepatterns.entity_set.derived import Derived
from tablepatterns.sdk.account_sender import AccountSender
from tablepatterns.sdk.table import Table
from tablepatterns_engine.account import Engine

from ..data import RecipeScale
from .flights import BY_DESTINATION, BY_ORIGIN, BY_PLANE, PER_DAY, TABLE, TO, Flight, flights, january
from .runs import Run, Work

BARE: Final = "bare"
WRITES: Final = "bare, writes alone"
LOADED: Final = "BulkLoad"

DERIVED: Final[dict[str, tuple[Derived, ...]]] = {
    "nothing derived": (),
    "one index": (BY_PLANE,),
    "three indexes": (BY_PLANE, BY_DESTINATION, BY_ORIGIN),
}
SHARING: Final[dict[str, tuple[Derived, ...]]] = {
    "an index, a summary, index entities": (BY_PLANE, PER_DAY, TO),
}

Row = dict[str, Any]

_READ: Final = "get_entity"
_WRITES: Final = ("create_entity", "update_entity", "upsert_entity", "delete_entity")


@dataclass(frozen=True)
class Call:
    """A recorded call of the SDK's table client: its method and arguments."""

    word: str
    given: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict[str, Any])


class Tracing:
    """A table client that records successful writes and point queries.

    The recorded writes are unconditional, because ETags differ in a second account.
    """

    def __init__(self, client: Any, calls: list[Call]) -> None:
        self._client = client
        self._calls = calls

    def submit_transaction(self, operations: Sequence[tuple[str, Any, dict[str, Any]]], **options: Any) -> Any:
        answer = self._client.submit_transaction(operations, **options)
        self._calls.append(Call("submit_transaction", ([(word, row, _free(how)) for word, row, how in operations],)))
        return answer

    def get_entity(self, *keys: str, **options: Any) -> Any:
        self._calls.append(Call(_READ, keys, options))
        return self._client.get_entity(*keys, **options)

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._client, name)
        return self._noting(name, found) if name in _WRITES else found

    def _noting(self, word: str, call: Callable[..., Any]) -> Callable[..., Any]:
        def noted(*given: Any, **options: Any) -> Any:
            answer = call(*given, **options)
            self._calls.append(Call(word, given, _free(options)))
            return answer

        return noted


def _free(options: dict[str, Any]) -> dict[str, Any]:
    return {name: each for name, each in options.items() if name == "mode"}


class TracedStorage(Storage):
    """An in-memory account that records the calls of its table clients."""

    def __init__(self, calls: list[Call]) -> None:
        engine = Engine()
        super().__init__(in_memory(engine.account_name, engine.account_key), engine, {})
        self._calls = calls

    def table(self, name: str) -> Table:
        # Without a transport, the SDK's clients send all requests
        return Table(Tracing(self.tables.get_table_client(name), self._calls), None, AccountSender(None, "", {}))


@dataclass(frozen=True)
class Traced:
    """One kind of load, carried out once.

    :param calls: the recorded calls
    :param physical: all rows that it stored
    """

    name: str
    rows: list[Flight]
    derived: tuple[Derived, ...]
    calls: list[Call]
    physical: list[Row]

    def runs(self) -> Iterator[Run]:
        """Yield the ways to write these rows."""
        case, count = f"bulk load, {self.name}", len(self.rows)
        yield Run(case, BARE, count, lambda: bare(self.calls), self._is_right)
        if self.writes != self.calls:
            yield Run(case, WRITES, count, lambda: bare(self.writes), self._is_right)
        yield Run(case, LOADED, count, lambda: _loading(self.rows, self.derived), self._is_right)

    @property
    def writes(self) -> list[Call]:
        """The calls that write."""
        return [call for call in self.calls if call.word != _READ]

    def _is_right(self, storage: Storage) -> bool:
        return _rows_of(storage) == self.physical


def traced(scale: RecipeScale) -> Iterator[Traced]:
    """Load flights with each kind of derived data, and yield the recorded loads."""
    counts = {name: scale.rows // (1 + len(derived)) for name, derived in DERIVED.items()}
    for name, derived in {**DERIVED, **SHARING}.items():
        rows, calls = january(counts.get(name, scale.sharing)), list[Call]()
        storage = TracedStorage(calls)
        BulkLoad(flights(storage, *derived)).load(rows)
        yield Traced(name, rows, derived, calls, _rows_of(storage))


def bare(calls: Sequence[Call]) -> Work:
    storage = connect()
    client = storage.tables.create_table(TABLE)

    def work() -> Storage:
        for call in calls:
            # A row that is read before its first write
            with suppress(ResourceNotFoundError):
                getattr(client, call.word)(*call.given, **call.options)
        return storage

    return work


def _loading(rows: list[Flight], derived: tuple[Derived, ...]) -> Work:
    storage = connect()
    into = flights(storage, *derived)
    into.create_table()

    def work() -> Storage:
        BulkLoad(into).load(rows)
        return storage

    return work


def _rows_of(storage: Storage) -> list[Row]:
    """Return the rows of a table, without values that differ from write to write."""
    found = storage.tables.get_table_client(TABLE).list_entities()
    return [{name: value for name, value in row.items() if name != WRITE_ID} for row in found]
