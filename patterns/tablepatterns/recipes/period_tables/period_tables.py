"""Keep one table per day or other period, so that dropping a table deletes old data."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from datetime import date, datetime, time, timedelta, timezone
from typing import Any, Final, Generic, TypeAlias, TypeVar, cast

from ...argument_types import check_least, checked
from ...arguments import fields_of
from ...edm import Ticks
from ...entity import Entity
from ...entity_set.compatibility import check_within
from ...entity_set.entity_set import EntitySet
from ...entity_set.range_query import partitions_of
from ...errors import MISSING, BadDesign, BadInput, BadKey, PeriodExpired
from ...filters import Filter, QueryClass, prop
from ...key import Key, at_least
from ...key import between as span_of
from ...recipe import Account, Account_co, Pattern, recipe, stream
from ...retry import RETRY_FOR
from ...sdk.operation import Operation
from ..data_series import DataSeries
from ..log_tail import LogTail
from .period import Period, PeriodTable, Retention, instant_of, slots_before

Inner: TypeAlias = EntitySet[Account] | DataSeries[Account, Any]
Set_co = TypeVar("Set_co", bound=Inner, covariant=True)

_LAST_LABEL: Final = "9999Z"
"""It sorts after the labels of all periods, the weeks included."""


class PeriodTables(Pattern[Account_co], Generic[Account_co, Set_co]):
    """Keep entities in one table per hour, day, week or month, and delete a whole period with one request.

    Use it for data that expires, such as sign-in records older than 60 days: finding and deleting them one by one takes
    a scan and thousands of requests; dropping the table of a day takes one.

    >>> from datetime import timezone
    >>> from tablepatterns import EntitySet, Key, connect
    >>> key = Key("{User}", "{At:ticks}")
    >>> logins = PeriodTables(
    ...     connect(), "Logins", Period.DAY, make=lambda account, table: EntitySet(account, table, key)
    ... )
    >>> for day in (30, 31):
    ...     moment = datetime(2014, 7, day, 18, tzinfo=timezone.utc)
    ...     _ = logins.insert({"User": "jo", "At": moment, "From": "10.0.0.1"})
    >>> logins.of(moment).table.name
    'Logins20140731'
    >>> [login["At"].day for login in logins.range(datetime(2014, 7, 1, tzinfo=timezone.utc), User="jo")]
    [30, 31]

    The keys are those of the inner set, which `make` creates for each table. A table is named after the series and the
    period: `Logins20140731`. Concurrent writes all go to one table, so put something that spreads them, such as the
    user, in the PartitionKey.

    Consistency: an entity is written only to the table of its instant. Whether a period has expired depends only on the
    clock and `keep`. An expired period is no longer written, its table is not created again, so no name is reused, and
    reads skip it, dropped or not. Other tables are never touched, even if their names have the same prefix. A missing
    table, or one that is being deleted, counts as empty.

    Writes made without these sets, such as by an `EntityGroupTransaction` on a table, are not checked, and neither are
    processes with another retention. If a request to create a table is delayed until after the table was created by
    another writer, expired, was dropped, and its name became free (40 seconds or more), it creates the table again: it
    is not read, and the next `drop_expired` drops it.

    Cost: a write, `get` 1 storage transaction, and 2 more for the first write of a period; `drop` 1; `drop_expired` 1
    per table dropped and 1 to list them; `range`, `latest`, `search` 1 to list the tables (per 1,000) and those of the
    inner set for each table that they read; a span within one period needs no list.

    A `DataSeries` can be the inner set too: `of(moment)` sets and reads the points of one period, and `preceding` reads
    the last points across tables.

    >>> from tablepatterns import DataSeries
    >>> messages = PeriodTables(
    ...     connect(),
    ...     "Messages",
    ...     Period.DAY,
    ...     make=lambda account, table: DataSeries(account, table, Key("{Employee}", "hours"), 24, name="Hour", of=int),
    ...     keep=timedelta(days=60),
    ... )
    >>> messages.is_kept(moment)
    False

    :param account: where the tables are
    :param name: the prefix of the tables' names: ASCII letters and digits, ending with a letter
    :param period: the length of a period
    :param make: creates the inner set of one table, an `EntitySet` or a `DataSeries`, given the account and the table's
        name; called for every use
    :param at: the field that holds the instant of an entity, an aware datetime or `Ticks`, in the key or not
    :param keep: how long to keep periods: a timedelta, so that all entities of an expired period are older than that; a
        number of periods, including the current one; None for always. All processes must use the same
    :raises BadTableName: the service would reject the tables' names
    :raises BadDesign: the name ends with a digit, so that periods could not be parsed; nothing would be kept; or `make`
        returns something other than a set of the given table, or one that derives rows elsewhere

    Guide: high volume delete pattern.
    """

    @checked
    def __init__(
        self,
        account: Account_co,
        name: str,
        period: Period,
        *,
        make: Callable[[Account_co, str], Set_co],
        at: str = "At",
        keep: timedelta | int | None = None,
    ) -> None:
        super().__init__(account)
        if name[-1:].isdigit():
            rule = "a period follows, which could not be told from a name that ends with a digit"
            raise BadDesign("name", name, rule, "end it with a letter")
        self.name = name
        self.period = period
        self.at = at
        self.keep = keep
        self._retention = Retention(period, keep)
        self._make = make
        inner = self._set(period.start(account.now()))
        if isinstance(inner, LogTail) and inner.at != at:
            raise BadDesign("at", at, f"the LogTail has its instants in {inner.at!r}", "name the same field")
        self.key: Key = inner.key
        self._reaches = at in self.key.row_fields
        self._newest_first = self._reaches and f"{{{at}:inverted}}" in self.key.row_template

    # -- which table

    @checked
    def of(self, what: datetime | Ticks | Mapping[str, Any]) -> Set_co:
        """Return the inner set for a moment, or for an entity by its moment; nothing is sent.

        It is the way to everything the inner set can do with one period. The set of an expired period can still be
        read, as long as its table is there; writes to it are refused with `PeriodExpired`.

        :param what: an aware datetime, `Ticks`, or an entity with the field `at`
        :raises BadKey: there is no such moment

        Guide: high volume delete pattern.
        """
        return self._set(self.period.start(self._moment(what) if isinstance(what, Mapping) else what))

    @checked
    def period_of(self, table: str) -> datetime | None:
        """Return when the period of a table of this series begins, or None for any other table.

        >>> from tablepatterns import connect
        >>> key = Key("{User}", "{At:ticks}")
        >>> logins = PeriodTables(connect(), "Logins", Period.MONTH, make=lambda on, name: EntitySet(on, name, key))
        >>> logins.period_of("Logins201407"), logins.period_of("LoginsArchive")
        (datetime.datetime(2014, 7, 1, 0, 0, tzinfo=datetime.timezone.utc), None)
        """
        head, label = table[: len(self.name)], table[len(self.name) :]
        return self.period.read(label) if head.lower() == self.name.lower() else None

    @checked
    def is_kept(self, moment: datetime | Ticks) -> bool:
        """Whether the period of a moment is kept now: neither expired nor to be dropped."""
        return self.period.start(moment) >= self._retention.first_kept(self.account.now())

    def _moment(self, entity: Mapping[str, Any]) -> datetime | Ticks:
        moment: datetime | Ticks | None = entity.get(self.at)
        if moment is None:
            rule = "it says which table the entity is in"
            raise BadKey(self.at, MISSING, rule, "give the entity its instant")
        return moment

    def _set(self, start: datetime) -> Set_co:
        name = self.name + self.period.label(start)
        made = self._make(cast("Account_co", self.account), name)
        if not isinstance(made, (EntitySet, DataSeries)):
            rule = f"it made a {type(made).__name__}, and each period's table is that of an EntitySet or a DataSeries"
            raise BadDesign("make", made, rule, "return EntitySet(account, table, key)")
        if made.table.name != name:
            rule = f"it made a set of the table {made.table.name!r}, and this period's table is {name!r}"
            raise BadDesign("make", made, rule, "give the set the table's name that make receives")
        if isinstance(made, EntitySet):
            check_within(name, made.derived, made.account)
        key = made.key if isinstance(made, EntitySet) else made.rows
        made.table = PeriodTable(made.table, lambda sent: self._check(start, key, sent), lambda: self._end(start))
        return made

    def _check(self, start: datetime, key: Key, operations: Sequence[Operation]) -> None:
        if not self.is_kept(start):
            rule = f"its period began at {start.isoformat()} and is kept {self._retention}, so its table is dropped"
            raise PeriodExpired(
                "table", self.name + self.period.label(start), rule, "let the entity go, or keep longer"
            )
        for operation in operations:
            fields = dict(operation.entity)
            if key.matches(*operation.key):
                fields |= key.parse(*operation.key)
            moment = fields.get(self.at)
            if isinstance(moment, date) and not isinstance(moment, datetime):
                moment = datetime.combine(moment, time(), timezone.utc)
            if isinstance(moment, (datetime, Ticks)) and self.period.start(moment) != start:
                rule = f"this is the table of the {self.period.value} that began at {start.isoformat()}"
                raise BadKey(self.at, moment, rule, "write it to the set that of() gives for it")

    def _end(self, start: datetime) -> None:
        if self.is_kept(start):
            rule = f"its period is kept {self._retention}, and a name is not used twice"
            raise BadInput("table", self.name + self.period.label(start), rule, "keep it, or keep less")

    def _awaited(self, start: datetime) -> EntitySet[Account]:
        """Return the inner set as a recipe of this class sees it, all of whose recipes are awaited.

        :raises BadInput: the tables hold data series
        """
        made: Inner = self._set(start)
        if isinstance(made, DataSeries):
            rule = "its tables hold data series, which have points and no entities"
            raise BadInput("make", self.name, rule, "use of(moment) for the series of one period, or preceding()")
        return made

    # -- entities

    @recipe
    async def insert(self, entity: Mapping[str, Any], *, retry_for: float = RETRY_FOR) -> Entity:
        """Add an entity to the table of its moment, and return it; without a moment it is of now.

        A `LogTail` appends it, and gives it an id. Cost: 1 transaction; 2 more if it is the first of its period.

        :param entity: its fields
        :param retry_for: as for `EntitySet.insert`
        :raises PeriodExpired: its period is kept no longer
        :raises EntityAlreadyExists: an entity with this key exists
        :raises BadKey: a key field is missing, or its value cannot be part of a key

        Guide: high volume delete pattern.
        """
        known = {name: value for name, value in entity.items() if value is not None}
        stamped = {self.at: self.account.now()} | known
        inner = self._awaited(self.period.start(self._moment(stamped)))
        if isinstance(inner, LogTail):
            log: LogTail[Account] = inner
            return await log.append(stamped, retry_for=retry_for)
        return await inner.insert(stamped, retry_for=retry_for)

    @recipe
    async def get(self, key: Mapping[str, Any] | None = None, /, **fields: Any) -> Entity | None:
        """Return the entity with this key and moment, or None. Cost: 1 transaction, a point query.

        :param key: the fields as a mapping, for field names that are also parameter names
        :param fields: a value for every field of the key, and the moment, which says which table to ask
        :raises BadKey: a key field is missing, or its value cannot be part of a key

        Guide: high volume delete pattern (finding single entities); point query.
        """
        given = fields_of(key, fields)
        start = self.period.start(self._moment(given))
        if start < self._retention.first_kept(self.account.now()):
            return None
        return await self._awaited(start).get({name: given[name] for name in given if name in self.key.fields})

    @recipe
    async def search(self, key: Mapping[str, Any] | None = None, /, **fields: Any) -> Entity | None:
        """Return the newest entity with this key, whatever its moment, or None: one table after the other is asked.

        Cost: 1 transaction to list the tables, and 1 for each, until it is found. Where the moment is known, use `get`.

        :param key: the fields as a mapping, for field names that are also parameter names
        :param fields: a value for every field of the key, of which the moment is none
        :raises BadKey: a key field is missing, or its value cannot be part of a key

        Guide: high volume delete pattern (finding single entities).
        """
        given = fields_of(key, fields)
        self.key.format(given)
        for start in reversed(await self._kept()):
            found = await self._awaited(start).get(given)
            if found is not None:
                return found
        return None

    @stream
    async def range(
        self,
        earliest: datetime,
        latest: datetime | None = None,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        newest_first: bool | None = None,
        where: Filter | None = None,
        allow: QueryClass = QueryClass.RANGE,
        select: Sequence[str] | None = None,
        **fields: Any,
    ) -> AsyncIterator[Entity]:
        """Yield the entities of one partition from `earliest` to `latest`, both included, table after table.

        Only tables of the span that exist are asked. Within a table entities come in key order; where the moment
        leads the RowKey the whole is in the order of time; not so on the Cosmos DB Table API. Cost: 1 transaction per
        page of up to 1,000, for each table at least 1, and 1 to list the tables of a span of several periods.

        :param earliest: an aware datetime
        :param latest: an aware datetime, or None for now and beyond
        :param newest_first: the order of the tables; None for that of the keys
        :param where: a further condition on properties
        :param allow: as for `EntitySet.range`
        :param select: the properties to read; key fields are always included
        :param key: the fields as a mapping, for field names that are also parameter names
        :param fields: the partition, and what is known of the row, but not the moment
        :raises BadInput: the keys of a table come in the other order
        :raises BadKey: the fields do not make a range

        Guide: high volume delete pattern; range query.
        """
        backwards = self._newest_first if newest_first is None else newest_first
        if self._reaches and backwards != self._newest_first:
            rule = f"the RowKey {self.key.row_template!r} puts a table's entities in the other order"
            raise BadInput("newest_first", newest_first, rule, "leave it out, or key by {At:inverted} or {At:ticks}")
        span: dict[str, Any] = {}
        if self._reaches:
            span[self.at] = at_least(earliest) if latest is None else span_of(earliest, latest)
        elif self.at not in self.key.fields:
            # Each table is read for its moments anyhow, and most lie in the span
            allow = QueryClass.PARTITION_SCAN
            where = self._within(earliest, latest, where)
        given = fields_of(span, fields_of(key, fields))
        starts = await self._kept(earliest, latest)
        for start in reversed(starts) if backwards else starts:
            async for entity in self._awaited(start).range(given, where=where, allow=allow, select=select):
                yield entity

    def _within(self, earliest: datetime, latest: datetime | None, where: Filter | None) -> Filter:
        """Return the filter for a moment that is a property, and no part of the key."""
        span: Filter = prop(self.at) >= earliest
        if latest is not None:
            span = span & (prop(self.at) <= latest)
        return span if where is None else span & where

    @recipe
    async def latest(self, count: int, key: Mapping[str, Any] | None = None, /, **partition: Any) -> list[Entity]:
        """Return the newest `count` entities of a partition, newest first, from as few tables as hold them.

        Cost: 1 transaction to list the tables, and 1 for each table it comes to, for up to 1,000 entities.

        :param count: how many entities
        :param key: the fields as a mapping, for field names that are also parameter names
        :param partition: a value for every field of the PartitionKey
        :raises BadInput: the RowKey does not put the newest first, as that of a `LogTail` does
        :raises BadDesign: the account does not sort by key

        Guide: high volume delete pattern; log tail pattern.
        """
        self._check_newest_first(count)
        return await self._newest(await self._kept(), count, fields_of(key, partition))

    @recipe
    async def latest_of_each(
        self, count: int, partitions: Iterable[Mapping[str, Any]], /, *, max_concurrency: int = 8
    ) -> list[list[Entity]]:
        """Return the newest `count` entities of each of several partitions, in the order asked for.

        Cost: 1 transaction to list the tables, and for each partition 1 for each table it comes to; they are sent
        together.

        :param count: how many entities of each partition
        :param partitions: for each partition, a value for every field of the PartitionKey
        :param max_concurrency: how many requests run at once, in threads or tasks

        The errors are those of `latest`. Guide: high volume delete pattern; log tail pattern.
        """
        asked = partitions_of(self.key, partitions, max_concurrency)
        self._check_newest_first(count)
        starts = await self._kept() if asked else []
        return await self.account.gather(
            *(self._newest(starts, count, each) for each in asked), max_concurrency=max_concurrency
        )

    def _check_newest_first(self, count: int) -> None:
        check_least("count", count, 0)
        self.account.check_key_order("the newest ones are the first")
        if not self._newest_first:
            rule = f"the RowKey {self.key.row_template!r} does not put the newest first"
            raise BadInput("latest", count, rule, f"use a LogTail, or a RowKey that begins with {{{self.at}:inverted}}")

    async def _newest(self, starts: Sequence[datetime], count: int, partition: Mapping[str, Any]) -> list[Entity]:
        found: list[Entity] = []
        for start in reversed(starts):
            if len(found) >= count:
                break
            found += await self._awaited(start).take(count - len(found), partition)
        return found

    # -- data series

    @recipe
    async def preceding(
        self, count: int, until: datetime, key: Mapping[str, Any] | None = None, /, **fields: Any
    ) -> list[Any]:
        """Return the last `count` points of a series up to that of an instant, across tables, the oldest first.

        Use it for a chart of the preceding 24 hours, which begin in yesterday's table. The points of a series divide
        its period evenly: 24 points of a day are its hours. A point without a value is None, and so are those of
        periods that have expired or have no table. Cost: 1 table transaction for each period that it reaches into.

        :param count: how many points
        :param until: an aware datetime; its point is the last one
        :param key: the fields as a mapping, for field names that are also parameter names
        :param fields: a value for every field of the series' key but that of the moment
        :raises BadInput: the tables hold entities, or the points do not divide the period evenly

        Guide: data series pattern; high volume delete pattern.
        """
        made: Inner = self._set(self.period.start(until))
        if not isinstance(made, DataSeries):
            rule = "its tables hold entities, and only a DataSeries has points"
            raise BadInput("make", self.name, rule, "use range(), or return a DataSeries from make")
        given = fields_of(key, fields)
        windows = [
            (start, slots, made.fields_at(self.at, start, given) if self.at in made.key.fields else given)
            for start, slots in slots_before(self.period, made.points, count, until)
        ]
        for _, _, each in windows:
            made.key.format(each)

        async def read(start: datetime, slots: Sequence[int], each: Mapping[str, Any]) -> list[Any]:
            if not self.is_kept(start):
                return [None] * len(slots)
            series = cast("DataSeries[Account, Any]", self._set(start))
            return await series.read(slots, each)

        parts = await self.account.gather(*(read(*window) for window in windows))
        return [point for part in parts for point in part]

    # -- periods

    @recipe
    async def periods(self, earliest: datetime | None = None, latest: datetime | None = None) -> list[datetime]:
        """Return when the periods begin that are kept and have a table, the oldest first; `of` takes them.

        Cost: 1 transaction per 1,000 tables.

        :param earliest: the periods from this moment's on; None for the oldest
        :param latest: the periods up to this moment's; None for the newest

        Guide: high volume delete pattern.
        """
        first = self._retention.first_kept(self.account.now())
        return [start for start in await self._existing(earliest, latest) if start >= first]

    @recipe
    async def expired(self, now: datetime | None = None) -> list[datetime]:
        """Return when the periods begin that have expired and still have a table, the oldest first.

        What is to be archived can be read from their sets, before they are dropped. Cost: 1 transaction per 1,000.

        :param now: as for `drop_expired`
        :raises BadInput: nothing ever expires, or `now` is still to come or no instant

        Guide: high volume delete pattern.
        """
        if self.keep is None:
            raise BadInput("keep", None, "everything is kept always", "say how long to keep periods")
        clock = self.account.now()
        asked = clock if now is None else instant_of(now)
        if asked > clock:
            rule = f"it is {clock.isoformat()}, and writers still write what expires until then"
            raise BadInput("now", now, rule, "leave it out, or give a moment in the past")
        return [each for each in await self._existing(None, None) if each < self._retention.first_kept(asked)]

    @recipe
    async def drop_expired(self, now: datetime | None = None) -> list[str]:
        """Drop the tables of all expired periods, the oldest first, and return their names.

        It may be run again and again, by several processes at once: who comes late finds nothing. After an error the
        tables dropped so far stay dropped, and the next call goes on. Cost: 1 transaction per 1,000 tables of the
        series to list them, and 1 for each table dropped.

        :param now: drop what had expired then, a moment in the past, so that stragglers of another clock are let be
        :raises BadInput: nothing ever expires, or `now` is still to come

        Guide: high volume delete pattern.
        """
        return [await self.drop(start) for start in await self.expired(now)]

    @recipe
    async def drop(self, moment: datetime) -> str:
        """Drop the table of one expired period and return its name; a missing one is fine. Cost: 1 transaction.

        :raises BadInput: the period has not expired: its table would be made again, and its name used twice

        Guide: high volume delete pattern.
        """
        table = self._set(self.period.start(moment)).table
        await table.drop()
        return table.name

    @recipe
    async def prepare_next(self) -> str:
        """Make the table of the next period, and return its name, so that its first write finds it.

        The service takes a while to spread the partitions of a new table. Cost: 1 transaction.

        Guide: high volume delete pattern (throttling of a new table).
        """
        table = self._set(self.period.shifted(self.period.start(self.account.now()), 1)).table
        await table.create()
        return table.name

    async def _kept(self, earliest: datetime | None = None, latest: datetime | None = None) -> list[datetime]:
        """Return the periods to read: of a span within one period that one, whether it has a table or not."""
        if earliest is not None and latest is not None:
            start = self.period.start(earliest)
            if start == self.period.start(latest):
                return [start] if start >= self._retention.first_kept(self.account.now()) else []
        return await self.periods(earliest, latest)

    async def _existing(self, earliest: datetime | None, latest: datetime | None) -> list[datetime]:
        first = "0" if earliest is None else self.period.label(self.period.start(earliest))
        last = _LAST_LABEL if latest is None else self.period.label(self.period.start(latest))
        names = [name async for name in self.account.table_names(self.name + first, self.name + last)]
        return sorted(start for name in names if (start := self.period_of(name)) is not None)

    def __repr__(self) -> str:
        return f"<PeriodTables {self.name} {self.period!r} keep={self.keep}>"
