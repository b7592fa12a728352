"""Read a design from a TOML file; the keys of the file, and what each of them means."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path as FilePath
from typing import Any, Final, TypeVar, cast, get_args

from ...entity_set.derived import Derived
from ...entity_set.entity_set import EntitySet
from ...entity_set.mapping import PropertyMapping
from ...entity_set.placement import InBlobs, InPartition, InTable, Placement
from ...errors import BadInput
from ...key import Key
from ...recipes.denormalize import CopiedFields
from ...recipes.encrypted_properties.encrypted_properties import EncryptedProperties
from ...recipes.encrypted_properties.keys import LocalKey
from ...recipes.index_entities import IndexEntity
from ...recipes.inter_partition_index import InterPartitionIndex
from ...recipes.intra_partition_index import IntraPartitionIndex
from ...recipes.large_properties.large_properties import LargeProperties
from ...recipes.summary import Summary
from ...storage import Storage, connect
from ..measure.account import PLAIN, POINTS, Keeper, Plan, keeper
from .checks import faults
from .from_sets import declare_set
from .model import DeclaredSet, Deed, Design, Field, FieldType, Known, Order, Query, Removal, Retention, Shape, Write
from .toml import Problem, Section, TomlFile, TomlPath, lines

__all__ = ["BadDesignFile", "read_design"]

KEYS: Final[Mapping[str, Mapping[str, str]]] = {
    "The file": {
        "name": "the title of the report",
        "years": "how far ahead to look; 3",
        "set": "`[[set]]`, a table for each set of entities",
    },
    "[[set]]": {
        "name": "what the report calls the set",
        "table": "the table of its entities; by default `name`",
        "pattern": "what keeps it: `entity_set` (the default), `compound_key`, `one_to_many`, `one_to_one`, "
        "`log_tail`, `partition_spread`, `period_tables`, `data_series` or `wide_entity`",
        "key": '`{ partition = "...", row = "..." }`, templates as `Key` takes them; '
        "of a `log_tail` the partition alone",
        "entity": "the name of the entity type; by default `name`",
        "count": "how many entities there are now",
        "growth": "how many more there are after a year; 0",
        "retention": '`{ days = 90, by = "entity" }`; `by = "table"` where the table of a period is dropped',
        "fields": "`[set.fields]`, a table for each property",
        "derived": "`[[set.derived]]`, what is kept with the entities",
        "mappings": "`[[set.mappings]]`, how properties are stored that are not stored as they are",
        "query": "`[[set.query]]`, an access pattern that reads",
        "write": "`[[set.write]]`, an access pattern that writes",
        "buckets": "of a `partition_spread`: over how many partitions one is spread; 16",
        "by": "of a `partition_spread`: the fields of the key by which they are chosen; by default all",
        "bucket": "of a `partition_spread`: the field that holds the number; `Bucket`",
        "period": "of `period_tables`: `hour`, `day` (the default), `week` or `month`",
        "inner": "of `period_tables`: what keeps a table, `entity_set` (the default) or `log_tail`",
        "at": "of `period_tables` and a `log_tail`: the field that holds the instant; `At`",
        "entry": "of a `log_tail`: the field that holds the id; `EntryId`",
        "row_prefix": "of a `log_tail`: what the RowKey begins with; nothing",
        "points": "of a `data_series`: how many points it has",
        "point_name": "of a `data_series`: what the properties of the points are called, before their number",
        "of": "of a `data_series`: the type of the points: `int` (the default), `Int64`, `float` or `bool`",
        "split": "of a `data_series`: whether it goes over several rows; false",
        "fixed": "of a `wide_entity`: whether the fields are all the properties that there ever are; false",
    },
    "[set.fields]": {
        "type": "`string` (the default), `int32`, `int64`, `double`, `boolean`, `datetime`, `guid` or `binary`",
        "size": "the characters of a text, the bytes of a binary; 16",
        "largest": "the longest that there is; by default `size`",
        "distinct": "how many different values there are; where it is left out, each entity has its own",
        "skew": "how unevenly values occur: the exponent of a Zipf distribution; 0, which is evenly",
        "order": "`rising` if new entities have higher values than older ones; `none`",
        "within": "the field within whose values this one is numbered anew",
        "secret": "whether it must not be readable by whoever can read the table; false",
    },
    "[[set.derived]] and [[set.mappings]]": {
        "pattern": "of derived data: `intra_partition_index`, `inter_partition_index`, `index_entities`, "
        "`denormalize` or `summary`; of a mapping: `encrypted_properties` or `large_properties`",
        "key": "the key of the rows; of an `intra_partition_index` in the set's partition, if none is given",
        "name": "what reports call it",
        "include": "of an index: the properties that its rows hold besides those of both keys; by default all",
        "table": "where the rows are in another table: its name",
        "unique": "of an `inter_partition_index`: whether a second entity with the same key is refused; false",
        "fields": "of `index_entities`: the fields by whose values to find entities",
        "store": 'of lists, copies and totals: `"partition"` (the default), `"table"` or `{ container = "..." }`',
        "ids": "of `index_entities`: the property that holds the list; `Ids`",
        "spread": "of `index_entities` and a `summary`: over how many rows; 1",
        "into": "of `denormalize`: the key of the entities with the copies",
        "refers": "of `denormalize`: for each field of the copied entity's key the field that refers to it",
        "copies": "of `denormalize`: for each field to copy the field that holds the copy",
        "filled_from": "of `denormalize`, in the set with the copies: the set that is copied from, "
        "in place of the others",
        "count": "of a `summary`: the property that holds the count; `Count`, and an empty text for none",
        "sums": "of a `summary`: for each field to add up the property that holds the sum",
        "members": "of a `summary`: the property that lists, elsewhere, the entities of a group; `Members`",
        "names": "of a mapping: the properties that it stores",
        "container": "of `large_properties`: the container of the blobs",
        "above": "of `large_properties`: up to how many bytes a value stays in the entity",
    },
    "[[set.query]]": {
        "name": "what is asked, such as `employee by e-mail`",
        "known": 'what the question gives: `{ Department = "=", At = "range", Email = "prefix" }`',
        "filter": "a filter as it is sent, in place of `known`",
        "order": "the field by which results must come; with a `-` in front, the highest first",
        "take": "how many results are wanted; where it is left out, all",
        "select": "the properties that are wanted; where it is left out, all",
        "results": "how many entities answer it, where `known` has a range or a beginning; by default a tenth of those "
        "that the rest of the question leaves",
        "rate": "how often it is asked in a second, on average over a day; 0",
        "peak": "how often at the busiest time; by default `rate`",
        "skew": "how unevenly what is asked for is chosen: the exponent of a Zipf distribution; 0, which is evenly",
        "fresh": "for how many seconds an answer may be older than the last write; 0",
    },
    "[[set.write]]": {
        "name": "what happens, such as `hire`",
        "deed": "`insert`, `update` or `delete`",
        "changes": "the properties that an update changes; where it is left out, all but those of the key",
        "rate": "how often it is done in a second, on average over a day; 0",
        "peak": "how often at the busiest time; by default `rate`",
        "skew": "how unevenly the entities are chosen; 0, which is evenly",
        "writers": "how many processes write at a time; 1",
        "together": "the writes of other sets that must happen with this one, or not at all",
    },
}


def as_markdown() -> str:
    """Return the keys as a page of documentation shows them: a table for each kind of table.

    >>> as_markdown().splitlines()[:5]
    ['### The file', '', '| key | what it says |', '|---|---|', '| `name` | the title of the report |']
    """
    parts: list[str] = []
    for table, keys in KEYS.items():
        heading = f"`{table}`" if table.startswith("[") and " and " not in table else table
        parts += [f"### {heading}", "", "| key | what it says |", "|---|---|"]
        parts += [f"| `{key}` | {meaning.replace('|', chr(92) + '|')} |" for key, meaning in keys.items()]
        parts.append("")
    return "\n".join(parts)


T = TypeVar("T")

_STORES: Final = ("partition", "table", "container")
_SECRET: Final = bytes(range(32))
"""It encrypts what a review makes up, and nothing else."""


def tried(section: Section, make: Callable[[], T], *below: str | int) -> T | None:
    """Return what is made, or note at a key why it cannot be."""
    try:
        return make()
    except BadInput as error:
        section.note(str(error.message), *below)
        return None


def key_of(section: Section, name: str = "key", *, partition: str | None = None, row: str | None = None) -> Key | None:
    """Return the key that a table `{ partition = ..., row = ... }` spells.

    :param partition: the PartitionKey where none is given
    :param row: the RowKey where none is given
    """
    if name not in section and (partition is None or row is None):
        section.note(f"{name} is missing; give {name} = {{ partition = ..., row = ... }}")
        section.section(name)
        return None
    halves = section.section(name)
    first = halves.text("partition", partition) if partition is not None else halves.needed("partition")
    second = halves.text("row", row) if row is not None else halves.needed("row")
    halves.refuse_others()
    if first is None or second is None:
        return None
    return tried(section, lambda: Key(first, second), name)


def derived_of(section: Section, primary: Key) -> Derived | None:
    """Return the derived data that a table of `[[set.derived]]` declares; None where something is wrong with it.

    :param primary: the key of the set
    """
    pattern = section.text("pattern", "", one_of=tuple(_DERIVED))
    if not pattern:
        if "pattern" not in section:
            section.note(f"pattern is missing; give one of {', '.join(_DERIVED)}")
        return None
    made = _DERIVED[pattern](section, primary)
    section.refuse_others()
    return made


def mapping_of(section: Section) -> PropertyMapping | None:
    """Return the mapping that a table of `[[set.mappings]]` declares; None where something is wrong with it."""
    pattern = section.text("pattern", "", one_of=tuple(_MAPPINGS))
    if not pattern:
        if "pattern" not in section:
            section.note(f"pattern is missing; give one of {', '.join(_MAPPINGS)}")
        return None
    made = _MAPPINGS[pattern](section)
    section.refuse_others()
    return made


def _intra(section: Section, primary: Key) -> Derived | None:
    key = key_of(section, partition=primary.partition_template)
    include, name = _include(section), section.text("name")
    return None if key is None else tried(section, lambda: IntraPartitionIndex(key, include=include, name=name))


def _inter(section: Section, primary: Key) -> Derived | None:
    key, include, name = key_of(section), _include(section), section.text("name")
    table, unique = section.text("table"), section.flag("unique")
    return (
        None
        if key is None
        else tried(section, lambda: InterPartitionIndex(key, table=table, include=include, unique=unique, name=name))
    )


def _list(section: Section, primary: Key) -> Derived | None:
    fields, store, spread = section.texts("fields"), _store(section), section.whole("spread", 1, least=1) or 1
    key = key_of(section) if "key" in section else None
    section.offer("key")
    ids, name = section.text("ids", "Ids") or "Ids", section.text("name")
    return tried(
        section, lambda: IndexEntity(*fields, key=key, store=store, ids=ids, spread=spread, name=name), "fields"
    )


def _copies(section: Section, primary: Key) -> Derived | None:
    into, refers, copies = key_of(section, "into"), section.named_texts("refers"), section.named_texts("copies")
    store, name = _store(section), section.text("name")
    return (
        None
        if into is None
        else tried(section, lambda: CopiedFields(into, refers=refers, copies=copies, store=store, name=name))
    )


def _totals(section: Section, primary: Key) -> Derived | None:
    key, sums, store = key_of(section), section.named_texts("sums"), _store(section)
    count, spread = section.text("count", "Count"), section.whole("spread", 1, least=1) or 1
    members, name = section.text("members", "Members") or "Members", section.text("name")
    return (
        None
        if key is None
        else tried(
            section,
            lambda: Summary(
                key, count=count or None, sums=sums, store=store, spread=spread, members=members, name=name
            ),
        )
    )


def _include(section: Section) -> tuple[str, ...] | None:
    return section.texts("include") if "include" in section else None


def _store(section: Section) -> Placement | None:
    """Return where derived rows are: `"partition"`, `"table"`, `{ table = ... }` or `{ container = ... }`."""
    table = section.text("table")
    if "store" not in section:
        section.text("store")
        return InTable(table) if table else None
    store = section.named_texts("store") if section.is_table("store") else {section.text("store") or "": ""}
    match store:
        case {"partition": ""}:
            return InPartition()
        case {"table": name}:
            return InTable(name or table)
        case {"container": name} if name:
            return InBlobs(name)
        case _:
            section.note('store is "partition", "table", { table = ... } or { container = ... }', "store")
            return None


def _encrypted(section: Section) -> PropertyMapping | None:
    names = section.texts("names")
    return tried(section, lambda: EncryptedProperties(names, keys=LocalKey("review", _SECRET)), "names")


def _large(section: Section) -> PropertyMapping | None:
    names, container = section.texts("names"), section.needed("container")
    above = section.whole("above")
    options = {} if above is None else {"above": above}
    return tried(section, lambda: LargeProperties(names, container=container, **options)) if container else None


_DERIVED: Final[Mapping[str, Callable[[Section, Key], Derived | None]]] = {
    "intra_partition_index": _intra,
    "inter_partition_index": _inter,
    "index_entities": _list,
    "denormalize": _copies,
    "summary": _totals,
}
_MAPPINGS: Final[Mapping[str, Callable[[Section], PropertyMapping | None]]] = {
    "encrypted_properties": _encrypted,
    "large_properties": _large,
}


_PATTERNS: Final = (*PLAIN, "log_tail", "partition_spread", "period_tables", "data_series", "wide_entity")
_PERIODS: Final = ("hour", "day", "week", "month")


class BadDesignFile(BadInput):
    """A design file in which something is wrong; `problems` has all of it, with the lines.

    :param name: what the file is called
    :param problems: for each its line and what is wrong
    """

    def __init__(self, name: str, problems: Sequence[tuple[int, str]]) -> None:
        self.problems = tuple(problems)
        super().__init__("design file", name, "it declares no design", "mend it")
        self.message = lines(name, self.problems)


@dataclass(frozen=True)
class _Read:
    """A set that was read, whose parts may still be missing."""

    section: Section
    plan: Plan
    shape: Shape
    queries: tuple[Query, ...]
    writes: tuple[Write, ...]
    sources: tuple[tuple[Section, str], ...]
    """The sets that entities of this one are filled from."""


def read_design(given: str | FilePath) -> Design:
    """Return the design that a file, or a text, declares.

    Everything that is wrong is found in one go, and named with its line and key. No request is made.

    >>> design = read_design('''
    ... name = "Staff"
    ... [[set]]
    ... name = "Employees"
    ... key = { partition = "{Department}", row = "empid_{EmployeeId:06d}" }
    ... count = 20_000
    ... [set.fields]
    ... Department = { distinct = 12 }
    ... EmployeeId = { type = "int32" }
    ... ''')
    >>> design.sets[0].shape.count
    20000

    :param given: the path of a file, or a text with more than one line
    :raises BadDesignFile: it is not TOML, or declares no design that can be tried
    :raises OSError: the file cannot be read
    """
    file = TomlFile.of(given, "design", BadDesignFile)
    problems: list[Problem] = []
    top = Section(file.values(), (), "", problems)
    sets = _sets(top)
    design = Design(top.needed("name"), tuple(each for each in sets if each), top.number("years", 3.0))
    top.refuse_others()
    if not problems:
        problems += [Problem(fault.path, f"{fault.whose}: {fault.says}") for fault in faults(design)]
    if problems:
        raise file.refused(problems)
    return design


def _sets(top: Section) -> list[DeclaredSet | None]:
    sections = top.sections("set", "set")
    if not sections:
        top.note("there is no set; write [[set]] for each set of entities")
    read = [_set(section) for section in sections]
    storage = connect()
    made: dict[str, DeclaredSet] = {}
    for each in sorted((each for each in read if each), key=lambda each: bool(each.sources)):
        declared = _declared(each, made, storage)
        if declared is not None:
            made[each.section.whose] = declared
    return [made.get(section.whose) for section in sections]


def _set(section: Section) -> _Read | None:
    before = len(section.problems)
    name, pattern = section.needed("name"), section.text("pattern", "entity_set", one_of=_PATTERNS) or "entity_set"
    table, entity = section.text("table", name) or name, section.text("entity", name) or name
    fields = {each: _field(section.section("fields"), each) for each in section.section("fields")}
    count = section.whole("count")
    if count is None and "count" not in section:
        section.note("count is missing; say how many entities there are")
    shape = Shape(entity, count or 0, fields, section.number("growth"))
    settings = _settings(section, pattern)
    key = _key(section, pattern, settings)
    queries = tuple(_query(each) for each in section.sections("query", "query"))
    writes = tuple(_write(each) for each in section.sections("write", "write"))
    retention = _retention(section)
    kept, sources = _derived(section, key)
    mappings = [mapping_of(each) for each in section.sections("mappings", "mapping")]
    section.refuse_others()
    if key is None or len(section.problems) > before:
        return None
    found = [each for each in mappings if each is not None]
    plan = Plan(pattern, table, key, settings, kept, found, retention, tuple(fields))
    return _Read(section, plan, shape, queries, writes, sources)


def _declared(read: _Read, made: Mapping[str, DeclaredSet], storage: Storage) -> DeclaredSet | None:
    """Return the set as the recipe tells it that keeps it, so that a file and a program declare the same."""
    derived = list(read.plan.derived)
    for section, source in read.sources:
        filled = _filled(section, source, made, storage)
        if filled is None:
            return None
        derived.append(filled)
    kept = _kept(read, derived, storage)
    if kept is None:
        return None
    declared = declare_set(
        kept,
        shape=read.shape,
        name=read.section.text("name"),
        queries=read.queries,
        writes=read.writes,
        retention=read.plan.retention,
    )
    # What is special of some patterns is the key, which does not show in what keeps them
    return replace(declared, pattern=read.plan.pattern)


def _kept(read: _Read, derived: Sequence[Derived], storage: Storage) -> Keeper | None:
    """Return the recipe that keeps a set, or note at which part of it that cannot be."""
    kept = None
    for count in range(len(derived) + 1):
        place: TomlPath = ("derived", count - 1, "key") if count else ("key",)
        kept = tried(read.section, partial(keeper, storage, read.plan, derived[:count]), *place)
        if kept is None:
            return None
    return kept


def _or(found: int | None, default: int) -> int:
    return default if found is None else found


def _derived(section: Section, key: Key | None) -> tuple[list[Derived], tuple[tuple[Section, str], ...]]:
    kept: list[Derived] = []
    sources: list[tuple[Section, str]] = []
    for each in section.sections("derived", "derived"):
        if "filled_from" in each:
            each.text("pattern", one_of=("denormalize",))
            sources.append((each, each.text("filled_from") or ""))
            each.refuse_others()
        elif key is not None and (made := derived_of(each, key)) is not None:
            kept.append(made)
    return kept, tuple(sources)


def _filled(section: Section, source: str, made: Mapping[str, DeclaredSet], storage: Storage) -> Derived | None:
    declared = made.get(f'set "{source}"')
    for each in declared.derived if declared is not None else ():
        if declared is not None and isinstance(each, CopiedFields):
            copied = EntitySet(storage, declared.table, declared.key, derived=declared.derived)
            return tried(section, partial(each.filled_from, copied), "filled_from")
    section.note(
        f"filled_from = {source!r}: no set of this name has a denormalize; declare it there too", "filled_from"
    )
    return None


def _key(section: Section, pattern: str, settings: dict[str, Any]) -> Key | None:
    if pattern != "log_tail" and settings.get("inner") != "log_tail":
        return key_of(section)
    at, entry = settings.setdefault("at", "At"), settings.setdefault("entry", "EntryId")
    prefix = settings.pop("row_prefix", "")
    return key_of(section, row=f"{prefix}{{{at}:inverted}}_{{{entry}:uuid}}")


def _settings(section: Section, pattern: str) -> dict[str, Any]:
    """Return what else the recipe of a set is told."""
    found: dict[str, Any] = {}
    inner = section.text("inner", one_of=("entity_set", "log_tail")) if pattern == "period_tables" else None
    if pattern == "partition_spread":
        found = {"buckets": section.whole("buckets", 16, least=1), "bucket": section.text("bucket")}
        found["by"] = section.texts("by") or None
    elif pattern == "period_tables":
        found = {"period": section.text("period", "day", one_of=_PERIODS), "at": section.text("at"), "inner": inner}
    elif pattern == "data_series":
        found = {"points": section.whole("points", least=1), "name": section.text("point_name")}
        found |= {"of": section.text("of", "int", one_of=tuple(POINTS)), "split": section.flag("split")}
    elif pattern == "wide_entity":
        found = {"fixed": section.flag("fixed")}
    if "log_tail" in (pattern, inner):
        found |= {name: section.text(name) for name in ("at", "entry", "row_prefix")}
    return {name: value for name, value in found.items() if value is not None}


def _retention(section: Section) -> Retention | None:
    if "retention" not in section:
        section.section("retention")
        return None
    kept = section.section("retention")
    if "days" not in kept:
        kept.note("days is missing; say after how many days an entity goes")
    by = cast("Removal", kept.text("by", "entity", one_of=get_args(Removal)) or "entity")
    found = Retention(kept.number("days", 1.0), by)
    kept.refuse_others()
    return found


def _field(fields: Section, name: str) -> Field:
    field = fields.section(name, f"{fields.whose}.{name}")
    found = Field(
        type=cast("FieldType", field.text("type", "string", one_of=get_args(FieldType)) or "string"),
        size=_or(field.whole("size", 16), 16),
        largest=field.whole("largest"),
        distinct=field.whole("distinct"),
        skew=field.number("skew"),
        order=cast("Order", field.text("order", "none", one_of=get_args(Order)) or "none"),
        within=field.text("within"),
        secret=field.flag("secret"),
    )
    field.refuse_others()
    return found


def _query(section: Section) -> Query:
    known = section.section("known")
    found = Query(
        name=section.needed("name"),
        known={name: cast("Known", known.text(name, "=", one_of=get_args(Known)) or "=") for name in known},
        filter=section.text("filter"),
        order=section.text("order"),
        take=section.whole("take"),
        select=section.texts("select"),
        rate=section.number("rate"),
        peak=section.perhaps("peak"),
        skew=section.number("skew"),
        fresh=section.number("fresh"),
        results=section.perhaps("results"),
    )
    section.refuse_others()
    return found


def _write(section: Section) -> Write:
    found = Write(
        name=section.needed("name"),
        deed=cast("Deed", section.text("deed", "", one_of=get_args(Deed)) or "insert"),
        changes=section.texts("changes"),
        rate=section.number("rate"),
        peak=section.perhaps("peak"),
        skew=section.number("skew"),
        writers=_or(section.whole("writers", 1), 1),
        together=section.texts("together"),
    )
    if "deed" not in section:
        section.note(f"deed is missing; give one of {', '.join(get_args(Deed))}")
    section.refuse_others()
    return found
