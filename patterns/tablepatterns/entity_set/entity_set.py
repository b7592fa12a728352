"""`EntitySet`: a logical set of entities in a table, with the data derived from them."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from ..argument_types import check_least, checked
from ..entity import Entity, is_equal, reading_of, remember, same_value, without_none, write_ids_of
from ..errors import BadDesign, BadInput, BadKey, EntityChanged, EntityNotFound, locating
from ..filters import Filter, QueryClass, reject_scans
from ..key import K, Key
from ..models.options import OneOf, OnUnrecognized, Upgrade
from ..recipe import Account_co, SetProfile, declared_rows, identity_of, recipe
from ..retry import RETRY_FOR, check_retry_for, contended
from ..sdk.operation import Operation
from ..sdk.table import Page, Table
from ..set_identity import SetIdentity, check_settled, check_unmoved
from .calls import SetCalls
from .commit import E, Reading, Source, Step, Write, commit, execute_steps
from .compatibility import check_backfilling, check_compatible, kinds_of, tables_of
from .derived import TOMBSTONE, Change, Derived, Fields, Index, Keys, RowLayout, with_dates
from .hooks import Selection
from .mapping import Mappings, PropertyMapping
from .placement import RowStore
from .range_query import Question, filled_page, first_rows

if TYPE_CHECKING:
    from .intents import Intents
    from .named_table import StoredNames
    from .shared_rows import Lists, Totals

T = TypeVar("T")


class EntitySet(SetCalls[Account_co, E, K]):
    """A logical set of entities in a table, with derived data that changes together with each entity.

    Use it for every table: it builds keys from fields, guards writes with ETags, and maintains indexes, lists, totals
    and copies. Entities are dicts of fields.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> employees = EntitySet(connect(), "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
    >>> jones = employees.insert({"Department": "Sales", "EmployeeId": 223, "LastName": "Jones", "Age": 34})
    >>> jones.row_key
    'empid_000223'
    >>> jones["Age"] = 35
    >>> _ = employees.replace(jones)
    >>> employees.get(Department="Sales", EmployeeId=223)["Age"]
    35

    Key fields are stored only in PartitionKey and RowKey, and parsed from there. Several sets may share one table and
    its partitions: rows that do not fit the set's key are ignored. All rows that fit belong to the set, no matter what
    wrote them. `BadDesign` is raised if a row could also belong to another set, series or wide entity of the same
    connection. Other connections and processes are not checked: give the sets of one table RowKey templates that begin
    with different literal text. Dropping the table removes these declarations.

    Consistency: an entity and its derived rows in the partition change in one entity group transaction, conditional on
    the ETag that the caller read. After an error nothing has changed, except for `OutcomeUnknown`. After a lost
    response, the set recognizes its write by a `WriteId`, even if up to three other writes followed; otherwise it
    raises that error. Writes made without the set do not update derived data. The Cosmos DB Table API does not sort
    results.

    :param account: where the table is
    :param table: the table's name; the first write creates it
    :param key: how PartitionKey and RowKey are built from the entities' fields
    :param derived: indexes, lists, summaries and copies to maintain
    :param mappings: how fields are encoded, such as encrypted or in blobs
    :param intents: the queue for changes of derived data outside the primary's partition; by default the table's name
        in lower case, followed by `-intents`. See docs/protocols/intents.md
    :param lease: the seconds that such a message stays hidden: twice as long as a request may take
    :param backfilling: those of `derived` whose rows older entities may still lack, until `backfill` has finished.
        Until then each change reads one more row for each of them
    :param model: a dataclass, or a class of pydantic or attrs, whose instances the recipes take and return instead of
        entities; `OneOf` for several classes; see docs/models.md
    :param versions: an upgrade for each earlier version of the model: `[(1, one_to_two)]`. An upgrade takes all stored
        fields and returns those of the next version. Entities are upgraded when they are read, and by `migrate`
    :param on_unrecognized: what reads do with an entity that does not fit the model: `"raise"` `UnrecognizedEntity`,
        `"skip"` it and log a warning, or call a function with that error and skip it
    :raises BadTableName: the service would reject the table's name
    :raises BadDesign: the parts cannot be combined, or rows of another set could have the same keys

    Guide: designing for querying, designing for modification, entity group transactions.
    """

    @checked
    def __init__(
        self,
        account: Account_co,
        table: str,
        key: Key[K],
        *,
        derived: Iterable[Derived] = (),
        mappings: Iterable[PropertyMapping] = (),
        intents: str | None = None,
        lease: int = 60,
        backfilling: Iterable[Derived] = (),
        model: type[E] | OneOf[E] | None = None,
        versions: Iterable[tuple[int, Upgrade]] = (),
        on_unrecognized: OnUnrecognized = "raise",
    ) -> None:
        super().__init__(account)
        check_least("lease", lease, 1, BadDesign)
        self.key = cast("Key[Any]", key)
        self.derived = _all_of(Derived, "derived", derived)
        self._primary = RowLayout(self.key)
        with locating(f"table {table}"):
            self.table = account.table(table)
            all_mappings: Sequence[PropertyMapping] = _all_of(PropertyMapping, "mappings", mappings)
            if model is not None:
                from .model_layer import as_declared

                self.table, self._names, all_mappings = as_declared(model, self.table, all_mappings)
            self._identity = SetIdentity(identity_of(account), table.lower(), self.key)
            self._mappings = Mappings.of(account, table, self.key, all_mappings)
            check_compatible(table, self.key, self.derived, self._mappings)
            if self._names is not None:
                self._names.check_shared(self.derived)
            declared_rows(account).add(kinds_of(self.table.name, self.key, self.derived))
            self._tables = tables_of(self.table, account, self.derived, self._names)
            self.backfilling = check_backfilling(self.derived, backfilling)
            if any(derived_data.is_eventual for derived_data in self.derived):
                from .intents import Intents
                from .reconcile import DerivedRows

                rows = DerivedRows(account, self._tables, self.table, self.key, self.derived)
                self._intents = Intents(account, rows, self.derived, intents, lease)
            if model is not None or versions or on_unrecognized != "raise":
                from .model_adapter import adapter_of
                from .model_layer import ModelLayer

                adapter = adapter_of(model, self._identity, self.derived, self._mappings, versions, on_unrecognized)
                self._layer = ModelLayer(adapter, self)
                if self._intents is not None:
                    self._intents.rows.report = adapter.report

    _pattern: ClassVar[str] = "entity_set"
    _names: StoredNames | None = None
    """The stored names of the model's fields; None if they are those of the fields."""
    _intents: Intents | None = None
    """What announces changes of rows outside the partition; None if there are no such rows."""
    _place: Callable[[dict[str, Any]], None] | None = None
    """Adds the key fields that follow from the others to those of a new entity, or rejects them; None without any."""

    def _set_profile(self) -> SetProfile | None:
        return SetProfile(self._pattern, self.table.name, self.key, {}, self.derived, self._mappings.mappings)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.table.name} {self.key!r}>"

    def without_model(self) -> EntitySet[Account_co]:
        """Return this set without its model: it takes and returns entities with stored names and values.

        Use it to read properties that the model does not declare, or only some fields of an entity.
        """
        return cast("EntitySet[Account_co]", self._without_model())

    @recipe
    async def create_table(self) -> bool:
        """Create the table ahead of the first write; return False if it existed. Cost: 1 transaction.

        Guide: tables.
        """
        return await self.table.create()

    @recipe
    async def drop_table(self) -> None:
        """Delete the table, including rows of other sets; do nothing if there is none. Cost: 1 transaction.

        The name cannot be reused for a while.

        Guide: tables; high volume delete pattern.
        """
        await self.table.drop()
        declared_rows(self.account).forget(self.table.name)

    def reconciler(self) -> Intents:
        """Return the handler that processes this set's intents in a `Worker`.

        :raises BadInput: nothing is derived outside the primary's partition

        Guide: eventually consistent transactions.
        """
        if self._intents is None:
            rule = "it has no derived data outside its partition, so it has no intents"
            raise BadInput("set", self.table.name, rule, "remove this call")
        return self._intents

    @recipe
    async def process_intents(self, *, lease: int = 60, retry_for: float = RETRY_FOR) -> int:
        """Process all intents that can be received now, and return how many there were.

        Use it in tests and small programs; in production run a `Worker`. Messages of other kinds stay hidden until the
        lease ends. See docs/protocols/intents.md.

        Cost: 1 transaction for each 32 messages and 1 more; for each message, the reconciliation and 1 to delete it.

        :param lease: the seconds that a received message stays hidden
        :param retry_for: the seconds to keep retrying while others write the same entity
        :raises BadInput: nothing is derived outside the primary's partition
        :raises BadMessage: a message of this set cannot be read; it is delivered again when the lease ends
        :raises TooMuchContention: others kept writing the same entity; its message is delivered again

        Guide: eventually consistent transactions.
        """
        check_retry_for(retry_for)
        return await self.reconciler().process_all(self.account, lease, retry_for)

    async def _one(self, selection: Selection) -> E | None:
        shape = self._primary if selection.via is None else self._shape(selection.via)
        row = await self._table(shape).get(*shape.key.format(selection.fields))
        entity = None if row is None else shape.decode(row)
        return None if entity is None else await self._read(entity, shape)

    async def _many(self, keys: Iterable[Fields], max_concurrency: int) -> list[E | None]:
        primary_keys = [self.key.format(fields) for fields in keys]
        rows = await self._rows_at(primary_keys, max_concurrency)
        return [await self._read(self._primary.entity(row), self._primary) if row else None for row in rows]

    async def _items(self, selection: Selection, size: int) -> AsyncGenerator[E, None]:
        question = self._question(selection)
        shape = question.shape
        async for row in self._table(shape).query(question.filter, select=question.select):
            if (entity := shape.decode(row)) is not None:
                yield await self._read(entity, shape, selection.select)

    async def _page(self, selection: Selection, size: int, token: str | None) -> Page[E]:
        question = self._question(selection)

        async def choose(row: Entity) -> Entity | None:
            return question.shape.decode(row)

        table = self._table(question.shape)
        page = await filled_page(table, question.filter, size=size, token=token, select=question.select, choose=choose)
        entities = [await self._read(entity, question.shape, selection.select) for entity in page.items]
        return Page(tuple(entities), page.token)

    async def _first(self, selection: Selection, count: int) -> list[E]:
        question = self._question(selection)
        table, shape = self._table(question.shape), question.shape
        entities = await first_rows(table, count, question.filter, select=question.select, choose=shape.decode)
        return [await self._read(entity, shape, selection.select) for entity in entities]

    async def _matching(
        self, where: Filter | None, allow: QueryClass, select: Sequence[str] | None
    ) -> AsyncGenerator[E, None]:
        where = self._rows_filter(where, allow)
        stored_names = self._primary.selected(None if select is None else self._stored(select))
        async for row in self.table.query(where, select=stored_names):
            if (entity := self._primary.decode(row)) is not None:
                yield await self._read(entity, self._primary, select)

    def _rows_filter(self, where: Filter | None, allow: QueryClass) -> Filter | None:
        """Return the filter on rows; reject one that the keys cannot answer, and one of a worse class."""
        if where is None:
            return None
        from ..key.key_filter import stored_filter

        rows_filter = stored_filter(self.key, where)
        self._mappings.check_filter(where)
        reject_scans(rows_filter, allow)
        return rows_filter

    async def _keys_with(self, via: Lists, fields: Fields) -> list[Fields]:
        return [self.key.parse(*keys) for keys in await via.stored_keys(self.key, self._store_of(via), fields)]

    async def _listed(self, via: Lists, fields: Fields, max_concurrency: int) -> list[E]:
        keys = await via.stored_keys(self.key, self._store_of(via), fields)
        rows = await self._rows_at(keys, max_concurrency)
        entities = [self._primary.entity(row) for row in rows if row is not None]
        return [await self._read(entity, self._primary) for entity in entities if via.lists(self.key, entity, fields)]

    async def _totals(self, via: Totals, fields: Fields, retry_for: float) -> Fields:
        attempt = partial(via.stored_totals, self._store_of(via), fields)
        return await contended(self.account, attempt, retry_for)

    def _store_of(self, via: Lists | Totals) -> RowStore:
        self._check_own(via)
        return via.row_store(self.account) or self._tables[via.table(self.table.name)]

    async def _create(self, entity: Mapping[str, Any], retry_for: float) -> E:
        (result,) = await commit(self.account, self.table, self._inserting(entity), retry_for=retry_for)
        return cast("E", result)

    async def _change(self, entity: Mapping[str, Any], changes: Fields | None, retry_for: float) -> E:
        await self._guard(entity)
        (result,) = await commit(self.account, self.table, self._changing(entity, changes), retry_for=retry_for)
        return cast("E", result)

    async def _remove(self, entity: Mapping[str, Any], retry_for: float) -> None:
        await self._guard(entity)
        await commit(self.account, self.table, self._deleting(entity), retry_for=retry_for)

    def _key_of(self, entity: Mapping[str, Any]) -> Fields:
        return self._primary.key_fields(entity)

    async def _rename(self, entity: Mapping[str, Any], fields: Fields, retry_for: float) -> E:
        await self._guard(entity)
        deletion, insertion = self._renaming(entity, fields)
        _, renamed = await commit(self.account, self.table, deletion, insertion, retry_for=retry_for)
        return cast("E", renamed)

    async def _upsert(self, entity: Mapping[str, Any], retry_for: float, *, in_part: bool) -> E:
        if in_part:
            self._mappings.check_merge()
        fields = self._new_fields(entity)
        if self.derived:
            return await super()._upsert(fields, retry_for, in_part=in_part)
        names = frozenset(fields).difference(self.key.fields) if in_part else None
        return await self._overwrite_row(fields, names, retry_for, None)

    async def _overwrite(self, entity: Mapping[str, Any], changes: Fields | None, etag: str, retry_for: float) -> E:
        if changes is None:
            fields, names = self._fields(entity), None
        else:
            self._mappings.check_merge()
            changes, key = without_none(changes), self._primary.key_fields(entity)
            fields, names = {**key, **changes}, frozenset(changes)
            self._check_same_key(key, fields)
        if self.derived:
            return await super()._overwrite(fields, changes, etag, retry_for)
        return await self._overwrite_row(fields, names, retry_for, etag)

    async def _remove_any(self, entity: Mapping[str, Any], etag: str, retry_for: float) -> None:
        if self.derived:
            await super()._remove_any(entity, etag, retry_for)
        else:
            await self.table.submit(Operation.delete(*self.key.format(self._primary.key_fields(entity)), etag))

    def _plan_insert(self, entity: Mapping[str, Any]) -> Write[E]:
        return self._unmoved()._inserting(entity)

    def _plan_change(self, entity: Mapping[str, Any], changes: Fields | None) -> Write[E]:
        return self._unmoved()._changing(entity, changes)

    def _plan_removal(self, entity: Mapping[str, Any]) -> Write[E]:
        return self._unmoved()._deleting(entity)

    def _plan_rename(self, entity: Mapping[str, Any], fields: Fields) -> tuple[Write[E], Write[E]]:
        return self._unmoved()._renaming(entity, fields)

    def _unmoved(self) -> EntitySet[Account_co, E, K]:
        check_unmoved(self._identity, "a transaction")
        return self

    def _question(self, selection: Selection) -> Question:
        fields, via, where, allow, select, _ = selection
        if where is not None:
            self._mappings.check_filter(where)
        shape = self._primary if via is None else self._shape(via)
        return Question.of(shape, where, None if select is None else self._stored(select), fields, allow)

    def _stored(self, select: Sequence[str]) -> Sequence[str]:
        if not self._mappings.mappings:
            return select
        # Mappings decode for the place of the primary row, also when a copy is read
        return tuple(dict.fromkeys((*self._mappings.stored(select), *self.key.fields)))

    def _shape(self, via: Index) -> RowLayout:
        self._check_own(via, "index")
        return via.shape(self.key)

    def _check_own(self, via: Derived, subject: str = "derived") -> None:
        if via not in self.derived:
            rule = f"the set keeps {[derived.name for derived in self.derived]}"
            raise BadInput(subject, getattr(via, "name", via), rule, "give one of the set's own, or declare it")

    def _table(self, shape: RowLayout) -> Table:
        return self.table if shape.table is None else self._tables[shape.table]

    async def _rows_at(self, keys: Iterable[Keys], max_concurrency: int) -> list[Entity | None]:
        reads = (self.table.get(*key_pair) for key_pair in keys)
        rows = await self.account.gather(*reads, max_concurrency=max_concurrency, independent=True)
        return [None if row is None or TOMBSTONE in row else row for row in rows]

    async def _read(self, entity: Entity, shape: RowLayout, select: Sequence[str] | None = None) -> E:
        """Return the entity for the caller: decoded, and with what the set remembers about it."""
        keys = entity.partition_key or "", entity.row_key or ""
        source = Source(shape, keys, entity.etag or "", write_ids_of(entity))
        stored, is_complete = dict(entity), shape.include is None
        fields = stored
        if self._mappings.mappings:
            fields = await self._mappings.decode(stored, select if is_complete else ())
            entity.clear()
            entity.update(fields)
        remember(entity, Reading(source, stored, fields, is_complete and select is None, self._identity))
        # Recipes run on the view without a model, where E is Entity; the adapter creates the instances
        return entity  # type: ignore[return-value]

    def _inserting(self, entity: Mapping[str, Any]) -> Write[Any]:
        return self._write(Change(self.key, None, self._new_fields(entity)))

    def _changing(self, entity: Mapping[str, Any], changes: Fields | None) -> Write[Any]:
        if changes is None:
            reading, read = self._as_read(entity, require_whole=True)
            return self._writing(read, reading, self._fields(entity))
        self._mappings.check_merge()
        changed_fields = without_none(changes)
        reading, read = self._as_read(entity, require_whole=bool(self.derived))
        return self._writing(read, reading, {**reading.fields, **changed_fields}, frozenset(changed_fields))

    def _deleting(self, entity: Mapping[str, Any]) -> Write[Any]:
        reading, read = self._as_read(entity, require_whole=bool(self.derived))
        return self._writing(read, reading, None)

    def _renaming(self, entity: Mapping[str, Any], fields: Mapping[str, Any]) -> tuple[Write[Any], Write[Any]]:
        self._identity.check(entity)
        check_settled(entity)
        for name in fields:
            if name not in self.key.fields:
                raise BadKey(name, fields[name], f"the key has the fields {', '.join(self.key.fields)}", "leave it out")
        reading, read = self._as_read(entity, require_whole=True)
        insertion = self._inserting({**entity, **fields})
        old, new = self.key.format(self._primary.key_fields(reading.stored)), insertion.key
        if old == new:
            raise BadInput("key", new, "the entity has this key already", "use replace, or give another key")
        if old[0] != new[0]:
            rule = f"a transaction stays in one partition, and the entity is in {old[0]!r}"
            raise BadInput("PartitionKey", new[0], rule, "use PartitionMove")
        return self._deleting(read), replace(insertion, entity=read)

    def _writing(
        self, entity: Entity, reading: Reading, new: Fields | None, merged_names: frozenset[str] | None = None
    ) -> Write[Any]:
        """Return the write of an entity that was read; `new` is None to delete it."""
        old, source = reading.stored, reading.source
        keeps_key = new is None or self._check_same_key(old, new)
        row = source.key if keeps_key and source.shape == self._primary else None
        change = Change(self.key, old, new, merged_names, known_row=row)
        return self._write(change, source, entity, is_whole=reading.is_whole)

    def _write(
        self, change: Change, source: Source | None = None, entity: Entity | None = None, *, is_whole: bool = True
    ) -> Write[Any]:
        return Write(
            self._identity,
            change,
            self.derived,
            source,
            Entity() if entity is None else entity,
            is_whole,
            self._mappings,
            intents=self._intents,
            backfilling=self.backfilling,
            names=self._names,
        )

    async def _guard(self, entity: Mapping[str, Any]) -> None:
        """Read the primary row, if an entity was read from a row whose ETag does not guard it."""
        reading = reading_of(entity)
        if not isinstance(entity, Entity) or not isinstance(reading, Reading) or self._guards(reading.source.shape):
            return
        self._identity.check(entity)
        self._check_whole(entity, reading)
        keys = self.key.format(self._primary.key_fields(reading.stored))
        row = await self.table.get(*keys)
        if row is None:
            raise EntityNotFound(f"the entity {keys} no longer exists; it was read from an index")
        current, shape = self._primary.entity(row), reading.source.shape
        # A key does not say whether its numbers are stored in 32 bits or in 64
        index_fields = with_dates(shape.key, self.key, current)
        has_key = shape.has_row(current) and shape.key.keys_of(index_fields) == reading.source.key
        if not has_key or not same_value(current, reading.stored, apart_from=shape.key.fields):
            raise EntityChanged(f"the entity {keys} changed since it was read from an index; read it again and retry")
        source = Source(self._primary, keys, row.etag or "", write_ids_of(row))
        remember(entity, reading._replace(source=source))

    def _guards(self, shape: RowLayout) -> bool:
        if shape.is_eventual or shape == self._primary:
            return not shape.is_eventual
        # Not public, since users do not need it
        guards = (derived._guards_primary for derived in self.derived if not derived.is_eventual)  # pyright: ignore[reportPrivateUsage]
        return not any(guards)

    def _new_fields(self, entity: Mapping[str, Any]) -> dict[str, Any]:
        fields = self._fields(entity)
        if self._place is not None:
            self._place(fields)
        return fields

    def _fields(self, entity: Mapping[str, Any]) -> dict[str, Any]:
        for name in ("PartitionKey", "RowKey"):
            if name in entity and name not in self.key.fields:
                rule = f"the set formats it from the fields {', '.join(self.key.fields)}"
                raise BadKey(name, entity[name], rule, "give those fields, and not the key")
        return without_none(entity)

    def _as_read(self, entity: Mapping[str, Any], *, require_whole: bool) -> tuple[Reading, Entity]:
        reading = reading_of(entity)
        if not isinstance(entity, Entity) or not isinstance(reading, Reading):
            rule = "it was not read from this set, so its ETag is unknown"
            raise BadInput("entity", self._primary.key_fields(entity), rule, "read it first, or pass force=True")
        self._identity.check(entity)
        if require_whole:
            self._check_whole(entity, reading)
        if not self._guards(reading.source.shape):
            rule = "it was read from an index, whose ETag is not the entity's"
            raise BadInput("entity", self._primary.key_fields(entity), rule, "read it with get, and then write it")
        return reading, entity

    def _check_whole(self, entity: Entity, reading: Reading) -> None:
        if not reading.is_whole:
            rule = "only a part of it was read, and the rest would be lost"
            raise BadInput("entity", self._primary.key_fields(entity), rule, "read it whole with get, then write it")

    def _check_same_key(self, old: Fields, new: Fields) -> bool:
        """Reject a change of the key; return whether all key fields have identical values.

        Values that are equal but of different types, such as 1 and 1.0, may format as different keys.
        """
        is_same = True
        for name in self.key.fields:
            before, after = old.get(name), new.get(name)
            is_same = is_same and before is after
            if not is_equal(before, after):
                rule = f"it is a part of the key, and the entity was read as {before!r}"
                raise BadKey(name, after, rule, "use rename, or PartitionMove for another partition")
        return is_same

    async def _overwrite_row(
        self, fields: dict[str, Any], merged_names: frozenset[str] | None, retry_for: float, etag: str | None
    ) -> E:
        """Write an entity without derived data: the service's own upserts need no read."""
        check_retry_for(retry_for)
        change = Change(self.key, None, fields, merged_names)
        write = await Write(self._identity, change, is_whole=merged_names is None, mappings=self._mappings).encoded()
        row = self._primary.row(write.change.new or {})
        if etag is None:
            operation = Operation.insert_or_replace(row) if merged_names is None else Operation.insert_or_merge(row)
        else:
            operation = Operation.replace(row, etag) if merged_names is None else Operation.merge(row, etag)
        (written_row,) = await execute_steps(self.table, [Step(operation, write)], retry_for)
        return write.wrote(written_row)  # type: ignore[return-value] # as in _read


def _all_of(kind: type[object], subject: str, parts: Iterable[T]) -> tuple[T, ...]:
    """Return the items of a parameter; those of an iterator are not checked before."""
    items = tuple(parts)
    for item in items:
        if not isinstance(item, kind):
            raise BadDesign(subject, item, f"{type(item).__name__} is not {kind.__name__}", "leave it out")
    return items
