"""Read the blobs of large properties piece by piece, and delete orphaned ones."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Final, Generic, cast
from zlib import crc32

from ...argument_types import checked
from ...entity import Entity
from ...entity_set.commit import E
from ...entity_set.derived import Keys, keys_of
from ...entity_set.entity_set import EntitySet
from ...entity_set.internals import adapter_or_none, check_read_from, stored_form
from ...errors import BadInput, BlobChanged, EntityNotFound, LargeValueMissing
from ...filters import Filter
from ...jobs.walk import TablePage, Walk, WalkReport
from ...jobs.workers import Workers, call_method
from ...rate_limit import Pool
from ...recipe import Account_co, Pattern, recipe, stream
from ...sdk.container import ABSENT, BlobFacts
from ...sdk.table import Page
from ..stored_entities import StoredEntities, entity_rows, mapping_of
from ..wide_entity.wide_entity import WideEntity
from .large_properties import ORPHAN, BlobName, LargeProperties, linked

DAY: Final = timedelta(days=1)
BATCH: Final = 1000
"""The minimum number of blobs in a batch, unless the partition has fewer."""
_SHARES: Final = 16
"""Among how many shares the partitions are divided for workers; each share lists all blobs."""


@dataclass(frozen=True)
class CollectionReport(WalkReport):
    """How many blobs `collect_orphans` has seen, newly marked as orphans, and deleted since they were marked before."""

    seen: int = 0
    marked: int = 0
    deleted: int = 0
    marked_names: tuple[str, ...] = field(default=(), repr=False, compare=False)
    deleted_names: tuple[str, ...] = field(default=(), repr=False, compare=False)
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True)
class BlobReference:
    """The address of a blob in a property of an entity; the key of a wide entity is that of its head."""

    key: tuple[str, str]
    field: str
    blob: str


@dataclass(frozen=True)
class LargePropertyReport:
    """The result of `verify`.

    :param missing: addresses whose blob does not exist
    :param orphans: the names of blobs whose address is in no entity
    :param foreign: addresses of blobs that belong to another entity or property
    """

    missing: tuple[BlobReference, ...] = ()
    orphans: tuple[str, ...] = ()
    foreign: tuple[BlobReference, ...] = ()

    @property
    def is_clean(self) -> bool:
        """Whether every address has its blob and every blob an address."""
        return not self.missing and not self.orphans and not self.foreign


class LargePropertyStore(Pattern[Account_co], Generic[Account_co, E]):
    """Stream large values, and delete orphaned blobs.

    Use it to clean up blobs of overwritten or deleted values and of writers that crashed, and to read values that are
    too large for memory.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> storage, photos = connect(), LargeProperties(["Photo"], container="employees")
    >>> employees = EntitySet(storage, "Employees", Key("{Department}", "empid_{EmployeeId:06d}"), mappings=[photos])
    >>> jones = employees.insert({"Department": "Sales", "EmployeeId": 223, "Photo": bytes(5_000_000)})
    >>> values = LargePropertyStore(employees)
    >>> sum(len(chunk) for chunk in values.open(jones, "Photo"))
    5000000
    >>> employees.delete(jones)
    >>> storage.engine.clock.advance(86_400)
    >>> values.collect_orphans()
    CollectionReport(seen=1, marked=1, deleted=0)

    Consistency: a collection marks an unused blob that is older than the grace, and a later one deletes it once the
    mark is older than that too. Call it every day or so, with a grace longer than any writer takes from the first blob
    to the entity, and any reader from the entity to the last blob. More: docs/patterns/large_properties.md.

    Cost: `collect_orphans` 1 blob list transaction, equivalent to 139 table operations, for 5,000 blobs; with an orphan
    that is marked 1 table + 1 blob write + 1 blob list transactions, equivalent to 279 table operations; with one that
    is deleted 1 table + 1 blob list + 2 blob delete transactions, equivalent to 140 table operations, since deletions
    are free. Of a table only the partitions are read that have blobs older than the grace, a transaction for each 1,000
    rows; of wide entities each that has blobs which seem to be orphans.

    :param entity_set: the set or wide entity with a `LargeProperties` mapping
    :raises BadDesign: there is no such mapping

    Guide: large entities pattern; eventually consistent transactions pattern.
    """

    @checked
    def __init__(self, entity_set: EntitySet[Account_co, E] | WideEntity[Account_co, E]) -> None:
        super().__init__(cast("Account_co", entity_set.account))
        self.large = mapping_of(entity_set, LargeProperties)
        self.entity_set = entity_set.without_model()
        self._models = adapter_or_none(entity_set)
        self.container = self.account.container(self.large.container)

    @stream
    async def open(self, entity: E | Mapping[str, Any], name: str) -> AsyncIterator[bytes]:
        """Yield a large value in chunks, without loading it as a whole; text in UTF-8.

        A value in the entity is one chunk; a missing property yields nothing. Cost: 1 table + 1 blob read transactions,
        equivalent to 12 table operations; beyond 32 MiB another read for each 4 MiB.

        :param entity: an entity or instance that was read, or a mapping with the key fields
        :param name: the property
        :raises EntityNotFound: there is no such entity
        :raises LargeValueMissing: the blob is missing, or belongs to another entity
        :raises DerivedDataMismatch: a part of a wide entity is missing
        :raises BadInput: the property is not declared as large, or is encrypted and must be read as a whole
        """
        self._check_readable(name)
        fields = stored_form(self._models, entity)
        check_read_from(self.entity_set, fields)
        keys = self._rows.key(fields)
        stored = await self._rows.stored(keys, [name])
        if stored is None:
            raise EntityNotFound(f"there is no entity {keys}")
        blob = self.large.link(stored.get(name), self._rows.table.name, keys, name)
        if blob is None:
            value = stored.get(name)
            if value is not None:
                yield value.encode("utf-8", "surrogatepass") if isinstance(value, str) else bytes(value)
            return
        pieces = 0
        async for piece in self.container.chunks(str(blob)):
            pieces += 1
            yield piece
        if not pieces and await self.container.facts(str(blob)) is None:
            raise LargeValueMissing(f"{name} of the entity {keys} should be in the blob {blob}, which does not exist")

    @recipe
    async def collect_orphans(
        self,
        *,
        grace: timedelta = DAY,
        resume: str | None = None,
        progress: Callable[[CollectionReport], None] | None = None,
        max_per_second: float | None = None,
        max_concurrency: int = 8,
        workers: int | Workers | None = None,
    ) -> CollectionReport:
        """Mark the blobs that no entity uses, and delete those that were marked long enough ago.

        For the cost see the class; with workers, the blobs are listed 16 times. After an error, call it again.

        :param grace: how long writers and readers may take; zero only if there are none
        :param resume: the token of an interrupted collection
        :param progress: called after some thousand blobs, or with workers after each share, with the result so far
        :param max_per_second: how many blobs to mark or delete a second, evenly spaced; None for no limit
        :param max_concurrency: how many blobs to mark or delete at a time
        :param workers: how many shares of the partitions to work on at a time, in this process; or `Workers`, whose
            source returns the set
        :raises BadInput: the grace is negative
        """
        since, pool = self._before(grace), Pool(self.account, max_per_second, max_concurrency)

        async def collect(page: TablePage) -> CollectionReport:
            report = CollectionReport()
            for batch in page.rows:
                report += await self._collect(cast("Batch", batch), since, pool)
            return report

        shares = 1 if workers is None else _SHARES
        readers = [_BatchReader(partial(self._batches, share, shares)) for share in range(shares)]
        where = f"{self._rows.table.name.lower()} {self.large.container}"
        name = f"collect orphans {where} {sorted(self.large.fields)} {shares}"
        options = {"grace": grace, "max_concurrency": max_concurrency}
        call = partial(call_method, name="collect_orphans", of=LargePropertyStore, **options)
        return await Walk(name, readers, collect, CollectionReport()).run(pool, resume, progress, workers, call)

    @recipe
    async def verify(self, *, grace: timedelta = DAY) -> LargePropertyReport:
        """Compare all entities with all blobs, without changing anything. Memory: the names of all blobs.

        Cost: 1 table + 1 blob list transactions, equivalent to 140 table operations, for 5,000 blobs and 1,000 rows,
        and two for each blob that seems missing.

        :param grace: younger blobs are not reported as orphans, since their entity may not be written yet
        :raises LargeValueMissing: an entity has an address in another container
        """
        since = self._before(grace)
        blobs = {str(blob.name): blob async for batch in self._batches(0, 1) for blob in batch.blobs}
        referenced: set[str] = set()
        missing: list[BlobReference] = []
        foreign: list[BlobReference] = []
        async for row in self._rows.table.query(None, select=self._selected()):
            for address, is_own in self._addresses(row):
                if not is_own:
                    foreign.append(address)
                    continue
                referenced.add(address.blob)
                if address.blob not in blobs and (reference := await self._missing(address)):
                    missing.append(reference)
        unnamed = [blob for name, blob in sorted(blobs.items()) if name not in referenced and blob.since <= since]
        referenced |= await self._blobs_moved(unnamed)
        orphans = tuple(name for blob_entry in unnamed if (name := str(blob_entry.name)) not in referenced)
        return LargePropertyReport(tuple(missing), orphans, tuple(foreign))

    async def _collect(self, batch: Batch, since: datetime, pool: Pool) -> CollectionReport:
        due_blobs = [blob for blob in batch.blobs if blob.since <= since]
        # The blobs were listed before the rows are read: an address that is not in them will not be written later
        referenced = await self._referenced_blobs(replace(batch, blobs=due_blobs)) if due_blobs else frozenset[str]()
        orphans = [blob for blob in due_blobs if str(blob.name) not in referenced]
        unmarked = [blob for blob in orphans if blob.marked is None]
        is_marked = await pool.map(self._mark, unmarked)
        marked = tuple(str(blob.name) for blob, is_new in zip(unmarked, is_marked, strict=True) if is_new)
        overdue_blobs = [blob for blob in orphans if blob.marked is not None and blob.marked <= since]
        await pool.map(self._delete, overdue_blobs)
        used_blobs = [blob for blob in due_blobs if blob.marked is not None and str(blob.name) in referenced]
        leftovers = [*(f"{blob.name}{ORPHAN}" for blob in used_blobs), *batch.stray_marks]
        await self.account.gather(*map(self.container.delete, leftovers), independent=True)
        deleted = tuple(str(blob.name) for blob in overdue_blobs)
        return CollectionReport(len(batch.blobs), len(marked), len(deleted), marked, deleted)

    async def _mark(self, blob: ListedBlob) -> bool:
        try:
            await self.container.upload(f"{blob.name}{ORPHAN}", b"", etag=ABSENT)
        except BlobChanged:
            # Another collection was faster
            return False
        return True

    async def _delete(self, blob: ListedBlob) -> None:
        # The mark is deleted last: without it, the blob would have to be marked again
        await self.container.delete(str(blob.name))
        await self.container.delete(f"{blob.name}{ORPHAN}")

    async def _referenced_blobs(self, batch: Batch) -> frozenset[str]:
        where = self._rows.where({blob.name.key for blob in batch.blobs})
        referenced: set[str] = set()
        async for row in self._rows.table.query(where, select=self._selected()):
            referenced.update(self._links(row))
        unseen = [blob for blob in batch.blobs if str(blob.name) not in referenced]
        return frozenset(referenced | await self._blobs_moved(unseen))

    async def _blobs_moved(self, unseen: Collection[ListedBlob]) -> set[str]:
        """Return the blobs whose addresses were missed because they moved between rows while these were read."""
        if not self._rows.moves:
            return set()
        keys = sorted({blob.name.key for blob in unseen})
        link_lists = await self.account.gather(*map(self._links_of, keys), independent=True)
        return {blob for links in link_lists for blob in links}

    async def _missing(self, address: BlobReference) -> BlobReference | None:
        """Return an address, if its entity still has it and the blob still does not exist."""
        links = await self._links_of(address.key)
        if address.blob not in links or await self.container.facts(address.blob) is not None:
            return None
        return links[address.blob]

    async def _links_of(self, key: Keys) -> dict[str, BlobReference]:
        """Return the addresses that an entity currently has of its own blobs, by their names."""
        rows = await self._rows.rows_of(key, self.large.fields)
        return {blob: address for row in rows for blob, address in self._links(row).items()}

    def _links(self, row: Entity) -> dict[str, BlobReference]:
        """Return the addresses that a row has of the entity's own blobs, by their names."""
        return {address.blob: address for address, is_own in self._addresses(row) if is_own}

    def _addresses(self, row: Entity) -> Iterator[tuple[BlobReference, bool]]:
        """Yield the addresses of blobs in a row of an entity, and whether the entity owns the blob."""
        key, table = self._rows.key_of(row), self._rows.table.name
        if key is None:
            return
        for name in self.large.fields:
            blob = linked(row.get(name), self.large.container)
            if blob is None:
                continue
            is_own = blob.is_of(table, key, name)
            # If the blob belongs to the row's own keys, the row is not a part, but an entity of another set
            if is_own or not blob.is_of(table, keys_of(row), name):
                yield BlobReference(key, name, str(blob)), is_own

    def _batches(self, share: int, shares: int, after: str = "") -> AsyncIterator[Batch]:
        """Yield the blobs of the entities' large values by partition, with their marks.

        :param share: the number of the share to which the partitions belong
        :param after: the name of a blob; those up to it are skipped
        """
        rows, fields = self._rows, self.large.fields

        def is_ours(name: BlobName) -> bool:
            is_of_share = crc32(name.key[0].encode("utf-8", "surrogatepass")) % shares == share
            return is_of_share and name.field in fields and rows.fits(name.key)

        return batches(self.container.blobs(f"{rows.table.name.lower()}/"), is_ours, after)

    @property
    def _rows(self) -> StoredEntities:
        return entity_rows(self.entity_set)

    def _selected(self) -> list[str]:
        return self._rows.selected(self.large.fields)

    def _before(self, grace: timedelta) -> datetime:
        if grace < timedelta(0):
            raise BadInput("grace", grace, "it must not be negative", "pass how long writers and readers may take")
        return self.account.now() - grace

    def _check_readable(self, name: str) -> None:
        if name not in self.large.fields:
            rule = f"large properties are {', '.join(sorted(self.large.fields))}"
            raise BadInput("name", name, rule, "read it with the entity")
        for mapping in self._rows.mappings.mappings:
            if mapping is not self.large and name in mapping.fields:
                rule = f"it is one of the {mapping.name}, which are read as a whole"
                raise BadInput("name", name, rule, "read it with the entity")


@dataclass(frozen=True)
class ListedBlob:
    """A blob with the time of its last change, and the time when it was marked as an orphan, if it was."""

    name: BlobName
    since: datetime
    marked: datetime | None = None


@dataclass
class Batch:
    """Blobs of entities of one partition."""

    partition_key: str
    blobs: list[ListedBlob] = field(default_factory=list[ListedBlob])
    stray_marks: list[str] = field(default_factory=list[str])
    """Marks without a blob, left by a collection that crashed."""
    last: str = ""
    """The name of the last blob, which precedes that of its mark."""

    def add(self, name: BlobName, facts: BlobFacts) -> None:
        """Add a blob, or the mark of the previous blob."""
        self.last = facts.name.removesuffix(ORPHAN)
        if not facts.name.endswith(ORPHAN):
            self.blobs.append(ListedBlob(name, facts.modified_at))
        elif self.blobs and self.blobs[-1].name == name:
            self.blobs[-1] = replace(self.blobs[-1], marked=facts.modified_at)
        else:
            self.stray_marks.append(facts.name)


async def batches(
    blobs: AsyncIterator[BlobFacts], is_ours: Callable[[BlobName], bool], after: str = ""
) -> AsyncIterator[Batch]:
    """Yield blobs, sorted by name, in batches of one partition; those of an entity are in one. Others are skipped."""
    batch: Batch | None = None
    key: tuple[str, str] | None = None
    async for facts in blobs:
        text = facts.name.removesuffix(ORPHAN)
        name = BlobName.parse(text)
        if name is None or text <= after or not is_ours(name):
            continue
        if batch is None or name.key[0] != batch.partition_key or (len(batch.blobs) >= BATCH and name.key != key):
            if batch is not None:
                yield batch
            batch = Batch(name.key[0])
        key = name.key
        batch.add(name, facts)
    if batch is not None:
        yield batch


class _BatchReader:
    """Reads one batch after another, as a `Walk` reads the pages of a table; a token is the name of the last blob."""

    is_unfiltered: Final = True

    def __init__(self, list_batches: Callable[..., AsyncIterator[Batch]]) -> None:
        self._list_batches = list_batches
        self._batches: AsyncIterator[Batch]
        self._last: str | None = None

    async def page(self, where: Filter | None, *, size: int, token: str | None = None) -> Page[Any]:
        """Read one batch; the page after the last one is empty."""
        if token is None or token != self._last:
            self._batches = self._list_batches(after=token or "")
        batch = await anext(self._batches, None)
        self._last = None if batch is None else batch.last
        return Page(() if batch is None else (batch,), self._last)
