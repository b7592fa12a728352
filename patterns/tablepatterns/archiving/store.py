"""Store: a place that holds entities by their keys, and can tell whether one is still as it was read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..key import Key

Keys: TypeAlias = tuple[str, str]
"""The PartitionKey and the RowKey that an entity has in the set it is archived from."""
Properties: TypeAlias = Mapping[str, Any]
"""The fields of an entity without those of its key."""


@dataclass(frozen=True)
class Snapshot:
    """An entity as a store held it when it was read.

    :param properties: its fields without those of its key
    :param version: what changes with every write, such as an ETag
    :param row: what else the store needs to change or delete it
    :param is_placeholder: whether it is not the entity itself, but a row that holds only the totals of its children
    """

    properties: Properties
    version: str
    row: object = None
    is_placeholder: bool = False


class Store(ABC):
    """Where entities can be moved to, and from.

    Each word is one step of a move, and is either done or refused as a whole. Subclass it to archive elsewhere: what
    it takes is an insert that fails if there is something, and writes on condition that nothing has changed.
    """

    @property
    @abstractmethod
    def name(self) -> str:
        """The name that errors use."""

    def check(self, keys: Keys) -> None:
        """Refuse keys under which nothing can be held here, ahead of every request.

        :raises BadInput: they are such
        """
        return

    def list(self, key: Key, fields: Mapping[str, Any]) -> AsyncIterator[Keys]:
        """Yield the keys of the entities in a range, in any order. Only a store of children needs it.

        :param key: the key of the set that is archived
        :param fields: what `Key.range` takes
        """
        raise NotImplementedError

    @abstractmethod
    async def get(self, keys: Keys) -> Snapshot | None:
        """Return what is held under these keys."""

    @abstractmethod
    async def insert(self, keys: Keys, properties: Properties) -> bool:
        """Hold an entity; return False, and change nothing, if one is held under these keys."""

    @abstractmethod
    async def replace(self, keys: Keys, held: Snapshot, properties: Properties) -> bool:
        """Overwrite an entity, which gets a new version; return False, and change nothing, if it is not as held."""

    @abstractmethod
    async def delete(self, keys: Keys, held: Snapshot) -> bool:
        """Delete an entity; return False, and change nothing, if it is not as held, or is gone."""
