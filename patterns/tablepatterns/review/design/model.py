"""The model of a design: the data that a review works on. No request is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ...entity_set.derived import Derived
from ...entity_set.mapping import PropertyMapping
from ...key import Key

FieldType = Literal["string", "int32", "int64", "double", "boolean", "datetime", "guid", "binary"]
Order = Literal["none", "rising"]
Known = Literal["=", "range", "prefix"]
Deed = Literal["insert", "update", "delete"]
Removal = Literal["entity", "table"]


@dataclass(frozen=True)
class Field:
    """What the values of one property look like.

    :param type: the EDM type of its values
    :param size: how long a value is: characters of a string, bytes of a binary; without meaning for the others
    :param largest: the longest that there is, by default `size`
    :param distinct: how many different values there are; None if each entity has its own
    :param skew: how unevenly the values occur: the exponent of a Zipf distribution, 0 for evenly
    :param order: `rising` if new entities have higher values than older ones, as instants and sequences have
    :param within: the field within whose values this one is numbered anew, such as a department of its employees
    :param secret: whether the value must not be readable by whoever can read the table
    """

    type: FieldType = "string"
    size: int = 16
    largest: int | None = None
    distinct: int | None = None
    skew: float = 0.0
    order: Order = "none"
    within: str | None = None
    secret: bool = False


@dataclass(frozen=True)
class Shape:
    """What the entities of a set look like, and how many there are.

    :param entity: the name of the entity type, such as `Employee`
    :param count: how many entities there are now
    :param growth: how many more there are after a year; what is deleted is taken off
    :param fields: what each property looks like, those of the key included
    """

    entity: str
    count: int
    fields: Mapping[str, Field]
    growth: float = 0.0


@dataclass(frozen=True)
class Retention:
    """How long entities are kept.

    :param days: after how many days an entity goes
    :param by: `entity` if each is deleted, `table` if the table of a period is dropped
    """

    days: float
    by: Removal = "entity"


@dataclass(frozen=True)
class Query:
    """An access pattern that reads.

    :param name: what is asked, such as `employee by e-mail`
    :param known: the fields that the question gives, and how: one value, a range, or how a text begins
    :param filter: a filter as it is sent, in place of `known`
    :param order: the field by which results must come, with a `-` in front for the highest first
    :param take: how many results are wanted; None for all
    :param select: the properties that are wanted; empty for all
    :param rate: how often it is asked in a second, on average over a day
    :param peak: how often at the busiest time; by default `rate`
    :param skew: how unevenly what is asked for is chosen: the exponent of a Zipf distribution, 0 for evenly
    :param fresh: for how many seconds an answer may be older than the last write; 0 if it must not be
    :param results: how many entities answer it, where a range or a beginning is asked for; None for a tenth of those
        that the rest of the question leaves
    """

    name: str
    known: Mapping[str, Known] = field(default_factory=dict[str, Known])
    filter: str | None = None
    order: str | None = None
    take: int | None = None
    select: tuple[str, ...] = ()
    rate: float = 0.0
    peak: float | None = None
    skew: float = 0.0
    fresh: float = 0.0
    results: float | None = None

    @property
    def busiest(self) -> float:
        """How often it is asked in a second at the busiest time."""
        return self.rate if self.peak is None else self.peak


@dataclass(frozen=True)
class Write:
    """An access pattern that writes one entity.

    :param name: what happens, such as `hire`
    :param deed: what is done to the entity
    :param changes: the properties that an update changes; empty for all but the key
    :param rate: how often it is done in a second, on average over a day
    :param peak: how often at the busiest time; by default `rate`
    :param skew: how unevenly the entities are chosen: the exponent of a Zipf distribution, 0 for evenly
    :param writers: how many processes write at a time
    :param together: the writes of other sets that must happen with this one, or not at all
    """

    name: str
    deed: Deed
    changes: tuple[str, ...] = ()
    rate: float = 0.0
    peak: float | None = None
    skew: float = 0.0
    writers: int = 1
    together: tuple[str, ...] = ()

    @property
    def busiest(self) -> float:
        """How often it is done in a second at the busiest time."""
        return self.rate if self.peak is None else self.peak


@dataclass(frozen=True)
class DeclaredSet:
    """One set of entities: where it lies, what is kept with it, and what is asked of it.

    :param name: what the report calls it
    :param table: the table of its entities
    :param key: their key
    :param shape: what they look like
    :param pattern: the recipe that keeps them, by its name in the catalogue; `entity_set` for none
    :param settings: what else that recipe is told, such as `buckets` of a `partition_spread`
    :param derived: the data that is kept with them
    :param mappings: how some of their properties are stored
    """

    name: str
    table: str
    key: Key
    shape: Shape
    pattern: str = "entity_set"
    settings: Mapping[str, object] = field(default_factory=dict[str, object])
    derived: tuple[Derived, ...] = ()
    mappings: tuple[PropertyMapping, ...] = ()
    queries: tuple[Query, ...] = ()
    writes: tuple[Write, ...] = ()
    retention: Retention | None = None


@dataclass(frozen=True)
class Design:
    """A design that can be reviewed: its sets, and how far ahead to look.

    :param name: the title of the report
    :param sets: the sets; those of one table share its partitions
    :param years: how far ahead the growth is followed
    """

    name: str
    sets: tuple[DeclaredSet, ...]
    years: float = 3.0
