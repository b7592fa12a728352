"""The writing half of a `WideEntity`: fields become stored properties, these become parts, and parts become a value."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar
from uuid import uuid4

from .. import limits
from ..contention import Overtaken, check_retry_for, contended
from ..entity import Entity
from ..errors import BadInput, BadKey, EntityAlreadyExists, EntityChanged, EntityNotFound, OutcomeUnknown
from ..mapping import Action, Encoded
from ..recipe import Account_co
from ..words.operation import ANY, Operation, check_transaction
from .parts import Fields, Part, Stored, batches, merged, payload_of, publishing, rewritten, unpublished, written
from .wide_reads import Seen, WideReads

T = TypeVar("T")

_REFUSALS: Final = (EntityAlreadyExists, EntityChanged, EntityNotFound)
_NO_GENERATION: Final = "0" * 32
"""As long as any, for checks."""


class WideWrites(WideReads[Account_co]):
    """The writing half of a `WideEntity`."""

    transaction_bytes: int

    async def _write(self, old: Stored, entity: Mapping[str, Any], into: Entity, retry_for: float) -> Entity:
        """Write a whole value where an old one is, or none."""
        check_retry_for(retry_for)
        given = self._properties(entity)
        encoded = await self._encoded(old, given)
        parts = self.layout.arrange(encoded.fields, old.places)
        now = await self._put(old, parts, rewritten(old, parts), encoded.before, retry_for)
        await self._discard(old, old.strays)
        return self._handed(now, given if self.mappings.each else now.fields, into)

    async def _merged(self, old: Stored, encoded: Encoded, retry_for: float) -> Stored:
        """Overwrite some of the stored properties, and return what is stored then."""
        if not encoded.fields:
            return old
        parts = self.layout.arrange(old.fields | encoded.fields, old.places)
        return await self._put(old, parts, merged(old, parts, encoded.fields), encoded.before, retry_for)

    async def _merge_into_any(self, fields: Mapping[str, Any], given: dict[str, Any], retry_for: float) -> Entity:
        nothing = self._nothing(fields)
        encoded = await self._encoded(nothing, given)
        known = Entity(self._key_fields(fields) | given)
        if self.layout.names and given:
            parts = enumerate(self.layout.arrange(encoded.fields, {}))
            writes = [Operation.merge(nothing.keys(number) | part, ANY) for number, part in parts if part]
            await _carried_out(encoded.before, writes)
            # The parts may have rows of another generation, or the last one none yet: then they must be read
            with suppress(EntityNotFound, EntityChanged):
                await self._submit(nothing, writes)
                return known

        async def write(old: Stored) -> Stored:
            return await self._merged(old, encoded, retry_for)

        now = await self._from_current(fields, write, retry_for)
        # What the other fields are is not known where they are stored otherwise
        return known if self.mappings.each else self._handed(now, now.fields)

    async def _delete(self, old: Stored) -> None:
        await self._submit(old, old.deletions(old.parts))
        await self._discard(old, old.strays)

    async def _from_current(
        self, fields: Mapping[str, Any], write: Callable[[Stored], Awaitable[T]], retry_for: float
    ) -> T:
        """Read what is stored, and write what follows from it, until no other writer comes between."""

        async def attempt() -> T:
            current = await self._stored(fields, retry_for)
            if not current.parts:
                raise EntityNotFound(f"there is no entity {self._key_fields(fields)}; insert it")
            try:
                return await write(current)
            except (EntityChanged, EntityNotFound) as error:
                raise Overtaken from error

        return await contended(self.account, attempt, retry_for)

    # -- what is sent

    async def _put(
        self,
        old: Stored,
        parts: Sequence[Fields],
        writes: Sequence[Operation],
        before: Sequence[Action],
        retry_for: float,
    ) -> Stored:
        """Make parts the value, by one transaction or under a new generation; all was checked before anything is."""
        if self._is_small(writes):
            await _carried_out(before, writes)
            return written(old, parts, old.generation, await self._submit(old, writes))
        if before:
            await _carried_out(before, publishing(old, parts, _NO_GENERATION))
        return await self._publish(old, parts, retry_for)

    async def _publish(self, old: Stored, parts: Sequence[Fields], retry_for: float) -> Stored:
        """Write a value under a new generation, then turn the head to it; no reader sees it before."""
        generation = uuid4().hex
        flip = publishing(old, parts, generation)
        check_transaction(flip)
        try:
            for batch in batches(unpublished(old, parts, generation), self.transaction_bytes):
                await self._submit_unpublished(batch)
            answers = await self._submit(old, flip)
        except _REFUSALS:
            now = await self._stored(self.rows.parse(old.partition_key, old.first), retry_for)
            await self._discard(now, [row for row in now.strays if row.row_key.endswith(generation)])
            raise
        return written(old, parts, generation, answers)

    async def _submit_unpublished(self, writes: Sequence[Operation]) -> None:
        try:
            await self.table.submit(*writes)
        except OutcomeUnknown as error:
            # Only this write knows the generation, so if the rows are gone, another writer has removed them
            text = f"another writer removed {writes[0].key} before it was published; read the entity again and retry"
            raise EntityChanged(text) from error

    def _is_small(self, writes: Sequence[Operation]) -> bool:
        if len(writes) > limits.MAX_TRANSACTION_OPERATIONS:
            return False
        return len(writes) == 1 or payload_of(writes) < self.transaction_bytes

    async def _submit(self, old: Stored, writes: Sequence[Operation]) -> list[Entity]:
        try:
            return await self.table.submit(*writes)
        except EntityNotFound as error:
            index: int | None = error.index
            if index is None or writes[index].row_key == old.first:
                raise
            text = f"the row {writes[index].key} of the entity is gone since it was read; read it again and retry"
            raise EntityChanged(text, error, index=index) from error

    async def _discard(self, old: Stored, strays: Iterable[Part]) -> int:
        """Delete rows of no value, as long as they are as they were seen: one that was published since is not."""
        count = 0
        for deletion in old.deletions(strays):
            with suppress(EntityNotFound, EntityChanged):
                await self.table.submit(deletion)
                count += 1
        return count

    # -- what goes in

    async def _encoded(self, old: Stored, given: dict[str, Any]) -> Encoded:
        """Return fields as they are stored, and what must be done before."""
        return await self.mappings.encode_at(self._place(old), given) if self.mappings.each else Encoded(given)

    def _properties(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        for name in ("PartitionKey", "RowKey"):
            if name in fields and name not in self.key.fields:
                rule = f"it is made of the fields {', '.join(self.key.fields)}"
                raise BadKey(name, fields[name], rule, "give those fields, and not the key")
        return {name: value for name, value in fields.items() if value is not None and name not in self.key.fields}

    def _as_read(self, entity: Mapping[str, Any]) -> tuple[Seen, Entity]:
        if not isinstance(entity, Entity) or not isinstance(entity.reading, Seen):
            rule = "it was not read from here, so there are no ETags to tell whether it changed since"
            raise BadInput("entity", self._key_fields(entity), rule, "read it first with get")
        self.identity.check(entity)
        seen = entity.reading
        if not seen.stored.is_whole:
            rule = "only a part of it was read, and what has room where is not known"
            raise BadInput("entity", self._key_fields(entity), rule, "read it whole with get, then write it")
        now = self._nothing(entity)
        if (now.partition_key, now.first) != (seen.stored.partition_key, seen.stored.first):
            raise BadKey("key", now.first, "the entity was read with another", "insert a new one, delete the old one")
        return seen, entity


async def _carried_out(before: Sequence[Action], writes: Sequence[Operation]) -> None:
    """Do what must be done ahead of a transaction, once that is checked; where there is nothing, `submit` checks it."""
    if before:
        check_transaction(writes)
    for action in before:
        await action()
