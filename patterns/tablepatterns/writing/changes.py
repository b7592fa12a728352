"""Changes: what the caller asks a set to write, checked and ready to be committed, alone or with other changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..argument_types import checked
from ..deriving.derived import Change, Derived, Index, Shape
from ..entity import Entity
from ..errors import BadDesign, BadInput, BadKey, EntityChanged, EntityNotFound
from ..eventual.intents import Intents
from ..reading.lookups import Lookups
from ..recipe import Account_co, located
from ..schema import Schema
from ..transit import check_settled
from .alike import alike
from .commit import Reading, Source, Write


class Changes(Lookups[Account_co]):
    """The half of an `EntitySet` that makes changes ready, for itself and for an `EntityGroupTransaction`."""

    schema: Schema | None
    intents: Intents | None
    building: frozenset[Derived]

    @located
    @checked
    def inserting(self, entity: Mapping[str, Any]) -> Write:
        """Return the change that `insert` makes; nothing is sent."""
        return self._inserting(entity)

    @located
    @checked
    def replacing(self, entity: Mapping[str, Any]) -> Write:
        """Return the change that `replace` makes; nothing is sent."""
        reading, read = self._as_read(entity, whole=True)
        fields = self._fields(entity)
        return self._writing(read, Change(self.key, reading.stored, fields), reading)

    @located
    @checked
    def merging(self, entity: Mapping[str, Any], changes: Mapping[str, Any]) -> Write:
        """Return the change that `merge` makes; nothing is sent."""
        self.mappings.check_merge()
        given = self._given(changes)
        reading, read = self._as_read(entity, whole=bool(self.derived))
        return self._writing(
            read, Change(self.key, reading.stored, {**reading.fields, **given}, frozenset(given)), reading
        )

    @located
    @checked
    def deleting(self, entity: Mapping[str, Any]) -> Write:
        """Return the change that `delete` makes; nothing is sent."""
        reading, read = self._as_read(entity, whole=bool(self.derived))
        return self._writing(read, Change(self.key, reading.stored, None), reading)

    @checked
    def renaming(self, entity: Mapping[str, Any], fields: Mapping[str, Any]) -> tuple[Write, Write]:
        """Return the two changes that `rename` makes; nothing is sent."""
        self.identity.check(entity)
        check_settled(entity)
        for name in fields:
            if name not in self.key.fields:
                raise BadKey(name, fields[name], f"the key has the fields {', '.join(self.key.fields)}", "leave it out")
        reading, read = self._as_read(entity, whole=True)
        insertion = self._inserting({**entity, **fields})
        old, new = self.key.format(self.primary.key_fields(reading.stored)), insertion.key
        if old == new:
            raise BadInput("key", new, "it is the key that the entity has", "use replace, or give another key")
        if old[0] != new[0]:
            rule = f"a transaction stays in one partition, and the entity is in {old[0]!r}"
            raise BadInput("PartitionKey", new[0], rule, "use PartitionMove")
        self._check_reservations(insertion.change, reading)
        return self.deleting(read), replace(insertion, entity=read)

    def _inserting(self, entity: Mapping[str, Any]) -> Write:
        """Return the change of `inserting`, once the arguments are checked."""
        return self._write(Change(self.key, None, self._fields(entity)))

    def _check_reservations(self, change: Change, reading: Reading) -> None:
        """Reject a unique index elsewhere whose row would have to pass from the old entity to the new one."""
        for each in self.derived:
            if not isinstance(each, Index) or not each.is_unique or change.new is None:
                continue
            if set(each.keys(self.key, reading.stored)).intersection(each.keys(self.key, change.new)):
                rule = "the entity has reserved its index key under the old RowKey until the copies have followed"
                hint = "change a field of the index key too, or let the index not be unique"
                raise BadDesign(f"index {each.name}", change.row[1], rule, hint)

    def _writing(self, entity: Entity, change: Change, reading: Reading) -> Write:
        self._check_same_key(change)
        return replace(self._write(change), source=reading.source, entity=entity, is_whole=reading.is_whole)

    def _write(self, change: Change) -> Write:
        return Write(
            self.identity,
            change,
            self.derived,
            mappings=self.mappings,
            intents=self.intents,
            building=self.building,
        )

    async def _guard(self, entity: Mapping[str, Any]) -> None:
        """Put the primary row's ETag behind an entity that was read where no ETag guards it.

        :raises EntityChanged: the primary row does not say the same any more
        """
        if not isinstance(entity, Entity) or not isinstance(entity.reading, Reading):
            return
        self.identity.check(entity)
        reading = entity.reading
        if self._guards(reading.source.shape):
            return
        self._check_whole(entity, reading)
        keys = self.key.format(self.primary.key_fields(reading.stored))
        row = await self.table.get(*keys)
        if row is None:
            raise EntityNotFound(f"there is no entity {keys} any more; it was read from an index")
        if not alike(self.primary.entity(row), reading.stored):
            raise EntityChanged(f"the entity {keys} is not what was read from an index; read it again and retry")
        source = Source(self.primary, keys, row.etag or "", row.lineage)
        entity.reading = replace(reading, source=source)

    def _guards(self, shape: Shape) -> bool:
        """Whether the ETag of a row of this shape guards its entity."""
        needs_primary = any(each.needs_primary_etag for each in self.derived)
        return not shape.is_elsewhere and (shape == self.primary or not needs_primary)

    def _fields(self, entity: Mapping[str, Any], *, in_part: bool = False) -> dict[str, Any]:
        for name in ("PartitionKey", "RowKey"):
            if name in entity and name not in self.key.fields:
                rule = f"the set makes it of the fields {', '.join(self.key.fields)}"
                raise BadKey(name, entity[name], rule, "give those fields, and not the key")
        return self._given(entity, in_part=in_part)

    def _given(self, fields: Mapping[str, Any], *, in_part: bool = True) -> dict[str, Any]:
        """Return the fields that have a value, once they fit the schema."""
        if self.schema is not None:
            self.schema.check(fields, in_part=in_part, secret=self.mappings.secret)
        return {name: value for name, value in fields.items() if value is not None}

    def _as_read(self, entity: Mapping[str, Any], *, whole: bool) -> tuple[Reading, Entity]:
        if not isinstance(entity, Entity) or not isinstance(entity.reading, Reading):
            rule = "it was not read from this set, so there is no ETag to tell whether it changed since"
            raise BadInput(
                "entity", self.primary.key_fields(entity), rule, "read it first, or say unconditionally=True"
            )
        self.identity.check(entity)
        if whole:
            self._check_whole(entity, entity.reading)
        if not self._guards(entity.reading.source.shape):
            rule = "it was read from an index, whose ETag does not guard it"
            raise BadInput("entity", self.primary.key_fields(entity), rule, "read it with get, and then write it")
        return entity.reading, entity

    def _check_whole(self, entity: Entity, reading: Reading) -> None:
        if not reading.is_whole:
            rule = "only a part of it was read, and the rest would be lost"
            raise BadInput("entity", self.primary.key_fields(entity), rule, "read it whole with get, then write it")

    def _check_same_key(self, change: Change) -> None:
        if change.old is None or change.new is None:
            return
        for name in self.key.fields:
            before, after = change.old.get(name), change.new.get(name)
            if before != after:
                rule = f"it is a part of the key, and the entity was read as {before!r}"
                raise BadKey(name, after, rule, "use rename, or PartitionMove for another partition")
