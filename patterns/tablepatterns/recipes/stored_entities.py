"""Find stored properties of entities, in the one row of each or in the parts of a wide entity.

Maintenance of large values and of encryption keys uses this, since it depends on rows and not on mappings.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar, TypeAlias, TypeVar

from ..edm import ordinal
from ..entity import Entity
from ..entity_set.derived import Keys, keys_of
from ..entity_set.entity_set import EntitySet
from ..entity_set.internals import mappings_of, primary_keys, primary_layout
from ..entity_set.mapping import PropertyMapping
from ..entity_set.range_query import bounding_range, range_filter, rows_at_once
from ..errors import BadDesign
from ..filters import Filter, prop
from ..key import Key
from ..limits import SYSTEM_PROPERTIES
from ..recipe import Account
from ..retry import RETRY_FOR, contended
from .wide_entity.wide_entity import PART, WideEntity, part_key
from .wide_parts import PARTS, Fields, Stored, head_of, stored

AnySet: TypeAlias = EntitySet[Account, Any] | WideEntity[Account, Any]
MappingT = TypeVar("MappingT", bound=PropertyMapping)


class StoredEntities:
    """The primary rows of a set, each identified by the key that its mappings use."""

    moves: ClassVar[bool] = False
    """Whether a property may move to another row."""

    def __init__(self, entity_set: AnySet, key: Key) -> None:
        self.table = entity_set.table
        self.mappings = mappings_of(entity_set)
        self._set: Any = entity_set
        self._key = key

    @property
    def tables(self) -> frozenset[str]:
        """The names of the tables with rows of these entities, derived rows included."""
        return frozenset({self.table.name, *(derived.table(self.table.name) for derived in self._set.derived)})

    def fits(self, key: Keys) -> bool:
        return self._key.matches(*key)

    def selected(self, names: Collection[str]) -> list[str]:
        return [*SYSTEM_PROPERTIES, *sorted(names)]

    def is_primary(self, row: Entity) -> bool:
        return self.key_of(row) == keys_of(row)

    def fields_of(self, key: Keys) -> dict[str, Any]:
        return {name: value for name, value in self._key.parse(*key).items() if name != PART}

    def key(self, fields: Mapping[str, Any]) -> Keys:
        return primary_keys(self._set, fields)

    def key_of(self, row: Entity) -> Keys | None:
        """Return the key of a row's entity; None for a row of another kind."""
        return keys_of(row) if primary_layout(self._set).fits(row) else None

    def where(self, keys: Collection[Keys]) -> Filter:
        """Return the filter for the rows of some entities of one partition; it may match rows of others."""
        rows, row_keys = prop("RowKey"), sorted((row for _, row in keys), key=ordinal)
        (partition_key,) = {partition for partition, _ in keys}
        return (prop("PartitionKey") == partition_key) & (rows >= row_keys[0]) & (rows <= row_keys[-1])

    async def rows_of(self, key: Keys, names: Collection[str]) -> Sequence[Entity]:
        """Return all rows of an entity as of one instant. Cost: 1 transaction."""
        row = await self.table.get(*key, select=self.selected(names))
        return [] if row is None else [row]

    async def stored(self, key: Keys, names: Collection[str]) -> Fields | None:
        """Return the stored properties of an entity, or None. Cost: 1 transaction."""
        return await self.table.get(*key, select=self.selected(names))


class _Parts(StoredEntities):
    """The parts of wide entities, unpublished ones included; the key is that of the head."""

    moves = True

    @property
    def tables(self) -> frozenset[str]:
        return frozenset({self.table.name})

    def fits(self, key: Keys) -> bool:
        return super().fits(key) and self._key.parse(*key)[PART] == 1

    def selected(self, names: Collection[str]) -> list[str]:
        return super().selected({PARTS, *names})

    def key(self, fields: Mapping[str, Any]) -> Keys:
        names = [name for name in self._key.fields if name != PART]
        return self._key.format({name: fields.get(name) for name in names} | {PART: 1})

    def key_of(self, row: Entity) -> Keys | None:
        partition_key, row_key = keys_of(row)
        head = head_of(row_key)
        key = None if head is None else (partition_key, head)
        return key if key and self.fits(key) else None

    def where(self, keys: Collection[Keys]) -> Filter:
        return range_filter(bounding_range([Stored(*key).range for key in keys]))

    async def rows_of(self, key: Keys, names: Collection[str]) -> Sequence[Entity]:
        attempt = partial(rows_at_once, self.table, range_filter(Stored(*key).range), self.selected(names))
        rows = await contended(self._set.account, attempt, RETRY_FOR)
        return [row for row in rows if self.key_of(row) == key]

    async def stored(self, key: Keys, names: Collection[str]) -> Fields | None:
        value = stored(*key, await self.rows_of(key, names), is_whole=False)
        return value.fields if value.parts else None


def mapping_of(entity_set: AnySet, kind: type[MappingT]) -> MappingT:
    """Return the mapping of a set that is of this kind; reject a set that has none."""
    for mapping in mappings_of(entity_set).mappings:
        if isinstance(mapping, kind):
            return mapping
    rule = f"it has no mapping for {kind.name}"
    raise BadDesign("entity_set", entity_set.table.name, rule, f"give it {kind.__name__}")


def entity_rows(entity_set: AnySet) -> StoredEntities:
    if isinstance(entity_set, WideEntity):
        return _Parts(entity_set, part_key(entity_set))
    return StoredEntities(entity_set, entity_set.key)
