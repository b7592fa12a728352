"""Export, import and compare one table, on any number of workers."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, Literal

from tablepatterns.argument_types import checked
from tablepatterns.entity import Entity, identify, typed
from tablepatterns.entity_set.entity_set import EntitySet
from tablepatterns.entity_set.internals import (
    as_stored,
    entity_of,
    mappings_of,
    primary_layout,
    rows_filter,
    selected_properties,
)
from tablepatterns.entity_set.model_adapter import VERSION
from tablepatterns.errors import BadInput
from tablepatterns.filters import Filter, QueryClass, parse
from tablepatterns.jobs import Workers
from tablepatterns.jobs.ranges import SelectedRows
from tablepatterns.limits import SYSTEM_PROPERTIES
from tablepatterns.rate_limit import Pool
from tablepatterns.recipe import (
    Account_co,
    BlockingAccount,
    Pattern,
    as_async,
    check_key_order,
    finish,
    identity_of,
    recipe,
)
from tablepatterns.sdk.table import Table

from .arrow import arrow
from .blobs import BlobPlace, BlobRestorer
from .compare import Differences, as_stream, differences
from .errors import ImportDiffers
from .export import Decode, ExportOptions, ExportProgress, ExportWalk, check_base, run_export
from .foreign import FileImport, Rejects, import_foreign, rejects_of
from .lines import zstd
from .manifest import Export, Manifest
from .places import opened, path_between, place_of
from .restore import IfExists, ImportProgress, Load, RowLoader, SetLoader, check_content, import_part, import_walk
from .set_form import SetForm


class TableTransfer(Pattern[Account_co]):
    """Export a table to files, import it, and compare the two: for backups, copies to other accounts, and analysis.

    An export is a folder of compressed JSON Lines or Parquet files, each with the rows of one range of keys, and a
    manifest.

    >>> from tempfile import TemporaryDirectory
    >>> from tablepatterns import EntitySet, Key, connect
    >>> storage = connect()
    >>> employees = EntitySet(storage, "Employees", Key("{Department}", "{EmployeeId:06d}"))
    >>> _ = employees.insert({"Department": "Sales", "EmployeeId": 223, "Age": 34})
    >>> with TemporaryDirectory() as folder:
    ...     exported = TableTransfer(storage, "Employees").export(f"{folder}/monday")
    ...     restored = TableTransfer(storage, "Restored").restore(f"{folder}/monday")
    ...     differences = TableTransfer(storage, "Restored").compare(f"{folder}/monday")
    >>> exported.rows, restored.written, differences.are_none
    (1, 1, True)

    Consistency: an export is not a snapshot of one moment. An entity that exists unchanged while it runs is in it
    exactly once, and each exported entity is a version that existed. An export without its manifest is rejected.

    :param account: the account of the table
    :param table: its name; or a set, to export, import and compare its entities with the fields of their keys, and
        without derived rows, which an import creates again. Of period tables, pass the set of a period, as in
        `logins.of(moment)`; of a `Rekey`, its `old_set` or `new_set`
    :raises BadDesign: the account does not return rows in the order of their keys, such as on Cosmos DB

    Guide: tables, entities, properties.
    """

    @checked
    def __init__(self, account: Account_co, table: str | EntitySet[Account_co, Any]) -> None:
        super().__init__(account)
        check_key_order(account, "an export is")
        self.entity_set: Any = None if isinstance(table, str) else table.without_model()
        self._typed_set: Any = None if isinstance(table, str) else table
        self.table: Table = account.table(table) if isinstance(table, str) else table.table

    @recipe
    async def export(
        self,
        folder: str | Path,
        *,
        format: Literal["jsonl", "parquet"] = "jsonl",  # noqa: A002 - as other libraries call it
        compression: Literal["gzip", "zstd"] = "gzip",
        where: Filter | None = None,
        select: Sequence[str] | None = None,
        decrypt: bool = False,
        with_blobs: bool = False,
        since: str | Path | None = None,
        progress: Callable[[ExportProgress], None] | None = None,
        max_per_second: float | None = None,
        workers: int | Workers = 1,
    ) -> Manifest:
        """Write all rows to files, and return the manifest, which is written last.

        If the folder has an export with the same arguments that was interrupted, it is continued.

        Cost: 1 transaction for each page of up to 1,000 rows, and a few for each worker. With `since`, the service
        reads the whole table to find the rows that changed, and then the keys of all rows, 1,000 in a transaction.

        :param folder: must be empty, or not exist; workers on other machines write to it, too. Or a place in a blob
            container of the account, such as `container:backups/monday`
        :param format: `jsonl`, or `parquet`, which needs the extra `parquet`
        :param compression: that of JSON Lines, which imports recognize; `zstd` makes files 5% smaller, and before
            Python 3.14 needs the extra `zstd`
        :param where: which rows to export, or which entities of a set; the service reads all
        :param select: which properties to export; None for all
        :param decrypt: whether to export the entities of a set as it reads them, with encrypted properties decrypted,
            and those in blobs
        :param with_blobs: whether to export the rows of a set's table as they are stored, and the blobs of its
            `LargeProperties`, also encrypted. An import writes both, to the container of the set or of the export
        :param since: the folder of an earlier export, to export only what changed and what was deleted since; both
            folders are then needed to restore the table, and stay where they are relative to each other
        :param progress: called after each file
        :param max_per_second: how many rows a second, evenly spaced; None for no limit
        :param workers: how many ranges of keys to read at a time, in this process; or `Workers`, whose source returns
            such an object
        :raises BadInput: the folder is not empty
        :raises RangesFailed: some ranges failed at every try; run it again
        """
        if decrypt and self.entity_set is None:
            rule = "only a set can decrypt its entities"
            raise BadInput("decrypt", decrypt, rule, "pass the set in place of the table")
        if decrypt and with_blobs:
            raise BadInput("with_blobs", with_blobs, "decrypted entities have their large values", "leave one out")
        if format == "parquet":
            arrow()
        elif compression == "zstd":
            zstd()
        content, blobs = "rows", BlobPlace.of(self.entity_set) if with_blobs else None
        if self.entity_set is not None and blobs is None:
            content = "entities" if decrypt or not mappings_of(self.entity_set).mappings else "stored"
        form = None if self._typed_set is None else SetForm.of(self._typed_set)
        # Without this property, a model would take an entity for one of another class or version
        marks = [form.type_property or VERSION] if form and form.classes else []
        properties = None if select is None else (*select, *marks)
        options = ExportOptions(
            folder, format, compression, self._row_filter(where), properties, decrypt, blobs=blobs, form=form
        )
        account, base = self.account, None
        async with AsyncExitStack() as stack:
            if since is not None:
                if where is not None:
                    rule = "changes are exported without a filter"
                    raise BadInput("where", str(where), rule, "leave out where or since")
                path = path_between(place_of(account, folder), place_of(account, since))
                base = path, await stack.enter_async_context(opened(account, since))
                own = {"account": identity_of(account), "table": self.table.name, "content": content, "blobs": blobs}
                options = replace(options, since=check_base(base[1].manifest, form, **own, select=options.select))
            pool = Pool(account, max_per_second, 1)
            walk = ExportWalk.of(self, options, pool)
            stored = self._stored(all_rows=walk.decode is None)
            return await run_export(walk, content, pool, workers, progress, base, stored)

    @recipe
    async def restore(
        self,
        folder: str | Path,
        *,
        if_exists: IfExists = "fail",
        resume: str | None = None,
        progress: Callable[[ImportProgress], None] | None = None,
        max_per_second: float | None = None,
        max_concurrency: int = 8,
        workers: int | Workers | None = None,
    ) -> ImportProgress:
        """Check an export, write all of its rows, and compare them with what is stored then.

        It is idempotent: after an interruption, run it again.

        Cost: 1 transaction for up to 100 rows of a partition, up to 3 if some exist; 1 for each 1,000 rows of the
        table, to compare.

        :param if_exists: what to do with a row that exists with other values: `fail`, `skip` it, or `replace` it
        :param resume: the token of an interrupted import
        :param progress: called after each page, or with workers after each file
        :param max_per_second: how many rows a second, evenly spaced; None for no limit
        :param max_concurrency: how many partitions to write at a time
        :param workers: how many files to import at a time, in this process; or `Workers`, whose source returns such an
            object
        :raises BadExport: the export is incomplete or was changed; nothing was written
        :raises EntityAlreadyExists: a row exists with other values
        :raises ImportDiffers: in the end, rows of the export are missing, or different
        """
        pool, shared = Pool(self.account, max_per_second, max_concurrency), Workers.of(workers)
        async with opened(self.account, folder) as export:
            check_content(export.manifest, self._typed_set, if_exists)
            walk = import_walk(export, self.table, self.loader(export, if_exists, pool))
            await self.table.create()
            how: dict[str, Any] = {"if_exists": if_exists, "max_concurrency": max_concurrency}
            call = partial(import_part, folder=str(export.folder), **how)
            report = await walk.run(pool, resume, progress, shared, call)
            result = await self._compare(export)
        if result.removed or (result.changed and if_exists != "skip"):
            text = f"{self.table.name} differs from the export: {result.summary}"
            raise ImportDiffers(f"{text}; if no other program writes to it, run the import again")
        return report

    @recipe
    async def compare(self, folder: str | Path) -> Differences:
        """Compare the table with an export, and return how the table differs; nothing is written.

        Cost: 1 transaction for each page of up to 1,000 rows.

        :raises BadExport: the export is incomplete or was changed
        """
        async with opened(self.account, folder) as export:
            return await self._compare(export)

    @recipe
    async def import_file(
        self,
        file: str | Path,
        *,
        rejects: str | Path | None = None,
        if_exists: Literal["fail", "replace"] = "fail",
        dry_run: bool = False,
        progress: Callable[[FileImport], None] | None = None,
        max_per_second: float | None = None,
        max_concurrency: int = 8,
    ) -> FileImport:
        """Import a CSV or Parquet file of another program to a set; a row that does not fit is rejected, with a reason.

        Each column is a property; empty cells of a CSV file and nulls are left out. In a CSV file, fields of the key
        have the types of their formats, and other fields those of the set's model; without a model they are text,
        unless a column `Age@type` has the type of `Age`, such as `Edm.Int32`. In a set of several classes, the type
        property has a column, too. An import has no token: after an interruption, run it again; rows that are stored
        already stay as they are.

        Cost: that of `BulkLoad`; a page of 1,000 rows with one that exists with other values is written in parts.

        :param file: its name ends with .csv, in UTF-8 with a header, or with .parquet, which needs the extra `parquet`
        :param rejects: where rejected rows are written, as JSON Lines with the number of the row or line, the row and
            the error, also those with fields that the set would encrypt; it must not exist. None for a file beside this
            one, such as `staff.csv.rejects.jsonl`
        :param if_exists: whether a row that exists with other values is rejected, or replaces the entity
        :param dry_run: whether to check the rows only; nothing is written, also no rejects
        :param progress: called after each 1,000 rows
        :param max_per_second: how many entities a second, evenly spaced; None for no limit
        :raises BadInput: the transfer is not of a set, or the columns do not fit it; nothing was written
        """
        path = Path(file)
        if self._typed_set is None:
            raise BadInput("file", str(path), "it needs a set, whose key makes keys of its columns", "pass the set")
        if path.suffix.lower() not in (".csv", ".parquet"):
            raise BadInput("file", str(path), "it is neither .csv nor .parquet", "convert it, or rename it")
        loader = SetLoader(self._typed_set, "entities", if_exists, Pool(self.account, max_per_second, max_concurrency))
        place = rejects_of(path) if rejects is None else Path(rejects)
        load = None if dry_run else loader.write
        return await import_foreign(path, self._typed_set, load, Rejects(None if dry_run else place), progress)

    def rows(self, where: Filter | None, select: Sequence[str] | None) -> SelectedRows:
        """Return the rows that match a filter, with what is stored of some properties or fields; None for all."""
        if self.entity_set is not None:
            return SelectedRows(self.table, where, selected_properties(self.entity_set, select))
        return SelectedRows(self.table, where, None if select is None else [*SYSTEM_PROPERTIES, *select])

    def _row_filter(self, where: Filter | None) -> Filter | None:
        if self.entity_set is None:
            return where
        stored_filter, _ = as_stored(self._typed_set, where, {})
        return rows_filter(self.entity_set, stored_filter, {}, QueryClass.TABLE_SCAN)

    async def _stored(self, *, all_rows: bool) -> AsyncIterator[Entity]:
        """Yield the keys of all rows, or of those with the entities of the set."""
        async for row in self.table.query(None, select=self.rows(None, ()).select):
            if all_rows or primary_layout(self.entity_set).fits(row):
                yield row

    def decoder(self, select: Sequence[str] | None, *, decrypt: bool, has_blobs: bool) -> Decode | None:
        """Return what makes an entity of a row; None if rows are exported as they are."""
        if self.entity_set is None or has_blobs:
            return None

        async def decode(row: Entity) -> Entity | None:
            if decrypt:
                entity = await entity_of(self.entity_set, row, select=select)
            else:
                entity = primary_layout(self.entity_set).decode_copy(row)
            if entity is None:
                return None
            fields = {name: _property(name, value) for name, value in entity.items() if value is not None}
            decoded = Entity({"PartitionKey": row["PartitionKey"], "RowKey": row["RowKey"]} | fields)
            identify(decoded, row)
            return decoded

        return decode

    def loader(self, export: Export, if_exists: IfExists, pool: Pool) -> Load:
        if self.entity_set is not None and export.manifest.blobs is None:
            return SetLoader(self.entity_set, export.manifest.content, if_exists, pool).load
        load = RowLoader(self.table, if_exists, pool).load
        if export.manifest.blobs is None:
            return load
        return partial(BlobRestorer(self.account, export, self.table.name, self.entity_set).load, load, pool)

    async def _compare(self, export: Export) -> Differences:
        content, manifest = export.manifest.content, export.manifest
        has_blobs = manifest.blobs is not None
        decode = self.decoder(manifest.select, decrypt=content != "stored", has_blobs=has_blobs)
        if content != "rows" and decode is None:
            rule = "it has the entities of a set, not the rows of a table"
            raise BadInput("export", str(export.folder), rule, "compare it with the set")
        rows_of_export = export.all_rows()
        if has_blobs:
            restorer = BlobRestorer(self.account, export, self.table.name, self.entity_set)
            rows_of_export = map(restorer.moved, rows_of_export)
        exported = as_stream(rows_of_export)
        if content == "rows" and decode is not None:
            exported = _decoded(exported, decode)
        rows = self.rows(None if manifest.where is None else parse(manifest.where), manifest.select)
        stored = self.table.query(rows.where, select=rows.select)
        result = await differences(exported, stored if decode is None else _decoded(stored, decode))
        if result.is_empty and next(export.all_rows(), None) is not None:
            rule = f"none of its rows is an entity of a set with {self.entity_set.key!r}"
            raise BadInput("export", str(export.folder), rule, "name the set whose rows it has")
        return result


def _property(name: str, value: Any) -> Any:
    """Return a value as a property, which cannot be a date, as fields of a key can."""
    return value.isoformat() if type(value) is date else typed(name, value)


async def _decoded(rows: AsyncIterator[Entity], decode: Decode) -> AsyncIterator[Entity]:
    async for row in rows:
        entity = await decode(row)
        if entity is not None:
            yield entity


def compare_exports(first: str | Path, second: str | Path, *, account: BlockingAccount | None = None) -> Differences:
    """Return how the second of two exports differs from the first.

    :param first: a folder, or a place in a container, as for `TableTransfer.export`
    :param account: that of the container; None for folders
    :raises BadExport: one of them is incomplete or was changed
    """

    async def compare() -> Differences:
        own = None if account is None else as_async(account)
        async with opened(own, first) as old, opened(own, second) as new:
            if old.manifest.content != new.manifest.content:
                rule = "one has rows and one entities"
                raise BadInput("second", str(second), rule, "compare exports of the same kind")
            return await differences(as_stream(old.all_rows()), as_stream(new.all_rows()))

    return finish(compare())
