"""The calls of a set with a model: they take and return instances, and the set works on entities."""

# A layer calls the hooks of the set behind it
# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial, reduce
from inspect import iscoroutine
from typing import Any, TypeVar

from ..entity import Entity
from ..errors import BadInput
from ..filters import Filter, QueryClass
from ..models.annotations import StoredBy, field_annotations, stored_names
from ..models.options import OneOf
from ..recipe import WrappedItems
from ..sdk.table import Page, Table
from .commit import Write
from .derived import Derived, Fields, Index
from .hooks import Selection, SetHooks
from .mapping import PropertyMapping
from .model_adapter import ModelAdapter, key_of_derived
from .named_table import NamedTable, StoredNames
from .shared_rows import Lists, Totals

M = TypeVar("M")


class ModelLayer(SetHooks[M]):
    """Converts what a set with a model takes and returns, in front of what the set does with entities."""

    def __init__(self, adapter: ModelAdapter[M], entities: SetHooks[Any]) -> None:
        self.adapter = adapter
        self.entities = entities

    def over(self, entities: SetHooks[Any]) -> ModelLayer[M]:
        return ModelLayer(self.adapter, entities)

    def takes(self, name: str, value: object) -> bool:
        """Whether an argument of this name may be an instance, or a function of one; its class is checked later."""
        if name == "change":
            return callable(value) or isinstance(value, self.adapter.types.classes)
        return name == "entity"

    # ------------------------------------------------------------------ reads

    async def _one(self, selection: Selection) -> M | None:
        return self.adapter.recognized_instance(await self.entities._one(self._stored(selection)))

    async def _many(self, keys: Iterable[Fields], max_concurrency: int) -> list[M | None]:
        entities = await self.entities._many([self._stored_key(fields) for fields in keys], max_concurrency)
        return [self.adapter.recognized_instance(entity) for entity in entities]

    def _items(self, selection: Selection, size: int) -> AsyncGenerator[M, None]:
        return _Instances(self.entities._items(self._stored(selection), size), self.adapter)

    async def _page(self, selection: Selection, size: int, token: str | None) -> Page[M]:
        page = await self.entities._page(self._stored(selection), size, token)
        return Page(tuple(self.adapter.recognized_instances(page.items)), page.token)

    async def _first(self, selection: Selection, count: int) -> list[M]:
        selection, limit = self._stored(selection), count
        # Kept, so that a second read does not report an entity again
        instances: dict[Any, M | None] = {}
        while True:
            entities = await self.entities._first(selection, limit)
            for entity in entities:
                if entity.key not in instances:
                    instances[entity.key] = self.adapter.recognized_instance(entity)
            recognized = [instance for entity in entities if (instance := instances[entity.key]) is not None]
            if len(recognized) >= count or len(entities) < limit:
                return recognized[:count]
            limit += count - len(recognized)

    def _matching(
        self, where: Filter | None, allow: QueryClass, select: Sequence[str] | None
    ) -> AsyncGenerator[M, None]:
        self._check_select(select)
        stored_filter = None if where is None else self.adapter.model.filter(where)
        return _Instances(self.entities._matching(stored_filter, allow, None), self.adapter)

    async def _keys_with(self, via: Lists, fields: Fields) -> list[Fields]:
        keys = await self.entities._keys_with(via, self._stored_key(fields, via))
        values = [self.adapter.convert_recognized(fields, self.adapter.model.key_values) for fields in keys]
        return [fields for fields in values if fields is not None]

    async def _listed(self, via: Lists, fields: Fields, max_concurrency: int) -> list[M]:
        entities = await self.entities._listed(via, self._stored_key(fields, via), max_concurrency)
        return self.adapter.recognized_instances(entities)

    async def _totals(self, via: Totals, fields: Fields, retry_for: float) -> Fields:
        return await self.entities._totals(via, self._stored_key(fields, via), retry_for)

    def _stored(self, selection: Selection) -> Selection:
        fields, via, where, allow, select, retry_for = selection
        self._check_select(select)
        if isinstance(via, Index) and via.include is not None:
            rule = f"its rows have only some of the fields of a {self.adapter.model.name}"
            raise BadInput("index", via.name, rule, "include all fields in the index, or use without_model().find(...)")
        stored_filter = None if where is None else self.adapter.model.filter(where)
        return Selection(self._stored_key(fields, via), via, stored_filter, allow, None, retry_for)

    def _check_select(self, select: Sequence[str] | None) -> None:
        if select is not None:
            rule = f"a {self.adapter.model.name} needs all its fields"
            raise BadInput("select", select, rule, "leave it out, or use without_model().range(...)")

    def _stored_key(self, fields: Fields, via: Derived | None = None) -> Fields:
        key = key_of_derived(via, self.adapter.home.key) if isinstance(via, Derived) else None
        return self.adapter.model.key_fields(fields, key)

    # ------------------------------------------------------------------ writes

    async def _create(self, instance: Any, retry_for: float) -> M:
        entity = await self.entities._create(self.adapter.new_fields(instance), retry_for)
        return self.adapter.after_write(instance, entity)

    async def _change(self, instance: Any, changes: Fields | None, retry_for: float) -> M:
        stored_changes = None if changes is None else self.adapter.changes(changes)
        return await self._write(self.adapter.remembered_entity(instance), instance, stored_changes, retry_for)

    async def _overwrite(self, instance: Any, changes: Fields | None, etag: str, retry_for: float) -> M:
        stored_changes = None if changes is None else self.adapter.changes(changes)
        write = partial(self._write, instance=instance, changes=stored_changes, retry_for=retry_for)
        return await self.entities._on_condition(self.adapter.key_of(instance), etag, write, retry_for)

    async def _upsert(self, instance: Any, retry_for: float, *, in_part: bool) -> M:
        # The service's own upserts would remove undeclared properties, or mix two model versions in one entity
        adapter, fields = self.adapter, self.adapter.new_fields(instance)

        async def write(current: Entity | None) -> Any:
            if current is None:
                return await self.entities._create(fields, retry_for)
            if in_part:
                # Fields that are None do not change what is stored
                adapter.merge_instance(current, instance)
            else:
                adapter.rewrite(current, instance)
            return await self._write_whole(current, retry_for)

        entity = await self.entities._from_current(adapter.key_of(instance), write, retry_for)
        return adapter.instance_of(entity) if in_part else adapter.after_write(instance, entity)

    async def _write(self, entity: Entity, instance: Any, changes: Fields | None, retry_for: float) -> M:
        adapter = self.adapter
        if changes is None:
            adapter.rewrite(entity, instance)
            return adapter.after_write(instance, await self._write_whole(entity, retry_for))
        fields = adapter.fields_to_merge(entity, changes)
        return adapter.instance_of(await self.entities._change(entity, fields, retry_for))

    async def _write_whole(self, entity: Entity, retry_for: float) -> Any:
        # The set computes some fields of a key, such as a bucket, whatever they are in a new instance
        entity.update(self.entities._key_of(entity))
        return await self.entities._change(entity, None, retry_for)

    async def _update(self, change: Any, key: Fields, retry_for: float) -> M:
        adapter = self.adapter
        if isinstance(change, adapter.types.classes):
            # The fields are the changes of the instance
            adapter.types.of_instance(change)
            by_fields = partial(adapter.upgrade, changes=adapter.changes(key))
            return adapter.instance_of(await self.entities._update(by_fields, adapter.key_of(change), retry_for))
        instances: list[Any] = []

        def by_call(entity: Entity) -> None:
            instances[:] = [_apply_change(adapter.value_of(entity), change)]
            adapter.rewrite(entity, instances[0])

        entity = await self.entities._update(by_call, adapter.model.key_fields(key), retry_for)
        return adapter.after_write(instances[0], entity)

    async def _rename(self, instance: Any, fields: Fields, retry_for: float) -> M:
        entity = self.adapter.remembered_entity(instance)
        changes = self.adapter.renamed_key_fields(entity, instance, fields)
        return self.adapter.instance_of(await self.entities._rename(entity, changes, retry_for))

    async def _remove(self, instance: Any, retry_for: float) -> None:
        await self.entities._remove(self.adapter.remembered_entity(instance), retry_for)

    async def _remove_any(self, instance: Any, etag: str, retry_for: float) -> None:
        await self.entities._remove_any(self.adapter.key_of(instance), etag, retry_for)

    def _key_of(self, instance: Any) -> Fields:
        return self.adapter.key_of(instance)

    # ------------------------------------------------------------------ changes for a transaction

    def _plan_insert(self, instance: Any) -> Write[M]:
        write = self.entities._plan_insert(self.adapter.new_fields(instance))
        return replace(write, convert=partial(self.adapter.after_write, instance))

    def _plan_change(self, instance: Any, changes: Fields | None) -> Write[M]:
        adapter, entity = self.adapter, self.adapter.remembered_entity(instance)
        if changes is None:
            adapter.rewrite(entity, instance)
            return replace(self.entities._plan_change(entity, None), convert=partial(adapter.after_write, instance))
        fields = adapter.fields_to_merge(entity, adapter.changes(changes))
        return replace(self.entities._plan_change(entity, fields), convert=adapter.instance_of)

    def _plan_removal(self, instance: Any) -> Write[M]:
        def unchanged(_: Entity) -> Any:
            return instance

        return replace(self.entities._plan_removal(self.adapter.remembered_entity(instance)), convert=unchanged)

    def _plan_rename(self, instance: Any, fields: Fields) -> tuple[Write[M], Write[M]]:
        entity = self.adapter.remembered_entity(instance)
        key_fields = self.adapter.renamed_key_fields(entity, instance, fields)
        deletion, insertion = self.entities._plan_rename(entity, key_fields)
        convert = self.adapter.instance_of
        return replace(deletion, convert=convert), replace(insertion, convert=convert)


class _Instances(WrappedItems[Any]):
    def __init__(self, entities: AsyncGenerator[Any, None], adapter: ModelAdapter[Any]) -> None:
        super().__init__(entities)
        self._adapter = adapter

    async def asend(self, value: None) -> Any:
        while True:
            instance = self._adapter.recognized_instance(await self._items.asend(value))
            # What does not fit the model may be skipped
            if instance is not None:
                return instance


def _apply_change(instance: Any, change: Callable[[Any], Any]) -> Any:
    """Call the caller's function on an instance; return the instance that it changed or returned."""
    result = change(instance)
    if result is None:
        return instance
    if not isinstance(result, type(instance)):
        rule = f"it must change the {type(instance).__name__} in place and return None, or return a changed one"
        hint = f"return None or a {type(instance).__name__}, from a function without async"
        if iscoroutine(result):
            # So that Python does not warn that it is not awaited
            result.close()
        raise BadInput("change", type(result).__name__, rule, hint)
    return result


def as_declared(
    model: type[Any] | OneOf[Any], table: Table, mappings: Sequence[PropertyMapping]
) -> tuple[Table, StoredNames | None, Sequence[PropertyMapping]]:
    """Return a set's table, the stored names of fields if they differ, and the mappings, as the class declares them."""
    classes = model.classes if isinstance(model, OneOf) else (model,)
    stored = {name: text for model_class in classes for name, text in stored_names(model_class).items()}
    names = StoredNames(stored) if stored else None
    model_mappings = [reduce(lambda inner, kind: inner.of_model(kind), classes, mapping) for mapping in mappings]
    missing = defaultdict[type[StoredBy], dict[str, StoredBy]](dict)
    for name, annotation in (pair for model_class in classes for pair in field_annotations(model_class, StoredBy)):
        if not any(mapping.declared_by is type(annotation) and name in mapping.fields for mapping in model_mappings):
            missing[type(annotation)][name] = annotation
    more = [next(iter(fields.values())).mapping(table.name, list(fields)) for fields in missing.values()]
    return table if names is None else NamedTable(table, names), names, [*model_mappings, *more]
