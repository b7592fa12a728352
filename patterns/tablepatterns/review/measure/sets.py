"""Fill each kind of declared set with entities, and call it through the recipe that stores it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timezone
from itertools import islice
from typing import Any, Final, Literal, TypeAlias

from ...edm import Ticks
from ...entity import WRITE_ID, Entity
from ...entity_set.derived import Derived, RowLayout, profile_of, rows_from
from ...entity_set.entity_set import EntitySet
from ...entity_set.internals import intents_or_none, mappings_of, primary_layout
from ...filters import Filter, QueryClass
from ...key import Key
from ...key.ranges import Between
from ...recipes.bulk_load.bulk_load import BulkLoad
from ...recipes.data_series import DataSeries
from ...recipes.entity_group_transaction import EntityGroupTransaction
from ...recipes.log_tail import LogTail
from ...recipes.partition_move import PartitionMove
from ...recipes.partition_spread.partition_spread import PartitionSpread
from ...recipes.period_tables.period_tables import PeriodTables
from ...recipes.wide_entity.wide_entity import WideEntity
from ...storage import Storage

_ID: Final = bytes(16)
"""The bytes of a write id, which every row has."""

Row: TypeAlias = tuple[str, str, str, dict[str, Any]]
"""Table, PartitionKey, RowKey and properties."""


def rows_of(entities: EntitySet[Storage], made: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield the rows of these entities, and the rows derived from them in tables.

    :param entities: the set
    :param made: the fields of each entity
    """
    table = entities.table.name
    for fields in made:
        yield _row(table, primary_layout(entities), fields)
    for derived in entities.derived:
        yield from _derived_rows(entities, derived, made)


def _derived_rows(entities: EntitySet[Storage], derived: Derived, made: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    table = derived.table(entities.table.name)
    for keys, properties in rows_from(derived, entities.key, made):
        yield (table, *keys, _stored(properties))


def _row(table: str, shape: RowLayout, fields: Mapping[str, Any]) -> Row:
    properties = shape.row(fields)
    partition_key, row_key = properties.pop("PartitionKey"), properties.pop("RowKey")
    return table, partition_key, row_key, _stored(properties)


def _stored(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _value(value) for name, value in properties.items()} | {WRITE_ID: _ID}


def _value(value: Any) -> Any:
    if isinstance(value, datetime):
        return Ticks.of(value)
    if isinstance(value, date):
        return Ticks.of(datetime(value.year, value.month, value.day, tzinfo=timezone.utc))
    return value


def fill(storage: Storage, rows: Iterable[Row]) -> None:
    """Store rows in the tables of an in-memory account, without requests."""
    tables = defaultdict[str, list[tuple[str, str, dict[str, Any]]]](list)
    for table, partition_key, row_key, properties in rows:
        tables[table].append((partition_key, row_key, properties))
    for table, each in tables.items():
        if storage.engine is not None:
            storage.engine.tables.fill(table, each)


Way = Literal["get", "find", "totals", "range", "find_all", "scan", "filter"]
"""The method of a recipe."""
BY_RECIPE: Final = 150
"""The number of entities written through the recipes, if their rows cannot be computed."""


@dataclass(frozen=True)
class SampleCall:
    """The parameters of a call.

    :param way: the method
    :param via: the derived data that is read; None for the primary rows
    :param given: values, ranges and prefixes of the key's fields
    :param where: conditions on properties
    :param take: the number of requested entities; None for all
    :param select: the requested properties; None for all
    :param completes: whether the entity of each row is read too
    """

    way: Way
    via: Derived | None = None
    given: Mapping[str, Any] = field(default_factory=dict[str, Any])
    where: Filter | None = None
    take: int | None = None
    select: tuple[str, ...] | None = None
    completes: bool = False

    def index(self, key: Key) -> Any:
        """Return the index that is read; None for the primary rows.

        :param key: the key of the primary rows
        """
        return self.via if self.via is not None and profile_of(self.via, key).layout is not None else None


class SampleSet(ABC):
    """A set of a design on an account, which a recipe stores."""

    parts: Sequence[Derived] = ()
    """Its derived data."""
    needs_recipe: bool = True
    """Whether only the recipe can compute the stored rows."""

    def __init__(self, storage: Storage, key: Key) -> None:
        self.storage = storage
        self.key = key

    @abstractmethod
    def load(self, made: Sequence[Mapping[str, Any]]) -> None:
        """Store entities; the cost is not measured."""

    @abstractmethod
    def ask(self, ask: SampleCall) -> int:
        """Make a call, and return the number of entities."""

    def prepare(self, ask: SampleCall) -> None:
        """Make the requests that a recipe makes only once, so that they are not measured."""
        return

    @abstractmethod
    def insert(self, fields: Mapping[str, Any]) -> None:
        """Create an entity."""

    @abstractmethod
    def update(self, fields: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
        """Change an entity that exists."""

    def overwrite(self, fields: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
        """Overwrite an entity."""
        self.update(fields, changes)

    @abstractmethod
    def delete(self, fields: Mapping[str, Any]) -> None:
        """Delete an entity that exists."""

    def key_of(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of the key of an entity."""
        return {name: fields[name] for name in self.key.fields}

    def make_table(self, name: str) -> None:
        """Create a table without requests."""
        if self.storage.engine is not None:
            self.storage.engine.tables.fill(name, ())

    def raw(self, table: str, where: Filter | None, select: Sequence[str] | None = None) -> int:
        """Send a filter unchanged, and return the number of rows."""
        client: Any = self.storage.tables.get_table_client(table)
        if where is None:
            return sum(1 for _ in client.list_entities(select=select))
        return sum(1 for _ in client.query_entities(str(where), select=select))

    def process_messages(self) -> int:
        """Process all messages, and return their number."""
        return 0


class Plain(SampleSet):
    """A set stored by an `EntitySet`."""

    def __init__(self, storage: Storage, entities: EntitySet[Storage]) -> None:
        super().__init__(storage, entities.key)
        self.entities = entities
        self.parts = entities.derived
        profiles = [profile_of(each, entities.key) for each in self.parts]
        in_tables = all(each.finder is not None and each.in_table for each in profiles)
        self.needs_recipe = bool(mappings_of(entities).each) or not in_tables

    def load(self, made: Sequence[Mapping[str, Any]]) -> None:
        for table in {self.entities.table.name, *(via.table(self.entities.table.name) for via in self.parts)}:
            self.make_table(table)
        if not self.needs_recipe:
            fill(self.storage, rows_of(self.entities, made))
            return
        BulkLoad(self.entities, max_concurrency=1).load(once(self.key, made), mode="insert_or_replace")

    def ask(self, ask: SampleCall) -> int:
        return call_entity_set(self.entities, ask, self)

    def insert(self, fields: Mapping[str, Any]) -> None:
        if isinstance(self.entities, LogTail):
            self.entities.append(fields)
        else:
            self.entities.insert(fields)

    def update(self, fields: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
        changed(self.storage, self.entities, self.key_of(fields), changes)

    def overwrite(self, fields: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
        if set(changes).isdisjoint(self.key.fields):
            self.entities.insert_or_merge({**self.key_of(fields), **changes})
        else:
            self.update(fields, changes)

    def delete(self, fields: Mapping[str, Any]) -> None:
        self.entities.delete(self.key_of(fields), force=True)

    def process_messages(self) -> int:
        return 0 if intents_or_none(self.entities) is None else self.entities.process_intents()


class Spread(SampleSet):
    """A set stored by a `PartitionSpread`."""

    def __init__(self, storage: Storage, spread: PartitionSpread[Storage]) -> None:
        super().__init__(storage, spread.key)
        self.spread = spread
        self.inner = Plain(storage, spread.entity_set)
        self.parts, self.needs_recipe = self.inner.parts, self.inner.needs_recipe

    def load(self, made: Sequence[Mapping[str, Any]]) -> None:
        # The first write stores the settings of the buckets
        for first in made[:1]:
            self.spread.insert(first)
        self.inner.load([self.spread.placed(fields) for fields in made])

    def prepare(self, ask: SampleCall) -> None:
        # The first range of an object reads the settings of the buckets
        self.ask(replace(ask, take=1))

    def ask(self, ask: SampleCall) -> int:
        via = ask.index(self.inner.entities.key)
        if ask.way == "get":
            return _one(self.spread.get(ask.given))
        if ask.way not in ("range", "find"):
            return self.inner.ask(ask)
        if ask.take is not None:
            return len(
                self.spread.take(
                    ask.take, via, ask.given, where=ask.where, allow=QueryClass.TABLE_SCAN, select=ask.select
                )
            )
        return sum(
            1
            for _ in self.spread.range(via, ask.given, where=ask.where, allow=QueryClass.TABLE_SCAN, select=ask.select)
        )

    def insert(self, fields: Mapping[str, Any]) -> None:
        self.spread.insert(fields)

    def update(self, fields: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
        changed(self.storage, self.spread.entity_set, self.spread.placed(self.key_of(fields)), changes)

    def delete(self, fields: Mapping[str, Any]) -> None:
        self.spread.entity_set.delete(self.spread.placed(self.key_of(fields)), force=True)

    def process_messages(self) -> int:
        return self.inner.process_messages()


def call_entity_set(entities: EntitySet[Storage], ask: SampleCall, kept: SampleSet) -> int:
    """Make a call of an `EntitySet`, and return the number of entities."""
    via: Any = ask.via
    match ask.way:
        case "get":
            return _one(entities.get(ask.given))
        case "find":
            return _completed(entities, [entities.find(via, ask.given)], ask)
        case "find_all":
            return len(entities.find_all(via, ask.given))
        case "totals":
            return _one(entities.totals(via, ask.given))
        case "scan":
            return _scanned(entities, ask)
        case "filter":
            return kept.raw(entities.table.name, ask.where, ask.select)
        case "range":
            return _ranged(entities, ask)


def _ranged(entities: EntitySet[Storage], ask: SampleCall) -> int:
    via = ask.index(entities.key)
    if ask.take is None:
        found = list(entities.range(via, ask.given, where=ask.where, allow=QueryClass.TABLE_SCAN, select=ask.select))
    else:
        found = entities.take(ask.take, via, ask.given, where=ask.where, allow=QueryClass.TABLE_SCAN, select=ask.select)
    return _completed(entities, found, ask)


def _completed(entities: EntitySet[Storage], found: Sequence[Entity | None], ask: SampleCall) -> int:
    """Read the entities of rows that do not have all requested fields."""
    there = [each for each in found if each is not None]
    if ask.completes:
        keys = [{name: each[name] for name in entities.key.fields} for each in there]
        entities.get_many(keys, max_concurrency=1)
    return len(there)


def _scanned(entities: EntitySet[Storage], ask: SampleCall) -> int:
    if ask.where is None:
        found = entities.scan()
    else:
        found = entities.query(ask.where, allow=QueryClass.TABLE_SCAN, select=ask.select)
    return sum(1 for _ in islice(found, ask.take))


def _one(found: object) -> int:
    return int(found is not None)


def once(key: Key, made: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the entities without duplicate keys."""
    by_key = {key.format({name: each[name] for name in key.fields}): each for each in made}
    return list(by_key.values())


def changed(storage: Storage, entities: EntitySet[Storage], key: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
    """Change an entity: write it back, rename it within its partition, or move it to another one."""
    moved = {name: changes[name] for name in changes if name in entities.key.fields}
    if not moved:
        entities.update(lambda entity: entity.update(changes), key)
        return
    found = entities.get(key)
    if found is None:
        return
    if set(moved).intersection(entities.key.partition_fields):
        PartitionMove(entities).move(found, moved)
        return
    EntityGroupTransaction(storage, entities.table.name).commit(
        entities.deleting(found), entities.inserting({**found, **changes})
    )


class Periods(SampleSet):
    """A set stored by `PeriodTables`."""

    def __init__(self, storage: Storage, tables: PeriodTables[Storage, EntitySet[Storage]]) -> None:
        super().__init__(storage, tables.key)
        self.tables = tables
        inner = Plain(storage, tables.of(storage.now()))
        self.parts, self.needs_recipe = inner.parts, inner.needs_recipe

    def load(self, made: Sequence[Mapping[str, Any]]) -> None:
        by_start: dict[datetime, list[Mapping[str, Any]]] = {self.tables.period.start(self.storage.now()): []}
        for fields in made:
            by_start.setdefault(self.tables.period.start(fields[self.tables.at]), []).append(fields)
        for start, each in by_start.items():
            Plain(self.storage, self.tables.of(start)).load(each)

    def ask(self, ask: SampleCall) -> int:
        at = ask.given.get(self.tables.at)
        if self._is_latest(ask):
            return len(self.tables.latest(ask.take or 0, ask.given))
        if isinstance(at, datetime):
            inner = self.tables.of(at)
            return call_entity_set(inner, self._within(ask, inner), self)
        low, high = _span(at)
        if ask.way == "range" and ask.via is None:
            given = {name: value for name, value in ask.given.items() if name != self.tables.at}
            oldest = low or next(iter(self.tables.periods()), self.storage.now())
            found = self.tables.range(
                oldest, high, given, where=ask.where, allow=QueryClass.TABLE_SCAN, select=ask.select
            )
            return sum(1 for _ in islice(found, ask.take))
        if ask.way == "get":
            return int(self.tables.search(ask.given) is not None)
        starts = self.tables.periods(low, high)
        return sum(call_entity_set(each, self._within(ask, each), self) for each in map(self.tables.of, starts))

    def _is_latest(self, ask: SampleCall) -> bool:
        """Whether the newest entities are requested, and the keys sort them first."""
        newest_first = f"{{{self.tables.at}:inverted}}" in self.key.row_template
        is_open = self.tables.at not in ask.given and ask.via is None and ask.where is None
        return ask.way == "range" and ask.take is not None and is_open and newest_first

    def _within(self, ask: SampleCall, inner: EntitySet[Storage]) -> SampleCall:
        """Return the call for the table of a period, whose key may not include the time."""
        shape = inner.key.fields if ask.via is None else (*inner.key.fields, *ask.via.reads)
        given = {name: value for name, value in ask.given.items() if name in shape}
        return SampleCall(ask.way, ask.via, given, ask.where, ask.take, ask.select, ask.completes)

    def insert(self, fields: Mapping[str, Any]) -> None:
        self.tables.insert(fields)

    def update(self, fields: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
        if self.tables.at in changes:
            # It moves to the table of another period
            self.delete(fields)
            self.insert({**fields, **changes})
            return
        changed(self.storage, self.tables.of(fields), self.key_of(fields), changes)

    def delete(self, fields: Mapping[str, Any]) -> None:
        self.tables.of(fields).delete(self.key_of(fields), force=True)


def _span(at: object) -> tuple[datetime | None, datetime | None]:
    if not isinstance(at, Between):
        return None, None
    low, high = (end if isinstance(end, datetime) else None for end in (at.low, at.high))
    return low, high


class Series(SampleSet):
    """A set of data series."""

    def __init__(self, storage: Storage, series: DataSeries[Storage, Any]) -> None:
        super().__init__(storage, series.key)
        self.series = series

    def load(self, made: Sequence[Mapping[str, Any]]) -> None:
        self.make_table(self.series.table.name)
        points = {number: self.series.value_type(1) for number in range(self.series.points)}
        for fields in once(self.key, made):
            self.series.set_many(points, **self.key_of(fields))

    def ask(self, ask: SampleCall) -> int:
        if ask.way == "get":
            values: list[Any] = self.series.read(ask.given)
            return int(any(each is not None for each in values))
        if ask.way == "range":
            return sum(1 for _ in self.series.range(ask.given))
        return self.raw(self.series.table.name, ask.where, ask.select)

    def insert(self, fields: Mapping[str, Any]) -> None:
        self.series.set(0, self.series.value_type(1), **self.key_of(fields))

    def update(self, fields: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
        self.series.set(0, self.series.value_type(1), **self.key_of(fields))

    def delete(self, fields: Mapping[str, Any]) -> None:
        partition_key, row_key = self.key.format(self.key_of(fields))
        client: Any = self.storage.tables.get_table_client(self.series.table.name)
        client.delete_entity(partition_key, row_key)


class Wide(SampleSet):
    """A set of wide entities."""

    def __init__(self, storage: Storage, wide: WideEntity[Storage]) -> None:
        super().__init__(storage, wide.key)
        self.wide = wide

    def load(self, made: Sequence[Mapping[str, Any]]) -> None:
        self.make_table(self.wide.table.name)
        for fields in once(self.key, made):
            self.wide.insert(fields)

    def ask(self, ask: SampleCall) -> int:
        if ask.way == "get":
            return int(self.wide.get(ask.given, select=ask.select) is not None)
        return self.raw(self.wide.table.name, ask.where, ask.select)

    def insert(self, fields: Mapping[str, Any]) -> None:
        self.wide.insert(fields)

    def update(self, fields: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
        found = self.wide.get(**self.key_of(fields))
        if found is not None and set(changes).isdisjoint(self.key.fields):
            self.wide.merge(found, changes)
        elif found is not None:
            self.wide.insert({**found, **changes})
            self.wide.delete(found)

    def delete(self, fields: Mapping[str, Any]) -> None:
        found = self.wide.get(**self.key_of(fields))
        if found is not None:
            self.wide.delete(found)


SAMPLE_SETS: Final[Mapping[str, Callable[[Storage, Any], SampleSet]]] = {
    "partition_spread": Spread,
    "period_tables": Periods,
    "data_series": Series,
    "wide_entity": Wide,
}
"""The adapters of patterns that are not called like an `EntitySet`."""
