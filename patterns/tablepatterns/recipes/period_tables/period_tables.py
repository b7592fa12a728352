"""Keep one table per day or other period, so that dropping a table deletes old data."""

# It reads and writes through the hooks of its sets, which keeps the calls of a set public
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any, Final, Generic, NoReturn, TypeAlias, TypeVar, cast

from ...argument_types import check_least, checked
from ...edm import Ticks
from ...entity import Entity, Modify, without_none
from ...entity_set.calls import SetCalls
from ...entity_set.compatibility import check_within
from ...entity_set.derived import Fields
from ...entity_set.entity_set import EntitySet
from ...entity_set.hooks import Selection
from ...entity_set.internals import adapter_or_none
from ...entity_set.named_table import check_unnamed
from ...errors import MISSING, BadDesign, BadInput, BadKey, PeriodExpired, locating
from ...filters import Filter, QueryClass, prop
from ...key import Key, at_least
from ...key import between as span_of
from ...key.key import fields_of
from ...recipe import Account, Account_co, SetProfile, check_key_order, recipe, set_profile_of, stream, table_names
from ...sdk.operation import Operation
from ..data_series import DataSeries
from ..log_tail import LogTail
from ..period import Period, PeriodTable, Retention, instant_of, slots_before

Inner: TypeAlias = EntitySet[Account, Any] | DataSeries[Account, Any]
T = TypeVar("T")
Set_co = TypeVar("Set_co", bound=Inner, covariant=True)

_LAST_LABEL: Final = "9999Z"
"""It sorts after the labels of all periods, the weeks included."""


class PeriodTables(SetCalls[Account_co, Entity], Generic[Account_co, Set_co]):
    """Keep entities in one table per hour, day, week or month, and delete a whole period with one request.

    Use it for data that expires, such as sign-in records older than 60 days.

    >>> from datetime import timezone
    >>> from tablepatterns import EntitySet, Key, connect
    >>> key = Key("{User}", "{At:ticks}")
    >>> logins = PeriodTables(
    ...     connect(), "Logins", Period.DAY, factory=lambda account, table: EntitySet(account, table, key)
    ... )
    >>> for day in (30, 31):
    ...     moment = datetime(2014, 7, day, 18, tzinfo=timezone.utc)
    ...     _ = logins.insert({"User": "jo", "At": moment, "From": "10.0.0.1"})
    >>> logins.of(moment).table.name
    'Logins20140731'
    >>> [login["At"].day for login in logins.range(datetime(2014, 7, 1, tzinfo=timezone.utc), User="jo")]
    [30, 31]

    It has the calls of an `EntitySet` that read or write entities; for others, use `of(moment)`. The instant is among
    the fields of a key, and determines the table; `insert` sets it if it is missing, unless it is a date. Entities are
    taken and returned as they are stored, and must fit the model of the set.

    Consistency: an entity is written only to the table of its period. Expired periods, which depend only on the clock
    and `retention`, reject writes and are skipped by reads. More: docs/patterns/period_tables.md.

    Cost in storage transactions: a write or `get` 1, and 2 more for the first write of a period; `drop` 1;
    `drop_expired`, `range`, `latest` and `search` 1 to list the tables (per 1,000), and that of each table. A time span
    within one period needs no list.

    :param account: the account of the tables
    :param table_prefix: the prefix of the tables' names: ASCII letters and digits, ending with a letter
    :param period: the length of a period
    :param factory: called with the account and a table name for every use; returns the `EntitySet` or `DataSeries` of
        that table
    :param at: the field with the instant of an entity, an aware datetime or `Ticks`, in the key or not; or a date in
        the key, such as {Day:%Y-%m-%d}, for periods of a day or longer
    :param retention: how long to keep periods: a timedelta that all entities of an expired period exceed in age; a
        number of periods, including the current one; or None for indefinitely. All processes must use the same
    :raises BadTableName: the service would reject the tables' names
    :raises BadDesign: the prefix ends with a digit, nothing would be kept, or `factory` does not return a set of the
        given table that keeps all its rows there

    Guide: high volume delete pattern.
    """

    @checked
    def __init__(
        self,
        account: Account_co,
        table_prefix: str,
        period: Period,
        *,
        factory: Callable[[Account_co, str], Set_co],
        at: str = "At",
        retention: timedelta | int | None = None,
    ) -> None:
        super().__init__(account)
        if table_prefix[-1:].isdigit():
            rule = "the label of the period follows, which starts with a digit"
            raise BadDesign("table_prefix", table_prefix, rule, "end it with a letter")
        self.table_prefix = table_prefix
        self.period = period
        self.at = at
        self.retention = retention
        self._retention = Retention(period, retention)
        self._factory = factory
        inner = self._set(period.start(account.now()))
        if isinstance(inner, LogTail) and inner.at != at:
            raise BadDesign("at", at, f"the LogTail has its instants in {inner.at!r}", "use the same field")
        self.key: Key = inner.key
        self._sorts_by_time = at in self.key.row_fields
        self._newest_first = self._sorts_by_time and f"{{{at}:inverted}}" in self.key.row_template

    def _set_profile(self) -> SetProfile | None:
        inner = set_profile_of(self._set(self.period.start(self.account.now())))
        if inner is None:
            return None
        settings = {"period": self.period.value, "inner": inner.pattern, **inner.settings, "at": self.at}
        return replace(
            inner, pattern="period_tables", table=self.table_prefix, settings=settings, retention=self.retention
        )

    # -- which table

    @checked
    def of(self, place: date | Ticks | Mapping[str, Any]) -> Set_co:
        """Return the set of one period, without sending a request.

        Use it for everything else that the set can do. The set of an expired period can be read, and rejects writes.

        :param place: an aware datetime, `Ticks`, a date, or an entity with the field `at`
        :raises BadKey: it is not an instant
        """
        return self._set(self.period.start(self._moment(place) if isinstance(place, Mapping) else place))

    @checked
    def period_of(self, table: str) -> datetime | None:
        """Return the start of a table's period, or None if it is not one of these tables.

        >>> from tablepatterns import connect
        >>> key = Key("{User}", "{At:ticks}")
        >>> logins = PeriodTables(connect(), "Logins", Period.MONTH, factory=lambda on, name: EntitySet(on, name, key))
        >>> logins.period_of("Logins201407"), logins.period_of("LoginsArchive")
        (datetime.datetime(2014, 7, 1, 0, 0, tzinfo=datetime.timezone.utc), None)
        """
        head, label = table[: len(self.table_prefix)], table[len(self.table_prefix) :]
        return self.period.parse(label) if head.lower() == self.table_prefix.lower() else None

    @checked
    def is_kept(self, moment: date | Ticks) -> bool:
        """Return whether the period of an instant has not expired."""
        return self.period.start(moment) >= self._retention.first_kept(self.account.now())

    def _moment(self, entity: Mapping[str, Any]) -> date | Ticks:
        moment: date | Ticks | None = entity.get(self.at)
        if moment is None:
            raise BadKey(self.at, MISSING, "it determines the entity's table", "add the entity's instant")
        return moment

    def _table_name(self, start: datetime) -> str:
        return self.table_prefix + self.period.label(start)

    def _set(self, start: datetime) -> Set_co:
        name = self._table_name(start)
        period_set = self._factory(cast("Account_co", self.account), name)
        if not isinstance(period_set, (EntitySet, DataSeries)):
            rule = f"it returned a {type(period_set).__name__}, and must return an EntitySet or a DataSeries"
            raise BadDesign("factory", period_set, rule, "return EntitySet(account, table, key)")
        if period_set.table.name != name or period_set.account is not self.account:
            description = f"it returned a set of the table {period_set.table.name!r} of {period_set.account!r}"
            rule = f"{description}, and this period's table is {name!r} of {self.account!r}"
            raise BadDesign("factory", period_set, rule, "use the account and the table name that the factory receives")
        if isinstance(period_set, EntitySet):
            check_within(name, period_set.derived)
            check_unnamed(period_set.table, "period tables")
        key = period_set.key if isinstance(period_set, EntitySet) else period_set.rows
        check_write, check_drop = partial(self._check_write, start, key), partial(self._check_drop, start)
        period_set.table = PeriodTable(period_set.table, check_write, check_drop)
        return period_set

    def _check_write(self, start: datetime, key: Key, operations: Sequence[Operation]) -> None:
        if not self.is_kept(start):
            rule = f"its period started at {start.isoformat()}, was kept {self._retention}, and has expired"
            raise PeriodExpired("table", self._table_name(start), rule, "drop the entity, or extend the retention")
        for operation in operations:
            fields = dict(operation.entity)
            if key.matches(*operation.key):
                fields |= key.parse(*operation.key)
            moment = fields.get(self.at)
            if isinstance(moment, (date, Ticks)) and self.period.start(moment) != start:
                rule = f"this is the table of the {self.period.value} that started at {start.isoformat()}"
                raise BadKey(self.at, moment, rule, "write it to the set that of() returns for it")

    def _check_drop(self, start: datetime) -> None:
        if self.is_kept(start):
            rule = f"its period is kept {self._retention}, and table names are not reused"
            raise BadInput("table", self._table_name(start), rule, "keep it, or shorten the retention")

    def _entity_set(self, start: datetime) -> EntitySet[Account]:
        period_set: Inner = self._set(start)
        if isinstance(period_set, DataSeries):
            rule = "its tables hold data series, which have no entities"
            raise BadInput("factory", self.table_prefix, rule, "use preceding(), or of(moment) for one period")
        return period_set.without_model()

    @property
    def _current_set(self) -> EntitySet[Account]:
        """The set that checks a query, since there may be no table yet."""
        return self._entity_set(self.period.start(self.account.now()))

    # -- entities

    async def _one(self, selection: Selection) -> Entity | None:
        start = self.period.start(self._moment(selection.fields))
        if start < self._retention.first_kept(self.account.now()):
            return None
        own_key = self.key if selection.via is None else selection.via.key
        own = selection._replace(fields=_key_fields(own_key, selection.fields))
        return await self._located(selection.fields, lambda inner: inner._one(own))

    async def _items(self, selection: Selection, size: int) -> AsyncGenerator[Entity, None]:
        self._current_set._question(selection)
        starts = await self._periods_to_read()
        for start in reversed(starts) if self._newest_first else starts:
            inner = self._entity_set(start)
            with locating(inner.location):
                async for entity in inner._items(selection, size):
                    yield entity

    async def _matching(
        self, where: Filter | None, allow: QueryClass, select: Sequence[str] | None
    ) -> AsyncGenerator[Entity, None]:
        self._current_set._rows_filter(where, allow)
        for start in await self._periods_to_read():
            inner = self._entity_set(start)
            with locating(inner.location):
                async for entity in inner._matching(where, allow, select):
                    yield entity

    async def _create(self, entity: Mapping[str, Any], retry_for: float) -> Entity:
        stamped = {self.at: self.account.now()} | without_none(entity)

        async def create(inner: EntitySet[Account]) -> Entity:
            if isinstance(inner, LogTail):
                log: LogTail[Account] = inner
                return await log.append(stamped, retry_for=retry_for)
            return await inner._create(stamped, retry_for)

        return await self._located(stamped, create, stamped)

    async def _change(self, entity: Mapping[str, Any], changes: Fields | None, retry_for: float) -> Entity:
        whole = entity if changes is None else None
        return await self._located(entity, lambda inner: inner._change(entity, changes, retry_for), whole)

    async def _remove(self, entity: Mapping[str, Any], retry_for: float) -> None:
        await self._located(entity, lambda inner: inner._remove(entity, retry_for))

    async def _upsert(self, entity: Mapping[str, Any], retry_for: float, *, in_part: bool) -> Entity:
        whole = None if in_part else entity
        return await self._located(entity, lambda inner: inner._upsert(entity, retry_for, in_part=in_part), whole)

    async def _overwrite(
        self, entity: Mapping[str, Any], changes: Fields | None, etag: str, retry_for: float
    ) -> Entity:
        whole = entity if changes is None else None
        return await self._located(entity, lambda inner: inner._overwrite(entity, changes, etag, retry_for), whole)

    async def _remove_any(self, entity: Mapping[str, Any], etag: str, retry_for: float) -> None:
        await self._located(entity, lambda inner: inner._remove_any(entity, etag, retry_for))

    async def _update(self, change: Modify, key: Fields, retry_for: float) -> Entity:
        return await self._located(key, lambda inner: inner._update(change, _key_fields(self.key, key), retry_for))

    async def _rename(self, entity: Mapping[str, Any], fields: Fields, retry_for: float) -> Entity:
        return await self._located(entity, lambda inner: inner._rename(entity, fields, retry_for))

    def _key_of(self, entity: Mapping[str, Any]) -> Fields:
        return _key_fields(self.key, entity)

    def _reject_derived(self, call: str) -> NoReturn:
        self._reject(call, "each table has derived data of its own", f"use of(moment).{call}")

    async def _located(
        self, fields: Fields, call: Callable[[EntitySet[Account]], Awaitable[T]], whole: Fields | None = None
    ) -> T:
        """Await a call of the set of an entity's period; its errors name the table.

        :param whole: the fields to write, which the model of the set must accept
        """
        start = self.period.start(self._moment(fields))
        inner = self._entity_set(start)
        if whole is not None and (adapter := adapter_or_none(cast("EntitySet[Account]", self._set(start)))) is not None:
            adapter.check(whole)
        with locating(inner.location):
            return await call(inner)

    @recipe
    async def search(self, key: Mapping[str, Any] | None = None, /, **fields: Any) -> Entity | None:
        """Return the newest entity with this key in any table, or None. If you know the instant, use `get`.

        The key must not include the instant. Cost: 1 transaction to list the tables, and 1 for each, newest first,
        until it is found.

        The parameters and errors are those of `get`.
        """
        key_fields = fields_of(key, fields)
        self.key.format(key_fields)
        for start in reversed(await self._periods_to_read()):
            if (entity := await self._entity_set(start).get(key_fields)) is not None:
                return entity
        return None

    @stream
    async def range(  # type: ignore[override] # the instants come first
        self,
        earliest: date,
        latest: date | None = None,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        where: Filter | None = None,
        allow: QueryClass = QueryClass.RANGE,
        select: Sequence[str] | None = None,
        **fields: Any,
    ) -> AsyncIterator[Entity]:
        """Yield the entities of one partition from `earliest` to `latest`, both inclusive, table by table.

        Within a table, entities are in key order. Cost: 1 transaction per page of up to 1,000, at least 1 per table,
        and 1 to list the tables if the time span covers several periods.

        :param earliest: an aware datetime; a date if the key has one
        :param latest: the same, or None for no end
        :param fields: the PartitionKey fields, and any RowKey fields, without the instant

        The other parameters and errors are those of `EntitySet.range`.
        """
        given, span = fields_of(key, fields), dict[str, Any]()
        is_next = self.at == next((name for name in self.key.row_fields if name not in given), None)
        if self._sorts_by_time:
            span[self.at] = at_least(earliest) if latest is None else span_of(earliest, latest)
        elif self.at not in self.key.fields:
            # The tables are limited to the span, so most rows read are within it
            allow = max(allow, QueryClass.PARTITION_SCAN)
            bounds: Filter = prop(self.at) >= earliest
            if latest is not None:
                bounds = bounds & (prop(self.at) <= latest)
            where = bounds if where is None else bounds & where
        with_span = fields_of(span, given)
        key_fields = with_span if is_next else given
        self._current_set._question(Selection(key_fields, None, where, allow, select))
        starts = await self._periods_to_read(earliest, latest)
        first, last = _ticks_of(earliest), Ticks.MAX if latest is None else _ticks_of(latest)
        for start in reversed(starts) if self._newest_first else starts:
            async for entity in self._entity_set(start).range(key_fields, where=where, allow=allow, select=select):
                # The range does not limit an instant after a field that is not given
                if is_next or not self._sorts_by_time or first <= _ticks_of(entity[self.at]) <= last:
                    yield entity

    @recipe
    async def latest(self, count: int, key: Mapping[str, Any] | None = None, /, **partition: Any) -> list[Entity]:
        """Return the newest `count` entities of a partition, newest first.

        Cost: 1 transaction to list the tables, and 1 for each table that is needed, for up to 1,000 entities.

        :raises BadInput: the RowKey does not sort newest first, as that of a `LogTail` does
        :raises BadDesign: the account does not sort by key

        The parameters are those of `LogTail.latest`.
        """
        check_least("count", count, 0)
        check_key_order(self.account, "the newest ones are the first")
        if not self._newest_first:
            rule = f"the RowKey {self.key.row_template!r} does not sort newest first"
            raise BadInput("latest", count, rule, f"use a LogTail, or start the RowKey with {{{self.at}:inverted}}")
        key_fields = fields_of(key, partition)
        self.key.range(key_fields)
        entities: list[Entity] = []
        for start in reversed(await self._periods_to_read()):
            if len(entities) >= count:
                break
            entities += await self._entity_set(start).take(count - len(entities), key_fields)
        return entities

    # -- data series

    @recipe
    async def preceding(
        self, count: int, until: datetime, key: Mapping[str, Any] | None = None, /, **fields: Any
    ) -> list[Any]:
        """Return the last `count` points of a series up to an instant, across tables, oldest first.

        Points divide the period evenly: 24 points of a day are its hours. A missing point is None. Cost: 1 table
        transaction per period.

        :param fields: a value for every field of the series' key, without the instant
        :raises BadInput: the tables hold entities, or the points do not divide the period evenly

        The other parameters are those of `DataSeries.preceding`.
        """
        series_set: Inner = self._set(self.period.start(until))
        if not isinstance(series_set, DataSeries):
            rule = "its tables hold entities, and only a DataSeries has points"
            raise BadInput("factory", self.table_prefix, rule, "use range(), or return a DataSeries from the factory")
        key_fields, names_period = fields_of(key, fields), self.at in series_set.key.fields
        windows: list[tuple[datetime, Sequence[int], Mapping[str, Any]]] = []
        for start, slots in slots_before(self.period, series_set.points, count, until):
            series_key = series_set.fields_at(self.at, start, key_fields) if names_period else key_fields
            series_set.key.format(series_key)
            windows.append((start, slots, series_key))

        async def read(start: datetime, slots: Sequence[int], series_key: Mapping[str, Any]) -> list[Any]:
            if not self.is_kept(start):
                return [None] * len(slots)
            series = cast("DataSeries[Account, Any]", self._set(start))
            return await series.read(slots, series_key)

        parts = await self.account.gather(*(read(*window) for window in windows), independent=True)
        return [point for part in parts for point in part]

    # -- periods

    @recipe
    async def periods(self, earliest: date | None = None, latest: date | None = None) -> list[datetime]:
        """Return the starts of the unexpired periods that have a table, oldest first, for use with `of`.

        Cost: 1 transaction per 1,000 tables.

        :param earliest: an instant in the first period; None for the oldest
        :param latest: an instant in the last period; None for the newest
        """
        first = self._retention.first_kept(self.account.now())
        return [start for start in await self._existing(earliest, latest) if start >= first]

    @recipe
    async def expired(self, now: datetime | None = None) -> list[datetime]:
        """Return the starts of the expired periods that still have a table, oldest first.

        Use it to archive their entities before you drop them. Cost: 1 transaction per 1,000 tables.

        The parameters and errors are those of `drop_expired`.
        """
        if self.retention is None:
            raise BadInput("retention", None, "periods are kept indefinitely", "set a retention")
        clock = self.account.now()
        cutoff = clock if now is None else instant_of(now)
        if cutoff > clock:
            rule = f"it is after the current time {clock.isoformat()}, so some periods may still be written"
            raise BadInput("now", now, rule, "omit it, or pass an instant in the past")
        first = self._retention.first_kept(cutoff)
        return [start for start in await self._existing(None, None) if start < first]

    @recipe
    async def drop_expired(self, now: datetime | None = None) -> list[str]:
        """Drop the tables of all expired periods, oldest first, and return their names.

        Run it every day; several processes may run it at once. Cost: 1 transaction per 1,000 tables to list them, and 1
        for each table dropped.

        :param now: drop only what had expired at this time in the past, to allow for clock skew between writers
        :raises BadInput: the retention is indefinite, or `now` is in the future or not an instant
        """
        return [await self.drop(start) for start in await self.expired(now)]

    @recipe
    async def drop(self, moment: date) -> str:
        """Drop the table of one expired period, if it exists, and return its name. Cost: 1 transaction.

        :raises BadInput: the period has not expired, so a write would create its table again
        """
        table = self._set(self.period.start(moment)).table
        await table.drop()
        return table.name

    async def _periods_to_read(self, earliest: date | None = None, latest: date | None = None) -> list[datetime]:
        """Return the periods to read; a span within one period needs no list, so its table may be missing."""
        if earliest is not None and latest is not None:
            start = self.period.start(earliest)
            if start == self.period.start(latest):
                return [start] if start >= self._retention.first_kept(self.account.now()) else []
        return await self.periods(earliest, latest)

    async def _existing(self, earliest: date | None, latest: date | None) -> list[datetime]:
        first = "0" if earliest is None else self.period.label(self.period.start(earliest))
        last = _LAST_LABEL if latest is None else self.period.label(self.period.start(latest))
        names = [name async for name in table_names(self.account, self.table_prefix + first, self.table_prefix + last)]
        return sorted(start for name in names if (start := self.period_of(name)) is not None)

    def __repr__(self) -> str:
        return f"<PeriodTables {self.table_prefix} {self.period!r} retention={self.retention}>"


def _ticks_of(moment: date | Ticks) -> Ticks:
    return moment if isinstance(moment, Ticks) else Ticks.of(instant_of(moment))


def _key_fields(key: Key, fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return those fields that are part of a key, without the instant that only determines the table."""
    return {name: fields[name] for name in fields if name in key.fields}
