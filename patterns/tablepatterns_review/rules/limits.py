"""Find limits of the service that are exceeded, now or with the declared growth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from tablepatterns.figures import amount, number, often, plural, years_from_now
from tablepatterns.filters import QueryClass
from tablepatterns.limits import (
    MAX_CUSTOM_PROPERTIES,
    MAX_PAGE_ENTITIES,
    MAX_STRING_BYTES,
    PARTITION_ENTITIES_PER_SECOND,
)

from ..capacity.hot_partitions import partitions_of
from ..design.distribution import busiest_share
from ..design.model import DeclaredSet, Field, Query
from ..design.writes import inserted_at
from ..kinds.recipes import number_of_tables
from ..plans.estimate import pages
from ..result import Finding, LimitUse, Measured, Severity
from .context import RuleContext, is_read_one_by_one, known_of, waste_severity
from .rule import RULES, Rule, entities

_NEAR: Final = 0.9
_FEWEST: Final = 10
_PROPERTIES: Final = 3
_FLAG: Final = 4
_DENSE: Final = 0.25
_SEVERAL: Final = 4.0
_MOST_POINTS: Final = 10_000
"""The largest series to suggest as properties; more points are better packed into one property or stored in blobs."""
_NUMBERS: Final = ("int32", "int64", "double", "boolean")
_LIMIT_RULES: Final[Mapping[str, Rule]] = {
    "bytes of a property": RULES["value-too-large"],
    "bytes of an entity": RULES["entity-too-large"],
    "properties of an entity": RULES["too-many-properties"],
    "bytes of a list of entities": RULES["list-too-long"],
    "characters of a PartitionKey": RULES["key-too-long"],
    "characters of a RowKey": RULES["key-too-long"],
    "operations of a transaction": RULES["transaction-too-large"],
    "bytes of a transaction": replace(
        RULES["transaction-too-large"],
        says="A transaction of {subject} takes up to {now}{limited}",
        better="Include fewer properties in the indexes of the partition, or use fewer indexes.",
    ),
    "messages of a queue in a second": RULES["queue-target"],
    "messages of an archive in a second": RULES["archive-too-fast"],
    "bytes of the account": RULES["account-full"],
}
_VALUE: Final = "bytes of a property"
_FOLLOWING: Final = ("bytes of an entity", "bytes of a transaction")
"""The limits that are exceeded only because a value is too large."""
_SLOW: Final = "entities that a partition serves in 5 s"


def find_problems(context: RuleContext) -> Iterator[Finding]:
    yield from _find_limits(context)
    yield from _find_rejected_calls(context)
    for declared_set in context.design.sets:
        slots = list(_find_slots(context, declared_set))
        yield from slots or _find_many_entities(context, declared_set)
        yield from _find_large_partition(context, declared_set)


def _find_large_partition(context: RuleContext, declared_set: DeclaredSet) -> Iterator[Finding]:
    shape, key, partitions = declared_set.shape, declared_set.key, partitions_of(declared_set)
    share = busiest_share(shape, key.partition_fields) / partitions.buckets
    counts = [count * share for count in (shape.count, context.entities_then(declared_set))]
    severity = RULES["large-partition"].severity_of(max(counts))
    if severity is None or partitions.multiply or number_of_tables(declared_set) > 1:
        return
    now, then = map(entities, counts)
    words = {"now": now, "growth": f", and {then} at the end of the growth" if then != now else ""}
    words["hours"] = plural(round(max(counts) / PARTITION_ENTITIES_PER_SECOND / 3600, 1), "hour")
    words["advice"] = _advice_on_division(context, declared_set)
    yield RULES["large-partition"].finding(severity, declared_set, **words)


def _advice_on_division(context: RuleContext, declared_set: DeclaredSet) -> str:
    """Return what to divide the partitions of a set by: a field that its queries give, or else its time."""
    queries, at = context.queries_of(declared_set), inserted_at(declared_set)
    names = [name for name in declared_set.key.row_fields if all(known_of(query).get(name) == "=" for query in queries)]
    if names and queries:
        return f"Begin the PartitionKey with {names[0]}, or a part of it: every query gives it."
    if at is not None:
        return f"Add the month of {at} to the PartitionKey, or use a table for each month (PeriodTables)."
    return "Add a field to the PartitionKey that divides it, such as the beginning of a name or of a hash."


def _find_limits(context: RuleContext) -> Iterator[Finding]:
    """Yield the limits that are exceeded or near; if a set has values that are too large, report only those values."""
    large = {use.subject for use in context.in_sight if use.limit == _VALUE and use.reached is not None}
    sets = {declared_set.name: declared_set for declared_set in context.design.sets}
    for use in context.in_sight:
        # Values that do not grow are declared with their maximum, so they stay below the limit
        is_near = use.then >= _NEAR * use.most and use.then > use.now
        severity = Severity.SERIOUS if use.reached is not None else Severity.WARNING if is_near else None
        if severity is None or (use.subject.partition(": ")[0] in large and use.limit in _FOLLOWING):
            continue
        if use.limit != _SLOW:
            fields = large_fields(sets[use.subject]) if use.limit == _VALUE else ()
            yield _LIMIT_RULES[use.limit].finding(severity, use.subject, fields=fields, **_words(use))
        elif use.reached is not None:
            queries = (query for query in context.queries if query.subject == use.subject)
            yield from (RULES["long-answer"].finding(Severity.NOTE, query, **_words(use)) for query in queries)


def _words(use: LimitUse) -> dict[str, str]:
    now, then, most = (amount(value, use.limit) for value in (use.now, use.then, use.most))
    growth = f", and {then} at the end of the growth" if use.then != use.now else ""
    when = ""
    if use.reached is not None:
        is_exceeded = use.now > use.most
        when = ", which is already exceeded" if is_exceeded else f", exceeded {years_from_now(use.reached)}"
    limited = f"{growth}; the limit is {most}{when}."
    key = use.limit.rpartition(" ")[2]
    return {"limit": use.limit, "key": key, "now": now, "growth": growth, "most": most, "limited": limited}


def large_fields(declared_set: DeclaredSet) -> list[str]:
    """Return the fields whose values are larger than a property holds, unless they are in the key."""
    return [
        name
        for name, field in declared_set.shape.fields.items()
        if name not in declared_set.key.fields
        and field.type in ("string", "binary")
        and (field.largest or field.size) * (2 if field.type == "string" else 1) > MAX_STRING_BYTES
    ]


def _find_rejected_calls(context: RuleContext) -> Iterator[Finding]:
    rejections: set[tuple[str, ...]] = set()
    for call in context.measured:
        name, reason = call.of.name, call.rejected
        # Calls that are rejected for the same reason differ in the value of their sample entity
        cause = name, *(reason or "").split(" = ")[:1], (reason or "").rpartition(": ")[2]
        if reason is not None and cause not in rejections:
            rejections.add(cause)
            yield RULES["call-rejected"].finding(Severity.SERIOUS, call, reason=reason)


def _find_slots(context: RuleContext, declared_set: DeclaredSet) -> Iterator[Finding]:
    slot = _slot(declared_set)
    query = next((query for query in context.queries_of(declared_set) if slot and _reads_all(query, slot)), None)
    if not slot or query is None:
        return
    read = query.returned * query.access.busiest
    points = declared_set.shape.fields[slot].distinct or 0
    if query.returned < _DENSE * points and known_of(query).get(slot) is None:
        # If few places are taken, such as those of a bag, they are not a series
        return
    fits = points <= MAX_CUSTOM_PROPERTIES
    words = {
        "access": repr(query.access.name),
        "returned": entities(query.returned),
        "slot": slot,
        "rate": often(query.access.busiest),
        "read": number(read),
        "points": number(points),
        "rows": "one entity" if fits else "a few rows with up to 251 each",
        "split": "" if fits else ", split=True",
    }
    severity = RULES["slots-as-entities"].severity_of(read) or Severity.NOTE
    yield RULES["slots-as-entities"].finding(severity, declared_set, **words)


def _find_many_entities(context: RuleContext, declared_set: DeclaredSet) -> Iterator[Finding]:
    """Yield the queries that need all they return, but return many entities very often."""
    for query in context.queries_of(declared_set):
        access, returned = query.access, query.returned
        read = returned * access.busiest
        has_own_rule = (
            access.skip or access.count_only or is_read_one_by_one(query) or waste_severity(query) is not None
        )
        severity = RULES["many-entities"].severity_of(read)
        # A page is fast; and of many tables, there should be fewer
        is_long = MAX_PAGE_ENTITIES < returned and query.requests <= _SEVERAL * pages(returned, returned)
        if severity is not None and is_long and not has_own_rule:
            words = {"returned": entities(returned), "rate": often(access.busiest)}
            yield RULES["many-entities"].finding(severity, query, read=number(read), **words)


def _slot(declared_set: DeclaredSet) -> str | None:
    """Return the last field of the key if it numbers the points of a numeric series."""
    fields = declared_set.shape.fields
    rest = [field for name, field in fields.items() if name not in declared_set.key.fields]
    others = [field for field in rest if field.type not in _NUMBERS]
    # Beside numbers, a point may have a flag, such as its quality
    are_flags = all(field.distinct is not None and field.size <= _FLAG for field in others)
    if not declared_set.key.row_fields or len(rest) > _PROPERTIES or len(others) == len(rest) or not are_flags:
        return None
    name = declared_set.key.row_fields[-1]
    field = fields.get(name, Field())
    is_number = field.type in ("int32", "int64") and field.distinct is not None
    if is_number and _FEWEST <= (field.distinct or 0) <= _MOST_POINTS:
        return name
    # A time within a day, or within another period in the rest of the key
    is_moment = field.type == "datetime" and any(
        fields[other].type == "datetime" or fields[other].order == "rising"
        for other in declared_set.key.fields
        if other != name and other in fields
    )
    return name if is_moment and fields[name].distinct is not None else None


def _reads_all(query: Measured[Query], slot: str) -> bool:
    """Whether a query gives all of the key except the slot, and reads a range of slots."""
    remaining_names = [name for name in query.of.key.fields if name != slot]
    scans_only_them = query.query_class in (QueryClass.RANGE, QueryClass.PARTITION_SCAN)
    is_of_slots = all(known_of(query).get(name) == "=" for name in remaining_names) and known_of(query).get(slot) != "="
    return is_of_slots and scans_only_them and query.returned >= _FEWEST
