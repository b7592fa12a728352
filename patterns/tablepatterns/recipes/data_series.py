"""Store a series of values that are read together in one entity, one property for each value."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from itertools import chain
from operator import index
from typing import Any, Final, Generic, Literal, SupportsFloat, SupportsIndex, TypeVar, cast

from .. import limits
from ..argument_types import checked
from ..declared_rows import RowKind
from ..edm import Int64
from ..entity import WRITE_ID, Entity, storable, write_ids_of
from ..entity_set.derived import keys_of
from ..entity_set.range_query import range_filter
from ..errors import BadDesign, BadInput, BadKey, BadProperty, EntityNotFound, LimitExceeded, locating
from ..filters import Interval
from ..key import Key, KeyRange
from ..key.key import fields_of, via_and_fields
from ..recipe import Account_co, Pattern, SetProfile, check_key_order, declared_rows, recipe, stream
from ..retry import LOST_RACE, RETRY_FOR, Overtaken, check_retry_for, contended, overtaken_by
from ..sdk.operation import ANY, Operation
from .period import Period, slots_before

V = TypeVar("V", bound="int | float")


def _converted(value_type: type[V], name: str, value: object) -> V:
    """Return the value of a property as the declared type; numpy numbers are converted."""
    try:
        return cast("V", _CONVERSIONS[value_type](value))
    except (TypeError, ValueError, OverflowError) as error:
        rule = f"the values are of type {value_type.__name__}, and this one is not: {error}"
        raise BadProperty(name, value, rule, "convert it, or declare another type") from error


def _int(value: object) -> int:
    if type(value) is int:  # `isinstance` with a protocol is slow
        return value
    # NumPy's booleans are named differently, and older versions accept them as an index
    if type(value).__name__ in ("bool", "bool_") or not isinstance(value, SupportsIndex):
        raise TypeError("it is not an integer")
    return index(value)


def _int32(value: object) -> int:
    number = _int(value)
    if not limits.INT32_MIN <= number <= limits.INT32_MAX:
        raise ValueError("it has more than 32 bits; declare Int64")
    return number


def _float(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, SupportsFloat):
        raise TypeError("it is not a number")
    return float(value)


def _bool(value: object) -> bool:
    if not isinstance(value, bool):
        raise TypeError("it is neither True nor False")
    return value


_CONVERSIONS: Final[dict[type, Callable[[object], int | float]]] = {
    int: _int32,
    Int64: lambda value: Int64(_int(value)),
    float: _float,
    bool: _bool,
}


_POINTS_PER_ROW: Final = limits.MAX_CUSTOM_PROPERTIES - 1
"""One property of a row holds the write id."""
_MAX_ROWS: Final = 99
_ROW: Final = "SeriesRow"


class DataSeries(Pattern[Account_co], Generic[Account_co, V]):
    """Keep a complete series in one entity, so that one request reads it and one merge sets a point.

    Use it for values that are read together, such as the messages that an employee sent in each hour of a day. There is
    one entity for each series and period; its points are properties named by their number, `Hour00` to `Hour23`.

    >>> from datetime import date
    >>> from tablepatterns import Key, connect
    >>> by_day = Key("{Employee}", "{Day:%Y-%m-%d}")
    >>> messages = DataSeries(connect(), "MessageCounts", by_day, 24, prefix="Hour", value_type=int)
    >>> day = {"Employee": "000223", "Day": date(2014, 8, 22)}
    >>> messages.set(9, 12, **day)
    >>> messages.add(10, 3, **day)
    3
    >>> messages.read(range(8, 12), **day)
    [None, 12, 3, None]

    Consistency: setting a point leaves the others unchanged. `add` loses no increment, and counts none twice. If a
    response is lost, and the row does not show whether the write was made, `OutcomeUnknown` is raised.

    A point that was never set is None. A series has at most 251 points; with `split`, up to 24,849 in several rows.

    :param key: the key; its fields name a series and its period
    :param points: how many points a series has, numbered from 0
    :param prefix: the prefix of the properties' names
    :param value_type: the type of a point: `int` (32 bits), `Int64`, `float` or `bool`
    :param split: whether a series has several rows; it cannot be changed once there are series
    :raises LimitExceeded: too many points
    :raises BadProperty: the prefix cannot begin a property's name
    :raises BadDesign: the type is not one of these
    :raises BadTableName: the service would reject the table's name

    The other parameters are those of `EntitySet`. Guide: data series pattern.
    """

    @checked
    def __init__(
        self,
        account: Account_co,
        table: str,
        key: Key,
        points: int,
        *,
        prefix: str,
        value_type: type[V],
        split: bool = False,
    ) -> None:
        super().__init__(account)
        self.key = key
        self.points = points
        self.prefix = prefix
        self.value_type = value_type
        self.split = split
        # The last field needs an end, since a longer RowKey could be another series
        row = f"{key.row_template}{'_' * key.row_template.endswith('}')}{{{_ROW}:02d}}" if split else key.row_template
        self.rows = Key(key.partition_template, row, max_units=key.max_units)
        with locating(f"table {table}"):
            self._check_design()
            self.table, description = account.table(table), f"data series of {table!r}"
            owner = ("series", table.lower(), self.rows.partition_template, self.rows.row_template)
            declared_rows(account).add([RowKind(("table", table.lower()), self.rows, owner, description)])
        self._names = tuple(f"{prefix}{number:0{len(str(points - 1))}d}" for number in range(points))

    def _set_profile(self) -> SetProfile | None:
        settings = {"points": self.points, "name": self.prefix, "of": self.value_type.__name__, "split": self.split}
        return SetProfile("data_series", self.table.name, self.key, settings)

    def _check_design(self) -> None:
        most = _POINTS_PER_ROW * (_MAX_ROWS if self.split else 1)
        if not 1 <= self.points <= most:
            hint = "store the series in a blob" if self.split else "use split=True, or store the series in a blob"
            raise LimitExceeded("points", self.points, f"a series has 1 to {most} points", hint)
        storable(f"{self.prefix}0", 0)
        if self.value_type not in _CONVERSIONS:
            rule = f"a point is one of {[point_type.__name__ for point_type in _CONVERSIONS]}"
            raise BadDesign("value_type", self.value_type, rule, "use one of them")
        if self.split:
            check_key_order(self.account, "the rows of a split series need to be read")

    # Writing

    @recipe
    async def set(self, slot: int, value: V, key: Mapping[str, Any] | None = None, /, **fields: Any) -> None:
        """Set one point; the others stay as they are. Cost: 1 transaction, a merge.

        :param slot: the number of the point, from 0
        :param value: of the series' type; None is rejected, since a merge cannot remove a value: see `clear`
        :param fields: a value for every field of the key, or as a mapping `key`
        :raises BadInput: the series has no such point
        :raises BadProperty: the value is not of the type
        :raises BadKey: a key field is missing, or its value cannot be part of a key
        :raises OutcomeUnknown: the response was lost, and the row does not show whether the point was set; if no other
            program sets or adds to it, set it again
        """
        await self.set_many({slot: value}, fields_of(key, fields))

    @recipe
    async def set_many(self, values: Mapping[int, V], key: Mapping[str, Any] | None = None, /, **fields: Any) -> None:
        """Set several points at once. Cost: 1 transaction.

        :param values: by the number of the point

        The other parameters and errors are those of `set`.
        """
        partition_key, row_key = self._keys_of(fields_of(key, fields))
        rows: dict[int, dict[str, Any]] = {}
        for slot, value in values.items():
            name, row = self._name_of(slot), self._row_of(slot)
            if row not in rows:
                rows[row] = {"PartitionKey": partition_key, "RowKey": row_key(row)}
            rows[row][name] = _converted(self.value_type, name, value)
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

        :param amount: of the series' type; negative to subtract
        :param retry_for: the seconds to keep retrying while others write to the entity; 0 for a single attempt
        :raises TooMuchContention: others wrote to the entity during every attempt
        :raises OutcomeUnknown: the response was lost, and the row no longer shows whether the point changed
        :raises BadProperty: the new value is not of the type, or the series is of `bool`

        The other parameters and errors are those of `set`.
        """
        kind = self.value_type
        if kind is bool:
            raise BadProperty("amount", amount, "bools cannot be added", "declare a series of int")
        name = self._name_of(slot)
        more = _converted(kind, name, amount)
        partition_key, row_key_of = self._keys_of(fields_of(key, fields))
        row_key = row_key_of(self._row_of(slot))

        async def attempt() -> V:
            stored_row = await self.table.get(partition_key, row_key, select=_selected([name]))
            before: Any = _converted(kind, name, stored_row.get(name, 0) if stored_row else 0)
            value = _converted(kind, name, before + more)
            row = {"PartitionKey": partition_key, "RowKey": row_key, name: value}
            with overtaken_by(*LOST_RACE):
                await self.table.submit(_conditional("merge", row, stored_row))
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
        key_fields = fields_of(key, fields)
        names = {self._name_of(slot) for slot in numbers}
        rows = {self._row_of(slot) for slot in numbers}

        async def attempt() -> None:
            stored_rows = [row for row in await self._read_rows(rows, key_fields, None) if names & row.keys()]
            remaining_rows = [{name: row[name] for name in row if name not in names} for row in stored_rows]
            with overtaken_by(*LOST_RACE):
                await self.table.submit(*map(partial(_conditional, "replace"), remaining_rows, stored_rows))

        await contended(self.account, attempt, retry_for)

    @recipe
    async def delete(
        self, key: Mapping[str, Any] | None = None, /, *, retry_for: float = RETRY_FOR, **fields: Any
    ) -> bool:
        """Delete a series with all its points; return False if it does not exist.

        Cost: 1 transaction; with `split` 1 more to read, for each attempt.

        :param retry_for: with `split`, the seconds to keep retrying while others add or delete rows
        """
        key_fields = fields_of(key, fields)

        async def attempt() -> bool:
            keys = [self.key.format(key_fields)]
            if self.split:
                rows = await self._read_rows(range(self._row_of(self.points - 1) + 1), key_fields, [])
                keys = [(keys[0][0], row["RowKey"]) for row in rows]
            try:
                await self.table.submit(*(Operation.delete(*row_keys, ANY) for row_keys in keys))
            except EntityNotFound as error:
                if not self.split:
                    return False
                raise Overtaken from error
            return bool(keys)

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

        :param slots: the numbers of the points to read, such as `range(8, 12)`; None for all
        :raises BadInput: the series has no such point
        :raises BadProperty: another program stored a value that is not of the type

        The other parameters are those of `set`.
        """
        slot_numbers, key_fields = via_and_fields(slots, key, fields)
        numbers = range(self.points) if slot_numbers is None else list(slot_numbers)
        names = self._names if slot_numbers is None else [self._name_of(slot) for slot in numbers]
        rows = {self._row_of(slot) for slot in numbers} if self.split else {0}
        selected = None if slot_numbers is None else names
        return self._points(await self._read_rows(rows if numbers else (), key_fields, selected), names)

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

        Use it for a chart of the last 24 hours, which are in today's series and in yesterday's. The points of a series
        divide its period evenly, in UTC.

        >>> from datetime import date, datetime, timezone
        >>> from tablepatterns import Key, connect
        >>> by_day = Key("{Employee}", "{Day:%Y-%m-%d}")
        >>> messages = DataSeries(connect(), "MessageCounts", by_day, 24, prefix="Hour", value_type=int)
        >>> messages.set(23, 7, Employee="000223", Day=date(2014, 8, 21))
        >>> messages.set(0, 5, Employee="000223", Day=date(2014, 8, 22))
        >>> messages.preceding(3, datetime(2014, 8, 22, 1, tzinfo=timezone.utc), "Day", Employee="000223")
        [7, 5, None]

        Cost: 1 table transaction for each period that it reaches into, such as 2 for 24 hours; they are sent together.

        :param count: how many points
        :param until: an aware datetime; its point is the last one
        :param at: the key field with the period of a series, a date or an instant
        :param period: how long a period is
        :param fields: a value for every other field of the key, or as a mapping `key`
        :raises BadInput: the points do not divide the period evenly, or there is no such field
        :raises BadKey: a key field is missing, or its value cannot be part of a key
        """
        if at not in self.key.fields:
            rule = "it names the key field that holds the period of a series"
            raise BadInput("at", at, rule, f"give one of {list(self.key.fields)}")
        key_fields = fields_of(key, fields)
        windows = slots_before(period, self.points, count, until)
        reads = (self.read(slots, self.fields_at(at, start, key_fields)) for start, slots in windows)
        return list(chain.from_iterable(await self.account.gather(*reads, independent=True)))

    @checked
    def fields_at(self, at: str, start: datetime, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the key fields of the series whose period begins at an instant."""
        key_fields = {**fields, at: start.date()}
        try:
            self.key.format(key_fields)
        except BadKey:
            # The field may hold an instant rather than a date
            key_fields[at] = start
        return key_fields

    @stream
    async def range(
        self, key: Mapping[str, Any] | None = None, /, **fields: Any
    ) -> AsyncIterator[tuple[dict[str, Any], list[V | None]]]:
        """Yield the series of one partition in key order, each with its key fields and all its points.

        On the Cosmos DB Table API the order is undefined. Cost: 1 transaction per page of up to 1,000 rows.

        The parameters are those of `EntitySet.range`.
        """
        where = range_filter(self.rows.range(fields_of(key, fields)))
        current_series: dict[str, Any] = {}
        rows: list[Entity] = []
        async for row in self.table.query(where):
            key_values = self.rows.parse_or_none(*keys_of(row))
            if key_values is None:
                continue
            series = {name: key_values[name] for name in self.key.fields}
            if rows and series != current_series:
                yield current_series, self._points(rows, self._names)
                rows = []
            current_series = series
            rows.append(row)
        if rows:
            yield current_series, self._points(rows, self._names)

    async def _read_rows(
        self, rows: Collection[int], fields: Mapping[str, Any], names: Sequence[str] | None
    ) -> list[Entity]:
        """Return those of the rows that exist, from a point query, or from the range that contains them."""
        partition_key, row_key = self._keys_of(fields)
        if not rows:
            return []
        select = None if names is None else _selected(names)
        first, last = row_key(min(rows)), row_key(max(rows))
        if first == last:
            row = await self.table.get(partition_key, first, select=select)
            return [] if row is None else [row]
        where = range_filter(KeyRange(partition_key, Interval(first, upper=last)))
        keys = set(map(row_key, rows))
        return [row async for row in self.table.query(where, select=select) if row.row_key in keys]

    # Conversion

    def _keys_of(self, fields: Mapping[str, Any]) -> tuple[str, Callable[[int], str]]:
        """Return a series' PartitionKey, and the function from the number of a row to its RowKey."""
        partition_key, row_key = self.key.format(fields)
        if not self.split:
            return partition_key, lambda _: row_key
        first = self.rows.format({**fields, _ROW: 1})[1]
        return partition_key, lambda number: f"{first[:-2]}{number + 1:02d}"

    def _row_of(self, slot: int) -> int:
        return index(slot) // _POINTS_PER_ROW

    def _name_of(self, slot: SupportsIndex) -> str:
        if type(slot) is int and 0 <= slot < self.points:
            return self._names[slot]
        if isinstance(slot, bool) or not isinstance(slot, SupportsIndex) or not 0 <= index(slot) < self.points:
            raise BadInput("slot", slot, f"the points are 0 to {self.points - 1}", "give one of these numbers")
        return self._names[slot]

    def _points(self, rows: Sequence[Mapping[str, Any]], names: Iterable[str]) -> list[V | None]:
        kind = self.value_type
        properties: Mapping[str, Any] = rows[0] if len(rows) == 1 else {k: v for row in rows for k, v in row.items()}
        values = ((name, properties.get(name)) for name in names)
        return [
            value if value is None or type(value) is kind else _converted(kind, name, value) for name, value in values
        ]


def _selected(names: Iterable[str]) -> tuple[str, ...]:
    return (*limits.SYSTEM_PROPERTIES, WRITE_ID, *names)


def _slots_and_key(arguments: Sequence[int | Mapping[str, Any]]) -> tuple[list[int], Mapping[str, Any] | None]:
    """Return the numbers of points and the key fields; the last positional argument may be a mapping of fields."""
    *slots, last = arguments or (None,)
    key = last if isinstance(last, Mapping) else None
    return [cast("int", slot) for slot in (slots if key is not None else arguments)], key


def _conditional(kind: Literal["replace", "merge"], row: Mapping[str, Any], stored_row: Entity | None) -> Operation:
    """Return a write that fails if the row has changed since it was read, or exists if it did not."""
    if stored_row is None:
        return Operation.insert(row)
    make = Operation.merge if kind == "merge" else Operation.replace
    return make(row, stored_row.etag or "", write_ids=write_ids_of(stored_row))
