"""What a set takes as its model, and beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from ..argument_types import checked
from ..entity import Entity, storable
from ..errors import BadDesign, UnrecognizedEntity

M = TypeVar("M")

Upgrade: TypeAlias = Callable[[dict[str, Any]], Mapping[str, Any]]
"""Takes the stored fields of one version, and returns those of the next."""
OnUnrecognized: TypeAlias = Literal["raise", "skip"] | Callable[[UnrecognizedEntity], object]
"""What to do with an entity that does not fit the model: raise, skip it, or call a function and skip it."""


class OneOf(Generic[M]):
    """A model of several classes: each entity of the set is an instance of one of them, named by a type property.

    Use it for classes that share the keys of one set, such as the subclasses of a base class, or to store the type of
    entities that other programs read too. For classes whose keys differ, use a set for each, and `EntityTypes` to read
    them together.

    >>> from dataclasses import dataclass
    >>> from tablepatterns import EntitySet, Key, connect
    >>> @dataclass
    ... class Person:
    ...     person_id: int
    >>> @dataclass
    ... class Customer(Person):
    ...     discount: float = 0.0
    >>> @dataclass
    ... class Worker(Person):
    ...     grade: str = "junior"
    >>> persons = EntitySet(connect(), "Persons", Key("person", "{person_id:06d}"), model=OneOf(Customer, Worker))
    >>> _ = persons.insert(Worker(1)), persons.insert(Customer(2, 0.5))
    >>> [type(person).__name__ for person in persons.range()]
    ['Worker', 'Customer']
    >>> persons.without_model().get(person_id=1)["EntityType"]
    'Worker'

    The property holds the name of the class and, from version 2 of the set's model on, the version: `Worker`,
    `Worker.2`. An entity keeps its class. An entity without the property is of the only class, or of the one that
    `resolver` returns; otherwise, and if the property names another class, it does not fit the model.

    :param classes: dataclasses, or classes of pydantic or attrs; a field that several have has one type
    :param type_property: the name of the property
    :param resolver: called with an entity that lacks the property, with its keys, ETag and timestamp; returns its
        class, or None if it is of none
    :raises BadDesign: no class is given, two have one name, or a field has several types

    Guide: working with heterogeneous entity types; inheritance.
    """

    @checked
    def __init__(
        self,
        *classes: type[M],
        type_property: str = "EntityType",
        resolver: Callable[[Entity], type[M] | None] | None = None,
    ) -> None:
        names = [entity_class.__name__ for entity_class in classes]
        if not names or len(set(names)) < len(names):
            raise BadDesign("model", names, "the type property names each class", "pass classes with different names")
        storable(type_property, "")
        self.classes = classes
        self.type_property = type_property
        self.resolver = resolver
