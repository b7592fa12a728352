"""Find limits of the service that are exceeded, now or with the declared growth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tablepatterns.figures import amount, number, often, size, years_from_now
from tablepatterns.filters import QueryClass
from tablepatterns.limits import (
    MAX_CUSTOM_PROPERTIES,
    MAX_ENTITY_BYTES,
    MAX_KEY_UNITS,
    MAX_STRING_BYTES,
    MAX_TRANSACTION_OPERATIONS,
    PARTITION_ENTITIES_PER_SECOND,
)

from ..design.model import DeclaredSet, Field, Query
from ..model import About, Finding, LimitUse, Severity
from .context import ONCE_AN_HOUR, MeasuredQuery, RuleContext, in_order, waste_severity
from .rule import Rule, entities, part_of

_LEVELS: Final = "serious if it is exceeded within the declared growth, a warning if it grows to 90% of it"
_NEAR: Final = 0.9
VALUE_TOO_LARGE: Final = Rule(
    name="value-too-large",
    finds=f"a property can be larger than {size(MAX_STRING_BYTES)}",
    severity=_LEVELS,
    why=f"A string or binary property holds up to {size(MAX_STRING_BYTES)}: store larger values in a blob.",
    guide="Large entities pattern",
    pattern="large_properties",
)
ENTITY_TOO_LARGE: Final = Rule(
    name="entity-too-large",
    finds=f"an entity can be larger than {size(MAX_ENTITY_BYTES)}",
    severity=_LEVELS,
    why=f"An entity holds at most {size(MAX_ENTITY_BYTES)}: store the rest in a blob, or in a second entity.",
    guide="Large entities pattern; wide entities pattern",
    pattern="wide_entity",
)
TOO_MANY_PROPERTIES: Final = Rule(
    name="too-many-properties",
    finds=f"an entity has more than {MAX_CUSTOM_PROPERTIES} properties",
    severity=_LEVELS,
    why=f"An entity holds at most {MAX_CUSTOM_PROPERTIES} properties besides the system properties: spread more over "
    "several entities.",
    guide="Wide entities pattern; data series pattern",
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
    pattern="index_entities",
    about="derived",
)
KEY_TOO_LONG: Final = Rule(
    name="key-too-long",
    finds="a key can be longer than the service allows",
    severity=_LEVELS,
    why=f"PartitionKey and RowKey hold up to {size(2 * MAX_KEY_UNITS)} each, which is {MAX_KEY_UNITS} characters.",
    guide="Capacity considerations",
    pattern="compound_key",
    why_not_automatic="the field that is shortened must be chosen",
)
TRANSACTION_TOO_LARGE: Final = Rule(
    name="transaction-too-large",
    finds="a write and the rows that change with it do not fit in one transaction",
    severity=_LEVELS,
    why=f"An entity group transaction holds at most {MAX_TRANSACTION_OPERATIONS} entities and a payload of 4 MB.",
    guide="Entity group transactions",
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
    pattern="intra_partition_index",
)
ARCHIVE_TOO_FAST: Final = Rule(
    name="archive-too-fast",
    finds="an archive sends more messages a second than one queue handles",
    severity=_LEVELS,
    why="A queue handles about 2,000 messages of 1 KiB a second.",
    guide="Scalability targets; eventually consistent transactions pattern",
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
    why_not_automatic="the limit decides what has to change",
)
REJECTED: Final = Rule(
    name="call-rejected",
    finds="the recipe or the service rejects an access pattern with entities of the declared shape",
    severity="serious",
    why="The call fails for every entity of the declared size.",
    guide="Limits per entity; entity group transactions",
    why_not_automatic="the reason of the rejection decides what has to change",
)
LONG_ANSWER: Final = Rule(
    name="long-answer",
    finds="a query reads more entities of one partition than it serves in five seconds",
    severity="a note",
    why="A query that takes longer than five seconds returns a continuation token, and needs another request.",
    guide="Retrieving large numbers of entities from a query",
    pattern="parallel_reads",
    why_not_automatic="the answer must be divided, or fewer results be read, by your code",
    about="query",
)


@dataclass(frozen=True)
class _LimitText:
    """The texts of a finding about a limit.

    :param says: the sentence, with the placeholders `whose` and `amount`
    """

    rule: Rule
    says: str
    better: str


_KEY: Final = "Use a shorter key, such as a hash or a number."
_LIMIT_TEXTS: Final[Mapping[str, _LimitText]] = {
    "bytes of a property": _LimitText(
        VALUE_TOO_LARGE,
        "A property of {whose} takes up to {amount}",
        "Store the large values in blobs (LargeProperties).",
    ),
    "bytes of an entity": _LimitText(
        ENTITY_TOO_LARGE,
        "An entity of {whose} takes up to {amount}",
        "Split the entity over several rows (WideEntity), or store its large values in blobs (LargeProperties).",
    ),
    "properties of an entity": _LimitText(
        TOO_MANY_PROPERTIES,
        "An entity of {whose} has {amount} properties",
        "Split the entity over several rows (WideEntity), or store numbers of one kind as a DataSeries.",
    ),
    "bytes of a list of entities": _LimitText(
        LIST_TOO_LONG,
        "The longest list of {whose} takes {amount}",
        "Spread each list over several rows (spread), store it in blobs (InBlobs), or use an index "
        "with a copy per entity.",
    ),
    "characters of a PartitionKey": _LimitText(
        KEY_TOO_LONG, "The PartitionKey of {whose} has up to {amount} characters", _KEY
    ),
    "characters of a RowKey": _LimitText(KEY_TOO_LONG, "The RowKey of {whose} has up to {amount} characters", _KEY),
    "operations of a transaction": _LimitText(
        TRANSACTION_TOO_LARGE,
        "A transaction of {whose} changes {amount} rows",
        "Use fewer indexes in the partition.",
    ),
    "bytes of a transaction": _LimitText(
        TRANSACTION_TOO_LARGE,
        "A transaction of {whose} takes up to {amount}",
        "Include fewer properties in the indexes of the partition, or use fewer indexes.",
    ),
    "messages of a queue in a second": _LimitText(
        QUEUE_TARGET,
        "The writes of {whose} send and delete {amount} messages a second",
        "Use indexes in the partition of the entity, which need no messages, or divide the set over several tables.",
    ),
    "messages of an archive in a second": _LimitText(
        ARCHIVE_TOO_FAST,
        "The moves of {whose} send and delete {amount} messages a second",
        "Archive more evenly over the day, with a lower peak.",
    ),
    "bytes of the account": _LimitText(
        ACCOUNT_FULL,
        "The account of {whose} stores {amount}",
        "Move old entities to an archive, or use several accounts.",
    ),
}
_SLOW: Final = "entities that a partition serves in 5 s"


def _limits_in_sight(context: RuleContext) -> Iterator[Finding]:
    """Yield the limits that are exceeded or near; if a set has values that are too large, report only those values."""
    large = {
        limit_use.subject
        for limit_use in context.in_sight
        if limit_use.limit == "bytes of a property" and limit_use.reached is not None
    }
    for limit_use in context.in_sight:
        severity = _severity(limit_use)
        if severity is None or (limit_use.limit != "bytes of a property" and _follows(limit_use, large)):
            continue
        if limit_use.limit in _LIMIT_TEXTS:
            text = _LIMIT_TEXTS[limit_use.limit]
            declared_set = next((one for one in context.design.sets if one.name == limit_use.subject), None)
            fields = large_fields(declared_set) if declared_set is not None and text.rule is VALUE_TOO_LARGE else ()
            yield text.rule.finding(severity, limit_use.subject, _says(limit_use, text), text.better, fields=fields)
        elif limit_use.limit == _SLOW:
            yield from _slow(context, limit_use)


def large_fields(declared_set: DeclaredSet) -> list[str]:
    """Return the fields whose values are larger than a property holds, unless they are in the key."""
    return [
        name
        for name, field in declared_set.shape.fields.items()
        if name not in declared_set.key.fields
        and field.type in ("string", "binary")
        and (field.largest or field.size) * (2 if field.type == "string" else 1) > MAX_STRING_BYTES
    ]


def _severity(sight: LimitUse) -> Severity | None:
    if sight.reached is not None:
        return Severity.SERIOUS
    # Values that do not grow are declared with their maximum, so they stay below the limit
    return Severity.WARNING if sight.then >= _NEAR * sight.most and sight.then > sight.now else None


def _follows(sight: LimitUse, large: set[str]) -> bool:
    """Whether a limit is exceeded only because a value is too large."""
    return (
        sight.limit.startswith("bytes of a")
        and sight.limit.endswith(("entity", "transaction"))
        and (sight.subject.partition(": ")[0] in large)
    )


def _says(sight: LimitUse, text: _LimitText) -> str:
    now, then, most = (amount(value, sight.limit) for value in (sight.now, sight.then, sight.most))
    says = text.says.format(whose=sight.subject, amount=now)
    if sight.then != sight.now:
        says = f"{says}, and {then} at the end of the growth"
    if sight.reached is None:
        return f"{says}; the limit is {most}."
    when = "which is already exceeded" if sight.now >= sight.most else f"exceeded {years_from_now(sight.reached)}"
    return f"{says}; the limit is {most}, {when}."


def _slow(context: RuleContext, sight: LimitUse, *, even_if_rare: bool = False) -> Iterator[Finding]:
    for query in context.queries():
        named = part_of(query.of.name, query.query.name) == sight.subject
        if named and sight.reached is not None and (even_if_rare or _is_wanted(query)):
            then = f", and {number(sight.then)} at the end of the growth" if sight.then != sight.now else ""
            says = (
                f"{query.query.name!r} reads {number(sight.now)} entities of one partition{then}; a partition serves "
                f"{number(sight.most)} in five seconds."
            )
            better = "Read it page by page as needed, divide the range, or keep a summary of what you need."
            yield LONG_ANSWER.finding(Severity.NOTE, sight.subject, says, better)


def _is_wanted(query: MeasuredQuery) -> bool:
    """Whether a query needs all that it reads, and is frequent enough to report; otherwise it is reported as a scan."""
    if query.query.count_only or (query.query.take is not None and in_order(query)):
        return False
    return waste_severity(query.measured) is None and query.query.rate >= ONCE_AN_HOUR


def _rejected(context: RuleContext) -> Iterator[Finding]:
    """Yield the calls that are rejected, except for sets whose entities are already reported as too large."""
    too_large = {
        limit_use.subject.partition(": ")[0] for limit_use in context.in_sight if limit_use.now > limit_use.most
    }
    reported: set[tuple[str, str]] = set()
    for measured_set in context.measured:
        reason = measured_set.rejected
        if reason is None or measured_set.of.name in too_large or (measured_set.of.name, reason) in reported:
            continue
        reported.add((measured_set.of.name, reason))
        says = f"{measured_set.access.name!r} of {measured_set.of.name} is rejected: {reason}."
        better = "Change the key, the sizes or the parts of the set so that the call succeeds."
        about: About = "query" if isinstance(measured_set.access, Query) else "write"
        yield REJECTED.finding(
            Severity.SERIOUS, part_of(measured_set.of.name, measured_set.access.name), says, better, about=about
        )


def unreported(context: RuleContext, findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield the exceeded limits whose subject has no other finding."""
    subjects = {finding.subject for finding in findings}
    whole = {subject.partition(": ")[0] for subject in subjects}
    for limit_use in context.in_sight:
        if limit_use.reached is None or limit_use.subject in subjects or limit_use.subject in whole:
            continue
        if limit_use.limit == _SLOW:
            # Reading for more than five seconds is slow, but not rejected
            yield from _slow(context, limit_use, even_if_rare=True)
            continue
        now, then, most = (amount(value, limit_use.limit) for value in (limit_use.now, limit_use.then, limit_use.most))
        growth = f", and {then} at the end of the growth" if limit_use.then != limit_use.now else ""
        says = f"{limit_use.subject}: {limit_use.limit}: {now}{growth}; the limit is {most}."
        severity = Severity.SERIOUS if limit_use.reached == 0 else Severity.WARNING
        better = "Read, write or keep less at a time, or divide it over several keys."
        yield LIMIT_EXCEEDED.finding(severity, limit_use.subject, says, better, about=_kind(context, limit_use.subject))


def _kind(context: RuleContext, subject: str) -> About:
    """Return what a limit is about."""
    asked = (part_of(query.of.name, query.query.name) for query in context.queries())
    done = (part_of(write.of.name, write.write.name) for write in context.writes())
    return "query" if subject in asked else "write" if subject in done else "set"


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
    pattern="data_series",
    why_not_automatic="the number and the name of the points must be chosen",
)


def _slots(context: RuleContext) -> Iterator[Finding]:
    """Yield the sets whose entities are single points of a series."""
    for declared_set in context.design.sets:
        slot = _slot(declared_set)
        query = next((query for query in context.queries_of(declared_set) if slot and _reads_all(query, slot)), None)
        if slot and query:
            yield _series_finding(declared_set, slot, query)


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
        fields[each].type == "datetime" or fields[each].order == "rising"
        for each in declared_set.key.fields
        if each != name and each in fields
    )
    return name if is_moment and fields[name].distinct is not None else None


def _reads_all(query: MeasuredQuery, slot: str) -> bool:
    """Whether a query gives all of the key except the slot, and reads a range of slots."""
    remaining_names = [name for name in query.of.key.fields if name != slot]
    scans_only_them = query.measured.query_class in (QueryClass.RANGE, QueryClass.PARTITION_SCAN)
    is_of_slots = all(query.known.get(name) == "=" for name in remaining_names) and query.known.get(slot) != "="
    return is_of_slots and scans_only_them and query.measured.returned >= _FEWEST


def _series_finding(declared_set: DeclaredSet, slot: str, query: MeasuredQuery) -> Finding:
    read = query.measured.returned * query.query.busiest
    severity = Severity.WARNING if read >= _NOTICEABLE else Severity.NOTE
    says = (
        f"{query.query.name!r} reads {entities(query.measured.returned)} of {declared_set.name}, one for each {slot}, "
        f"{often(query.query.busiest)}: {number(read)} a second."
    )
    points = declared_set.shape.fields[slot].distinct or 0
    rows = "one entity" if points <= MAX_CUSTOM_PROPERTIES else "a few rows with up to 251 each"
    split = "" if points <= MAX_CUSTOM_PROPERTIES else ", split=True"
    better = f"Store them as {number(points)} properties of {rows} (DataSeries{split}): a merge sets one."
    return SLOTS_AS_ENTITIES.finding(severity, declared_set.name, says, better)


RULES: Final = (
    VALUE_TOO_LARGE,
    ENTITY_TOO_LARGE,
    TOO_MANY_PROPERTIES,
    LIST_TOO_LONG,
    KEY_TOO_LONG,
    TRANSACTION_TOO_LARGE,
    ACCOUNT_FULL,
    QUEUE_TARGET,
    ARCHIVE_TOO_FAST,
    LIMIT_EXCEEDED,
    REJECTED,
    LONG_ANSWER,
    SLOTS_AS_ENTITIES,
)


def find_problems(context: RuleContext) -> Iterator[Finding]:
    """Yield the limits that are exceeded or near, and series stored as many small entities."""
    yield from _limits_in_sight(context)
    yield from _rejected(context)
    yield from _slots(context)
