"""Store a series of values that are read together in one entity, one property for each value."""

from __future__ import annotations

import importlib
import struct
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from operator import index
from typing import Any, Final, Generic, Literal, SupportsFloat, SupportsIndex, TypeVar, cast

from .. import limits
from ..argument_types import checked
from ..arguments import fields_of, via_and_fields
from ..declared_rows import RowKind
from ..edm import Int64
from ..entity import WRITE_ID, Entity, storable
from ..entity_set.range_query import range_filter
from ..errors import (
    BadDesign,
    BadInput,
    BadKey,
    BadProperty,
    EntityAlreadyExists,
    EntityChanged,
    EntityNotFound,
    LimitExceeded,
    locating,
)
from ..extras import how_to_install
from ..key import Key, KeyRange
from ..recipe import Account_co, Pattern, recipe, stream
from ..retry import RETRY_FOR, Overtaken, check_retry_for, contended
from ..sdk.operation import ANY, Operation
from .period_tables.period import Period, slots_before

V = TypeVar("V", bound="int | float")

DTYPES: Final[dict[type, str]] = {int: "Int32", Int64: "Int64", float: "Float64", bool: "boolean"}
"""The types of points, with the nullable pandas types for the same values."""
_CODES: Final[dict[type, str]] = {int: "i", Int64: "q", float: "d", bool: "?"}
_HEAD: Final = struct.Struct("<cI")


def typed(of: type[V], name: str, value: object) -> V:
    """Return a value as the declared type; numpy numbers are converted.

    >>> typed(float, "Hour09", 12)
    12.0

    :param of: one of `DTYPES`
    :param name: the property of the value
    :raises BadProperty: the value is not of the type, or out of its range
    """
    try:
        return cast("V", _CONVERSIONS[of](value))
    except (TypeError, ValueError, OverflowError) as error:
        rule = f"the values are of type {of.__name__}, and this one is not: {error}"
        raise BadProperty(name, value, rule, "convert it, or declare another type") from error


def added(of: type[V], name: str, value: object, amount: V) -> V:
    """Return the sum of a stored value and an amount.

    :raises BadProperty: the stored value or the sum is not of the type
    """
    plain = float if of is float else int
    return typed(of, name, plain(typed(of, name, value)) + plain(amount))


def packed(of: type[V], values: Iterable[V | None]) -> bytes:
    """Pack a whole series into bytes, to be stored in one property.

    Use it for a series with too many points for a property each: some 8,000 values of 64 bits fit in one property, and
    a longer series in a blob. The bytes hold a bit for each point, and each value that is there. To set a point, read
    the entity and replace it, as `EntitySet.update` does.

    >>> data = packed(int, [3, None, 5])
    >>> len(data), unpacked(int, data)
    (14, [3, None, 5])

    :param of: the type of the values, one of `DTYPES`
    :param values: the points in order, None for a point without a value
    :raises BadProperty: a value is not of the type

    Guide: data series pattern; large entities pattern.
    """
    points = [None if value is None else typed(of, "series", value) for value in values]
    there = [value for value in points if value is not None]
    mask = bytearray((len(points) + 7) // 8)
    for number, value in enumerate(points):
        mask[number // 8] |= (value is not None) << number % 8
    code = _CODES[of]
    return _HEAD.pack(code.encode(), len(points)) + mask + struct.pack(f"<{len(there)}{code}", *there)


def unpacked(of: type[V], data: bytes) -> list[V | None]:
    """Return the points in bytes that `packed` returned, None for a point without a value.

    :param of: the type that they were packed with
    :raises BadProperty: the bytes are not a packed series of this type
    """
    try:
        code, count = _HEAD.unpack_from(data)
        start = _HEAD.size + (count + 7) // 8
        bits = int.from_bytes(data[_HEAD.size : start], "little")
        kind = f"<{bits.bit_count()}{_CODES[of]}"
        if code != _CODES[of].encode() or bits.bit_length() > count or len(data) != start + struct.calcsize(kind):
            raise ValueError("the type or the length differs")
        there = iter(struct.unpack_from(kind, data, start))
    except (struct.error, ValueError) as error:
        rule = f"it is no packed series of {of.__name__}: {error}"
        raise BadProperty("series", data, rule, "unpack what packed() returned, with the same type") from error
    mask = data[_HEAD.size : start]
    return [typed(of, "series", next(there)) if mask[each // 8] >> each % 8 & 1 else None for each in range(count)]


def _int(value: object) -> int:
    # NumPy's booleans are named differently, and older versions accept them as an index
    if type(value).__name__ in ("bool", "bool_") or not isinstance(value, SupportsIndex):
        raise TypeError("it is no integer")
    return index(value)


def _int32(value: object) -> int:
    number = _int(value)
    if not limits.INT32_MIN <= number <= limits.INT32_MAX:
        raise ValueError("it has more than 32 bits, which Int64 is for")
    return number


def _int64(value: object) -> Int64:
    return Int64(_int(value))


def _float(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, SupportsFloat):
        raise TypeError("it is no number")
    return float(value)


def _bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("it is neither True nor False")
    return value


_CONVERSIONS: Final[dict[type, Callable[[object], int | float]]] = {
    int: _int32,
    Int64: _int64,
    float: _float,
    bool: _bool,
}


_ROOM: Final = limits.MAX_CUSTOM_PROPERTIES - 1
"""How many points a row holds: one property is needed for the write id."""
_MAX_ROWS: Final = 99
_ROW: Final = "SeriesRow"


class DataSeries(Pattern[Account_co], Generic[Account_co, V]):
    """Keep a complete series in one entity, so that one request reads it and one merge sets a point.

    Use it for values that are read together, such as the messages that an employee sent in each hour of a day. With an
    entity per hour, a chart of the day would need 24. There is one entity for each series and period; its points are
    properties named by their number, `Hour00` to `Hour23`.

    >>> from datetime import date
    >>> from tablepatterns import Key, connect
    >>> messages = DataSeries(connect(), "MessageCounts", Key("{Employee}", "{Day:%Y-%m-%d}"), 24, name="Hour", of=int)
    >>> day = {"Employee": "000223", "Day": date(2014, 8, 22)}
    >>> messages.set(9, 12, **day)
    >>> messages.add(10, 3, **day)
    3
    >>> messages.read(range(8, 12), **day)
    [None, 12, 3, None]

    Consistency: setting a point leaves the others unchanged. `add` loses no increment, however many writers add
    concurrently, and counts none twice. After a lost response, `set` and `add` are not sent again if that could undo a
    later write: if the row does not show whether they succeeded, they raise `OutcomeUnknown`. Every point has the
    declared type. A point that was never set is None, and so are all points of a series that does not exist.

    An entity holds at most 251 points. With `split`, up to 24,849 points are stored in rows of 251, with `_01`, `_02`
    and so on at the end of the RowKey. To store a longer series as one value, use `points.packed`. Concurrent writers
    of one entity contend for its ETag, which guards all its points: spread them over several series, and add those up.

    Cost, in storage transactions: `set`, `set_many`, `read` 1. `add` 2 for each attempt, `clear` the same.

    :param account: where the table is
    :param table: the table's name; the first write creates it
    :param key: the key; its fields name a series and its period
    :param points: how many points a series has, numbered from 0
    :param name: the prefix of the properties' names
    :param of: the type of a point: `int` (32 bits), `Int64`, `float` or `bool`
    :param split: whether a series has several rows; it cannot be changed once there are series
    :raises LimitExceeded: there are more points than one entity holds, or than 99 rows do
    :raises BadProperty: the prefix cannot begin a property's name
    :raises BadDesign: the type is not one of these
    :raises BadTableName: the service would reject the table's name

    Guide: data series pattern.
    """

    @checked
    def __init__(
        self, account: Account_co, table: str, key: Key, points: int, *, name: str, of: type[V], split: bool = False
    ) -> None:
        super().__init__(account)
        self.key = key
        self.points = points
        self.name = name
        self.of = of
        self.split = split
        # The last field needs an end, since a longer RowKey could be another series
        separator = "_" if key.row_template.endswith("}") else ""
        suffix = f"{separator}{{{_ROW}:02d}}" if split else ""
        self.rows = Key(key.partition_template, key.row_template + suffix, max_units=key.max_units)
        with locating(key.location(table)):
            self._check_design()
            self.table = account.table(table)
            owner = ("series", table.lower(), self.rows.partition_template, self.rows.row_template)
            account.declared_rows.add(
                [RowKind(("table", table.lower()), self.rows, owner, f"data series of {table!r}")]
            )

    @property
    def location(self) -> str:
        """The table and the key, for errors."""
        return self.key.location(self.table.name)

    def _check_design(self) -> None:
        most = _ROOM * (_MAX_ROWS if self.split else 1)
        if not 1 <= self.points <= most:
            rule = f"a series has 1 to {most} points" + ("" if self.split else " in one entity")
            hint = "" if self.split else "spread it over several with split=True, or "
            raise LimitExceeded("points", self.points, rule, hint + "keep it in a blob (large entities)")
        storable(self._property(0), 0)
        if self.of not in DTYPES:
            raise BadDesign("of", self.of, f"a point is one of {[each.__name__ for each in DTYPES]}", "use one of them")
        if self.split and not self.account.keeps_key_order:
            rule = "its rows must come in key order, which the Cosmos DB Table API does not give"
            raise BadDesign("split", True, rule, "use Azure Table storage, or series of one entity")

    # Writing

    @recipe
    async def set(self, slot: int, value: V, key: Mapping[str, Any] | None = None, /, **fields: Any) -> None:
        """Set one point; the others stay as they are. Cost: 1 transaction, a merge.

        :param slot: the number of the point, from 0
        :param value: of the series' type; None is rejected, since a merge cannot remove a value: see `clear`
        :param key: the fields as a mapping, for field names that are also parameter names
        :param fields: a value for every field of the key
        :raises BadInput: the series has no such point
        :raises BadProperty: the value is not of the type
        :raises BadKey: a key field is missing, or its value cannot be part of a key
        :raises OutcomeUnknown: the response was lost, and the row does not show whether the point was set; if no other
            program sets or adds to it, set it again

        Guide: data series pattern; merge or replace (insert-or-merge).
        """
        await self.set_many({slot: value}, fields_of(key, fields))

    @recipe
    async def set_many(self, values: Mapping[int, V], key: Mapping[str, Any] | None = None, /, **fields: Any) -> None:
        """Set several points at once. Cost: 1 transaction.

        :param values: by the number of the point

        Raises the errors of `set`.
        """
        given = fields_of(key, fields)
        rows: dict[int, dict[str, Any]] = {}
        for slot, value in values.items():
            row = self._row_of(slot)
            rows.setdefault(row, dict(self._keys(row, given)))[self._property(slot)] = self._typed(slot, value)
        await self.table.submit(*map(Operation.insert_or_merge, rows.values()))

    @recipe
    async def add(
        self,
        slot: int,
        amount: V,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        retry_for: float = RETRY_FOR,
        **fields: Any,
    ) -> V:
        """Add to a point, and return its new value; a point without a value counts as 0.

        The point is read and written back, and both are retried if the entity changed in between. Cost: 2 transactions
        for each attempt.

        :param slot: the number of the point, from 0
        :param amount: of the series' type; negative to subtract
        :param retry_for: for how many seconds to retry while others write to the entity; 0 for a single attempt
        :param key: the fields as a mapping, for field names that are also parameter names
        :param fields: a value for every field of the key
        :raises TooMuchContention: others wrote to the entity during every attempt
        :raises OutcomeUnknown: the response was lost, and so many writes followed that the row no longer shows whether
            the point changed
        :raises BadProperty: the new value is not of the type, or the series is of `bool`

        The other errors are those of `set`. Guide: data series pattern; concurrency.
        """
        if self.of is bool:
            raise BadProperty("amount", amount, "bools cannot be added", "declare a series of int")
        name, more = self._property(slot), self._typed(slot, amount)
        keys = self._keys(self._row_of(slot), fields_of(key, fields))

        async def attempt() -> V:
            found = await self.table.get(keys["PartitionKey"], keys["RowKey"], select=self._selected([name]))
            value = added(self.of, name, found.get(name, 0) if found else 0, more)
            try:
                await self.table.submit(_guarded("merge", keys | {name: value}, found))
            except (EntityChanged, EntityNotFound, EntityAlreadyExists) as error:
                raise Overtaken from error
            return value

        return await contended(self.account, attempt, retry_for)

    @recipe
    async def clear(self, /, *slots: int | Mapping[str, Any], retry_for: float = RETRY_FOR, **fields: Any) -> None:
        """Remove the values of points, which become None again. Cost: 2 transactions for each attempt.

        A merge cannot remove a property, so the rows are read and written back, and both are retried if they changed in
        between.

        :param slots: the numbers of the points
        :param retry_for: as for `add`
        :raises TooMuchContention: others wrote to the entity during every attempt
        """
        check_retry_for(retry_for)
        numbers, key = _slots_and_key(slots)
        given = fields_of(key, fields)
        gone = {self._property(slot) for slot in numbers}
        rows = {self._row_of(slot) for slot in numbers}

        async def attempt() -> None:
            found = [row for row in await self._found(rows, given, None) if gone & row.keys()]
            kept = [{name: row[name] for name in row if name not in gone} for row in found]
            try:
                await self.table.submit(
                    *(_guarded("replace", rest, row) for rest, row in zip(kept, found, strict=True))
                )
            except (EntityChanged, EntityNotFound) as error:
                raise Overtaken from error

        if numbers:
            await contended(self.account, attempt, retry_for)

    @recipe
    async def delete(
        self, key: Mapping[str, Any] | None = None, /, *, retry_for: float = RETRY_FOR, **fields: Any
    ) -> bool:
        """Delete a series with all its points; return False if it does not exist.

        Cost: 1 transaction; with `split` 1 more to read, for each attempt.

        :param retry_for: with `split`, for how many seconds to retry while others add or delete rows
        """
        given = fields_of(key, fields)

        async def attempt() -> bool:
            everything = range(self._row_of(self.points - 1) + 1)
            rows = await self._found(everything, given, []) if self.split else [self._keys(0, given)]
            try:
                await self.table.submit(*(Operation.delete(row["PartitionKey"], row["RowKey"], ANY) for row in rows))
            except EntityNotFound as error:
                if not self.split:
                    return False
                raise Overtaken from error
            return bool(rows)

        return await contended(self.account, attempt, retry_for)

    # Reading

    @recipe
    async def read(
        self,
        slots: Iterable[int] | Mapping[str, Any] | None = None,
        key: Mapping[str, Any] | None = None,
        /,
        **fields: Any,
    ) -> list[V | None]:
        """Return the points in order, None for a point without a value. Cost: 1 transaction.

        This is a point query, or a range query if the points are in several rows.

        :param slots: the numbers of the points to read, such as `range(8, 12)`; None for all
        :param key: the fields as a mapping, for field names that are also parameter names
        :param fields: a value for every field of the key
        :raises BadInput: the series has no such point
        :raises BadProperty: another program stored a value that is not of the type

        Guide: data series pattern; server-side projection.
        """
        chosen, given = via_and_fields(slots, key, fields)
        wanted = range(self.points) if chosen is None else list(chosen)
        names = [self._property(slot) for slot in wanted]
        rows = {self._row_of(slot) for slot in wanted}
        self.key.format(given)
        found: dict[str, Any] = {}
        for row in await self._found(rows, given, None if chosen is None else names):
            found |= row
        return [self._point(slot, found) for slot in wanted]

    @recipe
    async def preceding(
        self,
        count: int,
        until: datetime,
        at: str,
        period: Period = Period.DAY,
        key: Mapping[str, Any] | None = None,
        /,
        **fields: Any,
    ) -> list[V | None]:
        """Return the last `count` points up to that of an instant, oldest first, across periods.

        Use it for a chart of the last 24 hours, which lie in today's series and in yesterday's. The points of a series
        divide its period evenly, in UTC: the 24 points of a day are its hours.

        >>> from datetime import date, datetime, timezone
        >>> from tablepatterns import Key, connect
        >>> messages = DataSeries(
        ...     connect(), "MessageCounts", Key("{Employee}", "{Day:%Y-%m-%d}"), 24, name="Hour", of=int
        ... )
        >>> messages.set(23, 7, Employee="000223", Day=date(2014, 8, 21))
        >>> messages.set(0, 5, Employee="000223", Day=date(2014, 8, 22))
        >>> messages.preceding(3, datetime(2014, 8, 22, 1, tzinfo=timezone.utc), "Day", Employee="000223")
        [7, 5, None]

        Cost: 1 table transaction for each period that it reaches into, such as 2 for 24 hours; they are sent together.

        :param count: how many points
        :param until: an aware datetime; its point is the last one
        :param at: the key field with the period of a series, a date or an instant
        :param period: how long a period is
        :param key: the fields as a mapping, for field names that are also parameter names
        :param fields: a value for every other field of the key
        :raises BadInput: the points do not divide the period evenly, or there is no such field
        :raises BadKey: a key field is missing, or its value cannot be part of a key

        Guide: data series pattern.
        """
        if at not in self.key.fields:
            rule = "it names the field of the key that says which period a series is of"
            raise BadInput("at", at, rule, f"give one of {list(self.key.fields)}")
        found = slots_before(period, self.points, count, until)
        given = fields_of(key, fields)
        windows = [(slots, self.fields_at(at, start, given)) for start, slots in found]
        parts = await self.account.gather(*(self.read(slots, each) for slots, each in windows))
        return [point for part in parts for point in part]

    @checked
    def fields_at(self, at: str, start: datetime, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the key fields of the series whose period begins at an instant."""
        day = {**fields, at: start.date()}
        try:
            self.key.format(day)
        except BadKey:
            # The field may hold an instant rather than a date
            instant = {**fields, at: start}
            self.key.format(instant)
            return instant
        return day

    @recipe
    async def to_pandas(
        self,
        slots: Iterable[int] | Mapping[str, Any] | None = None,
        key: Mapping[str, Any] | None = None,
        /,
        **fields: Any,
    ) -> Any:
        """Return the points as a `pandas.Series`, with missing values as NA. Cost: 1 transaction.

        Its index is the numbers of the points; its type is one of the nullable ones: Int32, Int64, Float64, boolean.

        :param slots: as for `read`
        :raises ModuleNotFoundError: pandas is missing; install `tablepatterns[plot]`

        Guide: data series pattern.
        """
        try:
            pandas = importlib.import_module("pandas")
        except ModuleNotFoundError as error:
            text = f"a series of pandas needs pandas: {how_to_install('plot')}"
            raise ModuleNotFoundError(text, name=error.name) from error
        chosen, given = via_and_fields(slots, key, fields)
        wanted = list(range(self.points) if chosen is None else chosen)
        return pandas.Series(await self.read(wanted, given), index=wanted, dtype=DTYPES[self.of], name=self.name)

    @stream
    async def over(
        self, key: Mapping[str, Any] | None = None, /, **fields: Any
    ) -> AsyncIterator[tuple[dict[str, Any], list[V | None]]]:
        """Yield the series of one partition in key order, each with its key fields and all its points.

        On the Cosmos DB Table API the order is undefined. Cost: 1 transaction per page of up to 1,000 rows.

        :param key: the fields as a mapping, for field names that are also parameter names
        :param fields: the partition, and what is known of the row key; the last may be a range such as `between`

        Guide: data series pattern; range query.
        """
        where = range_filter(self.rows.range(fields_of(key, fields)))
        known: tuple[tuple[str, Any], ...] = ()
        found: dict[str, Any] = {}
        async for row in self.table.query(where):
            if not self.rows.matches(row["PartitionKey"], row["RowKey"]):
                continue
            series = self._series_of(row)
            if known and series != known:
                yield dict(known), self._all(found)
                found = {}
            known = series
            found |= row
        if known:
            yield dict(known), self._all(found)

    def _series_of(self, row: Entity) -> tuple[tuple[str, Any], ...]:
        known = self.rows.parse(row["PartitionKey"], row["RowKey"])
        return tuple((name, known[name]) for name in self.key.fields)

    async def _found(self, rows: Collection[int], fields: Mapping[str, Any], names: list[str] | None) -> list[Entity]:
        """Read the rows that exist: one by a point query, several by the range that contains them."""
        select = self._selected(names)
        if not rows:
            return []
        first, last = self._keys(min(rows), fields), self._keys(max(rows), fields)
        if first == last:
            row = await self.table.get(first["PartitionKey"], first["RowKey"], select=select)
            return [] if row is None else [row]
        span = KeyRange(first["PartitionKey"], first["RowKey"], True, last["RowKey"], True)
        wanted = {self._keys(number, fields)["RowKey"] for number in rows}
        return [row async for row in self.table.query(range_filter(span), select=select) if row.row_key in wanted]

    # Conversion

    def _keys(self, row: int, fields: Mapping[str, Any]) -> dict[str, str]:
        self.key.format(fields)
        partition_key, row_key = self.rows.format({**fields, _ROW: row + 1} if self.split else fields)
        return {"PartitionKey": partition_key, "RowKey": row_key}

    def _row_of(self, slot: int) -> int:
        return self._number(slot) // _ROOM

    def _property(self, slot: int) -> str:
        return f"{self.name}{self._number(slot):0{len(str(self.points - 1))}d}"

    def _number(self, slot: SupportsIndex) -> int:
        if isinstance(slot, bool) or not isinstance(slot, SupportsIndex) or not 0 <= index(slot) < self.points:
            rule = f"the points of the series are 0 to {self.points - 1}"
            raise BadInput("slot", slot, rule, "give one of their numbers")
        return index(slot)

    def _selected(self, names: Sequence[str] | None) -> tuple[str, ...] | None:
        return None if names is None else (*limits.SYSTEM_PROPERTIES, WRITE_ID, *names)

    def _typed(self, slot: int, value: object) -> V:
        return typed(self.of, self._property(slot), value)

    def _point(self, slot: int, found: Mapping[str, Any]) -> V | None:
        value = found.get(self._property(slot))
        return None if value is None else self._typed(slot, value)

    def _all(self, found: Mapping[str, Any]) -> list[V | None]:
        return [self._point(slot, found) for slot in range(self.points)]


def _slots_and_key(given: Sequence[int | Mapping[str, Any]]) -> tuple[list[int], Mapping[str, Any] | None]:
    """Return the numbers of points and the key fields; the last positional argument may be a mapping of fields."""
    *slots, last = given or (None,)
    key = last if isinstance(last, Mapping) else None
    return [cast("int", each) for each in (slots if key is not None else given)], key


def _guarded(kind: Literal["replace", "merge"], row: Mapping[str, Any], found: Entity | None) -> Operation:
    """Return a write that fails if the row has changed since it was read, or exists if it did not."""
    if found is None:
        return Operation.insert(row)
    make = Operation.merge if kind == "merge" else Operation.replace
    return replace(make(row, found.etag or ""), lineage=found.lineage)
