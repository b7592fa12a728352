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
from ...entity_set.internals import check_read_from, entity_of
from ...errors import BadInput, EntityNotFound
from ...filters import Filter, QueryClass
from ...recipe import Account, Account_co, Pattern, bound_async, recipe, stream
from ...retry import RETRY_FOR
from ...sdk.paging import filled_page
from ...sdk.table import Page
from .entity_type import EntityType
from .mapper import Mapper, RowQuery, TypedEntity
from .type_registry import Class, Resolver, TypeRegistry

T = TypeVar("T")


class EntityTypes(Pattern[Account_co]):
    """Store dataclasses of several types in one table, and read each as its own type.

    Use it to keep departments and employees in one partition, so that one transaction can change both; to query
    customers and employees as persons; or to evolve classes while old entities stay as they are.

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
    >>> [type(found.value).__name__ for found in staff.range(Department="Sales")]
    ['Department', 'Employee']

    The property `EntityType` holds an entity's type and, from version 2 on, its version: `Employee`, `Employee.2`. If
    every type has its own RowKey prefix, such as `EMPLOYEE_` and `DEPARTMENT_`, you can omit it with
    `type_property=None`.

    Consistency: that of the type's `EntitySet`, with its indexes and mappings; index rows are never returned as
    entities. Values are validated before any request, and read back equal. An entity of an earlier version is upgraded
    when it is read, and written in the current version. Properties that the class does not declare survive `replace`,
    `update` and `merge`; in a field stored as JSON, undeclared members are lost when the field changes. An entity keeps
    its type.

    Without the type property, an entity has the type that `resolver` returns; without a resolver, version 1 of the only
    type of its set. Otherwise, and for a newer version, the type is unknown: queries for all types return it as an
    `Entity`, which can be replaced and deleted, but without its derived data. Writes through one of the sets do not
    write the type property.

    Cost: that of the `EntitySet` methods. A range of several types takes 1 storage transaction per page of up to 1,000
    rows, and reads all rows between the first and the last possible key.

    :param types: each dataclass with its set; all sets must be on one table
    :param type_property: the property with the type and version; None if the keys determine the type
    :param resolver: called with an entity that lacks the type property; returns its class, or None if unknown
    :param unknown: whether to return an entity of unknown type as an `Entity` ("raw"), or to raise
        `UnrecognizedEntity` ("raise")
    :raises BadDesign: the types cannot be distinguished, or a class cannot be stored

    Guide: working with heterogeneous entity types; inheritance.
    """

    @checked
    def __init__(
        self,
        *types: EntityType[Account_co],
        type_property: str | None = "EntityType",
        resolver: Resolver | None = None,
        unknown: Literal["raw", "raise"] = "raw",
    ) -> None:
        self.registry = TypeRegistry(types, type_property, resolver)
        super().__init__(cast("Account_co", self.registry.sets[0].account))
        self._mapper = Mapper(self.registry, rejects_unknown=unknown == "raise")

    # ------------------------------------------------------------------ reading

    @recipe
    async def get(
        self, entity_class: Class[T], key: Mapping[str, Any] | None = None, /, **fields: Any
    ) -> TypedEntity[T] | None:
        """Return the value of a class with this key, or None if there is no such entity of the class.

        Cost: 1 transaction, a point query.

        :param entity_class: the class, or a common base class of classes with the same key
        :param key: the fields as a mapping, for field names that are also parameter names
        :param fields: a value for every field of the key
        :raises BadInput: the class was not declared, or its types have several keys
        :raises UnrecognizedEntity: the entity is of a newer version, or does not fit its class

        Guide: point query; retrieving heterogeneous types (the type is known).
        """
        entities, key_fields = self.registry.encoded_fields(entity_class, fields_of(key, fields))
        row = await entities.table.get(*entities.key.format(key_fields))
        return None if row is None else await self._typed_entity(entity_class, row)

    @recipe
    async def get_any(self, partition_key: str, row_key: str) -> TypedEntity[object] | None:
        """Return the value with these keys, of any type, or None. Cost: 1 transaction, a point query.

        :raises BadKey: a key is not a string, or has a character that keys must not have

        Guide: retrieving heterogeneous types (property bag, resolver).
        """
        untyped_set = self.registry.others
        row = await untyped_set.table.get(*untyped_set.key.format({"PartitionKey": partition_key, "RowKey": row_key}))
        return None if row is None else await self._typed_entity(object, row)

    @recipe
    async def find(
        self, entity_class: Class[T], via: Index, key: Mapping[str, Any] | None = None, /, **fields: Any
    ) -> TypedEntity[T] | None:
        """Return the value of a class with this index key, or None. Cost: 1 transaction, a point query.

        :param via: an index of the class's set that copies complete entities

        Guide: intra-partition secondary index pattern; retrieving heterogeneous types.
        """
        key_fields = fields_of(key, fields)
        search = RowQuery.of(self.registry, entity_class, via, None, key_fields)
        row = await search.table.get(*search.point(key_fields))
        return None if row is None else await self._typed_entity(entity_class, row, via)

    @stream
    async def range(
        self,
        key: Mapping[str, Any] | None = None,
        /,
        *,
        where: Filter | None = None,
        allow: QueryClass = QueryClass.RANGE,
        **fields: Any,
    ) -> AsyncIterator[TypedEntity[object]]:
        """Yield the values of all types in a partition; entities of unknown type as `Entity`.

        Cost: 1 transaction per page of up to 1,000 rows, including index rows, which are skipped.

        :param where: a further condition on stored properties
        :param allow: as for `EntitySet.range`
        :param key: the fields as a mapping, for field names that are also parameter names
        :param fields: the PartitionKey fields, and RowKey fields that all types have
        :raises BadKey: the fields do not make a range
        :raises UnrecognizedEntity: an entity does not fit its class, or its type is unknown with `unknown="raise"`

        Guide: retrieving heterogeneous types (several classes from one query).
        """
        search = RowQuery.of(self.registry, object, None, where, fields_of(key, fields), allow)
        async for row in search.table.query(search.filter):
            if (typed_entity := await self._typed_entity(object, row)) is not None:
                yield typed_entity

    @stream
    async def range_of(
        self,
        entity_class: Class[T],
        key: Mapping[str, Any] | None = None,
        /,
        *,
        via: Index | None = None,
        where: Filter | None = None,
        allow: QueryClass = QueryClass.RANGE,
        **fields: Any,
    ) -> AsyncIterator[TypedEntity[T]]:
        """Yield the values of a class and its subclasses, in key order (not on the Cosmos DB Table API).

        Only rows between the first and the last possible key of the class are read. Cost: 1 transaction per page of up
        to 1,000 rows.

        :param entity_class: the class
        :param via: an index of the class's set that copies complete entities
        :raises UnrecognizedEntity: an entity is of a newer version, or does not fit its class

        The other parameters are those of `range`. Guide: retrieving heterogeneous types; range query.
        """
        search = RowQuery.of(self.registry, entity_class, via, where, fields_of(key, fields), allow)
        async for row in search.table.query(search.filter):
            if (typed_entity := await self._typed_entity(entity_class, row, via)) is not None:
                yield typed_entity

    @recipe
    async def page(
        self,
        entity_class: Class[T],
        key: Mapping[str, Any] | None = None,
        /,
        *,
        size: int = 1000,
        token: str | None = None,
        via: Index | None = None,
        where: Filter | None = None,
        allow: QueryClass = QueryClass.RANGE,
        **fields: Any,
    ) -> Page[TypedEntity[T]]:
        """Return one page of the values of a class (`object` for all), and the token of the next page.

        A page has `size` values, unless the range or the service's page ends earlier. Cost: 1 transaction; if the range
        has rows of other types, 1 for each further request that fills the page, and 1 to find its exact end.

        :param size: how many values, 1 to 1,000
        :param token: the token of the previous page
        :raises BadToken: the token belongs to another query

        The other parameters are those of `range_of`. Guide: continuation tokens; retrieving heterogeneous types.
        """
        search = RowQuery.of(self.registry, entity_class, via, where, fields_of(key, fields), allow)

        async def choose(row: Entity) -> TypedEntity[T] | None:
            return await self._typed_entity(entity_class, row, via)

        return await filled_page(search.table, search.filter, size=size, token=token, select=None, choose=choose)

    # ------------------------------------------------------------------ writing

    @recipe
    async def insert(self, value: T, *, retry_for: float = RETRY_FOR) -> TypedEntity[T]:
        """Insert a value as an entity of its type, and return it. Cost: 1 transaction.

        :param retry_for: as for `EntitySet.insert`
        :raises BadInput: the value's class was not declared
        :raises BadProperty: a field has a value of another type
        :raises EntityAlreadyExists: there is an entity of any type with this key
        :raises DuplicateIndexValue: another entity has the same key in an index

        Guide: modifying heterogeneous types (insert).
        """
        kind = self.registry.type_of(value)
        entity = await _inside(kind.entity_set).insert(self._mapper.new(value), retry_for=retry_for)
        return TypedEntity(value, entity, kind.entity_set)

    @recipe
    async def replace(self, typed_entity: TypedEntity[T], value: T, *, retry_for: float = RETRY_FOR) -> TypedEntity[T]:
        """Write a changed value, unless its entity has changed since it was read. Cost: 1 transaction.

        Undeclared properties are kept, and an entity of an earlier version is upgraded.

        :param typed_entity: as it was read; stale after the call
        :param value: the changed value, of the same class and with the same key
        :param retry_for: as for `EntitySet.replace`
        :raises EntityChanged: the entity changed since it was read
        :raises EntityNotFound: the entity does not exist any more
        :raises BadInput: the value is of another class

        Guide: concurrency; modifying heterogeneous types.
        """
        entity = await _inside(typed_entity.entity_set).replace(
            self._mapper.with_value(typed_entity, value), retry_for=retry_for
        )
        return TypedEntity(value, entity, typed_entity.entity_set)

    @recipe
    async def merge(
        self, typed_entity: TypedEntity[T], changes: Mapping[str, Any], *, retry_for: float = RETRY_FOR
    ) -> TypedEntity[T]:
        """Overwrite some fields of an entity of any type, unless it has changed since it was read.

        Cost: 1 transaction.

        :param changes: the fields; undeclared ones are stored unchanged, and None keeps the stored value
        :param retry_for: as for `EntitySet.merge`
        :raises BadInput: the entity is of an earlier version, and must be replaced

        The errors are those of `replace`. Guide: modifying heterogeneous types (the update of EmployeeCount).
        """
        stored = self._mapper.fields_to_merge(typed_entity, changes)
        entity = await _inside(typed_entity.entity_set).merge(
            copy.copy(typed_entity.entity), stored, retry_for=retry_for
        )
        return self._mapper.reread(typed_entity, entity)

    @recipe
    async def delete(self, typed_entity: TypedEntity[Any], *, retry_for: float = RETRY_FOR) -> None:
        """Delete an entity of any type, unless it has changed since it was read. Cost: 1 transaction.

        :param retry_for: as for `EntitySet.delete`
        :raises EntityChanged: the entity changed since it was read
        :raises EntityNotFound: the entity does not exist any more

        Guide: modifying heterogeneous types (delete).
        """
        await _inside(typed_entity.entity_set).delete(self._mapper.copy_of(typed_entity), retry_for=retry_for)

    @recipe
    async def update(
        self,
        change: Callable[[T], T | None],
        entity_class: type[T],
        key: Mapping[str, Any] | None = None,
        /,
        *,
        retry_for: float = RETRY_FOR,
        **fields: Any,
    ) -> TypedEntity[T]:
        """Read a value, change it, and write it back; retry if another writer was faster.

        Cost: 1 read and 1 write per attempt.

        :param change: changes the value in place, or returns a changed value; called once per attempt; may raise to
            cancel the update
        :param entity_class: the class, or a common base class of classes with the same key
        :param retry_for: as for `EntitySet.update`
        :param key: the fields as a mapping, for field names that are also parameter names
        :param fields: a value for every field of the key
        :raises BadInput: `change` returned a value that is not of the class
        :raises EntityNotFound: there is no such entity of the class
        :raises TooMuchContention: another writer was faster during every attempt

        Guide: concurrency; modifying heterogeneous types.
        """
        entities, key_fields = self.registry.encoded_fields(entity_class, fields_of(key, fields))
        values: list[T] = []

        def apply(entity: Entity) -> None:
            typed_entity = self._mapper.typed_entity(entity_class, entity, entities)
            if typed_entity is None:
                raise _OfAnotherClass
            value = _apply_change(
                typed_entity.value, change, tuple(entity_type.entity_class for entity_type in self.registry.types)
            )
            new_entity = self._mapper.with_value(typed_entity, value)
            entity.clear()
            entity.update(new_entity)
            values[:] = [value]

        try:
            entity = await _inside(entities).update(apply, key_fields, retry_for=retry_for)
        except _OfAnotherClass:
            raise EntityNotFound(f"the entity {key_fields} is of another class; read it with get_any") from None
        return TypedEntity(values[0], entity, entities)

    # ------------------------------------------------------------------ entity group transactions

    @checked
    def inserting(self, value: object) -> Write:
        """Return the change that `insert` makes, for an `EntityGroupTransaction`; nothing is sent."""
        return self.registry.type_of(value).entity_set.inserting(self._mapper.new(value))

    @checked
    def replacing(self, typed_entity: TypedEntity[T], value: T) -> Write:
        """Return the change that `replace` makes, for an `EntityGroupTransaction`; nothing is sent."""
        return typed_entity.entity_set.replacing(self._mapper.with_value(typed_entity, value))

    @checked
    def deleting(self, typed_entity: TypedEntity[Any]) -> Write:
        """Return the change that `delete` makes, for an `EntityGroupTransaction`; nothing is sent."""
        return typed_entity.entity_set.deleting(self._mapper.copy_of(typed_entity))

    @checked
    def typed_entity(self, entity_class: Class[T], entity: Entity) -> TypedEntity[T] | None:
        """Return the value of an entity that a set has read or committed, or None if it is of another class.

        :raises BadInput: it was read from another set
        :raises UnrecognizedEntity: it does not fit the class

        Guide: entity group transactions; retrieving heterogeneous types.
        """
        home = self.registry.set_of(entity)
        check_read_from(home, entity)
        return self._mapper.typed_entity(entity_class, entity, home)

    async def _typed_entity(
        self, entity_class: Class[T], row: Entity, via: Index | None = None
    ) -> TypedEntity[T] | None:
        home = self.registry.set_of_row(row) if via is None else self.registry.indexed(entity_class, via)
        entity = None if home is None else await entity_of(_inside(home), row, via)
        return None if home is None or entity is None else self._mapper.typed_entity(entity_class, entity, home)


def _apply_change(value: T, change: Callable[[T], T | None], entity_classes: tuple[type[Any], ...]) -> T:
    """Return the value after the caller's callback has changed it in place or returned a new one."""
    returned: object = change(value)
    _close(returned)
    if returned is None:
        return value
    # A value of another declared class is rejected later, with its own error
    if not isinstance(returned, (type(value), *entity_classes)):
        rule = f"it must change the {type(value).__name__} in place and return None, or return a changed one"
        hint = f"return None or a {type(value).__name__}, from a function without async"
        raise BadInput("change", type(returned).__name__, rule, hint)
    return cast("T", returned)  # pyright: ignore[reportUnnecessaryCast]


def _close(returned: object) -> None:
    """Close a coroutine that will not be awaited, so that Python does not warn."""
    if isinstance(returned, Coroutine):
        returned.close()


class _OfAnotherClass(Exception):
    """The entity is not of the requested class; not raised to callers."""


def _inside(entities: EntitySet[Any]) -> EntitySet[Account]:
    return cast("EntitySet[Account]", bound_async(entities))
