"""Rows: an entity set as a place to archive to, and from."""

from __future__ import annotations

from ..entity import Entity
from ..entity_set import EntitySet
from ..errors import DuplicateIndexValue, EntityAlreadyExists, EntityChanged, EntityNotFound
from ..key import Key
from ..recipe import Account
from .store import Keys, Properties, Snapshot, Store


class Rows(Store):
    """The entities of a set; with each word its derived data goes along.

    Cost: 1 storage transaction for each word, and what the set's derived data takes.

    :param entities: the set, as recipes see it
    :param key: the key of the set that is archived, which names entities wherever they are
    """

    def __init__(self, entities: EntitySet[Account], key: Key) -> None:
        self._entities = entities
        self._key = key

    @property
    def name(self) -> str:
        """The name that errors use."""
        return f"table {self._entities.table.name}"

    async def get(self, keys: Keys) -> Snapshot | None:
        """Return the entity with these keys."""
        found = await self._entities.get(**self._key.parse(*keys))
        if found is None:
            return None
        properties = {name: value for name, value in found.items() if name not in self._key.fields}
        return Snapshot(properties, found.etag or "", found)

    async def insert(self, keys: Keys, properties: Properties) -> bool:
        """Create the entity with all its derived rows, or return False if there is one."""
        try:
            await self._entities.insert(self._key.parse(*keys) | dict(properties))
        except DuplicateIndexValue:
            raise
        except EntityAlreadyExists:
            return False
        return True

    async def replace(self, keys: Keys, held: Snapshot, properties: Properties) -> bool:
        """Write the entity whole, or return False if it changed."""
        entity = held.row
        assert isinstance(entity, Entity)  # noqa: S101 - `get` of this class put it there
        entity.clear()
        entity.update(self._key.parse(*keys) | dict(properties))
        try:
            await self._entities.replace(entity)
        except (EntityChanged, EntityNotFound):
            return False
        return True

    async def delete(self, keys: Keys, held: Snapshot) -> bool:
        """Delete the entity with its derived rows, or return False if it changed."""
        entity = held.row
        assert isinstance(entity, Entity)  # noqa: S101 - as above
        try:
            await self._entities.delete(entity)
        except (EntityChanged, EntityNotFound):
            return False
        return True
