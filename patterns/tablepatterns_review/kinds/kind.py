"""What a review knows about a kind of set: how it is made, filled and called, and what is special about it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, ClassVar, Generic, Literal, TypeVar

from tablepatterns.entity_set.derived import Derived
from tablepatterns.entity_set.entity_set import EntitySet
from tablepatterns.errors import BadDesign
from tablepatterns.filters import Filter
from tablepatterns.key import Key
from tablepatterns.recipe import SetProfile
from tablepatterns.recipes.entity_group_transaction import EntityGroupTransaction
from tablepatterns.recipes.partition_move import PartitionMove
from tablepatterns.storage import Storage

from ..design.model import DeclaredSet, Retention, Write
from ..python_source import CodeNames

Method = Literal["get", "find", "totals", "range", "find_all", "scan", "filter"]
"""The method of a recipe."""


@dataclass(frozen=True)
class SampleCall:
    """The parameters of a call.

    :param via: the derived data that is read; None for the primary rows
    :param given: values, ranges and prefixes of the key's fields
    :param where: conditions on properties
    :param completes: whether the entity of each row is read too
    :param moment: an instant in the period that is read, if the call tells the period by another field
    """

    way: Method
    via: Derived | None = None
    given: Mapping[str, Any] = field(default_factory=dict[str, Any])
    where: Filter | None = None
    take: int | None = None
    select: tuple[str, ...] | None = None
    completes: bool = False
    moment: date | None = None


class SampleSet(ABC):
    """A set of a design on an account, which a recipe stores."""

    needs_recipe: bool = True
    """Whether only the recipe can compute the stored rows."""

    def __init__(self, storage: Storage, key: Key) -> None:
        self.storage = storage
        self.key = key
        self.row_key = key

    @abstractmethod
    def load(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Store entities; the cost is not measured."""

    @abstractmethod
    def ask(self, ask: SampleCall) -> int:
        """Make a call, and return the number of entities."""

    @abstractmethod
    def insert(self, fields: Mapping[str, Any]) -> None:
        """Create an entity."""

    @abstractmethod
    def update(self, fields: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
        """Change an entity that exists."""

    def overwrite(self, fields: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
        self.update(fields, changes)

    @abstractmethod
    def delete(self, fields: Mapping[str, Any]) -> None:
        """Delete an entity that exists."""

    def key_of(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        return {name: fields[name] for name in self.key.fields}

    def make_table(self, name: str) -> None:
        """Create a table without requests."""
        if self.storage.engine is not None:
            self.storage.engine.tables.fill(name, ())

    def raw(self, table: str, where: Filter | None, select: Sequence[str] | None = None) -> int:
        """Send a filter unchanged, and return the number of rows."""
        client: Any = self.storage.tables.get_table_client(table)
        if where is None:
            return sum(1 for _ in client.list_entities(select=select))
        return sum(1 for _ in client.query_entities(str(where), select=select))

    def process_messages(self) -> int:
        return 0


def once(key: Key, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    by_key = {key.format({name: row[name] for name in key.fields}): row for row in rows}
    return list(by_key.values())


def changed(storage: Storage, entities: EntitySet[Storage], key: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
    """Change an entity: write it back, rename it within its partition, or move it to another one."""
    moved = {name: changes[name] for name in changes if name in entities.key.fields}
    if not moved:
        entities.update(lambda entity: entity.update(changes), key)
        return
    entity = entities.get(key)
    if entity is None:
        return
    if set(moved).intersection(entities.key.partition_fields):
        PartitionMove(entities).move(entity, moved)
        return
    EntityGroupTransaction(storage, entities.table.name).commit(
        entities.deleting(entity), entities.inserting({**entity, **changes})
    )


RecipeT = TypeVar("RecipeT")


class SetKind(ABC, Generic[RecipeT]):
    """One pattern that stores the entities of a set. Rules and measurements ask it, and never for its name.

    The defaults are those of an `EntitySet`.
    """

    pattern: str
    """Its name in a design file."""
    recipe: ClassVar[str]
    """The name of the recipe's class."""
    has_own_recipe: bool = True
    """Whether the recipe shows which pattern it is; others differ only in their keys."""
    groups_writes: ClassVar[bool] = False
    """Whether its writes can be part of an entity group transaction, and it has the methods of an `EntitySet`."""
    shares_tables: ClassVar[bool] = False
    """Whether other sets may store their rows in its table."""
    has_unique_keys: ClassVar[bool] = False
    """Whether its keys cannot collide: they have an id, or all rows of an entity have one key."""
    is_wide: ClassVar[bool] = False
    """Whether an entity may take several rows, each with some of its properties."""
    is_spread: ClassVar[bool] = False
    """Whether each partition is spread over buckets."""
    parts: ClassVar[str] = ""
    """What a query without the field that selects one of them asks: period tables or buckets; empty for neither."""
    repair: ClassVar[str] = ""
    """What removes the rows that a crash leaves, which readers do not see; empty if a worker does."""

    # -- In a design file, and in a program

    def settings(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings of the recipe from the keys of a design file that only this pattern has."""
        return dict(values)

    def row_template(self, values: Mapping[str, Any]) -> str | None:
        """Return the template of the RowKey if a design file leaves it out; None if it must not."""
        return None

    def retention(self, profile: SetProfile) -> Retention | None:
        """Return how long a program's recipe keeps entities, or None; reject a recipe that a design cannot describe."""
        return None

    # -- Its recipe

    @abstractmethod
    def make(self, account: Storage, declared_set: DeclaredSet, derived: Sequence[Derived]) -> RecipeT:
        """Return the recipe of a set; the sources of the derived data are on the same account."""

    @abstractmethod
    def sample(self, recipe: RecipeT, storage: Storage) -> SampleSet:
        """Return the adapter that fills a set with sample entities and calls it."""

    # -- What rules and measurements ask

    def time_field(self, declared_set: DeclaredSet) -> str | None:
        """Return the field whose value selects the table of an entity; None if all entities are in one table."""
        return None

    def period_days(self, declared_set: DeclaredSet) -> float | None:
        """Return the length of the period of each table in days; None if there is one table."""
        return None

    def tables(self, declared_set: DeclaredSet, days: float) -> int:
        """Return the number of tables of a set whose oldest entity has this age."""
        period = self.period_days(declared_set)
        return 1 if period is None else max(1, round(days / period))

    def buckets(self, declared_set: DeclaredSet) -> int:
        return 1

    def points(self, declared_set: DeclaredSet) -> int | None:
        """Return the number of points of each entity; None if it has properties instead."""
        return None

    def write_call(self, write: Write) -> str | None:
        """Return how a report shows a write, if it has no method of an `EntitySet`."""
        return None

    def fewer_parts(self, declared_set: DeclaredSet) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield changes of its settings after which a query asks fewer parts: what they are, and the settings."""
        yield from ()

    def advice_on_parts(self, declared_set: DeclaredSet) -> str:
        """Return what to do about a query that asks all parts."""
        return ""

    # -- What `review --code` writes

    def code_type(self, declared_set: DeclaredSet, model: str | None) -> str:
        """Return the type of a set, such as `EntitySet[Storage]`."""
        return f"{self.recipe}[Storage{f', {model}' if model else ''}]"

    @abstractmethod
    def code(self, declared_set: DeclaredSet, names: CodeNames) -> list[str]:
        """Return the lines that make a set on an account named `storage`."""


def reject_parts(declared_set: DeclaredSet, derived: Sequence[Derived]) -> None:
    if derived or declared_set.mappings:
        names = [*(via.name for via in derived), *(mapping.name for mapping in declared_set.mappings)]
        rule = f"it has no derived data, and {names} is given"
        raise BadDesign("pattern", declared_set.pattern, rule, "leave it out")
