"""What a review knows about a kind of set: how it is made, filled and called, and what is special about it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Literal, TypeVar

from tablepatterns.entity_set.derived import Derived, profile_of
from tablepatterns.entity_set.entity_set import EntitySet
from tablepatterns.entity_set.mapping import PropertyMapping
from tablepatterns.errors import BadDesign
from tablepatterns.filters import Filter
from tablepatterns.key import Key
from tablepatterns.recipes.entity_group_transaction import EntityGroupTransaction
from tablepatterns.recipes.partition_move import PartitionMove
from tablepatterns.storage import Storage

if TYPE_CHECKING:
    from ..design.model import DeclaredSet, Retention, Write

Method = Literal["get", "find", "totals", "range", "find_all", "scan", "filter"]
"""The method of a recipe."""


@dataclass(frozen=True)
class SampleCall:
    """The parameters of a call.

    :param way: the method
    :param via: the derived data that is read; None for the primary rows
    :param given: values, ranges and prefixes of the key's fields
    :param where: conditions on properties
    :param take: the number of requested entities; None for all
    :param select: the requested properties; None for all
    :param completes: whether the entity of each row is read too
    """

    way: Method
    via: Derived | None = None
    given: Mapping[str, Any] = field(default_factory=dict[str, Any])
    where: Filter | None = None
    take: int | None = None
    select: tuple[str, ...] | None = None
    completes: bool = False

    def index(self, key: Key) -> Any:
        """Return the index that is read; None for the primary rows.

        :param key: the key of the primary rows
        """
        return self.via if self.via is not None and profile_of(self.via, key).layout is not None else None


class SampleSet(ABC):
    """A set of a design on an account, which a recipe stores."""

    parts: Sequence[Derived] = ()
    """Its derived data."""
    needs_recipe: bool = True
    """Whether only the recipe can compute the stored rows."""

    def __init__(self, storage: Storage, key: Key) -> None:
        self.storage = storage
        self.key = key

    @abstractmethod
    def load(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Store entities; the cost is not measured."""

    @abstractmethod
    def ask(self, ask: SampleCall) -> int:
        """Make a call, and return the number of entities."""

    def prepare(self, ask: SampleCall) -> None:
        """Make the requests that a recipe makes only once, so that they are not measured."""
        return

    @abstractmethod
    def insert(self, fields: Mapping[str, Any]) -> None:
        """Create an entity."""

    @abstractmethod
    def update(self, fields: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
        """Change an entity that exists."""

    def overwrite(self, fields: Mapping[str, Any], changes: Mapping[str, Any]) -> None:
        """Overwrite an entity."""
        self.update(fields, changes)

    @abstractmethod
    def delete(self, fields: Mapping[str, Any]) -> None:
        """Delete an entity that exists."""

    def key_of(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of the key of an entity."""
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
        """Process all messages, and return their number."""
        return 0


def once(key: Key, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the entities without duplicate keys."""
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


@dataclass(frozen=True)
class Plan:
    """The parameters of a recipe: a declared set without its shape and its access patterns."""

    pattern: str
    table: str
    key: Key
    settings: Mapping[str, Any] = field(default_factory=dict[str, Any])
    derived: Sequence[Derived] = ()
    mappings: Sequence[PropertyMapping] = ()
    retention: Retention | None = None
    names: Sequence[str] = ()
    """The names of the entities' properties."""

    @classmethod
    def of(cls, declared_set: DeclaredSet) -> Plan:
        """Return the plan of a declared set."""
        return cls(
            declared_set.pattern,
            declared_set.table,
            declared_set.key,
            declared_set.settings,
            declared_set.derived,
            declared_set.mappings,
            declared_set.retention,
            tuple(declared_set.shape.fields),
        )


RecipeT = TypeVar("RecipeT")


class SetKind(ABC, Generic[RecipeT]):
    """One pattern that stores the entities of a set. Rules and measurements ask it, and never for its name.

    The defaults are those of an `EntitySet`.
    """

    pattern: ClassVar[str]
    """Its name in a design file."""
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
    visibility: ClassVar[tuple[str, str, str]] = ("the last write", "", "")
    """What a reader sees, what a crash leaves, and what repairs it."""

    @abstractmethod
    def make(self, account: Storage, plan: Plan, derived: Sequence[Derived]) -> RecipeT:
        """Return the recipe that stores the entities of a set.

        :param derived: the derived data, whose sources are on the same account
        :raises BadDesign: its parts cannot work together
        """

    @abstractmethod
    def sample(self, recipe: RecipeT, storage: Storage) -> SampleSet:
        """Return the adapter that fills a set with sample entities and calls it."""

    def time_field(self, declared_set: DeclaredSet) -> str | None:
        """Return the field whose value selects the table of an entity; None if all entities are in one table."""
        return None

    def tables(self, declared_set: DeclaredSet, days: float) -> int:
        """Return the number of tables of a set whose oldest entity has this age."""
        return 1

    def buckets(self, declared_set: DeclaredSet) -> int:
        """Return the number of buckets of each partition."""
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


def reject_parts(plan: Plan, derived: Sequence[Derived]) -> None:
    """Reject derived data and mappings.

    :raises BadDesign: the set has some
    """
    if derived or plan.mappings:
        names = [derived.name for derived in derived] + [mapping.name for mapping in plan.mappings]
        raise BadDesign("pattern", plan.pattern, f"it has no derived data, and {names} is given", "leave it out")
