"""Sets that are an `EntitySet`: plain ones, patterns that are a special key, and log tails."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timezone
from itertools import islice
from typing import Any, Final, TypeAlias

from tablepatterns.edm import Ticks
from tablepatterns.entity import WRITE_ID, Entity
from tablepatterns.entity_set.derived import Derived, profile_of, rows_from
from tablepatterns.entity_set.entity_set import EntitySet
from tablepatterns.entity_set.internals import intents_or_none, mappings_of, primary_layout
from tablepatterns.errors import BadDesign
from tablepatterns.filters import QueryClass
from tablepatterns.key import Key
from tablepatterns.recipes.bulk_load.bulk_load import BulkLoad
from tablepatterns.recipes.log_tail import LogTail
from tablepatterns.recipes.partition_spread.partition_spread import PartitionSpread
from tablepatterns.storage import Storage

from ..design.model import DeclaredSet, Write
from ..python_source import CodeNames, call, text
from .kind import SampleCall, SampleSet, SetKind, changed, once

_ID: Final = bytes(16)
"""The bytes of a write id, which every row has."""

Row: TypeAlias = tuple[str, str, str, dict[str, Any]]
"""Table, PartitionKey, RowKey and properties."""


def rows_of(entities: EntitySet[Storage], rows: Sequence[Mapping[str, Any]]) -> Iterator[Row]:
    """Yield the rows of these entities, and the rows derived from them in tables."""
    table, layout = entities.table.name, primary_layout(entities)
    for fields in rows:
        properties = layout.row(fields)
        keys = properties.pop("PartitionKey"), properties.pop("RowKey")
        yield (table, *keys, _stored(properties))
    for derived in entities.derived:
        for keys, derived_properties in rows_from(derived, entities.key, rows):
            yield (derived.table(table), *keys, _stored(derived_properties))


def _stored(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _value(value) for name, value in properties.items()} | {WRITE_ID: _ID}


def _value(value: Any) -> Any:
    if isinstance(value, datetime):
        return Ticks.of(value)
    if isinstance(value, date):
        return Ticks.of(datetime(value.year, value.month, value.day, tzinfo=timezone.utc))
    return value


def fill(storage: Storage, rows: Iterable[Row]) -> None:
    """Store rows in the tables of an in-memory account, without requests."""
    tables = defaultdict[str, list[tuple[str, str, dict[str, Any]]]](list)
    for table, partition_key, row_key, properties in rows:
        tables[table].append((partition_key, row_key, properties))
    for table, each in tables.items():
        if storage.engine is not None:
            storage.engine.tables.fill(table, each)


class Plain(SampleSet):
    def __init__(self, storage: Storage, entities: EntitySet[Storage]) -> None:
        super().__init__(storage, entities.key)
        self.entities = entities
        profiles = [profile_of(derived, entities.key) for derived in entities.derived]
        in_tables = all(row_profile.finder is not None and row_profile.in_table for row_profile in profiles)
        self.needs_recipe = bool(mappings_of(entities).mappings) or not in_tables

    def load(self, rows: Sequence[Mapping[str, Any]]) -> None:
        table = self.entities.table.name
        for name in {table, *(via.table(table) for via in self.entities.derived)}:
            self.make_table(name)
        if not self.needs_recipe:
            fill(self.storage, rows_of(self.entities, rows))
            return
        BulkLoad(self.entities, max_concurrency=1).load(once(self.key, rows), mode="insert_or_replace")

    def ask(self, ask: SampleCall) -> int:
        return call_entity_set(self.entities, ask, self)

    def insert(self, fields: Mapping[str, Any]) -> None:
        if isinstance(self.entities, LogTail):
            self.entities.append(fields)
        else:
            self.entities.insert(fields)

    def update(self, fields: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
        changed(self.storage, self.entities, self.key_of(fields), changes)

    def overwrite(self, fields: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
        if set(changes).isdisjoint(self.key.fields):
            self.entities.insert_or_merge({**self.key_of(fields), **changes})
        else:
            self.update(fields, changes)

    def delete(self, fields: Mapping[str, Any]) -> None:
        self.entities.delete(self.key_of(fields), force=True)

    def process_messages(self) -> int:
        return 0 if intents_or_none(self.entities) is None else self.entities.process_intents()


def call_entity_set(entities: EntitySet[Storage], ask: SampleCall, sample_set: SampleSet) -> int:
    via: Any = ask.via
    rows: Sequence[Entity | None]
    match ask.way:
        case "get":
            rows = [entities.get(ask.given)]
        case "find":
            rows = [entities.find(via, ask.given)]
        case "find_all":
            return len(entities.find_all(via, ask.given))
        case "totals":
            entities.totals(via, ask.given)
            return 1
        case "scan":
            options: dict[str, Any] = {"allow": QueryClass.TABLE_SCAN, "select": ask.select}
            found = entities.scan() if ask.where is None else entities.query(ask.where, **options)
            rows = list(islice(found, ask.take))
        case "filter":
            return sample_set.raw(entities.table.name, ask.where, ask.select)
        case "range":
            rows = range_of(entities, ask, entities.key)
    stored = [entity for entity in rows if entity is not None]
    if ask.completes:
        # Its rows do not have all requested fields
        keys = [{name: entity[name] for name in entities.key.fields} for entity in stored]
        entities.get_many(keys, max_concurrency=1)
    return len(stored)


def range_of(recipe: EntitySet[Storage] | PartitionSpread[Storage], ask: SampleCall, key: Key) -> Sequence[Entity]:
    """Return the entities of a range, or the first ones of it; `key` is that of the primary rows."""
    is_index = ask.via is not None and profile_of(ask.via, key).layout is not None
    via: Any = ask.via if is_index else None
    options: dict[str, Any] = {"where": ask.where, "allow": QueryClass.TABLE_SCAN, "select": ask.select}
    if ask.take is None:
        return list(recipe.range(via, ask.given, **options))
    return recipe.take(ask.take, via, ask.given, **options)


class EntitySetKind(SetKind[EntitySet[Storage]]):
    """An `EntitySet`, under one of the names that differ only in their keys."""

    recipe = "EntitySet"
    groups_writes = True
    shares_tables = True

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.has_own_recipe = pattern == "entity_set"

    def make(self, account: Storage, declared_set: DeclaredSet, derived: Sequence[Derived]) -> EntitySet[Storage]:
        return EntitySet(account, declared_set.table, declared_set.key, derived=derived, mappings=declared_set.mappings)

    def sample(self, recipe: EntitySet[Storage], storage: Storage) -> SampleSet:
        return Plain(storage, recipe)

    def code(self, declared_set: DeclaredSet, names: CodeNames) -> list[str]:
        return [f"{names.set} = {self.make_code(declared_set, names, 'storage', text(declared_set.table))}"]

    def make_code(self, declared_set: DeclaredSet, names: CodeNames, account: str, table: str) -> str:
        return call("EntitySet", account, table, names.key, **names.options, model=names.model)


_LOG_FIELDS: Final = {"at": "At", "entry": "EntryId"}
"""The default names of the timestamp and the id of an entry."""


class LogTailKind(EntitySetKind):
    recipe = "LogTail"
    shares_tables = False
    has_unique_keys = True

    def __init__(self) -> None:
        super().__init__("log_tail")
        self.has_own_recipe = True

    def settings(self, values: Mapping[str, Any]) -> dict[str, Any]:
        # The prefix is part of the key
        return {**_LOG_FIELDS, **{name: value for name, value in values.items() if name != "row_prefix"}}

    def row_template(self, values: Mapping[str, Any]) -> str | None:
        named = {**_LOG_FIELDS, **values}
        return f"{named.get('row_prefix', '')}{{{named['at']}:inverted}}_{{{named['entry']}:uuid}}"

    def make(self, account: Storage, declared_set: DeclaredSet, derived: Sequence[Derived]) -> LogTail[Storage]:
        key, settings = declared_set.key, {**_LOG_FIELDS, **declared_set.settings}
        log = LogTail(
            account,
            declared_set.table,
            key.partition_template,
            at=str(settings["at"]),
            entry=str(settings["entry"]),
            row_prefix=key.row_template.partition("{")[0],
            derived=derived,
            mappings=declared_set.mappings,
        )
        if log.key != key:
            rule = f"a log tail has the RowKey {log.key.row_template!r}"
            raise BadDesign("key", key.row_template, rule, "leave the row out, or use the pattern entity_set")
        return log

    def write_call(self, write: Write) -> str | None:
        return "append(...)" if write.operation == "insert" else None

    def make_code(self, declared_set: DeclaredSet, names: CodeNames, account: str, table: str) -> str:
        prefix = declared_set.key.row_template.partition("{")[0]
        named = {key: repr(declared_set.settings[key]) for key in ("at", "entry") if key in declared_set.settings}
        named |= {"row_prefix": text(prefix)} if prefix else {}
        partition = text(declared_set.key.partition_template)
        return call("LogTail", account, table, partition, **named, **names.options, model=names.model)


PLAIN_KINDS: Final = tuple(map(EntitySetKind, ("entity_set", "compound_key", "one_to_many", "one_to_one")))
