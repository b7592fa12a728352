"""`SetCalls`: the public calls of everything that behaves like a set of entities."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..argument_types import check_least
from ..entity import Entity, Modify
from ..filters import Filter, QueryClass
from ..filters.builder import filter_of
from ..key import K
from ..key.key import as_mapping, fields_of, via_and_fields
from ..limits import MAX_PAGE_ENTITIES
from ..recipe import Account_co, check_key_order, recipe, stream
from ..retry import RETRY_FOR, check_retry_for
from ..sdk.operation import condition_of
from ..sdk.table import Page
from .call_types import Modeled, finding, planning, updating, writing
from .commit import E, Write
from .derived import Index
from .hooks import Selection, SetHooks

if TYPE_CHECKING:
    from .shared_rows import Lists, Totals


class SetCalls(Modeled[Account_co, E, K], SetHooks[E]):
    """Every call that reads or writes the entities of a set, over the few methods that a pattern provides."""

    @recipe
    async def get(self, key: K | None = None, /, **fields: Any) -> E | None:
        """Return the entity with this primary key, or None. Cost: 1 transaction, a point query.

        >>> employees.get(Department="Sales", EmployeeId=1) is None
        True

        :param key: the fields as an instance of the key's class, or as a mapping, for field names that are also
            parameter names
        :param fields: a value for every field of the key
        :raises BadKey: a key field is missing, or its value cannot be part of a key

        Guide: point query.
        """
        return await (self._layer or self)._one(Selection(fields_of(key, fields)))

    @finding
    async def find(self, via: Index, key: K | None = None, /, **fields: Any) -> E | None:
        """Return the entity that has this key in an index, or None. Cost: 1 transaction, a point query.

        An index outside the primary's partition is eventually consistent, so the entity may be stale. Writing it back
        is safe, and costs 1 transaction more.

        :param via: the index, one of the set's own
        :param key: the fields as a mapping, for field names that are also parameter names
        :param fields: a value for every field of the index's key
        :raises BadKey: a key field is missing, or its value cannot be part of a key
        :raises BadInput: the index is not one of this set's

        Guide: intra-partition secondary index pattern.
        """
        return await (self._layer or self)._one(Selection(fields_of(key, fields), via))

    @recipe
    async def get_many(self, keys: Iterable[K], *, max_concurrency: int = 8) -> list[E | None]:
        """Return the entities with these primary keys, in the order of the keys; None for each that does not exist.

        It sends one point query per key; a filter with `or` would scan the partition. Cost: 1 transaction per key.

        :param keys: for each entity, a value for every field of the key
        :param max_concurrency: how many point queries at a time

        Guide: query classes (the rule about `or`); asynchronous and parallel operations.
        """
        check_least("max_concurrency", max_concurrency, 1)
        return await (self._layer or self)._many(map(as_mapping, keys), max_concurrency)

    @stream
    def range(
        self,
        via: Index | Mapping[str, Any] | None = None,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        where: Filter | Callable[[E], bool] | None = None,
        allow: QueryClass = QueryClass.RANGE,
        select: Sequence[str] | None = None,
        **fields: Any,
    ) -> AsyncIterator[E]:
        """Yield the entities of one partition, or of a range of its row keys, in key order.

        The fields of the partition are required. Give row fields from left to right; the last may be a `prefix` or a
        range such as `between`. All continuation tokens are followed. On the Cosmos DB Table API the order is
        undefined. Cost: 1 transaction per page of up to 1,000 rows.

        :param via: an index to read and order by; None for the primary rows
        :param where: a further condition on fields; the service checks it on every row of the range. A function of an
            instance lets type checkers check names and types: `where=lambda booking: booking.seats > 3`; it is called
            once, with a stand-in
        :param allow: the worst class of query to allow with `where`; `QueryClass.PARTITION_SCAN` allows reading a whole
            partition for the rows that match
        :param select: the properties to read; key fields are always included
        :param key: the fields as a mapping, for field names that are also parameter names
        :param fields: the partition, and the known fields of the row key
        :raises BadKey: the fields do not describe a range
        :raises BadFilter: `where` would need a scan that `allow` does not permit, or the key does not allow a condition
            on one of its fields

        Guide: range query; server-side projection.
        """
        selection = _selection(*via_and_fields(via, key, fields), where, allow, select)
        return (self._layer or self)._items(selection, MAX_PAGE_ENTITIES)

    @recipe
    async def page(
        self,
        via: Index | Mapping[str, Any] | None = None,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        size: int = 1000,
        token: str | None = None,
        where: Filter | Callable[[E], bool] | None = None,
        allow: QueryClass = QueryClass.RANGE,
        select: Sequence[str] | None = None,
        **fields: Any,
    ) -> Page[E]:
        """Return one page of a range, and the token that continues it.

        Entities are in key order, except on the Cosmos DB Table API. A page holds `size` entities, unless the range
        ends or the service ends a page early. Cost: 1 transaction; if rows of other sets are in the range, 1 for each
        further request that fills the page, and 1 to read up to its last entity.

        :param size: how many entities, 1 to 1,000
        :param token: the token of the previous page; it may be stored, and used in another process
        :raises BadToken: the token is from another query

        The other parameters are those of `range`. Guide: continuation tokens; page size.
        """
        selection = _selection(*via_and_fields(via, key, fields), where, allow, select)
        return await (self._layer or self)._page(selection, size, token)

    @recipe
    async def take(
        self,
        count: int,
        via: Index | Mapping[str, Any] | None = None,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        where: Filter | Callable[[E], bool] | None = None,
        allow: QueryClass = QueryClass.RANGE,
        select: Sequence[str] | None = None,
        **fields: Any,
    ) -> list[E]:
        """Return exactly the first `count` entities of a range, or all if there are fewer.

        It continues after pages that the service cuts short, and reads no page more than needed. Cost: 1 transaction
        for up to 1,000 entities, if the service does not cut its pages shorter and no rows of other sets are among
        them.

        :raises BadDesign: the account does not sort by key, such as the Cosmos DB Table API

        The other parameters are those of `range`. Guide: large result sets (take n).
        """
        check_least("count", count, 0)
        check_key_order(self.account, "the first ones are those")
        selection = _selection(*via_and_fields(via, key, fields), where, allow, select)
        return await (self._layer or self)._first(selection, count)

    @stream
    def query(
        self,
        where: Filter | Callable[[E], bool],
        *,
        allow: QueryClass = QueryClass.RANGE,
        select: Sequence[str] | None = None,
    ) -> AsyncIterator[E]:
        """Yield the entities that match a filter.

        Raises `BadFilter`, without sending a request, if the query is of a worse class than `allow`, such as a table
        scan. Cost: 1 transaction per page.

        :param where: any filter on fields, PartitionKey and RowKey; a key field that follows others in its template can
            be compared only where those have a value, by `==` joined by `&`
        :param allow: the worst class of query to allow; `QueryClass.TABLE_SCAN` allows every filter
        :param select: the properties to read; key fields are always included
        :raises BadFilter: the query is of a worse class; the error gives the reason and a better query. Or the key does
            not allow a condition on one of its fields

        Guide: query classes.
        """
        return (self._layer or self)._matching(_condition(where), allow, select)

    @stream
    def scan(self, where: Filter | Callable[[E], bool] | None = None) -> AsyncIterator[E]:
        """Yield the matching entities of all partitions. The service reads every entity of the table.

        Cost: 1 transaction per page. The service ends a page at 1,000 results, at the end of a partition, or after five
        seconds of reading, so a large table takes many, however few entities match.

        :param where: as for `query`
        :raises BadFilter: the key does not allow a condition on one of its fields

        Guide: table scan.
        """
        return (self._layer or self)._matching(_condition(where), QueryClass.TABLE_SCAN, None)

    @recipe
    async def keys_of(self, via: Lists, key: Mapping[str, Any] | None = None, /, **fields: Any) -> list[dict[str, Any]]:
        """Return the key fields of all entities with a value, in key order; empty if there are none.

        Lists outside the primary's partition are eventually consistent. Pass the result to `get_many`. Cost: 1
        transaction; for a list that is spread, 1 for each 1,000 rows.

        :param via: the index entities, one of the set's own
        :param key: the fields as a mapping, for field names that are also parameter names
        :param fields: a value for every field of their key
        :raises BadKey: a key field is missing, or its value cannot be part of a key
        :raises BadInput: the index entities are not this set's

        Guide: index entities pattern.
        """
        return [dict(keys) for keys in await (self._layer or self)._keys_with(via, fields_of(key, fields))]

    @recipe
    async def find_all(
        self, via: Lists, key: Mapping[str, Any] | None = None, /, *, max_concurrency: int = 8, **fields: Any
    ) -> list[E]:
        """Return all entities with a value, in key order; empty if there are none.

        An entity that no longer has the value is left out, even if the list is stale. Cost: that of `keys_of`, and 1
        transaction for each key, `max_concurrency` at a time.

        :param max_concurrency: how many point queries at a time

        The other parameters and errors are those of `keys_of`. Guide: index entities pattern.
        """
        check_least("max_concurrency", max_concurrency, 1)
        return await (self._layer or self)._listed(via, fields_of(key, fields), max_concurrency)

    @recipe
    async def totals(
        self, via: Totals, key: Mapping[str, Any] | None = None, /, *, retry_for: float = RETRY_FOR, **fields: Any
    ) -> dict[str, Any]:
        """Return the count and the sums of a group by property name; each is 0 for an unknown group.

        Totals in the primary's partition are exact, even if they are spread over several rows. Those outside it are
        eventually consistent. Cost: 1 transaction; if the service answers in several pages, 2 for each.

        :param via: the summary, one of the set's own
        :param key: the fields as a mapping, for field names that are also parameter names
        :param retry_for: the seconds to keep retrying a read of several pages while others write
        :param fields: a value for every field of its key
        :raises BadKey: a key field is missing, or its value cannot be part of a key
        :raises BadInput: the summary is not this set's
        :raises TooMuchContention: others changed the totals between the pages during every attempt

        Guide: denormalization pattern; one-to-many relationships.
        """
        check_retry_for(retry_for)
        return dict(await (self._layer or self)._totals(via, fields_of(key, fields), retry_for))

    @writing
    async def insert(self, entity: Mapping[str, Any], *, retry_for: float = RETRY_FOR) -> E:
        """Create an entity with all its derived rows, and return it with its ETag. Cost: 1 transaction.

        :param entity: its fields; a field that is None is not stored
        :param retry_for: the seconds to keep retrying when others write the same rows; see `update`
        :raises EntityAlreadyExists: an entity with this key exists
        :raises DuplicateIndexValue: another entity has the same key in an index
        :raises EntityChanged: another writer is writing the same entity, or crashed while it was, and holds its key in
            a unique index; insert it again later, once the intent of that write is processed
        :raises BadKey: a key field is missing, or its value cannot be part of a key
        :raises BadProperty: the service cannot store a property
        :raises LimitExceeded: the entity, or the transaction with its derived rows, is too large

        Guide: modifying entities.
        """
        return await (self._layer or self)._create(entity, retry_for)

    @writing
    async def replace(
        self, entity: Mapping[str, Any], *, etag: str | None = None, force: bool = False, retry_for: float = RETRY_FOR
    ) -> E:
        """Write a complete entity back, unless it changed since it was read; fields that it lacks are removed.

        The given entity gets the new ETag. If the set has derived data, `etag` and `force` read the stored entity
        first; if its ETag differs from `etag`, `EntityChanged` is raised.

        Cost: 1 transaction; with derived data and `etag` 1 more to read, with `force` for each attempt.

        >>> employees = EntitySet(connect(), "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
        >>> if_match = employees.insert({"Department": "Sales", "EmployeeId": 223, "Age": 34}).etag
        >>> body = {"Department": "Sales", "EmployeeId": 223, "Age": 35}
        >>> employees.replace(body, etag=if_match)["Age"]
        35

        :param entity: an entity of this set as it was read, with some of its fields changed; its key must not change
        :param etag: the ETag that the stored entity must have, such as one from an If-Match header. You may then pass
            any mapping with the key fields, without reading the entity first
        :param force: overwrite any stored entity; you may then pass any mapping
        :param retry_for: the seconds to keep retrying when others write the same rows; see `update`
        :raises EntityChanged: the entity changed since it was read
        :raises EntityNotFound: the entity does not exist any more
        :raises DuplicateIndexValue: another entity has the same key in an index
        :raises BadInput: the entity was not read completely from this set

        Guide: concurrency; merge or replace.
        """
        condition = condition_of(etag, force=force)
        if condition is None:
            return await (self._layer or self)._change(entity, None, retry_for)
        return await (self._layer or self)._overwrite(entity, None, condition, retry_for)

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
        """Overwrite some fields of an entity, unless it changed since it was read; the others stay as they are.

        A change to None keeps the stored value. The given entity gets the changes and the new ETag. Cost: 1
        transaction; with derived data and `etag` 1 more to read, with `force` for each attempt.

        :param entity: an entity of this set as it was read
        :param changes: the fields to overwrite, except key fields
        :param etag: as for `replace`; without derived data, the result has only the key and the changes
        :param force: merge into any stored entity; you may then pass any mapping with the key fields
        :param retry_for: the seconds to keep retrying when others write the same rows; see `update`

        The errors are those of `replace`. Guide: concurrency; merge or replace.
        """
        condition = condition_of(etag, force=force)
        if condition is None:
            return await (self._layer or self)._change(entity, changes, retry_for)
        return await (self._layer or self)._overwrite(entity, changes, condition, retry_for)

    @writing
    async def insert_or_replace(self, entity: Mapping[str, Any], *, retry_for: float = RETRY_FOR) -> E:
        """Create an entity, or replace the one that exists.

        If the set has a model, properties that it does not declare stay as they are, as in all its writes.

        Cost: 1 transaction; with derived data or a model 1 more to read, for each attempt.

        :param retry_for: the seconds to keep retrying when others write the same rows; see `update`
        :raises TooMuchContention: others wrote the same entity during every attempt
        :raises DuplicateIndexValue: another entity has the same key in an index
        :raises OutcomeUnknown: the response was lost, and the row does not show whether the write succeeded

        Guide: merge or replace (insert-or-replace).
        """
        return await (self._layer or self)._upsert(entity, retry_for, in_part=False)

    @writing
    async def insert_or_merge(self, entity: Mapping[str, Any], *, retry_for: float = RETRY_FOR) -> E:
        """Create an entity, or overwrite the given fields of the one that exists.

        If the set has a model, fields that are None keep their stored values, and an earlier version is upgraded.

        Cost: 1 transaction; with derived data or a model 1 more to read, for each attempt.

        The errors are those of `insert_or_replace`, as are the parameters. Guide: merge or replace (insert-or-merge).
        """
        return await (self._layer or self)._upsert(entity, retry_for, in_part=True)

    @writing
    async def delete(
        self, entity: Mapping[str, Any], *, etag: str | None = None, force: bool = False, retry_for: float = RETRY_FOR
    ) -> None:
        """Delete an entity with all its derived rows, unless it changed since it was read.

        After a lost response, a delete that finds no entity counts as done, so if two callers delete one entity, both
        may return. If exactly one caller must succeed, claim the entity first with a conditional write, and delete it
        only if that write succeeded: `delete(replace(entity | {"TakenBy": worker}))`.

        Cost: 1 transaction; with derived data and `etag` 1 more to read, with `force` for each attempt.

        :param entity: an entity of this set as it was read
        :param etag: as for `replace`
        :param force: delete any stored entity; you may then pass any mapping with the key fields
        :param retry_for: the seconds to keep retrying when others write the same rows; see `update`
        :raises EntityChanged: the entity changed since it was read
        :raises EntityNotFound: the entity does not exist any more

        Guide: modifying entities; concurrency.
        """
        condition = condition_of(etag, force=force)
        if condition is None:
            await (self._layer or self)._remove(entity, retry_for)
        else:
            check_retry_for(retry_for)
            await (self._layer or self)._remove_any(entity, condition, retry_for)

    @updating
    async def update(
        self, change: Modify, key: K | None = None, /, *, retry_for: float = RETRY_FOR, **fields: Any
    ) -> E:
        """Read an entity, change it, and write it back; retry if another writer was faster.

        No lock is held, and no change of another writer is lost. Cost: 1 read and 1 write per attempt.

        >>> employees = EntitySet(connect(), "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
        >>> _ = employees.insert({"Department": "Sales", "EmployeeId": 223, "Age": 34})
        >>> def birthday(employee: Entity) -> None:
        ...     employee["Age"] += 1
        >>> employees.update(birthday, Department="Sales", EmployeeId=223)["Age"]
        35

        :param change: a function that changes the entity in place, or returns all its fields. It is called once for
            each attempt, and may raise an error to cancel the update
        :param retry_for: the seconds to keep retrying after conflicts with other writers, including the waits of
            jittered exponential backoff; 30 by default, 0 for a single attempt
        :param key: the fields as a mapping, for field names that are also parameter names
        :param fields: a value for every field of the key
        :raises EntityNotFound: there is no such entity
        :raises TooMuchContention: another writer was faster during every attempt; the error says how many attempts, and
            for how long
        :raises DuplicateIndexValue: another entity has the same key in an index

        Guide: concurrency; modifying heterogeneous types (the update of EmployeeCount).
        """
        return await (self._layer or self)._update(change, fields_of(key, fields), retry_for)

    @writing
    async def rename(
        self, entity: Entity, key: Mapping[str, Any] | None = None, /, *, retry_for: float = RETRY_FOR, **fields: Any
    ) -> E:
        """Give an entity another RowKey in its partition, unless it changed since it was read.

        One transaction deletes the old row, inserts the new one and updates all derived rows in the partition; readers
        always see the entity exactly once. Derived data elsewhere is updated as for other writes; the entity keeps its
        keys in unique indexes. The given entity gets the new key and ETag, and other changes to it are written too.
        Large properties are uploaded again, under the new key. For another partition use `PartitionMove`.

        >>> employees = EntitySet(connect(), "Employees", Key("{Department}", "empid_{EmployeeId:06d}"))
        >>> jones = employees.insert({"Department": "Sales", "EmployeeId": 223, "LastName": "Jones"})
        >>> employees.rename(jones, EmployeeId=224).row_key
        'empid_000224'

        Cost: 1 transaction.

        :param entity: a complete entity of this set as it was read
        :param key: the fields as a mapping, for field names that are also parameter names
        :param retry_for: the seconds to keep retrying when others write the same rows; see `update`
        :param fields: the key fields that change
        :raises EntityChanged: the entity changed since it was read
        :raises EntityNotFound: the entity does not exist any more
        :raises EntityAlreadyExists: another entity has the new key; this one keeps its own
        :raises DuplicateIndexValue: another entity has the same key in an index
        :raises BadKey: a field does not belong to the key, or its value cannot be part of a key
        :raises BadInput: the key stays the same, or is in another partition; or the entity was not read completely from
            this set, or is being moved to another partition

        Guide: modifying entities; entity group transactions.
        """
        return await (self._layer or self)._rename(entity, fields_of(key, fields), retry_for)

    @planning
    def inserting(self, entity: Mapping[str, Any]) -> Write[E]:
        """Return the change that `insert` makes, for an `EntityGroupTransaction`; nothing is sent."""
        return (self._layer or self)._plan_insert(entity)

    @planning
    def replacing(self, entity: Mapping[str, Any]) -> Write[E]:
        """Return the change that `replace` makes, for an `EntityGroupTransaction`; nothing is sent."""
        return (self._layer or self)._plan_change(entity, None)

    @planning
    def merging(self, entity: Mapping[str, Any], changes: Mapping[str, Any]) -> Write[E]:
        """Return the change that `merge` makes, for an `EntityGroupTransaction`; nothing is sent."""
        return (self._layer or self)._plan_change(entity, changes)

    @planning
    def deleting(self, entity: Mapping[str, Any]) -> Write[E]:
        """Return the change that `delete` makes, for an `EntityGroupTransaction`; nothing is sent."""
        return (self._layer or self)._plan_removal(entity)

    @planning
    def renaming(self, entity: Mapping[str, Any], fields: Mapping[str, Any]) -> tuple[Write[E], Write[E]]:
        """Return the two changes that `rename` makes, for an `EntityGroupTransaction`; nothing is sent."""
        return (self._layer or self)._plan_rename(entity, fields)


def _condition(where: object) -> Filter | None:
    return None if where is None else filter_of(where)


def _selection(
    via: Index | None, fields: Mapping[str, Any], where: object, allow: QueryClass, select: Sequence[str] | None
) -> Selection:
    return Selection(fields, via, _condition(where), allow, select)
