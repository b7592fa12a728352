"""Large values: the blobs of large properties, read piece by piece, and cleared away when nobody needs them.

Status: ready
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, cast

from ..entity import Entity
from ..entity_set import EntitySet
from ..errors import BadDesign, BadInput, BlobChanged, EntityNotFound, LargeValueMissing
from ..filters import prop
from ..large.address import ORPHAN, prefix_of
from ..large.kept import Batch, Kept, batches
from ..limits import SYSTEM_PROPERTIES
from ..recipe import Account_co, Pattern, recipe, stream
from ..words.container import ABSENT
from .large_properties import LargeProperties

DAY: Final = timedelta(days=1)


@dataclass(frozen=True)
class Collected:
    """What a collection found.

    :param seen: blobs of the set's large values
    :param marked: those that were seen for the first time to be needed by nobody
    :param deleted: those that were deleted: they had been marked for the grace
    """

    seen: int = 0
    marked: int = 0
    deleted: int = 0


@dataclass(frozen=True)
class Missing:
    """An entity with the address of a blob that is not there.

    :param key: the PartitionKey and the RowKey
    :param field: the property
    :param blob: the name of the blob, in the container of the large values
    """

    key: tuple[str, str]
    field: str
    blob: str


@dataclass(frozen=True)
class LargeReport:
    """What `verify` found.

    :param missing: addresses without a blob
    :param orphans: the names of blobs that no entity has the address of
    """

    missing: tuple[Missing, ...] = ()
    orphans: tuple[str, ...] = ()

    @property
    def is_clean(self) -> bool:
        """Whether entities and blobs agree."""
        return not self.missing and not self.orphans


class LargeValues(Pattern[Account_co]):
    """Look after the blobs of a set's large properties.

    Goal: blobs of values that were overwritten or deleted, and of writers who died, go in the end; values too large
    for memory are read piece by piece.

    Keys: beside a blob that nobody needs a collection puts an empty blob, its mark, whose name ends in `.orphan`.
    A later collection deletes both, once the mark is as old as the grace.

    Guarantees: a blob is marked when it is older than the grace and the entity does not have its address, so no writer
    needs it any more; it is deleted when the mark is older than the grace too, so no reader does. Several collections
    may run at once, and die anywhere: the next one goes on. Blobs of properties that the set does not declare, and of
    entities that do not fit its key, are left alone.

    Does not: run by itself; call `collect_orphans` every day, say. Give a grace that is longer than any writer takes
    from the first blob to the entity, any reader from the entity to the last blob, and any index in another partition
    to follow.

    Cost, in storage transactions: a collection 1 for 5,000 blobs, 1 for each 1,000 rows of those partitions that have
    blobs older than the grace, 1 for each mark, and 2 for each blob that is deleted.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> storage, photos = connect(), LargeProperties(["Photo"], container="employees")
    >>> employees = EntitySet(storage, "Employees", Key("{Department}", "empid_{EmployeeId:06d}"), mappings=[photos])
    >>> jones = employees.insert({"Department": "Sales", "EmployeeId": 223, "Photo": bytes(5_000_000)})
    >>> values = LargeValues(employees)
    >>> sum(len(chunk) for chunk in values.open(jones, "Photo"))
    5000000
    >>> employees.delete(jones)
    >>> for day in range(3):
    ...     storage.engine.clock.advance(86_400)
    ...     values.collect_orphans()
    Collected(seen=1, marked=1, deleted=0)
    Collected(seen=1, marked=0, deleted=1)
    Collected(seen=0, marked=0, deleted=0)

    :param entities: the set, one of whose mappings keeps large properties in blobs
    :raises BadDesign: none does

    Guide: large entities pattern; eventually consistent transactions pattern.
    """

    def __init__(self, entities: EntitySet[Account_co]) -> None:
        super().__init__(cast("Account_co", entities.account))
        found = [each for each in entities.mappings.each if isinstance(each, LargeProperties)]
        if not found:
            rule = "none of its mappings keeps large properties"
            raise BadDesign("entities", entities.table.name, rule, "give it a LargeProperties")
        (self.large,) = found
        self.entities = entities
        self.container = self.account.container(self.large.container)

    @stream
    async def open(self, entity: Mapping[str, Any], name: str) -> AsyncIterator[bytes]:
        """Hand out a large value piece by piece, never holding all of it; a text in UTF-8.

        A value that is kept in the entity is one piece; one that is not there is none. Cost: 1 transaction to read the
        address, and 1 to read the blob; beyond 32 MiB 1 more for each 4 MiB.

        :param entity: a mapping with the fields of the key; an entity that was read, say
        :param name: the property
        :raises EntityNotFound: there is no such entity
        :raises LargeValueMissing: its blob is not there
        :raises BadInput: the property is not declared as large, or is encrypted and must be read whole

        Guide: large entities pattern.
        """
        self._check_readable(name)
        keys = self.entities.key.format(self.entities.primary.key_fields(entity))
        row = await self.entities.table.get(*keys, select=[*SYSTEM_PROPERTIES, name])
        if row is None:
            raise EntityNotFound(f"there is no entity {keys}")
        blob = self.large.link(row.get(name))
        if blob is None:
            value = row.get(name)
            if value is not None:
                yield value.encode("utf-8", "surrogatepass") if isinstance(value, str) else bytes(value)
            return
        pieces = 0
        async for piece in self.container.chunks(str(blob)):
            pieces += 1
            yield piece
        if not pieces and await self.container.facts(str(blob)) is None:
            raise LargeValueMissing(f"{name} of the entity {keys} should be in the blob {blob}, which is not there")

    @recipe
    async def collect_orphans(self, *, grace: timedelta = DAY) -> Collected:
        """Mark the blobs that nobody needs, and delete those that were marked long enough ago.

        The cost is that of the class. After an error call it again.

        :param grace: how long writers and readers may take; none at all only while nobody reads or writes
        :raises BadInput: it is less than nothing

        Guide: large entities pattern; eventually consistent transactions pattern.
        """
        since = self._before(grace)
        total = Collected()
        async for batch in self._batches():
            done = await self._collect(batch, since)
            total = Collected(total.seen + done.seen, total.marked + done.marked, total.deleted + done.deleted)
        return total

    @recipe
    async def verify(self, *, grace: timedelta = DAY) -> LargeReport:
        """Compare all entities with all blobs, and change nothing. The names of all blobs are held in memory.

        Cost: 1 transaction for 5,000 blobs, 1 for 1,000 rows of the table, and 2 for each blob that seems missing.

        :param grace: blobs that are younger are not reported as orphans: their entity may be on its way
        :raises LargeValueMissing: an entity has an address in another container

        Guide: large entities pattern.
        """
        since = self._before(grace)
        listed = {str(kept.name): kept.since async for batch in self._batches() for kept in batch.blobs}
        named: set[str] = set()
        missing: list[Missing] = []
        async for row in self.entities.table.query(None, select=self._selected()):
            if self.entities.primary.fits(row):
                for blob in self._links(row):
                    named.add(blob)
                    if blob not in listed and (found := await self._missing(row, blob)):
                        missing.append(found)
        orphans = [blob for blob, when in sorted(listed.items()) if blob not in named and when <= since]
        return LargeReport(tuple(missing), tuple(orphans))

    async def _collect(self, batch: Batch, since: datetime) -> Collected:
        """Mark and delete what is due among the blobs of one partition."""
        due = [kept for kept in batch.blobs if kept.since <= since]
        # The blobs were listed before the rows are read: an address that is not there now will not come any more
        needed = await self._needed(batch) if due else frozenset[str]()
        orphans = [kept for kept in due if str(kept.name) not in needed]
        marked = await self.account.together(*(self._mark(kept) for kept in orphans if kept.marked is None))
        over = [kept for kept in orphans if kept.marked is not None and kept.marked <= since]
        await self.account.together(*map(self._delete, over))
        kept_on = [kept for kept in due if kept.marked is not None and str(kept.name) in needed]
        leftovers = [*(f"{kept.name}{ORPHAN}" for kept in kept_on), *batch.lone_marks]
        await self.account.together(*map(self.container.delete, leftovers))
        return Collected(len(batch.blobs), sum(marked), len(over))

    async def _mark(self, kept: Kept) -> bool:
        try:
            await self.container.upload(f"{kept.name}{ORPHAN}", b"", etag=ABSENT)
        except BlobChanged:
            # Another collection was faster, and its mark is the older one
            return False
        return True

    async def _delete(self, kept: Kept) -> None:
        # The mark goes last: without it the blob would have to wait once more
        await self.container.delete(str(kept.name))
        await self.container.delete(f"{kept.name}{ORPHAN}")

    async def _needed(self, batch: Batch) -> frozenset[str]:
        """Return the names of the blobs that the entities of a batch have the addresses of."""
        rows = prop("RowKey")
        where = (prop("PartitionKey") == batch.partition_key) & (rows >= batch.first) & (rows <= batch.last)
        found: set[str] = set()
        async for row in self.entities.table.query(where, select=self._selected()):
            found.update(self._links(row))
        return frozenset(found)

    async def _missing(self, row: Entity, blob: str) -> Missing | None:
        """Return what is missing, if the entity still has the address and the blob is still not there."""
        keys = (row["PartitionKey"], row["RowKey"])
        now = await self.entities.table.get(*keys, select=self._selected())
        if now is None or blob not in self._links(now) or await self.container.facts(blob) is not None:
            return None
        return Missing(keys, self._links(now)[blob], blob)

    def _links(self, row: Entity) -> dict[str, str]:
        """Return the blobs that a row has the addresses of, and for each the property."""
        links = {name: self.large.link(row.get(name)) for name in self.large.fields}
        return {str(blob): name for name, blob in links.items() if blob is not None}

    async def _batches(self) -> AsyncIterator[Batch]:
        """Hand out the blobs of the set's large values by partition, with their marks."""
        key, fields = self.entities.key, self.large.fields
        blobs = self.container.blobs(prefix_of(self.entities.table.name))
        async for batch in batches(blobs, lambda name: key.matches(*name.key) and name.field in fields):
            yield batch

    def _selected(self) -> list[str]:
        return [*SYSTEM_PROPERTIES, *sorted(self.large.fields)]

    def _before(self, grace: timedelta) -> datetime:
        if grace < timedelta(0):
            raise BadInput("grace", grace, "it is a length of time", "give how long writers and readers may take")
        return self.account.now() - grace

    def _check_readable(self, name: str) -> None:
        if name not in self.large.fields:
            rule = f"large properties are {', '.join(sorted(self.large.fields))}"
            raise BadInput("name", name, rule, "read it with the entity")
        for mapping in self.entities.mappings.each:
            if mapping is not self.large and name in mapping.fields:
                rule = f"it is one of the {mapping.name}, which are read whole"
                raise BadInput("name", name, rule, "read it with the entity")
