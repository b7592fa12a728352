"""Register the types of a table, and find the type of an entity."""

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
from ...errors import BadDesign, BadInput
from ...key import Key
from ...limits import MAX_KEY_UNITS_LOOSE
from .entity_type import EntityType

T = TypeVar("T")
Class: TypeAlias = Callable[..., T]
"""A class, an abstract one too, which `type[T]` would not take."""

Resolver: TypeAlias = Callable[[Entity], "type[Any] | None"]
"""Tells the class of an entity without a mark, by all that is known of it; None where it is unknown."""

_MARK: Final = re.compile(r"([^.]+)(?:\.([1-9][0-9]{0,8}))?")


@dataclass(frozen=True)
class Known:
    """An entity's type, and the version of it that it was written in."""

    type: EntityType[Any]
    version: int


@dataclass(frozen=True)
class Unknown:
    """Why nobody can tell an entity's type."""

    reason: str
    newer_of: EntityType[Any] | None = None
    """The type of which it is a newer version than is known."""


class Catalog:
    """The types of one table.

    :param types: each with its set
    :param mark: the property that tells the type and its version; None where the keys alone tell it
    :param resolver: tells the type of an entity without a mark
    :raises BadDesign: the types cannot be told apart
    """

    def __init__(self, types: Sequence[EntityType[Any]], mark: str | None, resolver: Resolver | None) -> None:
        self.types = tuple(types)
        self.mark = mark
        self._resolver = resolver
        self.sets: tuple[EntitySet[Any], ...] = tuple(dict.fromkeys(each.entities for each in self.types))
        self._named = {each.name: each for each in self.types}
        self._by_class = {each.of: each for each in self.types}
        self._check_one_table()
        self._check_named()
        self._check_keys()
        if mark is None:
            self._check_told_by_keys()
        else:
            self._check_mark(mark)
        everything = Key(*EVERY_ROW, max_units=MAX_KEY_UNITS_LOOSE)
        self.others = EntitySet(self.sets[0].account, self.sets[0].table.name, everything)
        """Every row of the table as it is, for those of no type."""

    def type_of(self, value: object) -> EntityType[Any]:
        """Return the type of a value.

        :raises BadInput: its class was not declared
        """
        found = self._by_class.get(type(value))
        if found is None:
            rule = f"its class is none of {', '.join(each.of.__name__ for each in self.types)}"
            raise BadInput("type", type(value).__name__, rule, "declare it with an EntityType")
        return found

    def asked(self, of: object, fields: Mapping[str, Any]) -> tuple[EntitySet[Any], dict[str, Any]]:
        """Return the one set that values of a class are in, and what is asked of its key.

        :raises BadInput: there are several
        :raises BadKey: a value is of another type than the field
        """
        types = self.types_of(of)
        sets = list(dict.fromkeys(each.entities for each in types))
        if len(sets) > 1:
            rule = f"its values have several keys, those of {', '.join(each.name for each in types)}"
            raise BadInput("type", getattr(of, "__name__", of), rule, "ask for one of these, or use get_any")
        return sets[0], types[0].asked(sets[0].key, fields)

    def indexed(self, of: object, via: Index) -> EntitySet[Any]:
        """Return the one set of a class that has an index.

        :raises BadInput: there is none, or several
        """
        found = list(dict.fromkeys(each.entities for each in self.types_of(of) if via in each.entities.derived))
        if len(found) != 1:
            rule = f"{len(found)} of the sets of this class have it"
            raise BadInput("index", via.name, rule, "give an index of the one set that the class is in")
        return found[0]

    def types_of(self, base: object) -> list[EntityType[Any]]:
        """Return the types whose values are of a class.

        :raises BadInput: there is none, or it is no class
        """
        if not isinstance(base, type):
            raise BadInput("type", base, "it is no class", "give a dataclass, or a class that some are derived from")
        found = [each for each in self.types if issubclass(each.of, base)]
        if not found:
            rule = f"no value of {', '.join(each.of.__name__ for each in self.types)} is one"
            raise BadInput("type", base.__name__, rule, "declare it with an EntityType")
        return found

    def marked(self, fields: dict[str, Any], kind: EntityType[Any]) -> dict[str, Any]:
        """Return fields with the mark of a type in the version of new entities."""
        if self.mark is None:
            return fields
        return fields | {self.mark: kind.name if kind.version == 1 else f"{kind.name}.{kind.version}"}

    def home(self, row: Entity) -> EntitySet[Any] | None:
        """Return the set that a row of the table is of; None if it is derived from another row."""
        named = self._marked_home(row)
        if named is None and self._is_derived(row):
            return None
        return named or self._fitting(row)

    def home_of(self, entity: Entity) -> EntitySet[Any]:
        """Return the set of an entity that some set has read or written."""
        return self._marked_home(entity) or self._fitting(entity)

    def _marked_home(self, row: Entity) -> EntitySet[Any] | None:
        mark = None if self.mark is None else row.get(self.mark)
        named = self._named.get(_read(mark)[0])
        return named.entities if named is not None and _fits(named.entities, row) else None

    def _fitting(self, row: Entity) -> EntitySet[Any]:
        fitting = [each for each in self.sets if _fits(each, row)]
        return fitting[0] if len(fitting) == 1 else self.others

    def told(self, entity: Entity, home: EntitySet[Any]) -> Known | Unknown:
        """Return what an entity of a set says of its type."""
        types = [each for each in self.types if each.entities is home]
        if not types:
            return Unknown("its keys are of no type that was declared")
        if self.mark is None or self.mark not in entity:
            return self._told_without_mark(entity, types)
        name, version = _read(entity[self.mark])
        found = next((each for each in types if each.name == name), None)
        if found is None:
            return Unknown(f"{self.mark} is {entity[self.mark]!r}, which was not declared")
        if version > found.version:
            rule = f"{self.mark} is {entity[self.mark]!r}, and version {found.version} is the newest that is known"
            return Unknown(rule, found)
        return Known(found, version)

    def _told_without_mark(self, entity: Entity, types: Sequence[EntityType[Any]]) -> Known | Unknown:
        if self._resolver is not None:
            of = self._resolver(entity)
            found = next((each for each in types if each.of is of), None)
            return Unknown("it has no mark, and the resolver does not know it") if found is None else Known(found, 1)
        if len(types) > 1:
            return Unknown("it has no mark, and its set is of several types")
        return Known(types[0], 1)

    def _is_derived(self, row: Entity) -> bool:
        for each in self.sets:
            table = each.table.name
            for derived in each.derived:
                if derived.table(table).lower() == table.lower() and derived.primary_keys_of(each.key, row) is not None:
                    return True
        return False

    # ------------------------------------------------------------------ what cannot work

    def _check_one_table(self) -> None:
        if not self.types:
            raise BadDesign("types", (), "there is none", "give at least one EntityType")
        for one, other in combinations(self.sets, 2):
            if one.account is not other.account or one.table.name.lower() != other.table.name.lower():
                rule = f"the set of other types is in {one.table.name!r}, and a table of one account holds them all"
                raise BadDesign(
                    "types", other.table.name, rule, "make the sets on one table, or give each its own types"
                )

    def _check_named(self) -> None:
        for one, other in combinations(self.types, 2):
            if one.name == other.name or one.of is other.of:
                rule = "two types have that name, or that class"
                raise BadDesign("types", other.name, rule, "declare each class once, and give each type its own name")

    def _check_keys(self) -> None:
        for one, other in combinations(self.sets, 2):
            if one.key == other.key:
                rule = "two sets have that key, and each would take the other's entities for its own"
                raise BadDesign("types", one.key.row_template, rule, "make one set, and give it to both types")

    def _check_told_by_keys(self) -> None:
        for first, second in combinations(self.types, 2):
            if first.entities is second.entities:
                rule = f"it shares its keys with {first.name}, and there is no mark to tell it by"
                raise BadDesign("types", second.name, rule, "have a mark, or give each type a set with its own keys")
        for each in self.types:
            if each.upgrades:
                raise BadDesign("upgrades", each.name, "there is no mark to keep the version in", "have a mark")

    def _check_mark(self, mark: str) -> None:
        storable(mark, "")
        for each in self.types:
            mappings: Collection[str] = [name for mapping in each.entities.mappings.each for name in mapping.fields]
            if mark in each.record.members or mark in mappings or mark in each.entities.key.fields:
                rule = f"{each.name} has a field of that name, or its set stores it otherwise"
                raise BadDesign("mark", mark, rule, "give the mark another name")


def _fits(entities: EntitySet[Any], row: Entity) -> bool:
    return entities.key.matches(row.partition_key or "", row.row_key or "")


def _read(mark: object) -> tuple[str, int]:
    """Return the name and the version that a mark tells; no type has the name of one that cannot be read."""
    found = _MARK.fullmatch(mark) if isinstance(mark, str) else None
    return ("", 1) if found is None else (found[1], int(found[2] or 1))
