"""Find operations that Table storage lacks, updates that can be lost, and access that keys cannot restrict."""

from __future__ import annotations

import re
from collections.abc import Iterator
from math import inf
from typing import Final

from tablepatterns.figures import number, often, plural
from tablepatterns.limits import MAX_PAGE_ENTITIES

from ..design.model import Access, DeclaredSet, Field
from ..model import Finding, Severity
from ..planner import mistakes_of
from .context import HEAVY, NOTICEABLE, ONCE_AN_HOUR, MeasuredQuery, MeasuredWrite, RuleContext, wanted
from .rule import Rule, entities, listed, part_of, severity_of

TEXT_SEARCH: Final = Rule(
    name="text-search",
    finds="a query looks for a part of a text",
    severity=f"serious if a call reads more than {number(MAX_PAGE_ENTITIES)} entities, otherwise a warning",
    why="A filter compares whole values and ranges: there is no condition on a part of a text.",
    guide="Designing for querying",
    says="{access} looks for a part of {names}: it reads {read} to return {returned}, {rate}.",
    better=(
        "Index {names} in a search service such as Azure AI Search, or store an index row for each word; for "
        "beginnings, use an index and 'prefix'."
    ),
    why_not_automatic="a search index is another service",
)
COUNT_BY_READING: Final = Rule(
    name="count-by-reading",
    finds="entities are counted by reading all of them",
    severity=(
        f"serious from {number(HEAVY)} entities a second, a warning from {number(NOTICEABLE)}, otherwise a note if a "
        "count takes more than one page"
    ),
    why="The service has no count: each entity is read, and each page of 1,000 is a transaction.",
    guide="Denormalization pattern (summary entities)",
    says="{access} reads {read} to count them, {rate}.",
    better="Keep the count by {names} in a Summary: one point query reads it.",
    pattern="summary",
)
DEEP_PAGING: Final = Rule(
    name="deep-paging",
    finds="a page is opened by its number, so all earlier pages are read first",
    severity=f"a warning from {number(NOTICEABLE)} skipped entities a second, otherwise a note",
    why="A page is found by the continuation token of the page before; results cannot be skipped.",
    guide="Retrieving large numbers of entities from a query",
    says="{access} reads and skips {skipped} before the {take} that it needs, {rate}.",
    better="Give callers the continuation token of the next page, or let them jump to a value of the key.",
    why_not_automatic="the pages are requested by your code",
)
_SHORT: Final = 256
_ADDED_UP: Final = re.compile(
    r"count|total|sum|balance|amount|stock|quantity|clicks|likes|views|hits|points|left|used", re.IGNORECASE
)
"""Names of fields whose new value is computed from the old one."""
FILTER_MISTAKE: Final = Rule(
    name="filter-mistake",
    finds="a filter compares a property that no entity has, or a value of another type than the property",
    severity="serious",
    why="Names are case-sensitive, and values of two types are never equal: the service returns nothing, and no error.",
    guide="Designing for querying",
    says="{access} sends {comparison}, but {reason}: this condition is {result} for every entity.",
    better="Send the name as it is stored, and a value of the property's type, such as datetime'2026-01-31T00:00:00Z'.",
    why_not_automatic="which property and value are meant, only you know",
)
LOST_UPDATE: Final = Rule(
    name="lost-update",
    finds="several writers overwrite one entity without its ETag",
    severity="a warning",
    why="Without an ETag, the last writer silently overwrites the changes of the others.",
    guide="Managing concurrency",
    says="{access} overwrites {changes} without its ETag, by {writers}, {rate}.",
    better="Read the entity, and write it on condition of its ETag (update), so that a conflict is retried.",
)
ACCESS_NOT_BY_KEY: Final = Rule(
    name="access-not-by-key",
    finds="readers may only see some entities, which are not a range of keys",
    severity="serious",
    why="A shared access signature is limited to a table, or to a range of keys in it.",
    guide="Managing access with shared access signatures",
    says="{reader} may read the entities of {whole} with one {names}, but the key begins with {leading}.",
    better="Begin the PartitionKey with {names}, or let a service of yours read for them.",
    pattern="grant",
    why_not_automatic="what readers share must become the PartitionKey, or the beginning of the RowKey",
    about="reader",
)
ACCESS_TO_HIDDEN: Final = Rule(
    name="access-to-hidden-property",
    finds="readers must not see a property of the entities that they may read",
    severity="serious",
    why="A shared access signature cannot hide properties: who may read an entity can read all of it.",
    guide="Managing access with shared access signatures",
    says="{reader} may read the entities of {whole}, but must not see {hidden}.",
    better="Store {hidden} in another table, in entities with the same key, or encrypt it.",
    pattern="one_to_one",
    why_not_automatic="where the hidden property is stored must be chosen",
    about="reader",
)


def find_problems(context: RuleContext) -> Iterator[Finding]:
    """Yield the uses that neither keys nor the service's operations support."""
    for query in context.queries():
        yield from _unsupported(query)
    for write in context.writes():
        yield from _lost(context, write)
    for declared_set in context.design.sets:
        for access in declared_set.access:
            yield from _access(declared_set, access)


def _unsupported(query: MeasuredQuery) -> Iterator[Finding]:
    asked, read = query.query, query.measured.examined
    for comparison, reason in mistakes_of(query.of, asked.filter or "true")[:1]:
        is_true = comparison.operator in ("ne", "lt", "le") and not reason.startswith("no entity")
        words = {"comparison": str(comparison), "reason": reason, "result": "true" if is_true else "false"}
        yield FILTER_MISTAKE.finding(Severity.SERIOUS, query, **words)
    words = {"read": entities(read), "returned": number(wanted(query.measured)), "rate": often(asked.busiest)}
    if parts := [name for name, how in asked.known.items() if how == "contains"]:
        severity = Severity.SERIOUS if read > MAX_PAGE_ENTITIES else Severity.WARNING
        yield TEXT_SEARCH.finding(severity, query, fields=parts, names=listed(parts), **words)
    if asked.count_only:
        is_small = read <= MAX_PAGE_ENTITIES or asked.rate < ONCE_AN_HOUR
        count = severity_of(read * asked.busiest, serious=HEAVY, warning=NOTICEABLE, note=inf if is_small else 0.0)
        if count is not None and read > 1:
            names = listed([*asked.known]) if asked.known else "the set"
            yield COUNT_BY_READING.finding(count, query, names=names, **words)
    if asked.skip:
        severity = Severity.WARNING if asked.skip * asked.busiest >= NOTICEABLE else Severity.NOTE
        yield DEEP_PAGING.finding(severity, query, skipped=entities(asked.skip), take=number(asked.take or 0), **words)


def _lost(context: RuleContext, done: MeasuredWrite) -> Iterator[Finding]:
    write = done.write
    if write.operation != "update" or not write.overwrite or _is_latest_state(done):
        return
    own, writers = set(write.changes), write.writers
    for other in (other.write for other in context.writes_of(done.of) if other.write is not write):
        if other.operation == "update" and (not own or not other.changes or own.intersection(other.changes)):
            writers += other.writers
    if writers > 1:
        changes, rate = listed(write.changes) if own else "the entity", often(write.busiest)
        yield LOST_UPDATE.finding(Severity.WARNING, done, changes=changes, writers=plural(writers, "writer"), rate=rate)


def _is_latest_state(done: MeasuredWrite) -> bool:
    """Whether a write stores what was observed at a time, such as a position: the last writer is right.

    What is added up, and long values that grow, depend on the value before.
    """
    fields = [(name, done.of.shape.fields.get(name, Field())) for name in done.write.changes]
    is_timed = any(field.type == "datetime" and field.order == "rising" for _, field in fields)
    is_added = any(
        _ADDED_UP.search(name) or (field.type in ("string", "binary") and field.size > _SHORT) for name, field in fields
    )
    return is_timed and not is_added


def _access(declared_set: DeclaredSet, access: Access) -> Iterator[Finding]:
    subject = part_of(declared_set.name, access.name)
    words = {"reader": repr(access.name), "whole": declared_set.name}
    leading = declared_set.key.fields[: max(1, len(access.by))]
    if set(leading[: len(access.by)]) != set(access.by):
        words |= {"names": listed(access.by), "leading": listed(leading) or "a constant"}
        yield ACCESS_NOT_BY_KEY.finding(Severity.SERIOUS, subject, **words)
    encrypted = {name for mapping in declared_set.mappings if mapping.keeps_secret for name in mapping.fields}
    if plain := [name for name in access.hidden if name not in encrypted]:
        yield ACCESS_TO_HIDDEN.finding(Severity.SERIOUS, subject, fields=plain, hidden=listed(plain), **words)
