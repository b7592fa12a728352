"""EntitySet: one logical set of entities in a table, and the derived data that it keeps right."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, TypeVar

from .argument_types import check_least, checked
from .arguments import condition_of, fields_of
from .contention import RETRY_FOR, Overtaken, check_retry_for, contended
from .deriving.derived import Change, Derived, Shape
from .deriving.together import building_of, check_together, intents_of, kinds_of
from .entity import Entity, Modify, modify
from .errors import (
    BadDesign,
    DuplicateIndexValue,
    EntityAlreadyExists,
    EntityChanged,
    EntityNotFound,
    ReferenceNotFound,
    TooMuchContention,
    locating,
)
from .eventual.rows import DerivedRows
from .key import Key
from .mapping import Mappings, PropertyMapping
from .recipe import Account_co, recipe
from .schema import Schema
from .set_identity import SetIdentity
from .tending.upkeep import Upkeep
from .words.operation import ANY, Operation
from .writing.commit import Step, Write, carry_out, commit

T = TypeVar("T")


class EntitySet(Upkeep[Account_co]):
    """One logical set of entities: a key, and derived data that changes together with each entity.

    Entities go in and come out as dicts of fields. The fields of the key are kept in PartitionKey and RowKey and
    nowhere else, and come back from there. Rows of the table that do not fit the key belong to other sets and are
    left out, so several sets may share one table and its partitions. Rows that fit are taken for entities of this set,
    whatever wrote them. So `BadDesign` is raised if a row could be of this set and of another set, series or wide
    entity that the same connection declares. What other connections and processes declare cannot be seen: give the
    sets of one table RowKey templates that begin with different literal text. Dropping the table ends its declarations.

    Guarantees: an entity and its derived rows in the partition change in one entity group transaction, conditional
    on the ETag of what the caller read. After any error nothing has changed, but for `OutcomeUnknown`. A write whose
    answer was lost is recognised by its `WriteId`, also under those of up to three others; that error says where not.

    Does not: see what other programs write past the set, nor order results on the Cosmos DB Table API.

    >>> from tablepatterns import EntitySet, Key, connect
    >>> employees = EntitySet(connect(), "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
    >>> jones = employees.insert({"Department": "Sales", "EmployeeId": 223, "LastName": "Jones", "Age": 34})
    >>> jones.row_key
    'empid_000223'
    >>> jones["Age"] = 35
    >>> _ = employees.replace(jones)
    >>> employees.get(Department="Sales", EmployeeId=223)["Age"]
    35

    :param account: where the table is
    :param table: the table's name; it is made by the first write
    :param key: how PartitionKey and RowKey are made of the entities' fields
    :param derived: what else to keep right with each entity
    :param mappings: how fields are stored where they are not stored as they are; see `mapping`
    :param schema: what entities must look like; None, the default, for any shape
    :param intents: the queue that announces changes of what is derived outside the primary's partition; by default the
        table's name in lower case, with `-intents` behind it
    :param lease: for how many seconds such a message is hidden: twice as long as a request may take
    :param building: what of `derived` the entities lack that are older than it, until `backfill` has come to its end.
        Changes then read 1 row more for each, and take no row for granted
    :raises BadTableName: the service would refuse the table's name
    :raises BadDesign: the parts cannot work together, or rows of another set could have the same keys, and why

    Guide: designing for querying, designing for modification, entity group transactions.
    """

    @checked
    def __init__(
        self,
        account: Account_co,
        table: str,
        key: Key,
        *,
        derived: Iterable[Derived] = (),
        mappings: Iterable[PropertyMapping] = (),
        schema: Schema | None = None,
        intents: str | None = None,
        lease: int = 60,
        building: Iterable[Derived] = (),
    ) -> None:
        super().__init__(account)
        check_least("lease", lease, 1, BadDesign)
        self.schema = schema
        self.key = key
        self.derived = _all_of(Derived, "derived", derived)
        self.primary = Shape(key)
        with locating(key.location(table)):
            self.table = account.table(table)
            self.identity = SetIdentity(account.identity, table.lower(), key)
            self.mappings = Mappings.of(account, table, key, _all_of(PropertyMapping, "mappings", mappings))
            check_together(table, key, self.derived, self.mappings)
            self._declare()
            self.rows = DerivedRows(account, self.table, key, self.derived)
            self.building = building_of(self.derived, building)
            self.intents = intents_of(account, self.rows, self.derived, intents, lease)

    def _declare(self) -> None:
        """Tell the connection which rows are of this set, so that no other set takes them for its own."""
        self.account.declared_rows.add(kinds_of(self.table.name, self.key, self.derived))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.table.name} {self.key!r}>"

    @recipe
    async def create_table(self) -> bool:
        """Make the table ahead of the first write; return False if it existed. Cost: 1 transaction.

        Guide: tables.
        """
        return await self.table.create()

    @recipe
    async def drop_table(self) -> None:
        """Delete the table with all it holds, rows of other sets included; none is fine too. Cost: 1 transaction.

        The service takes a while to let the name be used again.

        Guide: tables; high volume delete pattern.
        """
        await self.table.drop()
        self.account.declared_rows.forget(self.table.name)

    @recipe
    async def insert(self, entity: Mapping[str, Any], *, retry_for: float = RETRY_FOR) -> Entity:
        """Create an entity with all its derived rows, and return it with its ETag. Cost: 1 transaction.

        :param entity: its fields; a field that is None is as if it were not there
        :param retry_for: for how many seconds to retry when others write the same rows; see `update`
        :raises EntityAlreadyExists: an entity with this key exists
        :raises DuplicateIndexValue: another entity has the same key in an index
        :raises BadKey: a field of the key is missing, or has a value that cannot be a key
        :raises BadProperty: the service does not store such a property
        :raises LimitExceeded: the entity, or the transaction with its derived rows, is too large

        Guide: modifying entities.
        """
        (written,) = await commit(self.account, self.table, self._inserting(entity), retry_for=retry_for)
        return written

    @recipe
    async def replace(
        self,
        entity: Mapping[str, Any],
        *,
        etag: str | None = None,
        unconditionally: bool = False,
        retry_for: float = RETRY_FOR,
    ) -> Entity:
        """Write an entity back whole, unless it changed since it was read; fields that it lacks are removed.

        The entity itself gets the new ETag. With derived data, `etag` and `unconditionally` read the entity first, for
        what it was; one that has another ETag then raises `EntityChanged`.

        Cost: 1 transaction; with derived data and `etag` 1 more to read, with `unconditionally` for each attempt.

        >>> employees = EntitySet(connect(), "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
        >>> if_match = employees.insert({"Department": "Sales", "EmployeeId": 223, "Age": 34}).etag
        >>> body = {"Department": "Sales", "EmployeeId": 223, "Age": 35}
        >>> employees.replace(body, etag=if_match)["Age"]
        35

        :param entity: an entity of this set as it was read, with some of its fields changed; its key must stay
        :param etag: the ETag that the stored entity must have, such as one from a request's If-Match header: then any
            mapping with the fields of the key will do, and nothing has to be read before, unless data is derived
        :param unconditionally: overwrite whatever is stored, if only there is something; any mapping will do
        :param retry_for: for how many seconds to retry when others write the same rows; see `update`
        :raises EntityChanged: the entity changed since it was read
        :raises EntityNotFound: there is no such entity any more
        :raises DuplicateIndexValue: another entity has the same key in an index
        :raises BadInput: the entity was not read whole from this set

        Guide: concurrency; merge or replace.
        """
        condition = condition_of(etag, unconditionally=unconditionally)
        if condition is not None:
            return await self._overwrite(self._fields(entity), None, retry_for, condition)
        await self._guard(entity)
        (written,) = await commit(self.account, self.table, self.replacing(entity), retry_for=retry_for)
        return written

    @recipe
    async def merge(
        self,
        entity: Mapping[str, Any],
        changes: Mapping[str, Any],
        *,
        etag: str | None = None,
        unconditionally: bool = False,
        retry_for: float = RETRY_FOR,
    ) -> Entity:
        """Overwrite some fields of an entity, unless it changed since it was read; the others stay as they are.

        A change to None leaves the stored value. The entity itself gets the changes and the new ETag.
        Cost: 1 transaction; with derived data and `etag` 1 more to read, with `unconditionally` for each attempt.

        :param entity: an entity of this set as it was read
        :param changes: the fields to overwrite; none of the key
        :param etag: as for `replace`; where nothing is derived, only the key and the changes of the result are known
        :param unconditionally: merge into whatever is stored; any mapping with the fields of the key will do
        :param retry_for: for how many seconds to retry when others write the same rows; see `update`

        The errors are those of `replace`. Guide: concurrency; merge or replace.
        """
        condition = condition_of(etag, unconditionally=unconditionally)
        if condition is not None:
            self.mappings.check_merge()
            given, key = self._given(changes), self.primary.key_fields(entity)
            self._check_same_key(Change(self.key, key, key | given))
            return await self._overwrite(key | given, frozenset(given), retry_for, condition)
        await self._guard(entity)
        (written,) = await commit(self.account, self.table, self.merging(entity, changes), retry_for=retry_for)
        return written

    @recipe
    async def insert_or_replace(self, entity: Mapping[str, Any], *, retry_for: float = RETRY_FOR) -> Entity:
        """Create an entity, or replace the one that exists, whatever it holds.

        Cost: 1 transaction; with derived data 1 more to read, for each attempt.

        :param retry_for: for how many seconds to retry when others write the same rows; see `update`
        :raises TooMuchContention: others wrote the same entity at every attempt
        :raises DuplicateIndexValue: another entity has the same key in an index
        :raises OutcomeUnknown: a response was lost, and the row does not tell whether the write was made

        Guide: merge or replace (insert-or-replace).
        """
        return await self._overwrite(self._fields(entity), None, retry_for)

    @recipe
    async def insert_or_merge(self, entity: Mapping[str, Any], *, retry_for: float = RETRY_FOR) -> Entity:
        """Create an entity, or overwrite the given fields of the one that exists and leave its others.

        Cost: 1 transaction; with derived data 1 more to read, for each attempt.

        :param retry_for: for how many seconds to retry when others write the same rows; see `update`
        :raises TooMuchContention: others wrote the same entity at every attempt
        :raises DuplicateIndexValue: another entity has the same key in an index
        :raises OutcomeUnknown: a response was lost, and the row does not tell whether the write was made

        Guide: merge or replace (insert-or-merge).
        """
        self.mappings.check_merge()
        fields = self._fields(entity, in_part=True)
        return await self._overwrite(fields, frozenset(fields).difference(self.key.fields), retry_for)

    @recipe
    async def delete(
        self,
        entity: Mapping[str, Any],
        *,
        etag: str | None = None,
        unconditionally: bool = False,
        retry_for: float = RETRY_FOR,
    ) -> None:
        """Delete an entity with all its derived rows, unless it changed since it was read.

        After a lost response, a delete that finds no entity counts as done, so if two callers delete one entity, both
        may return. To let exactly one of them take it, claim it first with a conditional write, and delete it only if
        that write succeeded: `delete(replace(entity | {"TakenBy": worker}))`.

        Cost: 1 transaction; with derived data and `etag` 1 more to read, with `unconditionally` for each attempt.

        :param entity: an entity of this set as it was read
        :param etag: as for `replace`
        :param unconditionally: delete whatever is stored; any mapping with the fields of the key will do
        :param retry_for: for how many seconds to retry when others write the same rows; see `update`
        :raises EntityChanged: the entity changed since it was read
        :raises EntityNotFound: there is no such entity any more

        Guide: modifying entities; concurrency.
        """
        condition = condition_of(etag, unconditionally=unconditionally)
        if condition is None:
            await self._guard(entity)
            await commit(self.account, self.table, self.deleting(entity), retry_for=retry_for)
            return
        check_retry_for(retry_for)
        fields = self.primary.key_fields(entity)
        if not self.derived:
            await self.table.submit(Operation.delete(*self.key.format(fields), condition))
            return

        async def remove(current: Entity | None) -> None:
            await self.delete(_existing(current, fields), retry_for=retry_for)

        if condition == ANY:
            await self._from_current(fields, remove, retry_for)
        else:
            await remove(await self._as_of(fields, condition))

    @recipe
    async def rename(
        self,
        entity: Entity,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        retry_for: float = RETRY_FOR,
        **fields: Any,
    ) -> Entity:
        """Give an entity another RowKey in its partition, unless it changed since it was read.

        One transaction deletes the old row, inserts the new one and updates all derived rows in the partition; no
        reader sees the entity twice or not at all. Derived data elsewhere follows as for other writes. The entity
        itself gets the new key and ETag, and other changes made to it are written too. Large properties are uploaded
        again, under the new key. For another partition use `PartitionMove`.

        >>> employees = EntitySet(connect(), "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
        >>> jones = employees.insert({"Department": "Sales", "EmployeeId": 223, "LastName": "Jones"})
        >>> employees.rename(jones, EmployeeId=224).row_key
        'empid_000224'

        Cost: 1 transaction.

        :param entity: an entity of this set as it was read, whole
        :param key: the fields as one mapping, where a name is also that of a parameter
        :param retry_for: for how many seconds to retry when others write the same rows; see `update`
        :param fields: the fields of the key that change
        :raises EntityChanged: the entity changed since it was read
        :raises EntityNotFound: there is no such entity any more
        :raises EntityAlreadyExists: another entity has the new key; this one keeps its own
        :raises BadKey: not a field of the key, or a value that cannot be a key
        :raises BadInput: the key stays as it is, or is in another partition; or the entity was not read whole from
            this set, or is being moved to another partition
        :raises BadDesign: a unique index elsewhere would have the same key before and after

        Guide: modifying entities; entity group transactions.
        """
        await self._guard(entity)
        deletion, insertion = self.renaming(entity, fields_of(key, fields))
        return (await commit(self.account, self.table, deletion, insertion, retry_for=retry_for))[1]

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
        """Read an entity, change it, and write it back; begin again whenever another writer was faster.

        No lock is held, and no change of another writer is lost. Cost: 1 read and 1 write per attempt.

        >>> employees = EntitySet(connect(), "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
        >>> _ = employees.insert({"Department": "Sales", "EmployeeId": 223, "Age": 34})
        >>> def birthday(employee: Entity) -> None:
        ...     employee["Age"] += 1
        >>> employees.update(birthday, Department="Sales", EmployeeId=223)["Age"]
        35

        :param change: changes the entity in place, or returns all its fields; it is called once for each attempt, and
            may raise to give up
        :param retry_for: for how many seconds to retry when another writer was faster, with jittered exponential
            backoff; waits included, 30 by default, and 0 for a single attempt
        :param key: the fields as one mapping, where a name is also that of a parameter
        :param fields: a value for every field of the key
        :raises EntityNotFound: there is no such entity
        :raises TooMuchContention: another writer was faster at every attempt; it tells how many, and for how long

        Guide: concurrency; modifying heterogeneous types (the update of EmployeeCount).
        """
        given = fields_of(key, fields)

        async def write(current: Entity | None) -> Entity:
            return await self.replace(_existing(current, given), retry_for=retry_for)

        return await self._from_current(given, write, retry_for, change)

    async def _overwrite(
        self, fields: dict[str, Any], merged: frozenset[str] | None, retry_for: float, etag: str | None = None
    ) -> Entity:
        """Write fields over whatever is stored, or over what has an ETag; without one insert them if nothing is."""
        if not self.derived:
            return await self._overwrite_row(fields, merged, retry_for, etag)

        async def write(current: Entity | None) -> Entity:
            if current is None and etag is None:
                return await self.insert(fields, retry_for=retry_for)
            entity = _existing(current, fields)
            if merged is not None:
                return await self.merge(entity, {name: fields[name] for name in merged}, retry_for=retry_for)
            entity.clear()
            entity.update(fields)
            return await self.replace(entity, retry_for=retry_for)

        key = self.primary.key_fields(fields)
        if etag in (None, ANY):
            return await self._from_current(key, write, retry_for)
        return await write(await self._as_of(key, etag))

    async def _as_of(self, key: Mapping[str, Any], etag: str | None) -> Entity:
        """Read the entity of which the caller knows the ETag: what is derived of it depends on what it was."""
        current = _existing(await self.get(key), key)
        if current.etag != etag:
            raise EntityChanged(f"the entity {current.key} has changed since it had the ETag {etag}; read it again")
        return current

    async def _overwrite_row(
        self, fields: dict[str, Any], merged: frozenset[str] | None, retry_for: float, etag: str | None
    ) -> Entity:
        """Write a row that nothing is derived from: the service's own upserts need no read."""
        change = Change(self.key, None, fields, merged)
        write = await Write(self.identity, change, is_whole=merged is None, mappings=self.mappings).encoded()
        row = self.primary.row(write.change.new or {})
        if etag is None:
            operation = Operation.insert_or_replace(row) if merged is None else Operation.insert_or_merge(row)
        else:
            operation = Operation.replace(row, etag) if merged is None else Operation.merge(row, etag)
        (written,) = await carry_out(self.table, [Step(operation, write)], retry_for)
        return write.wrote(written)

    async def _from_current(
        self,
        fields: Mapping[str, Any],
        write: Callable[[Entity | None], Awaitable[T]],
        retry_for: float,
        change: Modify | None = None,
    ) -> T:
        """Read the entity and write what follows from it, again and again until no other writer comes between."""

        async def attempt() -> T:
            current = await self.get(fields)
            if change is not None:
                # Apart, since an error of the caller's own is no other writer's doing
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


def _existing(current: Entity | None, fields: Mapping[str, Any]) -> Entity:
    if current is None:
        raise EntityNotFound(f"there is no entity {dict(fields)}; insert it, or use insert_or_replace")
    return current


def _all_of(kind: type[object], subject: str, parts: Iterable[T]) -> tuple[T, ...]:
    """Return what a set is given for a parameter; what an iterator yields could not be checked before."""
    if not isinstance(parts, Iterable):
        raise BadDesign(subject, parts, "it is a list", f"write {subject}=[...], with one or more in it")
    given = tuple(parts)
    for each in given:
        if not isinstance(each, kind):
            raise BadDesign(subject, each, f"{type(each).__name__} is no {kind.__name__}", "leave it out")
    return given
