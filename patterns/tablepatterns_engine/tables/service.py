"""The Table service of one account: its state and its rules, without HTTP, JSON or XML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import islice
from typing import Final

from tablepatterns.edm import Ticks
from tablepatterns.errors import BadInput
from tablepatterns.filters import Filter, Value
from tablepatterns.limits import MAX_PAGE_ENTITIES, RESERVED_TABLE_NAMES, TABLE_NAME_MAX_LENGTH, TABLE_NAME_MIN_LENGTH

from .. import errors
from ..clock import Clock
from ..collections import OrderedMap
from ..errors import ServiceError, TransactionError
from ..key_range import KeyScope, after
from ..resources import AccessPolicy, Deletions, Settings, check_policies
from .entities import Entity, Operation, check, check_key, check_transaction, each, outcome
from .query import Page, Scan, make_plan
from .state import Table

__all__ = ["KeyScope", "Operation", "Page", "Tables"]

_PERMISSIONS: Final = "raud"
_ROWS_AT_ONCE: Final = MAX_PAGE_ENTITIES + 1
"""How many rows a query reads before other requests may run; most pages are shorter."""
_NAME_CHARACTERS: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*")


class Tables(Settings):
    """One account's tables. Thread-safe: every method is atomic, and a rejected call changes nothing.

    :param page_examines: the number of examined entities after which a page ends, so that pages can be short
        or empty, as on the service after five seconds; None for pages that end only when they are full
    """

    def __init__(self, clock: Clock, *, page_examines: int | None = None) -> None:
        if page_examines is not None and page_examines < 1:
            rule = "a page examines at least one entity, or a query would never end"
            raise BadInput("page_examines", page_examines, rule, "pass 1 or more, or None for full pages")
        super().__init__(clock)
        self._page_examines = page_examines
        self._tables: OrderedMap[Table] = OrderedMap()
        self.deletions = Deletions(clock, errors.TABLE_BEING_DELETED)

    # -- Tables

    def create(self, name: str) -> None:
        """Create a table. Names are case-insensitive; the first spelling is kept."""
        key = _checked_name(name)
        with self._lock:
            if self._tables.get(key) is not None:
                raise ServiceError(errors.TABLE_ALREADY_EXISTS)
            self.deletions.check(key)
            self._tables[key] = Table(name)

    def delete(self, name: str) -> None:
        """Delete a table with its entities immediately; its name is free once the deletion has finished."""
        key = _checked_name(name)
        with self._lock:
            if self._tables.get(key) is None:
                raise ServiceError(errors.RESOURCE_NOT_FOUND)
            del self._tables[key]
            self.deletions.begin(key)

    def names(
        self, mark: str | None = None, limit: int = MAX_PAGE_ENTITIES, predicate: Callable[[str], bool] | None = None
    ) -> tuple[list[str], str | None]:
        """Return a page of at most 1,000 sorted table names, and the marker of the next page; None on the last."""
        limit = min(limit, MAX_PAGE_ENTITIES)
        found: list[str] = []
        last = mark
        with self._lock:
            for table in self._tables.walk("" if mark is None else after(mark.lower())):
                if len(found) == limit:
                    return found, last if limit else None
                last = table.name
                if predicate is None or predicate(last):
                    found.append(last)
        return found, None

    def table(self, name: str) -> Table:
        with self._lock:
            return self._find(name)

    def _find(self, name: str) -> Table:
        key = _checked_name(name)
        rows = self._tables.get(key)
        if rows is None:
            self.deletions.check(key)
            raise ServiceError(errors.TABLE_NOT_FOUND)
        return rows

    # -- Entities

    def get(self, table: str, partition_key: str, row_key: str) -> Entity:
        with self._lock:
            entity = self._find(table).find(partition_key, row_key)
        if entity is not None:
            return entity
        check_key("PartitionKey", partition_key, in_body=False)
        check_key("RowKey", row_key, in_body=False)
        raise ServiceError(errors.RESOURCE_NOT_FOUND)

    def apply(self, table: str, operation: Operation) -> Entity | None:
        """Execute a write, and return the version it created; None for a delete."""
        size = check(operation)
        with self._lock:
            found = self._find(table)
            return _store(found, operation, _outcome(found, operation, size), self._clock.stamp())

    def transact(self, table: str, operations: Sequence[Operation]) -> list[Entity | None]:
        """Execute an entity group transaction, atomically; return one version (or None) per operation.

        All versions have the same timestamp and ETag, as they often do on the service.
        """
        if not operations:
            return []
        checked = list(zip(operations, check_transaction(operations), strict=True))
        with self._lock:
            try:
                found = self._find(table)
            except ServiceError as error:
                # The service reports a missing table as an error of the first operation
                raise TransactionError(error.error_message, index=0, operations=len(operations)) from error
            outcomes = each(checked, lambda each: _outcome(found, *each))
            timestamp = self._clock.stamp()
            return [_store(found, *decided, timestamp) for decided in zip(operations, outcomes, strict=True)]

    def fill(self, table: str, rows: Iterable[tuple[str, str, Mapping[str, Value]]]) -> None:
        """Store entities without requests, replacing those with the same keys; a missing table is created.

        It is for sample data, and is not in the ledger. After an error, the entities before it are stored.
        """
        with self._lock:
            if self._tables.get(_checked_name(table)) is None:
                self.create(table)
            for partition_key, row_key, properties in rows:
                self.apply(table, Operation("insert_or_replace", partition_key, row_key, properties))

    def query(
        self,
        table: str,
        expression: Filter | None = None,
        *,
        limit: int = MAX_PAGE_ENTITIES,
        start: tuple[str, str] | None = None,
        scope: KeyScope | None = None,
    ) -> Page:
        """Return a page of at most 1,000 entities that match a filter, in key order.

        :param start: the keys at which the page starts: `next` of the previous page
        :param scope: the key range that may be read; by default the whole table
        """
        scan = Scan(make_plan(expression), limit, self._page_examines)
        with self._lock:
            found = self._find(table)
            rows = scan.rows(found, start, scope)
            page = scan.read(islice(rows, _ROWS_AT_ONCE))
            if page is None and scan.examined < _ROWS_AT_ONCE:
                page = scan.page()
            if page is not None:
                return page
            walk = found.begin(rows)
        try:
            # Other requests may run in between
            while page is None:
                with self._lock:
                    part = walk.part(_ROWS_AT_ONCE)
                page = scan.read(iter(part)) if part else scan.page()
            return page
        finally:
            with self._lock:
                found.end(walk)

    # -- Access policies

    def get_policies(self, table: str) -> Sequence[AccessPolicy]:
        return self.table(table).policies

    def set_policies(self, table: str, policies: Sequence[AccessPolicy]) -> None:
        check_policies(policies, _PERMISSIONS)
        with self._lock:
            self.table(table).policies = tuple(policies)


def _outcome(table: Table, operation: Operation, size: int) -> Mapping[str, Value] | None:
    return outcome(operation, size, table.find(operation.partition_key, operation.row_key))


def _store(
    table: Table, operation: Operation, properties: Mapping[str, Value] | None, timestamp: Ticks
) -> Entity | None:
    """Apply a write whose outcome is known; this cannot fail."""
    if properties is None:
        table.remove(operation.partition_key, operation.row_key)
        return None
    return table.put(operation.partition_key, operation.row_key, properties, timestamp)


@lru_cache(maxsize=4096)
def _checked_name(name: str) -> str:
    """Return the key of a table in the state; reject an invalid name."""
    if not TABLE_NAME_MIN_LENGTH <= len(name) <= TABLE_NAME_MAX_LENGTH:
        raise ServiceError(errors.RESOURCE_NAME_LENGTH)
    if not _NAME_CHARACTERS.fullmatch(name):
        raise ServiceError(errors.RESOURCE_NAME_CHARACTERS)
    if name.lower() in RESERVED_TABLE_NAMES:
        raise ServiceError(errors.INVALID_INPUT)
    return name.lower()
