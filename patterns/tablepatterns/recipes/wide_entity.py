"""Wide entity: one logical entity with more properties, or more bytes, than one row may have.

Status: ready
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, Final, TypeVar
from uuid import uuid4

from .. import limits
from ..contention import DEFAULT_ATTEMPTS, Overtaken, contended
from ..entity import Entity
from ..errors import BadDesign, BadInput, BadKey, EntityAlreadyExists, EntityChanged, EntityNotFound
from ..key import Key
from ..recipe import Account_co, recipe
from ..wide.parts import (
    PART_BYTES,
    PARTS,
    Layout,
    Part,
    Stored,
    batches,
    merged,
    payload_of,
    publishing,
    rewritten,
    unpublished,
    written,
)
from ..wide.wide_reads import PART, WideReads
from ..words.operation import ANY, Operation, check_transaction

T = TypeVar("T")

_WORDS: Final = frozenset({"attempts", "select", PART, PARTS})
_REFUSALS: Final = (EntityAlreadyExists, EntityChanged, EntityNotFound)


class WideEntity(WideReads[Account_co]):
    """Keep an entity that is too wide or too large for one row in several, and never show a part of a change.

    Goal: the messages an employee sent on each of the last 365 days. A row has at most 252 properties and 1 MiB.

    Keys: all parts share the PartitionKey of the entity; their RowKeys are its own with `01`, `02` and so on behind,
    after a `_` where it ends in a field. Give it text of its own where the partition holds other rows. Part 1, the
    head, says which rows belong to the value. A part holds up to 250 properties and 960 KiB: the rest is for the marks
    of head and writer, and for what is not published about how the service counts. A value too large for one
    transaction has the 32 digits of its generation behind the others' RowKeys: `02_4f8c...`.

    Guarantees: a reader sees all of a change or nothing. A value is written in one entity group transaction. One too
    large for that is written under a new generation first, which nobody sees; one transaction then checks that all
    its rows are there, turns the head to them, and deletes the old ones. A whole write is refused if any part changed
    since it was read, a merge if one of the parts that it touches did. A part that is missing is reported, and never
    read as properties that are not there. A property stays in its part until a whole write, or want of room, moves it.

    Does not: tell a merge of one part what changed in another. When a process dies while it writes a new generation,
    its rows stay until the next whole write that has seen them, or `sweep`; they cost space, and the read of them. An
    entity has at most 49 parts, some 46 MiB: keep larger values in blobs.

    Cost, in storage transactions: `get` 1 for up to 1,000 rows, if the service does not cut the page shorter; if it
    does, the pages are read again until nothing has changed between. `merge` 1. `insert`, `replace` and `delete` 1; a
    new generation 1 for each 4 MB, and 1 to publish it.

    >>> from tablepatterns import Key, connect
    >>> days = [f"Day{day:03d}" for day in range(1, 366)]
    >>> counts = WideEntity(connect(), "MessageCounts", Key("{Employee}", ""), properties=days)
    >>> jones = counts.insert({"Employee": "000223"} | {day: 0 for day in days})
    >>> _ = counts.merge(jones, {"Day365": 12})
    >>> counts.get(Employee="000223")["Day365"]
    12

    :param account: where the table is
    :param table: the table's name; it is made by the first write
    :param key: how the keys are made of the entity's fields; its RowKey may be empty, for the guide's `01` and `02`
    :param properties: the names of all properties, if they are known: each then has its part once and for all, so
        that a change needs no reading. New names go to the end
    :param part_bytes: how many bytes of properties a part holds at most, up to 983,040
    :param transaction_bytes: from how many bytes on a value is written under a new generation, up to 4,000,000
    :raises BadTableName: the service would refuse the table's name
    :raises BadDesign: the RowKey cannot be continued, a name is given twice, or one is a word of the recipe

    Guide: wide entities pattern.
    """

    def __init__(
        self,
        account: Account_co,
        table: str,
        key: Key,
        *,
        properties: Iterable[str] = (),
        part_bytes: int = PART_BYTES,
        transaction_bytes: int = limits.MAX_TRANSACTION_BYTES,
    ) -> None:
        super().__init__(account)
        self.key = key
        self.layout = Layout(tuple(properties), part_bytes)
        self.transaction_bytes = transaction_bytes
        # A field must end somewhere, and so must the parts of one entity: a longer RowKey could be another's
        separator = "_" if key.row_template.endswith("}") else ""
        self.rows = Key(key.partition_template, f"{key.row_template}{separator}{{{PART}:02d}}", max_units=key.max_units)
        self._check_design()
        self.table = account.table(table)

    def _check_design(self) -> None:
        for name in sorted(_WORDS.intersection(self.key.fields)):
            raise BadDesign("field", name, "the word is one of the recipe's", "rename the field")
        known = {*self.key.fields, PARTS}
        for name in self.layout.names:
            if name in known:
                raise BadDesign("properties", name, "it is a field of the key, or given twice", "give each name once")
            known.add(name)
        for option, value, most in (
            ("part_bytes", self.layout.part_bytes, PART_BYTES),
            ("transaction_bytes", self.transaction_bytes, limits.MAX_TRANSACTION_BYTES),
        ):
            if not 1 <= value <= most:
                raise BadDesign(option, value, f"it is a number of bytes, at most {most}", "leave it out")

    # -- writing

    @recipe
    async def insert(self, entity: Mapping[str, Any]) -> Entity:
        """Create an entity, and return it. Cost: 1 transaction; for a value beyond 4 MB 1 for each 4 MB, and 1.

        :param entity: its fields; a field that is None is as if it were not there
        :raises EntityAlreadyExists: an entity with this key exists
        :raises BadKey: a field of the key is missing, or has a value that cannot be a key
        :raises BadProperty: the service does not store such a property, or it is not among the declared ones
        :raises LimitExceeded: there would be more than 49 parts
        :raises OutcomeUnknown: an answer was lost, and so many wrote since that nothing tells whether this was written
        """
        return await self._write(self._nothing(entity), entity, Entity())

    @recipe
    async def replace(self, entity: Mapping[str, Any]) -> Entity:
        """Write an entity back whole, unless any part changed since it was read; fields that it lacks are removed.

        Parts that are no longer needed go in the same transaction. The entity itself is brought up to date.
        Cost: that of `insert`.

        :param entity: an entity as it was read, with some of its fields changed; its key must stay
        :raises EntityChanged: a part changed since the entity was read
        :raises EntityNotFound: there is no such entity any more
        :raises BadInput: it was not read whole from here

        The other errors are those of `insert`. Guide: wide entities pattern; merge or replace.
        """
        old, read = self._as_read(entity)
        return await self._write(old, entity, read)

    @recipe
    async def merge(
        self,
        entity: Mapping[str, Any],
        changes: Mapping[str, Any],
        *,
        unconditionally: bool = False,
        attempts: int = DEFAULT_ATTEMPTS,
    ) -> Entity:
        """Overwrite some fields, unless a part that holds one of them changed since the entity was read.

        A change to None leaves the stored value. Fields of one part are one merge of its row; those of several are one
        transaction. A field that is new, or has no room where it is, also needs the head as it was read.

        Cost: 1 transaction; with `unconditionally` and no declared `properties` 1 more to read, for each attempt.

        :param entity: an entity as it was read
        :param changes: the fields to overwrite; none of the key
        :param unconditionally: merge into whatever is stored; any mapping with the fields of the key will do. Of the
            entity that is returned only the key and the changes are known
        :param attempts: how often to read and write when others write at the same time; of use with the above
        :raises EntityChanged: a part changed since the entity was read
        :raises EntityNotFound: there is no such entity

        Guide: wide entities pattern; merge or replace.
        """
        given = self._properties(changes)
        for name in self.key.fields:
            if name in changes:
                raise BadKey(name, changes[name], "it is a part of the key, which stays", "leave it out")
        if unconditionally:
            return await self._merge_into_any(entity, given, attempts)
        old, read = self._as_read(entity)
        fields = old.fields | given
        parts = self.layout.arrange(fields, old.places)
        if not given:
            return read
        writes = merged(old, parts, given)
        if self._is_small(writes):
            now = written(old, parts, old.generation, await self._submit(old, writes))
        else:
            now = await self._publish(old, parts, read)
        return self._entity(now, read)

    @recipe
    async def update(
        self, change: Callable[[Entity], None], /, *, attempts: int = DEFAULT_ATTEMPTS, **fields: Any
    ) -> Entity:
        """Read an entity, change it, and write it back whole; begin again whenever another writer was faster.

        Cost: 1 read and 1 write per attempt.

        :param change: changes the entity in place; it is called once for each attempt, and may raise to give up
        :param attempts: how often to try in all
        :param fields: a value for every field of the key
        :raises EntityNotFound: there is no such entity
        :raises TooMuchContention: another writer was faster at every attempt

        Guide: concurrency.
        """

        async def write(entity: Entity) -> Entity:
            change(entity)
            return await self.replace(entity)

        return await self._from_current(fields, write, attempts)

    @recipe
    async def delete(
        self, entity: Mapping[str, Any], *, unconditionally: bool = False, attempts: int = DEFAULT_ATTEMPTS
    ) -> None:
        """Delete an entity with all its parts, unless one changed since it was read.

        Cost: 1 transaction; with `unconditionally` 1 more to read, for each attempt.

        :param entity: an entity as it was read
        :param unconditionally: delete whatever is stored; any mapping with the fields of the key will do
        :param attempts: as for `merge`
        :raises EntityChanged: a part changed since the entity was read
        :raises EntityNotFound: there is no such entity any more

        Guide: wide entities pattern.
        """
        if unconditionally:
            await self._from_current(entity, self.delete, attempts)
            return
        old, _ = self._as_read(entity)
        await self._submit(old, old.deletions(old.parts))
        await self._discard(old, old.strays)

    @recipe
    async def sweep(self, /, **fields: Any) -> int:
        """Delete rows that a dead writer left, and return how many. A large write in progress is refused by it.

        Cost: 1 transaction, and 1 for each row.

        :param fields: a value for every field of the key
        """
        self.key.format(fields)
        found = await self._stored(fields, ())
        return await self._discard(found, found.strays)

    async def _write(self, old: Stored, entity: Mapping[str, Any], into: Entity) -> Entity:
        parts = self.layout.arrange(self._properties(entity), old.places)
        writes = rewritten(old, parts)
        if self._is_small(writes):
            now = written(old, parts, old.generation, await self._submit(old, writes))
        else:
            now = await self._publish(old, parts, entity)
        await self._discard(old, old.strays)
        return self._entity(now, into)

    async def _publish(self, old: Stored, parts: Sequence[Mapping[str, Any]], fields: Mapping[str, Any]) -> Stored:
        """Write a value under a new generation, then turn the head to it; no reader sees it before."""
        generation = uuid4().hex
        flip = publishing(old, parts, generation)
        check_transaction(flip)
        try:
            for batch in batches(unpublished(old, parts, generation), self.transaction_bytes):
                await self.table.submit(*batch)
            answers = await self._submit(old, flip)
        except _REFUSALS:
            now = await self._stored(self._key_fields(fields))
            await self._discard(now, [row for row in now.strays if row.row_key.endswith(generation)])
            raise
        return written(old, parts, generation, answers)

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

    async def _merge_into_any(self, fields: Mapping[str, Any], given: dict[str, Any], attempts: int) -> Entity:
        old = self._nothing(fields)
        if self.layout.names and given:
            parts = enumerate(self.layout.arrange(given, {}))
            writes = [Operation.merge(old.keys(number) | part, ANY) for number, part in parts if part]
            # The parts may have rows of another generation, or the last one none yet: then they must be read
            with suppress(EntityNotFound, EntityChanged):
                await self._submit(old, writes)
                return Entity(self._key_fields(fields) | given)

        async def write(entity: Entity) -> Entity:
            return await self.merge(entity, given)

        return await self._from_current(fields, write, attempts)

    async def _from_current(
        self, fields: Mapping[str, Any], write: Callable[[Entity], Awaitable[T]], attempts: int
    ) -> T:
        async def attempt() -> T:
            current = await self.get(**self._key_fields(fields))
            if current is None:
                raise EntityNotFound(f"there is no entity {self._key_fields(fields)}; insert it")
            try:
                return await write(current)
            except (EntityChanged, EntityNotFound) as error:
                raise Overtaken from error

        return await contended(self.account, attempt, attempts)

    # -- what goes in and out

    def _properties(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        for name in ("PartitionKey", "RowKey"):
            if name in fields and name not in self.key.fields:
                rule = f"it is made of the fields {', '.join(self.key.fields)}"
                raise BadKey(name, fields[name], rule, "give those fields, and not the key")
        return {name: value for name, value in fields.items() if value is not None and name not in self.key.fields}

    def _as_read(self, entity: Mapping[str, Any]) -> tuple[Stored, Entity]:
        if not isinstance(entity, Entity) or not isinstance(entity.reading, Stored):
            rule = "it was not read from here, so there are no ETags to tell whether it changed since"
            raise BadInput("entity", dict(entity), rule, "read it first with get")
        if not entity.reading.is_whole:
            rule = "only a part of it was read, and what has room where is not known"
            raise BadInput("entity", dict(entity), rule, "read it whole with get, then write it")
        now = self._nothing(entity)
        if (now.partition_key, now.first) != (entity.reading.partition_key, entity.reading.first):
            raise BadKey("key", now.first, "the entity was read with another", "insert a new one, delete the old one")
        return entity.reading, entity
