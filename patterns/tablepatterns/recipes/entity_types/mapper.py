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
from ...entity_set.range_query import Question, check_class, range_filter
from ...errors import BadInput, BadProperty, UnrecognizedEntity
from ...filters import Filter, QueryClass
from ...key import KeyRange
from ...sdk.table import Table
from .type_registry import Catalog, Class, Known, Unknown

T = TypeVar("T")


@dataclass(frozen=True, eq=False, repr=False)
class Held(Generic[T]):
    """A value as it was read or written, and beside it what the value itself has no room for.

    The value is one of the caller's own classes, frozen or not: nothing is added to it. `EntityTypes.replace` takes
    this and a changed value.

    Guide: working with heterogeneous entity types (the resolver fills keys, Timestamp and ETag).
    """

    value: T
    """The object; where the type is unknown, the entity itself."""
    entity: Entity
    """All fields as they are stored, those that the class does not know among them."""
    entities: EntitySet[Any] = field(repr=False)
    """The set that it was read from."""

    @property
    def key(self) -> tuple[str | None, str | None]:
        """The PartitionKey and the RowKey."""
        return self.entity.key

    @property
    def etag(self) -> str | None:
        """The ETag that a write of it is conditional on."""
        return self.entity.etag

    @property
    def timestamp(self) -> datetime | None:
        """When it was written, by the service's clock."""
        return self.entity.timestamp

    def __repr__(self) -> str:
        # The value may hold what is encrypted where it is stored
        return f"<Held {type(self.value).__name__} {self.key} {self.etag}>"


class Desk:
    """What `EntityTypes` does with entities once they are read, and before they are written.

    :param catalog: the types
    :param refuses_unknown: whether entities of unknown type are refused wherever they are met
    """

    def __init__(self, catalog: Catalog, *, refuses_unknown: bool) -> None:
        self._catalog = catalog
        self._refuses_unknown = refuses_unknown

    def held(self, of: Class[T], entity: Entity, home: EntitySet[Any]) -> Held[T] | None:
        """Return the value of an entity; None if it is of another class.

        :raises UnrecognizedEntity: it is of a newer version, or not as its class wants it; or it is unknown, and such
            are refused
        """
        asked = cast("type[Any]", of)
        told = self._catalog.told(entity, home)
        if isinstance(told, Known):
            if not issubclass(told.type.of, asked):
                return None
            return Held(cast("T", told.type.value(entity, told.version)), entity, home)
        is_asked_for = asked is not object and told.newer_of is not None and issubclass(told.newer_of.of, asked)
        if self._refuses_unknown or is_asked_for:
            text = f"unrecognized entity {entity.key}: {told.reason}; declare its type, or use a newer program"
            raise UnrecognizedEntity(text)
        # A copy, so that it can be compared with what was read
        return Held(cast("T", copy.copy(entity)), entity, home) if asked is object else None

    def again(self, held: Held[T], entity: Entity) -> Held[T]:
        """Return what was held, as it is after a write."""
        told = self._catalog.told(entity, held.entities)
        value: object = copy.copy(entity) if isinstance(told, Unknown) else told.type.value(entity, told.version)
        return Held(cast("T", value), entity, held.entities)

    def new(self, value: object) -> dict[str, Any]:
        """Return the fields of a new entity.

        :raises BadInput: the value's class was not declared
        """
        kind = self._catalog.type_of(value)
        return self._catalog.marked(kind.fields(value), kind)

    def own(self, held: Held[Any]) -> Entity:
        """Return a copy of what is held, which a write may bring up to date.

        :raises BadInput: it is held of other types
        """
        if held.entities is not self._catalog.others and held.entities not in self._catalog.sets:
            rule = "it was read by other EntityTypes"
            raise BadInput("held", held.key, rule, "read it with these, or write it with those")
        return copy.copy(held.entity)

    def changed(self, held: Held[Any], value: object) -> Entity:
        """Return the entity that is held, with the fields of a changed value.

        :raises BadInput: the value is of another class
        """
        entity = self.own(held)
        fields = self._rewritten(held, value)
        entity.clear()
        entity.update(fields)
        return entity

    def _rewritten(self, held: Held[Any], value: object) -> dict[str, Any]:
        told = self._catalog.told(held.entity, held.entities)
        mark = self._catalog.mark
        if isinstance(told, Known):
            _check_class(value, told.type.of)
            return self._catalog.marked(told.type.rewritten(held.entity, told.version, value), told.type)
        _check_class(value, Entity)
        fields = dict(cast("Entity", value))
        if mark is not None and fields.get(mark) != held.entity.get(mark):
            rule = f"an entity keeps its type, and this was read with {held.entity.get(mark)!r}"
            raise BadProperty(
                mark,
                fields.get(mark),
                rule,
                "delete it, and insert the other under its own key, in one EntityGroupTransaction",
            )
        return fields

    def merged(self, held: Held[Any], changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return changes of fields as they are stored, once the class has agreed to them.

        :raises BadInput: the entity is of an earlier version
        :raises BadProperty: a field has a value of another type, or is the mark
        """
        entity = self.own(held)
        mark = self._catalog.mark
        if mark is not None and mark in changes:
            raise BadProperty(mark, changes[mark], "an entity keeps its type", "leave it out")
        given = {name: value for name, value in changes.items() if value is not None}
        told = self._catalog.told(entity, held.entities)
        if isinstance(told, Unknown):
            return given
        if told.version != told.type.version:
            rule = f"it is of version {told.version}, and would be half in that and half in {told.type.version}"
            raise BadInput("entity", held.key, rule, "replace it, which upgrades it")
        stored = {name: told.type.field(name, value) for name, value in given.items()}
        entity.update(stored)
        told.type.value(entity, told.version)
        return stored


def _check_class(value: object, of: type[Any]) -> None:
    if type(value) is not of:
        rule = f"the entity is of the type {of.__name__}, and keeps it"
        raise BadInput(
            "type",
            type(value).__name__,
            rule,
            "delete it, and insert the other under its own key, in one EntityGroupTransaction",
        )


def hull(ranges: Sequence[KeyRange]) -> KeyRange:
    """Return the least range that holds all rows of these.

    >>> departments, employees = (KeyRange.beginning_with("Sales", text) for text in ("DEPARTMENT", "EMPLOYEE_"))
    >>> hull([employees, departments])
    KeyRange(partition_key='Sales', lower='DEPARTMENT', lower_inclusive=True, upper='EMPLOYEE`', upper_inclusive=False)

    :param ranges: at least one
    :raises BadInput: they lie in several partitions
    """
    partitions = sorted({each.partition_key for each in ranges})
    if len(partitions) > 1:
        rule = "the types lie in several partitions, which no range query reads at once"
        raise BadInput("PartitionKey", partitions, rule, "ask for each type of its own")
    lowest = min(ranges, key=lambda each: (ordinal(each.lower or ""), not each.lower_inclusive))
    highest = max(ranges, key=lambda each: (each.upper is None, ordinal(each.upper or ""), each.upper_inclusive))
    return KeyRange(partitions[0], lowest.lower, lowest.lower_inclusive, highest.upper, highest.upper_inclusive)


@dataclass(frozen=True)
class Search:
    """A range of rows of one table, and a further condition."""

    table: Table
    keys: KeyRange
    where: Filter | None

    @classmethod
    def of(
        cls,
        catalog: Catalog,
        of: object,
        via: Index | None,
        where: Filter | None,
        fields: Mapping[str, Any],
        allow: QueryClass = QueryClass.RANGE,
    ) -> Search:
        """Return the rows to look through for the values of a class.

        :raises BadInput: the class was not declared, its index holds entities in part, or its values lie apart
        :raises BadKey: the fields do not make a range
        :param allow: the worst class of query to allow with `where`
        :raises BadFilter: the condition cannot be put on what is stored, or makes the query a scan
        """
        found = cls._of(catalog, of, via, where, fields)
        if where is not None:
            check_class(found.filter, allow)
        return found

    @classmethod
    def _of(
        cls, catalog: Catalog, of: object, via: Index | None, where: Filter | None, fields: Mapping[str, Any]
    ) -> Search:
        types = catalog.types_of(of)
        if via is not None:
            return cls._via(catalog.indexed(of, via), via, where, types[0].asked(via.key, fields))
        ranges: list[KeyRange] = []
        for each in types:
            asked = each.asked(each.entities.key, fields)
            _check(each.entities, each.entities.primary, where, asked)
            ranges.append(each.entities.key.range(asked))
        keys = hull(ranges)
        is_of_all = of is object and not any(name in each.entities.key.row_fields for each in types for name in fields)
        # What is of no known type may lie anywhere in the partition
        keys = KeyRange.beginning_with(keys.partition_key, "") if is_of_all else keys
        return cls(types[0].entities.table, keys, where)

    @classmethod
    def _via(cls, entities: EntitySet[Any], via: Index, where: Filter | None, asked: Mapping[str, Any]) -> Search:
        shape = via.shape(entities.key)
        if not shape.is_complete:
            rule = "its rows hold only a part of the entities, and no value can be made of a part"
            raise BadInput("index", via.name, rule, "ask the set itself, which hands out entities")
        _check(entities, shape, where, asked)
        table = entities.table if shape.table is None else entities.rows.table(shape.table)
        return cls(table, via.key.range(asked), where)

    @property
    def filter(self) -> Filter:
        """The filter of the query."""
        bounds = range_filter(self.keys)
        return bounds if self.where is None else bounds & self.where

    def point(self, fields: Mapping[str, Any]) -> tuple[str, str]:
        """Return the keys of the one row that this is.

        :raises BadInput: it may be more than one
        """
        if self.keys.row_key is None:
            rule = "it is not every field of the key, each with one value"
            raise BadInput("fields", sorted(fields), rule, "give all of them, or use range_of")
        return self.keys.partition_key, self.keys.row_key


def _check(entities: EntitySet[Any], shape: RowLayout, where: Filter | None, asked: Mapping[str, Any]) -> None:
    entities.mappings.check_filter(where)
    Question.of(shape, where, None, asked, QueryClass.TABLE_SCAN)
