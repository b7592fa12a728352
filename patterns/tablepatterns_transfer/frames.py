"""Entities as an Arrow table or a pandas DataFrame, with exact values; needs the extra `parquet`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from importlib import import_module
from typing import Any
from uuid import UUID

from tablepatterns.edm import KINDS, Int64, Ticks
from tablepatterns.errors import BadInput, BadProperty
from tablepatterns.extras import importing
from tablepatterns.limits import INT32_MAX, INT32_MIN

from .parquet import UNIX_EPOCH, arrow, arrow_types


def to_arrow(entities: Iterable[Mapping[str, Any]]) -> Any:
    """Return entities as a `pyarrow.Table`: those of a range, a query, a page or a list.

    Use it to analyze what fits in memory; for a whole table, export it as Parquet.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> staff = EntitySet(connect(), "Employees", Key("{Department}", "{EmployeeId:06d}"))
    >>> for number in (1, 2):
    ...     _ = staff.insert({"Department": "Sales", "EmployeeId": number, "Age": 30 + number})
    >>> to_arrow(staff.range(Department="Sales"))["Age"].to_pylist()
    [31, 32]

    A column has the type of its values, and null where an entity has no such property. Instants are in microseconds,
    or in nanoseconds if one has a seventh digit; GUIDs are text. No value is rounded.

    :param entities: mappings; of a set with a model, read `without_model()`
    :raises BadProperty: one property has values of different types, or an instant that no column can hold
    """
    pa, _ = arrow()
    rows = list(entities)
    for row in rows:
        if not isinstance(row, Mapping):
            rule = f"it must be a mapping, not {type(row).__name__}"
            raise BadInput("entities", type(row).__name__, rule, "read the entities of the set's without_model()")
    names = dict.fromkeys(name for row in rows for name in row)
    return pa.table({name: _column(name, [row.get(name) for row in rows]) for name in names})


def to_pandas(entities: Iterable[Mapping[str, Any]]) -> Any:
    """Return entities as a pandas `DataFrame` with the types of Arrow, in which integers stay integers beside nulls.

    >>> from tablepatterns import Entity, Int64
    >>> frame = to_pandas([Entity({"Id": 1, "Big": Int64(2**62 + 1)}), Entity({"Id": 2})])
    >>> int(frame["Big"][0]) == 2**62 + 1
    True

    :param entities: as for `to_arrow`
    :raises BadProperty: as for `to_arrow`
    """
    with importing("a DataFrame needs", extra="plot"):
        pandas: Any = import_module("pandas")
    return to_arrow(entities).to_pandas(types_mapper=pandas.ArrowDtype)


def _column(name: str, values: list[Any]) -> Any:
    """Return the column of a property."""
    pa, _ = arrow()
    kinds = {_kind(value) for value in values if value is not None}
    if kinds == {int, Int64}:
        kinds = {Int64}
    if kinds == {datetime, Ticks}:
        kinds = {Ticks}
    if len(kinds) > 1:
        types = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise BadProperty(name, types, "a column has one type", "convert the values, or export the table as Parquet")
    kind = next(iter(kinds), type(None))
    if kind is Ticks:
        return _instants(name, values)
    if kind is UUID:
        values = [None if value is None else str(value) for value in values]
    try:
        return pa.array(values, arrow_types().get(kind))
    except (pa.ArrowException, OverflowError) as error:
        raise BadProperty(name, kind.__name__, "no column can hold the values", "convert them") from error


def _kind(value: Any) -> type[Any]:
    """Return the type of a value: one of a property's, or that of a field in a key, such as a date."""
    types: tuple[type[Any], ...] = type(value).__mro__
    kind = next((kind for kind in types if kind in KINDS), types[0])
    return Int64 if kind is int and not INT32_MIN <= value <= INT32_MAX else kind


def _instants(name: str, values: list[Any]) -> Any:
    """Return a column of nanoseconds, of which Arrow has those of the years 1677 to 2262."""
    pa, _ = arrow()
    nanoseconds = [None if value is None else (_ticks(value) - UNIX_EPOCH) * 100 for value in values]
    try:
        return pa.array(nanoseconds, pa.timestamp("ns", "UTC"))
    except (pa.ArrowException, OverflowError) as error:
        rule = "a column holds the seventh digit of instants only of the years 1677 to 2262"
        hint = "export the table as Parquet, which keeps them beside the column"
        raise BadProperty(name, "instants", rule, hint) from error


def _ticks(instant: datetime | Ticks) -> int:
    return instant if isinstance(instant, Ticks) else Ticks.of(instant)
