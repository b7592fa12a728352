"""The tables of a design file. The parser, its errors, the JSON Schema and the documentation are derived from them.

Fields, queries, writes and the retention are the classes of `model`. This module has the tables whose form in a file
differs from that in a program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, Final, Literal, TypeAlias, cast

from annotated_types import Interval
from pydantic import BeforeValidator, Discriminator, PlainValidator, Tag

from tablepatterns.entity_set.placement import InBlobs, InPartition, InTable, Placement

from ..design.model import (
    DEFAULT_PATTERN,
    Access,
    Amount,
    ArchivePolicy,
    Field,
    Number,
    Query,
    Retention,
    Size,
    StrictTable,
    Write,
)
from ..kinds import KINDS
from ..toml_file import TAG, adapter, described_schema


def _names(given: object) -> object:
    if isinstance(given, str):
        return (given,)
    return tuple(cast("list[object]", given)) if isinstance(given, list) else given


def _placement(given: Any) -> Placement:
    match given:
        case "partition":
            return InPartition()
        case "table":
            return InTable("")
        case {"table": str(name), **others} if name and not others:
            return InTable(name)
        case {"container": str(name), **others} if name and not others:
            return InBlobs(name)
        case _:
            raise ValueError('store must be "partition", "table", { table = "..." } or { container = "..." }')


Names: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_names, json_schema_input_type=str | tuple[str, ...])]
Store: TypeAlias = Annotated[
    Any, PlainValidator(_placement, json_schema_input_type=Literal["partition", "table"] | dict[str, str])
]


@dataclass(frozen=True)
class KeyTable(StrictTable):
    """A key, as the two templates of a `Key`.

    :param partition: the template of the PartitionKey
    :param row: the template of the RowKey
    """

    partition: str
    row: str


@dataclass(frozen=True)
class PartKeyTable(StrictTable):
    """A key whose recipe provides one of the templates.

    :param partition: the template of the PartitionKey; for an `intra_partition_index`, by default that of the set
    :param row: the template of the RowKey; for a `log_tail`, by default made of the timestamp and the id
    """

    partition: str | None = None
    row: str | None = None


# -- Derived data


@dataclass(frozen=True, kw_only=True)
class IntraTable(StrictTable):
    """An index in the partition of the entities.

    :param key: the key of the index rows
    :param include: the properties that the index rows hold, in addition to those of both keys; by default all
    :param name: the name in reports
    """

    pattern: Literal["intra_partition_index"]
    key: PartKeyTable
    include: Names | None = None
    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class InterTable(StrictTable):
    """An index in other partitions.

    :param key: the key of the index rows
    :param include: the properties that the index rows hold, in addition to those of both keys; by default all
    :param table: the table of the index rows; by default that of the entities
    :param unique: whether a second entity with the same key is rejected
    :param name: the name in reports
    """

    pattern: Literal["inter_partition_index"]
    key: KeyTable
    include: Names | None = None
    table: str | None = None
    unique: bool = False
    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class ListTable(StrictTable):
    """Lists of the entities that have the same values.

    :param fields: the fields to find entities by
    :param key: the key of the lists; by default made of the fields
    :param store: where the lists are stored
    :param table: the table of the lists, with `store = "table"`
    :param ids: the property that holds the list
    :param spread: the number of rows that each list is spread over
    :param name: the name in reports
    """

    pattern: Literal["index_entities"]
    fields: Names
    key: KeyTable | None = None
    store: Store = None
    table: str | None = None
    ids: str = "Ids"
    spread: Number = 1
    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class CopiesTable(StrictTable):
    """Properties copied into other entities, declared in the set that they are copied from.

    :param key: the key of the entities with the copies
    :param refers: maps each field of the copied entity's key to the field that refers to it
    :param copies: maps each field to copy to the field that holds the copy
    :param store: where the entities with the copies are stored
    :param table: their table, with `store = "table"`
    :param name: the name in reports
    """

    pattern: Literal["denormalize"]
    key: KeyTable
    refers: Mapping[str, str]
    copies: Mapping[str, str]
    store: Store = None
    table: str | None = None
    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class FilledTable(StrictTable):
    """Copied properties, declared in the set that holds the copies.

    :param filled_from: the set that the properties are copied from
    """

    pattern: Literal["denormalize"]
    filled_from: str


@dataclass(frozen=True, kw_only=True)
class SummaryTable(StrictTable):
    """Totals of groups of entities.

    :param key: the key of the totals
    :param count: the property that holds the count; an empty string for no count
    :param sums: maps each field to add up to the property that holds the sum
    :param store: where the totals are stored
    :param table: the table of the totals, with `store = "table"`
    :param spread: the number of rows that each total is spread over
    :param members: the property that lists the entities of a group, if the totals are in another partition
    :param name: the name in reports
    """

    pattern: Literal["summary"]
    key: KeyTable
    count: str = "Count"
    sums: Mapping[str, str] = field(default_factory=dict[str, str])
    store: Store = None
    table: str | None = None
    spread: Number = 1
    members: str = "Members"
    name: str | None = None


@dataclass(frozen=True, kw_only=True)
class EncryptedTable(StrictTable):
    """Properties that are encrypted before they are sent.

    :param names: the properties
    """

    pattern: Literal["encrypted_properties"]
    names: Names


@dataclass(frozen=True, kw_only=True)
class LargeTable(StrictTable):
    """Properties whose large values are stored in blobs.

    :param names: the properties
    :param container: the container of the blobs
    :param above: the size in bytes above which a value is stored in a blob
    """

    pattern: Literal["large_properties"]
    names: Names
    container: str
    above: Size | None = None


def _tag(given: Any) -> str | None:
    # Without a pattern, the error lists those that there are
    return f"{TAG}{cast('dict[str, object]', given).get('pattern', '')}" if isinstance(given, dict) else None


def _derived_tag(given: Any) -> str | None:
    is_filled = isinstance(given, dict) and "filled_from" in cast("dict[str, object]", given)
    return f"{TAG}filled" if is_filled else _tag(given)


def _set_tag(given: Any) -> str | None:
    if not isinstance(given, dict):
        return None
    pattern = cast("dict[str, object]", given).get("pattern", DEFAULT_PATTERN)
    kind = KINDS.get(str(pattern))
    return f"{TAG}{DEFAULT_PATTERN if kind is not None and kind.shares_tables else pattern}"


DerivedTable: TypeAlias = Annotated[
    Annotated[IntraTable, Tag(f"{TAG}intra_partition_index")]
    | Annotated[InterTable, Tag(f"{TAG}inter_partition_index")]
    | Annotated[ListTable, Tag(f"{TAG}index_entities")]
    | Annotated[CopiesTable, Tag(f"{TAG}denormalize")]
    | Annotated[FilledTable, Tag(f"{TAG}filled")]
    | Annotated[SummaryTable, Tag(f"{TAG}summary")],
    Discriminator(_derived_tag),
]
MappingTable: TypeAlias = Annotated[
    Annotated[EncryptedTable, Tag(f"{TAG}encrypted_properties")] | Annotated[LargeTable, Tag(f"{TAG}large_properties")],
    Discriminator(_tag),
]

# -- Sets


@dataclass(frozen=True, kw_only=True)
class SetTable(StrictTable):
    """A set of entities.

    :param name: the name in reports
    :param table: the table of its entities; by default `name`
    :param key: the key of the entities; for a `log_tail`, only `partition`
    :param entity: the name of the entity type; by default `name`
    :param count: the current number of entities
    :param growth: the number of entities added per year, net of deletes, before any are archived
    :param retention: how long entities are kept, such as `{ days = 90, by = "entity" }`
    :param permanent: whether the entities must never be deleted, as those of a ledger; without it, or a retention,
        fast growth is reported
    :param archive: which entities are archived, and where, such as `{ to = "FormerEmployees", after_days = 365 }`
    :param fields: the properties, including those of the key; by default those of the set that is archived here
    :param derived: the data derived from the entities, such as indexes
    :param mappings: properties that are stored in another form, such as encrypted
    :param query: the access patterns that read
    :param write: the access patterns that write
    :param access: who may read which entities
    """

    name: str
    table: str | None = None
    key: PartKeyTable
    entity: str | None = None
    count: Annotated[int, Interval(ge=0, le=10**15)]
    growth: Amount = 0.0
    retention: Retention | None = None
    permanent: bool = False
    archive: ArchivePolicy | None = None
    fields: Mapping[str, Field] = field(default_factory=dict[str, Field])
    derived: tuple[DerivedTable, ...] = ()
    mappings: tuple[MappingTable, ...] = ()
    query: tuple[Query, ...] = ()
    write: tuple[Write, ...] = ()
    access: tuple[Access, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PlainTable(SetTable):
    """A set that an `EntitySet` stores; apart from `entity_set`, the patterns differ only in their keys.

    :param pattern: the name of the pattern
    """

    pattern: Literal["entity_set", "compound_key", "one_to_many", "one_to_one"] = "entity_set"


@dataclass(frozen=True, kw_only=True)
class LogTailTable(SetTable):
    """A set with `pattern = "log_tail"`.

    :param at: the field with the timestamp
    :param entry: the field with the id of an entry
    :param row_prefix: the prefix of each RowKey
    """

    pattern: Literal["log_tail"]
    at: str = "At"
    entry: str = "EntryId"
    row_prefix: str = ""


@dataclass(frozen=True, kw_only=True)
class SpreadTable(SetTable):
    """A set with `pattern = "partition_spread"`.

    :param buckets: the number of buckets that each partition is spread over
    :param by: the fields of the key that choose the bucket; by default all
    :param bucket: the field with the number of the bucket
    """

    pattern: Literal["partition_spread"]
    buckets: Number = 16
    by: Names | None = None
    bucket: str | None = None


@dataclass(frozen=True, kw_only=True)
class PeriodsTable(SetTable):
    """A set with `pattern = "period_tables"`.

    :param period: the period that each table covers
    :param inner: the recipe that stores the entities of one table
    :param at: the field with the timestamp
    :param entry: the field with the id of an entry, with `inner = "log_tail"`
    :param row_prefix: the prefix of each RowKey, with `inner = "log_tail"`
    """

    pattern: Literal["period_tables"]
    period: Literal["hour", "day", "week", "month"] = "day"
    inner: Literal["entity_set", "log_tail"] | None = None
    at: str | None = None
    entry: str | None = None
    row_prefix: str | None = None


@dataclass(frozen=True, kw_only=True)
class SeriesTable(SetTable):
    """A set with `pattern = "data_series"`.

    :param points: the number of points of a series
    :param point_name: the name of the points' properties, without their number
    :param of: the type of the points
    :param split: whether a series may be stored in several rows
    """

    pattern: Literal["data_series"]
    points: Number
    point_name: str
    of: Literal["int", "Int64", "float", "bool"] = "int"
    split: bool = False


@dataclass(frozen=True, kw_only=True)
class WideTable(SetTable):
    """A set with `pattern = "wide_entity"`.

    :param fixed: whether the declared fields are all the properties that an entity can have
    """

    pattern: Literal["wide_entity"]
    fixed: bool = False


def settings_of(table: SetTable) -> dict[str, Any]:
    """Return the keys that only sets of this pattern have: the settings of its recipe."""
    known = {"pattern", *(field.name for field in fields(SetTable))}
    settings = {field.name: getattr(table, field.name) for field in fields(table) if field.name not in known}
    return {name: value for name, value in settings.items() if value is not None}


AnySet: TypeAlias = Annotated[
    Annotated[PlainTable, Tag(f"{TAG}entity_set")]
    | Annotated[LogTailTable, Tag(f"{TAG}log_tail")]
    | Annotated[SpreadTable, Tag(f"{TAG}partition_spread")]
    | Annotated[PeriodsTable, Tag(f"{TAG}period_tables")]
    | Annotated[SeriesTable, Tag(f"{TAG}data_series")]
    | Annotated[WideTable, Tag(f"{TAG}wide_entity")],
    Discriminator(_set_tag),
]


@dataclass(frozen=True, kw_only=True)
class DesignTable(StrictTable):
    """A design file.

    :param name: the title of the report
    :param years: the number of years of growth to project
    :param set: the sets of entities
    """

    name: str
    years: Annotated[float, Interval(gt=0, le=100)] = 3.0
    set: tuple[AnySet, ...] = ()


TABLES: Final[Mapping[str, tuple[type[Any], ...]]] = {
    "The file": (DesignTable,),
    "[[set]]": (SetTable, PlainTable, LogTailTable, SpreadTable, PeriodsTable, SeriesTable, WideTable),
    "retention": (Retention,),
    "archive": (ArchivePolicy,),
    "[set.fields]": (Field,),
    "[[set.query]]": (Query,),
    "[[set.write]]": (Write,),
    "[[set.access]]": (Access,),
    "[[set.derived]]": (IntraTable, InterTable, ListTable, CopiesTable, FilledTable, SummaryTable),
    "[[set.mappings]]": (EncryptedTable, LargeTable),
}
"""The tables of a file, by their names in the documentation."""


def schema() -> dict[str, Any]:
    """Return the JSON Schema of a design file, with which editors complete and check it.

    >>> schema()["required"]
    ['name']
    """
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **described_schema(adapter(DesignTable).json_schema(), [*TABLES.values(), (KeyTable, PartKeyTable)]),
        "title": "tablepatterns design",
    }
