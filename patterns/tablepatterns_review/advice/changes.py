"""Changes of one set, in the design and in its file alike."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias, TypeVar

from tablepatterns.entity_set.derived import Derived
from tablepatterns.entity_set.mapping import PropertyMapping
from tablepatterns.entity_set.placement import InBlobs, InTable
from tablepatterns.key import Key
from tablepatterns.recipes.encrypted_properties.encrypted_properties import EncryptedProperties
from tablepatterns.recipes.index_entities import IndexEntity
from tablepatterns.recipes.inter_partition_index import InterPartitionIndex
from tablepatterns.recipes.intra_partition_index import IntraPartitionIndex
from tablepatterns.recipes.large_properties.large_properties import LargeProperties
from tablepatterns.recipes.summary import Summary

from ..design.model import DeclaredSet, Design, Field, Query, Write
from ..kinds import kind_of
from ..measure.account import sample_key
from ..zipf import Zipf

AccessT = TypeVar("AccessT", Query, Write)
_STEPS: Final = 200
_TABLE_NAME: Final = 63
"""The longest name of a table."""
Table: TypeAlias = MutableMapping[str, Any]
"""The table of a set in a design file."""


@dataclass(frozen=True)
class Change:
    """A change of one set.

    :param set: the name of the set
    :param says: what to do, in a few words
    :param model: makes the changed set
    :param edit: makes the same change in the set's table of a design file
    :param corrects: the subject whose flaws of the file it corrects
    :param pattern: the pattern that it uses, by its name in the catalog; None if it uses none
    :param of_design: makes the changed design, if more changes than a set
    :param moved_to: the table of the blob log that replaces the set's in a design file
    """

    set: str
    says: str
    model: Callable[[DeclaredSet], DeclaredSet]
    edit: Callable[[Table], None]
    corrects: str | None = None
    pattern: str | None = None
    of_design: Callable[[Design], Design] | None = None
    moved_to: Mapping[str, Any] | None = None

    def applied(self, design: Design) -> Design:
        """Return the design with this change.

        :raises BadInput: it cannot be made
        """
        if self.of_design is not None:
            return self.of_design(design)
        sets = tuple(
            self.model(declared_set) if declared_set.name == self.set else declared_set for declared_set in design.sets
        )
        flaws = tuple(flaw for flaw in design.flaws if flaw.subject != self.corrects)
        return replace(design, sets=sets, flaws=flaws)


def key_table(key: Key) -> dict[str, str]:
    """Return a key as a design file has it."""
    return {"partition": key.partition_template, "row": key.row_template}


def add_index(declared_set: DeclaredSet, key: Key, name: str, *, unique: bool = False) -> Change:
    """Return the change that adds an index, in the partition of the entities if the key is there."""
    is_local = key.partition_template == declared_set.key.partition_template
    index = IntraPartitionIndex(key, name=name) if is_local else InterPartitionIndex(key, name=name, unique=unique)
    pattern = "intra_partition_index" if is_local else "inter_partition_index"
    table: dict[str, Any] = {"pattern": pattern, "key": key_table(key), "name": name}
    if unique and not is_local:
        table["unique"] = True
    where = "in the partition" if is_local else "in other partitions"
    says = f"add the index {name!r} {where}, ({key.partition_template}, {key.row_template})"
    return _add_derived(declared_set, index, table, says, pattern)


def add_count(declared_set: DeclaredSet, key: Key, name: str) -> Change:
    """Return the change that keeps a count of the entities of each partition."""
    says = f"keep the count in a Summary, ({key.partition_template}, {key.row_template})"
    table = {"pattern": "summary", "key": key_table(key), "name": name}
    return _add_derived(declared_set, Summary(key, name=name), table, says, "summary")


def _add_derived(
    declared_set: DeclaredSet, derived: Derived, table: Mapping[str, Any], says: str, pattern: str
) -> Change:
    def edit(of: Table) -> None:
        of["derived"] = [*of.get("derived", []), dict(table)]

    def model(of: DeclaredSet) -> DeclaredSet:
        return replace(of, derived=(*of.derived, derived))

    return Change(declared_set.name, says, model, edit, pattern=pattern)


def remove_derived(declared_set: DeclaredSet, name: str) -> Change:
    """Return the change that removes derived data."""

    def model(of: DeclaredSet) -> DeclaredSet:
        return replace(of, derived=tuple(derived for derived in of.derived if derived.name != name))

    at = next(number for number, derived in enumerate(declared_set.derived) if derived.name == name)

    def edit(of: Table) -> None:
        del of["derived"][at]

    return Change(declared_set.name, f"remove {name!r}", model, edit)


def replace_derived(
    declared_set: DeclaredSet, name: str, derived: Derived, table: Mapping[str, Any], says: str, pattern: str
) -> Change:
    """Return the change that keeps other derived data in place of that of a name.

    :param table: the derived data as a design file has it
    """
    at = next(number for number, derived in enumerate(declared_set.derived) if derived.name == name)

    def edit(of: Table) -> None:
        of["derived"][at] = {"pattern": pattern, **table, "name": name}

    def model(of: DeclaredSet) -> DeclaredSet:
        return replace(of, derived=tuple(derived if each.name == name else each for each in of.derived))

    return Change(declared_set.name, says, model, edit, pattern=pattern)


def as_index(declared_set: DeclaredSet, name: str, key: Key) -> Change:
    """Return the change that keeps an index in place of other derived data, in the partition if its key is there."""
    where = f"({key.partition_template}, {key.row_template})"
    if key.partition_template == declared_set.key.partition_template:
        says = f"use an index in the partition for {name!r}, {where}"
        derived: Derived = IntraPartitionIndex(key, name=name)
        return replace_derived(declared_set, name, derived, {"key": key_table(key)}, says, "intra_partition_index")
    says = f"use an index in other partitions for {name!r}, {where}"
    derived = InterPartitionIndex(key, name=name)
    return replace_derived(declared_set, name, derived, {"key": key_table(key)}, says, "inter_partition_index")


def list_in_blobs(declared_set: DeclaredSet, old: IndexEntity, key: Key) -> Change:
    """Return the change that stores each list in a blob, which has no limit that lists reach."""
    container = f"{declared_set.table.lower()}-lists"
    options: dict[str, Any] = {"ids": old.key_list.name}
    made = IndexEntity(*old.fields, key=key, store=InBlobs(container), name=old.name, **options)
    table = {"fields": list(old.fields), "key": key_table(key), "store": {"container": container}, **options}
    return replace_derived(
        declared_set, old.name, made, table, f"store each list of {old.name!r} in a blob", "index_entities"
    )


def rows_spread(declared_set: DeclaredSet, old: IndexEntity | Summary, key: Key, rows: int) -> Change:
    """Return the change that spreads each list or total over rows, in a table of their own.

    In tables for periods, the rows stay with the entities, so that they are dropped with them.

    :param key: the key of the rows
    """
    placement = old.placement
    words = "".join(word.capitalize() for word in re.findall("[A-Za-z0-9]+", old.name))
    where = (placement.name if isinstance(placement, InTable) else None) or f"{declared_set.table}{words}"[:_TABLE_NAME]
    is_own = kind_of(declared_set).time_field(declared_set) is None
    if not is_own and key.partition_template == declared_set.key.partition_template:
        # Rows that are updated later are in partitions of their own
        key = Key(f"{words.lower()}_{key.partition_template}", key.row_template)
    store = InTable(where if is_own else None)
    table: dict[str, Any] = {
        "key": key_table(key),
        "spread": rows,
        **({"table": where} if is_own else {"store": "table"}),
    }
    if isinstance(old, IndexEntity):
        options: dict[str, Any] = {"ids": old.key_list.name}
        derived: Derived = IndexEntity(*old.fields, key=key, store=store, spread=rows, name=old.name, **options)
        table, called, pattern = {"fields": list(old.fields), **table, **options}, "list", "index_entities"
    else:
        options = {"sums": dict(old.sums), "members": old.key_list.name}
        derived = Summary(key, count=old.count, store=store, spread=rows, name=old.name, **options)
        table, called, pattern = {**table, "count": old.count or "", **options}, "total", "summary"
    says = f"spread each {called} of {old.name!r} over {rows} rows{f' of the table {where}' if is_own else ''}"
    return replace_derived(declared_set, old.name, derived, table, says, pattern)


def change_index(declared_set: DeclaredSet, name: str, key: Key, *, unique: bool, says: str) -> Change:
    """Return the change that gives an index another key, makes it unique, or lets its rows hold whole entities."""
    at = next(number for number, derived in enumerate(declared_set.derived) if derived.name == name)
    old = declared_set.derived[at]
    derived: Derived
    if old.is_eventual:
        table = None if old.table(declared_set.table) == declared_set.table else old.table(declared_set.table)
        derived = InterPartitionIndex(key, table=table, unique=unique, name=name)
    else:
        derived = IntraPartitionIndex(key, name=name)

    def edit(of: Table) -> None:
        table = of["derived"][at]
        table["key"] = key_table(key) if old.is_eventual else {"row": key.row_template}
        table["name"] = name
        table.pop("include", None)
        if unique and old.is_eventual:
            table["unique"] = True

    def model(of: DeclaredSet) -> DeclaredSet:
        return replace(of, derived=tuple(derived if each.name == name else each for each in of.derived))

    pattern = "inter_partition_index" if old.is_eventual else "intra_partition_index"
    return Change(declared_set.name, says, model, edit, pattern=pattern)


def change_key(
    declared_set: DeclaredSet,
    key: Key,
    says: str,
    *,
    fields: Mapping[str, Field] | None = None,
    corrects: str | None = None,
) -> Change:
    """Return the change that gives the entities another key, with further fields."""
    more = dict(fields or {})

    def model(of: DeclaredSet) -> DeclaredSet:
        # Indexes in the partition keep their own RowKeys
        moved = key.partition_template != of.key.partition_template
        derived = [_in_partition(derived, of, key) if moved else derived for derived in of.derived]
        shape = replace(of.shape, fields={**of.shape.fields, **more})
        return replace(of, key=key, derived=tuple(derived), shape=shape)

    def edit(of: Table) -> None:
        of["key"] = key_table(key)
        for name, field in more.items():
            of["fields"][name] = {"type": field.type}

    return Change(declared_set.name, says, model, edit, corrects, "compound_key")


def _in_partition(derived: Derived, of: DeclaredSet, key: Key) -> Derived:
    layout = of.profile(derived).layout
    if derived.is_eventual or layout is None:
        return derived
    return IntraPartitionIndex(
        Key(key.partition_template, layout.key.row_template), include=derived_include(of, derived), name=derived.name
    )


def derived_include(of: DeclaredSet, derived: Derived) -> Iterable[str] | None:
    """Return the properties that the rows of an index hold besides those of both keys; None for all."""
    layout = of.profile(derived).layout
    return None if layout is None or layout.include is None else layout.include - set(of.key.fields)


def add_mapping(declared_set: DeclaredSet, mapping: PropertyMapping, table: Mapping[str, Any], says: str) -> Change:
    """Return the change that stores some properties in another form."""

    def edit(of: Table) -> None:
        of["mappings"] = [*of.get("mappings", []), dict(table)]

    def model(of: DeclaredSet) -> DeclaredSet:
        return replace(of, mappings=(*of.mappings, mapping))

    return Change(declared_set.name, says, model, edit, pattern=str(table["pattern"]))


def in_blobs(declared_set: DeclaredSet, names: Sequence[str]) -> Change:
    """Return the change that stores large values in blobs."""
    container = f"{declared_set.table.lower()}-values"
    table = {"pattern": "large_properties", "names": list(names), "container": container}
    says = f"store {', '.join(names)} in blobs (LargeProperties)"
    return add_mapping(declared_set, LargeProperties(names, container=container), table, says)


def encrypted(declared_set: DeclaredSet, names: Sequence[str]) -> Change:
    """Return the change that encrypts properties."""
    table = {"pattern": "encrypted_properties", "names": list(names)}
    mapping = EncryptedProperties(names, keys=sample_key())
    return add_mapping(declared_set, mapping, table, f"encrypt {', '.join(names)} (EncryptedProperties)")


def spread(declared_set: DeclaredSet, buckets: int) -> Change:
    """Return the change that spreads each partition over buckets."""
    settings = {"buckets": buckets, "by": declared_set.key.fields, "bucket": "Bucket"}

    def edit(of: Table) -> None:
        of["pattern"] = "partition_spread"
        of["buckets"] = buckets

    says = f"spread each partition over {buckets} buckets (PartitionSpread)"

    def model(of: DeclaredSet) -> DeclaredSet:
        return replace(of, pattern="partition_spread", settings=settings)

    return Change(declared_set.name, says, model, edit, pattern="partition_spread")


def not_spread(declared_set: DeclaredSet) -> Change:
    """Return the change that stores each partition as one."""

    def edit(of: Table) -> None:
        of["pattern"] = "entity_set"
        for name in ("buckets", "by", "bucket"):
            of.pop(name, None)

    says = "store each partition as one (EntitySet)"
    return Change(
        declared_set.name, says, lambda declared_set: replace(declared_set, pattern="entity_set", settings={}), edit
    )


def by_period(declared_set: DeclaredSet, at: str, period: str) -> Change:
    """Return the change that stores the entities of each period in a table, and drops expired tables."""

    def model(of: DeclaredSet) -> DeclaredSet:
        retention = None if of.retention is None else replace(of.retention, by="table")
        return replace(
            of,
            pattern="period_tables",
            settings={"period": period, "inner": "entity_set", "at": at},
            retention=retention,
        )

    def edit(of: Table) -> None:
        of["pattern"] = "period_tables"
        of["period"] = period
        of["at"] = at
        of["retention"]["by"] = "table"

    says = f"use a table for each {period} (PeriodTables), and drop expired tables"
    return Change(declared_set.name, says, model, edit, pattern="period_tables")


def wide(declared_set: DeclaredSet) -> Change:
    """Return the change that stores each entity in as many rows as its properties need."""

    def edit(of: Table) -> None:
        of["pattern"] = "wide_entity"

    def model(of: DeclaredSet) -> DeclaredSet:
        return replace(of, pattern="wide_entity", settings={})

    return Change(
        declared_set.name, "store each entity in several rows (WideEntity)", model, edit, pattern="wide_entity"
    )


def split_entities(declared_set: DeclaredSet, rows: int, part: str) -> Change:
    """Return the change that stores each entity as several rows, of which a write changes one and a reader adds up all.

    :param part: the field with the number of the row
    """
    key = Key(declared_set.key.partition_template, f"{declared_set.key.row_template}_{{{part}:0{len(str(rows))}d}}")
    count = declared_set.shape.count * rows
    # A value that each entity had is now that of its rows
    shared = [
        name
        for name, field in declared_set.shape.fields.items()
        if field.distinct is None and field.type != "boolean" and field.within is None
    ]

    skews = {
        write.name: _skew_of_rows(declared_set.shape.count, rows, write.skew)
        for write in declared_set.writes
        if write.skew
    }

    def model(of: DeclaredSet) -> DeclaredSet:
        fields = dict(of.shape.fields)
        fields |= {name: replace(fields[name], distinct=declared_set.shape.count) for name in shared}
        fields[part] = Field("int32", distinct=rows)
        shape = replace(of.shape, count=count, growth=of.shape.growth * rows, fields=fields)
        writes = tuple(replace(write, skew=skews.get(write.name, 0.0)) for write in of.writes)
        return replace(of, key=key, shape=shape, writes=writes)

    def edit(of: Table) -> None:
        of["key"], of["count"] = key_table(key), count
        if of.get("growth"):
            of["growth"] = of["growth"] * rows
        for name in shared:
            of["fields"][name].update({"distinct": declared_set.shape.count})
        of["fields"][part] = {"type": "int32", "distinct": rows}
        for item in of.get("write", []):
            if item["name"] in skews:
                item["skew"] = skews[item["name"]]

    says = f"store each entity as {rows} rows, ({key.partition_template}, {key.row_template}), and add them up"
    return Change(declared_set.name, says, model, edit)


def _skew_of_rows(count: int, rows: int, skew: float) -> float:
    """Return the skew of calls over rows, of which each entity has several that take the same share of its calls."""
    most = Zipf(max(1, count), skew).share(1) / rows
    steps = (round(skew * step / _STEPS, 3) for step in range(_STEPS, 0, -1))
    return next((exponent for exponent in steps if Zipf(max(1, count * rows), exponent).share(1) <= most), 0.0)


def into_table(declared_set: DeclaredSet, table: str, key: Key) -> Change:
    """Return the change that stores the entities in the table of another set."""

    def model(of: DeclaredSet) -> DeclaredSet:
        return replace(of, table=table, key=key)

    def edit(of: Table) -> None:
        of["table"], of["key"] = table, key_table(key)

    says = f"store {declared_set.name} in the table {table}, ({key.partition_template}, {key.row_template})"
    return Change(declared_set.name, says, model, edit, pattern="entity_group_transaction")


def change_figures(declared_set: DeclaredSet, says: str, **figures: Any) -> Change:
    """Return the change of the declared number of entities, or of their growth."""

    def model(of: DeclaredSet) -> DeclaredSet:
        return replace(of, shape=replace(of.shape, **figures))

    def edit(of: Table) -> None:
        for name, value in figures.items():
            of[name] = value

    return Change(declared_set.name, says, model, edit)


def change_settings(declared_set: DeclaredSet, says: str, **settings: Any) -> Change:
    """Return the change of arguments of the set's recipe."""

    def model(of: DeclaredSet) -> DeclaredSet:
        return replace(of, settings={**of.settings, **settings})

    def edit(of: Table) -> None:
        for name, value in settings.items():
            of[name] = value

    return Change(declared_set.name, says, model, edit, pattern=declared_set.pattern)


def change_access(declared_set: DeclaredSet, access: Query | Write, says: str, **values: Any) -> Change:
    """Return the change of an access pattern."""
    section = "query" if isinstance(access, Query) else "write"

    def edit(of: Table) -> None:
        next(item for item in of[section] if item["name"] == access.name).update(values)

    def changed(each: AccessT) -> AccessT:
        return replace(each, **values) if isinstance(each, type(access)) and each.name == access.name else each

    def model(of: DeclaredSet) -> DeclaredSet:
        return replace(of, queries=tuple(map(changed, of.queries)), writes=tuple(map(changed, of.writes)))

    return Change(declared_set.name, says, model, edit)
