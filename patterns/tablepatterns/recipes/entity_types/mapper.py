"""Convert entities to typed objects and back, and find the rows that hold objects of a type."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Generic, TypeVar, cast

from ...edm import ordinal
from ...entity import Entity
from ...entity_set.derived import Index, RowLayout
from ...entity_set.entity_set import EntitySet
from ...entity_set.internals import check_filter, derived_rows, primary_layout
from ...entity_set.range_query import check_class, condition, range_filter
from ...errors import BadFilter, BadInput, BadProperty, UnrecognizedEntity
from ...filters import Filter, QueryClass
from ...key import KeyRange
from ...sdk.table import Table
from .type_registry import Class, KnownType, TypeRegistry, UnknownType

T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False)
class TypedEntity(Generic[T]):
    """A value, together with the entity that it was read from or written to.

    The entity has the ETag and the undeclared properties, so the value remains a plain object of your class. Pass this
    and a changed value to `EntityTypes.replace`.

    Guide: working with heterogeneous entity types (the resolver fills keys, Timestamp and ETag).
    """

    value: T
    """The object; if the type is unknown, a copy of the entity."""
    entity: Entity
    """All stored fields, including those that the class does not declare."""
    entity_set: EntitySet[Any] = field(repr=False)
    """The set that the entity belongs to."""

    @property
    def key(self) -> tuple[str | None, str | None]:
        """The PartitionKey and the RowKey."""
        return self.entity.key

    @property
    def etag(self) -> str | None:
        """The ETag of the entity as it was read."""
        return self.entity.etag

    @property
    def timestamp(self) -> datetime | None:
        """When the entity was last written, by the service's clock."""
        return self.entity.timestamp

    def __repr__(self) -> str:
        # The value may contain properties that are stored encrypted
        return f"<TypedEntity {type(self.value).__name__} {self.key} {self.etag}>"


class Mapper:
    """Convert entities to values after reading, and values to entities before writing.

    :param registry: the types
    :param rejects_unknown: whether an entity of unknown type is an error
    """

    def __init__(self, registry: TypeRegistry, *, rejects_unknown: bool) -> None:
        self._registry = registry
        self._rejects_unknown = rejects_unknown

    def typed_entity(self, entity_class: Class[T], entity: Entity, home: EntitySet[Any]) -> TypedEntity[T] | None:
        """Return the value of an entity; None if it is of another class.

        :raises UnrecognizedEntity: it is of a newer version, does not fit its class, or is of unknown type and such
            entities are rejected
        """
        value_class = cast("type[Any]", entity_class)
        info = self._registry.type_info(entity, home)
        if isinstance(info, KnownType):
            if not issubclass(info.type.entity_class, value_class):
                return None
            return TypedEntity(cast("T", info.type.model.value(entity, info.version)), entity, home)
        is_asked_for = (
            value_class is not object
            and info.newer_of is not None
            and issubclass(info.newer_of.entity_class, value_class)
        )
        if self._rejects_unknown or is_asked_for:
            text = f"unrecognized entity {entity.key}: {info.reason}; declare its type, or update the program"
            raise UnrecognizedEntity(text)
        # A copy, so that changes can be detected
        return TypedEntity(cast("T", copy.copy(entity)), entity, home) if value_class is object else None

    def reread(self, typed_entity: TypedEntity[T], entity: Entity) -> TypedEntity[T]:
        """Return a typed entity as it is after a write."""
        info = self._registry.type_info(entity, typed_entity.entity_set)
        value: object = (
            copy.copy(entity) if isinstance(info, UnknownType) else info.type.model.value(entity, info.version)
        )
        return TypedEntity(cast("T", value), entity, typed_entity.entity_set)

    def new(self, value: object) -> dict[str, Any]:
        """Return the fields of a new entity.

        :raises BadInput: the value's class was not declared
        """
        kind = self._registry.type_of(value)
        return self._registry.tagged(kind.model.fields(value), kind)

    def copy_of(self, typed_entity: TypedEntity[Any]) -> Entity:
        """Return a copy of the entity, for a write to update.

        :raises BadInput: it was read with another `EntityTypes`
        """
        if typed_entity.entity_set is not self._registry.others and typed_entity.entity_set not in self._registry.sets:
            rule = "it was read with another EntityTypes"
            raise BadInput("typed_entity", typed_entity.key, rule, "read and write it with the same one")
        return copy.copy(typed_entity.entity)

    def with_value(self, typed_entity: TypedEntity[Any], value: object) -> Entity:
        """Return the entity with the fields of a changed value.

        :raises BadInput: the value is of another class
        """
        entity = self.copy_of(typed_entity)
        fields = self._rewritten(typed_entity, value)
        entity.clear()
        entity.update(fields)
        return entity

    def _rewritten(self, typed_entity: TypedEntity[Any], value: object) -> dict[str, Any]:
        info = self._registry.type_info(typed_entity.entity, typed_entity.entity_set)
        type_property = self._registry.type_property
        if isinstance(info, KnownType):
            _check_class(value, info.type.entity_class)
            return self._registry.tagged(info.type.model.rewritten(typed_entity.entity, info.version, value), info.type)
        _check_class(value, Entity)
        fields = dict(cast("Entity", value))
        if type_property is not None and fields.get(type_property) != typed_entity.entity.get(type_property):
            rule = f"an entity keeps its type, which is {typed_entity.entity.get(type_property)!r}"
            raise BadProperty(
                type_property,
                fields.get(type_property),
                rule,
                "delete it, and insert the other under its own key, in one EntityGroupTransaction",
            )
        return fields

    def fields_to_merge(self, typed_entity: TypedEntity[Any], changes: Mapping[str, Any]) -> dict[str, Any]:
        """Validate changes of fields, and return them as they are stored.

        :raises BadInput: the entity is of an earlier version
        :raises BadProperty: a value does not fit its field, or a change is to the type property
        """
        entity = self.copy_of(typed_entity)
        type_property = self._registry.type_property
        if type_property is not None and type_property in changes:
            raise BadProperty(type_property, changes[type_property], "an entity keeps its type", "leave it out")
        new_values = {name: value for name, value in changes.items() if value is not None}
        info = self._registry.type_info(entity, typed_entity.entity_set)
        if isinstance(info, UnknownType):
            return new_values
        if info.version != info.type.version:
            rule = f"it is of version {info.version}; a merge would mix it with version {info.type.version}"
            raise BadInput("entity", typed_entity.key, rule, "replace it, which upgrades it")
        stored = {name: info.type.model.field(name, value) for name, value in new_values.items()}
        entity.update(stored)
        info.type.model.value(entity, info.version)
        return stored


def _check_class(value: object, entity_class: type[Any]) -> None:
    if type(value) is not entity_class:
        rule = f"the entity is of type {entity_class.__name__}, and keeps its type"
        raise BadInput(
            "type",
            type(value).__name__,
            rule,
            "delete it, and insert the other under its own key, in one EntityGroupTransaction",
        )


def bounding_range(ranges: Sequence[KeyRange]) -> KeyRange:
    """Return the smallest range that contains all of these.

    >>> departments, employees = (KeyRange.beginning_with("Sales", text) for text in ("DEPARTMENT", "EMPLOYEE_"))
    >>> bounding_range([employees, departments])
    KeyRange(partition_key='Sales', lower='DEPARTMENT', lower_inclusive=True, upper='EMPLOYEE`', upper_inclusive=False)

    :param ranges: at least one
    :raises BadInput: they are in several partitions
    """
    partitions = sorted({key_range.partition_key for key_range in ranges})
    if len(partitions) > 1:
        rule = "the types are in several partitions, and a range query reads one"
        raise BadInput("PartitionKey", partitions, rule, "query each type separately")
    lowest = min(ranges, key=lambda key_range: (ordinal(key_range.lower or ""), not key_range.lower_inclusive))
    highest = max(
        ranges,
        key=lambda key_range: (key_range.upper is None, ordinal(key_range.upper or ""), key_range.upper_inclusive),
    )
    return KeyRange(partitions[0], lowest.lower, lowest.lower_inclusive, highest.upper, highest.upper_inclusive)


@dataclass(frozen=True)
class RowQuery:
    """A query for a range of rows of one table."""

    table: Table
    keys: KeyRange
    where: Filter | None

    @classmethod
    def of(
        cls,
        registry: TypeRegistry,
        entity_class: object,
        via: Index | None,
        where: Filter | None,
        fields: Mapping[str, Any],
        allow: QueryClass = QueryClass.RANGE,
    ) -> RowQuery:
        """Return the query for the values of a class.

        :param allow: the worst class of query that is allowed with `where`
        :raises BadInput: the class was not declared, its values are in several partitions, or the index does not copy
            complete entities
        :raises BadKey: the fields do not make a range
        :raises BadFilter: the condition cannot be applied to stored properties, or makes the query a scan
        """
        query = cls._of(registry, entity_class, via, where, fields)
        if where is not None:
            check_class(query.filter, allow)
        return query

    @classmethod
    def _of(
        cls,
        registry: TypeRegistry,
        entity_class: object,
        via: Index | None,
        where: Filter | None,
        fields: Mapping[str, Any],
    ) -> RowQuery:
        types = registry.types_of(entity_class)
        if via is not None:
            return cls._via(registry.indexed(entity_class, via), via, where, types[0].model.key_fields(fields))
        ranges: list[KeyRange] = []
        conditions: set[Filter | None] = set()
        for entity_type in types:
            key_fields = entity_type.model.key_fields(fields)
            conditions.add(
                _condition(entity_type.entity_set, primary_layout(entity_type.entity_set), where, key_fields)
            )
            ranges.append(entity_type.entity_set.key.range(key_fields))
        if len(conditions) > 1:
            rule = "the types do not store its fields in the same way: some of them in their keys"
            raise BadFilter("where", str(where), rule, "query each type with range_of, or give it as a keyword")
        keys = bounding_range(ranges)
        is_of_all = entity_class is object and not any(
            name in entity_type.entity_set.key.row_fields for entity_type in types for name in fields
        )
        # An entity of unknown type may be anywhere in the partition
        keys = KeyRange.beginning_with(keys.partition_key, "") if is_of_all else keys
        return cls(types[0].entity_set.table, keys, conditions.pop())

    @classmethod
    def _via(
        cls, entities: EntitySet[Any], via: Index, where: Filter | None, key_fields: Mapping[str, Any]
    ) -> RowQuery:
        shape = via.shape(entities.key)
        if not shape.is_complete:
            rule = "its rows have only some properties, and a value needs all"
            raise BadInput("index", via.name, rule, "query the set, which returns entities")
        where = _condition(entities, shape, where, key_fields)
        table = entities.table if shape.table is None else derived_rows(entities).table(shape.table)
        return cls(table, via.key.range(key_fields), where)

    @property
    def filter(self) -> Filter:
        """The filter of the query."""
        bounds = range_filter(self.keys)
        return bounds if self.where is None else bounds & self.where

    def point(self, fields: Mapping[str, Any]) -> tuple[str, str]:
        """Return the keys of the single row in the range.

        :raises BadInput: the range may have several
        """
        if self.keys.row_key is None:
            rule = "find needs one value for every field of the key"
            raise BadInput("fields", sorted(fields), rule, "pass all of them, or use range_of")
        return self.keys.partition_key, self.keys.row_key


def _condition(
    entities: EntitySet[Any], shape: RowLayout, where: Filter | None, key_fields: Mapping[str, Any]
) -> Filter | None:
    if where is None:
        return None
    check_filter(entities, where)
    return condition(shape, where, key_fields)
