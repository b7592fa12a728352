"""Convert between the instances of a set's model and its entities, and remember the entity of each instance."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from difflib import get_close_matches
from functools import partial
from itertools import count
from typing import Any, Final, Generic, TypeVar, cast
from weakref import ref

from ..entity import Entity, reading_of, replace_fields, without_none
from ..errors import NOT_SHOWN, BadDesign, BadInput, UnrecognizedEntity, message_of
from ..key import Key
from ..models.model import Model
from ..models.options import OneOf, OnUnrecognized, Upgrade
from ..models.record import merge_records
from ..set_identity import SetIdentity
from .derived import Derived, Index, profile_of
from .mapping import Mappings

M = TypeVar("M")
T = TypeVar("T")
log: Final = logging.getLogger("tablepatterns.models")


INSTANCES: Final[dict[int, tuple[ref[Any], dict[SetIdentity, Entity]]]] = {}
"""The entity that each living instance was read from or written to, by the set.

Instances are told apart by identity: equal ones may have been read at different times, and need not be hashable. Sets
with the same identity share what they remember.
"""


def remember_instance(instance: object, home: SetIdentity, entity: Entity) -> None:
    """Remember the entity of an instance; do nothing if its class does not allow weak references."""
    number = id(instance)
    entry = INSTANCES.get(number)
    if entry is not None and entry[0]() is instance:
        entry[1][home] = entity
        return

    def forget(reference: ref[Any]) -> None:
        # The next object may have got the same id already
        if (last := INSTANCES.get(number)) is not None and last[0] is reference:
            del INSTANCES[number]

    with suppress(TypeError):
        INSTANCES[number] = ref(instance, forget), {home: entity}


def entity_of_instance(instance: object, home: SetIdentity) -> Entity | None:
    entry = INSTANCES.get(id(instance))
    return entry[1].get(home) if entry is not None and entry[0]() is instance else None


VERSION: Final = "ModelVersion"
"""The property with the model version of an entity; version 1 has none."""
_TYPE: Final = re.compile(r"([^.]+)(?:\.([1-9][0-9]{0,8}))?")


class SingleModel(Generic[M]):
    """The class of every entity of a set; the property `ModelVersion` holds the version."""

    type_property = ""
    """The property that names the class of an entity; none if there is one class."""

    def __init__(self, model: Model[M]) -> None:
        self.model = model
        self.classes: tuple[type[M], ...] = (model.model_class,)
        if VERSION in model.members:
            rule = "the set keeps the version of the model in it"
            raise BadDesign("field", f"{model.name}.{VERSION}", rule, "rename the field, or store it by another name")

    def of_instance(self, instance: object) -> Model[M]:
        self.model.check_class(instance)
        return self.model

    def of_entity(self, entity: Entity) -> tuple[Model[M], int]:
        """Return the model of a stored entity, and the version in which it was written."""
        version = entity.get(VERSION, 1)
        if type(version) is not int:
            version = 0
        _check_version(self.model, version, entity, f"{VERSION} {entity.get(VERSION)!r}")
        return self.model, version

    def from_file(self, stored: dict[str, Any]) -> M:
        """Return the instance of stored fields in the current version, which have the type property."""
        model, _ = self.of_entity(Entity(stored))
        _check_members(model, {name: stored[name] for name in stored if name != self.type_property}, "column")
        return cast("M", model.record.decoded(stored))

    def marked_fields(self, fields: dict[str, Any], model: Model[M]) -> dict[str, Any]:
        """Return stored fields with the property that names their class or version."""
        return fields if model.version == 1 else fields | {VERSION: model.version}


class SeveralModels(SingleModel[M]):
    """The classes of a set, told apart by a type property; `model` has the fields of all, for keys and filters."""

    def __init__(self, one_of: OneOf[M], models: Sequence[Model[M]], model: Model[M]) -> None:
        self.model = model
        self.classes = one_of.classes
        self.type_property = one_of.type_property
        self._resolver = one_of.resolver
        self._by_class: Mapping[type[Any], Model[M]] = {model.model_class: model for model in models}
        self._by_name = {model.name: model for model in models}
        if self.type_property in model.members:
            rule = "the set keeps the class of an entity in it"
            raise BadDesign("field", self.type_property, rule, "rename the field, or pass another type_property")

    def of_instance(self, instance: object) -> Model[M]:
        model = self._by_class.get(type(instance))
        if model is None:
            rule = f"the set has the classes {', '.join(self._by_name)}"
            raise BadInput("type", type(instance).__name__, rule, "pass an instance of one of them")
        return model

    def of_entity(self, entity: Entity) -> tuple[Model[M], int]:
        if self.type_property not in entity:
            return self._unmarked(entity), 1
        mark = entity[self.type_property]
        match = _TYPE.fullmatch(mark) if isinstance(mark, str) else None
        model = None if match is None else self._by_name.get(match[1])
        mark_text = f"{self.type_property} {mark!r}"
        if match is None or model is None:
            text = f"the entity {entity.key} has the {mark_text}, which is not one of {', '.join(self._by_name)}"
            raise UnrecognizedEntity(f"{text}; declare the class, or update the program", entity.key)
        version = int(match[2] or 1)
        _check_version(model, version, entity, mark_text)
        return model, version

    def _unmarked(self, entity: Entity) -> Model[M]:
        if self._resolver is not None:
            model = self._by_class.get(self._resolver(entity) or object)
        else:
            model = next(iter(self._by_class.values())) if len(self._by_class) == 1 else None
        if model is None:
            text = f"the entity {entity.key} has no {self.type_property}, and the set has several classes"
            raise UnrecognizedEntity(f"{text}; store the property, or pass a resolver that knows it", entity.key)
        return model

    def marked_fields(self, fields: dict[str, Any], model: Model[M]) -> dict[str, Any]:
        mark = model.name if model.version == 1 else f"{model.name}.{model.version}"
        return fields | {self.type_property: mark}


def _check_version(model: Model[Any], version: int, entity: Entity, stated: str) -> None:
    if not 1 <= version <= model.version:
        text = f"the entity {entity.key} has the {stated}, and {model.name} has the versions up to {model.version}"
        raise UnrecognizedEntity(f"{text}; update the program", entity.key)


def types_of_model(model: type[M] | OneOf[M], build: Callable[..., Model[Any]]) -> SingleModel[M]:
    """Return the classes of a set's model; `build` takes a class and, for one of several, the record of all."""
    if not isinstance(model, OneOf):
        return SingleModel(build(model))
    models = [build(entity_class) for entity_class in model.classes]
    record = merge_records([class_model.record for class_model in models])
    name = " or ".join(class_model.name for class_model in models)
    return SeveralModels(model, models, build(model.classes[0], record=record, name=name))


class ModelAdapter(Generic[M]):
    def __init__(self, types: SingleModel[M], home: SetIdentity, on_unrecognized: OnUnrecognized = "raise") -> None:
        self.types = types
        self.model = types.model
        self.home = home
        self.on_unrecognized: OnUnrecognized = on_unrecognized
        self._skipped = count(1)

    def instance_of(self, entity: Any) -> M:
        """Return the instance of an entity that the set has read; anything else is returned unchanged."""
        if not isinstance(entity, Entity) or getattr(reading_of(entity), "of", None) != self.home:
            return cast("M", entity)
        instance = self.value_of(entity)
        remember_instance(instance, self.home, entity)
        return instance

    def recognized_instance(self, entity: Any) -> M | None:
        return self.convert_recognized(entity, self.instance_of)

    def convert_recognized(self, stored: Any, convert: Callable[[Any], T]) -> T | None:
        """Convert what was read; return None if it does not fit the model and is skipped."""
        try:
            return convert(stored)
        except UnrecognizedEntity as error:
            self.report(error)
            return None

    def report(self, error: UnrecognizedEntity) -> None:
        """Report an entity that does not fit the model and is skipped; raise the error if it is not to be skipped."""
        if self.on_unrecognized == "raise":
            raise error
        if callable(self.on_unrecognized):
            self.on_unrecognized(error)
        else:
            table, number = self.home.table, next(self._skipped)
            log.warning("skipped entity %d of the table %s since the start: %s", number, table, message_of(error))

    def value_of(self, entity: Entity) -> M:
        model, version = self.types.of_entity(entity)
        return model.value(entity, version)

    def version_of(self, entity: Entity) -> int:
        return self.types.of_entity(entity)[1]

    def new_fields(self, instance: object) -> dict[str, Any]:
        model = self.types.of_instance(instance)
        return self.types.marked_fields(model.fields(instance), model)

    def check(self, fields: Mapping[str, Any]) -> None:
        entity = Entity(without_none(fields))
        model, version = self.types.of_entity(entity)
        model.accepted(model.upgraded(entity, version))

    def rewrite(self, entity: Entity, instance: object) -> None:
        """Replace an entity's fields with those of an instance; properties that the model does not declare are kept."""
        model, version = self._model_of_both(entity, instance)
        replace_fields(entity, self.types.marked_fields(model.rewritten(entity, version, instance), model))

    def merge_instance(self, entity: Entity, instance: object) -> None:
        """Upgrade an entity, and change the fields that an instance has a value for."""
        self.upgrade(entity, self._model_of_both(entity, instance)[0].fields(instance))

    def _model_of_both(self, entity: Entity, instance: object) -> tuple[Model[M], int]:
        """Return the model and the version of an entity, which an instance of the same class is to change."""
        model, version = self.types.of_entity(entity)
        if self.types.of_instance(instance) is not model:
            rule = f"the entity is of the class {model.name}, and keeps it"
            hint = "delete it, and insert the other one under its own key, in one EntityGroupTransaction"
            raise BadInput("type", type(instance).__name__, rule, hint)
        return model, version

    def upgrade(self, entity: Entity, changes: Mapping[str, Any]) -> None:
        """Upgrade an entity to the current version, with some changed fields in their stored form."""
        model, version = self.types.of_entity(entity)
        _check_members(model, changes)
        fields = self.types.marked_fields(model.upgraded(entity, version) | dict(changes), model)
        replace_fields(entity, model.accepted(without_none(fields), entity))

    def fields_to_merge(self, entity: Entity, changes: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the fields to merge for some changed fields: these, and those that the class converts.

        It is None if the entity was upgraded instead, and is to be written as a whole.
        """
        if self.version_of(entity) != self.model.version:
            self.upgrade(entity, changes)
            return None
        model = self.types.of_entity(entity)[0]
        _check_members(model, changes)
        fields = model.accepted({**entity, **changes}, entity)
        return {name: value for name, value in fields.items() if name in changes or value is not entity.get(name)}

    def renamed_key_fields(self, entity: Entity, instance: object, key: Mapping[str, Any]) -> dict[str, Any]:
        """Rewrite an entity for a rename, and return the changed fields of its key in their stored form."""
        self.rewrite(entity, instance)
        changes = self.model.key_fields(key)
        if changes.keys() <= set(self.home.key.fields) and None not in changes.values():
            fields = self.types.of_entity(entity)[0].accepted({**entity, **changes}, entity)
            changes = {name: fields[name] for name in changes}
            entity.update({name: value for name, value in fields.items() if name not in changes})
        return changes

    def changes(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        _check_members(self.model, changes)
        fields = {name: self.model.field(name, value) for name, value in changes.items()}
        # A change to None keeps what is stored
        return without_none(fields)

    def remembered_entity(self, instance: object) -> Entity:
        """Return a copy of the entity of an instance, to be written."""
        self.types.of_instance(instance)
        entity = entity_of_instance(instance, self.home)
        if entity is not None:
            return entity.copy()
        rule = "this instance was not read from this set or written to it, so its ETag is not known"
        hint = "read it, change that instance, and write it; or pass etag=... or force=True"
        try:
            ref(instance)
        except TypeError:
            rule = "a class with slots needs one for weak references, so that its ETag can be remembered"
            hint = "declare it with @dataclass(slots=True, weakref_slot=True), or pass etag=... or force=True"
        key_values = tuple(getattr(instance, name, None) for name in self.home.key.fields)
        raise BadInput("entity", key_values, rule, hint)

    def entity_of(self, instance: object) -> Entity:
        """Return the entity of an instance; a new one if the set has neither read nor written the instance."""
        if entity_of_instance(instance, self.home) is None:
            return Entity(self.new_fields(instance))
        entity = self.remembered_entity(instance)
        self.rewrite(entity, instance)
        return entity

    def after_write(self, instance: M, entity: Any) -> M:
        """Return an instance after a write; a new instance if the write set further fields."""
        model = self.types.of_instance(instance)
        if model.encoded(instance) != {name: entity[name] for name in model.members if name in entity}:
            return self.instance_of(entity)
        remember_instance(instance, self.home, entity)
        return instance

    def key_of(self, instance: object) -> dict[str, Any]:
        fields = self.types.of_instance(instance).encoded(instance)
        return {name: fields[name] for name in self.home.key.fields if name in fields}

    def recognized_instances(self, entities: Iterable[Any]) -> list[M]:
        return [instance for instance in map(self.recognized_instance, entities) if instance is not None]


def _check_members(model: Model[Any], fields: Mapping[str, Any], subject: str = "changes") -> None:
    if unknown_names := fields.keys() - model.members:
        rule = f"{model.name} has the fields {', '.join(model.members)}"
        raise BadInput(subject, min(unknown_names), rule, "use one of them")


def check_declared(model: Model[Any], place: str, names: Iterable[str], known: Collection[str]) -> None:
    """Reject names of which a model has no field."""
    for name in sorted(set(names).difference(known)):
        near = get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(sorted(model.members))}"
        raise BadDesign(place, name, f"{model.name} has no such field", hint)


def adapter_of(
    model_class: type[M] | OneOf[M] | None,
    home: SetIdentity,
    derived: Sequence[Derived],
    mappings: Mappings,
    versions: Iterable[tuple[int, Upgrade]],
    on_unrecognized: OnUnrecognized,
) -> ModelAdapter[M]:
    if model_class is None:
        raise BadDesign("versions or on_unrecognized", NOT_SHOWN, "the set has no model", "pass its class as model")
    build = partial(Model, key=home.key, upgrades=upgrades_of(versions), secret=mappings.secret)
    types = types_of_model(model_class, build)
    model = types.model
    if model.version == 1:
        # Otherwise an earlier version may have had the fields
        for mapping in mappings.mappings:
            check_declared(model, f"mapping {mapping.name}", mapping.fields, model.members)
    field_names = {*mappings.written_names(model.members), *model.members}
    for derived_data in derived:
        check_declared(model, f"derived {derived_data.name}", derived_data.reads, field_names)
        if (key := key_of_derived(derived_data, home.key)) is not None:
            model.check_key(f"derived {derived_data.name}", key, has_entities=isinstance(derived_data, Index))
    return ModelAdapter(types, home, on_unrecognized)


def key_of_derived(derived: Derived, primary: Key) -> Key | None:
    """Return the key of derived rows; None if unknown."""
    # Not every kind of derived data describes its rows
    with suppress(BadDesign):
        return profile_of(derived, primary).key
    return None


def upgrades_of(versions: Iterable[tuple[int, Upgrade]]) -> tuple[Upgrade, ...]:
    """Return the upgrades of a model in the order of versions, starting from version 1."""
    ordered_versions = sorted(versions, key=lambda item: item[0])
    for number, (version, _) in enumerate(ordered_versions, 1):
        if version != number:
            rule = f"each version up to the last needs an upgrade, and the one of version {number} is missing"
            numbers = [version for version, _ in ordered_versions]
            raise BadDesign("versions", numbers, rule, "write [(1, one_to_two), (2, two_to_three)]")
    return tuple(upgrade for _, upgrade in ordered_versions)
