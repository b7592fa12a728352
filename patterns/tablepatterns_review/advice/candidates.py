"""The changes that may remove a finding, the usual one first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from tablepatterns.entity_set.derived import Derived
from tablepatterns.entity_set.placement import InBlobs, InTable
from tablepatterns.errors import BadInput
from tablepatterns.figures import listed
from tablepatterns.key import Key
from tablepatterns.recipes.encrypted_properties.encrypted_properties import EncryptedProperties
from tablepatterns.recipes.index_entities import IndexEntity
from tablepatterns.recipes.inter_partition_index import InterPartitionIndex
from tablepatterns.recipes.intra_partition_index import IntraPartitionIndex
from tablepatterns.recipes.large_properties.large_properties import LargeProperties
from tablepatterns.recipes.summary import Summary

from ..design.derived_arguments import rebuilt
from ..design.distribution import values_of
from ..design.key_parts import dates_of, key_text, pieces_of, pieces_of_key
from ..design.model import DeclaredSet, Design, Query, Write
from ..design.writes import inserted_at
from ..kinds import kind_of
from ..kinds.recipes import sample_key
from ..plans.planner import index_candidates, is_in_order, is_shared, knows_partition, spelled, ways
from ..result import Finding, Measured
from ..rules.context import RuleContext, known_of
from ..rules.hot_partitions import changes_of_busiest_row, rows_for
from ..rules.indexes import needed_of
from ..rules.limits import large_fields
from . import changes
from .changes import Change

_MOST_TABLES: Final = 100
_TABLE_NAME: Final = 63
"""The longest name of a table."""


@dataclass(frozen=True)
class Target:
    """What a finding is about; `part` is the access pattern or derived data that follows the set in its subject."""

    context: RuleContext
    finding: Finding
    declared: DeclaredSet
    part: str

    @property
    def asked(self) -> Measured[Query] | None:
        return next((query for query in self.context.queries_of(self.declared) if query.access.name == self.part), None)

    @property
    def done(self) -> Measured[Write] | None:
        return next((write for write in self.context.writes_of(self.declared) if write.access.name == self.part), None)


def candidates(context: RuleContext, finding: Finding) -> Iterator[Change]:
    """Yield the changes that may remove a finding; those that the recipes reject are left out."""
    name, _, part = finding.subject.partition(": ")
    make = RULES_WITH_CHANGES.get(finding.rule)
    for declared_set in context.design.sets:
        if make is not None and name in (declared_set.name, declared_set.table):
            with suppress(BadInput):
                yield from make(Target(context, finding, declared_set, part))
            return


def _missing_index(target: Target) -> Iterator[Change]:
    declared_set, query = target.declared, target.asked
    answers = ways(declared_set, query.access) if query is not None else ()
    for index in (way.declare for way in answers if way.declare is not None):
        where = "in other partitions" if index.is_eventual else "in the partition"
        own = [name for name in index.key.fields if name not in declared_set.key.fields]
        # In the partition, a second row with the same key is rejected
        is_unique = index.is_unique if isinstance(index, InterPartitionIndex) else not is_shared(declared_set, own)
        says = f"add the {'unique ' if is_unique else ''}index {index.name!r} {where}, {key_text(index.key)}"
        yield changes.put_derived(declared_set, index, says)
        yield from _without_changing(target, index, says)


def _without_changing(target: Target, index: IntraPartitionIndex | InterPartitionIndex, says: str) -> Iterator[Change]:
    """Yield an index in other partitions without the properties that updates change, so that these do not write it."""
    declared_set, key = target.declared, index.key
    updates = [write for write in declared_set.writes if write.operation == "update"]
    fields = [name for name in declared_set.shape.fields if name not in (*declared_set.key.fields, *key.fields)]
    changing = {name for write in updates for name in write.changes or fields}
    stable = [name for name in fields if name not in changing]
    if isinstance(index, InterPartitionIndex) and len(stable) < len(fields):
        narrow = rebuilt(index, include=stable)
        left_out = listed([name for name in fields if name in changing], most=3)
        yield changes.put_derived(declared_set, narrow, f"{says}, without {left_out}, which updates change")


def _sorted_index(target: Target) -> Iterator[Change]:
    query, declared_set = target.asked, target.declared
    if query is None:
        return
    name = (query.access.order or "").removeprefix("-")
    key = declared_set.key
    inverted = Key(key.partition_template, key.row_template.replace(f"{{{name}:ticks}}", f"{{{name}:inverted}}"))
    is_reversed = inverted != key and is_in_order(inverted, known_of(query), query.access.order or "")
    has_own_key = kind_of(declared_set).row_template(declared_set.settings) is None
    if is_reversed and knows_partition(query.of, query.access) and has_own_key:
        yield changes.change_key(declared_set, inverted, f"use the RowKey {inverted.row_template}")
    yield from _missing_index(target)


def _remove(target: Target) -> Iterator[Change]:
    yield changes.remove_derived(target.declared, target.part)


def _unique(target: Target) -> Iterator[Change]:
    via = _derived(target)
    if via is not None:
        yield from _rebuilt(target.declared, via, f"make {via.name!r} unique", unique=True)


def _less_copied(target: Target) -> Iterator[Change]:
    via = _derived(target)
    needed = None if via is None else needed_of(target.context, target.declared, via)
    if via is not None and needed is not None:
        include = sorted(needed.intersection(target.declared.shape.fields).difference(target.declared.key.fields))
        says = f"let {via.name!r} hold only {', '.join(include) or 'the keys'}"
        yield from _rebuilt(target.declared, via, says, include=include)


def _derived(target: Target) -> Derived | None:
    return next((derived for derived in target.declared.derived if derived.name == target.part), None)


def _rebuilt(declared_set: DeclaredSet, old: Derived, says: str, **arguments: Any) -> Iterator[Change]:
    if declared_set.profile(old).layout is not None:
        yield changes.put_derived(declared_set, rebuilt(old, **arguments), says, replaces=old.name)


def _append_primary_key(target: Target) -> Iterator[Change]:
    via = _derived(target)
    layout = None if via is None else target.declared.profile(via).layout
    if via is None or layout is None:
        return
    pieces, own = pieces_of_key(target.declared.key), (*layout.key.fields, None)
    rest = "".join(f"_{spelled(piece.name, piece.spec)}" for piece in pieces if piece.name not in own)
    key = Key(layout.key.partition_template, _escaped(layout.key.row_template) + rest)
    says = f"append the primary key to the RowKey of {via.name!r}"
    # With the primary key, it is unique without a check
    checked = {"unique": False} if via.is_eventual else {}
    yield from _rebuilt(target.declared, via, says, key=key, **checked)


def _escaped(template: str) -> str:
    """Return a template whose last text may be followed by another field."""
    last = pieces_of(template)[-1]
    if last.name and not last.spec and last.width is None:
        return template[: template.rindex("{")] + f"{{{last.name}:escape}}"
    return template


def _in_blobs(target: Target) -> Iterator[Change]:
    declared_set, large = target.declared, large_fields(target.declared)
    if large and not declared_set.in_blobs():
        container = f"{declared_set.table.lower()}-values"
        table = {"pattern": "large_properties", "names": list(large), "container": container}
        mapping = LargeProperties(large, container=container)
        says = f"store {', '.join(large)} in blobs (LargeProperties)"
        yield Change(declared_set.name, says, "large_properties", mapping=(mapping, table))


def _encrypted(target: Target) -> Iterator[Change]:
    declared_set, fields = target.declared, target.declared.shape.fields.items()
    names = [name for name, field in fields if field.secret and name not in declared_set.key.fields]
    if not declared_set.encrypted():
        table = {"pattern": "encrypted_properties", "names": names}
        mapping = EncryptedProperties(names, keys=sample_key())
        says = f"encrypt {', '.join(names)} (EncryptedProperties)"
        yield Change(declared_set.name, says, "encrypted_properties", mapping=(mapping, table))


def _as_pattern(declared_set: DeclaredSet, pattern: str, says: str, **settings: Any) -> Change:
    return Change(declared_set.name, says, pattern, values={"pattern": pattern}, settings=settings)


def _divided(target: Target) -> Iterator[Change]:
    """Yield the key with a field of the RowKey as the PartitionKey, if the key is constant and each query gives it."""
    declared_set, row = target.declared, pieces_of(target.declared.key.row_template)
    queries = target.context.queries_of(declared_set)
    known = [name for name in declared_set.key.row_fields if all(known_of(query).get(name) == "=" for query in queries)]
    if declared_set.key.partition_fields or not known or not queries or not kind_of(declared_set).shares_tables:
        return
    name = max(known, key=lambda name: values_of(declared_set.shape, name).count)
    rest = "_".join(spelled(piece.name, piece.spec) for piece in row if piece.name not in (name, None))
    entity = re.sub("[^a-z0-9]", "", declared_set.shape.entity.lower()) or "entity"
    spec = next(piece.spec for piece in row if piece.name == name)
    with_rest = f"{row[0].literal}{rest}" if rest else row[0].literal.rstrip("_") or entity
    key = Key(spelled(name, spec), with_rest)
    yield changes.change_key(declared_set, key, f"use the key {key_text(key)}")


def _spread(target: Target) -> Iterator[Change]:
    yield from _divided(target)
    declared_set = target.declared
    heat = next((table_load for table_load in target.context.heats if table_load.table == declared_set.table), None)
    # A bucket in the PartitionKey is not in filters that are sent as they are
    is_named = any("PartitionKey" in (query.access.filter or "") for query in target.context.queries_of(declared_set))
    if kind_of(declared_set).shares_tables and heat is not None and heat.buckets > 1 and not is_named:
        says = f"spread each partition over {heat.buckets} buckets (PartitionSpread)"
        settings = {"buckets": heat.buckets, "by": declared_set.key.fields, "bucket": "Bucket"}
        yield _as_pattern(declared_set, "partition_spread", says, **settings)


def _not_spread(target: Target) -> Iterator[Change]:
    says = "store each partition as one (EntitySet)"
    settings = dict.fromkeys(target.declared.settings)
    yield replace(_as_pattern(target.declared, "entity_set", says, **settings), pattern=None)


def _by_period(target: Target) -> Iterator[Change]:
    declared_set, at = target.declared, inserted_at(target.declared)
    is_date = at in dates_of(declared_set.key)
    if at is None or is_date or declared_set.retention is None or not kind_of(declared_set).shares_tables:
        return
    days = declared_set.retention.days
    period = "day" if days <= _MOST_TABLES else "week" if days <= 7 * _MOST_TABLES else "month"
    says = f"use a table for each {period} (PeriodTables), and drop expired tables"
    change = _as_pattern(declared_set, "period_tables", says, period=period, inner="entity_set", at=at)
    yield replace(change, values={**change.values, "retention": replace(declared_set.retention, by="table")})


def _wide(target: Target) -> Iterator[Change]:
    declared_set = target.declared
    if kind_of(declared_set).shares_tables and not declared_set.derived and not declared_set.mappings:
        yield _as_pattern(declared_set, "wide_entity", "store each entity in several rows (WideEntity)")


def _corrected(target: Target) -> Iterator[Change]:
    declared_set, via = target.declared, _derived(target)
    if not target.part:
        says = f"use the key {key_text(declared_set.key)}"
        yield changes.change_key(declared_set, declared_set.key, says, corrects=declared_set.name)
    elif via is not None and (layout := declared_set.profile(via).layout) is not None:
        if key_text(layout.key) in target.finding.says:
            # The index has kept its key, so the entities have got a prefix
            says = f"use the RowKey {declared_set.key.row_template} for the entities"
            yield changes.change_key(declared_set, declared_set.key, says, corrects=target.finding.subject)
            return
        says = f"use the RowKey {layout.key.row_template} for {target.part!r}"
        for change in _rebuilt(declared_set, via, says):
            yield replace(change, corrects=target.finding.subject)


def _with_id(target: Target) -> Iterator[Change]:
    declared_set = target.declared
    name = f"{declared_set.shape.entity}Id" if declared_set.shape.entity.isidentifier() else "EntityId"
    if name in declared_set.shape.fields or not kind_of(declared_set).shares_tables:
        return
    key = Key(declared_set.key.partition_template, f"{_escaped(declared_set.key.row_template)}_{{{name}:uuid}}")
    says = f"append an id to the RowKey, {key.row_template}"
    yield changes.change_key(declared_set, key, says, fields={name: {"type": "guid"}}, corrects=declared_set.name)


def _wider(target: Target) -> Iterator[Change]:
    (name,) = target.finding.fields
    wide = next((word for word in target.finding.better.split() if word.startswith(f"{{{name}:")), None)
    if wide is not None:
        yield from _respelled(target.declared, name, wide.rstrip(";"))


def _escaped_text(target: Target) -> Iterator[Change]:
    """Yield the key with a text that may contain any character, and in which a range of texts is a range of rows."""
    name = next((name for name in target.finding.fields if name in target.declared.key.fields), None)
    if name is not None and (target.finding.rule != "text-order" or ":escape}" in target.finding.better):
        yield from _respelled(target.declared, name, f"{{{name}:escape}}")


def _respelled(declared_set: DeclaredSet, name: str, field: str) -> Iterator[Change]:
    if kind_of(declared_set).shares_tables:
        old, spelling = declared_set.key, re.compile(rf"\{{{name}(:[^}}]*)?\}}")
        key = Key(spelling.sub(field, old.partition_template), spelling.sub(field, old.row_template))
        yield changes.change_key(declared_set, key, f"use the key {key_text(key)}")


def _count(target: Target) -> Iterator[Change]:
    query, declared_set = target.asked, target.declared
    if query is None or query.access.filter is not None or not kind_of(declared_set).shares_tables:
        return
    key = Key(declared_set.key.partition_template, "total")
    if knows_partition(query.of, query.access) and set(query.access.known) <= set(key.fields):
        total = Summary(key, name=f"count of {declared_set.name.lower()}")
        says = f"keep the count in a Summary, {key_text(key)}"
        yield changes.put_derived(declared_set, total, says)


def _conditional(target: Target) -> Iterator[Change]:
    if target.done is not None and target.done.access.overwrite:
        name = target.done.access.name
        says = f"write {name!r} on condition of the ETag"
        yield Change(target.declared.name, says, access={name: {"overwrite": False}})


def _list_elsewhere(target: Target) -> Iterator[Change]:
    """Yield what keeps a long or busy list short: blobs, several rows, or an index with a copy of each entity."""
    declared_set, old = target.declared, _derived(target)
    profile = None if old is None else declared_set.profile(old)
    if profile is None or not isinstance(old, IndexEntity) or profile.key is None or profile.spread > 1:
        return
    if target.finding.rule == "contention":
        yield _rows_spread(target, old, profile.key)
    elif target.finding.rule == "list-too-long":
        derived = rebuilt(old, key=profile.key, store=InBlobs(f"{declared_set.table.lower()}-lists"))
        says = f"store each list of {old.name!r} in a blob"
        yield changes.put_derived(declared_set, derived, says, replaces=old.name)
    fields = [name for name in old.fields if name not in declared_set.key.partition_fields]
    if fields and not old.is_eventual:
        yield from _as_index(declared_set, old, fields, local=True)
    yield from _as_index(declared_set, old, old.fields, local=False)


def _rows_spread(target: Target, old: IndexEntity | Summary, key: Key) -> Change:
    """Return the change that spreads each list or total over rows, in a table of their own."""
    declared_set, placement = target.declared, old.placement
    writes = [write.access for write in target.context.writes_of(declared_set)]
    rows = rows_for(changes_of_busiest_row(declared_set, old, writes))
    words = "".join(word.capitalize() for word in re.findall("[A-Za-z0-9]+", old.name))
    where = (placement.name if isinstance(placement, InTable) else None) or f"{declared_set.table}{words}"[:_TABLE_NAME]
    # In tables for periods, the rows stay with the entities, so that they are dropped with them
    is_own = kind_of(declared_set).time_field(declared_set) is None
    if not is_own and key.partition_template == declared_set.key.partition_template:
        # Rows that are updated later are in partitions of their own
        key = Key(f"{words.lower()}_{key.partition_template}", key.row_template)
    derived = rebuilt(old, key=key, store=InTable(where if is_own else None), spread=rows)
    called = "list" if isinstance(old, IndexEntity) else "total"
    says = f"spread each {called} of {old.name!r} over {rows} rows{f' of the table {where}' if is_own else ''}"
    return changes.put_derived(declared_set, derived, says, replaces=old.name)


def _as_index(
    declared_set: DeclaredSet, old: Derived, fields: Sequence[str], order: str | None = None, *, local: bool
) -> Iterator[Change]:
    others = replace(declared_set, derived=tuple(derived for derived in declared_set.derived if derived is not old))
    query = Query("", dict.fromkeys(fields, "="), order=order)
    index = next(index_candidates(others, fields, query, local=local, name=old.name), None)
    if index is not None:
        where = "the partition" if local else "other partitions"
        says = f"use an index in {where} for {old.name!r}, {key_text(index.key)}"
        yield changes.put_derived(declared_set, index, says, replaces=old.name)


def _less_contended(target: Target) -> Iterator[Change]:
    via = _derived(target)
    profile = None if via is None else target.declared.profile(via)
    if isinstance(via, Summary) and profile is not None and profile.key and profile.spread == 1:
        yield _rows_spread(target, via, profile.key)
    yield from _list_elsewhere(target)


def _into_partition(target: Target) -> Iterator[Change]:
    """Yield indexes in the partition in place of those elsewhere, where each query knows the partition."""
    declared_set = target.declared
    queries = target.context.queries_of(declared_set)
    for derived, profile in declared_set.profiles():
        asked = [query for query in queries if query.derived is derived]
        names = profile.groups or (profile.layout.key.fields if profile.layout else ())
        fields = [name for name in names if name not in declared_set.key.fields]
        is_known = bool(asked) and all(knows_partition(query.of, query.access) for query in asked)
        if derived.is_eventual and profile.finder and is_known and fields and not declared_set.is_unique(derived):
            order = next((query.access.order for query in asked if query.access.order), None)
            yield from _as_index(declared_set, derived, fields, order, local=True)


def _fresh(target: Target) -> Iterator[Change]:
    query = target.asked
    if query is not None and query.access.region == "secondary":
        yield Change(target.declared.name, "read the primary region", access={query.access.name: {"region": "primary"}})
    yield from _into_partition(target)


def _with_all(target: Target) -> Iterator[Change]:
    via = target.asked.derived if target.asked else None
    if via is not None:
        yield from _rebuilt(target.declared, via, f"let {via.name!r} hold all properties", include=None)
        yield from _list_elsewhere(replace(target, part=via.name))


def _in_one_table(target: Target) -> Iterator[Change]:
    """Yield the table of a write for the set of the other write, if the same values are in the same partition."""
    one = target.declared
    for name in target.done.access.atomic_with if target.done else ():
        other_write = target.context.writer(name)
        if other_write is None or other_write.of.table.lower() == one.table.lower():
            continue
        key = other_write.of.key
        shares_tables = kind_of(one).shares_tables and kind_of(other_write.of).shares_tables
        if shares_tables and key.partition_template == one.key.partition_template:
            prefix = re.sub("[^a-z0-9]", "", other_write.of.shape.entity.lower())
            prefixed = Key(key.partition_template, f"{prefix}_{key.row_template}")
            there = _keys_in(target.context.design, one.table)
            for new_key in (key, prefixed):
                if not any(new_key.overlaps(other_key) for other_key in there):
                    says = f"store {other_write.of.name} in the table {one.table}, {key_text(new_key)}"
                    values = {"table": one.table, "key": new_key}
                    yield Change(other_write.of.name, says, "entity_group_transaction", values=values)


def _keys_in(design: Design, table: str) -> list[Key]:
    stored = [(of.table, of.key) for of in design.sets]
    for of in design.sets:
        stored += [(via.table(of.table), profile.table_key) for via, profile in of.profiles() if profile.table_key]
    return [key for name, key in stored if name.lower() == table.lower()]


def _fewer_parts(target: Target) -> Iterator[Change]:
    declared_set = target.declared
    for says, settings in kind_of(declared_set).fewer_parts(declared_set):
        yield Change(declared_set.name, says, declared_set.pattern, settings=settings)


RULES_WITH_CHANGES: Final[Mapping[str, Callable[[Target], Iterator[Change]]]] = {
    "missing-index": _missing_index,
    "client-sort": _sorted_index,
    "unused-index": _remove,
    "redundant-index": _remove,
    "second-read": _with_all,
    "needless-copies": _less_copied,
    "index-not-unique": _unique,
    "colliding-index-keys": _append_primary_key,
    "value-too-large": _in_blobs,
    "entity-too-large": _in_blobs,
    "too-many-properties": _wide,
    "secret-in-plain-text": _encrypted,
    "prepend-append": _spread,
    "one-partition": _spread,
    "few-partitions": _spread,
    "hot-partition": _spread,
    "large-partition": _divided,
    "needless-spread": _not_spread,
    "delete-by-entity": _by_period,
    "unpadded-key-field": _corrected,
    "field-in-both-keys": _corrected,
    "ambiguous-key": _corrected,
    "overlapping-keys": _corrected,
    "colliding-keys": _with_id,
    "narrow-number": _wider,
    "unsafe-key": _escaped_text,
    "count-by-reading": _count,
    "stale-read": _fresh,
    "lost-update": _conditional,
    "call-rejected": _conditional,
    "list-too-long": _list_elsewhere,
    "contention": _less_contended,
    "queue-target": _into_partition,
    "together-apart": _in_one_table,
    "asks-every-part": _fewer_parts,
    "text-order": _escaped_text,
}
