"""Rows as Parquet, for DuckDB, pandas, polars and Spark; needs the extra `parquet`.

A file has the columns of its first 20,000 rows. What a column cannot hold exactly, such as a value of another type, a
property that only later rows have, or an instant with a part of a microsecond, is in the column `$exact`, as a line of
JSON that overrides the columns. So a file is written in one pass, and reads back exactly.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from tablepatterns.edm import Int64, Ticks, type_of
from tablepatterns.entity import Entity
from tablepatterns.extras import importing

from .lines import line_of, row_of

EXACT: Final = "$exact"
"""No property can have this name."""
_EDM: Final = b"edm"
_FROM_ARROW: Final[Mapping[bytes, Callable[[Any], Any]]] = {b"Int64": Int64, b"UUID": UUID}
_ROWS_OF_A_GROUP: Final = 20_000
_ROWS_OF_A_BATCH: Final = 1_000


@cache
def arrow() -> tuple[Any, Any]:
    """Return pyarrow and its Parquet module."""
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


def _column_type(value: object) -> type:
    """Return the type of the column that can hold a value, at least roughly."""
    kind = type_of(value)
    return datetime if kind is Ticks else kind


class ParquetWriter:
    """Writes rows to a Parquet file."""

    ENDING: Final = ".parquet"

    def __init__(self, path: Path) -> None:
        self._pa, self._pq = arrow()
        self._path = path
        self._columns: dict[str, type] = {}
        self._writer: Any = None
        self._rows: list[Entity] = []

    def write(self, rows: Sequence[Entity]) -> None:
        """Append rows."""
        self._rows += rows
        if len(self._rows) >= _ROWS_OF_A_GROUP:
            self._flush()

    def close(self) -> None:
        """Finish the file."""
        self._flush()
        if self._writer is not None:
            self._writer.close()

    def _begin(self) -> None:
        kinds: dict[str, Counter[type]] = {}
        for row in self._rows:
            for name, value in row.items():
                kinds.setdefault(name, Counter())[_column_type(value)] += 1
        self._columns = {name: counter.most_common(1)[0][0] for name, counter in kinds.items()}
        pa, types = self._pa, arrow_types()
        fields = [pa.field(name, types[kind], metadata={_EDM: kind.__name__}) for name, kind in self._columns.items()]
        self._schema = pa.schema([*fields, pa.field("Timestamp", types[datetime]), pa.field(EXACT, types[str])])
        self._writer = self._pq.ParquetWriter(self._path, self._schema, compression="zstd")

    def _flush(self) -> None:
        if not self._rows:
            return
        if self._writer is None:
            self._begin()
        columns: list[list[Any]] = []
        inexact: dict[int, dict[str, Any]] = {}
        for name, kind in self._columns.items():
            values = [row.get(name) for row in self._rows]
            if not {type(value) for value in values} <= {kind, type(None)}:
                values = [self._cell(value, kind, name, at, inexact) for at, value in enumerate(values)]
            columns.append([None if value is None else str(value) for value in values] if kind is UUID else values)
        for at, row in enumerate(self._rows):
            if not self._columns.keys() >= row.keys():
                more = {name: value for name, value in row.items() if name not in self._columns}
                inexact.setdefault(at, {}).update(more)
        columns.append([row.timestamp for row in self._rows])
        columns.append([self._exact(row, inexact.get(at)) for at, row in enumerate(self._rows)])
        self._writer.write_table(self._pa.table(columns, schema=self._schema))
        self._rows = []

    @staticmethod
    def _exact(row: Entity, inexact: dict[str, Any] | None) -> str | None:
        keys = {"PartitionKey": row["PartitionKey"], "RowKey": row["RowKey"]}
        return None if inexact is None else line_of(Entity(keys | inexact))

    @staticmethod
    def _cell(value: Any, kind: type, name: str, at: int, inexact: dict[int, dict[str, Any]]) -> Any:
        if value is None or type(value) is kind:
            return value
        if isinstance(value, Ticks) and kind is datetime:
            inexact.setdefault(at, {})[name] = value
            return value.datetime()
        if _column_type(value) is kind:
            return value
        inexact.setdefault(at, {})[name] = value
        return None


def read_parquet(path: Path) -> Iterator[Entity]:
    """Yield the rows of a file, exactly as they were written."""
    _, pq = arrow()
    with pq.ParquetFile(path) as file:
        edm: dict[str, bytes] = {field.name: _edm_of(field.metadata) for field in file.schema_arrow}
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


def _edm_of(metadata: dict[bytes, bytes] | None) -> bytes:
    return (metadata or {}).get(_EDM, b"")
