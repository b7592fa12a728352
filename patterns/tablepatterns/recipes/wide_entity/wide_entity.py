"""`WideEntity`: one logical entity stored in as many rows as it needs."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar
from uuid import uuid4

from ... import limits
from ...argument_types import checked
from ...arguments import fields_of
from ...declared_rows import RowKind, StoreName
from ...entity import WRITE_ID, Entity, Modify, modify, reading_of, remember, write_ids_of
from ...entity_set.consistent_read import rows_at_once
from ...entity_set.mapping import Action, Encoded, Mappings, Place, PropertyMapping
from ...entity_set.range_query import range_filter
from ...errors import (
    BadDesign,
    BadInput,
    BadKey,
    EntityAlreadyExists,
    EntityChanged,
    EntityNotFound,
    OutcomeUnknown,
    locating,
)
from ...filters import Filter
from ...key import Key
from ...recipe import Account_co, Pattern, declared_rows, identity_of, recipe
from ...retry import RETRY_FOR, Overtaken, check_retry_for, contended
from ...sdk.operation import ANY, Operation, check_transaction
from ...set_identity import SetIdentity
from ..wide_parts import (
    MAX_PARTS,
    PART_BYTES,
    PARTS,
    Fields,
    Layout,
    Part,
    Stored,
    batches,
    merged,
    payload_of,
    publishing,
    rewritten,
    stored,
    unpublished,
    written,
)

PART: Final = "WidePart"
"""The field of the rows' key that the entity's own key lacks."""


@dataclass(frozen=True)
class Seen:
    """What is remembered of an entity that was read or written: its rows, and the fields that were made of them."""

    stored: Stored
    fields: Fields = field(repr=False)
    of: SetIdentity


T = TypeVar("T")
_REFUSALS: Final = (EntityAlreadyExists, EntityChanged, EntityNotFound)
_NO_GENERATION: Final = "0" * 32
"""As long as any, for checks."""
_OWN_FIELDS: Final = frozenset({PART, PARTS})


class WideEntity(Pattern[Account_co]):
    """Store one entity in several rows if it is too wide or too large for one.

    Use it for entities with more than 252 properties or 1 MiB, such as the messages that an employee sent on each of
    the last 365 days.

    >>> from tablepatterns import Key, connect
    >>> days = [f"Day{day:03d}" for day in range(1, 366)]
    >>> counts = WideEntity(connect(), "MessageCounts", Key("{Employee}", ""), properties=days)
    >>> jones = counts.insert({"Employee": "000223"} | {day: 0 for day in days})
    >>> _ = counts.merge(jones, {"Day365": 12})
    >>> counts.get(Employee="000223")["Day365"]
    12

    All parts share the entity's PartitionKey. Their RowKeys are the entity's own followed by `01`, `02` and so on,
    after a `_` if it ends in a field. If the partition holds other rows, begin the RowKey with a prefix. Part 1, the
    head, names the rows of the value. A part holds up to 250 properties and 960 KiB; the rest is reserved. The parts of
    a value that is too large for one transaction have the 32 digits of its generation in their RowKeys: `02_4f8c...`.
    Fields with `mappings` are encoded first; encryption and blob names use the keys of the head.

    Consistency: readers see a change completely or not at all. A value is written in one entity group transaction. If
    it is too large for that, it is written under a new generation, which readers do not see; one transaction then
    checks that all its rows exist, publishes them in the head, and deletes the old rows. A complete write fails if any
    part has changed since it was read, a merge if one of its own parts has. A missing part raises an error. A property
    stays in its part until a complete write, or lack of space, moves it.

    A merge of one part does not detect changes of others. If a process crashes while it writes a new generation, the
    rows remain, and take space and reading time, until the next complete write that has read them, or `sweep`. An
    entity has at most 49 parts, some 46 MiB: keep larger values in blobs. Nothing can be derived from a wide entity: to
    find it by another key, keep an `EntitySet` with the same fields.

    Cost, in storage transactions: `get` 1 for up to 1,000 rows, if the service does not cut the page shorter; if it
    does, the pages are read again until nothing has changed between. `merge` 1. `insert`, `replace` and `delete` 1; a
    new generation 1 for each 4 MB, and 1 to publish it. `mappings` cost what they cost in a set.

    :param account: where the table is
    :param table: the table's name; the first write creates it
    :param key: how the keys are made of the entity's fields; its RowKey may be empty, for the guide's `01` and `02`
    :param properties: the names of all properties, if known: each then has a fixed part, so that a change needs no
        read. Add new names at the end. Include the properties that mappings store: `EncryptedWith`, the hashes of blind
        indexes
    :param mappings: how fields are stored, if not as they are. With encrypted ones `merge` is rejected, since it would
        leave some under the key of another write
    :param part_bytes: how many bytes of properties a part holds at most, up to 983,040
    :param transaction_bytes: the size in bytes from which a value is written under a new generation, up to 4,000,000
    :raises BadTableName: the service would reject the table's name
    :raises BadDesign: the RowKey cannot be continued, a name is given twice or is reserved, or what a mapping stores
        has no part

    Guide: wide entities pattern.
    """

    @checked
    def __init__(
        self,
        account: Account_co,
        table: str,
        key: Key,
        *,
        properties: Iterable[str] = (),
        mappings: Iterable[PropertyMapping] = (),
        part_bytes: int = PART_BYTES,
        transaction_bytes: int = limits.MAX_TRANSACTION_BYTES,
    ) -> None:
        super().__init__(account)
        self.key = key
        self.layout = Layout(tuple(properties), part_bytes)
        self.mappings = Mappings.of(account, table, key, mappings)
        self.transaction_bytes = transaction_bytes
        # A field must end somewhere, and so must the parts of one entity: a longer RowKey could be another's
        separator = "_" if key.row_template.endswith("}") else ""
        self.rows = Key(key.partition_template, f"{key.row_template}{separator}{{{PART}:02d}}", max_units=key.max_units)
        with locating(key.location(table)):
            self._check_design()
            self._check_mapped()
            self.table = account.table(table)
            self.identity = SetIdentity(identity_of(account), table.lower(), key)
            declared_rows(account).add(self._kinds())

    @recipe
    async def get(
        self,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        select: Sequence[str] | None = None,
        retry_for: float = RETRY_FOR,
        **fields: Any,
    ) -> Entity | None:
        """Return the entity with this key, or None. Its `etag` is the head's.

        Cost: 1 transaction, a range query over the parts; where all of `select` belongs to one part by `properties`,
        a point query. Besides, 1 for each large value that is read from its blob.

        :param select: the properties to read; None for all, which a write of the entity needs
        :param retry_for: for how many seconds to read again while others write, if the value has several pages
        :param key: the fields as a mapping, for field names that are also parameter names
        :param fields: a value for every field of the key
        :raises BadKey: a key field is missing, or its value cannot be part of a key
        :raises DerivedDataMismatch: a part is missing

        Guide: wide entities pattern; server-side projection.
        """
        check_retry_for(retry_for)
        given = fields_of(key, fields)
        self.key.format(given)
        names = None if select is None else self.mappings.stored(select)
        found = await self._part_with(names or (), given) or await self._stored(given, retry_for, names)
        return self._handed(found, await self._decoded(found)) if found.parts else None

    @recipe
    async def insert(self, entity: Mapping[str, Any], *, retry_for: float = RETRY_FOR) -> Entity:
        """Create an entity, and return it. Cost: 1 transaction; for a value beyond 4 MB 1 for each 4 MB, and 1.

        :param entity: its fields; a field that is None is as if it were not there
        :param retry_for: for how many seconds to retry while others write the entity; see `update`
        :raises EntityAlreadyExists: an entity with this key exists
        :raises BadKey: a key field is missing, or its value cannot be part of a key
        :raises BadProperty: the service does not store such a property, or it is not among the declared ones
        :raises LimitExceeded: there would be more than 49 parts
        :raises OutcomeUnknown: an answer was lost, and so many wrote since that nothing tells whether this was written
        """
        return await self._write(self._nothing(entity), entity, Entity(), retry_for)

    @recipe
    async def replace(self, entity: Mapping[str, Any], *, retry_for: float = RETRY_FOR) -> Entity:
        """Write an entity back whole, unless any part changed since it was read; fields that it lacks are removed.

        Parts that are no longer needed go in the same transaction. The entity itself is brought up to date.
        Cost: that of `insert`.

        :param entity: an entity as it was read, with some of its fields changed; its key must stay
        :param retry_for: for how many seconds to retry while others write the entity; see `update`
        :raises EntityChanged: a part changed since the entity was read
        :raises EntityNotFound: the entity does not exist any more
        :raises BadInput: it was not read whole from here

        The other errors are those of `insert`. Guide: wide entities pattern; merge or replace.
        """
        seen, read = self._as_read(entity)
        return await self._write(seen.stored, entity, read, retry_for)

    @recipe
    async def merge(
        self,
        entity: Mapping[str, Any],
        changes: Mapping[str, Any],
        *,
        force: bool = False,
        retry_for: float = RETRY_FOR,
    ) -> Entity:
        """Overwrite some fields, unless a part that holds one of them changed since the entity was read.

        A change to None leaves the stored value. Fields of one part are one merge of its row; those of several are one
        transaction. A field that is new, or has no room where it is, also needs the head as it was read.

        Cost: 1 transaction; with `force` and no declared `properties` 1 more to read, for each attempt.
        Besides, 1 for each large value that goes to a blob.

        :param entity: an entity as it was read
        :param changes: the fields to overwrite; none of the key
        :param force: merge into whatever is stored; any mapping with the fields of the key will do. Of the
            entity that is returned only the key and the changes are known
        :param retry_for: for how many seconds to retry while others write the entity; see `update`
        :raises EntityChanged: a part changed since the entity was read
        :raises EntityNotFound: there is no such entity
        :raises BadInput: some fields are encrypted, so that the entity is to be written whole

        Guide: wide entities pattern; merge or replace.
        """
        given = self._properties(changes)
        for name in self.key.fields:
            if name in changes:
                raise BadKey(name, changes[name], "it is a part of the key, which stays", "leave it out")
        self.mappings.check_merge()
        if force:
            return await self._merge_into_any(entity, given, retry_for)
        seen, read = self._as_read(entity)
        if not given:
            return read
        now = await self._merged(seen.stored, await self._encoded(seen.stored, given), retry_for)
        return self._handed(now, {**seen.fields, **given} if self.mappings.each else now.fields, read)

    @recipe
    async def update(
        self,
        change: Modify,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        retry_for: float = RETRY_FOR,
        **fields: Any,
    ) -> Entity:
        """Read an entity, change it, and write it back whole; retry if another writer was faster.

        Cost: 1 read and 1 write per attempt.

        :param change: changes the entity in place, or returns all its fields; it is called once for each attempt, and
            may raise to give up
        :param retry_for: for how many seconds to retry when another writer was faster, with jittered exponential
            backoff; waits included, 30 by default, and 0 for a single attempt
        :param key: the fields as a mapping, for field names that are also parameter names
        :param fields: a value for every field of the key
        :raises EntityNotFound: there is no such entity
        :raises TooMuchContention: another writer was faster during every attempt

        Guide: concurrency.
        """

        async def write(old: Stored) -> Entity:
            entity = self._handed(old, await self._decoded(old))
            modify(entity, change)
            return await self.replace(entity, retry_for=retry_for)

        return await self._from_current(fields_of(key, fields), write, retry_for)

    @recipe
    async def delete(self, entity: Mapping[str, Any], *, force: bool = False, retry_for: float = RETRY_FOR) -> None:
        """Delete an entity with all its parts, unless one changed since it was read.

        Cost: 1 transaction; with `force` 1 more to read, for each attempt.

        :param entity: an entity as it was read
        :param force: delete whatever is stored; any mapping with the fields of the key will do
        :param retry_for: for how many seconds to retry while others write the entity; see `update`
        :raises EntityChanged: a part changed since the entity was read
        :raises EntityNotFound: the entity does not exist any more

        Guide: wide entities pattern.
        """
        if force:
            await self._from_current(entity, self._delete, retry_for)
            return
        seen, _ = self._as_read(entity)
        await self._delete(seen.stored)

    @recipe
    async def sweep(
        self, key: Mapping[str, Any] | None = None, /, *, retry_for: float = RETRY_FOR, **fields: Any
    ) -> int:
        """Delete rows that a dead writer left, and return how many. A large write in progress is refused by it.

        Cost: 1 transaction, and 1 for each row.

        :param retry_for: for how many seconds to retry while others write the entity; see `update`
        :param key: the fields as a mapping, for field names that are also parameter names
        :param fields: a value for every field of the key
        """
        given = fields_of(key, fields)
        self.key.format(given)
        found = await self._stored(given, retry_for, ())
        return await self._discard(found, found.strays)

    @property
    def location(self) -> str:
        """The table and the set that errors name."""
        return self.key.location(self.table.name)

    async def _part_with(self, names: Sequence[str], fields: Mapping[str, Any]) -> Stored | None:
        """Read the one part that holds all the names, if `properties` tells which; None where it must be looked for."""
        numbers = {self.layout.place(name) for name in names if name not in self.key.fields}
        if len(numbers) != 1 or (number := numbers.pop()) is None:
            return None
        old = self._nothing(fields)
        row = await self.table.get(old.partition_key, old.row_key(number), select=self._selected(names))
        if row is None:
            return None
        part = Part(
            old.row_key(number), row.etag or "", write_ids_of(row), {name: row[name] for name in names if name in row}
        )
        return Stored(old.partition_key, old.first, (part,), is_whole=False)

    async def _stored(self, fields: Mapping[str, Any], retry_for: float, select: Sequence[str] | None = None) -> Stored:
        old = self._nothing(fields)
        where = range_filter(old.range)

        async def attempt() -> list[Entity]:
            return await self._rows_at_once(where, self._selected(select))

        rows = await contended(self.account, attempt, retry_for)
        return stored(old.partition_key, old.first, rows, is_whole=select is None)

    async def _rows_at_once(self, where: Filter, select: Sequence[str] | None) -> list[Entity]:
        return await rows_at_once(self.table, where, select)

    async def _decoded(self, found: Stored) -> dict[str, Any]:
        """Return the fields that the caller sees of stored ones."""
        return await self.mappings.decode_at(self._place(found), found.fields) if self.mappings.each else found.fields

    def _place(self, found: Stored) -> Place:
        # The head's keys, whatever part a property is in, for it may move
        key = found.partition_key, found.first
        read = None if found.is_whole else ()
        return Place(self.account, self.table.name, key, room=MAX_PARTS * self.layout.part_bytes, read=read)

    def _key_fields(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        return {name: fields[name] for name in self.key.fields if fields.get(name) is not None}

    def _nothing(self, fields: Mapping[str, Any]) -> Stored:
        return Stored(*self.rows.format(self._key_fields(fields) | {PART: 1}))

    def _selected(self, names: Sequence[str] | None) -> tuple[str, ...] | None:
        if names is None:
            return None
        return (*limits.SYSTEM_PROPERTIES, PARTS, WRITE_ID, *(name for name in names if name not in self.key.fields))

    def _handed(self, found: Stored, fields: Fields, into: Entity | None = None) -> Entity:
        """Return the entity that the caller gets, which remembers what is stored of it."""
        entity = Entity() if into is None else into
        keys = self.rows.parse(found.partition_key, found.first)
        entity.clear()
        entity.update({name: keys[name] for name in self.key.fields} | dict(fields))
        head = found.parts[0]
        entity.partition_key, entity.row_key, entity.etag = found.partition_key, head.row_key, head.etag
        remember(entity, Seen(found, fields, self.identity))
        return entity

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
        seen = reading_of(entity)
        if not isinstance(entity, Entity) or not isinstance(seen, Seen):
            rule = "it was not read from here, so there are no ETags to tell whether it changed since"
            raise BadInput("entity", self._key_fields(entity), rule, "read it first with get")
        self.identity.check(entity)
        if not seen.stored.is_whole:
            rule = "only a part of it was read, and what has room where is not known"
            raise BadInput("entity", self._key_fields(entity), rule, "read it whole with get, then write it")
        now = self._nothing(entity)
        if (now.partition_key, now.first) != (seen.stored.partition_key, seen.stored.first):
            raise BadKey("key", now.first, "the entity was read with another", "insert a new one, delete the old one")
        return seen, entity

    def _kinds(self) -> list[RowKind]:
        place: StoreName = ("table", self.table.name.lower())
        owner = ("wide", place[1], self.rows.partition_template, self.rows.row_template)
        # A large value is written under a generation of 32 hexadecimal digits; the format `float` makes 16
        generation = "_{WideGeneration1:float}{WideGeneration2:float}"
        written = Key(self.rows.partition_template, self.rows.row_template + generation)
        return [RowKind(place, rows, owner, f"wide entities of {self.table.name!r}") for rows in (self.rows, written)]

    def _check_design(self) -> None:
        for name in sorted(_OWN_FIELDS.intersection(self.key.fields)):
            raise BadDesign("field", name, "the recipe stores a field of its own under this name", "rename the field")
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

    def _check_mapped(self) -> None:
        """Reject mappings that write properties which have no part."""
        if PARTS in self.mappings.written([name for each in self.mappings.each for name in each.fields]):
            raise BadDesign("mappings", PARTS, "the name is taken, for the head of the parts", "call it otherwise")
        for name in self.layout.names:
            for each in self.mappings.written([name]):
                if each not in self.layout.names:
                    rule = f"{name} is stored with {each}, which has no part"
                    raise BadDesign("properties", each, rule, f"add {each} to the end of properties")


async def _carried_out(before: Sequence[Action], writes: Sequence[Operation]) -> None:
    """Do what must be done ahead of a transaction, once that is checked; where there is nothing, `submit` checks it."""
    if before:
        check_transaction(writes)
    for action in before:
        await action()
