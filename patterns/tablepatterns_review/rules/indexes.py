"""Find indexes that are missing, unused or redundant, or that lack properties that queries need."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from tablepatterns.entity_set.derived import Derived, RowLayout
from tablepatterns.figures import number, often, size
from tablepatterns.key import Key

from ..capacity.sizes import primary_sizes
from ..design.model import DeclaredSet, Field
from ..key_parts import pieces_of
from ..measure.sample import found_by, names_one, values_of
from ..model import Finding, Severity
from .context import MeasuredQuery, RuleContext
from .keys import pairs_alike
from .rule import Rule, entities, listed, part_of

_BUSY: Final = 1.0
_MANY: Final = 10_000
_READS_AGAIN: Final = 10.0
_LISTED: Final = 100.0
_COSTS: Final = f"a warning from {number(_BUSY)} write a second or {number(_MANY)} rows, otherwise a note"
UNUSED_INDEX: Final = Rule(
    name="unused-index",
    finds="no declared query uses the index",
    severity=_COSTS,
    why="Only add indexes for queries that the application runs.",
    guide="Intra-partition secondary index pattern; inter-partition secondary index pattern",
    about="index",
)
REDUNDANT_INDEX: Final = Rule(
    name="redundant-index",
    finds="an index sorts like another index, or like the entities themselves",
    severity=_COSTS,
    why="Each index is written with every change, and billed for its capacity.",
    guide="Intra-partition secondary index pattern; inter-partition secondary index pattern",
    about="index",
)
SECOND_READ: Final = Rule(
    name="second-read",
    finds="an index lacks properties that a query needs, so each entity is read again",
    severity=(
        f"a warning from {number(_READS_AGAIN)} extra reads a second, for lists from {number(_LISTED)}; otherwise, "
        "for copies, a note"
    ),
    why="A copy that answers a query on its own is better than a small index row that needs a second read.",
    guide="Intra-partition secondary index pattern; inter-partition secondary index pattern",
    pattern="intra_partition_index",
    about="query",
)
INDEX_NOT_UNIQUE: Final = Rule(
    name="index-not-unique",
    finds="an index expects unique values, but does not enforce them",
    severity="a warning",
    why="If two entities have the same index key, the first keeps the copy and the second is not found.",
    guide="Inter-partition secondary index pattern (the RowKey must be unique)",
    pattern="inter_partition_index",
    about="index",
)
COLLIDING_INDEX_KEYS: Final = Rule(
    name="colliding-index-keys",
    finds="several entities can have the same index key",
    severity="serious",
    why="The key of a row must be unique: a second insert is rejected, or the second entity has no copy.",
    guide="Intra-partition secondary index pattern (the RowKey must be unique; compound keys)",
    pattern="compound_key",
    about="index",
)


def find_problems(context: RuleContext) -> Iterator[Finding]:
    """Yield findings about the indexes of each set."""
    for declared_set in context.design.sets:
        redundant = dict(_redundant(context, declared_set))
        yield from redundant.values()
        yield from (finding for name, finding in _unused(context, declared_set) if name not in redundant)
        for index, profile in declared_set.profiles():
            if profile.layout is not None:
                yield from _keys_of(declared_set, index, profile.layout.key)
    for query in context.queries():
        yield from _second_read(query)


def _weight(context: RuleContext, declared_set: DeclaredSet) -> Severity:
    writes = sum(write.write.busiest for write in context.writes_of(declared_set))
    return Severity.WARNING if writes >= _BUSY or declared_set.shape.count >= _MANY else Severity.NOTE


def _cost(context: RuleContext, declared_set: DeclaredSet) -> str:
    return (
        f"it stores {entities(context.entities_then(declared_set))} by the end, and costs "
        f"{_written(context, declared_set)}"
    )


def _written(context: RuleContext, declared_set: DeclaredSet) -> str:
    rate = sum(write.write.rate for write in context.writes_of(declared_set))
    return f"an extra row {often(rate)}" if rate else "an extra row with each write"


def _unused(context: RuleContext, declared_set: DeclaredSet) -> Iterator[tuple[str, Finding]]:
    used_names = {query.measured.via for query in context.queries_of(declared_set)}
    for index, profile in declared_set.profiles():
        if profile.finder not in ("find", "find_all") or index.name in used_names or declared_set.is_unique(index):
            continue
        says = f"No query of {declared_set.name} uses {index.name!r}: {_cost(context, declared_set)}."
        better = "Remove it, or declare the query that needs it; an index can be added later (backfill)."
        yield (
            index.name,
            UNUSED_INDEX.finding(_weight(context, declared_set), part_of(declared_set.name, index.name), says, better),
        )


def _redundant(context: RuleContext, declared_set: DeclaredSet) -> Iterator[tuple[str, Finding]]:
    indexes = [(derived, profile.layout) for derived, profile in declared_set.profiles() if profile.layout is not None]
    rows: list[tuple[Derived | None, RowLayout]] = [(None, RowLayout(declared_set.key)), *indexes]
    found: dict[str, Derived | None] = {}
    for at, (index, layout) in enumerate(indexes):
        for before, (other_derived, others) in enumerate(rows, start=-1):
            if other_derived is not index and _says_the_same(
                layout, others, is_first=before < at or other_derived is None
            ):
                found.setdefault(index.name, other_derived)
    for index, _ in indexes:
        for other_derived, others in rows:
            is_kept = other_derived is None or other_derived.name not in found
            if other_derived is not index and is_kept and _is_beginning(context, declared_set, index, others):
                found.setdefault(index.name, other_derived)
    for name, other_derived in found.items():
        whose = f"{other_derived.name!r}" if other_derived else "the entities themselves"
        says = f"{name!r} sorts like {whose}: {_cost(context, declared_set)}."
        better, subject = f"Remove it, and query {whose}.", part_of(declared_set.name, name)
        yield name, REDUNDANT_INDEX.finding(_weight(context, declared_set), subject, says, better)


def _says_the_same(row_layout: RowLayout, other_row_layout: RowLayout, *, is_first: bool) -> bool:
    """Whether other rows have the order of these rows, and all their properties."""
    wanted, order = _order(row_layout.key), _order(other_row_layout.key)
    if wanted[0] != order[0] or wanted[1][: len(order[1])] != order[1] or not order[1]:
        return False
    if wanted == order and not is_first:
        return False
    return other_row_layout.include is None or (
        row_layout.include is not None
        and row_layout.include <= other_row_layout.include | set(other_row_layout.key.fields)
    )


def _is_beginning(context: RuleContext, declared_set: DeclaredSet, index: Derived, other_row_layout: RowLayout) -> bool:
    """Whether an index sorts by the leading fields of other rows, which can then answer its queries.

    Fields of the primary key at the end of the index only make its keys unique, unless a query uses them.
    """
    layout = declared_set.profile(index).layout
    if layout is None:
        return False
    wanted, order = _order(layout.key), _order(other_row_layout.key)
    row = list(wanted[1])
    while row and row[-1][0] in declared_set.key.row_fields:
        row.pop()
    last = {name for name, _ in wanted[1][len(row) :]}
    used = [query.query for query in context.queries_of(declared_set) if query.measured.via == index.name]
    if any((query.order or "").lstrip("-") in last or last & query.known.keys() for query in used):
        return False
    begins = bool(row) and [_plain(each) for each in order[1][: len(row)]] == [_plain(each) for each in row]
    is_longer = len(order[1]) > len(wanted[1])
    holds = other_row_layout.include is None or (
        layout.include is not None and layout.include <= other_row_layout.include
    )
    return wanted[0] == order[0] and begins and is_longer and holds and not names_one(declared_set.shape, [row[-1][0]])


def _plain(field: tuple[str, str]) -> tuple[str, str]:
    """Return a key field without the format `escape`, which does not change the order."""
    return (field[0], "" if field[1] == "escape" else field[1])


def _order(key: Key) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Return the fields of PartitionKey and RowKey with their formats."""
    halves = [
        [(piece.name, piece.spec) for piece in pieces_of(template) if piece.name]
        for template in (key.partition_template, key.row_template)
    ]
    return halves[0], halves[1]


def _keys_of(declared_set: DeclaredSet, index: Derived, key: Key) -> Iterator[Finding]:
    names = key.fields
    if set(declared_set.key.fields) <= set(names):
        return
    own_names = [name for name in names if names_one(declared_set.shape, [name])]
    # A field that is numbered within another field of the key makes keys unique, too
    is_own = bool(own_names) or names_one(declared_set.shape, names)
    are_few = _combinations(declared_set, names) < 2 * declared_set.shape.count
    if not is_own and (are_few or pairs_alike(declared_set.shape, names) >= 1):
        yield _colliding(declared_set, index, names)
    elif index.is_eventual and not declared_set.is_unique(index) and _is_given(declared_set, own_names):
        says = (
            f"{index.name!r} finds {declared_set.name} by {listed(own_names)}, but does not enforce that it is unique."
        )
        better = (
            "Declare the index with unique=True: a duplicate is rejected, at the cost of 1 more "
            "transaction for a new value."
        )
        yield INDEX_NOT_UNIQUE.finding(Severity.WARNING, part_of(declared_set.name, index.name), says, better)


def _combinations(declared_set: DeclaredSet, names: tuple[str, ...]) -> float:
    found = 1.0
    for name in names:
        found *= values_of(declared_set.shape, name).count
    return found


def _is_given(declared_set: DeclaredSet, own_names: list[str]) -> bool:
    """Whether the values come from outside the program, like an e-mail address, and are not generated, like a GUID."""
    fields = [(name, declared_set.shape.fields.get(name, Field())) for name in own_names]
    return bool(own_names) and all(
        field.order == "none" and (field.type == "string" or (field.type in ("int32", "int64") and _GIVEN.search(name)))
        for name, field in fields
    )


_GIVEN: Final = re.compile(r"phone|mobile|fax|tax|passport|card|licen[cs]e|plate|ssn|account|isbn|barcode|ean", re.I)
"""Names of numeric fields whose values come from outside the program."""


def _colliding(declared_set: DeclaredSet, index: Derived, names: tuple[str, ...]) -> Finding:
    count = number(_combinations(declared_set, names))
    loss = "the second entity with a key has no copy" if index.is_eventual else "its second insert is rejected"
    says = (
        f"{index.name!r} has {count} keys, of {listed(list(names))}, for {entities(declared_set.shape.count)}: {loss}."
    )
    remaining_names = [name for name in declared_set.key.fields if name not in names]
    better = f"Append {listed(remaining_names)} to the RowKey of the index, so that each entity has its own key."
    return COLLIDING_INDEX_KEYS.finding(Severity.SERIOUS, part_of(declared_set.name, index.name), says, better)


def _second_read(query: MeasuredQuery) -> Iterator[Finding]:
    via = query.via
    if via is None:
        return
    profile = query.of.profile(via)
    returned = query.measured.returned
    if profile.layout is not None:
        # The rows of the index are measured, too
        returned = min(returned, found_by(query.of.shape, query.query))
    more = returned * query.query.busiest
    if profile.finder == "find_all" and more >= _LISTED:
        says = (
            f"{query.query.name!r} reads a list and then {entities(returned)} one by one, "
            f"{often(query.query.busiest)}: {number(more)} reads a second."
        )
        better = "Use an index ordered by the value and the key instead: one range query reads them all."
        yield SECOND_READ.finding(Severity.WARNING, _subject(query), says, better, pattern=_copies(via.is_eventual))
    if profile.layout is not None and (missing := _missing(query, profile.layout)):
        severity = Severity.WARNING if more >= _READS_AGAIN else Severity.NOTE
        says = (
            f"{via.name!r} does not include {listed(missing)}, so {query.query.name!r} reads each entity again: "
            f"{number(more)} extra reads a second."
        )
        better = f"Include {listed(missing)} in {via.name!r}, or all properties."
        pattern = _copies(via.is_eventual)
        yield SECOND_READ.finding(severity, _subject(query), says, better, pattern=pattern, fields=missing)


def _subject(query: MeasuredQuery) -> str:
    return part_of(query.of.name, query.query.name)


def _copies(is_eventual: bool) -> str:
    return "inter_partition_index" if is_eventual else "intra_partition_index"


def _missing(query: MeasuredQuery, layout: RowLayout) -> list[str]:
    """Return the properties that a query needs and the index lacks."""
    if layout.include is None:
        return []
    context = {*layout.include, *layout.key.fields, *query.of.key.fields}
    return [name for name in query.query.select or query.of.shape.fields if name not in context]


def copies_take(declared_set: DeclaredSet) -> str:
    """Return the formatted size of a copy of each entity."""
    return size(primary_sizes(declared_set).row * declared_set.shape.count)


RULES: Final = (
    UNUSED_INDEX,
    REDUNDANT_INDEX,
    SECOND_READ,
    INDEX_NOT_UNIQUE,
    COLLIDING_INDEX_KEYS,
)
