"""Which class and version an entity of a set with a model is of."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

from ..entity import Entity
from ..errors import BadDesign, BadInput, UnrecognizedEntity
from .model import Model
from .options import OneOf
from .record import merge_records

M = TypeVar("M")

VERSION: Final = "ModelVersion"
"""The property with the model version of an entity; version 1 has none."""
_TYPE: Final = re.compile(r"([^.]+)(?:\.([1-9][0-9]{0,8}))?")


class SingleModel(Generic[M]):
    """The class of every entity of a set; the property `ModelVersion` holds the version."""

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

    def marked(self, fields: dict[str, Any], model: Model[M]) -> dict[str, Any]:
        """Return stored fields with the property that names their class or version."""
        return fields if model.version == 1 else fields | {VERSION: model.version}


class SeveralModels(SingleModel[M]):
    """The classes of a set, told apart by a type property; `model` has the fields of all, for keys and filters."""

    def __init__(self, one_of: OneOf[M], models: Sequence[Model[M]], model: Model[M]) -> None:
        self.model = model
        self.classes = one_of.classes
        self._one_of = one_of
        self._by_class: Mapping[type[Any], Model[M]] = {model.model_class: model for model in models}
        self._by_name = {model.name: model for model in models}
        if one_of.type_property in model.members:
            rule = "the set keeps the class of an entity in it"
            raise BadDesign("field", one_of.type_property, rule, "rename the field, or pass another type_property")

    def of_instance(self, instance: object) -> Model[M]:
        model = self._by_class.get(type(instance))
        if model is None:
            rule = f"the set has the classes {', '.join(self._by_name)}"
            raise BadInput("type", type(instance).__name__, rule, "pass an instance of one of them")
        return model

    def of_entity(self, entity: Entity) -> tuple[Model[M], int]:
        if self._one_of.type_property not in entity:
            return self._unmarked(entity), 1
        mark = entity[self._one_of.type_property]
        match = _TYPE.fullmatch(mark) if isinstance(mark, str) else None
        model = None if match is None else self._by_name.get(match[1])
        stated = f"{self._one_of.type_property} {mark!r}"
        if match is None or model is None:
            text = f"the entity {entity.key} has the {stated}, which is not one of {', '.join(self._by_name)}"
            raise UnrecognizedEntity(f"{text}; declare the class, or update the program", entity.key)
        version = int(match[2] or 1)
        _check_version(model, version, entity, stated)
        return model, version

    def _unmarked(self, entity: Entity) -> Model[M]:
        if self._one_of.resolver is not None:
            model = self._by_class.get(self._one_of.resolver(entity) or object)
        else:
            model = next(iter(self._by_class.values())) if len(self._by_class) == 1 else None
        if model is None:
            text = f"the entity {entity.key} has no {self._one_of.type_property}, and the set has several classes"
            raise UnrecognizedEntity(f"{text}; store the property, or pass a resolver that knows it", entity.key)
        return model

    def marked(self, fields: dict[str, Any], model: Model[M]) -> dict[str, Any]:
        mark = model.name if model.version == 1 else f"{model.name}.{model.version}"
        return fields | {self._one_of.type_property: mark}


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
