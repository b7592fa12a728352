"""Archive targets for explored schedules: another table, and blobs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Any

from support.archive_moves import ID, KEY, KEYS
from tablepatterns import Archive, BlobArchive, EntitySet
from tablepatterns.errors import EntityChanged, EntityNotFound
from tablepatterns.typed_json import decoded
from tablepatterns_engine.blobs.listing import ListBlobsQuery
from tablepatterns_explore import World


class Place(ABC):
    """A target for entities of the table Current, new in every world."""

    def archive(self, world: World) -> Any:
        """Return the archive with this target."""
        target = self.target(world)
        return Archive(EntitySet(world.storage, "Current", KEY), target, queue="moves")

    def prepare(self, world: World) -> None:
        """Create what the target needs, so that schedules do not include it."""
        world.engine.tables.create("Current")

    @abstractmethod
    def target(self, world: World) -> Any:
        """Return the target of the archive."""

    @abstractmethod
    async def delete(self, world: World) -> bool:
        """Delete the archived employee, as it is read now; return whether it was there, and did not change."""

    @abstractmethod
    def ages(self, world: World) -> list[int]:
        """Return the ages of the archived employees, without a request."""


class InTable(Place):
    """Another table."""

    def target(self, world: World) -> Any:
        return EntitySet(world.storage, "Former", KEY)

    async def delete(self, world: World) -> bool:
        archived = await self.target(world).get(**ID)
        if archived is not None:
            with suppress(EntityChanged, EntityNotFound):
                await self.target(world).delete(archived)
                return True
        return False

    def prepare(self, world: World) -> None:
        super().prepare(world)
        world.engine.tables.create("Former")

    def ages(self, world: World) -> list[int]:
        return ages(world, "Former")


class InBlobs(Place):
    """A container."""

    def target(self, world: World) -> Any:
        return BlobArchive(world.storage, "former")

    async def delete(self, world: World) -> bool:
        archived = await self.target(world).get(KEYS)
        return archived is not None and await self.target(world).delete(KEYS, archived)

    def prepare(self, world: World) -> None:
        super().prepare(world)
        world.run(world.storage.container("former").create())

    def ages(self, world: World) -> list[int]:
        blobs = world.engine.blobs.page("former", ListBlobsQuery()).items
        return [decoded(bytes(blob.content), KEYS, blob.name)["Age"] for blob in blobs]


def ages(world: World, table: str) -> list[int]:
    """Return the ages of the employees in a table, without a request."""
    return [row.properties["Age"] for row in world.engine.tables.query(table).entities]
