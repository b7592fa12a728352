"""Let the recipes of a set take and return instances of its model.

The recipes work on entities. If a set has a model, its recipes run on a view of the set without the model. The adapter
converts the arguments from instances, and the results to instances.

Over 600 lines on purpose: the adapter is one class.
"""

from __future__ import annotations

import inspect
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from difflib import get_close_matches
from functools import lru_cache, partial
from itertools import count
from typing import Any, Final, Generic, Literal, TypeAlias, TypeVar, cast

from ..arguments import condition_of
from ..entity import Entity, reading_of
from ..errors import NOT_SHOWN, BadDesign, BadInput, EntityChanged, EntityNotFound, UnrecognizedEntity, message_of
from ..key import Key
from ..models.annotations import StoredBy, annotated, stored_names
from ..models.instances import INSTANCES, can_be_remembered
from ..models.model import Model, Upgrade
from ..recipe import Account, Pattern
from ..retry import RETRY_FOR, check_retry_for
from ..sdk.operation import ANY
from ..sdk.table import Page
from ..set_identity import SetIdentity
from .derived import Derived, Index, profile_of
from .mapping import Mappings, PropertyMapping
from .named_table import StoredNames

M = TypeVar("M")
Call = Callable[..., Any]
OnUnrecognized: TypeAlias = Literal["raise", "skip"] | Callable[[UnrecognizedEntity], object]
"""What to do with an entity that does not fit the model: raise, skip it, or call a function and skip it."""
log: Final = logging.getLogger("tablepatterns.models")

VERSION: Final = "ModelVersion"
"""The property with the model version of an entity; version 1 has none."""


class ModelAdapter(Generic[M]):
    """Converts between the instances of a model and the entities of a set.

    :param model: the model
    :param home: the set
    :param on_unrecognized: what to do with an entity that was read and does not fit the model
    :raises BadDesign: the model has a field named `ModelVersion`
    """

    def __init__(self, model: Model[M], home: SetIdentity, on_unrecognized: OnUnrecognized = "raise") -> None:
        self.model = model
        self.home = home
        self.on_unrecognized: OnUnrecognized = on_unrecognized
        self._skipped = count(1)
        if VERSION in model.members:
            rule = "the set keeps the version of the model in it"
            raise BadDesign("field", f"{model.name}.{VERSION}", rule, "rename the field, or store it by another name")

    async def call(self, function: Call, pattern: Pattern[Account], args: Sequence[Any], kwargs: Any) -> Any:
        """Call a recipe of the set with converted arguments, and return its converted result."""
        entities = _without_model(pattern)
        writer = getattr(_Writer, function.__name__, None)
        if writer is None:
            args, kwargs = self._convert_arguments(function, args, kwargs)
            if _parameters(function)[:1] == ["count"]:
                return await self._first(partial(function, entities), *args, **kwargs)
            return self._result(await function(entities, *args, **kwargs), function.__name__)
        if not args and "entity" in kwargs:
            args = (kwargs.pop("entity"),)
        return await writer(_Writer(self, function, entities), *args, **kwargs)

    def iterate(
        self, function: Call, pattern: Pattern[Account], args: Sequence[Any], kwargs: Any
    ) -> AsyncGenerator[Any, None]:
        """Call a stream of the set with converted arguments, and return its converted items."""
        entities = _without_model(pattern)
        args, kwargs = self._convert_arguments(function, args, kwargs)
        return _Converted(function(entities, *args, **kwargs), self.recognized_instance)

    def plan(self, function: Call, pattern: Pattern[Account], args: Sequence[Any], kwargs: Any) -> Any:
        """Call a method that returns a change without sending it, with converted arguments."""
        entities = _without_model(pattern)
        value, *positional = args or (kwargs.pop("entity"),)
        return getattr(_Planner(self, function, entities), function.__name__)(value, *positional, **kwargs)

    # ------------------------------------------------------------------ instances and entities

    def instance_of(self, entity: Any) -> Any:
        """Return the instance of an entity that the set has read; anything else is returned unchanged."""
        if not isinstance(entity, Entity) or getattr(reading_of(entity), "of", None) != self.home:
            return entity
        instance = self.model.value(entity, self.version_of(entity))
        INSTANCES.remember(instance, self.home, entity)
        return instance

    def recognized_instance(self, entity: Any, convert: Call | None = None) -> Any:
        """Return the instance of an entity that was read; None if it does not fit the model and is skipped."""
        try:
            return self.instance_of(entity) if convert is None else convert(entity)
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

    def version_of(self, entity: Entity) -> int:
        """Return the model version in which an entity was written.

        :raises UnrecognizedEntity: the version is not one of the model's, such as a newer one
        """
        version = entity.get(VERSION, 1)
        if type(version) is not int or not 1 <= version <= self.model.version:
            text = (
                f"the entity {entity.key} has the {VERSION} {version!r}, and {self.model.name} has the versions up to"
            )
            raise UnrecognizedEntity(f"{text} {self.model.version}; update the program", entity.key)
        return version

    def new_fields(self, instance: object) -> dict[str, Any]:
        """Return the fields of a new entity.

        :raises BadInput: it is not an instance of the model
        """
        return self._versioned(self.model.fields(instance))

    def check(self, fields: Mapping[str, Any]) -> None:
        """Reject the stored form of an entity that does not fit the model.

        :raises BadProperty: it does not
        """
        entity = Entity({name: value for name, value in fields.items() if value is not None})
        self.model.accepted(self.model.upgraded(entity, self.version_of(entity)))

    def rewrite(self, entity: Entity, instance: object) -> None:
        """Replace an entity's fields with those of an instance; properties that the model does not declare are kept."""
        fields = self._versioned(self.model.rewritten(entity, self.version_of(entity), instance))
        entity.clear()
        entity.update(fields)

    def upgrade(self, entity: Entity, changes: Mapping[str, Any]) -> None:
        """Upgrade an entity to the current version, with some changed fields in their stored form."""
        fields = self._versioned(self.model.upgraded(entity, self.version_of(entity)) | dict(changes))
        fields = self.model.accepted({name: value for name, value in fields.items() if value is not None}, entity)
        entity.clear()
        entity.update(fields)

    def fields_to_merge(self, entity: Entity, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields to merge for some changed fields: these, and those that the class converts."""
        fields = self.model.accepted({**entity, **changes}, entity)
        return {name: value for name, value in fields.items() if name in changes or value is not entity.get(name)}

    def renamed(self, entity: Entity, instance: object, key: Mapping[str, Any]) -> dict[str, Any]:
        """Rewrite an entity for a rename, and return the changed fields of its key in their stored form."""
        self.rewrite(entity, instance)
        changes = self.model.key_fields(key)
        if changes.keys() <= set(self.home.key.fields) and None not in changes.values():
            fields = self.model.accepted({**entity, **changes}, entity)
            changes = {name: fields[name] for name in changes}
            entity.update({name: value for name, value in fields.items() if name not in changes})
        return changes

    def changes(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        """Return the stored form of changed fields.

        :raises BadInput: the model has no such field
        """
        for name in changes:
            if name not in self.model.members:
                rule = f"{self.model.name} has the fields {', '.join(self.model.members)}"
                raise BadInput("changes", name, rule, "use one of them")
        fields = {name: self.model.field(name, value) for name, value in changes.items()}
        # A change to None keeps what is stored
        return {name: value for name, value in fields.items() if value is not None}

    def remembered(self, instance: object) -> Entity:
        """Return a copy of the entity of an instance, to be written.

        :raises BadInput: the set has neither read nor written the instance
        """
        self._check_class(instance)
        entity = INSTANCES.entity(instance, self.home)
        if entity is not None:
            return entity.copy()
        rule = "this instance was not read from this set or written to it, so its ETag is not known"
        hint = "read it, change that instance, and write it; or pass etag=... or force=True"
        if not can_be_remembered(instance):
            rule = "a class with slots needs one for weak references, so that its ETag can be remembered"
            hint = "declare it with @dataclass(slots=True, weakref_slot=True), or pass etag=... or force=True"
        raise BadInput("entity", self._key_values(instance), rule, hint)

    def entity_of(self, instance: object) -> Entity:
        """Return the entity of an instance; a new one if the set has neither read nor written the instance."""
        if INSTANCES.entity(instance, self.home) is None:
            return Entity(self.new_fields(instance))
        entity = self.remembered(instance)
        self.rewrite(entity, instance)
        return entity

    def after_write(self, instance: M, entity: Entity) -> M:
        """Return an instance after a write; a new instance if the write set further fields."""
        fields = dict(entity)
        if self.model.encoded(instance) != {name: fields[name] for name in self.model.members if name in fields}:
            return cast("M", self.instance_of(entity))
        INSTANCES.remember(instance, self.home, entity)
        return instance

    def key_of(self, instance: object) -> dict[str, Any]:
        """Return the key fields of an instance."""
        fields = self.model.encoded(instance)
        return {name: fields[name] for name in self.home.key.fields if name in fields}

    def _versioned(self, fields: dict[str, Any]) -> dict[str, Any]:
        return fields if self.model.version == 1 else fields | {VERSION: self.model.version}

    def _key_values(self, instance: object) -> object:
        return tuple(getattr(instance, name, None) for name in self.home.key.fields)

    def _check_class(self, instance: object) -> None:
        self.model.check_class(instance)

    # ------------------------------------------------------------------ reading

    def _convert_arguments(
        self, function: Call, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Sequence[Any], Any]:
        """Return the arguments of a recipe that reads, with stored names and values."""
        names = _parameters(function)
        via = next((derived for derived in (*args, kwargs.get("via")) if isinstance(derived, Derived)), None)
        key = None if via is None else _key_of(via, self.home.key)
        options = {name: self._argument(name, value, key) for name, value in kwargs.items() if name in names}
        fields = {name: value for name, value in kwargs.items() if name not in names}
        arguments = [self._argument(name, value, key) for name, value in zip(names, args, strict=False)]
        return arguments + list(args[len(names) :]), options | self.model.key_fields(fields, key)

    def _argument(self, name: str, value: Any, key: Key | None) -> Any:
        if value is None:
            return None
        if name == "where":
            return self.model.filter(value)
        if name == "select":
            rule = f"a {self.model.name} needs all its fields"
            raise BadInput("select", value, rule, "leave it out, or use without_model().range(...)")
        if name == "via" and isinstance(value, Index) and value.include is not None:
            rule = f"its rows have only some of the fields of a {self.model.name}"
            hint = "include all fields in the index, or use without_model().find(...)"
            raise BadInput("index", value.name, rule, hint)
        if name in ("via", "key") and isinstance(value, Mapping):
            return self.model.key_fields(cast("Mapping[str, Any]", value), key)
        if name in ("keys", "partitions") and hasattr(value, "__iter__"):
            return self._keys(value)
        return value

    def _keys(self, keys: Any) -> list[Any]:
        return [self._argument("key", key, None) for key in keys]

    def _result(self, result: Any, name: str) -> Any:
        if name == "keys_of":
            return self._recognized_instances(result, self.model.key_values)
        results: Any = result
        if result.__class__ is Page:
            return Page(tuple(self._recognized_instances(result.items)), result.token)
        if isinstance(result, tuple):
            return tuple(self._result(item, name) for item in results)
        if isinstance(result, list):
            return (
                [self.recognized_instance(entity) for entity in results]
                if name == "get_many"
                else self._recognized_instances(results)
            )
        return self.recognized_instance(result)

    def _recognized_instances(self, entities: Iterable[Any], convert: Call | None = None) -> list[Any]:
        """Return the instances of entities, or what `convert` returns, without those that are skipped."""
        return [instance for entity in entities if (instance := self.recognized_instance(entity, convert)) is not None]

    async def _first(self, read: Call, count: int, *args: Any, **kwargs: Any) -> Any:
        """Return the first instances of one or several ranges, and read on if entities among them are skipped."""
        limit, instances_by_key = count, dict[Any, Any]()

        def instances(entities: Iterable[Any]) -> list[Any]:
            # Kept, so that a second read does not report an entity again
            for entity in entities:
                if entity.key not in instances_by_key:
                    instances_by_key[entity.key] = self.recognized_instance(entity)
            return [instances_by_key[entity.key] for entity in entities if instances_by_key[entity.key] is not None]

        while True:
            result = await read(limit, *args, **kwargs)
            lists = result if result and isinstance(result[0], list) else [result]
            converted = list(map(instances, lists))
            pairs = zip(lists, converted, strict=True)
            lacking = max((count - len(some) for entities, some in pairs if len(entities) == limit), default=0)
            if lacking <= 0:
                trimmed = [items[:count] for items in converted]
                return trimmed if lists is result else trimmed[0]
            limit += lacking


class _Writer:
    """Runs the recipes that write. Each method runs the recipe of the same name."""

    def __init__(self, adapter: ModelAdapter[Any], function: Call, entities: Any) -> None:
        self._adapter = adapter
        self._function = function
        self._entities = entities

    async def insert(self, instance: Any, **options: Any) -> Any:
        entity = await self._function(self._entities, self._adapter.new_fields(instance), **options)
        return self._adapter.after_write(instance, entity)

    async def append(self, instance: Any, **options: Any) -> Any:
        adapter = self._adapter
        fields = adapter.model.accepted(self._entities._completed(adapter.new_fields(instance)))
        return adapter.after_write(instance, await self._function(self._entities, fields, **options))

    async def insert_or_replace(self, instance: Any, **options: Any) -> Any:
        change = partial(self._adapter.rewrite, instance=instance)
        return self._adapter.after_write(instance, await self._upsert(instance, change, **options))

    async def insert_or_merge(self, instance: Any, **options: Any) -> Any:
        # Fields that are None do not change what is stored
        new_fields = self._adapter.new_fields(instance)
        return self._adapter.instance_of(
            await self._upsert(instance, partial(self._adapter.upgrade, changes=new_fields), **options)
        )

    async def _upsert(self, instance: Any, change: Callable[[Entity], None], *, retry_for: float = RETRY_FOR) -> Entity:
        """Insert the entity of an instance, or update the stored one.

        The service's own upserts would remove undeclared properties, or mix two model versions in one entity.
        """
        new, entities = self._adapter.new_fields(instance), self._entities

        async def write(current: Entity | None) -> Entity:
            if current is None:
                return cast("Entity", await entities.insert(new, retry_for=retry_for))
            change(current)
            return cast("Entity", await entities.replace(current, retry_for=retry_for))

        check_retry_for(retry_for)
        return cast("Entity", await entities._from_current(self._adapter.key_of(instance), write, retry_for))

    async def replace(self, instance: Any, **options: Any) -> Any:
        entity = await self._current(instance, options)
        if entity is None:
            adapter = self._adapter
            change = partial(adapter.rewrite, instance=instance)
            return adapter.after_write(
                instance, await self._entities.update(change, adapter.key_of(instance), **options)
            )
        self._adapter.rewrite(entity, instance)
        return self._adapter.after_write(instance, await self._function(self._entities, entity, **options))

    async def merge(self, instance: Any, changes: Mapping[str, Any], **options: Any) -> Any:
        adapter = self._adapter
        changed_fields = adapter.changes(changes)
        entity = await self._current(instance, options)
        if entity is None:
            change = partial(adapter.upgrade, changes=changed_fields)
            return adapter.instance_of(await self._entities.update(change, adapter.key_of(instance), **options))
        if adapter.version_of(entity) == adapter.model.version:
            changed_fields = adapter.fields_to_merge(entity, changed_fields)
            return adapter.instance_of(await self._function(self._entities, entity, changed_fields, **options))
        adapter.upgrade(entity, changed_fields)
        return adapter.instance_of(await self._entities.replace(entity, **options))

    async def delete(self, instance: Any, **options: Any) -> None:
        if _condition(options) is None:
            await self._function(self._entities, self._adapter.remembered(instance), **options)
        else:
            await self._function(self._entities, self._adapter.key_of(instance), **options)

    async def rename(self, instance: Any, key: Mapping[str, Any] | None = None, /, **fields: Any) -> Any:
        entity = self._adapter.remembered(instance)
        retry_for = {name: fields.pop(name) for name in ("retry_for",) if name in fields}
        renamed_fields = self._adapter.renamed(entity, instance, {**(key or {}), **fields})
        return self._adapter.instance_of(await self._function(self._entities, entity, renamed_fields, **retry_for))

    async def update(self, change: Any, key: Mapping[str, Any] | None = None, /, **fields: Any) -> Any:
        adapter = self._adapter
        options = {name: fields.pop(name) for name in ("retry_for",) if name in fields}
        if isinstance(change, adapter.model.model_class):
            adapter.model.check_class(change)
            stored = adapter.changes({**(key or {}), **fields})
            by_fields = partial(adapter.upgrade, changes=stored)
            return adapter.instance_of(
                await self._function(self._entities, by_fields, adapter.key_of(change), **options)
            )
        instances: list[Any] = []

        def by_call(entity: Entity) -> None:
            instance = adapter.model.value(entity, adapter.version_of(entity))
            instances[:] = [_apply_change(instance, change)]
            adapter.rewrite(entity, instances[0])

        key_fields = adapter.model.key_fields({**(key or {}), **fields})
        run = by_call if callable(change) else change
        entity = await self._function(self._entities, run, key_fields, **options)
        return adapter.after_write(instances[0], entity)

    async def _current(self, instance: Any, options: dict[str, Any]) -> Entity | None:
        """Return the entity to change; None to read the current one in each attempt.

        :param options: the options of the write; its condition is removed from them
        """
        condition = _condition(options)
        for name in ("etag", "force"):
            options.pop(name, None)
        if condition is None:
            return self._adapter.remembered(instance)
        if condition == ANY:
            return None
        key = self._adapter.key_of(instance)
        entity: Entity | None = await self._entities.get(key)
        if entity is None:
            raise EntityNotFound(f"there is no entity {key}; insert it, or use insert_or_replace")
        if entity.etag != condition:
            raise EntityChanged(f"the entity {entity.key} has changed since it had the ETag {condition}; read it again")
        return entity


class _Planner:
    """Runs the methods that return a change for an `EntityGroupTransaction`."""

    def __init__(self, adapter: ModelAdapter[Any], function: Call, entities: Any) -> None:
        self._adapter = adapter
        self._function = function
        self._entities = entities

    def inserting(self, instance: Any) -> Any:
        write = self._function(self._entities, self._adapter.new_fields(instance))
        return replace(write, convert=partial(self._adapter.after_write, instance))

    def replacing(self, instance: Any) -> Any:
        entity = self._adapter.remembered(instance)
        self._adapter.rewrite(entity, instance)
        return replace(self._function(self._entities, entity), convert=partial(self._adapter.after_write, instance))

    def merging(self, instance: Any, changes: Mapping[str, Any]) -> Any:
        adapter, entity, changed_fields = (
            self._adapter,
            self._adapter.remembered(instance),
            self._adapter.changes(changes),
        )
        if adapter.version_of(entity) == adapter.model.version:
            write = self._function(self._entities, entity, adapter.fields_to_merge(entity, changed_fields))
        else:
            adapter.upgrade(entity, changed_fields)
            write = self._entities.replacing(entity)
        return replace(write, convert=adapter.instance_of)

    def deleting(self, instance: Any) -> Any:
        write = self._function(self._entities, self._adapter.remembered(instance))
        return replace(write, convert=partial(_given_back, instance))

    def renaming(self, instance: Any, fields: Mapping[str, Any]) -> Any:
        entity = self._adapter.remembered(instance)
        writes = self._function(self._entities, entity, self._adapter.renamed(entity, instance, fields))
        return tuple(replace(write, convert=self._adapter.instance_of) for write in writes)


class _Converted(AsyncGenerator[Any, None]):
    """An async generator that converts the items of another one.

    Not a generator around another one, which could not close the inner one if a task is cancelled; see `recipe`.
    """

    def __init__(self, items: AsyncGenerator[Any, None], convert: Callable[[Any], Any]) -> None:
        self._items = items
        self._convert = convert

    async def asend(self, value: None) -> Any:
        while True:
            converted = self._convert(await self._items.asend(value))
            # What does not fit the model may be skipped
            if converted is not None:
                return converted

    async def athrow(self, *error: Any) -> Any:
        return await self._items.athrow(*error)

    async def aclose(self) -> None:
        await self._items.aclose()


def adapter_of(
    model_class: type[M] | None,
    home: SetIdentity,
    derived: Sequence[Derived],
    mappings: Mappings,
    versions: Iterable[tuple[int, Upgrade]],
    on_unrecognized: OnUnrecognized,
) -> ModelAdapter[M]:
    """Check a model against the other parts of a set, and return its adapter.

    :raises BadDesign: the class cannot be the model of the set
    """
    if model_class is None:
        raise BadDesign("versions or on_unrecognized", NOT_SHOWN, "the set has no model", "pass its class as model")
    model = Model(model_class, home.key, upgrades=upgrades_of(versions), secret=mappings.secret)
    field_names = {*mappings.written_names(model.members), *model.members}
    for derived_data in derived:
        for name in sorted(set(derived_data.reads).difference(field_names)):
            near = get_close_matches(name, field_names, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"use one of {', '.join(sorted(model.members))}"
            raise BadDesign(f"derived {derived_data.name}", name, f"{model.name} has no such field", hint)
        if (key := _key_of(derived_data, home.key)) is not None:
            model.check_key(f"derived {derived_data.name}", key, has_entities=isinstance(derived_data, Index))
    return ModelAdapter(model, home, on_unrecognized)


def _key_of(derived: Derived, primary: Key) -> Key | None:
    """Return the key of derived rows; None if unknown."""
    # Not every kind of derived data describes its rows
    with suppress(BadDesign):
        return profile_of(derived, primary).key
    return None


def names_of(model_class: type[Any]) -> StoredNames | None:
    """Return the stored names of a model's fields; None if they equal the field names.

    :raises BadDesign: two fields have the same stored name, or one is a system property of the service
    """
    names = stored_names(model_class)
    return StoredNames(names) if names else None


def mapped(model_class: type[Any], table: str, mappings: Sequence[PropertyMapping]) -> Sequence[PropertyMapping]:
    """Return the mappings of a set, extended by the fields that its model assigns to them.

    :raises BadDesign: the set lacks a mapping that the model assigns a field to
    """
    model_mappings = [mapping.of_model(model_class) for mapping in mappings]
    kinds = defaultdict[type[StoredBy], list[str]](list)
    of_kind = annotated(model_class, StoredBy)
    for name, annotation in of_kind.items():
        if not any(name in mapping.fields for mapping in model_mappings):
            kinds[type(annotation)].append(name)
    return [*model_mappings, *(of_kind[names[0]].mapping(table, names) for names in kinds.values())]


def upgrades_of(versions: Iterable[tuple[int, Upgrade]]) -> tuple[Upgrade, ...]:
    """Return the upgrades of a model in the order of versions, starting from version 1.

    :raises BadDesign: there is a gap between the versions
    """
    ordered_versions = sorted(versions, key=lambda item: item[0])
    for number, (version, _) in enumerate(ordered_versions, 1):
        if version != number:
            rule = f"each version up to the last needs an upgrade, and the one of version {number} is missing"
            raise BadDesign(
                "versions",
                [version for version, _ in ordered_versions],
                rule,
                "write [(1, one_to_two), (2, two_to_three)]",
            )
    return tuple(upgrade for _, upgrade in ordered_versions)


def _without_model(pattern: Any) -> Any:
    """Return the view of a set without its model. A function, because the set's module imports this one."""
    return pattern.without_model()


def _given_back(instance: Any, entity: Entity) -> Any:
    return instance


def _condition(options: Mapping[str, Any]) -> str | None:
    return condition_of(options.get("etag"), force=bool(options.get("force", False)))


def _apply_change(instance: Any, change: Callable[[Any], Any]) -> Any:
    """Call the caller's function on an instance; return the instance that it changed or returned."""
    returned = change(instance)
    _close(returned)
    if returned is None:
        return instance
    if not isinstance(returned, type(instance)):
        rule = f"it must change the {type(instance).__name__} in place and return None, or return a changed one"
        hint = f"return None or a {type(instance).__name__}, from a function without async"
        raise BadInput("change", type(returned).__name__, rule, hint)
    return returned


def _close(returned: object) -> None:
    """Close a coroutine that is not awaited, so that Python does not warn."""
    if isinstance(returned, Coroutine):
        returned.close()


@lru_cache
def _parameters(function: Call) -> Sequence[str]:
    """Return the names of a recipe's declared parameters, without `self`. Other arguments are key fields."""
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    parameters = inspect.signature(function).parameters.values()
    return [parameter.name for parameter in parameters if parameter.kind not in kinds][1:]
