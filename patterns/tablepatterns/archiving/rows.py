"""Rows: an entity set as a place to archive to, and from."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from typing import Any

from ..entity import Entity
from ..entity_set import EntitySet
from ..errors import DuplicateIndexValue, EntityAlreadyExists, EntityChanged, EntityNotFound
from ..key import Key
from ..recipe import Account
from .store import Keys, Properties, Snapshot, Store


class Rows(Store):
    """The entities of a set; with each word its derived data goes along.

    Cost: 1 storage transaction for each word, and what the set's derived data takes; to list children 1 per 1,000.

    :param entities: the set, as recipes see it
    :param key: the key of the set that is archived, which names entities wherever they are
    :param totals: the properties that a `Summary` of the children keeps in these rows, as they are without children.
        They are not moved: the children that are inserted and deleted change them
    """

    def __init__(self, entities: EntitySet[Account], key: Key, totals: Properties | None = None) -> None:
        self.entities = entities
        self._key = key
        self._totals = dict(totals or {})

    @property
    def name(self) -> str:
        """The name that errors use."""
        return f"table {self.entities.table.name}"

    async def list(self, key: Key, fields: Mapping[str, Any]) -> AsyncIterator[Keys]:
        """Yield the keys of the entities in a range. Cost: 1 transaction per page of up to 1,000."""
        async for entity in self.entities.range(select=(), **fields):
            yield key.format({name: entity[name] for name in key.fields})

    async def get(self, keys: Keys) -> Snapshot | None:
        """Return the entity with these keys."""
        found = await self.entities.get(**self._key.parse(*keys))
        if found is None:
            return None
        own = {name: value for name, value in found.items() if name not in self._key.fields}
        properties = {name: value for name, value in own.items() if name not in self._totals}
        return Snapshot(properties, found.etag or "", found, is_placeholder=bool(own) and not properties)

    async def insert(self, keys: Keys, properties: Properties) -> bool:
        """Create the entity with all its derived rows, or return False if there is one."""
        try:
            await self.entities.insert(self._key.parse(*keys) | dict(properties) | self._totals)
        except DuplicateIndexValue:
            raise
        except EntityAlreadyExists:
            return False
        return True

    async def replace(self, keys: Keys, held: Snapshot, properties: Properties) -> bool:
        """Write the entity whole, or return False if it changed."""
        entity = held.row
        assert isinstance(entity, Entity)  # noqa: S101 - `get` of this class put it there
        totals = {name: entity.get(name) for name in self._totals}
        entity.clear()
        entity.update(self._key.parse(*keys) | dict(properties) | totals)
        try:
            await self.entities.replace(entity)
        except (EntityChanged, EntityNotFound):
            return False
        return True

    async def delete(self, keys: Keys, held: Snapshot) -> bool:
        """Delete the entity with its derived rows, or return False if it changed."""
        entity = held.row
        assert isinstance(entity, Entity)  # noqa: S101 - as above
        try:
            await self.entities.delete(entity)
        except (EntityChanged, EntityNotFound):
            return False
        return True
