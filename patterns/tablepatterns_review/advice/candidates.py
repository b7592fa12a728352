"""The changes that may remove a finding, the usual one first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from tablepatterns.entity_set.derived import Derived
from tablepatterns.errors import BadInput
from tablepatterns.figures import number
from tablepatterns.key import Key
from tablepatterns.recipes.index_entities import IndexEntity
from tablepatterns.recipes.summary import Summary

from ..design.model import DAY, YEAR, DeclaredSet, Design, Field, Query
from ..key_parts import Piece, pieces_of
from ..kinds import kind_of
from ..model import Finding
from ..planner import index_candidates, is_in_order, spelled, ways
from ..rules.context import MeasuredQuery, MeasuredWrite, RuleContext, partition_known
from ..rules.hot_partitions import changes_of_busiest_entity, changes_of_busiest_row, rows_for
from ..rules.limits import large_fields
from . import changes
from .changes import Change
from .logs import RULES_OF_LOGS, to_blob_log

_MOST_TABLES: Final = 100


@dataclass(frozen=True)
class Target:
    """What a finding is about.

    :param part: what follows the set's name in its subject: an access pattern, or derived data
    """

    context: RuleContext
    finding: Finding
    declared: DeclaredSet
    part: str

    @property
    def asked(self) -> MeasuredQuery | None:
        """The query that the finding is about."""
        return next((query for query in self.context.queries_of(self.declared) if query.query.name == self.part), None)

    @property
    def done(self) -> MeasuredWrite | None:
        """The write that the finding is about."""
        return next((write for write in self.context.writes_of(self.declared) if write.write.name == self.part), None)


def candidates(context: RuleContext, finding: Finding) -> Iterator[Change]:
    """Yield the changes that may remove a finding; those that the recipes reject are left out."""
    name, _, part = finding.subject.partition(": ")
    make = RULES_WITH_CHANGES.get(finding.rule)
    for log in context.design.logs:
        if finding.rule in RULES_OF_LOGS and name == log.name:
            yield from RULES_OF_LOGS[finding.rule](log)
            return
    for declared_set in context.design.sets:
        if make is not None and name in (declared_set.name, declared_set.table):
            with suppress(BadInput):
                yield from make(Target(context, finding, declared_set, part))
            return


def _missing_index(target: Target) -> Iterator[Change]:
    """Yield the indexes that answer a query by a point or range query."""
    if target.asked is not None:
        for way in ways(target.declared, target.asked.query):
            if way.declare is not None:
                yield changes.add_index(target.declared, way.declare)


def _sorted_index(target: Target) -> Iterator[Change]:
    query, declared_set = target.asked, target.declared
    if query is None:
        return
    name = (query.query.order or "").removeprefix("-")
    key = declared_set.key
    inverted = Key(key.partition_template, key.row_template.replace(f"{{{name}:ticks}}", f"{{{name}:inverted}}"))
    is_reversed = inverted != key and is_in_order(inverted, query.known, query.query.order or "")
    if is_reversed and partition_known(query) and kind_of(declared_set).shares_tables:
        yield changes.change_key(declared_set, inverted, f"use the RowKey {inverted.row_template}")
    yield from _missing_index(target)


def _remove(target: Target) -> Iterator[Change]:
    yield changes.remove_derived(target.declared, target.part)


def _whole_rows(target: Target) -> Iterator[Change]:
    via = target.asked.via if target.asked else None
    layout = target.declared.profile(via).layout if via else None
    if via is not None and layout is not None:
        unique = target.declared.is_unique(via)
        says = f"let {via.name!r} hold all properties"
        yield changes.change_index(target.declared, via.name, layout.key, unique=unique, says=says)


def _unique(target: Target) -> Iterator[Change]:
    layout = _layout_key(target)
    if layout is not None:
        says = f"make {target.part!r} unique"
        yield changes.change_index(target.declared, target.part, layout, unique=True, says=says)


def _layout_key(target: Target) -> Key | None:
    found = (profile.layout for derived, profile in target.declared.profiles() if derived.name == target.part)
    layout = next(found, None)
    return None if layout is None else layout.key


def _append_primary_key(target: Target) -> Iterator[Change]:
    key = _layout_key(target)
    if key is None:
        return
    declared_set = target.declared
    primary = [*_pieces(declared_set.key.partition_template), *_pieces(declared_set.key.row_template)]
    rest = "".join(f"_{spelled(piece.name, piece.spec)}" for piece in primary if piece.name not in key.fields)
    own = _escaped(key.row_template)
    unique = False
    says = f"append the primary key to the RowKey of {target.part!r}"
    yield changes.change_index(
        declared_set, target.part, Key(key.partition_template, own + rest), unique=unique, says=says
    )


def _pieces(template: str) -> list[Piece]:
    return [piece for piece in pieces_of(template) if piece.name]


def _escaped(template: str) -> str:
    """Return a template whose last text may be followed by another field."""
    pieces = pieces_of(template)
    last = pieces[-1]
    if last.name and not last.spec and last.width is None:
        return template[: template.rindex("{")] + f"{{{last.name}:escape}}"
    return template


def _in_blobs(target: Target) -> Iterator[Change]:
    large = large_fields(target.declared)
    if large and not target.declared.in_blobs():
        yield changes.in_blobs(target.declared, large)


def _encrypted(target: Target) -> Iterator[Change]:
    fields = target.declared.shape.fields.items()
    hidden = {name for mapping in target.declared.mappings if mapping.keeps_secret for name in mapping.fields}
    plain = [name for name, field in fields if field.secret and name not in hidden]
    if not hidden:
        yield changes.encrypted(target.declared, [name for name in plain if name not in target.declared.key.fields])


def _spread(target: Target) -> Iterator[Change]:
    heat = next((table_load for table_load in target.context.heats if table_load.table == target.declared.table), None)
    if kind_of(target.declared).shares_tables and heat is not None and heat.buckets > 1:
        yield changes.spread(target.declared, heat.buckets)


def _not_spread(target: Target) -> Iterator[Change]:
    yield changes.not_spread(target.declared)


def _by_period(target: Target) -> Iterator[Change]:
    declared_set = target.declared
    moments = [name for name, field in declared_set.shape.fields.items() if field.type == "datetime"]
    at = next((name for name in moments if declared_set.shape.fields[name].order == "rising"), None)
    if at is None or declared_set.retention is None or not kind_of(declared_set).shares_tables:
        return
    days = declared_set.retention.days
    period = "day" if days <= _MOST_TABLES else "week" if days <= 7 * _MOST_TABLES else "month"
    yield changes.by_period(declared_set, at, period)


def _wide(target: Target) -> Iterator[Change]:
    declared_set = target.declared
    if kind_of(declared_set).shares_tables and not declared_set.derived and not declared_set.mappings:
        yield changes.wide(declared_set)


def _corrected(target: Target) -> Iterator[Change]:
    """Yield the key as the review has corrected it."""
    declared_set = target.declared
    if target.part:
        key = _layout_key(target)
        if key is not None:
            unique = any(
                declared_set.is_unique(derived) for derived in declared_set.derived if derived.name == target.part
            )
            change = changes.change_index(
                declared_set,
                target.part,
                key,
                unique=unique,
                says=f"use the RowKey {key.row_template} for {target.part!r}",
            )
            yield replace(change, corrects=target.finding.subject)
        return
    says = f"use the key ({declared_set.key.partition_template}, {declared_set.key.row_template})"
    yield changes.change_key(declared_set, declared_set.key, says, corrects=declared_set.name)


def _with_id(target: Target) -> Iterator[Change]:
    declared_set = target.declared
    name = f"{declared_set.shape.entity}Id" if declared_set.shape.entity.isidentifier() else "EntityId"
    if name in declared_set.shape.fields or not kind_of(declared_set).shares_tables:
        return
    key = Key(declared_set.key.partition_template, f"{_escaped(declared_set.key.row_template)}_{{{name}:uuid}}")
    says = f"append an id to the RowKey, {key.row_template}"
    yield changes.change_key(declared_set, key, says, fields={name: Field("guid")}, corrects=declared_set.name)


def _wider(target: Target) -> Iterator[Change]:
    declared_set = target.declared
    (name,) = target.finding.fields
    wide = next((word for word in target.finding.better.split() if word.startswith(f"{{{name}:")), None)
    if wide is None or not kind_of(declared_set).shares_tables:
        return
    first, second = (
        "".join(
            piece.literal
            + (wide.rstrip(";") if piece.name == name else spelled(piece.name, piece.spec) if piece.name else "")
            for piece in pieces_of(half)
        )
        for half in (declared_set.key.partition_template, declared_set.key.row_template)
    )
    yield changes.change_key(declared_set, Key(first, second), f"use the key ({first}, {second})")


def _escaped_text(target: Target) -> Iterator[Change]:
    declared_set = target.declared
    name = next((field_name for field_name in target.finding.fields if field_name in declared_set.key.fields), None)
    if name is None or not kind_of(declared_set).shares_tables:
        return
    first, second = (
        half.replace(f"{{{name}}}", f"{{{name}:escape}}")
        for half in (declared_set.key.partition_template, declared_set.key.row_template)
    )
    yield changes.change_key(declared_set, Key(first, second), f"use the key ({first}, {second})")


def _count(target: Target) -> Iterator[Change]:
    query = target.asked
    if query is None or query.query.filter is not None or not kind_of(target.declared).shares_tables:
        return
    partition = target.declared.key.partition_template
    fields = [name for name in query.query.known if name not in target.declared.key.partition_fields]
    if fields or not partition_known(query):
        return
    yield changes.add_count(target.declared, Key(partition, "total"), f"count of {target.declared.name.lower()}")


def _primary_region(target: Target) -> Iterator[Change]:
    query = target.asked
    if query is not None and query.query.region == "secondary":
        yield changes.change_access(target.declared, query.query, "read the primary region", region="primary")


def _conditional(target: Target) -> Iterator[Change]:
    write = target.done
    if write is not None:
        says = f"write {write.write.name!r} on condition of the ETag"
        yield changes.change_access(target.declared, write.write, says, overwrite=False)


def _blob_log(target: Target) -> Iterator[Change]:
    yield from to_blob_log(target.declared, target.context.design)


def _not_by_time(target: Target) -> Iterator[Change]:
    if target.finding.pattern == "blob_log":
        yield from _blob_log(target)
    yield from _spread(target)


def _list_elsewhere(target: Target) -> Iterator[Change]:
    """Yield what keeps a long or busy list short: blobs, several rows, or an index with a copy of each entity."""
    found = next((pair for pair in target.declared.profiles() if pair[0].name == target.part), None)
    if found is None or not isinstance(found[0], IndexEntity) or found[1].key is None or found[1].spread > 1:
        return
    old, key = found[0], found[1].key
    if target.finding.rule == "contention":
        yield changes.rows_spread(target.declared, old, key, _rows_for(target, old))
    elif target.finding.rule == "list-too-long":
        yield changes.list_in_blobs(target.declared, old, key)
    fields = [name for name in old.fields if name not in target.declared.key.partition_fields]
    if fields and not old.is_eventual:
        yield from _as_index(target.declared, old, fields, local=True)
    yield from _as_index(target.declared, old, old.fields, local=False)


def _as_index(
    declared_set: DeclaredSet, old: Derived, fields: Sequence[str], order: str | None = None, *, local: bool
) -> Iterator[Change]:
    """Yield an index by some fields in place of other derived data."""
    others = replace(declared_set, derived=tuple(each for each in declared_set.derived if each is not old))
    index = next(index_candidates(others, fields, Query("", order=order), local=local), None)
    if index is not None:
        yield changes.as_index(declared_set, old.name, index.key)


def _less_contended(target: Target) -> Iterator[Change]:
    if target.done is not None:
        yield from _split(target, target.done)
        return
    for derived, profile in target.declared.profiles():
        if derived.name == target.part and isinstance(derived, Summary) and profile.key and profile.spread == 1:
            yield changes.rows_spread(target.declared, derived, profile.key, _rows_for(target, derived))
    yield from _list_elsewhere(target)


def _rows_for(target: Target, derived: Derived) -> int:
    writes = [write.write for write in target.context.writes_of(target.declared)]
    return rows_for(changes_of_busiest_row(target.declared, derived, writes))


def _split(target: Target, write: MeasuredWrite) -> Iterator[Change]:
    """Yield entities of several rows, if all that is written to them is added to numbers."""
    declared_set = target.declared
    numbers = [name for name, field in declared_set.shape.fields.items() if field.type in ("int32", "int64", "double")]
    writes = [write.write for write in target.context.writes_of(declared_set)]
    is_added = all(
        write.operation == "update" and write.changes and set(write.changes) <= set(numbers) for write in writes
    )
    is_plain = kind_of(declared_set).shares_tables and not declared_set.derived and not declared_set.mappings
    if is_added and is_plain and "Part" not in declared_set.shape.fields:
        yield changes.split_entities(
            declared_set, rows_for(changes_of_busiest_entity(declared_set, write.write)), "Part"
        )


def _into_partition(target: Target) -> Iterator[Change]:
    """Yield indexes in the partition in place of those elsewhere, where each query knows the partition."""
    declared_set = target.declared
    queries = target.context.queries_of(declared_set)
    for derived, profile in declared_set.profiles():
        asked = [query for query in queries if query.via is derived]
        names = profile.groups or (profile.layout.key.fields if profile.layout else ())
        fields = [name for name in names if name not in declared_set.key.fields]
        is_known = bool(asked) and all(partition_known(query) for query in asked)
        if derived.is_eventual and profile.finder and is_known and fields and not declared_set.is_unique(derived):
            order = next((query.query.order for query in asked if query.query.order), None)
            yield from _as_index(declared_set, derived, fields, order, local=True)


def _fresh(target: Target) -> Iterator[Change]:
    yield from _primary_region(target)
    yield from _into_partition(target)


def _with_all(target: Target) -> Iterator[Change]:
    via = target.asked.via if target.asked else None
    yield from _whole_rows(target)
    if via is not None:
        yield from _list_elsewhere(replace(target, part=via.name))


def _as_written(target: Target) -> Iterator[Change]:
    """Yield the growth that the writes lead to, or the rates that lead to the growth."""
    declared_set, context = target.declared, target.context
    writes = [write.write for write in context.writes_of(declared_set)]
    inserted, deleted = (sum(write.rate for write in writes if write.operation == how) for how in ("insert", "delete"))
    if declared_set.retention is not None:
        count = round(inserted * DAY * declared_set.retention.days)
        yield changes.change_figures(
            declared_set, f"declare a count of {number(count)}, as many as are kept", count=count
        )
        return
    added = max(0, round((inserted - deleted) * YEAR))
    yield changes.change_figures(declared_set, f"declare a growth of {number(added)}, as the writes add", growth=added)
    inserts = [write for write in writes if write.operation == "insert"]
    if len(inserts) == 1:
        rate = float(f"{declared_set.shape.growth / YEAR + deleted:.3g}")
        says = f"declare a rate of {number(rate)} for {inserts[0].name!r}, which leads to the growth"
        peak = max(rate, inserts[0].busiest)
        yield changes.change_access(declared_set, inserts[0], says, rate=rate, peak=peak)


def _in_one_table(target: Target) -> Iterator[Change]:
    """Yield the table of a write for the set of the other write, if the same values are in the same partition."""
    write = target.done
    for name in write.write.atomic_with if write else ():
        other_write = target.context.writer(name)
        if write is None or other_write is None or other_write.of.table.lower() == write.of.table.lower():
            continue
        one, key = write.of, other_write.of.key
        if (
            all(kind_of(declared_set).shares_tables for declared_set in (one, other_write.of))
            and key.partition_template == one.key.partition_template
        ):
            prefix = re.sub("[^a-z0-9]", "", other_write.of.shape.entity.lower())
            prefixed = Key(key.partition_template, f"{prefix}_{key.row_template}")
            there = _keys_in(target.context.design, one.table)
            free = (key for key in (key, prefixed) if not any(key.overlaps(taken) for taken in there))
            yield from (changes.into_table(other_write.of, one.table, key) for key in free)


def _keys_in(design: Design, table: str) -> list[Key]:
    """Return the keys of all rows in a table."""
    keys = [declared_set.key for declared_set in design.sets if declared_set.table.lower() == table.lower()]
    for declared_set in design.sets:
        for derived, profile in declared_set.profiles():
            if profile.table_key is not None and derived.table(declared_set.table).lower() == table.lower():
                keys.append(profile.table_key)
    return keys


def _fewer_parts(target: Target) -> Iterator[Change]:
    """Yield longer periods, or fewer buckets."""
    declared_set = target.declared
    for says, settings in kind_of(declared_set).fewer_parts(declared_set):
        yield changes.change_settings(declared_set, says, **settings)


def _sorted_text(target: Target) -> Iterator[Change]:
    """Yield the key in which a range of texts is a range of rows."""
    if ":escape}" in target.finding.better:
        yield from _escaped_text(target)


Maker: TypeAlias = Callable[[Target], Iterator[Change]]
RULES_WITH_CHANGES: Final[Mapping[str, Maker]] = {
    "missing-index": _missing_index,
    "client-sort": _sorted_index,
    "log-data": _blob_log,
    "unused-index": _remove,
    "redundant-index": _remove,
    "second-read": _with_all,
    "index-not-unique": _unique,
    "colliding-index-keys": _append_primary_key,
    "value-too-large": _in_blobs,
    "entity-too-large": _in_blobs,
    "too-many-properties": _wide,
    "secret-in-plain-text": _encrypted,
    "prepend-append": _not_by_time,
    "one-partition": _spread,
    "few-partitions": _spread,
    "hot-partition": _spread,
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
    "list-too-long": _list_elsewhere,
    "contention": _less_contended,
    "queue-target": _into_partition,
    "growth-mismatch": _as_written,
    "together-apart": _in_one_table,
    "asks-every-part": _fewer_parts,
    "text-order": _sorted_text,
}
