"""The entities of a set that is moved to new keys, read and written by phase."""

# It reads through the hooks of its sets, which keeps the calls of a set public
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, cast

from ...entity import Entity, identify, is_equal, reading_of, remember, replace_fields, without_none
from ...entity_set.calls import SetCalls
from ...entity_set.commit import E, Reading
from ...entity_set.derived import Derived, Fields, RowLayout
from ...entity_set.entity_set import EntitySet
from ...entity_set.hooks import Selection, existing
from ...entity_set.internals import set_identity
from ...entity_set.model_adapter import ModelAdapter
from ...entity_set.model_layer import ModelLayer
from ...entity_set.shared_rows import Lists, Totals
from ...errors import NOT_SHOWN, BadFilter, BadInput, BadKey, EntityChanged, EntityNotFound
from ...filters import Filter, QueryClass, comparisons
from ...key import Key
from ...recipe import Account, Account_co, located, recipe
from ...retry import check_retry_for
from ...sdk.table import Page
from ...set_identity import SetIdentity
from .dual_writer import Act, DualWriter, Phase, State
from .mirror import same


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
    """Converts between instances of the model of both sets and their entities."""

    def __init__(self, adapter: ModelAdapter[Any], home: SetIdentity, key_fields: tuple[str, ...]) -> None:
        super().__init__(adapter.types, home, adapter.on_unrecognized)
        self._key_fields = key_fields

    def key_of(self, instance: object) -> dict[str, Any]:
        fields = self.types.of_instance(instance).fields(instance)
        return {name: fields[name] for name in self._key_fields if name in fields}


def _rejected(rule: str, hint: str) -> Any:
    """Return a method that raises an error, for a call that the entities of a move cannot have."""

    @located
    def rejected(self: RekeyedEntities[Any, Any], /, *args: object, **kwargs: object) -> NoReturn:
        """Raise `BadInput`: the entities of a move do not have this call."""
        raise BadInput("call", NOT_SHOWN, rule, hint)

    return rejected


class RekeyedEntities(SetCalls[Account_co, E]):
    """The entities of a set that is being moved to new keys; the attribute `entities` of a `Rekey`.

    It reads and writes the tables as the phase demands, so a program needs no change and no restart when the phase
    changes. It has all calls of an `EntitySet` that read or write entities; docs/moving-to-new-keys.md lists what
    differs.

    Name an entity by the fields of the old key, which work until the move is committed, or of the new key, which work
    once the copy is verified. A read by those of the primary table is exact; by the others it takes one transaction
    more, and finds what the copy shows, which can be written back. What was read before a change of the phase is
    rejected with `EntityChanged` or `BadToken`.

    Cost: a read as in a set, 1 transaction more whenever the phase was last read more than `refresh` seconds ago. A
    write as stated at `Rekey`, 1 more with `etag` and `force`.
    """

    def __init__(
        self, writer: DualWriter[Account_co], identity: SetIdentity, adapter: ModelAdapter[Any] | None
    ) -> None:
        super().__init__(cast("Account_co", writer.account))
        self._writer = writer
        self._identity = identity
        self._key_fields = tuple(dict.fromkeys((*writer.old_set.key.fields, *writer.new_set.key.fields)))
        if adapter is not None:
            self._layer = ModelLayer(RekeyAdapter(adapter, identity, self._key_fields), self)

    def without_model(self) -> RekeyedEntities[Account_co]:
        """Return these entities without the model: calls take and return entities, with values as they are stored."""
        return cast("RekeyedEntities[Account_co]", self._without_model())

    @recipe
    async def create_table(self) -> bool:
        """Create both tables ahead of the first write; return False if both existed. Cost: 2 transactions."""
        return any([await entity_set.create_table() for entity_set in self._sets(State())])

    inserting = replacing = merging = deleting = renaming = _rejected(
        "a transaction changes one table, and during a move each write changes two",
        "write the entities one by one, or use the transaction before the move or after its clean-up",
    )
    process_intents = reconciler = _rejected(
        "it works on one table, and a move has two", "use it on old_set and on new_set of the Rekey"
    )
    drop_table = _rejected("programs still use both tables", "use clean_up(drop_table=True) of the Rekey")

    def __getattr__(self, name: str) -> Any:
        if name in ("backfilling", "derived", "key", "table"):
            raise AttributeError(f"the entities of a move have no {name!r}; use old_set.{name} or new_set.{name}")
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    # ------------------------------------------------------------------ reads

    async def _one(self, selection: Selection) -> E | None:
        fields, via = selection.fields, selection.via
        if via is None:
            return cast("E | None", await self._find_entity(fields))

        async def read(state: State) -> tuple[EntitySet[Account], Entity | None]:
            entity_set, is_copy = self._set_with(via, state)
            entity = await entity_set.find(via, fields)
            if not is_copy or entity is None:
                return entity_set, self._remember_read(entity)
            return entity_set, await self._primary_of(entity, state)

        return cast("E | None", await self._read(read))

    async def _current(self, key: Fields, retry_for: float) -> E | None:
        return cast("E | None", await self._find_entity(key, is_exact=False))

    async def _many(self, keys: Iterable[Fields], max_concurrency: int) -> list[E | None]:
        # Not independent: each may read the phase for the others
        reads = [self._one(Selection(fields)) for fields in keys]
        return await self.account.gather(*reads, max_concurrency=max_concurrency)

    async def _items(self, selection: Selection, size: int) -> AsyncGenerator[E, None]:
        entity_set, is_copy = await self._set_for(selection)
        async for entity in entity_set._items(selection, size):
            await self._check_readable(entity_set)
            yield self._remember_read(entity, is_copy=is_copy)
        await self._check_readable(entity_set)

    async def _page(self, selection: Selection, size: int, token: str | None) -> Page[E]:
        entity_set, is_copy = await self._set_for(selection)
        page = await entity_set._page(selection, size, token)
        await self._check_readable(entity_set)
        return Page(tuple(self._remember_read(entity, is_copy=is_copy) for entity in page.items), page.token)

    async def _first(self, selection: Selection, count: int) -> list[E]:
        entity_set, is_copy = await self._set_for(selection)
        entities = await entity_set._first(selection, count)
        await self._check_readable(entity_set)
        return [self._remember_read(entity, is_copy=is_copy) for entity in entities]

    async def _matching(
        self, where: Filter | None, allow: QueryClass, select: Sequence[str] | None
    ) -> AsyncGenerator[E, None]:
        _check_filter(where)
        entity_set, _ = self._sets(await self._writer.recent_state())
        async for entity in entity_set._matching(where, allow, select):
            await self._check_readable(entity_set)
            yield self._remember_read(entity)
        await self._check_readable(entity_set)

    async def _keys_with(self, via: Lists, fields: Fields) -> list[Fields]:
        entity_set, _ = self._set_with(via, await self._writer.recent_state())
        keys = await entity_set._keys_with(via, fields)
        await self._check_readable(entity_set)
        return keys

    async def _listed(self, via: Lists, fields: Fields, max_concurrency: int) -> list[E]:
        entity_set, is_copy = self._set_with(via, await self._writer.recent_state())
        entities = await entity_set._listed(via, fields, max_concurrency)
        await self._check_readable(entity_set)
        return [self._remember_read(entity, is_copy=is_copy) for entity in entities]

    async def _totals(self, via: Totals, fields: Fields, retry_for: float) -> Fields:
        entity_set, _ = self._set_with(via, await self._writer.recent_state())
        totals = await entity_set._totals(via, fields, retry_for)
        await self._check_readable(entity_set)
        return totals

    # ------------------------------------------------------------------ writes

    async def _create(self, entity: Mapping[str, Any], retry_for: float) -> E:
        check_retry_for(retry_for)
        fields = without_none(entity)
        act: Act = lambda primary: primary.insert(fields, retry_for=retry_for)  # noqa: E731
        return cast("E", self._remember_read(await self._writer.write(act, None, fields, retry_for)))

    async def _change(self, entity: Mapping[str, Any], changes: Fields | None, retry_for: float) -> E:
        check_retry_for(retry_for)
        current = await self._whole(entity, in_full=changes is None)
        fields = without_none(entity) if changes is None else {**current, **without_none(changes)}
        return cast("E", await self._write_change(current, fields, retry_for))

    async def _upsert(self, entity: Mapping[str, Any], retry_for: float, *, in_part: bool) -> E:
        fields = without_none(entity)

        async def write(current: Entity | None) -> E:
            if current is None:
                return await self._create(fields, retry_for)
            new = {**current, **fields} if in_part else fields
            return cast("E", await self._write_change(current, new, retry_for))

        return await self._from_current(self._key_of(fields), write, retry_for)

    async def _rename(self, entity: Entity, fields: Fields, retry_for: float) -> E:
        check_retry_for(retry_for)
        return cast("E", await self._write_change(entity, {**entity, **fields}, retry_for, renamed=fields))

    async def _remove(self, entity: Mapping[str, Any], retry_for: float) -> None:
        check_retry_for(retry_for)
        current = await self._whole(entity)
        before = dict(_reading(current).inner.fields)

        async def act(primary: EntitySet[Account]) -> None:
            await primary.delete(await self._guarded(current, primary), retry_for=retry_for)

        await self._writer.write(act, before, None, retry_for)

    def _key_of(self, entity: Mapping[str, Any]) -> Fields:
        return {name: entity[name] for name in self._key_fields if entity.get(name) is not None}

    async def _whole(self, entity: Mapping[str, Any], *, in_full: bool = False) -> Entity:
        """Return an entity that was read; one of which only a part was is read again, or rejected if `in_full`."""
        read = _reading(entity)
        if read.is_whole:
            return cast("Entity", entity)
        if in_full or read.is_copy:
            rule = "only a part of it was read, and the rest would be lost"
            raise BadInput("entity", getattr(entity, "key", None), rule, "read it whole with get, then write it")
        self._identity.check(entity)
        key = self._key_of(entity)
        current = existing(await self._find_entity(key, is_exact=False), key)
        if current.etag != read.inner.source.etag:
            raise EntityChanged(f"the entity {current.key} has changed since it was read; read it again")
        return cast("Entity", current)

    # ------------------------------------------------------------------ which table

    async def _find_entity(self, fields: Mapping[str, Any], *, is_exact: bool = True) -> Entity | None:
        """Return the entity with these key fields; unless `is_exact`, those of the primary key are enough."""
        for name in fields:
            if name not in self._key_fields:
                rule = f"the keys have the fields {', '.join(self._key_fields)}"
                raise BadKey(name, fields[name], rule, "leave it out")

        async def read(state: State) -> tuple[EntitySet[Account], Entity | None]:
            primary, copies = self._sets(state)
            if (primary_key := _part(primary.key, fields)) is not None:
                entity = self._remember_read(await primary.get(primary_key))
                return primary, entity if entity is None or not is_exact or _has(entity, fields) else None
            copy_key = _part(copies.key, fields)
            if copy_key is None:
                # Raises the error that names what is missing
                return primary, self._remember_read(await primary.get(RowLayout(primary.key).key_fields(fields)))
            self._check_copies(state, fields)
            copy_entity = await copies.get(copy_key)
            original = None if copy_entity is None else await self._primary_of(copy_entity, state)
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

    async def _primary_of(self, copy_entity: Entity, state: State) -> Entity | None:
        primary, _ = self._sets(state)
        primary_key = _part(primary.key, copy_entity)
        return None if primary_key is None else self._remember_read(await primary.get(primary_key))

    def _sets(self, state: State) -> tuple[EntitySet[Account], EntitySet[Account]]:
        """Return the set of the primary table and that of the copies."""
        old, new = self._writer.old_set, self._writer.new_set
        return (new, old) if state.phase.has_new_primary else (old, new)

    async def _set_for(self, selection: Selection) -> tuple[EntitySet[Account], bool]:
        """Return the set to read a range of the rows or of an index of, and whether it is that of the copies."""
        state, fields = await self._writer.recent_state(), selection.fields
        if selection.via is not None:
            return self._set_with(selection.via, state)
        primary, copies = self._sets(state)
        if not _makes_range(primary.key, fields) and _makes_range(copies.key, fields):
            self._check_copies(state, fields)
            return copies, True
        return primary, False

    def _set_with(self, via: Derived, state: State) -> tuple[EntitySet[Account], bool]:
        """Return the set that has an index or other derived data, and whether it is that of the copies."""
        primary, copies = self._sets(state)
        if via not in primary.derived and via in copies.derived:
            self._check_copies(state, via.reads)
            return copies, True
        return primary, False

    def _check_copies(self, state: State, fields: Iterable[str]) -> None:
        """Reject a read of copies that may not be complete."""
        if state.phase is Phase.COMMITTED:
            rule = "the move is committed, so entities are found by the new key only"
            raise BadKey("fields", [*fields], rule, f"give {', '.join(self._writer.new_set.key.fields)}")
        if not state.phase.has_new_primary and not state.is_verified:
            rule = "the copy under the new key is not verified"
            raise BadKey("fields", [*fields], rule, f"give {', '.join(self._writer.old_set.key.fields)}")

    async def _check_readable(self, entity_set: EntitySet[Account]) -> None:
        if not await self._writer.is_readable(entity_set):
            raise EntityChanged("the move to new keys was committed during the query; start the query again")

    # ------------------------------------------------------------------ what was read

    def _remember_read(self, entity: Entity | None, *, is_copy: bool = False) -> Any:
        """Remember an entity as one of the move, which only the move can write back."""
        if entity is not None and isinstance(reading := reading_of(entity), Reading):
            remember(entity, _Read(reading, self._identity, reading.is_whole, is_copy))
        return entity

    async def _write_change(
        self, entity: Entity, fields: Mapping[str, Any], retry_for: float, *, renamed: Mapping[str, Any] | None = None
    ) -> Entity:
        """Write the fields of an entity that was read, and give it its new ETag; `renamed` are those of its key."""
        before, after = dict(_reading(entity).inner.fields), dict(fields)

        async def act(primary: EntitySet[Account]) -> Entity:
            current = await self._guarded(entity, primary)
            if renamed is not None:
                return await primary.rename(replace_fields(current, entity), renamed, retry_for=retry_for)
            return await primary.replace(replace_fields(current, after), retry_for=retry_for)

        stored = cast("Entity", await self._writer.write(act, before, after, retry_for))
        replace_fields(entity, stored)
        identify(entity, stored)
        remember(entity, reading_of(stored))
        self._remember_read(entity)
        return entity

    async def _guarded(self, entity: Entity, primary: EntitySet[Account]) -> Entity:
        """Return an entity as the primary set has read it."""
        read = _reading(entity)
        self._identity.check(entity)
        if not read.is_copy:
            current = entity.copy()
            remember(current, read.inner)
            if set_identity(primary).is_of(current):
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
    """Reject a filter on the keys of one table, which would silently match nothing in the other one."""
    for comparison in () if where is None else comparisons(where):
        if comparison.name in ("PartitionKey", "RowKey"):
            rule = "each phase of a move builds it from other fields"
            hint = "use range with the fields of a key, or query old_set or new_set"
            raise BadFilter("where", comparison.name, rule, hint)


def _reading(entity: Mapping[str, Any]) -> _Read:
    read = reading_of(entity)
    if not isinstance(read, _Read):
        rule = "it was not read by this object, so there is no ETag to tell whether it changed since"
        raise BadInput("entity", getattr(entity, "key", None), rule, "read it first, or pass etag or force=True")
    return read


def _part(key: Key, fields: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the fields of a key; None if one is missing."""
    part = RowLayout(key).key_fields(fields)
    return part if len(part) == len(key.fields) else None


def _has(entity: Entity, fields: Mapping[str, Any]) -> bool:
    return all(is_equal(entity.get(name), value) for name, value in fields.items())


def _makes_range(key: Key, fields: Mapping[str, Any]) -> bool:
    """Whether fields, all of them, may make a range of a key: the first ones, with all of the PartitionKey."""
    return len(fields) >= len(key.partition_fields) and set(fields) == set(key.fields[: len(fields)])
