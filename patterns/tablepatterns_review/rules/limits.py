"""Find limits of the service that are exceeded, now or with the declared growth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from tablepatterns.figures import amount, number, often, plural, size, years_from_now
from tablepatterns.filters import QueryClass
from tablepatterns.limits import (
    MAX_CUSTOM_PROPERTIES,
    MAX_ENTITY_BYTES,
    MAX_KEY_UNITS,
    MAX_STRING_BYTES,
    MAX_TRANSACTION_OPERATIONS,
    PARTITION_ENTITIES_PER_SECOND,
)

from ..capacity.load import busiest_share, partitions_of
from ..design.model import DeclaredSet, Field
from ..measure.account import number_of_tables
from ..model import Finding, LimitUse, Severity
from .context import ONCE_AN_HOUR, MeasuredQuery, RuleContext, in_order, waste_severity
from .rule import Rule, entities, part_of, severity_of

_LEVELS: Final = "serious if it is exceeded within the declared growth, a warning if it grows to 90% of it"
_NEAR: Final = 0.9
VALUE_TOO_LARGE: Final = Rule(
    name="value-too-large",
    finds=f"a property can be larger than {size(MAX_STRING_BYTES)}",
    severity=_LEVELS,
    why=f"A string or binary property holds up to {size(MAX_STRING_BYTES)}: store larger values in a blob.",
    guide="Large entities pattern",
    says="A property of {subject} takes up to {now}{limited}",
    better="Store the large values in blobs (LargeProperties).",
    pattern="large_properties",
)
ENTITY_TOO_LARGE: Final = Rule(
    name="entity-too-large",
    finds=f"an entity can be larger than {size(MAX_ENTITY_BYTES)}",
    severity=_LEVELS,
    why=f"An entity holds at most {size(MAX_ENTITY_BYTES)}: store the rest in a blob, or in a second entity.",
    guide="Large entities pattern; wide entities pattern",
    says="An entity of {subject} takes up to {now}{limited}",
    better="Split the entity over several rows (WideEntity), or store its large values in blobs (LargeProperties).",
    pattern="wide_entity",
)
TOO_MANY_PROPERTIES: Final = Rule(
    name="too-many-properties",
    finds=f"an entity has more than {MAX_CUSTOM_PROPERTIES} properties",
    severity=_LEVELS,
    why=f"An entity holds at most {MAX_CUSTOM_PROPERTIES} properties besides the system properties: spread more over "
    "several entities.",
    guide="Wide entities pattern; data series pattern",
    says="An entity of {subject} has {now} properties{limited}",
    better="Split the entity over several rows (WideEntity), or store numbers of one kind as a DataSeries.",
    pattern="wide_entity",
)
LIST_TOO_LONG: Final = Rule(
    name="list-too-long",
    finds="a list of entities does not fit in its row",
    severity=_LEVELS,
    why=(
        f"An entity holds at most {size(MAX_ENTITY_BYTES)}: store a longer list in a blob, or spread "
        "it over several rows."
    ),
    guide="Index entities pattern",
    says="The longest list of {subject} takes {now}{limited}",
    better=(
        "Spread each list over several rows (spread), store it in blobs (InBlobs), or use an index with a copy per "
        "entity."
    ),
    pattern="index_entities",
    about="index",
)
KEY_TOO_LONG: Final = Rule(
    name="key-too-long",
    finds="a key can be longer than the service allows",
    severity=_LEVELS,
    why=f"PartitionKey and RowKey hold up to {size(2 * MAX_KEY_UNITS)} each, which is {MAX_KEY_UNITS} characters.",
    guide="Capacity considerations",
    says="The {key} of {subject} has up to {now} characters{limited}",
    better="Use a shorter key, such as a hash or a number.",
    pattern="compound_key",
    why_not_automatic="the field that is shortened must be chosen",
)
TRANSACTION_TOO_LARGE: Final = Rule(
    name="transaction-too-large",
    finds="a write and the rows that change with it do not fit in one transaction",
    severity=_LEVELS,
    why=f"An entity group transaction holds at most {MAX_TRANSACTION_OPERATIONS} entities and a payload of 4 MB.",
    guide="Entity group transactions",
    says="A transaction of {subject} changes {now} rows{limited}",
    better="Use fewer indexes in the partition.",
    pattern="eventual_transaction",
    why_not_automatic="which rows may follow later must be decided",
    about="write",
)
ACCOUNT_FULL: Final = Rule(
    name="account-full",
    finds="the account cannot hold the declared data",
    severity=_LEVELS,
    why="The capacity of a storage account is limited.",
    guide="Capacity considerations",
    says="The account of {subject} stores {now}{limited}",
    better="Move old entities to an archive, or use several accounts.",
    pattern="archive",
    why_not_automatic="what may be archived or stored in another account must be decided",
    about="account",
)
QUEUE_TARGET: Final = Rule(
    name="queue-target",
    finds="the intents of a set are more messages a second than one queue handles",
    severity=_LEVELS,
    why="A queue handles about 2,000 messages of 1 KiB a second.",
    guide="Scalability targets; eventually consistent transactions pattern",
    says="The writes of {subject} send and delete {now} messages a second{limited}",
    better=(
        "Use indexes in the partition of the entity, which need no messages, or divide the set over several tables."
    ),
    pattern="intra_partition_index",
)
ARCHIVE_TOO_FAST: Final = replace(
    QUEUE_TARGET,
    name="archive-too-fast",
    finds="an archive sends more messages a second than one queue handles",
    says="The moves of {subject} send and delete {now} messages a second{limited}",
    better="Archive more evenly over the day, with a lower peak.",
    pattern="archive",
    why_not_automatic="when entities are archived must be decided",
    about="write",
)
LIMIT_EXCEEDED: Final = Rule(
    name="limit-exceeded",
    finds="a limit of the service is exceeded, and no other rule says so",
    severity="serious now; a warning where it is exceeded within the declared growth",
    why="The service rejects or throttles requests that exceed its limits.",
    guide="Capacity considerations; scalability targets",
    says="{subject}: {limit}: {now}{growth}; the limit is {most}.",
    better="Read, write or keep less at a time, or divide it over several keys.",
    why_not_automatic="the limit decides what has to change",
)
REJECTED: Final = Rule(
    name="call-rejected",
    finds="the recipe or the service rejects an access pattern with entities of the declared shape",
    severity="serious",
    why="The call fails for every entity of the declared size.",
    guide="Limits per entity; entity group transactions",
    says="{access} of {set} is rejected: {reason}.",
    better="Change the key, the sizes or the parts of the set so that the call succeeds.",
    why_not_automatic="the reason of the rejection decides what has to change",
)
LONG_ANSWER: Final = Rule(
    name="long-answer",
    finds="a query reads more entities of one partition than it serves in five seconds",
    severity="a note",
    why="A query that takes longer than five seconds returns a continuation token, and needs another request.",
    guide="Retrieving large numbers of entities from a query",
    says="{access} reads {now} entities of one partition{growth}; a partition serves {most} in five seconds.",
    better="Read it page by page as needed, divide the range, or keep a summary of what you need.",
    pattern="parallel_reads",
    why_not_automatic="the answer must be divided, or fewer results be read, by your code",
    about="query",
)
_LARGE_PARTITION: Final = 1e8
_GROWING_PARTITION: Final = 1e7
LARGE_PARTITION: Final = Rule(
    name="large-partition",
    finds="one partition holds a large part of a set, and grows with it",
    severity=f"a warning from {number(_LARGE_PARTITION)} entities within the declared growth, a note from "
    f"{number(_GROWING_PARTITION)}",
    why="One server serves a partition, however large it is: it cannot be divided, and a read of all of it takes long.",
    guide="Choosing an appropriate PartitionKey",
    says="The largest partition of {set} has {now}{growth}: to read all of it takes {hours} at its target.",
    better="Add a field to the PartitionKey that divides it, such as the month of a timestamp, or store it by period.",
    pattern="compound_key",
    why_not_automatic="queries must know the field that divides it",
)
_FEWEST: Final = 10
_PROPERTIES: Final = 3
_MOST_POINTS: Final = 10_000
"""The largest series to suggest as properties; more points are better packed into one property or stored in blobs."""
_NOTICEABLE: Final = 0.1 * PARTITION_ENTITIES_PER_SECOND
_NUMBERS: Final = ("int32", "int64", "double", "boolean")
SLOTS_AS_ENTITIES: Final = Rule(
    name="slots-as-entities",
    finds="the points of a series are separate small entities, but are read together",
    severity=f"a warning from {number(_NOTICEABLE)} such entities a second, otherwise a note",
    why="A series that is read as a whole belongs in one entity: one point query reads it.",
    guide="Data series pattern",
    says="{access} reads {returned} of {set}, one for each {slot}, {rate}: {read} a second.",
    better="Store them as {points} properties of {rows} (DataSeries{split}): a merge sets one.",
    pattern="data_series",
    why_not_automatic="the number and the name of the points must be chosen",
)
_LIMIT_RULES: Final[Mapping[str, Rule]] = {
    "bytes of a property": VALUE_TOO_LARGE,
    "bytes of an entity": ENTITY_TOO_LARGE,
    "properties of an entity": TOO_MANY_PROPERTIES,
    "bytes of a list of entities": LIST_TOO_LONG,
    "characters of a PartitionKey": KEY_TOO_LONG,
    "characters of a RowKey": KEY_TOO_LONG,
    "operations of a transaction": TRANSACTION_TOO_LARGE,
    "bytes of a transaction": replace(
        TRANSACTION_TOO_LARGE,
        says="A transaction of {subject} takes up to {now}{limited}",
        better="Include fewer properties in the indexes of the partition, or use fewer indexes.",
    ),
    "messages of a queue in a second": QUEUE_TARGET,
    "messages of an archive in a second": ARCHIVE_TOO_FAST,
    "bytes of the account": ACCOUNT_FULL,
}
_VALUE: Final = "bytes of a property"
_FOLLOWING: Final = ("bytes of an entity", "bytes of a transaction")
"""The limits that are exceeded only because a value is too large."""
_SLOW: Final = "entities that a partition serves in 5 s"


def find_problems(context: RuleContext) -> Iterator[Finding]:
    yield from _limits_in_sight(context)
    yield from _rejected(context)
    for declared_set in context.design.sets:
        yield from _slots(context, declared_set)
        yield from _large_partition(context, declared_set)


def _large_partition(context: RuleContext, declared_set: DeclaredSet) -> Iterator[Finding]:
    shape, key, partitions = declared_set.shape, declared_set.key, partitions_of(declared_set)
    share = busiest_share(shape, key.partition_fields) / partitions.buckets
    counts = [count * share for count in (shape.count, context.entities_then(declared_set))]
    severity = severity_of(max(counts), warning=_LARGE_PARTITION, note=_GROWING_PARTITION)
    if severity is None or partitions.multiply or number_of_tables(declared_set) > 1:
        return
    now, then = map(entities, counts)
    words = {"now": now, "growth": f", and {then} at the end of the growth" if then != now else ""}
    words["hours"] = plural(round(max(counts) / PARTITION_ENTITIES_PER_SECOND / 3600, 1), "hour")
    yield LARGE_PARTITION.finding(severity, declared_set, **words)


def _limits_in_sight(context: RuleContext) -> Iterator[Finding]:
    """Yield the limits that are exceeded or near; if a set has values that are too large, report only those values."""
    large = {use.subject for use in context.in_sight if use.limit == _VALUE and use.reached is not None}
    sets = {declared_set.name: declared_set for declared_set in context.design.sets}
    for use in context.in_sight:
        severity = _severity(use)
        if severity is None or (use.subject.partition(": ")[0] in large and use.limit in _FOLLOWING):
            continue
        if use.limit in _LIMIT_RULES:
            fields = large_fields(sets[use.subject]) if use.limit == _VALUE else ()
            yield _LIMIT_RULES[use.limit].finding(severity, use.subject, fields=fields, **_words(use))
        elif use.limit == _SLOW:
            yield from _slow(context, use)


def _severity(use: LimitUse) -> Severity | None:
    if use.reached is not None:
        return Severity.SERIOUS
    # Values that do not grow are declared with their maximum, so they stay below the limit
    return Severity.WARNING if use.then >= _NEAR * use.most and use.then > use.now else None


def _words(use: LimitUse) -> dict[str, str]:
    now, then, most = (amount(value, use.limit) for value in (use.now, use.then, use.most))
    growth = f", and {then} at the end of the growth" if use.then != use.now else ""
    when = ""
    if use.reached is not None:
        is_exceeded = use.now >= use.most
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


def _slow(context: RuleContext, use: LimitUse, *, even_if_rare: bool = False) -> Iterator[Finding]:
    for query in context.queries():
        is_named = part_of(query.of.name, query.query.name) == use.subject
        if is_named and use.reached is not None and (even_if_rare or _is_wanted(query)):
            yield LONG_ANSWER.finding(Severity.NOTE, query, **_words(use))


def _is_wanted(query: MeasuredQuery) -> bool:
    """Whether a query needs all that it reads, and is frequent enough to report; otherwise it is reported as a scan."""
    if query.query.count_only or (query.query.take is not None and in_order(query)):
        return False
    return waste_severity(query.measured) is None and query.query.rate >= ONCE_AN_HOUR


def _rejected(context: RuleContext) -> Iterator[Finding]:
    """Yield the calls that are rejected, except for sets whose entities are already reported as too large."""
    too_large = {use.subject.partition(": ")[0] for use in context.in_sight if use.now > use.most}
    reported: set[tuple[str, str]] = set()
    for call in context.measured:
        name, reason = call.of.name, call.rejected
        if reason is not None and name not in too_large and (name, reason) not in reported:
            reported.add((name, reason))
            yield REJECTED.finding(Severity.SERIOUS, call, reason=reason)


def unreported(context: RuleContext, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the exceeded limits whose subject has no other finding."""
    subjects = {finding.subject for finding in findings}
    subjects |= {subject.partition(": ")[0] for subject in subjects}
    calls = {part_of(call.of.name, call.access.name): call for call in context.measured}
    for use in context.in_sight:
        if use.reached is None or use.subject in subjects:
            continue
        if use.limit == _SLOW:
            # Reading for more than five seconds is slow, but not rejected
            yield from _slow(context, use, even_if_rare=True)
            continue
        severity = Severity.SERIOUS if use.reached == 0 else Severity.WARNING
        yield LIMIT_EXCEEDED.finding(severity, calls.get(use.subject, use.subject), **_words(use))


def _slots(context: RuleContext, declared_set: DeclaredSet) -> Iterator[Finding]:
    slot = _slot(declared_set)
    query = next((query for query in context.queries_of(declared_set) if slot and _reads_all(query, slot)), None)
    if not slot or query is None:
        return
    read = query.measured.returned * query.query.busiest
    points = declared_set.shape.fields[slot].distinct or 0
    fits = points <= MAX_CUSTOM_PROPERTIES
    words = {
        "access": repr(query.query.name),
        "returned": entities(query.measured.returned),
        "slot": slot,
        "rate": often(query.query.busiest),
        "read": number(read),
        "points": number(points),
        "rows": "one entity" if fits else "a few rows with up to 251 each",
        "split": "" if fits else ", split=True",
    }
    severity = Severity.WARNING if read >= _NOTICEABLE else Severity.NOTE
    yield SLOTS_AS_ENTITIES.finding(severity, declared_set, **words)


def _slot(declared_set: DeclaredSet) -> str | None:
    """Return the last field of the key if it numbers the points of a numeric series."""
    fields = declared_set.shape.fields
    rest = [field for name, field in fields.items() if name not in declared_set.key.fields]
    if not declared_set.key.row_fields or len(rest) > _PROPERTIES or any(field.type not in _NUMBERS for field in rest):
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


def _reads_all(query: MeasuredQuery, slot: str) -> bool:
    """Whether a query gives all of the key except the slot, and reads a range of slots."""
    remaining_names = [name for name in query.of.key.fields if name != slot]
    scans_only_them = query.measured.query_class in (QueryClass.RANGE, QueryClass.PARTITION_SCAN)
    is_of_slots = all(query.known.get(name) == "=" for name in remaining_names) and query.known.get(slot) != "="
    return is_of_slots and scans_only_them and query.measured.returned >= _FEWEST
