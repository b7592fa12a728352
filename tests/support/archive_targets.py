"""Archive targets for explored schedules: another table, blobs, and local files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from itertools import count
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from support.archive_moves import KEY, KEYS
from tablepatterns import EntitySet
from tablepatterns.recipes.archive.archive import Archive
from tablepatterns.recipes.archive.stores import BlobArchive, FileArchive, Keys, Properties, Snapshot, name_of
from tablepatterns.typed_json import decoded
from tablepatterns_engine.blobs.listing import ListBlobsQuery
from tablepatterns_explore import World


class Place(ABC):
    """A target for entities of the table Current, new in every world."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

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
    def ages(self, world: World) -> list[int]:
        """Return the ages of the archived employees, without a request."""


class InTable(Place):
    """Another table."""

    def target(self, world: World) -> Any:
        return EntitySet(world.storage, "Former", KEY)

    def prepare(self, world: World) -> None:
        super().prepare(world)
        world.engine.tables.create("Former")

    def ages(self, world: World) -> list[int]:
        return ages(world, "Former")


class InBlobs(Place):
    """A container."""

    def target(self, world: World) -> Any:
        return BlobArchive(world.storage, "former")

    def prepare(self, world: World) -> None:
        super().prepare(world)
        world.run(world.storage.container("former").create())

    def ages(self, world: World) -> list[int]:
        blobs = world.engine.blobs.page("former", ListBlobsQuery()).items
        return [decoded(bytes(blob.content), KEYS, blob.name)["Age"] for blob in blobs]


class InFiles(Place):
    """A folder, a separate one for each world."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self._number = count()
        self._of: WeakKeyDictionary[World, Path] = WeakKeyDictionary()

    def prepare(self, world: World) -> None:
        super().prepare(world)
        self._of[world] = self._folder / f"world{next(self._number)}"
        world.engine.tables.fill("Disk", [(*KEYS, {"Version": "none"})])

    def target(self, world: World) -> Any:
        return SteppedFiles(world, self._of[world])

    def ages(self, world: World) -> list[int]:
        path = self._of[world] / name_of(KEYS)
        return [decoded(path.read_bytes(), KEYS, path.name)["Age"]] if path.exists() else []


class SteppedFiles(FileArchive):
    """A folder that schedules can step: files change without a request, so each method sends one first.

    The request reads a row that describes the file. So the explorer distinguishes two worlds whose files differ, and
    knows what an actor has read. After a crash before or during that request, the file is unchanged.
    """

    def __init__(self, world: World, folder: Path) -> None:
        super().__init__(folder)
        self._world = world

    async def get(self, keys: Keys) -> Snapshot | None:
        await self._turn(keys)
        return await super().get(keys)

    async def insert(self, keys: Keys, properties: Properties) -> bool:
        await self._turn(keys)
        return await self._told(keys, await super().insert(keys, properties))

    async def replace(self, keys: Keys, held: Snapshot, properties: Properties) -> bool:
        await self._turn(keys)
        return await self._told(keys, await super().replace(keys, held, properties))

    async def delete(self, keys: Keys, held: Snapshot) -> bool:
        await self._turn(keys)
        return await self._told(keys, await super().delete(keys, held))

    async def _turn(self, keys: Keys) -> None:
        await self._world.storage.table("Disk").get(*keys)

    async def _told(self, keys: Keys, has_changed: bool) -> bool:
        held = await super().get(keys)
        self._world.engine.tables.fill("Disk", [(*keys, {"Version": held.version if held else "none"})])
        return has_changed


def ages(world: World, table: str) -> list[int]:
    """Return the ages of the employees in a table, without a request."""
    return [row.properties["Age"] for row in world.engine.tables.query(table).entities]
