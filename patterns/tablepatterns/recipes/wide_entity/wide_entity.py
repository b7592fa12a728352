"""`WideEntity`: one logical entity stored in as many rows as it needs."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeVar, cast
from uuid import uuid4

from ... import limits
from ...argument_types import checked
from ...batches import batches
from ...declared_rows import RowKind, StoreName
from ...entity import WRITE_ID, Entity, reading_of, remember, replace_fields, write_ids_of
from ...entity_set.calls import SetCalls
from ...entity_set.commit import E
from ...entity_set.hooks import Selection
from ...entity_set.mapping import Action, Encoded, Mappings, Place, PropertyMapping
from ...entity_set.model_adapter import adapter_of
from ...entity_set.model_layer import ModelLayer, as_declared
from ...entity_set.range_query import range_filter, rows_at_once
from ...errors import BadDesign, BadInput, BadKey, EntityChanged, EntityNotFound, OutcomeUnknown, locating
from ...filters import Filter
from ...key import Key
from ...key.key import fields_of
from ...models.options import OnUnrecognized, Upgrade
from ...recipe import Account_co, SetProfile, declared_rows, identity_of, recipe
from ...retry import LOST_RACE, RETRY_FOR, check_retry_for, contended, overtaken_by
from ...sdk.operation import ANY, Operation, check_transaction
from ...sdk.table import Page
from ...set_identity import SetIdentity
from ..wide_parts import MAX_PARTS, PART_BYTES, PARTS, Fields, Layout, Part, Stored, stored

PART: Final = "WidePart"
"""The field of the rows' key that the entity's own key lacks."""


@dataclass(frozen=True)
class ReadState:
    """The state of an entity as it was last read or written: its rows, and their decoded fields."""

    stored: Stored
    fields: Fields = field(repr=False)
    of: SetIdentity


T = TypeVar("T")
_NO_GENERATION: Final = "0" * 32
"""A placeholder with the length of a generation, for size checks."""


class WideEntity(SetCalls[Account_co, E]):
    """Store an entity in several rows if it has too many properties, or is too large, for one.

    Use it for more than 252 properties or 1 MiB, such as the number of messages an employee sent on each of 365 days.

    >>> from tablepatterns import Key, connect
    >>> days = [f"Day{day:03d}" for day in range(1, 366)]
    >>> counts = WideEntity(connect(), "MessageCounts", Key("{Employee}", ""), properties=days)
    >>> jones = counts.insert({"Employee": "000223"} | {day: 0 for day in days})
    >>> _ = counts.merge(jones, {"Day365": 12})
    >>> counts.get(Employee="000223")["Day365"]
    12

    A part holds up to 250 properties and 960 KiB, and an entity has up to 49 parts, some 46 MiB. If the partition has
    other rows, start the RowKey with a prefix. Nothing can be derived from a wide entity.

    Consistency: readers see a change completely or not at all. A write of the whole entity fails if any part has
    changed since it was read, a merge only if one of its own parts has. How large values are written, and what a crash
    leaves: docs/patterns/wide_entity.md.

    Cost in storage transactions: `get` 1 for up to 1,000 rows; several pages are read again until they are consistent.
    `insert`, `replace`, `merge` and `delete` 1; a new generation 1 for each 4 MB, and 1 to publish it. `mappings` cost
    the same as in a set.

    :param key: the key of the entities; the RowKey may be empty, for the guide's `01` and `02`
    :param properties: the names of all properties, if known, which gives each a fixed part, so that `merge` with
        `force` needs no read. Append new names. Include what mappings store: `EncryptedWith`, hashes of blind indexes
    :param part_bytes: the maximum size of a part's properties in bytes, up to 983,040
    :param transaction_bytes: the size in bytes from which a write uses a new generation, up to 4,000,000
    :param versions: as for `EntitySet`; `properties` must then include `ModelVersion`
    :raises BadTableName: the service would reject the table's name
    :raises BadDesign: a parameter is out of range, a name is given twice or reserved, or a property that a mapping
        stores is not in `properties`

    The other parameters are those of `EntitySet`. Guide: wide entities pattern.
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
        model: type[E] | None = None,
        versions: Iterable[tuple[int, Upgrade]] = (),
        on_unrecognized: OnUnrecognized = "raise",
    ) -> None:
        super().__init__(account)
        self.key = key
        self._layout = Layout(tuple(properties), part_bytes)
        self.transaction_bytes = transaction_bytes
        # Without a separator, the part number could be read as the end of the last field
        separator = "_" if key.row_template.endswith("}") else ""
        row_template = f"{key.row_template}{separator}{{{PART}:02d}}"
        self._rows = Key(key.partition_template, row_template, max_units=key.max_units)
        with locating(f"table {table}"):
            self._check_design()
            self.table = account.table(table)
            all_mappings: Sequence[PropertyMapping] = [*mappings]
            if model is not None:
                self.table, _, all_mappings = as_declared(model, self.table, all_mappings)
            self._mappings = Mappings.of(account, table, key, all_mappings)
            self._check_mapped()
            self._identity = SetIdentity(identity_of(account), table.lower(), key)
            declared_rows(account).add(self._row_kinds())
            if model is not None or versions or on_unrecognized != "raise":
                adapter = adapter_of(model, self._identity, (), self._mappings, versions, on_unrecognized)
                self._layer = ModelLayer(adapter, self)

    def _set_profile(self) -> SetProfile | None:
        return SetProfile("wide_entity", self.table.name, self.key, {"fixed": bool(self._layout.names)})

    def without_model(self) -> WideEntity[Account_co]:
        """Return these wide entities without their model, as `EntitySet.without_model` does."""
        return cast("WideEntity[Account_co]", self._without_model())

    @recipe
    async def get(
        self,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        select: Sequence[str] | None = None,
        retry_for: float = RETRY_FOR,
        **fields: Any,
    ) -> E | None:
        """Return the entity with this key, or None, as `EntitySet.get` does. Its `etag` is the head's.

        Cost: 1 transaction: a range query, or a point query if all of `select` is in one part by `properties`. 1 more
        for each large value in a blob.

        :param select: the properties to read; None for all, as writes require
        :param retry_for: the seconds to keep retrying a read of several pages while others write
        :raises DerivedDataMismatch: a part is missing

        The other parameters and errors are those of `EntitySet.get`.
        """
        check_retry_for(retry_for)
        selection = Selection(fields_of(key, fields), select=select, retry_for=retry_for)
        return await (self._layer or self)._one(selection)

    @recipe
    async def sweep(
        self, key: Mapping[str, Any] | None = None, /, *, retry_for: float = RETRY_FOR, **fields: Any
    ) -> int:
        """Delete the unpublished rows of crashed writers, and return how many; a large write in progress then fails.

        Cost: 1 transaction, and 1 for each row.

        The errors are those of `get`, as are the parameters.
        """
        key_fields = fields_of(key, fields)
        self.key.format(key_fields)
        value = await self._stored(key_fields, retry_for, ())
        return await self._discard(value, value.orphans)

    async def _one(self, selection: Selection) -> E | None:
        if selection.via is not None:
            self._reject_derived("find")
        fields, retry_for = selection.fields, selection.retry_for
        self.key.format(fields)
        names = None if selection.select is None else self._mappings.stored(selection.select)
        value = await self._part_with(names or (), fields) or await self._stored(fields, retry_for, names)
        if not value.parts:
            return None
        return self._entity(value, await self._mappings.decode_at(self._place(value), value.fields))

    def _items(self, selection: Selection, size: int) -> AsyncGenerator[E, None]:
        self._reject("range", "the rows of an entity are read together, one entity at a time", "use get or get_many")

    async def _page(self, selection: Selection, size: int, token: str | None) -> Page[E]:
        self._reject("page", "the rows of an entity are read together, one entity at a time", "use get or get_many")

    async def _create(self, entity: Mapping[str, Any], retry_for: float) -> E:
        return await self._write(self._empty(entity), entity, Entity(), retry_for)

    async def _change(self, entity: Mapping[str, Any], changes: Fields | None, retry_for: float) -> E:
        if changes is None:
            state, read = self._read_state(entity)
            return await self._write(state.stored, entity, read, retry_for)
        changed_properties = self._changed_properties(changes)
        state, read = self._read_state(entity)
        if not changed_properties:
            return read  # type: ignore[return-value] # as in _entity
        encoded = await self._encoded(state.stored, changed_properties, read)
        now = await self._merge_parts(state.stored, encoded, retry_for)
        fields = {**state.fields, **changed_properties} if self._mappings.mappings else now.fields
        return self._entity(now, fields, read)

    async def _remove(self, entity: Mapping[str, Any], retry_for: float) -> None:
        await self._delete(self._read_state(entity)[0].stored)

    async def _overwrite(self, entity: Mapping[str, Any], changes: Fields | None, etag: str, retry_for: float) -> E:
        self._check_condition(etag)
        if changes is None:
            return await super()._overwrite(entity, None, etag, retry_for)
        return await self._merge_into_any(entity, self._changed_properties(changes), retry_for)

    async def _remove_any(self, entity: Mapping[str, Any], etag: str, retry_for: float) -> None:
        self._check_condition(etag)
        await self._retry_on_current(entity, self._delete, retry_for)

    def _check_condition(self, etag: str) -> None:
        """Reject the ETag of the head, which does not change with the other parts."""
        if etag != ANY:
            rule = "each part of a wide entity has an ETag of its own"
            raise BadInput("etag", etag, rule, "read the entity, and write it back; or pass force=True")

    def _changed_properties(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        properties = self._properties(changes)
        for name in self.key.fields:
            if name in changes:
                raise BadKey(name, changes[name], "it is a part of the key, which stays", "leave it out")
        self._mappings.check_merge()
        return properties

    async def _part_with(self, names: Sequence[str], fields: Mapping[str, Any]) -> Stored | None:
        """Read the part with all the names, or return None if `properties` does not determine a single part."""
        numbers = {self._layout.place(name) for name in names if name not in self.key.fields}
        if len(numbers) != 1 or (number := numbers.pop()) is None:
            return None
        old = self._empty(fields)
        row = await self.table.get(old.partition_key, old.row_key(number), select=self._selected(names))
        if row is None:
            return None
        part_fields = {name: row[name] for name in names if name in row}
        part = Part(old.row_key(number), row.etag or "", write_ids_of(row), part_fields)
        return Stored(old.partition_key, old.first, (part,), is_whole=False)

    async def _stored(self, fields: Mapping[str, Any], retry_for: float, select: Sequence[str] | None = None) -> Stored:
        old = self._empty(fields)
        attempt = partial(self._rows_at_once, range_filter(old.range), self._selected(select))
        rows = await contended(self.account, attempt, retry_for)
        return stored(old.partition_key, old.first, rows, is_whole=select is None)

    async def _rows_at_once(self, where: Filter, select: Sequence[str] | None) -> list[Entity]:
        return await rows_at_once(self.table, where, select)

    def _place(self, value: Stored) -> Place:
        # The keys of the head, since a property may move to another part
        key = value.partition_key, value.first
        room, read = MAX_PARTS * self._layout.part_bytes, None if value.is_whole else ()
        return Place(self.account, self.table.name, key, room=room, read=read)

    def _key_of(self, entity: Mapping[str, Any]) -> dict[str, Any]:
        return {name: entity[name] for name in self.key.fields if entity.get(name) is not None}

    def _empty(self, fields: Mapping[str, Any]) -> Stored:
        return Stored(*self._rows.format(self._key_of(fields) | {PART: 1}))

    def _selected(self, names: Sequence[str] | None) -> tuple[str, ...] | None:
        fixed = (*limits.SYSTEM_PROPERTIES, PARTS, WRITE_ID)
        return None if names is None else (*fixed, *(name for name in names if name not in self.key.fields))

    def _entity(self, value: Stored, fields: Fields, into: Entity | None = None) -> E:
        entity = Entity() if into is None else into
        keys = self._rows.parse(value.partition_key, value.first)
        replace_fields(entity, {name: keys[name] for name in self.key.fields} | dict(fields))
        head = value.parts[0]
        entity.partition_key, entity.row_key, entity.etag = value.partition_key, head.row_key, head.etag
        remember(entity, ReadState(value, fields, self._identity))
        # Recipes run on the view without a model, where E is Entity; the adapter makes the instances
        return entity  # type: ignore[return-value]

    async def _write(self, old: Stored, entity: Mapping[str, Any], into: Entity, retry_for: float) -> E:
        check_retry_for(retry_for)
        new_properties = self._properties(entity)
        encoded = await self._encoded(old, new_properties, into)
        parts = self._layout.arrange(encoded.fields, old.places)
        now = await self._put(old, parts, old.rewritten(parts), encoded.before, retry_for)
        await self._discard(old, old.orphans)
        return self._entity(now, new_properties if self._mappings.mappings else now.fields, into)

    async def _merge_parts(self, old: Stored, encoded: Encoded, retry_for: float) -> Stored:
        if not encoded.fields:
            return old
        parts = self._layout.arrange(old.fields | encoded.fields, old.places)
        return await self._put(old, parts, old.merged(parts, encoded.fields), encoded.before, retry_for)

    async def _merge_into_any(
        self, fields: Mapping[str, Any], changed_properties: dict[str, Any], retry_for: float
    ) -> E:
        nothing = self._empty(fields)
        encoded = await self._encoded(nothing, changed_properties, Entity())
        merged_entity = Entity(self._key_of(fields) | changed_properties)
        if self._layout.names and changed_properties:
            parts = enumerate(self._layout.arrange(encoded.fields, {}))
            writes = [Operation.merge(nothing.keys(number) | part, ANY) for number, part in parts if part]
            await _run_before(encoded.before, writes)
            # If the value has another generation or lacks a part, its rows must be read first
            with suppress(EntityNotFound, EntityChanged):
                await self._submit(nothing, writes)
                return merged_entity  # type: ignore[return-value] # as in _entity

        write = partial(self._merge_parts, encoded=encoded, retry_for=retry_for)
        now = await self._retry_on_current(fields, write, retry_for)
        # With mappings, the other stored fields are not decoded
        return merged_entity if self._mappings.mappings else self._entity(now, now.fields)  # type: ignore[return-value] # as above

    async def _delete(self, old: Stored) -> None:
        await self._submit(old, old.deletions(old.parts))
        await self._discard(old, old.orphans)

    async def _retry_on_current(
        self, fields: Mapping[str, Any], write: Callable[[Stored], Awaitable[T]], retry_for: float
    ) -> T:
        """Read the stored value and write based on it; retry if another writer was faster."""

        async def attempt() -> T:
            current = await self._stored(fields, retry_for)
            if not current.parts:
                raise EntityNotFound(f"there is no entity {self._key_of(fields)}; insert it first")
            with overtaken_by(EntityChanged, EntityNotFound):
                return await write(current)

        return await contended(self.account, attempt, retry_for)

    # -- writes

    async def _put(
        self,
        old: Stored,
        parts: Sequence[Fields],
        writes: Sequence[Operation],
        before: Sequence[Action],
        retry_for: float,
    ) -> Stored:
        """Write the parts, in one transaction or under a new generation, after validating everything."""
        payload = sum(write.payload_bound for write in writes)
        fits = len(writes) <= limits.MAX_TRANSACTION_OPERATIONS and payload < self.transaction_bytes
        if len(writes) == 1 or fits:
            await _run_before(before, writes)
            return old.after_write(parts, old.generation, await self._submit(old, writes))
        if before:
            await _run_before(before, old.publication(parts, _NO_GENERATION))
        return await self._publish(old, parts, retry_for)

    async def _publish(self, old: Stored, parts: Sequence[Fields], retry_for: float) -> Stored:
        """Write a value under a new generation, then publish it in the head."""
        generation = uuid4().hex
        publication = old.publication(parts, generation)
        check_transaction(publication)
        try:
            rows = old.unpublished(parts, generation)
            for batch in batches(rows, lambda row: row.payload_bound, self.transaction_bytes - 1):
                await self._submit_unpublished(batch)
            answers = await self._submit(old, publication)
        except LOST_RACE:
            now = await self._stored(self._rows.parse(old.partition_key, old.first), retry_for)
            await self._discard(now, [row for row in now.orphans if row.row_key.endswith(generation)])
            raise
        return old.after_write(parts, generation, answers)

    async def _submit_unpublished(self, writes: Sequence[Operation]) -> None:
        try:
            await self.table.submit(*writes)
        except OutcomeUnknown as error:
            # No other write uses this generation, so if the rows are gone, another writer has removed them
            text = f"another writer removed {writes[0].key} before it was published; read the entity again and retry"
            raise EntityChanged(text) from error

    async def _submit(self, old: Stored, writes: Sequence[Operation]) -> list[Entity]:
        try:
            return await self.table.submit(*writes)
        except EntityNotFound as error:
            index: int | None = error.index
            if index is None or writes[index].row_key == old.first:
                raise
            text = f"the row {writes[index].key} was deleted since the entity was read; read it again and retry"
            raise EntityChanged(text, error, index=index) from error

    async def _discard(self, old: Stored, orphans: Iterable[Part]) -> int:
        """Delete unpublished rows that have not changed since they were read, and return how many."""
        count = 0
        for deletion in old.deletions(orphans):
            with suppress(EntityNotFound, EntityChanged):
                await self.table.submit(deletion)
                count += 1
        return count

    async def _encoded(self, old: Stored, properties: dict[str, Any], entity: Entity) -> Encoded:
        """Return the encoded fields, and the actions that must come first; `entity` is what was read."""
        state = reading_of(entity)
        before: Fields = state.fields if isinstance(state, ReadState) and state.stored is old else {}
        return await self._mappings.encode_at(replace(self._place(old), stored=old.fields, before=before), properties)

    def _properties(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        for name in ("PartitionKey", "RowKey"):
            if name in fields and name not in self.key.fields:
                rule = f"it is formatted from the fields {', '.join(self.key.fields)}"
                raise BadKey(name, fields[name], rule, "pass those fields instead")
        return {name: value for name, value in fields.items() if value is not None and name not in self.key.fields}

    def _read_state(self, entity: Mapping[str, Any]) -> tuple[ReadState, Entity]:
        state = reading_of(entity)
        if not isinstance(entity, Entity) or not isinstance(state, ReadState):
            rule = "it was not read from this WideEntity, so its ETags are unknown"
            raise BadInput("entity", self._key_of(entity), rule, "read it first with get")
        self._identity.check(entity)
        if not state.stored.is_whole:
            rule = "only some of its properties were read"
            raise BadInput("entity", self._key_of(entity), rule, "read all with get, then write it")
        now = self._empty(entity)
        if (now.partition_key, now.first) != (state.stored.partition_key, state.stored.first):
            hint = "insert a new entity and delete the old one"
            raise BadKey("key", now.first, "a write cannot change the key", hint)
        return state, entity

    def _row_kinds(self) -> list[RowKind]:
        place: StoreName = ("table", self.table.name.lower())
        owner = ("wide", place[1], self._rows.partition_template, self._rows.row_template)
        # A generation has 32 hexadecimal digits; the format `float` has 16
        generation = "_{WideGeneration1:float}{WideGeneration2:float}"
        generation_key = Key(self._rows.partition_template, self._rows.row_template + generation)
        description = f"wide entities of {self.table.name!r}"
        return [RowKind(place, rows, owner, description) for rows in (self._rows, generation_key)]

    def _check_design(self) -> None:
        for name in sorted({PART, PARTS}.intersection(self.key.fields)):
            raise BadDesign("field", name, "the name is reserved", "rename the field")
        reserved = {*self.key.fields, PARTS}
        for name in self._layout.names:
            if name in reserved:
                raise BadDesign("properties", name, "it is a key field, or given twice", "list each name once")
            reserved.add(name)
        for option, value, most in (
            ("part_bytes", self._layout.part_bytes, PART_BYTES),
            ("transaction_bytes", self.transaction_bytes, limits.MAX_TRANSACTION_BYTES),
        ):
            if not 1 <= value <= most:
                raise BadDesign(option, value, f"it must be 1 to {most} bytes", "omit it")

    def _check_mapped(self) -> None:
        """Reject mappings that store properties without a part."""
        names = [name for mapping in self._mappings.mappings for name in mapping.fields]
        if PARTS in self._mappings.written_names(names):
            raise BadDesign("mappings", PARTS, "the name is reserved", "use another name")
        for name in self._layout.names:
            for stored_name in self._mappings.written_names([name]):
                if stored_name not in self._layout.names:
                    rule = f"{name} is stored with {stored_name}, which is not declared"
                    raise BadDesign("properties", stored_name, rule, f"append {stored_name} to properties")


async def _run_before(before: Sequence[Action], writes: Sequence[Operation]) -> None:
    """Validate a transaction, then run the actions that must come before it."""
    if before:
        check_transaction(writes)
    for action in before:
        await action()


def part_key(entity_set: WideEntity[Any]) -> Key:
    return entity_set._rows  # pyright: ignore[reportPrivateUsage]
