"""The entities of a set that is moved to new keys, read and written by phase.

Over 600 lines on purpose: every call of a set is in this file, most of them a docstring and a call.
"""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, TypeVar, cast

from ...argument_types import check_least
from ...arguments import condition_of, fields_of, via_and_fields
from ...entity import Entity, Modify, identify, modify, reading_of, remember
from ...entity_set.commit import Reading
from ...entity_set.derived import Derived, Index
from ...entity_set.entity_set import EntitySet
from ...entity_set.internals import is_read_from
from ...entity_set.model_adapter import ModelAdapter
from ...entity_set.model_recipes import E, Modeled, updating, writing
from ...entity_set.shared_rows import Lists, Totals
from ...errors import (
    NOT_SHOWN,
    BadFilter,
    BadInput,
    BadKey,
    DuplicateIndexValue,
    EntityAlreadyExists,
    EntityChanged,
    EntityNotFound,
    ReferenceNotFound,
    TooMuchContention,
)
from ...filters import Filter, QueryClass, comparisons
from ...key import Key
from ...recipe import Account, Account_co, located, recipe, stream
from ...retry import RETRY_FOR, Overtaken, check_retry_for, contended
from ...sdk.operation import ANY
from ...sdk.table import Page
from ...set_identity import SetIdentity
from .dual_writer import DualWriter
from .mirror import same
from .phase import Phase, State

if TYPE_CHECKING:
    from .dual_writer import Act

T = TypeVar("T")


class _Read(NamedTuple):
    """What is remembered of an entity that was read or written.

    :param inner: what the set of its table remembers
    :param is_copy: whether it was read from the table of the copies
    """

    inner: Reading
    of: SetIdentity
    is_whole: bool
    is_copy: bool


class RekeyAdapter(ModelAdapter[Any]):
    """Converts between instances of the model of both sets and their entities.

    :param adapter: the adapter of one of the sets
    :param home: what the entities of the move are remembered under
    :param key_fields: the fields of both keys
    """

    def __init__(self, adapter: ModelAdapter[Any], home: SetIdentity, key_fields: tuple[str, ...]) -> None:
        super().__init__(adapter.model, home, adapter.on_unrecognized)
        self._key_fields = key_fields

    def key_of(self, instance: object) -> dict[str, Any]:
        """Return the fields of both keys that an instance has."""
        self._check_class(instance)
        fields = self.model.fields(instance)
        return {name: fields[name] for name in self._key_fields if name in fields}


def _rejected(rule: str, hint: str) -> Any:
    """Return a method that raises an error, for a call that the entities of a move cannot have."""

    @located
    def rejected(self: RekeyedEntities[Any, Any], /, *args: object, **kwargs: object) -> NoReturn:
        """Raise `BadInput`: the entities of a move do not have this call."""
        raise BadInput("call", NOT_SHOWN, rule, hint)

    return rejected


class RekeyedEntities(Modeled[Account_co, E]):
    """The entities of a set that is being moved to new keys; the attribute `entities` of a `Rekey`.

    It reads and writes the tables as the phase demands, so a program needs no change and no restart when the phase
    changes. It has all calls of an `EntitySet` that read or write entities. Those that plan a change for a transaction,
    such as `inserting`, and those that work on one table, such as `process_intents`, raise `BadInput`.

    Name an entity by the fields of the old key, of the new key, or of both: the fields of the old key work until the
    move is committed, and those of the new key once the copy is verified. With those of the primary table a read is
    exact; with the others it takes one transaction more, and finds what the copy shows.
    """

    def __init__(
        self, writer: DualWriter[Account_co], identity: SetIdentity, adapter: ModelAdapter[Any] | None
    ) -> None:
        super().__init__(cast("Account_co", writer.account))
        self._writer = writer
        self._identity = identity
        fields = tuple(dict.fromkeys((*writer.old_set.key.fields, *writer.new_set.key.fields)))
        self._adapter = None if adapter is None else RekeyAdapter(adapter, identity, fields)
        self._entities: RekeyedEntities[Account_co] | None = None

    def without_model(self) -> RekeyedEntities[Account_co]:
        """Return these entities without the model: calls take and return entities, with values as they are stored."""
        if self._adapter is None:
            return cast("RekeyedEntities[Account_co]", self)
        if self._entities is None:
            view = copy.copy(self)
            view._adapter, view._inner, view._plain = None, None, {}
            self._entities = cast("RekeyedEntities[Account_co]", view)
        return self._entities

    # ------------------------------------------------------------------ reading

    @recipe
    async def get(self, key: Mapping[str, Any] | None = None, /, **fields: Any) -> E | None:
        """Return the entity with these key fields, or None.

        Cost: 1 transaction, a point query; 2 if the fields are those of the table that is not the primary one; 1 more
        whenever the phase was last read more than `refresh` seconds ago.

        :param key: the fields as a mapping, for field names that are also parameter names
        :param fields: a value for every field of the old key, of the new key, or of both
        :raises BadKey: a key field is missing, or its value cannot be part of a key; or only fields of a key are given
            by which entities cannot be found in this phase

        Guide: point query.
        """
        return cast("E | None", await self._find_entity(fields_of(key, fields)))

    @recipe
    async def find(self, via: Index, key: Mapping[str, Any] | None = None, /, **fields: Any) -> E | None:
        """Return the entity that has this key in an index of one of the two sets, or None.

        Cost: that of `get`, with the fields of the primary table for its own indexes.

        :param via: an index of the old or the new set
        :param key: the fields as a mapping, for field names that are also parameter names
        :param fields: a value for every field of the index's key
        :raises BadInput: the index is not of these sets, or of the old one and the move is committed

        Guide: intra-partition secondary index pattern.
        """
        key_fields = fields_of(key, fields)

        async def read(state: State) -> tuple[EntitySet[Account], Entity | None]:
            entity_set, is_copy = self._set_with(via, state)
            entity = await entity_set.find(via, key_fields)
            if not is_copy or entity is None:
                return entity_set, self._remember_read(entity)
            return entity_set, await self._primary_of(entity, state)

        return cast("E | None", await self._read(read))

    @stream
    async def range(
        self,
        via: Index | Mapping[str, Any] | None = None,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        where: Filter | None = None,
        allow: QueryClass = QueryClass.RANGE,
        select: Sequence[str] | None = None,
        **fields: Any,
    ) -> AsyncIterator[E]:
        """Yield the entities of one partition, or of a range of its row keys, in the order of that key.

        The fields choose the table: all of them must be fields of one of the two keys, or of the index. Entities that
        are read from the table of the copies may be stale, and can be written back: that takes 1 transaction more, and
        is rejected if they have changed. Cost: 1 transaction per page of up to 1,000 rows.

        :param via: an index of one of the two sets to read and order by; None for the rows of the tables
        :param where: a further condition on properties; the service checks it on every row of the range
        :param allow: the worst class of query to allow with `where`
        :param select: the properties to read; key fields of the table that is read are always included
        :param key: the fields as a mapping, for field names that are also parameter names
        :param fields: the partition, and what is known of the row key
        :raises BadKey: the fields do not make a range of a table that can be read in this phase
        :raises EntityChanged: the move was committed while the old table was read; start again

        Guide: range query.
        """
        index, key_fields = via_and_fields(via, key, fields)
        entity_set, is_copy = await self._set_for(index, key_fields)
        async for entity in entity_set.range(index, key_fields, where=where, allow=allow, select=select):
            await self._check_readable(entity_set)
            yield cast("E", self._remember_read(entity, is_copy=is_copy))
        await self._check_readable(entity_set)

    @recipe
    async def page(
        self,
        via: Index | Mapping[str, Any] | None = None,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        size: int = 1000,
        token: str | None = None,
        where: Filter | None = None,
        allow: QueryClass = QueryClass.RANGE,
        select: Sequence[str] | None = None,
        **fields: Any,
    ) -> Page[E]:
        """Return one page of a range, and the token that continues it.

        Cost and parameters are those of `EntitySet.page`; the fields choose the table, as in `range`.

        :raises BadToken: the token is from another query; or the fields can be of both keys, and the phase has changed

        The other errors are those of `range`. Guide: continuation tokens; page size.
        """
        index, key_fields = via_and_fields(via, key, fields)
        entity_set, is_copy = await self._set_for(index, key_fields)
        page = await entity_set.page(index, key_fields, size=size, token=token, where=where, allow=allow, select=select)
        await self._check_readable(entity_set)
        return Page(tuple(self._remember_read(entity, is_copy=is_copy) for entity in page.items), page.token)

    @recipe
    async def take(
        self,
        count: int,
        via: Index | Mapping[str, Any] | None = None,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        where: Filter | None = None,
        allow: QueryClass = QueryClass.RANGE,
        select: Sequence[str] | None = None,
        **fields: Any,
    ) -> list[E]:
        """Return exactly the first `count` entities of a range, or all if there are fewer.

        Cost, parameters and errors are those of `EntitySet.take` and `range`. Guide: large result sets (take n).
        """
        index, key_fields = via_and_fields(via, key, fields)
        entity_set, is_copy = await self._set_for(index, key_fields)
        entities = await entity_set.take(count, index, key_fields, where=where, allow=allow, select=select)
        await self._check_readable(entity_set)
        return [self._remember_read(entity, is_copy=is_copy) for entity in entities]

    @recipe
    async def get_many(self, keys: Iterable[Mapping[str, Any]], *, max_concurrency: int = 8) -> list[E | None]:
        """Return the entities with these keys, in the order of the keys; None for each that does not exist.

        Cost: that of `get` for each key.

        :param keys: for each entity, the fields that `get` takes
        :param max_concurrency: how many at a time

        Guide: query classes (the rule about `or`); asynchronous and parallel operations.
        """
        check_least("max_concurrency", max_concurrency, 1)
        reads = [self._find_entity(fields) for fields in keys]
        entities: list[Any] = await self.account.gather(*reads, max_concurrency=max_concurrency)
        return entities

    @stream
    async def query(
        self, where: Filter, *, allow: QueryClass = QueryClass.RANGE, select: Sequence[str] | None = None
    ) -> AsyncIterator[E]:
        """Yield the entities of the primary table that match a filter on properties.

        Cost, parameters and errors are those of `EntitySet.query`.

        :raises BadFilter: the filter names PartitionKey or RowKey, which the next phase builds from other fields

        Guide: query classes.
        """
        _check_filter(where)
        entity_set, _ = self._sets(await self._writer.recent_state())
        async for entity in entity_set.query(where, allow=allow, select=select):
            await self._check_readable(entity_set)
            yield self._remember_read(entity)
        await self._check_readable(entity_set)

    @stream
    async def scan(self, where: Filter | None = None) -> AsyncIterator[E]:
        """Yield the matching entities of all partitions of the primary table. The service reads every entity.

        Cost and errors are those of `EntitySet.scan` and `query`. Guide: table scan.
        """
        _check_filter(where)
        entity_set, _ = self._sets(await self._writer.recent_state())
        async for entity in entity_set.scan(where):
            await self._check_readable(entity_set)
            yield self._remember_read(entity)
        await self._check_readable(entity_set)

    @recipe
    async def keys_of(self, via: Lists, key: Mapping[str, Any] | None = None, /, **fields: Any) -> list[dict[str, Any]]:
        """Return the key fields of all entities with a value, for `get_many`.

        They are fields of the key of the set that has the index entities. Cost, parameters and errors are those of
        `EntitySet.keys_of`; if that set has the copies, the list may be stale.

        Guide: index entities pattern.
        """
        entity_set, _ = self._set_with(via, await self._writer.recent_state())
        key_list = await entity_set.keys_of(via, fields_of(key, fields))
        await self._check_readable(entity_set)
        return key_list

    @recipe
    async def find_all(
        self, via: Lists, key: Mapping[str, Any] | None = None, /, *, max_concurrency: int = 8, **fields: Any
    ) -> list[E]:
        """Return all entities with a value, in key order; empty if there are none.

        Cost, parameters and errors are those of `EntitySet.find_all`; if the set that has the index entities has the
        copies, entities may be stale.

        Guide: index entities pattern.
        """
        entity_set, is_copy = self._set_with(via, await self._writer.recent_state())
        entities = await entity_set.find_all(via, fields_of(key, fields), max_concurrency=max_concurrency)
        await self._check_readable(entity_set)
        return [self._remember_read(entity, is_copy=is_copy) for entity in entities]

    @recipe
    async def totals(
        self, via: Totals, key: Mapping[str, Any] | None = None, /, *, retry_for: float = RETRY_FOR, **fields: Any
    ) -> dict[str, Any]:
        """Return the count and the sums of a group by property name; each is 0 for an unknown group.

        Cost, parameters and errors are those of `EntitySet.totals`; if the set that has the summary has the copies,
        they may be stale. Guide: denormalization pattern; one-to-many relationships.
        """
        entity_set, _ = self._set_with(via, await self._writer.recent_state())
        totals = await entity_set.totals(via, fields_of(key, fields), retry_for=retry_for)
        await self._check_readable(entity_set)
        return totals

    @recipe
    async def create_table(self) -> bool:
        """Create both tables ahead of the first write; return False if both existed. Cost: 2 transactions.

        Guide: tables.
        """
        created = [await entity_set.create_table() for entity_set in self._sets(State())]
        return any(created)

    def entity_of(self, instance: E) -> Entity:
        """Return the entity of a model instance; nothing is sent. See `EntitySet.entity_of`."""
        entity: Any = instance if self._adapter is None else self._adapter.entity_of(instance)
        return cast("Entity", entity)

    def instance_of(self, entity: Entity) -> E:
        """Return the model instance of an entity of this move; nothing is sent. See `EntitySet.instance_of`."""
        instance_or_entity: Any = entity if self._adapter is None else self._adapter.instance_of(entity)
        return cast("E", instance_or_entity)

    inserting = replacing = merging = deleting = renaming = _rejected(
        "a transaction changes one table, and during a move each write changes two",
        "write the entities one by one, or use the transaction before the move or after its clean-up",
    )
    process_intents = reconciler = _rejected(
        "it works on one table, and a move has two", "use it on old_set and on new_set of the Rekey"
    )
    drop_table = _rejected("programs still use both tables", "use clean_up(drop_table=True) of the Rekey")

    def __getattr__(self, name: str) -> Any:
        if name in ("backfilling", "derived", "key", "schema", "table"):
            raise AttributeError(f"the entities of a move have no {name!r}; use old_set.{name} or new_set.{name}")

        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # ------------------------------------------------------------------ writing

    @writing
    async def insert(self, entity: Mapping[str, Any], *, retry_for: float = RETRY_FOR) -> E:
        """Create an entity in both tables, and return it with its ETag.

        If its copy cannot be stored, such as without a field of the other key, the entity is created, and the phase
        cannot be changed until `verify` finds no difference. Cost: 4 table + 2 queue transactions, as much as 26 table
        operations; 1 once the move is committed.

        :param entity: its fields
        :param retry_for: the seconds to keep retrying when others write the same rows
        :raises EntityAlreadyExists: an entity with this key exists in the primary table

        The other errors are those of `EntitySet.insert`. Guide: modifying entities.
        """
        check_retry_for(retry_for)
        fields = {name: value for name, value in entity.items() if value is not None}
        act: Act = lambda primary: primary.insert(fields, retry_for=retry_for)  # noqa: E731
        entity_written = await self._writer.write(act, None, fields, retry_for)
        return cast("E", self._remember_read(entity_written))

    @writing
    async def replace(
        self,
        entity: Mapping[str, Any],
        *,
        etag: str | None = None,
        force: bool = False,
        retry_for: float = RETRY_FOR,
    ) -> E:
        """Write a complete entity back to both tables, unless it changed since it was read.

        An entity, or an ETag, that was read before a change of the phase is rejected with `EntityChanged`. Cost: 5
        table + 2 queue transactions, as much as 27 table operations; 1 more if the key of the copy changes, and with
        `etag` or `force`; 1 once the move is committed.

        :param entity: as it was read, with some of its fields changed
        :param etag: the ETag that the stored entity must have; you may then pass any mapping with its key fields
        :param force: overwrite any stored entity; you may then pass any mapping with its key fields
        :param retry_for: the seconds to keep retrying when others write the same rows
        :raises EntityChanged: the entity, or the phase, changed since it was read

        The other errors are those of `EntitySet.replace`. Guide: concurrency; merge or replace.
        """
        fields = {name: value for name, value in entity.items() if value is not None}

        async def write(current: Entity) -> Entity:
            return await self._write_change(current, fields, retry_for)

        result = await self._conditional(entity, write, etag, force=force, retry_for=retry_for, in_full=True)
        return cast("E", result)

    @writing
    async def merge(
        self,
        entity: Mapping[str, Any],
        changes: Mapping[str, Any],
        *,
        etag: str | None = None,
        force: bool = False,
        retry_for: float = RETRY_FOR,
    ) -> E:
        """Overwrite some fields of an entity in both tables, unless it changed since it was read.

        A change to None leaves the stored value. Cost: that of `replace`.

        :param entity: as it was read
        :param changes: the fields to overwrite, except those of the primary table's key

        The other parameters and errors are those of `replace`. Guide: concurrency; merge or replace.
        """
        new_values = {name: value for name, value in changes.items() if value is not None}

        async def write(current: Entity) -> Entity:
            return await self._write_change(current, {**current, **new_values}, retry_for)

        return cast("E", await self._conditional(entity, write, etag, force=force, retry_for=retry_for))

    @writing
    async def insert_or_replace(self, entity: Mapping[str, Any], *, retry_for: float = RETRY_FOR) -> E:
        """Create an entity in both tables, or replace the one that exists.

        Cost: 1 read and that of `insert` or `replace`, for each attempt.

        :raises TooMuchContention: others wrote the same entity during every attempt

        The other errors are those of `insert` and `replace`. Guide: merge or replace (insert-or-replace).
        """
        fields = {name: value for name, value in entity.items() if value is not None}
        return cast("E", await self._upserted(fields, lambda current: fields, retry_for))

    @writing
    async def insert_or_merge(self, entity: Mapping[str, Any], *, retry_for: float = RETRY_FOR) -> E:
        """Create an entity in both tables, or overwrite the given fields of the one that exists.

        The cost and the errors are those of `insert_or_replace`. Guide: merge or replace (insert-or-merge).
        """
        fields = {name: value for name, value in entity.items() if value is not None}
        return cast("E", await self._upserted(fields, lambda current: {**current, **fields}, retry_for))

    @writing
    async def delete(
        self,
        entity: Mapping[str, Any],
        *,
        etag: str | None = None,
        force: bool = False,
        retry_for: float = RETRY_FOR,
    ) -> None:
        """Delete an entity from both tables, unless it changed since it was read.

        Cost: 5 table + 2 queue transactions, as much as 27 table operations; 1 more with `etag` or `force`; 1 once the
        move is committed.

        The parameters and errors are those of `replace`. Guide: modifying entities; concurrency.
        """

        async def remove(current: Entity) -> None:
            before = dict(_reading(current).inner.fields)

            async def act(primary: EntitySet[Account]) -> None:
                await primary.delete(await self._guarded(current, primary), retry_for=retry_for)

            await self._writer.write(act, before, None, retry_for)

        await self._conditional(entity, remove, etag, force=force, retry_for=retry_for)

    @updating
    async def update(
        self,
        change: Modify,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        retry_for: float = RETRY_FOR,
        **fields: Any,
    ) -> E:
        """Read an entity, change it, and write it back; retry if another writer was faster, or the phase changed.

        Cost: 1 read, and that of `replace`, for each attempt.

        :param change: changes the entity in place, or returns all its fields; it is called once for each attempt
        :param key: the fields as a mapping, for field names that are also parameter names
        :param retry_for: the seconds to keep retrying
        :param fields: as for `get`
        :raises EntityNotFound: there is no such entity
        :raises TooMuchContention: another writer was faster during every attempt

        Guide: concurrency.
        """
        key_fields = fields_of(key, fields)

        async def write(current: Entity | None) -> Entity:
            entity = _existing(current, key_fields)
            return await self._write_change(entity, {**entity}, retry_for)

        return cast("E", await self._from_current(key_fields, write, retry_for, change))

    @writing
    async def rename(
        self,
        entity: Entity,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        retry_for: float = RETRY_FOR,
        **fields: Any,
    ) -> E:
        """Give an entity another RowKey in its partition of the primary table, unless it changed since it was read.

        Cost: that of `replace`.

        :param entity: as it was read
        :param key: the fields as a mapping, for field names that are also parameter names
        :param retry_for: the seconds to keep retrying when others write the same rows
        :param fields: the fields of the primary table's key that change

        The errors are those of `EntitySet.rename` and `replace`. Guide: modifying entities; entity group transactions.
        """
        check_retry_for(retry_for)
        key_fields = fields_of(key, fields)
        return cast("E", await self._write_change(entity, {**entity, **key_fields}, retry_for, renamed=key_fields))

    # ------------------------------------------------------------------ which table

    async def _find_entity(self, fields: Mapping[str, Any], *, is_exact: bool = True) -> Entity | None:
        """Return the entity with these key fields.

        :param is_exact: whether it must have all of them; if not, those of the primary key are enough
        """
        self._check_known(fields)

        async def read(state: State) -> tuple[EntitySet[Account], Entity | None]:
            primary, copies = self._sets(state)
            if (primary_key := _part(primary.key, fields)) is not None:
                entity = self._remember_read(await primary.get(primary_key))
                return primary, entity if entity is None or not is_exact or _has(entity, fields) else None
            copy_key = _part(copies.key, fields)
            if copy_key is None:
                # Raises the error that names what is missing
                return primary, self._remember_read(await primary.get(_present_key_fields(primary.key, fields)))
            self._check_copies(state, fields)
            copied = await copies.get(copy_key)
            original = None if copied is None else await self._primary_of(copied, state)
            return copies, original if original is None or _has(original, fields) else None

        return await self._read(read)

    async def _read(
        self, read: Callable[[State], Awaitable[tuple[EntitySet[Account], Entity | None]]]
    ) -> Entity | None:
        """Read by phase, and again if the table that was read is not kept up to date any more."""
        while True:
            entity_set, entity = await read(await self._writer.recent_state())
            if await self._writer.is_readable(entity_set):
                return entity

    async def _primary_of(self, copied: Entity, state: State) -> Entity | None:
        """Return the entity of a copy. Cost: 1 transaction."""
        primary, _ = self._sets(state)
        primary_key = _part(primary.key, copied)
        return None if primary_key is None else self._remember_read(await primary.get(primary_key))

    def _sets(self, state: State) -> tuple[EntitySet[Account], EntitySet[Account]]:
        """Return the set of the primary table and that of the copies."""
        old, new = self._writer.old_set, self._writer.new_set
        return (new, old) if state.phase.has_new_primary else (old, new)

    def _range_of(self, fields: Mapping[str, Any], state: State) -> tuple[EntitySet[Account], bool]:
        """Return the set to read a range of, and whether it is that of the copies."""
        primary, copies = self._sets(state)
        if not _makes_range(primary.key, fields) and _makes_range(copies.key, fields):
            self._check_copies(state, fields)
            return copies, True
        return primary, False

    async def _set_for(self, via: Index | None, fields: Mapping[str, Any]) -> tuple[EntitySet[Account], bool]:
        """Return the set to read a range of the rows or of an index of, and whether it is that of the copies."""
        state = await self._writer.recent_state()
        return self._range_of(fields, state) if via is None else self._set_with(via, state)

    def _set_with(self, via: Derived, state: State) -> tuple[EntitySet[Account], bool]:
        """Return the set that has an index or other derived data, and whether it is that of the copies."""
        primary, copies = self._sets(state)
        if via not in primary.derived and via in copies.derived:
            self._check_copies(state, via.reads)
            return copies, True
        return primary, False

    def _check_copies(self, state: State, fields: Iterable[str]) -> None:
        """Reject a read of copies that may not be complete.

        :raises BadKey: they may not
        """
        if state.phase is Phase.COMMITTED:
            rule = "the move is committed, so entities are found by the new key only"
            raise BadKey("fields", [*fields], rule, f"give {', '.join(self._writer.new_set.key.fields)}")
        if not state.phase.has_new_primary and not state.is_verified:
            rule = "the copy under the new key is not verified"
            raise BadKey("fields", [*fields], rule, f"give {', '.join(self._writer.old_set.key.fields)}")

    def _check_known(self, fields: Mapping[str, Any]) -> None:
        for name in fields:
            if not any(name in entity_set.key.fields for entity_set in self._sets(State())):
                rule = f"the keys have the fields {', '.join(self._key_fields)}"
                raise BadKey(name, fields[name], rule, "leave it out")

    @property
    def _key_fields(self) -> list[str]:
        return [*dict.fromkeys(name for entity_set in self._sets(State()) for name in entity_set.key.fields)]

    async def _check_readable(self, entity_set: EntitySet[Account]) -> None:
        if not await self._writer.is_readable(entity_set):
            raise EntityChanged("the move to new keys was committed during the query; start the query again")

    # ------------------------------------------------------------------ writes

    def _remember_read(self, entity: Entity | None, *, is_copy: bool = False) -> Any:
        """Remember an entity as one of the move, which only the move can write back."""
        if entity is not None:
            reading = reading_of(entity)
            if isinstance(reading, Reading):
                remember(entity, _Read(reading, self._identity, reading.is_whole, is_copy))
        return entity

    async def _conditional(
        self,
        entity: Mapping[str, Any],
        write: Callable[[Entity], Awaitable[T]],
        etag: str | None,
        *,
        force: bool,
        retry_for: float,
        in_full: bool = False,
    ) -> T:
        """Write an entity that was read, or the stored one on condition of an ETag, or whatever is stored.

        :param in_full: whether an entity of which only a part was read is rejected
        """
        check_retry_for(retry_for)
        condition = condition_of(etag, force=force)
        if condition is None:
            read = _reading(entity)
            if read.is_whole:
                return await write(cast("Entity", entity))
            if in_full or read.is_copy:
                rule = "only a part of it was read, and the rest would be lost"
                raise BadInput("entity", getattr(entity, "key", None), rule, "read it whole with get, then write it")
            self._identity.check(entity)
            condition = read.inner.source.etag
        key_fields = {name: entity[name] for name in self._key_fields if entity.get(name) is not None}
        if condition == ANY:
            return await self._from_current(
                key_fields, lambda current: write(_existing(current, key_fields)), retry_for
            )
        current = _existing(await self._find_entity(key_fields, is_exact=False), key_fields)
        if current.etag != condition:
            raise EntityChanged(
                f"the entity {current.key} has changed since it had the ETag {condition}; read it again"
            )
        return await write(current)

    async def _upserted(
        self, fields: Mapping[str, Any], merge_into: Callable[[Entity], Mapping[str, Any]], retry_for: float
    ) -> Entity:
        key_fields = {name: fields[name] for name in self._key_fields if name in fields}

        async def write(current: Entity | None) -> Entity:
            if current is None:
                inserted: Entity = await bound_insert(fields, retry_for=retry_for)
                return inserted
            return await self._write_change(current, merge_into(current), retry_for)

        bound_insert: Any = self.insert
        return await self._from_current(key_fields, write, retry_for)

    async def _from_current(
        self,
        fields: Mapping[str, Any],
        write: Callable[[Any], Awaitable[T]],
        retry_for: float,
        change: Modify | None = None,
    ) -> T:
        """Read an entity and write it, and retry if another writer was faster or the phase changed."""

        async def attempt() -> T:
            current = await self._find_entity(fields, is_exact=False)
            if change is not None:
                # Outside the try block, since an error of the caller's function is not a conflict
                modify(_existing(current, fields), change)
            try:
                return await write(current)
            except (DuplicateIndexValue, ReferenceNotFound, TooMuchContention):
                raise
            except (EntityChanged, EntityAlreadyExists) as error:
                raise Overtaken from error
            except EntityNotFound as error:
                if current is None:
                    raise
                raise Overtaken from error

        return await contended(self.account, attempt, retry_for)

    async def _write_change(
        self, entity: Entity, fields: Mapping[str, Any], retry_for: float, *, renamed: Mapping[str, Any] | None = None
    ) -> Entity:
        """Write the fields of an entity that was read, and give it its new ETag.

        :param renamed: the fields of the primary key that change; None to keep the key
        """
        before, after = dict(_reading(entity).inner.fields), dict(fields)

        async def act(primary: EntitySet[Account]) -> Entity:
            current = await self._guarded(entity, primary)
            current.clear()
            if renamed is not None:
                current.update(entity)
                return await primary.rename(current, renamed, retry_for=retry_for)
            current.update(after)
            return await primary.replace(current, retry_for=retry_for)

        stored = cast("Entity", await self._writer.write(act, before, after, retry_for))
        entity.clear()
        entity.update(stored)
        identify(entity, stored)
        remember(entity, reading_of(stored))
        self._remember_read(entity)
        return entity

    async def _guarded(self, entity: Entity, primary: EntitySet[Account]) -> Entity:
        """Return an entity as the primary set has read it.

        :raises EntityChanged: it was read from a table that is not the primary one any more, or it has changed since
        """
        read = _reading(entity)
        self._identity.check(entity)
        if not read.is_copy:
            current = entity.copy()
            remember(current, read.inner)
            if is_read_from(primary, current):
                return current
            text = f"the table was cut over or rolled back since the entity {entity.key} was read; read it again"
            raise EntityChanged(text)
        primary_key = _part(primary.key, read.inner.fields)
        stored = None if primary_key is None else await primary.get(primary_key)
        if stored is None:
            raise EntityNotFound(f"there is no entity any more for the copy {entity.key} that was read")
        if not same(stored, read.inner.fields):
            raise EntityChanged(f"the entity of the copy {entity.key} has changed since it was read; read it again")
        return stored


def _check_filter(where: Filter | None) -> None:
    """Reject a filter on the keys of one table, which would silently match nothing in the other one.

    :raises BadFilter: it names PartitionKey or RowKey
    """
    for comparison in () if where is None else comparisons(where):
        if comparison.name in ("PartitionKey", "RowKey"):
            rule = "each phase of a move builds it from other fields"
            raise BadFilter(
                "where", comparison.name, rule, "use range with the fields of a key, or query old_set or new_set"
            )


def _reading(entity: Mapping[str, Any]) -> _Read:
    read = reading_of(entity)
    if not isinstance(read, _Read):
        rule = "it was not read by this object, so there is no ETag to tell whether it changed since"
        raise BadInput("entity", getattr(entity, "key", None), rule, "read it first, or pass etag or force=True")
    return read


def _existing(current: Entity | None, fields: Mapping[str, Any]) -> Entity:
    if current is None:
        raise EntityNotFound(f"there is no entity {dict(fields)}; insert it, or use insert_or_replace")
    return current


def _present_key_fields(key: Key, fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: fields[name] for name in key.fields if fields.get(name) is not None}


def _part(key: Key, fields: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the fields of a key; None if one is missing."""
    part = _present_key_fields(key, fields)
    return part if len(part) == len(key.fields) else None


def _has(entity: Entity, fields: Mapping[str, Any]) -> bool:
    """Whether an entity has all these values."""
    return all(entity.get(name) == value for name, value in fields.items())


def _makes_range(key: Key, fields: Mapping[str, Any]) -> bool:
    """Whether fields, all of them, may make a range of a key."""
    return fields.keys() <= set(key.fields) and all(name in fields for name in key.partition_fields)
