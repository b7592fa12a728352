"""Rows as Parquet, and entities as an Arrow table or a pandas DataFrame; needs the extra `parquet`.

A file has the columns of its first 20,000 rows, at most 1,000. What a column cannot hold exactly, such as a value of
another type, a property that only later rows have, or an instant with a part of a microsecond, is in the column
`$exact`, as a line of JSON that overrides the columns. So a file is written in one pass, and reads back exactly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from functools import cache
from importlib import import_module
from pathlib import Path
from types import NoneType
from typing import Any, Final
from uuid import UUID

from tablepatterns.edm import KINDS, Int64, Ticks
from tablepatterns.entity import Entity
from tablepatterns.errors import BadInput, BadProperty
from tablepatterns.extras import importing
from tablepatterns.limits import INT32_MAX, INT32_MIN

from .lines import line_of, row_of

EXACT: Final = "$exact"
"""No property can have this name."""
_EDM: Final = b"edm"
_FROM_ARROW: Final[Mapping[bytes, Callable[[Any], Any]]] = {b"Int64": Int64, b"UUID": UUID}
_ROWS_OF_A_GROUP: Final = 20_000
_ROWS_OF_A_BATCH: Final = 1_000
_MOST_COLUMNS: Final = 1_000
"""Programs that use data as names of properties would make millions."""
UNIX_EPOCH: Final = Ticks.of(datetime(1970, 1, 1, tzinfo=timezone.utc))
"""Where Arrow counts instants from."""


@cache
def arrow() -> tuple[Any, Any]:
    with importing("Parquet needs", extra="parquet"):
        return import_module("pyarrow"), import_module("pyarrow.parquet")


@cache
def arrow_types() -> Mapping[type, Any]:
    """Return the type of Arrow for each type of a property, apart from instants with a seventh digit."""
    pa, _ = arrow()
    return {
        str: pa.string(),
        bool: pa.bool_(),
        int: pa.int32(),
        Int64: pa.int64(),
        float: pa.float64(),
        datetime: pa.timestamp("us", tz="UTC"),
        UUID: pa.string(),
        bytes: pa.binary(),
    }


def _column_type(kind: type) -> type:
    """Return the type of the column that can hold values of a type, at least roughly."""
    own: type = next(base for base in kind.__mro__ if base in KINDS)
    return datetime if own is Ticks else own


class ParquetWriter:
    """Writes rows to a Parquet file."""

    def __init__(self, path: Path) -> None:
        self._pa, self._pq = arrow()
        self._path = path
        self._types: dict[str, type] = {}
        self._writer: Any = None
        self._start_group()

    def _start_group(self) -> None:
        self._columns: dict[str, list[Any]] = {name: [] for name in self._types}
        self._timestamps: list[datetime | None] = []
        self._inexact: dict[int, dict[str, Any]] = {}
        """By the number of the row: what no column can hold exactly."""

    def write(self, rows: Sequence[Entity]) -> None:
        start, names = len(self._timestamps), tuple(rows[0])
        if all(map(names.__eq__, map(tuple, rows))):
            # Most tables have rows of one kind, and this takes a fraction of the time
            for name, values in zip(names, zip(*[row.values() for row in rows], strict=True), strict=True):
                self._append(name, start, values)
        else:
            for at, row in enumerate(rows, start):
                for name, value in row.items():
                    self._append(name, at, (value,))
        self._timestamps += [row.timestamp for row in rows]
        if len(self._timestamps) >= _ROWS_OF_A_GROUP:
            self._flush()

    def close(self) -> None:
        self._flush()
        if self._writer is not None:
            self._writer.close()

    def _append(self, name: str, at: int, values: Sequence[Any]) -> None:
        """Append values of a property, of the row `at` and those after it."""
        column = self._columns.get(name)
        if column is None and self._writer is None and len(self._columns) < _MOST_COLUMNS:
            column = self._columns[name] = []
        if column is None:
            for number, value in enumerate(values, at):
                self._inexact.setdefault(number, {})[name] = value
            return
        column += [None] * (at - len(column))
        column += values

    def _begin(self) -> Any:
        for name, values in self._columns.items():
            kinds = Counter[type]()
            for kind, number in Counter(map(type, values)).items():
                if kind is not NoneType:
                    kinds[_column_type(kind)] += number
            self._types[name] = kinds.most_common(1)[0][0]
        pa, types = self._pa, arrow_types()
        fields = [pa.field(name, types[kind], metadata={_EDM: kind.__name__}) for name, kind in self._types.items()]
        self._schema = pa.schema([*fields, pa.field("Timestamp", types[datetime]), pa.field(EXACT, types[str])])
        return self._pq.ParquetWriter(self._path, self._schema, compression="zstd")

    def _flush(self) -> None:
        count = len(self._timestamps)
        if not count:
            return
        if self._writer is None:
            self._writer = self._begin()
        columns: list[list[Any]] = []
        for name, kind in self._types.items():
            values = self._columns[name] + [None] * (count - len(self._columns[name]))
            if not set(map(type, values)) <= {kind, NoneType}:
                values = [self._cell(value, kind, name, at) for at, value in enumerate(values)]
            columns.append([None if value is None else str(value) for value in values] if kind is UUID else values)
        exact: list[str | None] = [None] * count
        for at, properties in self._inexact.items():
            keys = {name: self._columns[name][at] for name in ("PartitionKey", "RowKey")}
            exact[at] = line_of(Entity(keys | properties))
        self._writer.write_table(self._pa.table([*columns, self._timestamps, exact], schema=self._schema))
        self._start_group()

    def _cell(self, value: object, kind: type, name: str, at: int) -> Any:
        if value is None or type(value) is kind:
            return value
        has_column = _column_type(type(value)) is kind
        if isinstance(value, Ticks) or not has_column:
            self._inexact.setdefault(at, {})[name] = value
        if isinstance(value, Ticks) and has_column:
            return value.datetime()
        return value if has_column else None


def read_parquet(path: Path) -> Iterator[Entity]:
    """Yield the rows of a file, exactly as they were written."""
    _, pq = arrow()
    with pq.ParquetFile(path) as file:
        none: dict[bytes, bytes] = {}
        edm: dict[str, bytes] = {field.name: (field.metadata or none).get(_EDM, b"") for field in file.schema_arrow}
        for batch in file.iter_batches(_ROWS_OF_A_BATCH):
            columns: dict[str, list[Any]] = {
                name: column.to_pylist() for name, column in zip(batch.schema.names, batch.columns, strict=True)
            }
            exact: list[str | None] = columns.pop(EXACT)
            del columns["Timestamp"]
            for name, values in columns.items():
                convert = _FROM_ARROW.get(edm[name])
                if convert is not None:
                    columns[name] = [None if value is None else convert(value) for value in values]
            for at, cells in enumerate(zip(*columns.values(), strict=True)):
                row = Entity({name: value for name, value in zip(columns, cells, strict=True) if value is not None})
                if (overriding := exact[at]) is not None:
                    row.update(row_of(overriding, path.name))
                yield row


# ------------------------------------------------------------------ tables in memory


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
    ticks = [value if value is None or isinstance(value, Ticks) else Ticks.of(value) for value in values]
    nanoseconds = [None if value is None else (value - UNIX_EPOCH) * 100 for value in ticks]
    try:
        return pa.array(nanoseconds, pa.timestamp("ns", "UTC"))
    except (pa.ArrowException, OverflowError) as error:
        rule = "a column holds the seventh digit of instants only of the years 1677 to 2262"
        hint = "export the table as Parquet, which keeps them beside the column"
        raise BadProperty(name, "instants", rule, hint) from error
