"""Write the rows of a table to files, one for each range of keys, and the manifest last."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias
from uuid import uuid4

from tablepatterns.edm import key_order
from tablepatterns.entity import Entity
from tablepatterns.entity_set.derived import keys_of
from tablepatterns.errors import BadInput
from tablepatterns.filters import Filter, prop
from tablepatterns.jobs import Workers
from tablepatterns.jobs.ranges import PageReader, SelectedRows
from tablepatterns.jobs.walk import RangeWalk, TablePage, WalkReport
from tablepatterns.rate_limit import Pool
from tablepatterns.recipe import finish, identity_of
from tablepatterns.sdk.table import Table

from .blobs import BlobPlace, copy_blob
from .manifest import BLOBS, CHECKPOINT, DELETED, MANIFEST, ROWS, BlobEntry, Export, FileEntry, FileWriter, Manifest
from .places import Place, place_of
from .set_form import SetForm, check_form

_BLOBS_AT_A_TIME: Final = 4
"""How many blobs of a range are copied at a time; of each, up to 32 MiB are in memory."""
_LARGEST_CLOCK_SKEW: Final = timedelta(minutes=15)
"""By how much the clocks of the service's servers may differ; it is what the service accepts of a client's."""

Decode: TypeAlias = Callable[[Entity], Coroutine[Any, Any, Entity | None]]
"""Returns the entity of a set in a row, None for another row."""


@dataclass(frozen=True)
class ExportProgress(WalkReport):
    """How many rows are in complete files, and these files; the token is None at the end."""

    rows: int = 0
    files: tuple[FileEntry, ...] = ()
    token: str | None = None


@dataclass(frozen=True)
class ExportOptions:
    """What to export, and to where.

    :param where: the filter on rows
    """

    folder: str | Path
    format: str
    compression: str
    where: Filter | None
    select: tuple[str, ...] | None
    decrypt: bool
    since: datetime | None = None
    """Only rows with this Timestamp or a later one; None for all rows."""
    blobs: BlobPlace | None = None
    """Which blobs to export with the rows."""
    form: SetForm | None = None
    """How the set stores its entities; None for the rows of a table."""


@dataclass(frozen=True)
class ExportWalk(RangeWalk[ExportProgress]):
    """Writes the rows of each range to a file.

    :param decode: for entities of a set; None for rows
    """

    name: str
    tables: Sequence[PageReader]
    nothing: ExportProgress
    table: Table
    options: ExportOptions
    decode: Decode | None
    pool: Pool

    @classmethod
    def of(cls, transfer: Any, options: ExportOptions, pool: Pool) -> ExportWalk:
        rows: SelectedRows = transfer.rows(options.where, options.select)
        if options.since is not None:
            # The changes of a table are exported without another filter
            rows = replace(rows, where=prop("Timestamp") >= options.since)
        decode = transfer.decoder(options.select, decrypt=options.decrypt, has_blobs=options.blobs is not None)
        return cls(f"export {rows.table.name}", [rows], ExportProgress(), rows.table, options, decode, pool)

    async def process_pages(self, pages: AsyncIterator[TablePage]) -> ExportProgress:
        """Write the rows of some pages to one file; none if there are no rows."""
        place = place_of(self.pool.account, self.options.folder)
        writer: FileWriter | None = None
        with place.workspace() as folder:
            try:
                async for page in pages:
                    rows: Sequence[Entity] = page.rows
                    await self.pool.pace.turn(len(rows))
                    if self.decode is not None:
                        rows = [entity for row in rows if (entity := await self.decode(row)) is not None]
                    if rows:
                        writer = writer or FileWriter(folder, self.options.format, self.options.compression)
                        writer.write(rows)
                        writer.blobs += await self._copy_blobs(rows, folder)
                if writer is None:
                    return ExportProgress()
                file = writer.close()
                await place.add(folder, file)
            except BaseException:
                if writer is not None:
                    writer.discard()
                raise
        return ExportProgress(file.rows, (file,))

    async def _copy_blobs(self, rows: Sequence[Entity], folder: Path) -> list[BlobEntry]:
        account, place = self.pool.account, self.options.blobs
        if place is None:
            return []
        container, table = account.container(place.container), self.table.name
        copies = [copy_blob(container, *of_row, folder) for row in rows for of_row in place.blobs_of(table, row)]
        return await account.gather(*copies, max_concurrency=_BLOBS_AT_A_TIME)


def export_part(transfer: Any, options: ExportOptions, **how: Any) -> Coroutine[Any, Any, ExportProgress]:
    """Export one range, in the process of a worker."""
    pool = Pool(transfer.account, how["max_per_second"], 1)
    return ExportWalk.of(transfer, options, pool).run(pool, None, None, how["workers"])


async def run_export(
    walk: ExportWalk,
    content: str,
    pool: Pool,
    workers: int | Workers,
    progress: Callable[[ExportProgress], None] | None,
    base: tuple[str, Export] | None,
    stored: AsyncIterator[Entity],
) -> Manifest:
    """Export a table, and write the manifest; an interrupted export is continued.

    :param base: the export whose changes are exported, and its path from this one; None to export all
    :param stored: reads the keys of all rows that the export could have
    """
    options = walk.options
    origin = identity_of(pool.account), walk.table.name, content, options.format
    where = None if options.where is None else str(options.where)
    continued = None if base is None else (base[0], base[1].manifest.digest)
    place = place_of(pool.account, options.folder)
    checkpoint = _Checkpoint(place, [*origin, where, options.select, options.blobs, options.form, continued])
    done, started = await checkpoint.start((await _service_time(walk.table)).isoformat())

    def keep(report: ExportProgress) -> None:
        # Files need no event loop, and containers have a sync account
        finish(checkpoint.keep(done + report, started))
        if progress is not None:
            progress(done + report)

    report = done
    if not checkpoint.is_complete:
        report += await walk.run(pool, done.token, keep, workers, partial(export_part, options=options))
    files = tuple(sorted(report.files, key=lambda file: key_order(file.first)))
    newest = max((file.newest for file in files if file.newest), default=None)
    deleted = None if base is None else await _write_deleted(base[1], stored, place)
    # A table that is deleted while it is exported would look like one with fewer rows
    await _service_time(walk.table)
    finished = pool.account.now().isoformat()
    blobs, form = options.blobs, options.form
    manifest = Manifest(
        *origin, started, finished, where, options.select, newest, report.rows, files, continued, deleted, blobs, form
    )
    await checkpoint.check()
    await checkpoint.delete_other_files(files)
    await place.write(MANIFEST, manifest.text())
    await place.delete(CHECKPOINT)
    return manifest


async def _service_time(table: Table) -> datetime:
    """Return the time by the clock of the service; an error if there is no such table."""
    now = await table.service_time()
    if now is None:
        raise BadInput("table", table.name, "there is no such table", "check the name and the storage")
    return now


def check_base(base: Manifest, form: SetForm | None, **own: Any) -> datetime:
    """Check that the changes since an export can be exported; return the Timestamp from which on rows are exported.

    It is earlier than the start of that export: a row may have changed after it was read, and the servers' clocks may
    differ. A row that is exported twice does no harm.
    """
    if base.where is not None:
        rule = "that export has a filter, and a row that changed may no longer match it"
        raise BadInput("since", base.where, rule, "export the table without a filter first")
    for name, value in own.items():
        if getattr(base, name) != value:
            rule = f"the {name} of that export is {getattr(base, name)!r}, and this one's is {value!r}"
            raise BadInput("since", base.table, rule, "export the changes as the whole was exported")
    check_form("since", base, form)
    return datetime.fromisoformat(base.started) - _LARGEST_CLOCK_SKEW


async def _write_deleted(base: Export, stored: AsyncIterator[Entity], place: Place) -> FileEntry | None:
    """Write the keys of an earlier export that the table has no more. Cost: 1 transaction for each 1,000 rows.

    It runs after the changed rows were read: a row that is deleted after that is in the export of the next changes.
    """
    writer: FileWriter | None = None
    row = await anext(stored, None)
    with place.workspace() as folder:
        for exported in base.all_rows():
            keys = keys_of(exported)
            while row is not None and key_order(keys_of(row)) < key_order(keys):
                row = await anext(stored, None)
            if row is None or keys_of(row) != keys:
                writer = writer or FileWriter(folder, "jsonl", name=DELETED)
                writer.write([Entity({"PartitionKey": keys[0], "RowKey": keys[1]})])
        if writer is None:
            return None
        deleted = writer.close()
        await place.add(folder, deleted)
    await place.publish(DELETED)
    return deleted


class _Checkpoint:
    """What an unfinished export has done, in a file beside its rows.

    A second process that continues an export takes it over, and the first one stops at its next file.

    :param arguments: those of the export; another one does not continue it
    """

    def __init__(self, place: Place, arguments: list[Any]) -> None:
        self._place = place
        self._arguments = json.loads(json.dumps(arguments))
        self._owner = uuid4().hex
        self._published = 0
        self.is_complete = False

    async def start(self, now: str) -> tuple[ExportProgress, str]:
        """Return what an interrupted export has done, and when it started."""
        place, names = self._place, await self._place.names()
        if MANIFEST in names:
            raise BadInput("folder", str(place), "it has an export already", "choose another folder")
        text = await place.read(CHECKPOINT)
        if text is None:
            if names:
                raise BadInput("folder", str(place), "it is not empty", "choose another folder")
            await self._write(ExportProgress(), now)
            return ExportProgress(), now
        state = json.loads(text)
        if state["arguments"] != self._arguments:
            rule = "it has another export, which was interrupted"
            raise BadInput("folder", str(place), rule, "finish that one, or choose another folder")
        files = tuple(map(FileEntry.of, state["files"]))
        self._published = len(files)
        self.is_complete = bool(files) and state["token"] is None
        done = ExportProgress(sum(file.rows for file in files), files, state["token"])
        await self._write(done, state["started"])
        await self.delete_other_files(files)
        return done, state["started"]

    async def keep(self, done: ExportProgress, started: str) -> None:
        """Publish the files that are new, and keep what is done."""
        await self.check()
        for file in done.files[self._published :]:
            # The file with the rows last: others are part of the export only with it
            for name in reversed(file.names):
                await self._place.publish(name)
        self._published = len(done.files)
        await self._write(done, started)

    async def check(self) -> None:
        """Check that no other process has taken over the export: it deletes files that it does not know."""
        text = await self._place.read(CHECKPOINT)
        if text is None or json.loads(text)["owner"] != self._owner:
            rule = "another process has continued this export"
            raise BadInput("folder", str(self._place), rule, "wait for that one, or choose another folder")

    async def _write(self, done: ExportProgress, started: str) -> None:
        state = {"arguments": self._arguments, "owner": self._owner, "started": started, "token": done.token}
        text = json.dumps(state | {"files": [asdict(file) for file in done.files]})
        await self._place.write(CHECKPOINT, text)

    async def delete_other_files(self, files: Sequence[FileEntry]) -> None:
        """Delete what workers left when they died, and what was published after the last checkpoint."""
        known = {name for file in files for name in file.names}
        for name in await self._place.names():
            if name.startswith((f"{ROWS}/", f"{BLOBS}/")) and name not in known:
                await self._place.delete(name)
