"""Register the types of a table, and determine the type of an entity."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Final, TypeAlias, TypeVar

from ...entity import Entity, storable
from ...entity_set.compatibility import EVERY_ROW
from ...entity_set.derived import Index
from ...entity_set.entity_set import EntitySet
from ...entity_set.internals import mappings_of
from ...errors import BadDesign, BadInput
from ...key import Key
from ...limits import MAX_KEY_UNITS_LOOSE
from .entity_type import EntityType

T = TypeVar("T")
Class: TypeAlias = Callable[..., T]
"""A class, which may be abstract, unlike `type[T]`."""

Resolver: TypeAlias = Callable[[Entity], "type[Any] | None"]
"""Returns the class of an entity that lacks the type property, or None if it is unknown."""

_TYPE: Final = re.compile(r"([^.]+)(?:\.([1-9][0-9]{0,8}))?")


@dataclass(frozen=True)
class KnownType:
    """An entity's type, and the version that it was written in."""

    type: EntityType[Any]
    version: int


@dataclass(frozen=True)
class UnknownType:
    """Why an entity's type cannot be determined."""

    reason: str
    newer_of: EntityType[Any] | None = None
    """The type, if the entity is of a newer version of it."""


class TypeRegistry:
    """The types of one table.

    :param types: each with its set
    :param type_property: the property with the type and version; None if the keys determine the type
    :param resolver: returns the class of an entity that lacks the type property
    :raises BadDesign: the types cannot be distinguished
    """

    def __init__(self, types: Sequence[EntityType[Any]], type_property: str | None, resolver: Resolver | None) -> None:
        self.types = tuple(types)
        self.type_property = type_property
        self._resolver = resolver
        self.sets: tuple[EntitySet[Any], ...] = tuple(
            dict.fromkeys(entity_type.entity_set for entity_type in self.types)
        )
        self._named = {entity_type.name: entity_type for entity_type in self.types}
        self._by_class = {entity_type.entity_class: entity_type for entity_type in self.types}
        self._check_one_table()
        self._check_unique()
        self._check_keys()
        if type_property is None:
            self._check_keys_determine_types()
        else:
            self._check_type_property(type_property)
        everything = Key(*EVERY_ROW, max_units=MAX_KEY_UNITS_LOOSE)
        self.others = EntitySet(self.sets[0].account, self.sets[0].table.name, everything)
        """All rows of the table, for entities of unknown type."""

    def type_of(self, value: object) -> EntityType[Any]:
        """Return the type of a value.

        :raises BadInput: its class was not declared
        """
        entity_type = self._by_class.get(type(value))
        if entity_type is None:
            rule = f"the declared classes are {', '.join(known.entity_class.__name__ for known in self.types)}"
            raise BadInput("type", type(value).__name__, rule, "declare it with an EntityType")
        return entity_type

    def encoded_fields(self, entity_class: object, fields: Mapping[str, Any]) -> tuple[EntitySet[Any], dict[str, Any]]:
        """Return the only set with values of a class, and the key fields as it stores them.

        :raises BadInput: there are several sets
        :raises BadKey: a value does not fit its field
        """
        types = self.types_of(entity_class)
        sets = list(dict.fromkeys(entity_type.entity_set for entity_type in types))
        if len(sets) > 1:
            rule = f"it has several keys, those of {', '.join(entity_type.name for entity_type in types)}"
            raise BadInput(
                "type", getattr(entity_class, "__name__", entity_class), rule, "use one of these, or get_any"
            )
        return sets[0], types[0].model.key_fields(fields)

    def indexed(self, entity_class: object, via: Index) -> EntitySet[Any]:
        """Return the set of a class that has the given index.

        :raises BadInput: no set has it, or several have
        """
        sets = list(
            dict.fromkeys(
                entity_type.entity_set
                for entity_type in self.types_of(entity_class)
                if via in entity_type.entity_set.derived
            )
        )
        if len(sets) != 1:
            rule = f"{len(sets)} of the sets of this class have it"
            raise BadInput("index", via.name, rule, "use an index of the set of the class")
        return sets[0]

    def types_of(self, base: object) -> list[EntityType[Any]]:
        """Return the types of a class and its subclasses.

        :raises BadInput: there are none, or it is not a class
        """
        if not isinstance(base, type):
            raise BadInput(
                "type", base, "it is not a class", "pass a declared dataclass, or a base class of declared ones"
            )
        types = [entity_type for entity_type in self.types if issubclass(entity_type.entity_class, base)]
        if not types:
            rule = f"none of {', '.join(entity_type.entity_class.__name__ for entity_type in self.types)} is a subclass"
            raise BadInput("type", base.__name__, rule, "declare it with an EntityType")
        return types

    def tagged(self, fields: dict[str, Any], kind: EntityType[Any]) -> dict[str, Any]:
        """Return fields with the type property added."""
        if self.type_property is None:
            return fields
        return fields | {self.type_property: kind.name if kind.version == 1 else f"{kind.name}.{kind.version}"}

    def set_of_row(self, row: Entity) -> EntitySet[Any] | None:
        """Return the set of a row, or None if the row is derived."""
        tagged_set = self._tagged_set(row)
        if tagged_set is None and self._is_derived(row):
            return None
        return tagged_set or self._matching_set(row)

    def set_of(self, entity: Entity) -> EntitySet[Any]:
        """Return the set of an entity that was read or written."""
        return self._tagged_set(entity) or self._matching_set(entity)

    def _tagged_set(self, row: Entity) -> EntitySet[Any] | None:
        type_property = None if self.type_property is None else row.get(self.type_property)
        entity_type = self._named.get(_parse(type_property)[0])
        return entity_type.entity_set if entity_type is not None and _fits(entity_type.entity_set, row) else None

    def _matching_set(self, row: Entity) -> EntitySet[Any]:
        fitting = [entity_set for entity_set in self.sets if _fits(entity_set, row)]
        return fitting[0] if len(fitting) == 1 else self.others

    def type_info(self, entity: Entity, home: EntitySet[Any]) -> KnownType | UnknownType:
        """Determine the type of an entity of a set."""
        types = [entity_type for entity_type in self.types if entity_type.entity_set is home]
        if not types:
            return UnknownType("its keys do not belong to a declared type")
        if self.type_property is None or self.type_property not in entity:
            return self._untagged_type(entity, types)
        name, version = _parse(entity[self.type_property])
        entity_type = next((candidate for candidate in types if candidate.name == name), None)
        if entity_type is None:
            return UnknownType(f"{self.type_property} is {entity[self.type_property]!r}, which was not declared")
        if version > entity_type.version:
            rule = f"{self.type_property} is {entity[self.type_property]!r}, newer than version {entity_type.version}"
            return UnknownType(rule, entity_type)
        return KnownType(entity_type, version)

    def _untagged_type(self, entity: Entity, types: Sequence[EntityType[Any]]) -> KnownType | UnknownType:
        if self._resolver is not None:
            entity_class = self._resolver(entity)
            entity_type = next((candidate for candidate in types if candidate.entity_class is entity_class), None)
            return (
                UnknownType("it has no type property, and the resolver does not know it")
                if entity_type is None
                else KnownType(entity_type, 1)
            )
        if len(types) > 1:
            return UnknownType("it has no type property, and its set has several types")
        return KnownType(types[0], 1)

    def _is_derived(self, row: Entity) -> bool:
        for entity_set in self.sets:
            table = entity_set.table.name
            for derived in entity_set.derived:
                if (
                    derived.table(table).lower() == table.lower()
                    and derived.primary_keys_of(entity_set.key, row) is not None
                ):
                    return True
        return False

    # ------------------------------------------------------------------ checks of the design

    def _check_one_table(self) -> None:
        if not self.types:
            raise BadDesign("types", (), "there are none", "pass at least one EntityType")
        for one, another in combinations(self.sets, 2):
            if one.account is not another.account or one.table.name.lower() != another.table.name.lower():
                rule = f"other types are in {one.table.name!r}, and all must be in one table of one account"
                raise BadDesign(
                    "types", another.table.name, rule, "make the sets on one table, or give each its own types"
                )

    def _check_unique(self) -> None:
        for one, another in combinations(self.types, 2):
            if one.name == another.name or one.entity_class is another.entity_class:
                rule = "two types have this name or class"
                raise BadDesign("types", another.name, rule, "declare each class once, with a unique name")

    def _check_keys(self) -> None:
        for one, another in combinations(self.sets, 2):
            if one.key == another.key:
                rule = "two sets have this key, so their entities cannot be distinguished"
                raise BadDesign("types", one.key.row_template, rule, "use one set for both types")

    def _check_keys_determine_types(self) -> None:
        for first, second in combinations(self.types, 2):
            if first.entity_set is second.entity_set:
                rule = f"it shares its keys with {first.name}, and there is no type property"
                raise BadDesign(
                    "types", second.name, rule, "set type_property, or give each type a set with its own keys"
                )
        for entity_type in self.types:
            if entity_type.model.upgrades:
                raise BadDesign(
                    "upgrades", entity_type.name, "there is no property for the version", "set type_property"
                )

    def _check_type_property(self, type_property: str) -> None:
        storable(type_property, "")
        for entity_type in self.types:
            mappings: Collection[str] = [
                name for mapping in mappings_of(entity_type.entity_set).mappings for name in mapping.fields
            ]
            if (
                type_property in entity_type.model.members
                or type_property in mappings
                or type_property in entity_type.entity_set.key.fields
            ):
                rule = f"{entity_type.name} has a field with this name, or its set maps or keys by it"
                raise BadDesign("type_property", type_property, rule, "use another name")


def _fits(entities: EntitySet[Any], row: Entity) -> bool:
    return entities.key.matches(row.partition_key or "", row.row_key or "")


def _parse(text: object) -> tuple[str, int]:
    """Return the name and version in a type property; the name is "" if it cannot be parsed."""
    match = _TYPE.fullmatch(text) if isinstance(text, str) else None
    return ("", 1) if match is None else (match[1], int(match[2] or 1))
