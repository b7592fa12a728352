"""Desk: entities become values here, and values the fields of entities."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from ..entity import Entity
from ..entity_set import EntitySet
from ..errors import BadInput, BadProperty, UnrecognizedEntity
from .catalog import Catalog, Class, Known, Unknown
from .held import Held

T = TypeVar("T")


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
