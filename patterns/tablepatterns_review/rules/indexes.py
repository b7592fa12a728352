"""Find indexes that are missing, unused or redundant, or that lack properties that queries need."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Iterator
from typing import Final

from tablepatterns.entity_set.derived import Derived, RowLayout
from tablepatterns.figures import number, often, size
from tablepatterns.key import Key
from tablepatterns.limits import KIB

from ..design.distribution import found_by, names_one, values_of
from ..design.key_parts import pieces_of
from ..design.model import DAY, DeclaredSet, Field, Query, Write
from ..design.writes import moves, touches
from ..plans.sizes import value_bytes
from ..result import Finding, Measured, Severity
from .context import RuleContext, is_read_one_by_one
from .keys import is_relation, pairs_alike
from .rule import RULES, entities, listed, part_of

_BUSY: Final = 1.0
_MANY: Final = 10_000
_LARGE: Final = KIB
_NEEDLESS: Final = 2**30
_GIVEN: Final = re.compile(r"phone|mobile|fax|tax|passport|card|licen[cs]e|plate|ssn|account|isbn|barcode|ean", re.I)
"""Names of numeric fields whose values come from outside the program."""
_CHOSEN: Final = re.compile(r"mail|phone|mobile|handle|user_?name|login|nick|slug|alias|domain|idempot", re.I)
"""Names of fields whose values persons or clients choose, so that two of them may choose the same."""


def find_problems(context: RuleContext) -> Iterator[Finding]:
    for declared_set in context.design.sets:
        yield from _find_needless_indexes(context, declared_set)
        for index, profile in declared_set.profiles():
            if profile.layout is not None:
                yield from _find_key_problems(declared_set, index, profile.layout.key)
                yield from _find_changing_keys(context, declared_set, index, profile.layout.key)
                yield from _find_needless_copies(context, declared_set, index, profile.layout)
    for query in context.queries:
        yield from _find_second_reads(query)


def _find_needless_indexes(context: RuleContext, declared_set: DeclaredSet) -> Iterator[Finding]:
    """Yield the indexes that sort like others, and the others that no query uses."""
    writes = [write.access for write in context.writes_of(declared_set)]
    rate, count = sum(write.rate for write in writes), entities(context.entities_then(declared_set))
    written = f"an extra row {often(rate)}" if rate else "an extra row with each write"
    is_costly = sum(write.busiest for write in writes) >= _BUSY or declared_set.shape.count >= _MANY
    severity = Severity.WARNING if is_costly else Severity.NOTE
    cost = f"it stores {count} by the end, and costs {written}"
    redundant = _redundant_indexes(context, declared_set)
    for name, other in redundant.items():
        words = {"index": repr(name), "other": repr(other.name) if other else "the entities themselves", "cost": cost}
        yield RULES["redundant-index"].finding(severity, part_of(declared_set.name, name), **words)
    used_names = {query.via for query in context.queries_of(declared_set)} | redundant.keys()
    for index, profile in declared_set.profiles():
        is_index = profile.finder in ("find", "find_all") and not declared_set.is_unique(index)
        if is_index and index.name not in used_names:
            subject, words = _words(declared_set, index)
            yield RULES["unused-index"].finding(severity, subject, cost=cost, **words)


def _words(declared_set: DeclaredSet, index: Derived) -> tuple[str, dict[str, str]]:
    return part_of(declared_set.name, index.name), {"index": repr(index.name), "set": declared_set.name}


def _redundant_indexes(context: RuleContext, declared_set: DeclaredSet) -> dict[str, Derived | None]:
    """Return the index that each redundant one sorts like, by its name; None if that is the primary key."""
    indexes = [(derived, profile.layout) for derived, profile in declared_set.profiles() if profile.layout is not None]
    rows: list[tuple[Derived | None, RowLayout]] = [(None, RowLayout(declared_set.key)), *indexes]
    same_order: dict[str, Derived | None] = {}
    for at, (index, layout) in enumerate(indexes):
        for before, (other, other_layout) in enumerate(rows, start=-1):
            if other is not index and _has_same_rows(layout, other_layout, is_first=before < at):
                same_order.setdefault(index.name, other)
    for index, layout in indexes:
        for other, other_layout in rows:
            is_kept = other is None or other.name not in same_order
            if other is not index and is_kept and _is_beginning(context, declared_set, index, layout, other_layout):
                same_order.setdefault(index.name, other)
    return same_order


def _has_same_rows(layout: RowLayout, other: RowLayout, *, is_first: bool) -> bool:
    """Whether other rows have the order of these rows, and all their properties."""
    order, other_order = _order(layout.key), _order(other.key)
    partition, row = other_order
    is_other_order = order[0] != partition or order[1][: len(row)] != row or not row
    if is_other_order or (order == other_order and not is_first):
        return False
    return other.include is None or (
        layout.include is not None and layout.include <= other.include | set(other.key.fields)
    )


def _is_beginning(
    context: RuleContext, declared_set: DeclaredSet, index: Derived, layout: RowLayout, other: RowLayout
) -> bool:
    """Whether an index sorts by the leading fields of other rows, which can then answer its queries."""
    order, other_order = _order(layout.key), _order(other.key)
    # Fields of the primary key at the end of the index only make its keys unique, unless a query uses them
    shape, row = declared_set.shape, list(order[1])
    while row and row[-1][0] in declared_set.key.row_fields:
        row.pop()
    last = {name for name, _ in order[1][len(row) :]}
    queries = [query.access for query in context.queries_of(declared_set) if query.via == index.name]
    if any((query.order or "").lstrip("-") in last or last & query.known.keys() for query in queries):
        return False
    begins = bool(row) and other_order[1][: len(row)] == row
    is_longer = len(other_order[1]) > len(order[1])
    holds = other.include is None or (layout.include is not None and layout.include <= other.include)
    return order[0] == other_order[0] and begins and is_longer and holds and not names_one(shape, [row[-1][0]])


def _order(key: Key) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the fields of each key with their formats, without `escape`, which does not change the order."""
    partition, row = (
        [(piece.name, piece.spec.removeprefix("escape")) for piece in pieces_of(template) if piece.name]
        for template in (key.partition_template, key.row_template)
    )
    return partition, row


def _find_key_problems(declared_set: DeclaredSet, index: Derived, key: Key) -> Iterator[Finding]:
    names, shape = key.fields, declared_set.shape
    if set(declared_set.key.fields) <= set(names):
        return
    own_names = [name for name in names if names_one(shape, [name])]
    # A field that is numbered within another field of the key makes keys unique, too
    is_own = bool(own_names) or names_one(shape, names)
    combinations = math.prod(values_of(shape, name).count for name in names)
    subject, words = _words(declared_set, index)
    is_own = is_own or is_relation(shape, names)
    if not set(names).issubset({*declared_set.key.fields, *own_names}):
        # After other fields, one of the primary key only tells apart the entities that agree in them
        own_names = [name for name in own_names if name not in declared_set.key.fields]
    if not is_own and (combinations < 2 * shape.count or pairs_alike(shape, names) >= 1):
        loss = "the second entity with a key has no copy" if index.is_eventual else "its second insert is rejected"
        words |= {"keys": number(combinations), "names": listed(names), "entities": entities(shape.count), "loss": loss}
        rest = listed([name for name in declared_set.key.fields if name not in names])
        yield RULES["colliding-index-keys"].finding(Severity.SERIOUS, subject, rest=rest, **words)
    elif index.is_eventual and not declared_set.is_unique(index) and _is_given(declared_set, own_names):
        severity = Severity.WARNING if any(map(_CHOSEN.search, own_names)) else Severity.NOTE
        yield RULES["index-not-unique"].finding(severity, subject, names=listed(own_names), **words)


def _find_changing_keys(context: RuleContext, declared_set: DeclaredSet, index: Derived, key: Key) -> Iterator[Finding]:
    """Yield a finding if more rows of an index move than are found by it; one that is never read is unused."""
    writes = [write for write in context.writes_of(declared_set) if moves(declared_set, index, write.access)]
    reads = sum(query.access.rate for query in context.queries_of(declared_set) if query.derived is index)
    rate = sum(write.access.rate for write in writes)
    severity = RULES["index-key-changes"].severity_of(rate)
    if severity is None or not 0 < reads < rate:
        return
    # In the partition, it takes no further request
    severity = severity if index.is_eventual else Severity.NOTE
    subject, words = _words(declared_set, index)
    most = max(writes, key=lambda write: write.access.rate)
    names = listed([name for name in key.fields if name in (most.access.changes or key.fields)])
    words |= {"access": repr(most.access.name), "names": names, "rate": often(rate), "reads": often(reads)}
    yield RULES["index-key-changes"].finding(severity, subject, **words)


def needed_of(context: RuleContext, declared_set: DeclaredSet, index: Derived) -> set[str] | None:
    """Return the properties that the queries of an index read; None if it has none, or one reads all."""
    queries = [query.access for query in context.queries_of(declared_set) if query.derived is index]
    if not queries or not all(query.select for query in queries):
        return None
    return {name for query in queries for name in (*query.select, *query.known, (query.order or "").lstrip("-"))}


def _find_needless_copies(
    context: RuleContext, declared_set: DeclaredSet, index: Derived, layout: RowLayout
) -> Iterator[Finding]:
    query_fields, fields = needed_of(context, declared_set, index), declared_set.shape.fields
    if query_fields is None:
        return
    row_fields = fields.keys() - declared_set.in_blobs() if layout.include is None else layout.include
    needless = (fields.keys() & row_fields) - query_fields - {*layout.key.fields}
    sizes = {name: value_bytes(field) for name, field in fields.items() if name in needless}
    names = [name for name, value_size in sizes.items() if value_size >= _LARGE]
    writes = [write.access for write in context.writes_of(declared_set) if touches(declared_set, index, write.access)]
    if not names:
        yield from _find_changing_copies(declared_set, index, needless, writes)
        return
    per_row = sum(sizes[name] for name in names)
    total = per_row * context.entities_then(declared_set)
    is_costly = total >= _NEEDLESS or sum(write.rate for write in writes) * DAY >= _MANY
    subject, words = _words(declared_set, index)
    words |= {"names": listed(names), "bytes": size(per_row), "all": size(total)}
    yield RULES["needless-copies"].finding(
        Severity.WARNING if is_costly else Severity.NOTE, subject, fields=names, **words
    )


def _find_changing_copies(
    declared_set: DeclaredSet, index: Derived, needless: Collection[str], writes: Iterable[Write]
) -> Iterator[Finding]:
    """Yield a finding if an index changes often only because of copies that none of its queries reads."""
    updates = [write for write in writes if write.operation == "update" and write.changes]
    updates = [write for write in updates if set(write.changes).issubset(needless)]
    rate = sum(write.rate for write in updates)
    if rate >= RULES["needless-copies"].figures["changed" if index.is_eventual else "here"]:
        names = [name for name in declared_set.shape.fields if any(name in write.changes for write in updates)]
        says = (
            f"{index.name!r} copies {listed(names)} of {declared_set.name}, which none of its queries reads, but which "
            f"changes {often(rate)}: each change also writes the index."
        )
        subject, _ = _words(declared_set, index)
        yield RULES["needless-copies"].finding(Severity.WARNING, subject, says, fields=names)


def _is_given(declared_set: DeclaredSet, own_names: list[str]) -> bool:
    """Whether the values come from outside the program, like an e-mail address, and are not generated, like a GUID."""
    fields = [(name, declared_set.shape.fields.get(name, Field())) for name in own_names]
    return bool(own_names) and all(
        field.order == "none" and (field.type == "string" or (field.type in ("int32", "int64") and _GIVEN.search(name)))
        for name, field in fields
    )


def _find_second_reads(query: Measured[Query]) -> Iterator[Finding]:
    via = query.derived
    if via is None:
        return
    profile, returned = query.of.profile(via), query.returned
    if profile.layout is not None:
        # The rows of the index are measured, too
        returned = min(returned, found_by(query.of.shape, query.access))
    more = returned * query.access.busiest
    pattern = "inter_partition_index" if via.is_eventual else "intra_partition_index"
    if is_read_one_by_one(query):
        says = (
            f"{query.access.name!r} reads a list and then {entities(returned)} one by one, "
            f"{often(query.access.busiest)}: {number(more)} reads a second."
        )
        better = "Use an index ordered by the value and the key instead: one range query reads them all."
        yield RULES["second-read"].finding(Severity.WARNING, query, says, better, pattern=pattern)
    if profile.layout is not None and (missing := _missing(query, profile.layout)):
        severity = RULES["second-read"].severity_of(more) or Severity.NOTE
        words = {"index": repr(via.name), "missing": listed(missing), "more": number(more)}
        yield RULES["second-read"].finding(severity, query, pattern=pattern, fields=missing, **words)


def _missing(query: Measured[Query], layout: RowLayout) -> list[str]:
    if layout.include is None or query.access.count_only:
        return []
    row_fields = {*layout.include, *layout.key.fields, *query.of.key.fields}
    return [name for name in query.access.select or query.of.shape.fields if name not in row_fields]
