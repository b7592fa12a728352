"""Sets with a table for each period."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from tablepatterns.entity_set.derived import Derived
from tablepatterns.entity_set.entity_set import EntitySet
from tablepatterns.errors import BadDesign
from tablepatterns.filters import QueryClass
from tablepatterns.key.ranges import Between
from tablepatterns.recipes.period_tables.period import Period
from tablepatterns.recipes.period_tables.period_tables import PeriodTables
from tablepatterns.storage import Storage

from .kind import Plan, SampleCall, SampleSet, SetKind, changed
from .plain import LogTailKind, Plain, call_entity_set

if TYPE_CHECKING:
    from ..design.model import DeclaredSet

PERIOD_DAYS: Final[Mapping[str, float]] = {"hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 30.44}
"""The length of each period, the shortest first."""


class PeriodsKind(SetKind[PeriodTables[Storage, EntitySet[Storage]]]):
    """`PeriodTables`."""

    pattern = "period_tables"
    parts = "period tables"
    visibility = ("the last write, in the periods that are retained", "", "")

    def make(
        self, account: Storage, plan: Plan, derived: Sequence[Derived]
    ) -> PeriodTables[Storage, EntitySet[Storage]]:
        inner = Plan(
            str(plan.settings.get("inner", "entity_set")),
            plan.table,
            plan.key,
            {name: plan.settings[name] for name in ("at", "entry") if name in plan.settings},
            mappings=plan.mappings,
        )
        if inner.pattern not in ("entity_set", "log_tail"):
            raise BadDesign(
                "inner", inner.pattern, "one of two patterns keeps the table of a period", "use entity_set, log_tail"
            )
        keep = plan.retention if plan.retention is not None and plan.retention.by == "table" else None
        return PeriodTables(
            account,
            plan.table,
            Period(plan.settings.get("period", "day")),
            factory=partial(_inner, inner, derived),
            at=str(plan.settings.get("at", "At")),
            retention=None if keep is None else timedelta(days=keep.days),
        )

    def sample(self, recipe: PeriodTables[Storage, EntitySet[Storage]], storage: Storage) -> SampleSet:
        return Periods(storage, recipe)

    def time_field(self, declared_set: DeclaredSet) -> str | None:
        return str(declared_set.settings.get("at", "At"))

    def tables(self, declared_set: DeclaredSet, days: float) -> int:
        return max(1, round(days / PERIOD_DAYS[str(declared_set.settings.get("period", "day"))]))

    def fewer_parts(self, declared_set: DeclaredSet) -> Iterator[tuple[str, Mapping[str, Any]]]:
        longer = list(PERIOD_DAYS)
        for period in longer[longer.index(str(declared_set.settings.get("period", "day"))) + 1 :]:
            yield f"use a table for each {period}", {"period": period}

    def advice_on_parts(self, declared_set: DeclaredSet) -> str:
        at = self.time_field(declared_set)
        return f"Include {at} in the query, for example as part of the id that callers get, or use longer periods."


def _inner(plan: Plan, derived: Sequence[Derived], account: Storage, table: str) -> EntitySet[Storage]:
    if plan.pattern == LogTailKind.pattern:
        log = Plan(plan.pattern, table, plan.key, plan.settings, mappings=plan.mappings)
        return LogTailKind().make(account, log, derived)
    return EntitySet(account, table, plan.key, derived=derived, mappings=plan.mappings)


class Periods(SampleSet):
    """A set stored by `PeriodTables`."""

    def __init__(self, storage: Storage, tables: PeriodTables[Storage, EntitySet[Storage]]) -> None:
        super().__init__(storage, tables.key)
        self.tables = tables
        inner = Plain(storage, tables.of(storage.now()))
        self.parts, self.needs_recipe = inner.parts, inner.needs_recipe

    def load(self, rows: Sequence[Mapping[str, Any]]) -> None:
        by_start: dict[datetime, list[Mapping[str, Any]]] = {self.tables.period.start(self.storage.now()): []}
        for fields in rows:
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
            arguments = {name: value for name, value in ask.given.items() if name != self.tables.at}
            oldest = low or next(iter(self.tables.periods()), self.storage.now())
            entities = self.tables.range(
                oldest, high, arguments, where=ask.where, allow=QueryClass.TABLE_SCAN, select=ask.select
            )
            return sum(1 for _ in islice(entities, ask.take))
        if ask.way == "get":
            return int(self.tables.search(ask.given) is not None)
        starts = self.tables.periods(low, high)
        return sum(
            call_entity_set(entity_set, self._within(ask, entity_set), self)
            for entity_set in map(self.tables.of, starts)
        )

    def _is_latest(self, ask: SampleCall) -> bool:
        """Whether the newest entities are requested, and the keys sort them first."""
        newest_first = f"{{{self.tables.at}:inverted}}" in self.key.row_template
        is_open = self.tables.at not in ask.given and ask.via is None and ask.where is None
        return ask.way == "range" and ask.take is not None and is_open and newest_first

    def _within(self, ask: SampleCall, inner: EntitySet[Storage]) -> SampleCall:
        """Return the call for the table of a period, whose key may not include the time."""
        shape = inner.key.fields if ask.via is None else (*inner.key.fields, *ask.via.reads)
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


def _span(at: object) -> tuple[datetime | None, datetime | None]:
    if not isinstance(at, Between):
        return None, None
    low, high = (end if isinstance(end, datetime) else None for end in (at.low, at.high))
    return low, high
