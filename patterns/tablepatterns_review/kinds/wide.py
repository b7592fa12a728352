"""Sets whose entities are too large for one row."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tablepatterns.entity_set.derived import Derived
from tablepatterns.recipes.wide_entity.wide_entity import WideEntity
from tablepatterns.storage import Storage

from ..design.model import DeclaredSet
from ..python_source import CodeNames, array, call, text
from .kind import SampleCall, SampleSet, SetKind, once, reject_parts


class WideKind(SetKind[WideEntity[Storage]]):
    pattern = "wide_entity"
    recipe = "WideEntity"
    has_unique_keys = True
    is_wide = True
    repair = "until the next full write, or sweep"

    def make(self, account: Storage, declared_set: DeclaredSet, derived: Sequence[Derived]) -> WideEntity[Storage]:
        reject_parts(declared_set, derived)
        names = _properties(declared_set) if declared_set.settings.get("fixed") else ()
        return WideEntity(account, declared_set.table, declared_set.key, properties=names)

    def sample(self, recipe: WideEntity[Storage], storage: Storage) -> SampleSet:
        return Wide(storage, recipe)

    def code(self, declared_set: DeclaredSet, names: CodeNames) -> list[str]:
        names_of_all = array(map(text, _properties(declared_set))) if declared_set.settings["fixed"] else None
        table = text(declared_set.table)
        return [f"{names.set} = {call('WideEntity', 'storage', table, names.key, properties=names_of_all)}"]


def _properties(declared_set: DeclaredSet) -> list[str]:
    return [name for name in declared_set.shape.fields if name not in declared_set.key.fields]


class Wide(SampleSet):
    def __init__(self, storage: Storage, wide: WideEntity[Storage]) -> None:
        super().__init__(storage, wide.key)
        self.wide = wide

    def load(self, rows: Sequence[Mapping[str, Any]]) -> None:
        self.make_table(self.wide.table.name)
        for fields in once(self.key, rows):
            self.wide.insert(fields)

    def ask(self, ask: SampleCall) -> int:
        if ask.way == "get":
            return int(self.wide.get(ask.given, select=ask.select) is not None)
        return self.raw(self.wide.table.name, ask.where, ask.select)

    def insert(self, fields: Mapping[str, Any]) -> None:
        self.wide.insert(fields)

    def update(self, fields: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
        entity = self.wide.get(**self.key_of(fields))
        if entity is not None and set(changes).isdisjoint(self.key.fields):
            self.wide.merge(entity, changes)
        elif entity is not None:
            self.wide.insert({**entity, **changes})
            self.wide.delete(entity)

    def delete(self, fields: Mapping[str, Any]) -> None:
        entity = self.wide.get(**self.key_of(fields))
        if entity is not None:
            self.wide.delete(entity)
