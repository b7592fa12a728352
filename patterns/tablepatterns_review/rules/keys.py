"""Find keys that change, collide, cannot be written or do not sort like their values."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import Final

from tablepatterns.figures import number, often, years_from_now

from ..design.distribution import busiest_share, coincidence_of, values_of
from ..design.key_parts import pieces_of, pieces_of_key, span_of
from ..design.model import DAY, YEAR, DeclaredSet, Field, Flaw, Query, Shape, Write
from ..kinds import kind_of
from ..kinds.recipes import number_of_tables
from ..plans.planner import is_sorted
from ..result import Finding, Measured, Severity
from .context import RuleContext, key_of, known_of, needed_entities, unindexed_fields, waste_severity
from .rule import RULES, entities, listed, severity_of

_CERTAIN: Final = 0.1
_POSSIBLE: Final = 0.001
_RARE: Final = 1e-6
_ALL: Final = 1.05
_MANY_OF_ALL: Final = 20
_LISTED: Final = 1_000
_NAMES: Final = 32
_MANY: Final = 1_000
"""Collisions per year."""
_OF_MANY_SOURCES: Final = 10.0
"""The inserts per second from which it is not one device that writes them, and never twice in a microsecond."""
_WITH_SLASHES: Final = re.compile(r"(url|uri|path|page|href|link|title)s?$", re.IGNORECASE)
_FLAWS: Final = {
    "unpadded": RULES["unpadded-key-field"],
    "both-keys": RULES["field-in-both-keys"],
    "overlap": RULES["overlapping-keys"],
    "ambiguous": RULES["ambiguous-key"],
    "forbidden": RULES["unsafe-key"],
    "too-few": RULES["colliding-keys"],
}
_SERIOUS: Final = ("overlap", "forbidden", "too-few")


def find_problems(context: RuleContext) -> Iterator[Finding]:
    yield from _find_flaws(context)
    too_few = {flaw.subject for flaw in context.design.flaws if flaw.kind == "too-few"}
    for declared_set in context.design.sets:
        yield from chain.from_iterable(map(_find_changing_key, context.writes_of(declared_set)))
        in_table = _in_one_table(declared_set)
        if declared_set.name not in too_few and not kind_of(declared_set).has_unique_keys:
            yield from _find_collisions(context, in_table)
        yield from _find_unsafe_text(declared_set)
        yield from _find_text_order(context, declared_set)
        if declared_set.name not in too_few:
            yield from _find_narrow_numbers(context, in_table)


def _in_one_table(declared_set: DeclaredSet) -> DeclaredSet:
    """Return a set with the entities of one period, whose keys only have to be unique and wide enough among these."""
    tables, shape = number_of_tables(declared_set), declared_set.shape
    if tables == 1:
        return declared_set
    return replace(declared_set, shape=replace(shape, count=math.ceil(shape.count / tables), growth=0.0))


def _find_flaws(context: RuleContext) -> Iterator[Finding]:
    """Yield the corrections that reading the design made: the first of each kind for a key."""
    for flaw in {(flaw.kind, flaw.subject): flaw for flaw in reversed(context.design.flaws)}.values():
        set_name = flaw.subject.partition(": ")[0]
        own_names = {name for of in context.design.sets if of.name == set_name for name in of.shape.fields}
        queries = [query for query in context.queries if query.of.name == set_name]
        is_sorted_by = any(name in _sorted_names(query) for query in queries for name in flaw.fields)
        is_serious = flaw.kind in _SERIOUS or (flaw.kind == "unpadded" and is_sorted_by)
        severity = Severity.SERIOUS if is_serious else Severity.WARNING
        if flaw.kind == "overlap" and _is_of_names(context, flaw):
            severity = Severity.NOTE
        # Keys that overlap have fields of two sets
        fields = [name for name in flaw.fields if name in own_names]
        yield _FLAWS[flaw.kind].finding(severity, flaw.subject, flaw.says, flaw.better, fields=fields)


def _is_of_names(context: RuleContext, flaw: Flaw) -> bool:
    """Whether the texts in overlapping keys have few values, as names that programs choose: of types, or of views."""
    shapes = [declared_set.shape for declared_set in context.design.sets]
    fields = [shape.fields[name] for shape in shapes for name in flaw.fields if name in shape.fields]
    return bool(fields) and all(field.distinct is not None and field.distinct <= _NAMES for field in fields)


def _sorted_names(query: Measured[Query]) -> Sequence[str]:
    """Return the fields that a query reads by range, and the one that it sorts by."""
    names = [name for name, how in known_of(query).items() if how != "="]
    return [*names, (query.access.order or "").removeprefix("-")]


def _find_changing_key(call: Measured[Write]) -> Iterator[Finding]:
    key = call.of.key
    names = [name for name in call.access.changes if name in key.fields]
    if call.access.operation != "update" or not names:
        return
    moves = not set(key.partition_fields).isdisjoint(names)
    better = "Use values that never change as the key, with an index in the partition for those that do."
    yield RULES["key-field-changes"].finding(
        Severity.WARNING,
        call,
        better=None if moves else better,
        pattern=None if moves else "intra_partition_index",
        fields=names,
        fields_changed=listed(names),
        key="PartitionKey" if moves else "RowKey",
        rate=often(call.access.rate),
    )


def _find_collisions(context: RuleContext, declared_set: DeclaredSet) -> Iterator[Finding]:
    shape = declared_set.shape
    pieces = [piece for piece in pieces_of_key(declared_set.key) if piece.name]
    clocks = [piece for piece in pieces if piece.is_clock]
    names = [piece.name or "" for piece in pieces]
    other_names = [piece.name or "" for piece in pieces if not piece.is_clock]
    if any(_is_own(shape.fields.get(name, Field()), names) for name in other_names):
        return
    if not clocks or all(shape.fields.get(name, Field()).distinct is not None for name in names):
        yield from _find_chance_collisions(declared_set, names)
        return
    span, span_name = min(span_of(piece) for piece in clocks)
    inserts = [write.access for write in context.writes_of(declared_set) if write.access.operation == "insert"]
    busiest = sum(write.busiest for write in inserts) * busiest_share(shape, other_names)
    meets, average = busiest * span, sum(write.rate for write in inserts)
    in_a_year = average**2 * span * coincidence_of(shape, other_names) * YEAR
    if span < 1 and busiest < _OF_MANY_SOURCES:
        in_a_year = 0.0
    # Of a plan, such as one draw a day, each day has at most one entity
    is_plan = not other_names and span >= DAY and meets < 1
    if is_plan or (meets < _POSSIBLE and in_a_year < 1):
        return
    severity = Severity.SERIOUS if meets >= _CERTAIN or in_a_year >= _MANY else Severity.WARNING
    words = {"names": listed(names), "meets": number(meets), "span": span_name}
    yield RULES["colliding-keys"].finding(severity, declared_set, entity=shape.entity, **words)


def _is_own(field: Field, names: list[str]) -> bool:
    """Whether the values of a field are unique among entities that agree in the other key fields."""
    return field.distinct is None and field.type != "boolean" and (field.within is None or field.within in names)


def _find_chance_collisions(declared_set: DeclaredSet, names: list[str]) -> Iterator[Finding]:
    """Yield a finding if entities whose values occur independently have the same key.

    A field of the RowKey that numbers or identifies something, such as a line of an order, is assumed to make keys
    unique. So are fields of both keys together, such as a learner, a course and a skill: there is one entity for each
    combination, unless many would occur twice. Persons often have the same names.
    """
    shape = declared_set.shape
    of_row = [piece.name for piece in pieces_of(declared_set.key.row_template) if piece.name]
    numbering = of_row or names
    if shape.count <= 1 or not names or any(_identifies(shape.fields.get(name, Field()), name) for name in numbering):
        return
    pairs, combinations = pairs_alike(shape, names), math.prod(values_of(shape, name).count for name in names)
    is_pair = len(of_row) == 1 and len(names) == 2
    is_of_persons = any(map(_OF_PERSONS.search, names))
    is_relation = is_pair or (len(names) > max(1, len(of_row)) and not is_of_persons)
    serious, warning = (_CERTAIN, _CERTAIN) if is_relation else (_POSSIBLE, _RARE)
    severity = severity_of(pairs / shape.count, serious=serious, warning=warning)
    # If there is about one entity for each combination of values, or one of them is chosen from a list, such as the
    # flags of a tenant, and many combinations have an entity, they are not random
    is_of_list = is_pair and min(values_of(shape, name).count for name in names) <= _LISTED
    most = _MANY_OF_ALL if is_of_list and not is_of_persons else _ALL
    if pairs < 1 or severity is None or combinations <= most * shape.count:
        return
    says = (
        f"The key of {declared_set.name} consists of {listed(names)}, of which no combination is unique: among "
        f"{entities(shape.count)}, about {number(pairs)} pairs have the same key."
    )
    better = f"Append an id to the RowKey that tells them apart, such as {{{shape.entity}Id:uuid}}."
    yield RULES["colliding-keys"].finding(severity, declared_set, says, better)


_OF_PERSONS: Final = re.compile(r"first|last|given|family|middle|surname|full_?name|birth", re.IGNORECASE)
_NUMBERING: Final = re.compile(r"(id|no|nr|number|code|key|sku|slot|index|isbn|iban|version)$", re.IGNORECASE)


def _identifies(field: Field, name: str) -> bool:
    """Whether a field distinguishes entities that agree in the rest of the key."""
    if field.within is not None or field.order == "rising":
        return field.order == "rising" and (field.distinct is None or field.within is not None)
    is_counted = field.type in ("int32", "int64", "guid", "datetime", "boolean")
    return is_counted or bool(_NUMBERING.search(name))


def is_relation(shape: Shape, names: Sequence[str]) -> bool:
    """Whether each field identifies something, such as a race and a runner, and few entities agree in all by chance."""
    are_ids = len(names) > 1 and all(_identifies(shape.fields.get(name, Field()), name) for name in names)
    return are_ids and pairs_alike(shape, names) < _CERTAIN * shape.count


def pairs_alike(shape: Shape, names: Sequence[str]) -> float:
    """Return the expected number of entity pairs with the same values, if the fields are independent."""
    return shape.count * (shape.count - 1) / 2 * coincidence_of(shape, names)


def _find_unsafe_text(declared_set: DeclaredSet) -> Iterator[Finding]:
    for piece in chain.from_iterable(map(pieces_of_key, declared_set.keys)):
        name = piece.name or ""
        field = declared_set.shape.fields.get(name, Field())
        if not piece.spec and field.type == "string" and _WITH_SLASHES.search(name):
            yield RULES["unsafe-key"].finding(Severity.WARNING, declared_set, fields=[name], field=name)
            return


def _find_text_order(context: RuleContext, declared_set: DeclaredSet) -> Iterator[Finding]:
    in_keys = {name for key in declared_set.keys for name in key.row_fields}
    queries = context.queries_of(declared_set)
    sorting_queries = {name: query.access.name for query in reversed(queries) for name in _sorted_names(query)}
    names = [
        name
        for name, field in declared_set.shape.fields.items()
        if field.type == "string" and field.order == "rising" and name in sorting_queries and name in in_keys
    ]
    for name in names:
        words = {"field": name, "access": repr(sorting_queries[name])}
        yield RULES["text-order"].finding(Severity.WARNING, declared_set, fields=[name], **words)
    if not names:
        yield from islice(chain.from_iterable(map(_find_unsorted_range, queries)), 1)


def _find_unsorted_range(query: Measured[Query]) -> Iterator[Finding]:
    key = key_of(query)
    if waste_severity(query) is None or unindexed_fields(query):
        return
    for position, name in enumerate(key.row_fields):
        if query.access.known.get(name) == "range" and not is_sorted(key, position):
            says = (
                f"{name} is text in the middle of a RowKey, so rows do not sort by it: {query.access.name!r} reads "
                f"{entities(query.examined)} to return {number(needed_entities(query))}."
            )
            better = f"Write it as {{{name}:escape}}, which keeps the order, or store a number or a timestamp."
            yield RULES["text-order"].finding(Severity.WARNING, query.of, says, better, fields=[name])
            return


def _find_narrow_numbers(context: RuleContext, declared_set: DeclaredSet) -> Iterator[Finding]:
    numbers: dict[str, int] = {}
    for piece in chain.from_iterable(map(pieces_of_key, declared_set.keys)):
        if piece.name and piece.width and piece.spec[-1:] == "d" and not piece.is_clock:
            numbers.setdefault(piece.name, piece.width - piece.spec.startswith("+"))
    shape = declared_set.shape
    for name, digits in numbers.items():
        field = shape.fields.get(name)
        if field is None:
            continue
        # A field that is numbered within another one restarts for each of its values
        share = values_of(shape, field.within).share(1) if field.within and field.within in shape.fields else 1.0
        now = field.distinct or math.ceil(shape.count * share)
        growth = 0.0 if field.distinct else shape.growth * share
        most, then = 10**digits - 1, now + growth * context.design.years
        if then > most:
            when = years_from_now((most - now) / growth if now < most and growth else 0)
            words = {"digits": str(digits), "most": number(most), "when": when, "width": str(len(str(int(then))) + 2)}
            yield RULES["narrow-number"].finding(Severity.SERIOUS, declared_set, fields=[name], field=name, **words)
