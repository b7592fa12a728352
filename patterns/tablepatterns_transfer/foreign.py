"""Import a CSV or Parquet file of another program to a set; rows that do not fit go to a file of rejects."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date, datetime
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final, NamedTuple
from uuid import UUID

from azure.core.exceptions import AzureError

from tablepatterns.argument_types import check_has_run
from tablepatterns.edm import FROM_JSON, Ticks
from tablepatterns.entity_set.internals import adapter_or_none
from tablepatterns.errors import (
    BadInput,
    EntityAlreadyExists,
    LoadInterrupted,
    TablePatternsError,
    UnrecognizedEntity,
    message_of,
)
from tablepatterns.key import Key
from tablepatterns.limits import INT32_MAX, INT32_MIN
from tablepatterns.models.codecs import convert_part
from tablepatterns.models.scalar_codecs import TypeMismatch

from .parquet import UNIX_EPOCH, arrow

_PAGE: Final = 1_000
_TYPE: Final = "@type"
"""What the names of columns end with that state the type of another one, as Azure Storage Explorer writes them."""
_LONGEST_CELL: Final = 2**31 - 1
_INTEGER: Final = re.compile(r"[+-]?[0-9]+")
_ZONE: Final = re.compile(r"[+-][0-9]{2}:[0-9]{2}$")
_WRONG_ROW: Final = (BadInput, EntityAlreadyExists, UnrecognizedEntity)
"""Errors of a write that are about one row; others end the import."""


@dataclass(frozen=True)
class FileImport:
    """How many rows a file has, how many of them are in the set now, and how many were rejected."""

    rows: int = 0
    written: int = 0
    rejected: int = 0


class ForeignRow(NamedTuple):
    """A row of a file: its line or its number, its cells, and why it cannot be read, or None."""

    number: int
    cells: Any
    error: str | None = None


def read_foreign(path: Path) -> Iterator[ForeignRow]:
    """Yield the rows of a file, which has the names of properties in its header or schema.

    Empty cells of CSV, which has no other null, are left out.
    """
    return _read_csv(path) if path.suffix.lower() == ".csv" else _read_parquet(path)


def check_columns(path: Path, entity_set: Any) -> None:
    """Check the names of the columns, before anything is written."""
    try:
        if path.suffix.lower() == ".csv":
            with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
                names = next(csv.reader(file, strict=True), list[str]())
        else:
            names = arrow()[1].read_schema(path).names
    except (csv.Error, ValueError) as error:
        raise BadInput("file", str(path), f"it cannot be read: {error}", "check the file") from error
    adapter = adapter_or_none(entity_set)
    known = None if adapter is None else {*adapter.model.members, adapter.types.type_property}
    for name in names:
        if not name or names.count(name) > 1:
            rule = f"it has several columns {name!r}" if name else "a column has no name"
            raise BadInput("file", str(path), rule, "give each column a name of its own")
        if known is not None and name not in known and not name.endswith(_TYPE):
            hint = "rename it, or import to a set without a model"
            raise BadInput("file", str(path), f"the model has no field for the column {name!r}", hint)
    for name in entity_set.key.fields:
        if name not in names:
            raise BadInput("file", str(path), f"the key needs a column {name!r}", "add it, or use another set")


def _read_csv(path: Path) -> Iterator[ForeignRow]:
    lines: list[str] = []

    def remembered(file: IO[str]) -> Iterator[str]:
        for line in file:
            lines.append(line)
            yield line

    limit = csv.field_size_limit(_LONGEST_CELL)
    try:
        # Bytes that are not UTF-8 become lone surrogates, for which only their row is rejected
        with path.open(encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
            reader = csv.reader(remembered(file), strict=True)
            names = next(reader, list[str]())
            while True:
                number = reader.line_num + 1
                lines.clear()
                try:
                    cells = next(reader)
                except StopIteration:
                    return
                except csv.Error as error:
                    yield ForeignRow(number, "".join(lines), f"the line is not CSV: {error}")
                    continue
                if not cells:
                    continue
                if len(cells) != len(names):
                    rule = f"it has {len(cells)} cells, and the header has {len(names)}"
                    yield ForeignRow(number, "".join(lines), rule)
                elif any("\udc80" <= char <= "\udcff" for cell in cells if not cell.isascii() for char in cell):
                    yield ForeignRow(number, "".join(lines), "it is not UTF-8")
                else:
                    yield ForeignRow(number, {name: cell for name, cell in zip(names, cells, strict=True) if cell})
    finally:
        csv.field_size_limit(limit)


def _read_parquet(path: Path) -> Iterator[ForeignRow]:
    pa, pq = arrow()
    number = 0
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(_PAGE):
            # Arrow's own conversion of nanoseconds depends on pandas, and is not exact
            zones = {
                field.name: field.type.tz
                for field in batch.schema
                if pa.types.is_timestamp(field.type) and field.type.unit == "ns"
            }
            for name in zones:
                place = batch.schema.get_field_index(name)
                batch = batch.set_column(place, name, batch.column(place).cast(pa.int64()))
            for cells in batch.to_pylist():
                number += 1
                error = None
                for name, zone in zones.items():
                    if cells[name] is not None:
                        instant, rest = _of_nanoseconds(cells[name])
                        if zone and not rest:
                            cells[name] = instant
                        else:
                            rule = "the service stores multiples of 100 ns" if zone else "it has no time zone"
                            error = f"{name}: {rule}; convert the column"
                yield ForeignRow(number, cells, error)


def _of_nanoseconds(nanoseconds: int) -> tuple[datetime | Ticks, int]:
    """Return an instant, and the nanoseconds that it cannot hold."""
    hundreds, rest = divmod(nanoseconds, 100)
    instant = Ticks(UNIX_EPOCH + hundreds)
    return instant if instant % 10 else instant.datetime(), rest


class RowConverter:
    """Makes entities of the rows of a file: instances of the set's model, or fields."""

    def __init__(self, entity_set: Any) -> None:
        self._set = entity_set
        self._key: Key = entity_set.key
        adapter = adapter_or_none(entity_set)
        self._types = None if adapter is None else adapter.types
        members = {} if adapter is None else adapter.model.record.members
        self._stored_values = {name: partial(_stored_value, member.codec) for name, member in members.items()}

    async def checked_entity(self, row: ForeignRow) -> Any:
        """Return the entity of a row, once its keys and properties are checked; nothing is written."""
        if row.error is not None:
            raise ValueError(row.error)
        entity = self.entity(row.cells)
        (await self._set.inserting(entity).encoded()).primary()
        return entity

    def entity(self, cells: Mapping[str, Any]) -> Any:
        """Return the entity of a row; null is no property."""
        types = {name.removesuffix(_TYPE): cells[name] for name in cells if name.endswith(_TYPE)}
        filled = {name: value for name, value in cells.items() if not name.endswith(_TYPE) and value is not None}
        if self._types is None:
            return {name: self._value(name, value, types.get(name)) for name, value in filled.items()}
        stored = {name: convert_part(name, self._stored_values.get(name, str), filled[name]) for name in filled}
        return self._types.from_file(stored)

    def _value(self, name: str, value: Any, stated: str | None) -> Any:
        if isinstance(value, str) and name in self._key.formats:
            return _key_value(name, self._key.formats[name], value)
        return _stated_value(value, stated) if isinstance(value, str) and stated else value


def _stored_value(codec: Any, value: Any) -> Any:
    """Return what is stored of a cell: of a text, one that a codec reads as it is or as JSON, such as a number."""
    if not isinstance(value, str):
        with suppress(ValueError):
            return codec.encode(value)
        return value
    try:
        return codec.encode(codec.from_json(value))
    except ValueError as error:
        try:
            part = json.loads(value.lower() if value.lower() in ("true", "false") else value)
        except (ValueError, RecursionError):
            raise error from None
        return codec.encode(codec.from_json(part))


def _stated_value(text: str, stated: str) -> Any:
    kind = stated if stated.startswith("Edm.") else f"Edm.{stated}"
    if kind == "Edm.String":
        return text
    if kind == "Edm.Boolean" and text.lower() in ("true", "false"):
        return text.lower() == "true"
    if kind == "Edm.Int32" and _INTEGER.fullmatch(text) and INT32_MIN <= int(text) <= INT32_MAX:
        return int(text)
    if kind in FROM_JSON:
        with suppress(ValueError):
            return FROM_JSON[kind](text)
    raise BadInput(_TYPE, stated, f"{text[:40]!r} is not of that type", "correct the type, or leave it empty")


@cache
def _key_of(name: str, spec: str) -> Key:
    return Key(f"{{{name}:{spec}}}" if spec else f"{{{name}}}", "row")


def _key_value(name: str, spec: str, text: str) -> Any:
    """Return the value of a field of the key: the first that its format accepts."""
    for convert in (str, _integer, _instant, date.fromisoformat, UUID, float):
        try:
            value = convert(text)
            _key_of(name, spec).format({name: value})
        except (ValueError, BadInput):
            continue
        return value
    return text


def _integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        raise ValueError(text)
    return int(text)


def _instant(text: str) -> Any:
    if text.endswith("Z"):
        return FROM_JSON["Edm.DateTime"](text)
    if not _ZONE.search(text):
        return datetime.fromisoformat(text)
    exact = Ticks.parse(text)
    return exact if exact % 10 else exact.datetime()


def _reason(error: BaseException) -> str:
    if isinstance(error, TypeMismatch):
        return f"{error.path}: {error.rule}; {error.hint}"
    is_own = isinstance(error, (TablePatternsError, ValueError))
    return message_of(error) if is_own else f"{type(error).__name__}: {error}"


def rejects_of(path: Path) -> Path:
    """Return the file of the rows that are rejected of another one, where none is named."""
    return path.with_name(f"{path.name}.rejects.jsonl")


class Rejects:
    """The file of the rows that were rejected, as JSON Lines; it is made with the first one."""

    def __init__(self, path: Path | None) -> None:
        if path is not None and path.exists():
            rule = "it has the rows that an earlier import rejected"
            raise BadInput("rejects", str(path), rule, "move it away, or name another file")
        self._path = path
        self.count = 0

    def add(self, row: ForeignRow, error: str) -> None:
        self.count += 1
        if self._path is not None:
            line = json.dumps({"number": row.number, "row": row.cells, "error": error}, default=repr)
            with self._path.open("a", encoding="ascii") as file:
                file.write(f"{line}\n")


async def import_foreign(
    path: Path,
    entity_set: Any,
    load: Callable[[Sequence[Any]], Coroutine[Any, Any, int]] | None,
    rejects: Rejects,
    progress: Callable[[FileImport], None] | None,
) -> FileImport:
    """Write the rows of a file to a set.

    :param load: writes entities, all or those before an error; None to check the rows only
    """
    check_columns(path, entity_set)
    converter, rows, report = RowConverter(entity_set), read_foreign(path), FileImport()

    async def write(page: Sequence[tuple[ForeignRow, Any]]) -> int:
        """Write rows, or each by itself if one of them is wrong; return how many are in the set then."""
        if load is None or not page:
            return len(page)
        try:
            await load([entity for _, entity in page])
        except (LoadInterrupted, *_WRONG_ROW) as error:
            reason = error.__cause__ if isinstance(error, LoadInterrupted) else error
            if not isinstance(reason, _WRONG_ROW):
                raise
            if len(page) > 1:
                middle = len(page) // 2
                return await write(page[:middle]) + await write(page[middle:])
            rejects.add(page[0][0], _reason(reason))
            return 0
        return len(page)

    while rows_of_page := list(islice(rows, _PAGE)):
        page = [pair for row in rows_of_page for pair in await _with_entity(row, converter, rejects)]
        written = report.written + await write(page)
        report = FileImport(report.rows + len(rows_of_page), written, rejects.count)
        if progress is not None:
            check_has_run("progress", progress(report))
    return report


async def _with_entity(row: ForeignRow, converter: RowConverter, rejects: Rejects) -> list[tuple[ForeignRow, Any]]:
    """Return a row with its entity; nothing if the row is rejected."""
    try:
        return [(row, await converter.checked_entity(row))]
    except Exception as error:
        # The class of a model may raise anything; a service that fails, such as one for keys, ends the import
        if isinstance(error, (AzureError, OSError)) and not isinstance(error, _WRONG_ROW):
            raise
        rejects.add(row, _reason(error))
        return []
