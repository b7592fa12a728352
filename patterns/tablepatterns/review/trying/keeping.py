"""Keeping: the sets of a design on an account, each asked and written in the words of the recipe that keeps it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final, Literal

from ...deriving.derived import Derived, Index
from ...entity import Entity
from ...entity_set import EntitySet
from ...filters import Filter, QueryClass
from ...key import Key
from ...recipes.bulk_load import BulkLoad
from ...recipes.entity_group_transaction import EntityGroupTransaction
from ...recipes.index_entities import IndexEntities
from ...recipes.log_tail import LogTail
from ...recipes.partition_move import PartitionMove
from ...recipes.partition_spread import PartitionSpread
from ...recipes.summary import Summary
from ...storage import Storage
from .seeding import fill, rows_of

Way = Literal["get", "find", "totals", "range", "find_all", "scan", "filter"]
"""How a question is answered: the word of the recipe."""
BY_RECIPE: Final = 150
"""How many entities are written by the recipes themselves, where their rows cannot be worked out."""


@dataclass(frozen=True)
class Ask:
    """A question as it is put to a set.

    :param way: the word that answers it
    :param via: the derived data that answers it; None for the primary rows
    :param given: values, ranges and beginnings of the fields of the key that is searched
    :param where: conditions on properties
    :param take: how many are wanted; None for all
    :param select: the properties that are wanted; None for all
    :param completes: whether the entity of each row that is found is read too
    """

    way: Way
    via: Derived | None = None
    given: Mapping[str, Any] = field(default_factory=dict[str, Any])
    where: Filter | None = None
    take: int | None = None
    select: tuple[str, ...] | None = None
    completes: bool = False


class Kept(ABC):
    """A set of a design, on an account."""

    parts: Sequence[Derived] = ()
    """What is derived from its entities."""
    needs_recipe: bool = True
    """Whether only the recipe knows what is stored of an entity."""

    def __init__(self, storage: Storage, key: Key) -> None:
        self.storage = storage
        self.key = key

    @abstractmethod
    def load(self, made: Sequence[Mapping[str, Any]]) -> None:
        """Store entities; what that takes is of no interest."""

    @abstractmethod
    def ask(self, ask: Ask) -> int:
        """Put a question, and return how many entities came of it."""

    @abstractmethod
    def insert(self, fields: Mapping[str, Any]) -> None:
        """Create an entity."""

    @abstractmethod
    def update(self, fields: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
        """Change an entity that exists."""

    @abstractmethod
    def delete(self, fields: Mapping[str, Any]) -> None:
        """Delete an entity that exists."""

    def key_of(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of the key of an entity."""
        return {name: fields[name] for name in self.key.fields}

    def make_table(self, name: str) -> None:
        """Make a table that may stay empty, past all requests."""
        if self.storage.engine is not None:
            self.storage.engine.tables.fill(name, ())

    def raw(self, table: str, where: Filter | None, select: Sequence[str] | None = None) -> int:
        """Send a filter as it is, and return how many rows came back."""
        client: Any = self.storage.tables.get_table_client(table)
        if where is None:
            return sum(1 for _ in client.list_entities(select=select))
        return sum(1 for _ in client.query_entities(str(where), select=select))

    def work_off(self) -> int:
        """Do what messages ask for, and return how many there were."""
        return 0


class Plain(Kept):
    """A set that an `EntitySet` keeps."""

    def __init__(self, storage: Storage, entities: EntitySet[Storage]) -> None:
        super().__init__(storage, entities.key)
        self.entities = entities
        self.parts = entities.derived
        kinds = (Index, IndexEntities, Summary)
        in_tables = all(isinstance(each, kinds) and each.store(storage) is None for each in self.parts)
        self.needs_recipe = bool(entities.mappings.each) or not in_tables

    def load(self, made: Sequence[Mapping[str, Any]]) -> None:
        for table in {self.entities.table.name, *(via.table(self.entities.table.name) for via in self.parts)}:
            self.make_table(table)
        if not self.needs_recipe:
            fill(self.storage, rows_of(self.entities, made))
            return
        BulkLoad(self.entities, parallel=1).load(once(self.key, made), mode="insert_or_replace")

    def ask(self, ask: Ask) -> int:
        return answered(self.entities, ask, self)

    def insert(self, fields: Mapping[str, Any]) -> None:
        if isinstance(self.entities, LogTail):
            self.entities.append(fields)
        else:
            self.entities.insert(fields)

    def update(self, fields: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
        changed(self.storage, self.entities, self.key_of(fields), changes)

    def delete(self, fields: Mapping[str, Any]) -> None:
        self.entities.delete(self.key_of(fields), unconditionally=True)

    def work_off(self) -> int:
        return 0 if self.entities.intents is None else self.entities.settle()


class Spread(Kept):
    """A set that is spread over buckets."""

    def __init__(self, storage: Storage, spread: PartitionSpread[Storage]) -> None:
        super().__init__(storage, spread.key)
        self.spread = spread
        self.inner = Plain(storage, spread.entities)
        self.parts, self.needs_recipe = self.inner.parts, self.inner.needs_recipe

    def load(self, made: Sequence[Mapping[str, Any]]) -> None:
        # The first tells the table how its entities are spread
        for first in made[:1]:
            self.spread.insert(first)
        self.inner.load([self.spread.placed(fields) for fields in made])

    def ask(self, ask: Ask) -> int:
        via = ask.via if isinstance(ask.via, Index) else None
        if ask.way == "get":
            return _one(self.spread.get(ask.given))
        if ask.way not in ("range", "find"):
            return self.inner.ask(ask)
        if ask.take is not None:
            return len(
                self.spread.take(
                    ask.take, via, ask.given, where=ask.where, allow=QueryClass.TABLE_SCAN, select=ask.select
                )
            )
        return sum(
            1
            for _ in self.spread.range(via, ask.given, where=ask.where, allow=QueryClass.TABLE_SCAN, select=ask.select)
        )

    def insert(self, fields: Mapping[str, Any]) -> None:
        self.spread.insert(fields)

    def update(self, fields: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
        changed(self.storage, self.spread.entities, self.spread.placed(self.key_of(fields)), changes)

    def delete(self, fields: Mapping[str, Any]) -> None:
        self.spread.entities.delete(self.spread.placed(self.key_of(fields)), unconditionally=True)

    def work_off(self) -> int:
        return self.inner.work_off()


def answered(entities: EntitySet[Storage], ask: Ask, kept: Kept) -> int:
    """Put a question to an `EntitySet`, and return how many entities came of it."""
    match ask.way, ask.via:
        case "get", _:
            return _one(entities.get(ask.given))
        case "find", Index() as via:
            return _completed(entities, [entities.find(via, ask.given)], ask)
        case "find_all", IndexEntities() as via:
            return len(entities.find_all(via, ask.given))
        case "totals", Summary() as via:
            return _one(entities.totals(via, ask.given))
        case "scan", _:
            return _scanned(entities, ask)
        case "filter", _:
            return kept.raw(entities.table.name, ask.where, ask.select)
        case _:
            return _ranged(entities, ask)


def _ranged(entities: EntitySet[Storage], ask: Ask) -> int:
    via = ask.via if isinstance(ask.via, Index) else None
    if ask.take is None:
        found = list(entities.range(via, ask.given, where=ask.where, allow=QueryClass.TABLE_SCAN, select=ask.select))
    else:
        found = entities.take(ask.take, via, ask.given, where=ask.where, allow=QueryClass.TABLE_SCAN, select=ask.select)
    return _completed(entities, found, ask)


def _completed(entities: EntitySet[Storage], found: Sequence[Entity | None], ask: Ask) -> int:
    """Read the entities of rows that do not hold all that is wanted."""
    there = [each for each in found if each is not None]
    if ask.completes:
        keys = [{name: each[name] for name in entities.key.fields} for each in there]
        entities.get_many(keys, limit=1)
    return len(there)


def _scanned(entities: EntitySet[Storage], ask: Ask) -> int:
    if ask.where is None:
        found = entities.scan()
    else:
        found = entities.query(ask.where, at_worst=QueryClass.TABLE_SCAN, select=ask.select)
    return sum(1 for _ in islice(found, ask.take))


def _one(found: object) -> int:
    return int(found is not None)


def once(key: Key, made: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the entities without those whose keys are another's."""
    by_key = {key.format({name: each[name] for name in key.fields}): each for each in made}
    return list(by_key.values())


def changed(storage: Storage, entities: EntitySet[Storage], key: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
    """Change an entity: write it back, or let it take another key in its partition, or move it to another one."""
    moved = {name: changes[name] for name in changes if name in entities.key.fields}
    if not moved:
        entities.update(lambda entity: entity.update(changes), key)
        return
    found = entities.get(key)
    if found is None:
        return
    if set(moved).intersection(entities.key.partition_fields):
        PartitionMove(entities).move(found, moved)
        return
    EntityGroupTransaction(storage, entities.table.name).commit(
        entities.deleting(found), entities.inserting({**found, **changes})
    )
