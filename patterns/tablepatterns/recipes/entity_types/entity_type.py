"""Declare a dataclass as a type of entity, with its set and its earlier versions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Generic

from ...argument_types import checked
from ...entity_set.derived import Index
from ...entity_set.entity_set import EntitySet
from ...entity_set.internals import mappings_of
from ...errors import BadDesign
from ...models.annotations import Stored, StoredBy, annotated
from ...models.model import Model
from ...models.options import Upgrade
from ...recipe import Account_co


class EntityType(Generic[Account_co]):
    """Declare a dataclass as a type of entity, for `EntityTypes`.

    >>> from dataclasses import dataclass
    >>> from tablepatterns import EntitySet, Key, connect
    >>> @dataclass(frozen=True)
    ... class Department:
    ...     Department: str
    ...     EmployeeCount: int = 0
    >>> EntityType(Department, EntitySet(connect(), "Staff", Key("{Department}", "DEPARTMENT")))
    <EntityType Department version=1 Key('{Department}', 'DEPARTMENT')>

    :param entity_class: the dataclass; it must have the fields of the key
    :param entity_set: the set of its entities, with their derived data; several types may share one
    :param name: the stored name of the type; None for the name of the class
    :param upgrades: the first converts fields of version 1 to version 2, and so on; new entities have the version after
        the last. Each takes and returns all stored fields, and must not change those of the key
    :raises BadDesign: it is not a dataclass, it lacks a field of the key or has one that cannot be stored, or the name
        is invalid

    Guide: working with heterogeneous entity types (type and version of an entity).
    """

    @checked
    def __init__(
        self,
        entity_class: type[Any],
        entity_set: EntitySet[Account_co, Any],
        *,
        name: str | None = None,
        upgrades: Sequence[Upgrade] = (),
    ) -> None:
        self.entity_set = entity_set.without_model()
        self.name = entity_class.__name__ if name is None else name
        if not self.name or "." in self.name:
            rule = "it must not be empty, and a dot separates it from the version"
            raise BadDesign("name", self.name, rule, "use another name")
        self._check_annotations(entity_class)
        self.model: Model[Any] = Model(
            entity_class, entity_set.key, upgrades=upgrades, secret=mappings_of(entity_set).secret, name=self.name
        )
        for index in entity_set.derived:
            if isinstance(index, Index):
                self.model.check_days(index.name, index.key)

    def _check_annotations(self, entity_class: type[Any]) -> None:
        """Reject a class that asks for its fields to be stored in a way in which the set does not store them."""
        for name in annotated(entity_class, Stored):
            rule = "types of one table store fields under their own names"
            raise BadDesign("field", f"{entity_class.__name__}.{name}", rule, "leave out Stored")
        for name, annotation in annotated(entity_class, StoredBy).items():
            if not any(name in mapping.fields for mapping in mappings_of(self.entity_set).mappings):
                rule = f"the class declares it as {type(annotation).__name__}, and no mapping of its set stores it so"
                hint = "list the field in a mapping of the set, such as EncryptedProperties or LargeProperties"
                raise BadDesign("field", f"{entity_class.__name__}.{name}", rule, hint)

    @property
    def entity_class(self) -> type[Any]:
        """The declared class."""
        return self.model.model_class

    @property
    def version(self) -> int:
        """The version of new entities."""
        return self.model.version

    def __repr__(self) -> str:
        return f"<EntityType {self.name} version={self.version} {self.entity_set.key}>"
