"""The Table service of one account: its state, its queries and its rules, without HTTP, JSON or XML."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final

from tablepatterns.edm import Ticks, ordinal
from tablepatterns.errors import BadInput
from tablepatterns.filters import Filter, Interval, KeyBounds, QueryClass, Value, classify, matcher
from tablepatterns.limits import MAX_PAGE_ENTITIES, RESERVED_TABLE_NAMES, TABLE_NAME_MAX_LENGTH, TABLE_NAME_MIN_LENGTH

from .. import errors
from ..clock import Clock
from ..collections import OrderedMap
from ..errors import ServiceError, TransactionError
from ..key_range import FIRST, KeyRange, KeyScope, after
from ..resources import AccessPolicy, Deletions, Settings, check_policies
from .entities import Entity, Operation, check, check_key, check_transaction, map_operations, outcome


class Partition(OrderedMap[Entity]):
    """The entities that share a PartitionKey, ordered by `edm.ordinal` of their row keys."""

    __slots__ = ("key",)

    def __init__(self, key: str) -> None:
        super().__init__()
        self.key = key


class Walk:
    """The rows that a query has yet to read, as they were when it started; they are read in parts.

    A write to the table copies them first, so that the query is a snapshot and other requests need not wait for
    its end.
    """

    __slots__ = ("_rows",)

    def __init__(self, rows: Iterator[Entity]) -> None:
        self._rows = rows

    def part(self, count: int) -> list[Entity]:
        return list(islice(self._rows, count))

    def copy(self) -> None:
        self._rows = iter(list(self._rows))


class Table:
    """A table, with its name as spelled at creation. Not thread-safe: `Tables` guards it."""

    __slots__ = ("name", "partitions", "policies", "walks")

    def __init__(self, name: str) -> None:
        self.name = name
        self.partitions: OrderedMap[Partition] = OrderedMap()
        self.policies: Sequence[AccessPolicy] = ()
        self.walks: list[Walk] = []
        """The queries in progress."""

    def find(self, partition_key: str, row_key: str) -> Entity | None:
        partition = self.partitions.get(partition_key if partition_key.isascii() else ordinal(partition_key))
        return None if partition is None else partition.get(row_key if row_key.isascii() else ordinal(row_key))

    def put(self, partition_key: str, row_key: str, properties: Mapping[str, Value], timestamp: Ticks) -> Entity:
        if self.walks:
            self._copy_walks()
        key = partition_key if partition_key.isascii() else ordinal(partition_key)
        partition = self.partitions.get(key)
        if partition is None:
            partition = self.partitions[key] = Partition(partition_key)
        row = row_key if row_key.isascii() else ordinal(row_key)
        previous = partition.get(row)
        # Versions share their key strings: at a million entities the copies would be a tenth of the memory.
        entity = Entity(partition.key, row_key if previous is None else previous.row_key, properties, timestamp)
        partition[row] = entity
        return entity

    def remove(self, partition_key: str, row_key: str) -> None:
        """Remove a stored entity, and its partition if it is then empty."""
        self._copy_walks()
        key = ordinal(partition_key)
        partition = self.partitions[key]
        del partition[ordinal(row_key)]
        if not partition:
            del self.partitions[key]

    def begin(self, rows: Iterator[Entity]) -> Walk:
        """Return a walk over rows of this table that can continue after the lock is released."""
        walk = Walk(rows)
        self.walks.append(walk)
        return walk

    def end(self, walk: Walk) -> None:
        if walk in self.walks:
            self.walks.remove(walk)

    def _copy_walks(self) -> None:
        for walk in self.walks:
            walk.copy()
        self.walks.clear()

    def walk(self, keys: KeyRange) -> Iterator[Entity]:
        """Yield the entities of a key range in order, without reading any others."""
        (first, row), upper = keys.lower, keys.upper
        last, last_row = (None, None) if upper is None else upper
        for partition in self.partitions.walk(first, None if last is None else after(last)):
            key = ordinal(partition.key)
            yield from partition.walk(row if key == first else "", last_row if key == last else None)


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a query, in key order.

    :param entities: what was found; may be empty although more follows
    :param next: the keys at which the next page begins, None on the last page
    :param examined: how many entities were read to find them
    """

    entities: list[Entity]
    next: tuple[str, str] | None
    examined: int
    query_class: QueryClass


@dataclass(frozen=True, slots=True)
class Plan:
    """How a query is executed: the key range that is read, and the filter that is applied; None returns everything."""

    key_range: KeyRange
    matches: Callable[[Entity], bool] | None
    query_class: QueryClass


@lru_cache(maxsize=512)
def make_plan(expression: Filter | None) -> Plan:
    if expression is None:
        return Plan(KeyRange(), None, QueryClass.TABLE_SCAN)
    classification = classify(expression)
    key_range = KeyRange(upper=FIRST) if classification.bounds.empty else _key_range(classification.searched)
    is_match = matcher(expression)
    return Plan(key_range, lambda entity: is_match(entity.get), classification.query_class)


class Scan:
    """Makes one page of rows that are read in key order.

    :param limit: how many entities to find at most
    :param page_examines: the number of examined entities after which the page ends at the latest
    """

    def __init__(self, plan: Plan, limit: int, page_examines: int | None) -> None:
        self._plan = plan
        self._limit = min(limit, MAX_PAGE_ENTITIES)
        self._most = page_examines
        self._matches: list[Entity] = []
        self.examined = 0
        """How many entities were read so far."""

    def rows(self, table: Table, start: tuple[str, str] | None, scope: KeyScope | None) -> Iterator[Entity]:
        if self._limit == 0:
            return iter(())
        keys = self._plan.key_range
        if start is not None:
            keys &= KeyRange((ordinal(start[0]), ordinal(start[1])))
        return table.walk(keys if scope is None else keys & scope.key_range())

    def read(self, rows: Iterator[Entity]) -> Page | None:
        """Read rows, and return the page if it ends before the last of them."""
        matches = self._plan.matches
        if matches is None:
            most = self._limit if self._most is None else min(self._limit, self._most)
            self._matches += islice(rows, most - self.examined)
            self.examined = len(self._matches)
            following = next(rows, None)
            return None if following is None else self.page(following)
        for entity in rows:
            if len(self._matches) == self._limit or self.examined == self._most:
                return self.page(entity)
            self.examined += 1
            if matches(entity):
                self._matches.append(entity)
        return None

    def page(self, following: Entity | None = None) -> Page:
        """Return the page before an entity; without one, all rows have been read, and it is the last page."""
        keys = None if following is None else (following.partition_key, following.row_key)
        return Page(self._matches, keys, self.examined, self._plan.query_class)


def _key_range(bounds: KeyBounds) -> KeyRange:
    first, end = _ends(bounds.partition_keys)
    if bounds.partition is None:
        # Row keys bound nothing where the partitions are many: each partition has its own.
        return KeyRange((first, ""), None if end is None else (end, ""))
    first_row, end_row = _ends(bounds.row_keys)
    return KeyRange((first, first_row), (after(first), "") if end_row is None else (first, end_row))


def _ends(keys: Interval) -> tuple[str, str | None]:
    lower = ordinal(keys.lower) if keys.lower_inclusive else after(ordinal(keys.lower))
    if keys.upper is None:
        return lower, None
    return lower, after(ordinal(keys.upper)) if keys.upper_inclusive else ordinal(keys.upper)


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
        names: list[str] = []
        last = mark
        with self._lock:
            for table in self._tables.walk("" if mark is None else after(mark.lower())):
                if len(names) == limit:
                    return names, last if limit else None
                last = table.name
                if predicate is None or predicate(last):
                    names.append(last)
        return names, None

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
            stored = self._find(table)
            return _store(stored, operation, _outcome(stored, operation, size), self._clock.stamp())

    def transact(self, table: str, operations: Sequence[Operation]) -> list[Entity | None]:
        """Execute an entity group transaction, atomically; return one version (or None) per operation.

        All versions have the same timestamp and ETag, as they often do on the service.
        """
        if not operations:
            return []
        checked = list(zip(operations, check_transaction(operations), strict=True))
        with self._lock:
            try:
                stored = self._find(table)
            except ServiceError as error:
                # The service reports a missing table as an error of the first operation
                raise TransactionError(error.error_message, index=0, operations=len(operations)) from error
            outcomes = map_operations(checked, lambda pair: _outcome(stored, *pair))
            timestamp = self._clock.stamp()
            return [_store(stored, *decided, timestamp) for decided in zip(operations, outcomes, strict=True)]

    def fill(self, table: str, rows: Iterable[tuple[str, str, Mapping[str, Value]]]) -> None:
        """Store entities without requests, replacing those with the same keys; a missing table is created.

        It is for sample data, and is not in the ledger. After an error, the entities before it are stored.
        """
        with self._lock:
            if self._tables.get(_checked_name(table)) is None:
                self.create(table)
            stored = self._find(table)
            for row in rows:
                operation = Operation("insert_or_replace", *row)
                _store(stored, operation, _outcome(stored, operation, check(operation)), self._clock.stamp())

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
            stored = self._find(table)
            rows = scan.rows(stored, start, scope)
            page = scan.read(islice(rows, _ROWS_AT_ONCE))
            if page is None and scan.examined < _ROWS_AT_ONCE:
                page = scan.page()
            if page is not None:
                return page
            walk = stored.begin(rows)
        try:
            # Other requests may run in between
            while page is None:
                with self._lock:
                    part = walk.part(_ROWS_AT_ONCE)
                page = scan.read(iter(part)) if part else scan.page()
            return page
        finally:
            with self._lock:
                stored.end(walk)

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
