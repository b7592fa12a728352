"""Keep dataclasses of several types in one table, and read each as its own type."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from typing import Any, Literal, TypeVar, cast

from ...argument_types import checked
from ...arguments import fields_of
from ...entity import Entity
from ...entity_set.commit import Write
from ...entity_set.derived import Index
from ...entity_set.entity_set import EntitySet
from ...errors import BadInput, EntityNotFound
from ...filters import Filter, QueryClass
from ...recipe import Account, Account_co, Pattern, bound_async, recipe, stream
from ...retry import RETRY_FOR
from ...sdk.paging import filled_page
from ...sdk.table import Page
from .entity_type import EntityType
from .mapper import Desk, Held, Search
from .type_registry import Catalog, Class, Resolver

T = TypeVar("T")


class EntityTypes(Pattern[Account_co]):
    """Keep objects of several classes in one table, and read each as its own class.

    Use it to store departments and employees in one partition, so that both change in one transaction; customers and
    employees in one table of persons; or classes that change over the years while old entities stay as they are.

    >>> from dataclasses import dataclass, replace
    >>> from tablepatterns import EntitySet, Key, connect
    >>> @dataclass(frozen=True)
    ... class Department:
    ...     Department: str
    ...     EmployeeCount: int = 0
    >>> @dataclass(frozen=True)
    ... class Employee:
    ...     Department: str
    ...     EmployeeId: int
    ...     Email: str | None = None
    >>> storage = connect()
    >>> staff = EntityTypes(
    ...     EntityType(Department, EntitySet(storage, "Staff", Key("{Department}", "DEPARTMENT"))),
    ...     EntityType(Employee, EntitySet(storage, "Staff", Key("{Department}", "EMPLOYEE_{EmployeeId:06d}"))),
    ... )
    >>> sales = staff.insert(Department("Sales"))
    >>> jones = staff.insert(Employee("Sales", 223))
    >>> staff.get(Employee, Department="Sales", EmployeeId=223).value
    Employee(Department='Sales', EmployeeId=223, Email=None)
    >>> jones = staff.replace(jones, replace(jones.value, Email="jonesj@contoso.com"))
    >>> [type(held.value).__name__ for held in staff.range(Department="Sales")]
    ['Department', 'Employee']

    The keys are those of the sets. The property `EntityType` holds an entity's type and, from version 2 on, its
    version: `Employee`, `Employee.2`. If every type has keys of its own, such as `EMPLOYEE_000123` and
    `DEPARTMENT_SALES`, you can omit it with `mark=None`.

    Consistency: that of `EntitySet`, since each type is in one, with its indexes and mappings; index rows are never
    returned as entities. A value is validated before any request, and is read back equal. An entity of an earlier
    version is upgraded when it is read, and written in the new one. Properties that a class does not declare, because
    another program added them, survive `replace`, `update` and `merge`. An entity keeps its type.

    To preserve such properties, an entity must be read before it is written. In a field that is stored as JSON,
    undeclared members are lost when the field changes. The type of an entity without a mark is what `resolver` returns;
    without a resolver it is the type of its set, in version 1, if the set has only one. Otherwise, and for a newer
    version, the type is unknown: queries for all types return an `Entity`, which can be replaced and deleted as it is,
    without the data that other programs derive from it. Writes through one of the sets itself have no mark.

    Cost: those of the `EntitySet` methods. A range of several types is 1 storage transaction per page of up to 1,000
    rows, and reads all rows between the first and the last possible match.

    :param types: each class with its set; the sets are on one table of one account
    :param mark: the property with the type and the version; None if the keys determine the type
    :param resolver: called with an entity without a mark, with its keys, Timestamp, ETag and properties; returns its
        class, or None if it is unknown
    :param unknown: whether to return an entity of unknown type as it is, or to raise an error
    :raises BadDesign: the types cannot be distinguished, or a class cannot be stored

    Guide: working with heterogeneous entity types; inheritance.
    """

    @checked
    def __init__(
        self,
        *types: EntityType[Account_co],
        mark: str | None = "EntityType",
        resolver: Resolver | None = None,
        unknown: Literal["raw", "refuse"] = "raw",
    ) -> None:
        self.catalog = Catalog(types, mark, resolver)
        super().__init__(cast("Account_co", self.catalog.sets[0].account))
        self._desk = Desk(self.catalog, refuses_unknown=unknown == "refuse")

    # ------------------------------------------------------------------ reading

    @recipe
    async def get(self, of: Class[T], key: Mapping[str, Any] | None = None, /, **fields: Any) -> Held[T] | None:
        """Return the value of a class with this key; None if there is none, or if it is of another class.

        Cost: 1 transaction, a point query.

        :param of: the class, or a base class of several with the same key
        :param key: the fields as a mapping, for field names that are also parameter names
        :param fields: a value for every field of the key
        :raises BadInput: the class was not declared, or its types have several keys
        :raises UnrecognizedEntity: the entity is of a newer version, or does not fit its class

        Guide: point query; retrieving heterogeneous types (the type is known).
        """
        entities, asked = self.catalog.asked(of, fields_of(key, fields))
        row = await entities.table.get(*entities.key.format(asked))
        return None if row is None else await self._held(of, row)

    @recipe
    async def get_any(self, partition_key: str, row_key: str) -> Held[object] | None:
        """Return the value with these keys, whatever its type, or None. Cost: 1 transaction, a point query.

        :raises BadKey: a key is not a text, or has a character that is not allowed in keys

        Guide: retrieving heterogeneous types (property bag, resolver).
        """
        others = self.catalog.others
        row = await others.table.get(*others.key.format({"PartitionKey": partition_key, "RowKey": row_key}))
        return None if row is None else await self._held(object, row)

    @recipe
    async def find(
        self, of: Class[T], via: Index, key: Mapping[str, Any] | None = None, /, **fields: Any
    ) -> Held[T] | None:
        """Return the value of a class that has this key in an index, or None. Cost: 1 transaction, a point query.

        :param via: an index of the set of the class, that holds whole entities

        Guide: intra-partition secondary index pattern; retrieving heterogeneous types.
        """
        given = fields_of(key, fields)
        search = Search.of(self.catalog, of, via, None, given)
        row = await search.table.get(*search.point(given))
        return None if row is None else await self._held(of, row, via)

    @stream
    async def range(
        self,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        where: Filter | None = None,
        allow: QueryClass = QueryClass.RANGE,
        **fields: Any,
    ) -> AsyncIterator[Held[object]]:
        """Yield everything in a partition, each value as its own type, and entities of unknown type as `Entity`.

        Cost: 1 transaction per page of up to 1,000 rows; index rows are read too, and skipped.

        :param where: a further condition on properties, as they are stored
        :param allow: as for `EntitySet.range`
        :param key: the fields as a mapping, for field names that are also parameter names
        :param fields: the fields of the partition, and the row key fields that all types have
        :raises BadKey: the fields do not make a range
        :raises UnrecognizedEntity: an entity does not fit its class; or its type is unknown, and `unknown` rejects it

        Guide: retrieving heterogeneous types (several classes from one query).
        """
        search = Search.of(self.catalog, object, None, where, fields_of(key, fields), allow)
        async for row in search.table.query(search.filter):
            if (held := await self._held(object, row)) is not None:
                yield held

    @stream
    async def range_of(
        self,
        of: Class[T],
        key: Mapping[str, Any] | None = None,
        /,
        *,
        via: Index | None = None,
        where: Filter | None = None,
        allow: QueryClass = QueryClass.RANGE,
        **fields: Any,
    ) -> AsyncIterator[Held[T]]:
        """Yield the values of a class, and of its subclasses, in key order.

        On the Cosmos DB Table API the order is undefined. Only rows between the first and the last possible key of the
        class are read; if the types have prefixes, those with the prefix. Cost: 1 transaction per page of up to 1,000
        rows.

        :param of: the class
        :param via: an index of the set of the class, that holds complete entities
        :raises UnrecognizedEntity: an entity is of a newer version, or does not fit its class

        The other parameters are those of `range`. Guide: retrieving heterogeneous types; range query.
        """
        search = Search.of(self.catalog, of, via, where, fields_of(key, fields), allow)
        async for row in search.table.query(search.filter):
            if (held := await self._held(of, row, via)) is not None:
                yield held

    @recipe
    async def page(
        self,
        of: Class[T],
        key: Mapping[str, Any] | None = None,
        /,
        *,
        size: int = 1000,
        token: str | None = None,
        via: Index | None = None,
        where: Filter | None = None,
        allow: QueryClass = QueryClass.RANGE,
        **fields: Any,
    ) -> Page[Held[T]]:
        """Return one page of a range of a class, `object` for all, and the token that continues it.

        A page holds `size` values, unless the range ends or the service ends a page early. Cost: 1 transaction; where
        rows of other types lie in the range, 1 for each further request that fills the page, and 1 to read up to its
        last value.

        :param size: how many values, 1 to 1,000
        :param token: where the page before ended
        :raises BadToken: the token is of another query

        The other parameters are those of `range_of`. Guide: continuation tokens; retrieving heterogeneous types.
        """
        search = Search.of(self.catalog, of, via, where, fields_of(key, fields), allow)

        async def choose(row: Entity) -> Held[T] | None:
            return await self._held(of, row, via)

        return await filled_page(search.table, search.filter, size=size, token=token, select=None, choose=choose)

    # ------------------------------------------------------------------ writing

    @recipe
    async def insert(self, value: T, *, retry_for: float = RETRY_FOR) -> Held[T]:
        """Create an entity of a value, marked with its type. Cost: 1 transaction.

        :param retry_for: as for `EntitySet.insert`
        :raises BadInput: the value's class was not declared
        :raises BadProperty: a field has a value of another type
        :raises EntityAlreadyExists: there is an entity with this key, of whatever type
        :raises DuplicateIndexValue: another entity has the same key in an index

        Guide: modifying heterogeneous types (insert).
        """
        kind = self.catalog.type_of(value)
        entity = await _inside(kind.entities).insert(self._desk.new(value), retry_for=retry_for)
        return Held(value, entity, kind.entities)

    @recipe
    async def replace(self, held: Held[T], value: T, *, retry_for: float = RETRY_FOR) -> Held[T]:
        """Write a changed value back, unless its entity changed since it was read. Cost: 1 transaction.

        Properties that the class does not declare stay as they are. An entity of an earlier version gets the newest
        version.

        :param held: what was read; it is not changed, and is stale afterwards
        :param value: of the same class, with the same key
        :param retry_for: as for `EntitySet.replace`
        :raises EntityChanged: the entity changed since it was read
        :raises EntityNotFound: the entity does not exist any more
        :raises BadInput: the value is of another class

        Guide: concurrency; modifying heterogeneous types.
        """
        entity = await _inside(held.entities).replace(self._desk.changed(held, value), retry_for=retry_for)
        return Held(value, entity, held.entities)

    @recipe
    async def merge(self, held: Held[T], changes: Mapping[str, Any], *, retry_for: float = RETRY_FOR) -> Held[T]:
        """Overwrite some fields of an entity, whatever its type, unless it changed since it was read.

        Cost: 1 transaction.

        :param changes: the fields; those that the class knows are checked and stored as it says, others as they are.
            None leaves the stored value
        :param retry_for: as for `EntitySet.merge`
        :raises BadInput: the entity is of an earlier version, and must be replaced

        The errors are those of `replace`. Guide: modifying heterogeneous types (the update of EmployeeCount).
        """
        stored = self._desk.merged(held, changes)
        entity = await _inside(held.entities).merge(copy.copy(held.entity), stored, retry_for=retry_for)
        return self._desk.again(held, entity)

    @recipe
    async def delete(self, held: Held[Any], *, retry_for: float = RETRY_FOR) -> None:
        """Delete an entity, whatever its type, unless it changed since it was read. Cost: 1 transaction.

        :param retry_for: as for `EntitySet.delete`
        :raises EntityChanged: the entity changed since it was read
        :raises EntityNotFound: the entity does not exist any more

        Guide: modifying heterogeneous types (delete).
        """
        await _inside(held.entities).delete(self._desk.own(held), retry_for=retry_for)

    @recipe
    async def update(
        self,
        change: Callable[[T], T | None],
        of: type[T],
        key: Mapping[str, Any] | None = None,
        /,
        *,
        retry_for: float = RETRY_FOR,
        **fields: Any,
    ) -> Held[T]:
        """Read a value, change it, and write it back; retry if another writer was faster.

        Cost: 1 read and 1 write per attempt.

        :param change: changes the value in place, or returns the changed value; it is called once for each attempt,
            and may raise to give up
        :param of: the class, or one that several with the same key are derived from
        :param retry_for: as for `EntitySet.update`
        :param key: the fields as a mapping, for field names that are also parameter names
        :param fields: a value for every field of the key
        :raises BadInput: `change` returned something that is not of the class
        :raises EntityNotFound: there is no such entity of the class
        :raises TooMuchContention: another writer was faster during every attempt

        Guide: concurrency; modifying heterogeneous types.
        """
        entities, asked = self.catalog.asked(of, fields_of(key, fields))
        written: list[T] = []

        def apply(entity: Entity) -> None:
            held = self._desk.held(of, entity, entities)
            if held is None:
                raise _OfAnotherClass
            value = _changed(held.value, change, tuple(each.of for each in self.catalog.types))
            changed = self._desk.changed(held, value)
            entity.clear()
            entity.update(changed)
            written[:] = [value]

        try:
            entity = await _inside(entities).update(apply, asked, retry_for=retry_for)
        except _OfAnotherClass:
            raise EntityNotFound(f"the entity {asked} is of another class; use get_any to see it") from None
        return Held(written[0], entity, entities)

    # ------------------------------------------------------------------ with other changes of the partition

    @checked
    def inserting(self, value: object) -> Write:
        """Return the change that `insert` makes, for an `EntityGroupTransaction`; nothing is sent."""
        return self.catalog.type_of(value).entities.inserting(self._desk.new(value))

    @checked
    def replacing(self, held: Held[T], value: T) -> Write:
        """Return the change that `replace` makes, for an `EntityGroupTransaction`; nothing is sent."""
        return held.entities.replacing(self._desk.changed(held, value))

    @checked
    def deleting(self, held: Held[Any]) -> Write:
        """Return the change that `delete` makes, for an `EntityGroupTransaction`; nothing is sent."""
        return held.entities.deleting(self._desk.own(held))

    @checked
    def held(self, of: Class[T], entity: Entity) -> Held[T] | None:
        """Return the value of an entity that was committed or read by a set; None if it is of another class.

        :raises BadInput: it was read from another set
        :raises UnrecognizedEntity: it is not as the class wants it

        Guide: entity group transactions; retrieving heterogeneous types.
        """
        home = self.catalog.home_of(entity)
        home.identity.check(entity)
        return self._desk.held(of, entity, home)

    async def _held(self, of: Class[T], row: Entity, via: Index | None = None) -> Held[T] | None:
        home = self.catalog.home(row) if via is None else self.catalog.indexed(of, via)
        entity = None if home is None else await _inside(home).received(row, via)
        return None if home is None or entity is None else self._desk.held(of, entity, home)


def _changed(value: T, change: Callable[[T], T | None], declared: tuple[type[Any], ...]) -> T:
    """Return a value as a callback of the caller's has changed it: in place, if that returns None."""
    returned: object = change(value)
    _close(returned)
    if returned is None:
        return value
    # One of another declared class is rejected with the reason of its own
    if not isinstance(returned, (type(value), *declared)):
        rule = f"it returns a {type(value).__name__}, or changes the one that it is given in place and returns None"
        hint = f"return None or a {type(value).__name__}, from a function without async"
        raise BadInput("change", type(returned).__name__, rule, hint)
    return cast("T", returned)  # pyright: ignore[reportUnnecessaryCast]


def _close(returned: object) -> None:
    """Close a coroutine that nobody will await, so that Python does not warn of it."""
    if isinstance(returned, Coroutine):
        returned.close()


class _OfAnotherClass(Exception):
    """An entity is not of the class that was asked for; never leaves this file."""


def _inside(entities: EntitySet[Any]) -> EntitySet[Account]:
    return cast("EntitySet[Account]", bound_async(entities))
