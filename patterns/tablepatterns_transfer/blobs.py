"""The blobs of large properties: copied as they are, beside the rows that have their addresses."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from tablepatterns.entity import Entity
from tablepatterns.entity_set.derived import keys_of
from tablepatterns.entity_set.internals import check_new_row, mappings_of
from tablepatterns.errors import BadInput, BlobChanged, LargeValueMissing
from tablepatterns.rate_limit import Pool
from tablepatterns.recipe import Account
from tablepatterns.recipes.large_properties.large_properties import BlobName, LargeProperties, linked
from tablepatterns.sdk.container import ABSENT

from .manifest import BLOBS, BlobEntry, Export, hidden
from .restore import Loader


class BlobPlace(NamedTuple):
    """Where the blobs of a table are: their container, and the properties that have their addresses."""

    container: str
    properties: tuple[str, ...]

    @classmethod
    def of(cls, entity_set: Any) -> BlobPlace:
        """Return where a set stores its large properties."""
        for mapping in () if entity_set is None else mappings_of(entity_set).mappings:
            if isinstance(mapping, LargeProperties):
                return cls(mapping.container, tuple(sorted(mapping.fields)))
        rule = "only a set with LargeProperties knows which blobs belong to its rows"
        raise BadInput("with_blobs", True, rule, "pass that set, or leave it out")

    def addresses(self, row: Entity) -> Iterator[tuple[str, BlobName]]:
        """Yield the properties of a row that have the address of a blob, with its name."""
        for name in self.properties:
            if (blob := linked(row.get(name), self.container)) is not None:
                yield name, blob


async def copy_blobs(account: Account, place: BlobPlace, table: str, row: Entity, folder: Path) -> list[BlobEntry]:
    """Copy the blobs of an entity to files; those in a row derived from it are copied with the entity.

    Cost: 2 transactions for each blob, beyond 32 MiB 1 more for each 4 MiB.

    :raises LargeValueMissing: there is no such blob
    """
    container, entries = account.container(place.container), list[BlobEntry]()
    for name, blob in place.addresses(row):
        if not blob.is_of(table, keys_of(row), name):
            continue
        facts = await container.facts(str(blob))
        if facts is None:
            text = f"{name} of the entity {keys_of(row)} should be in the blob {blob}, which does not exist"
            raise LargeValueMissing(f"{text}; check the set with LargePropertyStore.verify, and write the value again")
        digest, file = hashlib.sha256(), f"{BLOBS}/{uuid4().hex}"
        path = hidden(folder / file)
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as content:
            async for chunk in container.chunks(str(blob), etag=facts.etag):
                digest.update(chunk)
                content.write(chunk)
        entries.append(BlobEntry(file, digest.hexdigest(), str(blob), facts.content_type))
    return entries


class BlobRestorer:
    """Writes the blobs of an export to a container, and the addresses of rows as they are there."""

    def __init__(self, account: Account, export: Export, table: str, entity_set: Any) -> None:
        assert export.manifest.blobs is not None  # noqa: S101
        self._source = BlobPlace(*export.manifest.blobs)
        target = self._source if entity_set is None else BlobPlace.of(entity_set)
        if target.properties != self._source.properties:
            rule = f"the export has blobs of {list(self._source.properties)}, and the set of {list(target.properties)}"
            raise BadInput("export", str(export.folder), rule, "import it to a set with the same large properties")
        is_other = table.lower() != export.manifest.table.lower()
        if is_other and entity_set is not None and mappings_of(entity_set).secret:
            rule = f"encrypted values can be read only in a table {export.manifest.table}"
            raise BadInput("table", table, rule, "import it to a table of that name, or export decrypted entities")
        self._container = account.container(target.container)
        self._is_moved = is_other or target.container != self._source.container
        self._table = table
        self._entity_set = entity_set
        self._files = export.blob_files()

    def moved(self, row: Entity) -> Entity:
        """Return a row with the addresses of its blobs in the container."""
        if self._is_moved:
            for name, blob in self._source.addresses(row):
                row[name] = self._container.blob_url(str(replace(blob, table=self._table)))
        return row

    async def write(self, row: Entity) -> None:
        """Write the blobs of an exported row that are not there."""
        if self._entity_set is not None:
            check_new_row(self._entity_set, row)
        for _, blob in self._source.addresses(row):
            if str(blob) not in self._files:
                continue
            path, entry = self._files[str(blob)]
            name = str(replace(blob, table=self._table))
            if await self._container.facts(name) is None:
                # Another worker may be faster
                with suppress(BlobChanged), path.open("rb") as content:
                    await self._container.upload(name, content, etag=ABSENT, content_type=entry.content_type)


class BlobLoader:
    """Writes rows with their blobs; first the blobs, so that each address always has its own."""

    def __init__(self, rows: Loader, restorer: BlobRestorer, pool: Pool) -> None:
        self._rows = rows
        self._restorer = restorer
        self._pool = pool

    async def load(self, rows: Sequence[Entity]) -> int:
        """Write the blobs of rows, and the rows."""
        await self._pool.map(self._restorer.write, rows)
        return await self._rows.load([self._restorer.moved(row) for row in rows])
