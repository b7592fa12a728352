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
from tablepatterns.sdk.container import ABSENT, Container

from .manifest import BLOBS, BlobEntry, Export, hidden
from .restore import Load


class BlobPlace(NamedTuple):
    """Where the blobs of a table are: their container, and the properties that have their addresses."""

    container: str
    properties: tuple[str, ...]

    @classmethod
    def of(cls, entity_set: Any) -> BlobPlace:
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

    def blobs_of(self, table: str, row: Entity) -> Iterator[tuple[str, Entity, BlobName]]:
        """Yield the blobs of an entity with their properties; a row derived from it only has their addresses."""
        for name, blob in self.addresses(row):
            if blob.is_of(table, keys_of(row), name):
                yield name, row, blob


async def copy_blob(container: Container, name: str, row: Entity, blob: BlobName, folder: Path) -> BlobEntry:
    """Copy the blob of a property to a file.

    Cost: 2 transactions, beyond 32 MiB 1 more for each 4 MiB.

    :raises LargeValueMissing: there is no such blob
    """
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
    return BlobEntry(file, digest.hexdigest(), str(blob), facts.content_type)


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

    async def load(self, load_rows: Load, pool: Pool, rows: Sequence[Entity]) -> int:
        """Write rows with their blobs; first the blobs, so that each address always has its own."""
        await pool.map(self._write, rows)
        return await load_rows([self.moved(row) for row in rows])

    async def _write(self, row: Entity) -> None:
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
