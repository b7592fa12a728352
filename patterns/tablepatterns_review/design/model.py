"""The model of a design: its sets, their access patterns and growth, as a design file declares them.

The tables `[set.fields]`, `[[set.query]]`, `[[set.write]]` and `retention` of a design file are these classes: the
parser, the JSON Schema and the documentation of the format are derived from their fields and docstrings.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias

from annotated_types import Interval

from tablepatterns.entity_set.derived import Derived, RowProfile, profile_of
from tablepatterns.entity_set.mapping import PropertyMapping, stored_size
from tablepatterns.key import Key

FieldType = Literal["string", "int32", "int64", "double", "boolean", "datetime", "guid", "binary"]
Order = Literal["none", "rising"]
Match = Literal["=", "range", "prefix", "contains"]
Region = Literal["primary", "secondary"]
FlawKind = Literal["unpadded", "both-keys", "overlap", "ambiguous", "forbidden", "too-few"]
WriteOperation = Literal["insert", "update", "delete"]
RetentionMethod = Literal["entity", "table"]

DEFAULT_PATTERN: Final = "entity_set"
"""The pattern of a set that names none."""
_LARGE: Final = 2**31
"""An upper bound for sizes, larger than any property."""
Size: TypeAlias = Annotated[int, Interval(ge=0, le=2**31)]
Number: TypeAlias = Annotated[int, Interval(ge=1, le=10**15)]
Rate: TypeAlias = Annotated[float, Interval(ge=0, le=1e9)]
Skew: TypeAlias = Annotated[float, Interval(ge=0, le=10)]
Amount: TypeAlias = Annotated[float, Interval(ge=0, le=1e15)]
RETENTION: Final = "retention of {} days"
"""The name of the deletes of a retention."""
DAY: Final = 86_400
"""Seconds of a day."""
YEAR_DAYS: Final = 365.25
YEAR: Final = YEAR_DAYS * DAY
"""Seconds of a year."""


class StrictTable:
    """A table of a file that has no unknown keys, no values of another type and no infinite numbers."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = {"extra": "forbid", "strict": True, "allow_inf_nan": False}


@dataclass(frozen=True)
class Field(StrictTable):
    """What the values of one property look like.

    :param type: the EDM type
    :param size: the typical length, in characters of a string or bytes of a binary; ignored for other types
    :param largest: the maximum length; by default `size`
    :param distinct: the number of distinct values; by default, each entity has its own
    :param skew: how unevenly the values are distributed: the exponent of a Zipf distribution; 0 means evenly
    :param order: `rising` if newer entities have higher values, as with timestamps and sequence numbers
    :param within: the field within whose values this one is unique, such as the department of an employee number
    :param secret: whether the value must be hidden from readers of the table
    :param personal: whether the value is personal data, which must not be in a key, nor kept without an end
    """

    type: FieldType = "string"
    size: Size = 16
    largest: Size | None = None
    distinct: Number | None = None
    skew: Skew = 0.0
    order: Order = "none"
    within: str | None = None
    secret: bool = False
    personal: bool = False


@dataclass(frozen=True)
class Moves:
    """How many entities the archives of a design move; a review computes it.

    :param received: entities per year that the archives of other sets move here, at the declared growth
    :param archived: entities per year that the set's own archive moves away, at the declared growth
    :param received_rate: entities received per second, at the declared rates
    :param archived_rate: entities archived per second, at the declared rates
    :param net: the change of the growth per year because of these moves
    :param most: the maximum number of entities, if received ones are deleted later; None for no maximum
    """

    received: float = 0.0
    archived: float = 0.0
    received_rate: float = 0.0
    archived_rate: float = 0.0
    net: float = 0.0
    most: float | None = None


@dataclass(frozen=True)
class Shape:
    """What the entities of a set look like, and how many there are.

    :param entity: the name of the entity type, such as `Employee`
    :param count: the current number of entities
    :param growth: the number of entities added per year, net of deletes, before any are archived
    :param fields: the properties, including those of the key
    :param moves: the entities that archives move; computed by a review, not declared
    """

    entity: str
    count: Annotated[int, Interval(ge=0, le=10**15)]
    fields: Mapping[str, Field]
    growth: Amount = 0.0
    moves: Moves = Moves()

    @property
    def net_growth(self) -> float:
        """The number of entities added per year; negative if more are archived than added."""
        return self.growth + self.moves.net


@dataclass(frozen=True)
class ArchivePolicy(StrictTable):
    """Which entities are archived, and where: a worker moves each of them (`Archive`).

    :param to: the set that holds archived entities
    :param container: the container of the blobs that hold archived entities, instead of a set
    :param after_days: the age in days at which entities are archived
    :param rate: entities archived per second, averaged over a day; by default, all entities that reach that age
    :param peak: entities archived per second at the busiest time; by default `rate`
    :param count: the number of entities that the blobs hold now
    """

    to: str | None = None
    container: str | None = None
    after_days: Annotated[float, Interval(gt=0, le=1e6)] | None = None
    rate: Rate | None = None
    peak: Rate | None = None
    count: Annotated[int, Interval(ge=0, le=10**15)] = 0

    @property
    def place(self) -> str:
        """The set or the container that holds archived entities."""
        return self.to or self.container or ""

    def is_late(self, retention: Retention | None) -> bool:
        """Whether entities are deleted before they are old enough to be archived."""
        return self.rate is None and retention is not None and retention.days <= (self.after_days or 0)


@dataclass(frozen=True)
class Retention(StrictTable):
    """How long entities are kept.

    :param days: the number of days
    :param by: `entity` to delete each entity, `table` to drop the table of a period
    """

    days: Annotated[float, Interval(gt=0, le=1e6)]
    by: RetentionMethod = "entity"


class RatedTable(StrictTable):
    """A table with a rate of calls."""

    rate: float
    peak: float | None

    @property
    def busiest(self) -> float:
        """Calls per second at the busiest time."""
        return self.rate if self.peak is None else self.peak


@dataclass(frozen=True)
class Query(RatedTable):
    """An access pattern that reads.

    :param name: the name of the query, such as `employee by e-mail`
    :param known: the fields that the caller knows, and how: a value (`=`), a `range`, a `prefix` of a string, or
        text that a string `contains`
    :param filter: a filter, exactly as it is sent, instead of `known`
    :param order: the field to sort by; a leading `-` sorts in descending order
    :param take: the number of results that the caller needs; by default all
    :param skip: the number of results to skip before those, as when a later page is opened by its number
    :param count_only: whether the caller only needs the number of results
    :param select: the properties that the caller needs; by default all
    :param rate: calls per second, averaged over a day
    :param peak: calls per second at the busiest time; by default `rate`
    :param skew: how unevenly the calls are spread over the values of the known field with the most values: the
        exponent of a Zipf distribution; 0 means evenly. By default, each value is requested as often as entities have
        it, and of the days or hours in a PartitionKey the current one
    :param max_staleness: the seconds that a result may lag behind the last write; by default not checked
    :param region: the region to read; the secondary of a geo-redundant account may lag behind
    :param archived: whether the entity is read from the set's archive, by its key
    :param results: the number of matching entities if there is a filter, or `known` has a range or a prefix; by
        default, a tenth of the entities that match the other fields
    """

    name: str
    known: Mapping[str, Match] = field(default_factory=dict[str, Match])
    filter: str | None = None
    order: str | None = None
    take: Number | None = None
    skip: Size = 0
    count_only: bool = False
    select: tuple[str, ...] = ()
    rate: Rate = 0.0
    peak: Rate | None = None
    skew: Skew | None = None
    max_staleness: Amount | None = None
    region: Region = "primary"
    archived: bool = False
    results: Amount | None = None


@dataclass(frozen=True)
class Write(RatedTable):
    """An access pattern that writes one entity.

    :param name: the name of the write, such as `hire`
    :param operation: the operation on the entity
    :param changes: the properties that an update changes; by default, all except those of the key
    :param rate: calls per second, averaged over a day
    :param peak: calls per second at the busiest time; by default `rate`
    :param skew: how unevenly the calls are spread over the entities: the exponent of a Zipf distribution; 0 means
        evenly. By default, evenly over the entities, and for updates over those of the current day or hour, if the
        PartitionKey has one
    :param writers: the number of processes that write at the same time
    :param overwrite: whether an update is unconditional: it sends no ETag and overwrites concurrent changes
    :param atomic_with: the writes of other sets that must succeed or fail together with this one
    """

    name: str
    operation: WriteOperation
    changes: tuple[str, ...] = ()
    rate: Rate = 0.0
    peak: Rate | None = None
    skew: Skew | None = None
    writers: Number = 1
    overwrite: bool = False
    atomic_with: tuple[str, ...] = ()


@dataclass(frozen=True)
class Access(StrictTable):
    """Who may read which entities, by a shared access signature (SAS) for a range of keys.

    :param name: the name of the reader, such as `tenant portal`
    :param by: the fields for which a reader may see only one value, such as the tenant
    :param hidden: the properties that must be hidden from the reader
    """

    name: str
    by: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


@dataclass(frozen=True)
class Flaw:
    """A part of a design file that a recipe would reject; the review continues with a corrected form of it.

    :param kind: the kind of problem
    :param subject: the set, or its derived data
    :param says: one sentence that states the problem
    :param better: what to write instead
    :param fields: the fields concerned
    """

    kind: FlawKind
    subject: str
    says: str
    better: str
    fields: tuple[str, ...] = ()


@dataclass(frozen=True)
class DeclaredSet:
    """One set of entities: where it is stored, what is derived from it, and how it is used.

    :param name: the name in reports
    :param table: the table of its entities
    :param key: the key of its entities
    :param shape: what the entities look like, and how many there are
    :param pattern: the recipe that stores them, by its name in the catalog
    :param settings: further arguments of that recipe, such as `buckets` of a `partition_spread`
    :param derived: the indexes, lists, copies and totals
    :param mappings: properties that are stored in another form, such as encrypted
    :param access: who may read which entities
    :param archive: which entities are archived, and where; None to archive none
    :param permanent: whether the entities must never be deleted
    """

    name: str
    table: str
    key: Key
    shape: Shape
    pattern: str = DEFAULT_PATTERN
    settings: Mapping[str, object] = field(default_factory=dict[str, object])
    derived: tuple[Derived, ...] = ()
    mappings: tuple[PropertyMapping, ...] = ()
    queries: tuple[Query, ...] = ()
    writes: tuple[Write, ...] = ()
    retention: Retention | None = None
    access: tuple[Access, ...] = ()
    archive: ArchivePolicy | None = None
    permanent: bool = False

    def profile(self, derived: Derived) -> RowProfile:
        """Return the description of derived data of this set."""
        return profile_of(derived, self.key)

    def profiles(self) -> list[tuple[Derived, RowProfile]]:
        """Return the derived data of this set, each with its description."""
        return [(derived, self.profile(derived)) for derived in self.derived]

    @property
    def keys(self) -> list[Key]:
        """The key of the entities, then those by which they are found."""
        return [self.key, *(profile.key for _, profile in self.profiles() if profile.key and profile.finder)]

    def is_unique(self, derived: Derived) -> bool:
        """Whether derived data rejects a second entity with the same key."""
        layout = self.profile(derived).layout
        return layout is not None and layout.hides is not None

    def encrypted(self) -> set[str]:
        """Return the fields that are encrypted before they are sent."""
        return {name for mapping in self.mappings if mapping.keeps_secret for name in mapping.fields}

    def in_blobs(self) -> list[str]:
        """Return the fields whose large values are stored in blobs."""
        large = [mapping for mapping in self.mappings if stored_size(mapping, _LARGE, is_text=False, address=0)[1]]
        return [name for mapping in large for name in mapping.fields]


@dataclass(frozen=True)
class Design:
    """A design to review: its sets, and the number of years to look ahead.

    :param name: the title of the report
    :param sets: the sets; those in one table share its partitions
    :param years: the number of years of growth to project
    :param flaws: the parts that were corrected so that the design can be reviewed
    """

    name: str
    sets: tuple[DeclaredSet, ...]
    years: Annotated[float, Interval(gt=0, le=100)] = 3.0
    flaws: tuple[Flaw, ...] = ()

    def part(self, names: Collection[str]) -> Design:
        return replace(self, sets=tuple(declared_set for declared_set in self.sets if declared_set.name in names))

    def accesses(self) -> Iterator[tuple[DeclaredSet, Query | Write]]:
        """Yield each access pattern with its set, in declaration order."""
        for declared_set in self.sets:
            yield from ((declared_set, query) for query in declared_set.queries)
            yield from ((declared_set, write) for write in declared_set.writes)


def part_of(declared: str, name: str) -> str:
    """Return the subject of a finding about an access pattern of a set, or about its derived data.

    >>> part_of("Employees", "hire")
    'Employees: hire'
    """
    return f"{declared}: {name}"
