"""Find operations that Table storage lacks, updates that can be lost, and access that keys cannot restrict."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from tablepatterns.entity_set.mapping import PropertyMapping
from tablepatterns.figures import number, often, plural
from tablepatterns.limits import MAX_PAGE_ENTITIES

from ..design.model import Access, DeclaredSet
from ..model import Finding, Severity
from .context import HEAVY, NOTICEABLE, ONCE_AN_HOUR, MeasuredQuery, MeasuredWrite, RuleContext, wanted
from .rule import Rule, entities, listed, part_of

TEXT_SEARCH: Final = Rule(
    name="text-search",
    finds="a query looks for a part of a text",
    severity=f"serious if a call reads more than {number(MAX_PAGE_ENTITIES)} entities, otherwise a warning",
    why="A filter compares whole values and ranges: there is no condition on a part of a text.",
    guide="Designing for querying",
    why_not_automatic="a search index is another service",
    about="query",
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
    pattern="summary",
    about="query",
)
DEEP_PAGING: Final = Rule(
    name="deep-paging",
    finds="a page is opened by its number, so all earlier pages are read first",
    severity=f"a warning from {number(NOTICEABLE)} skipped entities a second, otherwise a note",
    why="A page is found by the continuation token of the page before; results cannot be skipped.",
    guide="Retrieving large numbers of entities from a query",
    why_not_automatic="the pages are requested by your code",
    about="query",
)
LOST_UPDATE: Final = Rule(
    name="lost-update",
    finds="several writers overwrite one entity without its ETag",
    severity="a warning",
    why="Without an ETag, the last writer silently overwrites the changes of the others.",
    guide="Managing concurrency",
    about="write",
)
ACCESS_NOT_BY_KEY: Final = Rule(
    name="access-not-by-key",
    finds="readers may only see some entities, which are not a range of keys",
    severity="serious",
    why="A shared access signature is limited to a table, or to a range of keys in it.",
    guide="Managing access with shared access signatures",
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
    pattern="one_to_one",
    why_not_automatic="where the hidden property is stored must be chosen",
    about="reader",
)
RULES: Final = (TEXT_SEARCH, COUNT_BY_READING, DEEP_PAGING, LOST_UPDATE, ACCESS_NOT_BY_KEY, ACCESS_TO_HIDDEN)


def is_text_search(query: MeasuredQuery) -> bool:
    """Whether a query searches for a substring."""
    return "contains" in query.query.known.values()


def find_problems(context: RuleContext) -> Iterator[Finding]:
    """Yield the uses that neither keys nor the service's operations support."""
    for query in context.queries():
        if is_text_search(query):
            yield _text_search(query)
        if query.query.count_only:
            yield from _counted(query)
        if query.query.skip:
            yield from _skipped(query)
    for write in context.writes():
        yield from _lost(context, write)
    for declared_set in context.design.sets:
        for access in declared_set.access:
            yield from _access(declared_set, access)


def _subject(query: MeasuredQuery) -> str:
    return part_of(query.of.name, query.query.name)


def _text_search(query: MeasuredQuery) -> Finding:
    read, names = query.measured.examined, [name for name, how in query.query.known.items() if how == "contains"]
    severity = Severity.SERIOUS if read > MAX_PAGE_ENTITIES else Severity.WARNING
    says = (
        f"{query.query.name!r} looks for a part of {listed(names)}: it reads {entities(read)} to return "
        f"{number(wanted(query.measured))}, {often(query.query.busiest)}."
    )
    better = (
        f"Index {listed(names)} in a search service such as Azure AI Search, or store an index row for each word; for "
        "beginnings, use an index and 'prefix'."
    )
    return TEXT_SEARCH.finding(severity, _subject(query), says, better, fields=names)


def _work_severity(work: float, *, is_small: bool) -> Severity | None:
    if work >= HEAVY:
        return Severity.SERIOUS
    if work >= NOTICEABLE:
        return Severity.WARNING
    return None if is_small else Severity.NOTE


def _counted(query: MeasuredQuery) -> Iterator[Finding]:
    read = query.measured.examined
    work = read * query.query.busiest
    severity = _work_severity(work, is_small=read <= MAX_PAGE_ENTITIES or query.query.rate < ONCE_AN_HOUR)
    if severity is not None and read > 1:
        names = listed([*query.query.known]) if query.query.known else "the set"
        says = f"{query.query.name!r} reads {entities(read)} to count them, {often(query.query.busiest)}."
        better = f"Keep the count by {names} in a Summary: one point query reads it."
        yield COUNT_BY_READING.finding(severity, _subject(query), says, better)


def _skipped(query: MeasuredQuery) -> Iterator[Finding]:
    skipped = query.query.skip
    severity = Severity.WARNING if skipped * query.query.busiest >= NOTICEABLE else Severity.NOTE
    says = (
        f"{query.query.name!r} reads and skips {entities(skipped)} before the {number(query.query.take or 0)} that it "
        f"needs, {often(query.query.busiest)}."
    )
    better = "Give callers the continuation token of the next page, or let them jump to a value of the key."
    yield DEEP_PAGING.finding(severity, _subject(query), says, better)


def _lost(context: RuleContext, done: MeasuredWrite) -> Iterator[Finding]:
    write = done.write
    if write.operation != "update" or not write.overwrite:
        return
    own = set(write.changes)
    other_writes = [
        each.write
        for each in context.writes_of(done.of)
        if each.write.operation == "update" and each.write is not write
        if not own or not each.write.changes or own & set(each.write.changes)
    ]
    writers = write.writers + sum(write.writers for write in other_writes)
    if writers < 2:
        return
    says = (
        f"{write.name!r} overwrites {listed(list(write.changes)) if own else 'the entity'} without its ETag, by "
        f"{plural(writers, 'writer')}, {often(write.busiest)}."
    )
    better = "Read the entity, and write it on condition of its ETag (update), so that a conflict is retried."
    yield LOST_UPDATE.finding(Severity.WARNING, part_of(done.of.name, write.name), says, better)


def _access(declared_set: DeclaredSet, access: Access) -> Iterator[Finding]:
    subject = part_of(declared_set.name, access.name)
    leading = declared_set.key.fields[: len(access.by)]
    if set(leading) != set(access.by):
        says = (
            f"{access.name!r} may read the entities of {declared_set.name} with one "
            f"{listed(list(access.by))}, but the key "
            f"begins with {listed(list(declared_set.key.fields[: max(1, len(access.by))])) or 'a constant'}."
        )
        better = f"Begin the PartitionKey with {listed(list(access.by))}, or let a service of yours read for them."
        yield ACCESS_NOT_BY_KEY.finding(Severity.SERIOUS, subject, says, better)
    sealed = {name for mapping in declared_set.mappings if _hides(mapping) for name in mapping.fields}
    if plain := [name for name in access.hidden if name not in sealed]:
        says = f"{access.name!r} may read the entities of {declared_set.name}, but must not see {listed(plain)}."
        better = f"Store {listed(plain)} in another table, in entities with the same key, or encrypt it."
        yield ACCESS_TO_HIDDEN.finding(Severity.SERIOUS, subject, says, better, fields=plain)


def _hides(mapping: PropertyMapping) -> bool:
    return mapping.keeps_secret
