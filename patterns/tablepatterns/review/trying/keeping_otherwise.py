"""Keeping otherwise: sets that no single table of entities keeps, asked and written in the words of their recipes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Any

from ...entity_set import EntitySet
from ...filters import QueryClass
from ...key.ranges import Between
from ...recipes.data_series import DataSeries
from ...recipes.period_tables import PeriodTables
from ...recipes.wide_entity import WideEntity
from ...storage import Storage
from .keeping import Ask, Kept, Plain, answered, changed, once


class Periods(Kept):
    """A set that has a table for each period."""

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

    def ask(self, ask: Ask) -> int:
        at = ask.given.get(self.tables.at)
        if self._is_latest(ask):
            return len(self.tables.latest(ask.take or 0, ask.given))
        if isinstance(at, datetime):
            inner = self.tables.of(at)
            return answered(inner, self._within(ask, inner), self)
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
        return sum(answered(each, self._within(ask, each), self) for each in map(self.tables.of, starts))

    def _is_latest(self, ask: Ask) -> bool:
        """Whether the newest entities are asked for, and the keys put them first."""
        newest_first = f"{{{self.tables.at}:inverted}}" in self.key.row_template
        is_open = self.tables.at not in ask.given and ask.via is None and ask.where is None
        return ask.way == "range" and ask.take is not None and is_open and newest_first

    def _within(self, ask: Ask, inner: EntitySet[Storage]) -> Ask:
        """Return the question as it is put to the table of a period, which the moment may be no key of."""
        shape = inner.key.fields if ask.via is None else (*inner.key.fields, *ask.via.reads)
        given = {name: value for name, value in ask.given.items() if name in shape}
        return Ask(ask.way, ask.via, given, ask.where, ask.take, ask.select, ask.completes)

    def insert(self, fields: Mapping[str, Any]) -> None:
        self.tables.insert(fields)

    def update(self, fields: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
        if self.tables.at in changes:
            # It goes to the table of another period
            self.delete(fields)
            self.insert({**fields, **changes})
            return
        changed(self.storage, self.tables.of(fields), self.key_of(fields), changes)

    def delete(self, fields: Mapping[str, Any]) -> None:
        self.tables.of(fields).delete(self.key_of(fields), unconditionally=True)


def _span(at: object) -> tuple[datetime | None, datetime | None]:
    if not isinstance(at, Between):
        return None, None
    low, high = (end if isinstance(end, datetime) else None for end in (at.low, at.high))
    return low, high


class Series(Kept):
    """A set of data series."""

    def __init__(self, storage: Storage, series: DataSeries[Storage, Any]) -> None:
        super().__init__(storage, series.key)
        self.series = series

    def load(self, made: Sequence[Mapping[str, Any]]) -> None:
        self.make_table(self.series.table.name)
        points = {number: self.series.of(1) for number in range(self.series.points)}
        for fields in once(self.key, made):
            self.series.set_many(points, **self.key_of(fields))

    def ask(self, ask: Ask) -> int:
        if ask.way == "get":
            values: list[Any] = self.series.read(ask.given)
            return int(any(each is not None for each in values))
        if ask.way == "range":
            return sum(1 for _ in self.series.over(ask.given))
        return self.raw(self.series.table.name, ask.where, ask.select)

    def insert(self, fields: Mapping[str, Any]) -> None:
        self.series.set(0, self.series.of(1), **self.key_of(fields))

    def update(self, fields: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
        self.series.set(0, self.series.of(1), **self.key_of(fields))

    def delete(self, fields: Mapping[str, Any]) -> None:
        partition_key, row_key = self.key.format(self.key_of(fields))
        client: Any = self.storage.tables.get_table_client(self.series.table.name)
        client.delete_entity(partition_key, row_key)


class Wide(Kept):
    """A set of wide entities."""

    def __init__(self, storage: Storage, wide: WideEntity[Storage]) -> None:
        super().__init__(storage, wide.key)
        self.wide = wide

    def load(self, made: Sequence[Mapping[str, Any]]) -> None:
        self.make_table(self.wide.table.name)
        for fields in once(self.key, made):
            self.wide.insert(fields)

    def ask(self, ask: Ask) -> int:
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
