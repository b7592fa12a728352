"""Sets with a table for each period."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from itertools import islice, takewhile
from typing import Any, Final

from tablepatterns.entity_set.derived import Derived
from tablepatterns.entity_set.entity_set import EntitySet
from tablepatterns.errors import BadDesign, BadInput
from tablepatterns.filters import QueryClass
from tablepatterns.key.ranges import Between
from tablepatterns.recipe import SetProfile
from tablepatterns.recipes.period import Period
from tablepatterns.recipes.period_tables.period_tables import PeriodTables
from tablepatterns.storage import Storage

from ..design.key_parts import dates_of
from ..design.model import DEFAULT_PATTERN, DeclaredSet, Retention
from ..python_source import CodeNames, call, text
from .kind import SampleCall, SampleSet, SetKind, changed
from .plain import EntitySetKind, LogTailKind, Plain, call_entity_set
from .series import SeriesKind

_PERIOD_DAYS: Final[Mapping[str, float]] = {"hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 30.44}
"""The length of each period, the shortest first."""
_INNER: Final = {kind.pattern: kind for kind in (EntitySetKind(DEFAULT_PATTERN), LogTailKind())}
"""The patterns that may store the entities of one table."""


class PeriodsKind(SetKind[PeriodTables[Storage, EntitySet[Storage]]]):
    pattern = "period_tables"
    recipe = "PeriodTables"
    parts = "period tables"

    def settings(self, values: Mapping[str, Any]) -> dict[str, Any]:
        return _INNER[values.get("inner", DEFAULT_PATTERN)].settings(values)

    def row_template(self, values: Mapping[str, Any]) -> str | None:
        return _INNER[values.get("inner", DEFAULT_PATTERN)].row_template(values)

    def retention(self, profile: SetProfile) -> Retention | None:
        if profile.settings.get("inner") == SeriesKind.pattern:
            rule = "its tables hold data series, which a design does not describe by period"
            hint = "declare the DataSeries that of(moment) gives for one period"
            raise BadInput("entities", profile.table, rule, hint)
        if (kept := profile.retention) is None:
            return None
        days = kept * _days_of(profile.settings) if isinstance(kept, int) else kept / timedelta(days=1)
        return Retention(days, "table")

    def make(
        self, account: Storage, declared_set: DeclaredSet, derived: Sequence[Derived]
    ) -> PeriodTables[Storage, EntitySet[Storage]]:
        inner = _inner(declared_set)
        return PeriodTables(
            account,
            declared_set.table,
            Period(str(declared_set.settings.get("period", "day"))),
            factory=lambda on, table: inner.make(on, replace(declared_set, table=table), derived),
            at=self.time_field(declared_set),
            retention=None if (days := _kept_days(declared_set)) is None else timedelta(days=days),
        )

    def sample(self, recipe: PeriodTables[Storage, EntitySet[Storage]], storage: Storage) -> SampleSet:
        return Periods(storage, recipe)

    def time_field(self, declared_set: DeclaredSet) -> str:
        return str(declared_set.settings.get("at", "At"))

    def period_days(self, declared_set: DeclaredSet) -> float:
        return _days_of(declared_set.settings)

    def fewer_parts(self, declared_set: DeclaredSet) -> Iterator[tuple[str, Mapping[str, Any]]]:
        longer = list(_PERIOD_DAYS)
        for period in longer[longer.index(str(declared_set.settings.get("period", "day"))) + 1 :]:
            yield f"use a table for each {period}", {"period": period}

    def advice_on_parts(self, declared_set: DeclaredSet) -> str:
        at = self.time_field(declared_set)
        return f"Include {at} in the query, for example as part of the id that callers get, or use longer periods."

    def code_type(self, declared_set: DeclaredSet, model: str | None) -> str:
        return f"PeriodTables[Storage, {_inner(declared_set).code_type(declared_set, None)}]"

    def code(self, declared_set: DeclaredSet, names: CodeNames) -> list[str]:
        inner, factory, days = _inner(declared_set), f"{names.set}_in", _kept_days(declared_set)
        tables = call(
            "PeriodTables",
            "storage",
            text(declared_set.table),
            f"Period.{str(declared_set.settings['period']).upper()}",
            factory=factory,
            at=repr(declared_set.settings["at"]),
            retention=None if days is None else call("timedelta", days=repr(days)),
        )
        return [
            f"def {factory}(account: Storage, table: str) -> {inner.code_type(declared_set, None)}:",
            f"    return {inner.make_code(declared_set, names, 'account', 'table')}",
            "",
            f"{names.set} = {tables}",
        ]


def _days_of(settings: Mapping[str, Any]) -> float:
    return _PERIOD_DAYS[str(settings.get("period", "day"))]


def _inner(declared_set: DeclaredSet) -> EntitySetKind:
    inner = str(declared_set.settings.get("inner", DEFAULT_PATTERN))
    if inner not in _INNER:
        raise BadDesign("inner", inner, "one of two patterns keeps the table of a period", f"use {', '.join(_INNER)}")
    return _INNER[inner]


def _kept_days(declared_set: DeclaredSet) -> float | None:
    """Return the days after which the table of a period is dropped; None if it is not."""
    retention = declared_set.retention
    return retention.days if retention is not None and retention.by == "table" else None


class Periods(SampleSet):
    def __init__(self, storage: Storage, tables: PeriodTables[Storage, EntitySet[Storage]]) -> None:
        super().__init__(storage, tables.key)
        self.tables = tables
        self.needs_recipe = Plain(storage, tables.of(storage.now())).needs_recipe

    def load(self, rows: Sequence[Mapping[str, Any]]) -> None:
        by_start: dict[datetime, list[Mapping[str, Any]]] = {self.tables.period.start(self.storage.now()): []}
        for fields in rows:
            by_start.setdefault(self.tables.period.start(fields[self.tables.at]), []).append(fields)
        for start, each in by_start.items():
            Plain(self.storage, self.tables.of(start)).load(each)

    def ask(self, ask: SampleCall) -> int:
        at = ask.given.get(self.tables.at, ask.moment)
        if self._is_latest(ask):
            return len(self.tables.latest(ask.take or 0, ask.given))
        if isinstance(at, date):
            inner = self.tables.of(at)
            return call_entity_set(inner, self._within(ask, inner), self)
        ends = (at.low, at.high) if isinstance(at, Between) else (None, None)
        low, high = (end if isinstance(end, date) else None for end in ends)
        if ask.way == "range" and ask.via is None:
            arguments = {name: value for name, value in ask.given.items() if name != self.tables.at}
            options: dict[str, Any] = {"where": ask.where, "allow": QueryClass.TABLE_SCAN, "select": ask.select}
            entities = self.tables.range(low or self._oldest(), high, arguments, **options)
            return sum(1 for _ in islice(entities, ask.take))
        if ask.way == "get":
            return int(self.tables.search(ask.given) is not None)
        inner_sets = map(self.tables.of, self.tables.periods(low, high))
        return sum(call_entity_set(inner, self._within(ask, inner), self) for inner in inner_sets)

    def _oldest(self) -> date:
        start = next(iter(self.tables.periods()), self.storage.now())
        return start.date() if self.tables.at in dates_of(self.key) else start

    def _is_latest(self, ask: SampleCall) -> bool:
        """Whether the newest entities are requested, and the keys sort them first."""
        newest_first = f"{{{self.tables.at}:inverted}}" in self.key.row_template
        is_open = self.tables.at not in ask.given and ask.moment is None and ask.via is None and ask.where is None
        return ask.way == "range" and ask.take is not None and is_open and newest_first

    def _within(self, ask: SampleCall, inner: EntitySet[Storage]) -> SampleCall:
        """Return the call for the table of a period, with its time only if the key begins with what is given."""
        leading = takewhile(ask.given.__contains__, (*inner.key.partition_fields, *inner.key.row_fields))
        shape = [*leading] if ask.via is None else (*inner.key.fields, *ask.via.reads)
        arguments = {name: value for name, value in ask.given.items() if name in shape}
        return SampleCall(ask.way, ask.via, arguments, ask.where, ask.take, ask.select, ask.completes)

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
