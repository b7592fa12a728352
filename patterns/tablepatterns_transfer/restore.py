"""Write the rows of an export to a table or a set: idempotent, and resumable after each page."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

from tablepatterns.batches import batches
from tablepatterns.entity import Entity, same_value
from tablepatterns.entity_set.derived import keys_of
from tablepatterns.entity_set.entity_set import EntitySet
from tablepatterns.entity_set.internals import entity_of, primary_layout
from tablepatterns.errors import BadInput, EntityAlreadyExists
from tablepatterns.filters import Filter, prop
from tablepatterns.jobs.walk import TablePage, Walk, WalkReport
from tablepatterns.limits import MAX_TRANSACTION_BYTES, MAX_TRANSACTION_OPERATIONS
from tablepatterns.rate_limit import Pool
from tablepatterns.recipes.bulk_load.bulk_load import BulkLoad, KeyDigest, LoadPosition
from tablepatterns.sdk.operation import Operation
from tablepatterns.sdk.table import Page, Table

from .manifest import Export, Manifest
from .set_form import SetForm, check_form

IfExists: TypeAlias = Literal["fail", "skip", "replace"]
Load: TypeAlias = Callable[[Sequence[Entity]], Coroutine[Any, Any, int]]
"""Writes rows, and returns how many were not there already."""
_KEYS: Final = ("PartitionKey", "RowKey")


@dataclass(frozen=True)
class ImportProgress(WalkReport):
    """How many rows of the export were read, and how many of them were written; the others were there already.

    In a set, equal entities that were there count as written, and derived rows of the export do not.
    """

    rows: int = 0
    written: int = 0
    token: str | None = None


class FileRows:
    """The rows of an export in pages, as a `Walk` reads those of a table; a token is the number of rows before it.

    :param read: returns the rows from the first one on
    """

    is_unfiltered: Final = True

    def __init__(self, read: Callable[[], Iterator[Entity]]) -> None:
        self._read = read
        self._rows: Iterator[Entity] = iter(())
        self._position = -1

    async def page(self, where: Filter | None, *, size: int, token: str | None = None) -> Page[Entity]:
        start = int(token or 0)
        if start != self._position:
            self._rows = islice(self._read(), start, None)
        rows = tuple(islice(self._rows, size))
        self._position = start + len(rows)
        return Page(rows, str(self._position) if len(rows) == size else None)


class RowLoader:
    """Writes rows as they are to a table."""

    def __init__(self, table: Table, if_exists: IfExists, pool: Pool) -> None:
        self._table = table
        self._if_exists: IfExists = if_exists
        self._pool = pool

    async def load(self, rows: Sequence[Entity]) -> int:
        """Write rows, those of different partitions at the same time."""
        insert = Operation.insert if self._if_exists != "replace" else Operation.insert_or_replace
        partitions = defaultdict[str, list[Operation]](list)
        for row in rows:
            partitions[row["PartitionKey"]].append(insert(row))
        return sum(await self._pool.gather(*map(self._load_partition, partitions.values())))

    async def _load_partition(self, operations: Sequence[Operation]) -> int:
        chunks = batches(
            operations, lambda operation: operation.payload_bound, MAX_TRANSACTION_BYTES - 1, MAX_TRANSACTION_OPERATIONS
        )
        return sum([await self._write(chunk) for chunk in chunks])

    async def _write(self, operations: Sequence[Operation]) -> int:
        await self._pool.pace.turn(len(operations))
        while operations:
            with suppress(EntityAlreadyExists):
                await self._table.submit(*operations)
                break
            # The transaction has changed nothing
            operations = await self._missing(operations)
        return len(operations)

    async def _missing(self, operations: Sequence[Operation]) -> list[Operation]:
        """Return the operations on rows that do not exist; an error if one exists with other values."""
        first, last = operations[0].key, operations[-1].key
        where = (prop("PartitionKey") == first[0]) & (prop("RowKey") >= first[1]) & (prop("RowKey") <= last[1])
        stored = {row.key: row async for row in self._table.query(where)}
        if self._if_exists == "fail":
            for operation in operations:
                if operation.key in stored and not same_value(stored[operation.key], operation.entity):
                    hint = "nothing of it was changed; use skip or replace, or import to another table"
                    raise EntityAlreadyExists(f"the row {operation.key} exists with other values; {hint}")
        return [operation for operation in operations if operation.key not in stored]


class SetLoader:
    """Writes rows or entities to a set, with its derived data.

    :param content: what the export has, `rows` or `entities`
    """

    def __init__(self, entity_set: EntitySet[Any, Any], content: str, if_exists: IfExists, pool: Pool) -> None:
        if if_exists == "skip":
            rule = "a set that derives data writes an entity and what it derives, or neither"
            raise BadInput("if_exists", if_exists, rule, "use fail or replace")
        self._set: Any = entity_set
        self._content = content
        self._replaces = if_exists == "replace"
        self._pool = pool
        self._load: Any = BulkLoad(entity_set)

    async def load(self, rows: Sequence[Entity]) -> int:
        return await self.write([entity for row in rows if (entity := await self._entity(row)) is not None])

    async def write(self, entities: Sequence[Any]) -> int:
        """Write the fields of entities, or instances of the set's model; an equal entity that exists stays as it is."""
        await self._pool.pace.turn(len(entities))
        if self._replaces:
            loaded = await self._load.load(entities, mode="insert_or_replace")
        else:
            # A load that is resumed accepts equal entities
            key = self._set.key
            digest = KeyDigest(self._set.table.name.lower(), key.partition_template, key.row_template)
            loaded = await self._load.load(entities, resume=LoadPosition(digest.text()).text())
        return int(loaded.entities)

    async def _entity(self, row: Entity) -> dict[str, Any] | None:
        """Return the fields of an entity; None for a row of derived data."""
        if self._content == "rows":
            entity = await entity_of(self._set, row)
            return None if entity is None else dict(entity)
        names = self._set.key.fields
        fields = {name: value for name, value in row.items() if name not in _KEYS or name in names}
        # An export has dates as text
        parsed: dict[str, Any] = self._set.key.parse_or_none(*keys_of(row)) or {}
        texts = primary_layout(self._set).texts
        fields |= {name: value for name, value in parsed.items() if type(value) is date and name not in texts}
        return fields


def check_content(manifest: Manifest, entity_set: EntitySet[Any, Any] | None, if_exists: IfExists) -> None:
    """Reject an export that cannot be imported to a table, or to a set."""
    content = manifest.content
    if manifest.select is not None and if_exists == "replace":
        rule = f"the export has no properties but {list(manifest.select)}, so rows would lose their others"
        raise BadInput("if_exists", if_exists, rule, "import it to a new table, or export all properties")
    if content == "stored":
        rule = "its values are encrypted or in blobs, and a set would encrypt them again"
        raise BadInput("export", content, rule, "export the rows of the table, or decrypt the entities")
    if content == "entities" and entity_set is None:
        raise BadInput("export", content, "it has the entities of a set, not the rows of a table", "import it to a set")
    check_form("export", manifest, None if entity_set is None else SetForm.of(entity_set))


def import_walk(export: Export, table: Table, load_rows: Load) -> Walk[ImportProgress]:
    """Return the work of an import: the pages of all files."""

    async def load(page: TablePage) -> ImportProgress:
        return ImportProgress(len(page.rows), await load_rows(page.rows))

    # Changes are merged with the export that they continue, so they are one sequence of rows
    whole = [partial(export.rows, file) for file in export.manifest.files]
    files = [FileRows(read) for read in (whole if export.base is None else [export.all_rows])]
    name = f"import {export.manifest.digest} to {table.name}"
    return Walk(name, files, load, ImportProgress())


def import_part(
    transfer: Any, folder: str, if_exists: IfExists, max_concurrency: int, **how: Any
) -> Coroutine[Any, Any, ImportProgress]:
    """Import one file, in the process of a worker; the process that sent the task has checked the files."""
    export = Export.open(Path(folder), is_checked=True)
    pool = Pool(transfer.account, how["max_per_second"], max_concurrency)
    walk = import_walk(export, transfer.table, transfer.loader(export, if_exists, pool))
    return walk.run(pool, None, None, how["workers"])
